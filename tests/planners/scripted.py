"""Small models for the tests of the simulation-tree planners."""

from __future__ import annotations

import math
from typing import NamedTuple

import airoas


class Position(NamedTuple):
    cell: int
    prize: int


class Reading(NamedTuple):
    prize: int
    edge: float


@airoas.model
class Corridor(NamedTuple):
    """Cells 0 .. 3; a prize at either end, seen through noise. Walls make a step illegal, a grab ends it."""

    noise: float = 0.25
    discount: float = 0.9

    def actions(self):
        return ("left", "right", "grab")

    def initial(self, rng):
        return Position(1 + rng.integer(2), rng.integer(2))

    def legal(self, s, a):
        return not (a == 0 and s.cell == 0) and not (a == 1 and s.cell == 3)

    def step(self, s, a, rng):
        if a == 2:
            return Position(-1, s.prize), 5.0 if s.cell == 3 * s.prize else -5.0
        return Position(s.cell + (1 if a == 1 else -1), s.prize), -1.0

    def observe(self, s, a, rng):
        wrong = rng.uniform() < self.noise
        return Reading(1 - s.prize if wrong else s.prize, 0.5 if s.cell in (0, 3) else -0.5)

    def obs_logpdf(self, o, s, a):
        if (o.edge > 0.0) != (s.cell == 0 or s.cell == 3):
            return -math.inf
        return math.log(1.0 - self.noise if o.prize == s.prize else self.noise)

    def is_terminal(self, s):
        return s.cell < 0


class Point(NamedTuple):
    x: float


@airoas.model
class Slide(NamedTuple):
    """Stay near 0 by sliding any way; everything is continuous and no draw comes twice."""

    discount: float = 0.9

    def initial(self, rng):
        return Point(rng.normal())

    def sample_action(self, s, rng):
        return (2.0 * rng.uniform() - 1.0,)

    def step(self, s, a, rng):
        return Point(s.x + a[0] + 0.1 * rng.normal()), -abs(s.x)

    def observe(self, s, a, rng):
        return Point(s.x + 0.5 * rng.normal())

    def obs_logpdf(self, o, s, a):
        z = (o.x - s.x) / 0.5
        return -0.5 * z * z


class Count(NamedTuple):
    steps: int


@airoas.model
class Chain(NamedTuple):
    """One action that pays 1, one observation."""

    discount: float = 0.5

    def actions(self):
        return ("on",)

    def initial(self, rng):
        return Count(0)

    def step(self, s, a, rng):
        return Count(s.steps + 1), 1.0

    def observe(self, s, a, rng):
        return Count(0)

    def obs_logpdf(self, o, s, a):
        return 0.0


@airoas.model
class Cliff(NamedTuple):
    """Every third step on average leads over the edge, where no method may be called any more."""

    discount: float = 0.9

    def actions(self):
        return ("on", "back")

    def initial(self, rng):
        return Position(0, 1)

    def is_terminal(self, s):
        return s.cell == 7

    def legal(self, s, a):
        if s.cell == 7:
            raise ValueError("legal over the edge")
        return a == 0 or s.cell > 0

    def rollout_action(self, s, rng):
        if s.cell == 7:
            raise ValueError("rollout_action over the edge")
        return rng.integer(2) if s.cell > 0 else 0

    def step(self, s, a, rng):
        if s.cell == 7:
            raise ValueError("step over the edge")
        if s.prize == 0 and rng.integer(3) == 0:
            return Position(7, s.prize), -5.0
        return Position(min(s.cell + 1, 3) if a == 0 else s.cell - 1, 0), 1.0

    def observe(self, s, a, rng):
        if s.cell == 7:
            raise ValueError("observe over the edge")
        return Count(s.cell // 2)

    def obs_logpdf(self, o, s, a):
        if s.cell == 7:
            raise ValueError("obs_logpdf over the edge")
        return 0.0 if o.steps == s.cell // 2 else -math.inf

    def value_bounds(self, s):
        if s.cell == 7:
            raise ValueError("value_bounds over the edge")
        return -5.0, 10.0
