"""Reference: where a grasp is likely to hold, it grasps; else the hop or slide whose touch is least certain, near there."""

import math
from dataclasses import dataclass

import numpy as np
from bar import Act

from airoas.planners import Decision

STILL = {"slide nowhere": lambda m, s, rng: Act(0, 0.0, 0.0)}


@dataclass(frozen=True)
class Reference:
    sure: float = 0.72
    n: int = 600

    def plan(self, model, belief, rng):
        S = belief.draw(self.n, rng).states
        x, y = S[:, 0].mean(), S[:, 1].mean()
        bx, by, th = S[:, 2], S[:, 3], S[:, 4]
        c, n = np.cos(th), np.sin(th)

        def within(px, py):
            return (((px[:, None] - bx) ** 2 + (py[:, None] - by) ** 2) < 0.046**2).mean(1)

        def touch(px, py):
            dx, dy = px[:, None] - bx, py[:, None] - by
            u, v = dx * c + dy * n, dy * c - dx * n
            return (np.abs(u) < model.half) & (np.abs(v) < model.thick)

        i = np.arange(0, self.n, 6)
        cand = np.concatenate([np.stack([bx[i], by[i]], 1), [[np.median(bx), np.median(by)]]])
        p = within(cand[:, 0], cand[:, 1])
        k = int(p.argmax())
        gx, gy = cand[k]
        here = within(np.array([x]), np.array([y]))[0]
        if here >= self.sure or (here >= 0.5 and here >= p[k] - 0.03):
            return Decision(Act(2, 0.0, 0.0), value=float("nan"))
        reach = 2 * model.stride
        if p[k] >= self.sure:
            return Decision(self.hop(model, gx - x, gy - y), value=float("nan"))
        # probes: the information of a touch about the place of the centre (in 4 cm cells), for places that a hop reaches
        a = np.linspace(-1, 1, 11) * reach
        px, py = np.meshgrid(x + a, y + a)
        px, py = px.ravel(), py.ravel()
        px = np.concatenate([px, cand[::4, 0]])
        py = np.concatenate([py, cand[::4, 1]])
        ok = (np.abs(px) < 0.39) & (np.abs(py) < 0.39) & (np.abs(px - x) < reach) & (np.abs(py - y) < reach)
        px, py = px[ok], py[ok]
        best, most = None, -1.0
        if len(px):
            touched = touch(px, py)
            v = self.after(touched, bx, by, c, n, th)
            best = int(v.argmax())
            most = v[best] - 0.0
        # slides: touched at the end of the way, where the bar is in the way it is pushed: that it touches at all
        m = 16
        w = np.arange(m) * 2 * math.pi / m
        ends = np.zeros((m, self.n), bool)
        for f in np.linspace(0.15, 1.0, 9):
            ends |= touch(x + model.stride * f * np.cos(w), y + model.stride * f * np.sin(w))
        vs = self.after(ends, bx, by, c, n, th)
        j = int(vs.argmax())
        if best is None or ((vs[j] - vs.min()) * 2.0 > (most - vs.min()) * 1.0 and vs[j] > most - 0.02):
            return Decision(Act(0, float(np.cos(w[j])), float(np.sin(w[j]))), value=float("nan"))
        return Decision(self.hop(model, px[best] - x, py[best] - y), value=float("nan"))

    def after(self, touched, bx, by, c, n, th):
        """How concentrated the centre is expected to be after the answer: minus the expected variance, and of the angle a little."""
        F = np.stack([bx, by, bx * bx + by * by, np.cos(2 * th), np.sin(2 * th)], 1)
        total = np.zeros(len(touched))
        for side in (touched, ~touched):
            q = side.mean(1)
            k = np.maximum(side.sum(1), 1)[:, None]
            m = side @ F / k
            var = m[:, 2] - m[:, 0] ** 2 - m[:, 1] ** 2
            spread = 1 - np.sqrt(m[:, 3] ** 2 + m[:, 4] ** 2)
            if side is touched:
                spread = spread * 0.25  # a touch tells the angle
                var = np.maximum(var, 0)
            total -= q * (np.sqrt(np.maximum(var, 1e-8)) + 0.05 * spread)
        return total

    def hop(self, model, dx, dy):
        r = 2 * model.stride
        return Act(1, float(np.clip(dx / r, -1, 1)), float(np.clip(dy / r, -1, 1)))


def random_choice(m, s, rng):
    return Act(rng.integer(3), 2.0 * rng.uniform() - 1.0, 2.0 * rng.uniform() - 1.0)
