"""A hawk follows a hare over a field: from above it sees far and vaguely, near the ground it sees little and can strike."""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.modelling.decorator import model
from airoas.rng import Rng

FIELD = 16.0
CLIMB, DIVE = 4, 5
STROLL, DASH = 0.4, 4.0
NEAR = 1.0
"""Within which a hawk near the ground worries the hare."""
_LOG_2PI = math.log(2.0 * math.pi)


class State(NamedTuple):
    x: float
    y: float
    high: int
    hare_x: float
    hare_y: float
    heading: float
    """Of the hare."""


class Reading(NamedTuple):
    """Where the hare is from the hawk; all zero where it is not seen."""

    seen: int
    dx: float
    dy: float


@model
class Hawk(NamedTuple):
    """+3 for every step that ends near the ground within 1 of the hare; flying high costs 0.3. The hare dashes off one time in twenty."""

    discount: float = 0.97
    max_steps: int = 60

    def actions(self) -> tuple[str, ...]:
        return "north", "east", "south", "west", "climb", "dive"

    def initial(self, rng: Rng) -> State:
        return State(0.5 * FIELD, 0.5 * FIELD, 0, FIELD * rng.uniform(), FIELD * rng.uniform(), 2.0 * math.pi * rng.uniform())

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        high = 1 if a == CLIMB else 0 if a == DIVE else s.high
        x = s.x + (1.0 if a == 1 else -1.0 if a == 3 else 0.0)
        y = s.y + (1.0 if a == 0 else -1.0 if a == 2 else 0.0)
        dashes = rng.uniform() < 0.05
        heading = 2.0 * math.pi * rng.uniform() if dashes else s.heading + 0.4 * rng.normal()
        stride = DASH if dashes else STROLL
        hare_x, hare_y = s.hare_x + stride * math.cos(heading), s.hare_y + stride * math.sin(heading)
        if hare_x < 0.0 or hare_x > FIELD or hare_y < 0.0 or hare_y > FIELD:  # it turns back at the hedge
            hare_x, hare_y = min(FIELD, max(0.0, hare_x)), min(FIELD, max(0.0, hare_y))
            heading = math.atan2(0.5 * FIELD - hare_y, 0.5 * FIELD - hare_x)
        s2 = State(min(FIELD, max(0.0, x)), min(FIELD, max(0.0, y)), high, hare_x, hare_y, heading)
        return s2, -0.3 if high else 3.0 if distance(s2) < NEAR else 0.0

    def observe(self, s: State, a: int, rng: Rng) -> Reading:
        if rng.uniform() >= detection_probability(s):
            return Reading(0, 0.0, 0.0)
        sd = blur(s)
        return Reading(1, s.hare_x - s.x + sd * rng.normal(), s.hare_y - s.y + sd * rng.normal())

    def obs_logpdf(self, o: Reading, s: State, a: int) -> float:
        if o.seen == 0:
            return math.log(1.0 - detection_probability(s))
        if detection_probability(s) == 0.0:
            return -math.inf
        sd = blur(s)
        u, v = (o.dx - s.hare_x + s.x) / sd, (o.dy - s.hare_y + s.y) / sd
        return math.log(detection_probability(s)) - 0.5 * (u * u + v * v) - 2.0 * math.log(sd) - _LOG_2PI


def distance(s: State) -> float:
    dx, dy = s.hare_x - s.x, s.hare_y - s.y
    return math.sqrt(dx * dx + dy * dy)


def detection_probability(s: State) -> float:
    return (0.8 if distance(s) < 7.0 else 0.0) if s.high else (0.9 if distance(s) < 1.5 else 0.0)


def blur(s: State) -> float:
    """Standard deviation, on each axis, of where the hare is seen."""
    return 0.7 if s.high else 0.2
