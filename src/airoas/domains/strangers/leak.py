"""A buried pipe leaks somewhere: listen at hatches, louder the nearer, and dig where it must be. Thirty actions."""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.modelling.decorator import model
from airoas.rng import Rng

HATCHES = 15
NOISE = 0.5
_LOG_SCALE = math.log(NOISE * math.sqrt(2.0 * math.pi))


class State(NamedTuple):
    team: int
    """The hatch where the team is; hatch k stands in the middle of the stretch from k to k + 1."""
    leak: float
    """Between 0 and 15."""
    loudness: float
    """Of the leak itself, between 2 and 5; it falls by a factor of e every 3 along the pipe."""
    mended: int


class Sound(NamedTuple):
    level: float


@model
class Leak(NamedTuple):
    """Digging costs 8, and pays 50 on the stretch of the leak; listening costs 0.5. The way to a hatch costs 0.2 a stretch on top."""

    discount: float = 0.95
    max_steps: int = 40

    def actions(self) -> tuple[str, ...]:
        return (*(f"listen-{k}" for k in range(HATCHES)), *(f"dig-{k}" for k in range(HATCHES)))

    def initial(self, rng: Rng) -> State:
        return State(0, HATCHES * rng.uniform(), 2.0 + 3.0 * rng.uniform(), 0)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        hatch = a % HATCHES
        way = 0.2 * abs(hatch - s.team)
        if a < HATCHES:
            return State(hatch, s.leak, s.loudness, 0), -0.5 - way
        result = math.floor(s.leak) == hatch
        return State(hatch, s.leak, s.loudness, 1 if result else 0), (42.0 if result else -8.0) - way

    def observe(self, s: State, a: int, rng: Rng) -> Sound:
        return Sound(level(s, a) + NOISE * rng.normal())

    def obs_logpdf(self, o: Sound, s: State, a: int) -> float:
        z = (o.level - level(s, a)) / NOISE
        return -0.5 * z * z - _LOG_SCALE

    def is_terminal(self, s: State) -> bool:
        return s.mended > 0


def level(s: State, a: int) -> float:
    """What is heard at the hatch without noise; while digging nothing is."""
    return s.loudness * math.exp(-abs(s.leak - s.team - 0.5) / 3.0) if a < HATCHES else 0.0
