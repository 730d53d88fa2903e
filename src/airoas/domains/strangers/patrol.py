"""A frigate looks for a submarine that crosses a strait: whole numbers only, eight noisy beams, and a ping that gives one away."""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.modelling.decorator import model
from airoas.rng import Rng

SIZE = 20
PING, ATTACK = 4, 5
STRIDE = 3
"""Cells that the frigate moves in a step; the submarine moves one, or two once it is alarmed."""
RANGE = 2
FALSE_ALARM = 0.2


class State(NamedTuple):
    x: int
    y: int
    sub_x: int
    sub_y: int
    course: int
    """The way that the submarine goes: 0 north, 1 east, 2 south, 3 west."""
    alarmed: int
    over: int
    """1 once the submarine is hit or has left the strait."""


class Sonar(NamedTuple):
    """Beam k covers bearings from 45 k to 45 (k + 1) degrees: 1 where something is heard. After a ping, 1 + the distance or 0, for sure."""

    b0: int
    b1: int
    b2: int
    b3: int
    b4: int
    b5: int
    b6: int
    b7: int


@model
class Patrol(NamedTuple):
    """Hit the submarine before it has crossed: +100. An attack costs 15 and reaches 2 cells; one that misses, and a ping, alarm it."""

    discount: float = 0.97
    max_steps: int = 60

    def actions(self) -> tuple[str, ...]:
        return "north", "east", "south", "west", "ping", "attack"

    def initial(self, rng: Rng) -> State:
        """The frigate in the middle, the submarine within four cells of the side that it comes from."""
        course, lane, depth = rng.integer(4), rng.integer(SIZE), rng.integer(4)
        far = depth if course < 2 else SIZE - 1 - depth
        return State(SIZE // 2, SIZE // 2, lane if course % 2 == 0 else far, far if course % 2 == 0 else lane, course, 0, 0)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if a == ATTACK and distance(s) <= RANGE and rng.uniform() < (0.6 if s.alarmed else 0.9):
            return State(s.x, s.y, s.sub_x, s.sub_y, s.course, s.alarmed, 1), 85.0
        x, y = moved(s.x, s.y, a, STRIDE if a < PING else 0)
        x, y = min(SIZE - 1, max(0, x)), min(SIZE - 1, max(0, y))
        u = rng.uniform()
        way = s.course if u < 0.6 else (s.course + 1) % 4 if u < 0.7 else (s.course + 3) % 4
        sub_x, sub_y = moved(s.sub_x, s.sub_y, way, (2 if s.alarmed else 1) if u < 0.8 else 0)
        left = sub_x < 0 or sub_x >= SIZE or sub_y < 0 or sub_y >= SIZE
        return State(x, y, sub_x, sub_y, s.course, 1 if s.alarmed or a >= PING else 0, 1 if left else 0), -15.0 if a == ATTACK else 0.0

    def observe(self, s: State, a: int, rng: Rng) -> Sonar:
        return Sonar(
            _beam(s, a, 0, rng),
            _beam(s, a, 1, rng),
            _beam(s, a, 2, rng),
            _beam(s, a, 3, rng),
            _beam(s, a, 4, rng),
            _beam(s, a, 5, rng),
            _beam(s, a, 6, rng),
            _beam(s, a, 7, rng),
        )

    def obs_logpdf(self, o: Sonar, s: State, a: int) -> float:
        total = 0.0
        for k in range(8):
            present = k == sector(s)
            if a == PING:
                if o[k] != (distance(s) + 1 if present else 0):
                    return -math.inf
            else:
                probability = heard(distance(s)) if present else FALSE_ALARM
                if o[k] > 1:
                    return -math.inf
                total += math.log(probability if o[k] else 1.0 - probability)
        return total

    def is_terminal(self, s: State) -> bool:
        return s.over > 0


def moved(x: int, y: int, way: int, cells: int) -> tuple[int, int]:
    dx = 1 if way == 1 else -1 if way == 3 else 0
    dy = 1 if way == 0 else -1 if way == 2 else 0
    return x + cells * dx, y + cells * dy


def distance(s: State) -> int:
    return max(abs(s.sub_x - s.x), abs(s.sub_y - s.y))


def sector(s: State) -> int:
    """The beam that the submarine is in, 0 .. 7."""
    bearing = math.atan2(float(s.sub_y - s.y), float(s.sub_x - s.x))
    return math.floor((bearing + 2.0 * math.pi) / (0.25 * math.pi) + 1e-9) % 8


def heard(distance: int) -> float:
    """How likely the submarine is heard in its beam."""
    return 0.7 if distance <= 3 else 0.5 if distance <= 6 else 0.3


def _beam(s: State, a: int, k: int, rng: Rng) -> int:
    present = k == sector(s)
    if a == PING:
        return distance(s) + 1 if present else 0
    return 1 if rng.uniform() < (heard(distance(s)) if present else FALSE_ALARM) else 0
