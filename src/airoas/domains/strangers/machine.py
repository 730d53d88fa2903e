"""A machine with four parts that wear out unseen: it goes on, and spoils what it makes, until the right part is changed."""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.modelling.decorator import model
from airoas.rng import Rng

PARTS = 4
RUN, GAUGED = 0, 1
WEAR = 0.03
"""How likely a good part wears out in a step of work."""
RIGHT = 0.8
"""How likely the gauge tells something that is true; otherwise it tells anything."""
NOTHING = -1


class State(NamedTuple):
    worn: int
    """Bit k: part k is worn out."""


class Gauge(NamedTuple):
    says: int
    """0 all is well, k part k is worn out; -1 without the gauge."""


@model
class Machine(NamedTuple):
    """Work pays 7, less 6 for each part that is worn out, and 1.5 less with the gauge on. Changing a part costs 4. It never ends."""

    discount: float = 0.95
    max_steps: int = 100

    def actions(self) -> tuple[str, ...]:
        return ("run", "run-gauged", *(f"change-{k + 1}" for k in range(PARTS)))

    def initial(self, rng: Rng) -> State:
        return State(0)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if a > GAUGED:
            return State(s.worn & ~(1 << (a - 2))), -4.0
        worn = s.worn
        for k in range(PARTS):
            if rng.uniform() < WEAR:
                worn |= 1 << k
        return State(worn), 7.0 - 6.0 * count(s.worn) - (1.5 if a == GAUGED else 0.0)

    def observe(self, s: State, a: int, rng: Rng) -> Gauge:
        """One of the parts that are worn out, whichever, where the gauge is right."""
        if a != GAUGED:
            return Gauge(NOTHING)
        if rng.uniform() >= RIGHT:
            return Gauge(rng.integer(PARTS + 1))
        if s.worn == 0:
            return Gauge(0)
        k = rng.integer(PARTS)
        while not s.worn >> k & 1:
            k = rng.integer(PARTS)
        return Gauge(k + 1)

    def obs_logpdf(self, o: Gauge, s: State, a: int) -> float:
        if a != GAUGED or o.says == NOTHING:
            return 0.0 if (o.says == NOTHING) == (a != GAUGED) else -math.inf
        probability = (1.0 - RIGHT) / (PARTS + 1)
        if s.worn == 0:
            probability += RIGHT if o.says == 0 else 0.0
        elif o.says > 0 and s.worn >> (o.says - 1) & 1:
            probability += RIGHT / count(s.worn)
        return math.log(probability)


def count(worn: int) -> int:
    total = 0
    for k in range(PARTS):
        total += worn >> k & 1
    return total
