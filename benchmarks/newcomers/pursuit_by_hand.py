"""Reference: to the nearer evader until it is known which is the prize, then after the prize; the net when it is worth it."""

import math
from dataclasses import dataclass

import numpy as np

from airoas.planners import Decision

STILL = {"stay": lambda m, s, rng: 8, "tag": lambda m, s, rng: 9}
RADIUS = 1.0


@dataclass(frozen=True)
class Reference:
    worth: float = 28.0  # the net flies if that is its mean
    sure: float = 0.9
    lead: float = 0.5
    n: int = 1500

    def plan(self, model, belief, rng):
        return Decision(self.choose(model, belief, rng), value=float("nan"))

    def choose(self, model, belief, rng):
        S = belief.draw(self.n, rng).states
        x, y = float(S[0, 0]), float(S[0, 1])
        A, B, prize = S[:, 2:4], S[:, 5:7], S[:, 8]
        here = np.array([x, y])
        da, db = np.linalg.norm(A - here, axis=1), np.linalg.norm(B - here, axis=1)
        hit = np.minimum(da, db) < model.reach
        paid = np.where(hit, np.where((db < da) == (prize == 1), model.prize, model.decoy), -model.miss)
        if paid.mean() > self.worth:
            return 9
        q = prize.mean()
        chase_b = q > 0.5 if max(q, 1 - q) > self.sure else db.mean() < da.mean()
        goal, way = (B, S[:, 7]) if chase_b else (A, S[:, 4])
        goal = goal + self.lead * 0.5 * np.stack([np.cos(way), np.sin(way)], 1)
        best, least = 8, math.inf
        for a in range(9):
            nx, ny = (x, y) if a == 8 else (x + math.cos(a * math.pi / 4), y + math.sin(a * math.pi / 4))
            if not model.free(nx, ny):
                continue
            cost = float(self.way(goal, nx, ny).mean())
            if cost < least:
                best, least = a, cost
        return best

    def way(self, goal, x, y):
        """Distances, longer by the way round a pillar."""
        from pursuit import PILLAR_X, PILLAR_Y

        d = goal - np.array([x, y])
        length = np.maximum((d * d).sum(1), 1e-9)
        far = np.sqrt(length)
        for px, py in zip(PILLAR_X, PILLAR_Y, strict=True):
            t = np.clip(((px - x) * d[:, 0] + (py - y) * d[:, 1]) / length, 0, 1)
            e = np.hypot(x + t * d[:, 0] - px, y + t * d[:, 1] - py)
            far = far + np.maximum(RADIUS - e, 0.0)
        return far
