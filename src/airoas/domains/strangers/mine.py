"""Four shafts at one end of a gallery, one of them with ore; the plan of the mine hangs at the other end, twelve steps away."""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.modelling.decorator import model
from airoas.rng import Rng

LENGTH = 12
SHAFTS = 4
WEST, EAST, READ, SHAFT = range(4)
SLIP = 0.1
LEGIBLE = 0.7
"""How likely the plan is read rightly; otherwise it seems to show one of the other shafts."""


class State(NamedTuple):
    position: int
    """0 at the plan, 12 at the shafts."""
    ore: int
    """The shaft with ore, 1 .. 4."""
    down: int
    """1 in a shaft, which is the end."""


class Seen(NamedTuple):
    position: int
    plan: int
    """The shaft that the plan seems to show; 0 where it was not read."""


@model
class Mine(NamedTuple):
    """The shaft with ore pays 100, another costs 60; other steps cost 0.5. A walker stays put one time in ten, and sees where he is."""

    discount: float = 0.98
    max_steps: int = 100

    def actions(self) -> tuple[str, ...]:
        return ("west", "east", "read", *(f"shaft-{k + 1}" for k in range(SHAFTS)))

    def legal(self, s: State, a: int) -> bool:
        return a < READ or (s.position == 0 if a == READ else s.position == LENGTH)

    def initial(self, rng: Rng) -> State:
        return State(LENGTH, 1 + rng.integer(SHAFTS), 0)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if a >= SHAFT and s.position == LENGTH:
            return State(s.position, s.ore, 1), 100.0 if a - SHAFT + 1 == s.ore else -60.0
        position = s.position
        if a < READ and rng.uniform() >= SLIP:
            position = max(0, position - 1) if a == WEST else min(LENGTH, position + 1)
        return State(position, s.ore, 0), -0.5

    def observe(self, s: State, a: int, rng: Rng) -> Seen:
        if a != READ or s.position > 0:
            return Seen(s.position, 0)
        if rng.uniform() < LEGIBLE:
            return Seen(s.position, s.ore)
        return Seen(s.position, 1 + (s.ore + rng.integer(SHAFTS - 1)) % SHAFTS)

    def obs_logpdf(self, o: Seen, s: State, a: int) -> float:
        reads = a == READ and s.position == 0
        if o.position != s.position or (o.plan > 0) != reads:
            return -math.inf
        if not reads:
            return 0.0
        return math.log(LEGIBLE if o.plan == s.ore else (1.0 - LEGIBLE) / (SHAFTS - 1))

    def is_terminal(self, s: State) -> bool:
        return s.down > 0
