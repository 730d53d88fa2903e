"""Eight welds of a pipeline are to be passed or repaired; three instruments tell more about a weld the more they cost."""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.modelling.decorator import model
from airoas.rng import Rng

WELDS = 8
TAP, ULTRASOUND, XRAY, PASS, REPAIR = range(5)
LIMIT = 0.7
"""A weld whose flaw is larger will leak."""
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


class State(NamedTuple):
    weld: int
    flaw: float
    """Of the present weld; each is drawn from the standard normal distribution."""


class Reading(NamedTuple):
    weld: int
    flaw: float


@model
class Welds(NamedTuple):
    """Passing a weld pays 10, or costs 40 where it leaks; repairing costs 4; both lead on to the next, with a tap for nothing. Otherwise a
    tap costs 0.3, ultrasound 1, an X-ray 3."""

    discount: float = 0.97
    max_steps: int = 60

    def actions(self) -> tuple[str, ...]:
        return "tap", "ultrasound", "x-ray", "pass", "repair"

    def initial(self, rng: Rng) -> State:
        return State(0, rng.normal())

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if a == TAP:
            return s, -0.3
        if a == ULTRASOUND:
            return s, -1.0
        if a == XRAY:
            return s, -3.0
        reward = -4.0 if a == REPAIR else 10.0 if s.flaw <= LIMIT else -40.0
        return State(s.weld + 1, rng.normal()), reward

    def observe(self, s: State, a: int, rng: Rng) -> Reading:
        return Reading(s.weld, s.flaw + error(a) * rng.normal())

    def obs_logpdf(self, o: Reading, s: State, a: int) -> float:
        if o.weld != s.weld:
            return -math.inf
        z = (o.flaw - s.flaw) / error(a)
        return -0.5 * z * z - math.log(error(a)) - _LOG_SQRT_2PI

    def is_terminal(self, s: State) -> bool:
        return s.weld == WELDS


def error(a: int) -> float:
    """Standard deviation of a reading."""
    return 1.0 if a == ULTRASOUND else 0.3 if a == XRAY else 3.0
