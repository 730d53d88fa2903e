"""Light Dark in one dimension: stop near the origin; you see clearly only near the light."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from airoas.errors import OptionError
from airoas.protocol import model
from airoas.rng import Rng

LEFT, STOP, RIGHT = 0, 1, 2
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


class State(NamedTuple):
    y: float
    stopped: int


class Reading(NamedTuple):
    y: float


@model
class LightDark(NamedTuple):
    """Stop within 1 of the origin for +10, elsewhere for -10. Moves are exact and free; sight is sharp at `light`."""

    step_size: float = 1.0
    light: float = 5.0
    discount: float = 0.9

    max_steps = 50

    def prepare(self) -> dict[str, Any]:
        if not self.step_size > 0.0:
            raise OptionError(f"LightDark(step_size={self.step_size})", "step_size must be above 0.")
        return {}

    def actions(self) -> tuple[str, ...]:
        return ("left", "stop", "right")

    def noise(self, y: float) -> float:
        """Standard deviation of a reading at y."""
        return abs(y - self.light) / math.sqrt(2.0) + 0.01

    def initial(self, rng: Rng) -> State:
        return State(2.0 + 3.0 * rng.normal(), 0)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if s.stopped:
            return s, 0.0
        if a == STOP:
            return State(s.y, 1), 10.0 if abs(s.y) < 1.0 else -10.0
        return State(s.y + (a - STOP) * self.step_size, 0), 0.0

    def observe(self, s: State, a: int, rng: Rng) -> Reading:
        return Reading(s.y + self.noise(s.y) * rng.normal())

    def obs_logpdf(self, o: Reading, s: State, a: int) -> float:
        sd = self.noise(s.y)
        z = (o.y - s.y) / sd
        return -0.5 * z * z - math.log(sd) - _LOG_SQRT_2PI

    def is_terminal(self, s: State) -> bool:
        return s.stopped > 0
