import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    x: float
    y: float
    depth: int  # 0 at the bottom, 1 under way, 2 at the surface
    source_x: float
    source_y: float
    current_x: float  # carries the vehicle off at every step
    current_y: float
    leak: float  # its strength
    closed: bool


class Seen(NamedTuple):
    depth: int
    smell: float  # zero above the bottom
    x: float  # the fix, zero under water
    y: float


@airoas.model
class Plume(NamedTuple):
    """An underwater vehicle finds a leak, by its plume, which the water carries east; a position only at the surface."""

    stride: float = 0.8
    drift: float = 0.1
    current: float = 0.08
    fix: float = 0.15
    reach: float = 0.7
    patch: float = 0.7  # how often there is smell in the plume
    background: float = 0.05
    reward: float = 100.0
    wrong: float = 15.0
    discount: float = 0.98
    max_steps: int = 100

    def actions(self):
        return ("east", "north", "west", "south", "wait", "surface", "dive", "close")

    def initial(self, rng):
        y = 1.0 + 14.0 * rng.uniform()
        x = 5.0 + 1.5 * math.sin(0.5 * y) + 0.2 * rng.normal()
        cx, cy = self.current * rng.normal(), self.current * rng.normal()
        return State(11.0 + rng.normal(), 8.0 + rng.normal(), 0, x, y, cx, cy, 0.6 + 0.9 * rng.uniform(), False)

    def step(self, s, a, rng):
        if a == 7:
            dx, dy = s.source_x - s.x, s.source_y - s.y
            if s.depth == 0 and dx * dx + dy * dy < self.reach * self.reach:
                return s._replace(closed=True), self.reward
        x = s.x + s.current_x + self.drift * rng.normal()
        y = s.y + s.current_y + self.drift * rng.normal()
        if a < 4:
            x += self.stride * (1 if a == 0 else -1 if a == 2 else 0)
            y += self.stride * (1 if a == 1 else -1 if a == 3 else 0)
        depth = min(s.depth + 1, 2) if a == 5 else max(s.depth - 1, 0) if a == 6 else s.depth
        return s._replace(x=x, y=y, depth=depth), -0.5 - (self.wrong if a == 7 else 0.0)

    def concentration(self, s):
        down, side = s.x - s.source_x, s.y - s.source_y
        if down < -0.5:
            return 0.0
        down = max(down, 0.0)
        width = 0.5 + 0.18 * down
        return s.leak * math.exp(-0.5 * side * side / (width * width)) / (1.0 + 0.25 * down)

    def observe(self, s, a, rng):
        if s.depth == 2:
            return Seen(2, 0.0, s.x + self.fix * rng.normal(), s.y + self.fix * rng.normal())
        if s.depth == 1:
            return Seen(1, 0.0, 0.0, 0.0)
        c = self.concentration(s) if rng.uniform() < self.patch else 0.0
        return Seen(0, c + (self.background + 0.1 * c) * rng.normal(), 0.0, 0.0)

    def density(self, seen, c):
        sd = self.background + 0.1 * c
        z = (seen - c) / sd
        return math.exp(-0.5 * z * z) / (sd * math.sqrt(2.0 * math.pi))

    def obs_logpdf(self, o, s, a):
        if o.depth != s.depth:
            return -math.inf
        if s.depth == 2:
            zx, zy = (o.x - s.x) / self.fix, (o.y - s.y) / self.fix
            return -0.5 * (zx * zx + zy * zy) - math.log(2.0 * math.pi * self.fix * self.fix)
        if s.depth == 1:
            return 0.0
        p = self.patch * self.density(o.smell, self.concentration(s)) + (1.0 - self.patch) * self.density(o.smell, 0.0)
        return math.log(p) if p > 0.0 else -math.inf

    def is_terminal(self, s):
        return s.closed
