"""Reference: a treatment is worth what the best number of days of it and then discharge earn, and in part what they would were the kind
known after two; a test what its results change, two tests deep."""

from dataclasses import dataclass

import numpy as np
from patient import EFFECT, GROWTH, PRICE, SIDE

from airoas.planners import Decision

STILL = {"discharge": lambda m, s, rng: 9, "wait": lambda m, s, rng: 0, "broad drug": lambda m, s, rng: 8}
GRID = np.linspace(0, 10, 81)
CACHE = {}


def table(model):
    """Value of each severity by kind where the kind is known, and of one day of each treatment (wait, four drugs)."""
    if model not in CACHE:
        values = np.zeros((4, len(GRID)))
        noise = np.array([-1.2, 0.0, 1.2]) * model.course

        def day(k, d):
            change = GROWTH[k] + (EFFECT[d - 1][k] if d > 0 else 0.0)
            return change, SIDE[d - 1][k] if d > 0 else 0.0

        def treat(values, k, d):
            change, cost = day(k, d)
            q = np.zeros(len(GRID))
            for e in noise:
                s = np.maximum(GRID + change + e, 0)
                alive = -cost - model.suffering * s + model.discount * np.interp(s, GRID, values[k])
                q += np.where(s >= 10, -model.death, alive) / 3
            return q

        out = np.stack([model.cured - (4.0 if k == 3 else model.relapse) * GRID for k in range(4)])
        for _ in range(80):
            values = np.stack([np.maximum(out[k], np.max([treat(values, k, d) for d in range(5)], axis=0)) for k in range(4)])
        plans = []  # a treatment for some days and then discharge, all of it decided beforehand: (treatment, values)
        for d in range(5):
            W = out
            for _ in range(12):
                W = np.stack([treat(W, k, d) for k in range(4)])
                plans.append(W)
        plans = np.array(plans)
        known = np.zeros((5, 4, len(GRID)))
        for d in range(5):
            W = values
            for _ in range(2):
                W = np.stack([treat(W, k, d) for k in range(4)])
            known[d] = W
        CACHE[model] = out, plans, known
    return CACHE[model]


@dataclass(frozen=True)
class Reference:
    depth: int = 2
    learns: float = 0.3  # how far a drug is worth what it would be if the kind were known after two days of it

    def plan(self, model, belief, rng):
        S, w = belief.states, belief.weights
        kind = S[:, 0].astype(int)
        p = np.bincount(kind, weights=w, minlength=4)
        sev = np.bincount(kind, weights=w * S[:, 1], minlength=4) / np.maximum(p, 1e-12)
        value, action = self.best(model, p / p.sum(), sev, self.depth)
        return Decision(action, value=value)

    def best(self, model, p, sev, depth):
        out, plans, known = table(model)
        i = np.clip(np.round(sev * 8).astype(int), 0, len(GRID) - 1)
        k4 = np.arange(4)

        def at(rows):
            return rows[..., k4, i] @ p

        v0 = float(at(out))
        fixed = at(plans).reshape(5, -1).max(1)
        v = np.maximum((1 - self.learns) * fixed + self.learns * at(known), fixed)
        d = int(v.argmax())
        action, value = (9, v0) if v0 >= v[d] else (0 if d == 0 else 4 + d, float(v[d]))
        if depth > 0:
            for t in range(4):
                after = np.clip(sev + np.array(GROWTH) + (model.biopsy_harm if t == 3 else 0.0), 0, 9.9)
                v = -PRICE[t] - model.suffering * float(p @ after)
                for result in range(1, 3 if t in (0, 2) else 5):
                    q = p * np.array([model.chance(k, t, result) for k in range(4)])
                    if q.sum() > 1e-6:
                        v += model.discount * q.sum() * self.best(model, q / q.sum(), after, depth - 1)[0]
                if v > value:
                    action, value = 1 + t, v
        return value, action
