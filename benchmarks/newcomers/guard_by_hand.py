"""Reference: the 512 states with their probabilities; actions are looked through one step ahead with what they would tell, and are then
worth what they would be were the state known, less something for doubt."""

from dataclasses import dataclass

import numpy as np
from guard import CHORD, DOWNTIME, WORTH

from airoas.planners import Decision

STILL = {
    "wait": lambda m, s, rng: 17,
    "traffic": lambda m, s, rng: 16,
    "re-image the servers": lambda m, s, rng: 8 + 4 * rng.integer(2),
    "re-image any": lambda m, s, rng: 8 + rng.integer(8),
    "re-image a bad one (sees the state)": lambda m, s, rng: next((8 + k for k in (0, 4, 1, 2, 3, 5, 6, 7) if s.bad[k]), 17),
}
B = (np.arange(256)[:, None] >> np.arange(8)[None, :]) & 1
CACHE = {}


def spread(model, rate, anew):
    """From the states before spreading to those after it, [256, 256]."""
    T = np.ones((256, 256))
    for k in range(8):
        others = [(k + 1) % 8, (k + 7) % 8] + ([CHORD[k]] if CHORD[k] >= 0 else [])
        clean = (1 - model.outside) * (1 - rate) ** B[:, others].sum(1)
        if k == anew:
            clean = np.ones(256)
        p = np.where(B[:, k] == 1, 1.0, 1 - clean)
        T *= np.where(B[None, :, k] == 1, p[:, None], 1 - p[:, None])
    return T


def tables(model):
    if model not in CACHE:
        loss, s = B @ np.array(WORTH), np.arange(256)
        T, R = [], []  # nothing, then each set up anew: [2, 256, 256] and [2, 256]
        for anew in range(-1, 8):
            both = [spread(model, rate, anew) for rate in (model.slow, model.quick)]
            if anew >= 0:
                both = [model.works * t[s & ~(1 << anew)] + (1 - model.works) * t for t in both]
            T.append(np.stack(both))
            R.append(-(T[-1] @ loss) - (DOWNTIME[anew] if anew >= 0 else 0.0))
        T, R = np.stack(T), np.stack(R)
        V = np.zeros((2, 256))
        for _ in range(150):
            Q = R + model.discount * np.einsum("afst,ft->afs", T, V)
            V = Q.max(0)
        CACHE[model] = T, R, Q
    return CACHE[model]


@dataclass(frozen=True)
class Reference:
    depth: int = 1
    best_first: int = 4
    doubt: float = 0.0  # what a nat of doubt about a computer costs at the end of the look ahead, times what it is worth

    def plan(self, model, belief, rng):
        column = model.shapes.state.column
        S, w = belief.states, belief.weights
        bad = np.asarray(column(S, "bad")).astype(int) @ (1 << np.arange(8))
        b = np.bincount(256 * np.asarray(column(S, "fast")).astype(int) + bad, weights=w, minlength=512).reshape(2, 256)
        value, action = self.best(model, b, self.depth)
        return Decision(action, value=value)

    def tells(self, model, a):
        """The likelihoods of what may be seen after an action, each [256]."""
        if a < 8:
            p = np.where(B[:, a] == 1, model.hit, model.false)
            return p, 1 - p
        if a == 16:
            n, grid = B.sum(1), np.arange(-1.0, 9.5, 1.0)
            p = np.exp(-0.5 * ((grid[:, None] - n[None, :]) / model.noise) ** 2)
            return tuple(p / p.sum(0))
        return (np.ones(256),)

    def best(self, model, b, depth):
        T, R, Q = tables(model)
        first = (b[None] * Q).sum((1, 2))
        if depth == 0:
            k = int(first.argmax())
            p = np.clip(b.sum(0) @ B, 1e-9, 1 - 1e-9)
            doubt = -(p * np.log(p) + (1 - p) * np.log(1 - p)) @ np.array(WORTH)
            return float(first[k] - self.doubt * doubt), 7 + k if k else 17
        value, action, after = -1e9, 17, {}
        few = set(np.argsort(-first)[: self.best_first] - 1)
        for a in range(18):
            if 8 <= a < 16 and a - 8 not in few:
                continue
            i = a - 7 if 8 <= a < 16 else 0
            if i not in after:
                after[i] = np.stack([b[0] @ T[i, 0], b[1] @ T[i, 1]])
            v = float((b * R[i]).sum()) - (model.scan_cost if a < 8 else model.traffic_cost if a == 16 else 0.0)
            for likely in self.tells(model, a):
                c = after[i] * likely
                m = float(c.sum())
                if m > 1e-4:
                    v += model.discount * m * self.best(model, c / m, depth - 1)[0]
            if v > value:
                value, action = v, a
        return value, action
