"""Reference: goes where a smell would tell most, comes up for a fix when lost, homes in on the leak, closes when likely."""

import math
from dataclasses import dataclass

import numpy as np

from airoas.planners import Decision

STILL = {"wait": lambda m, s, rng: 4, "close": lambda m, s, rng: 7}
MOVES = ((1, 0), (0, 1), (-1, 0), (0, -1), (0, 0))


def entropy(p):
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


@dataclass(frozen=True)
class Reference:
    sure: float = 0.35
    lost: float = 1.3  # how unsure of its own position it comes up
    found: float = 1.0  # how unsure of the way to the leak it goes straight there
    tired: float = 1.0  # the power of the distance that information is divided by
    n: int = 1200

    def plan(self, model, belief, rng):
        return Decision(self.choose(model, belief, rng), value=float("nan"))

    def choose(self, model, belief, rng):
        states = belief.draw(self.n, rng).states
        x, y, depth, cx, cy = states[:, 0], states[:, 1], int(np.median(states[:, 2])), states[:, 5], states[:, 6]
        dx, dy = states[:, 3] - x, states[:, 4] - y
        close = np.mean(dx * dx + dy * dy < model.reach**2)
        unsure, apart = math.sqrt(x.var() + y.var()), math.sqrt(dx.var() + dy.var())
        if depth == 0 and close > self.sure:
            return 7
        if depth > 0:
            return 5 if unsure > 0.5 else 6
        if unsure > self.lost and apart > self.found:
            return 5
        if apart < self.found:  # as many as possible within reach soon, and near the mean
            score = []
            for mx, my in MOVES:
                ex, ey = dx - cx - model.stride * mx, dy - cy - model.stride * my
                score.append(math.hypot(ex.mean(), ey.mean()) - 0.5 * np.mean(ex * ex + ey * ey < model.reach**2))
            return int(np.argmin(score))
        best, most = (0, 0), -1.0
        for i in range(-8, 9, 2):
            for j in range(-12, 13, 2):
                gain = self.told(model, states, i, j) / (2.0 + abs(i) + abs(j)) ** self.tired
                if gain > most:
                    best, most = (i, j), gain
        for i, j in MOVES[:4]:
            gain = self.told(model, states, i, j) / 3.0**self.tired
            if gain > most:
                best, most = (i, j), gain
        i, j = best
        if i == 0 and j == 0:
            return 4
        # of the two ways to begin, the one that tells more
        ways = [(0 if i > 0 else 2)] * (i != 0) + [(1 if j > 0 else 3)] * (j != 0)
        return max(ways, key=lambda a: self.told(model, states, *MOVES[a]) + 0.01 * (abs(i) if a % 2 == 0 else abs(j)))

    def told(self, model, states, i, j):
        """What a smell or none tells there, in nats."""
        k = abs(i) + abs(j)
        down = states[:, 0] + model.stride * i + k * states[:, 5] - states[:, 3]
        side = states[:, 1] + model.stride * j + k * states[:, 6] - states[:, 4]
        u = np.maximum(down, 0.0)
        width = 0.5 + 0.18 * u
        c = np.where(down < -0.5, 0.0, states[:, 7] * np.exp(-0.5 * (side / width) ** 2) / (1 + 0.25 * u))
        total = 0.0
        for level in (0.15, 0.5):
            p = model.patch / (1 + np.exp(-(c - level) / 0.06))
            total += float(entropy(p.mean()) - entropy(p).mean())
        return total
