"""Reference: over the plaza for the wind; then from roof to roof by least way, looks from near, lands when sure."""

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from drone import HOME, PLAZA, ROOFS

from airoas.planners import Decision

STILL = {"land at once": lambda m, s, rng: 9, "look": lambda m, s, rng: 8, "east": lambda m, s, rng: 0}
R = np.array(ROOFS)


@dataclass(frozen=True)
class Reference:
    n: int = 1500
    sure: float = 0.85
    plaza: float = 0.12  # above that doubt about the wind it goes over the plaza
    lost: float = 1.4

    def plan(self, model, belief, rng):
        return Decision(self.choose(model, belief.draw(self.n, rng).states), value=float("nan"))

    def choose(self, model, states):
        at, wind, battery, pad = states[:, :2], states[:, 2:4], float(states[:, 4].mean()), states[:, 5].astype(int)
        x, y = at.mean(0)
        spread = float(np.sqrt(at.var(0).sum()))
        doubt = float(np.sqrt(wind.var(0).mean()))
        p = np.bincount(pad, minlength=3) / len(states)
        d = np.sqrt(((at[:, None, :] - R[None]) ** 2).sum(2))
        k, near = d.argmin(1), d.min(1) < model.size
        right, wrong = float((near & (k == pad)).mean()), float((near & (k != pad)).mean())
        home = float((((at - np.array(HOME)) ** 2).sum(1) < 1.5**2).mean())
        landing = model.reward * right - model.wrong * wrong - (1 - right - wrong) * model.crash
        if right > self.sure or (battery < 1.6 and landing > -model.crash):
            return 9
        # the roofs in the order of the least expected way, among those that the battery reaches
        carried = wind.mean(0)

        def leg(px, py, tx, ty):
            """Moves there, and what they take of the battery, with the wind."""
            way = max(math.hypot(tx - px, ty - py), 1e-6)
            along = float(carried @ [tx - px, ty - py]) / way
            side = math.sqrt(max(float(carried @ carried) - along * along, 0.0))
            n = way / max(math.sqrt(max(model.stride**2 - side * side, 0.2)) + along, 0.3)
            return n, n * (1.03 - 0.8 * along)

        best, least = None, 1e9
        for order in permutations([j for j in range(3) if p[j] > 0.03]):
            px, py, used, n, cost = x, y, 0.0, 0.0, 0.0
            for j in order:
                moves, drain = leg(px, py, *R[j])
                n, used = n + moves + 1.5, used + drain + 1.4
                px, py = R[j]
                cost += p[j] * (1 - model.discount**n if used < battery else 1.6)
            if cost < least:
                best, least = order[0], cost
        t = R[best]
        way = math.hypot(t[0] - x, t[1] - y)
        back = leg(x, y, *HOME)[1] + 0.5
        if leg(x, y, *t)[1] + 0.6 > battery > back and p[best] < 0.95:
            return 9 if home > 0.9 else self.go(model, at, wind, np.array(HOME))
        if way < 2.2 and spread < self.lost:
            a = self.go(model, at, wind, t)
            v = model.stride * np.array([math.cos(a * math.pi / 4), math.sin(a * math.pi / 4)])
            after = float(np.sqrt(((at + wind + v - t) ** 2).sum(1)).mean())
            here = float(np.sqrt(((at - t) ** 2).sum(1)).mean())
            if here < 0.9 or after > here - 0.3:
                return 8 if p[best] < 0.93 or float((d[:, best] < model.size).mean()) < self.sure else a
            # sure of the roof, unsure of where one is: a look does both
            if spread > 0.6 and here < 1.8:
                return 8
            return a
        if spread > self.lost and x > 5:
            if way < 2.2 and float((d[:, best] < 2.3).mean()) > 0.55:
                return 8
            return self.go(model, at, wind, np.array(PLAZA)) if battery > 9 else 8 if way < 2.2 else self.go(model, at, wind, t)
        if x < 7.0 and doubt > self.plaza:
            return self.go(model, at, wind, np.array(PLAZA))
        return self.go(model, at, wind, t)

    def go(self, model, at, wind, t):
        w = np.arange(8) * math.pi / 4
        after = at.mean(0) + wind.mean(0) + model.stride * np.stack([np.cos(w), np.sin(w)], 1)
        return int(((after - t) ** 2).sum(1).argmin())
