import math
from typing import NamedTuple

import airoas
from airoas import Box, Choice


class State(NamedTuple):
    x: float  # the fingertip
    y: float
    bar_x: float
    bar_y: float
    angle: float
    touch: bool
    done: bool


class Act(NamedTuple):
    kind: int
    dx: float
    dy: float


class Seen(NamedTuple):
    x: float
    y: float
    touch: bool
    along: float  # the direction of the bar as the finger feels it, modulo pi, zero without touch
    done: bool


@airoas.model
class Bar(NamedTuple):
    """A finger finds a bar on a table by touch (slides push it, hops go over it) and grasps it within 5 cm of its centre."""

    half: float = 0.15
    thick: float = 0.015
    pivot: float = 0.08
    stride: float = 0.12
    slide_cost: float = 0.1
    hop_cost: float = 0.25
    fail: float = 4.0
    reward: float = 20.0
    tip: float = 0.003
    felt: float = 0.2
    miss: float = 0.05
    false: float = 0.02
    discount: float = 0.95
    max_steps: int = 40

    def action_space(self):
        return Act(Choice("slide", "hop", "grasp"), Box(-1.0, 1.0), Box(-1.0, 1.0))

    def initial(self, rng):
        return State(0.0, -0.25, 0.36 * rng.uniform() - 0.18, 0.3 * rng.uniform() - 0.05, math.pi * rng.uniform(), False, False)

    def nearest(self, x, y, bx, by, angle):
        """Along the bar and across it: where the finger is as the bar sees it."""
        c, n = math.cos(angle), math.sin(angle)
        dx, dy = x - bx, y - by
        return dx * c + dy * n, dy * c - dx * n

    def step(self, s, a, rng):
        if a.kind == 2:
            dx, dy = s.x - s.bar_x, s.y - s.bar_y
            if dx * dx + dy * dy < 0.05 * 0.05:
                return s._replace(done=True), self.reward
            return s._replace(touch=False), -self.fail
        x, y = s.x, s.y
        if a.kind == 1:
            x = min(max(x + 2.0 * self.stride * a.dx + 0.006 * rng.normal(), -0.4), 0.4)
            y = min(max(y + 2.0 * self.stride * a.dy + 0.006 * rng.normal(), -0.4), 0.4)
            u, v = self.nearest(x, y, s.bar_x, s.bar_y, s.angle)
            touch = abs(u) < self.half and abs(v) < self.thick
            return s._replace(x=x, y=y, touch=touch), -self.hop_cost
        bx, by, angle, touch = s.bar_x, s.bar_y, s.angle, False
        for _ in range(12):
            x2 = min(max(x + self.stride * a.dx / 12.0, -0.4), 0.4)
            y2 = min(max(y + self.stride * a.dy / 12.0, -0.4), 0.4)
            u, v = self.nearest(x2, y2, bx, by, angle)
            touch = abs(u) < self.half and abs(v) < self.thick
            if touch:
                _, before = self.nearest(x, y, bx, by, angle)
                side = 1.0 if before > 0.0 else -1.0
                push = self.thick - side * v  # how far the bar has to give way, away from the finger
                lever = self.pivot * self.pivot + u * u
                bx += side * push * math.sin(angle) * self.pivot * self.pivot / lever
                by -= side * push * math.cos(angle) * self.pivot * self.pivot / lever
                angle -= side * push * u / lever
            x, y = x2, y2
        angle = angle % math.pi
        bx = min(max(bx + (0.002 * rng.normal() if touch else 0.0), -0.35), 0.35)
        by = min(max(by + (0.002 * rng.normal() if touch else 0.0), -0.35), 0.35)
        return State(x, y, bx, by, angle, touch, False), -self.slide_cost

    def observe(self, s, a, rng):
        x, y = s.x + self.tip * rng.normal(), s.y + self.tip * rng.normal()
        touch = rng.uniform() < (1.0 - self.miss if s.touch else self.false)
        along = 0.0
        if touch:
            along = (s.angle + self.felt * rng.normal()) % math.pi if s.touch else math.pi * rng.uniform()
        return Seen(x, y, touch, along, s.done)

    def obs_logpdf(self, o, s, a):
        if o.done != s.done:
            return -math.inf
        zx, zy = (o.x - s.x) / self.tip, (o.y - s.y) / self.tip
        total = -0.5 * (zx * zx + zy * zy) - math.log(2.0 * math.pi * self.tip * self.tip)
        p = 1.0 - self.miss if s.touch else self.false
        if not o.touch:
            return total + math.log(1.0 - p)
        total += math.log(p)
        if not s.touch:
            return total - math.log(math.pi)
        d = (o.along - s.angle + 0.5 * math.pi) % math.pi - 0.5 * math.pi
        near = 0.0
        for k in range(-1, 2):
            z = (d + k * math.pi) / self.felt
            near += math.exp(-0.5 * z * z)
        return total + math.log(near / (self.felt * math.sqrt(2.0 * math.pi)))

    def is_terminal(self, s):
        return s.done
