"""Reference: one object after another as the belt brings them to its end; looks three deep at the chances of (good, turned), then picks."""

from dataclasses import dataclass

import numpy as np

from airoas.planners import Decision


def first(s):
    return next(k for k in range(6) if not s.gone[k])


STILL = {
    "done": lambda m, s, rng: 24,
    "all are good": lambda m, s, rng: 4 * first(s) + 2,
    "all are bad": lambda m, s, rng: 4 * first(s) + 3,
}


@dataclass(frozen=True)
class Reference:
    depth: int = 3
    reserve: int = 3  # steps that each later object is to have
    price: float = 0.08  # of a step, for each object that waits

    def plan(self, model, belief, rng):
        return Decision(self.choose(model, belief, rng), value=float("nan"))

    def choose(self, model, belief, rng):
        if len(belief.states) > 20_000:
            belief = belief.draw(20_000, rng)
        S, w = belief.states, belief.weights
        column = model.shapes.state.column
        good, turned = column(S, "good"), column(S, "turned")
        top = int(w.argmax())
        gone, time = column(S, "gone")[top], int(column(S, "time")[top])
        left = [k for k in range(6) if not gone[k]]
        budget = min(5 + 4 * k - time - 1 - self.reserve * i for i, k in enumerate(left))
        for k in left:
            kinds = 2 * good[:, k].astype(int) + turned[:, k].astype(int)
            p = np.bincount(kinds, weights=w, minlength=4)
            p = tuple(float(v) for v in p / p.sum())
            here = 5 + 4 * k - time - 1
            depth = max(0, min(self.depth, budget if k == left[0] else here, here))
            _, what = self.best(model, p, depth, 0.1 + model.look_cost + self.price * (len(left) - 1))
            if what < 4:
                return 4 * k + what
        return 24

    def best(self, model, p, depth, cost):
        """The value and what to do, of an object that is (bad, bad turned, good, good turned) with chances p; 4 is to leave it."""
        q = p[2] + p[3]
        hold = 1.0 - model.slip
        value, what = max((-2.0, 4), (hold * (10.0 * q - model.wrong * (1.0 - q)), 2), (hold * (3.0 * (1.0 - q) - 5.0 * q), 3))
        if depth == 0:
            return value, what
        for side in range(2):
            total = -cost
            for fine in (False, True):
                for sharp in (False, True):
                    post = []
                    for j in range(4):
                        facing = (j % 2 == 1) == (side == 1)
                        right = model.face if facing else model.back
                        a = right if (j >= 2) == fine else 1.0 - right
                        b = 0.8 if facing else 0.3
                        post.append(p[j] * a * (b if sharp else 1.0 - b))
                    mass = sum(post)
                    if mass > 1e-9:
                        total += mass * self.best(model, tuple(v / mass for v in post), depth - 1, cost)[0]
            if total > value:
                value, what = total, side
        return value, what
