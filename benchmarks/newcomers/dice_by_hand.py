"""Reference: what the other may hold by what they bid; each bid with their answer simulated, and the best answer to that."""

from dataclasses import dataclass

import numpy as np
from dice import BLUFF, TRUST

from airoas.planners import Decision

STILL = {
    "doubt, else lowest bid": lambda m, s, rng: 25 if s.mine == 0 else 24 if s.bid > 0 else 0,
    "lowest bid": lambda m, s, rng: 25 if s.mine == 0 else s.bid if s.bid < 6 else 24,
}
OPTIONS = {}
FACE = np.array([0] + [1 + k % 6 for k in range(24)])
NEED = np.array([0] + [1 + k // 6 for k in range(24)])
PAIRS = sorted({10 * min(i, j) + max(i, j) for i in range(1, 7) for j in range(1, 7)})
COUNT = np.zeros((67, 25), int)
for d in PAIRS:
    for b in range(1, 25):
        COUNT[d, b] = (d // 10 == FACE[b]) + (d % 10 == FACE[b])
LIKELY = np.array([1.0, 11 / 36, 1 / 36, 0, 0])[np.maximum(NEED[None, :] - COUNT, 0)]
CACHE = {}


def answers(d, bid, kind, n=120):
    """Distribution of their answer over 0 .. 24, worked out by drawing."""
    key = (d, bid, kind)
    if key not in CACHE:
        r = np.random.default_rng(abs(hash(key)) % 2**31)
        p = np.zeros(25)
        trust = TRUST[kind] + 0.15 * (np.arange(n) / n - 0.5)
        doubt = ((LIKELY[d, bid] < trust).mean() if bid > 0 else 0.0) if bid < 24 else 1.0
        p[0] += doubt
        go = 1 - doubt
        honest = np.zeros(25)
        ks = np.arange(bid + 1, min(bid + 13, 25))
        if len(ks):
            u = LIKELY[d, ks][None, :] + 0.05 * r.random((n, len(ks))) - 0.01 * (ks - bid)[None, :]
            best, most = ks[u.argmax(1)], u.max(1)
            best = np.where((bid > 0) & (most < 0.2), 0, best)
            np.add.at(honest, best, 1 / n)
        else:
            honest[0] = 1
        bl = np.zeros(25)
        for j in range(8):
            h = bid + 1 + j
            if h <= 18:
                bl[h] += 1 / 8
            else:
                bl += honest / 8
        odd = np.zeros(25)
        for j in range(9):
            h = bid + j
            odd[0 if (j == 0 and bid > 0) or h > 24 else max(h, 1)] += 1 / 9
        CACHE[key] = 0.9 * (p + go * (BLUFF[kind] * bl + (1 - BLUFF[kind]) * honest)) + 0.1 * odd
    return CACHE[key]


@dataclass(frozen=True)
class Reference:
    depth: int = 2

    def plan(self, model, belief, rng):
        S, w = belief.states, belief.weights
        top = int(w.argmax())
        mine = int(S[top, 0])
        if mine == 0:
            return Decision(25, value=float("nan"))
        key = S[:, 1].astype(int) * 4 + S[:, 3].astype(int)
        mass = np.bincount(key, weights=w)
        hands = {(int(k) // 4, int(k) % 4): float(mass[k]) for k in np.flatnonzero(mass > 0.002)}
        value, action = self.best(mine, hands, int(S[top, 2]), self.depth)
        return Decision(action, value=value)

    def best(self, mine, hands, bid, depth):
        total = sum(hands.values())
        value, action = -1e9, 24
        if bid > 0:
            value = (
                sum(p * (-NEED[bid] if COUNT[mine, bid] + COUNT[d, bid] >= NEED[bid] else NEED[bid]) for (d, k), p in hands.items()) / total
            )
        for b in range(bid + 1, min(bid + 10, 25)):
            gain = 0.0
            after = {}
            for (d, k), p in hands.items():
                q = answers(d, b, k)
                if q[0] > 0:
                    gain += p * q[0] * (NEED[b] if COUNT[mine, b] + COUNT[d, b] >= NEED[b] else -NEED[b])
                for j in np.flatnonzero(q[1:]) + 1:
                    after.setdefault(int(j), {})[(d, k)] = p * q[j]
            for j, h in after.items():
                if depth > 1 and sum(h.values()) > 0.02 * total:
                    gain += sum(h.values()) * self.best(mine, h, j, depth - 1)[0]
                else:
                    lose = sum(p * (-NEED[j] if COUNT[mine, j] + COUNT[d, j] >= NEED[j] else NEED[j]) for (d, k), p in h.items())
                    gain += lose
            if gain / total > value:
                value, action = gain / total, b - 1
        return float(value), action
