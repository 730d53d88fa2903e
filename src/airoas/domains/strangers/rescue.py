"""Someone is in a burning house of twenty-five rooms: find them by calling, get them out, and mind where the fire has got to."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.modelling.decorator import model
from airoas.rng import Rng

SIDE = 5
ROOMS = SIDE * SIDE
FARTHEST = 2 * (SIDE - 1)
EXIT = 0
CARRIED = ROOMS
CALL, LIFT = 4, 5
SPREAD, CHOKES, CRAWLS = 0.03, 0.1, 0.05
CLEAR, ECHO = 0.6, 0.2
"""How likely a call is answered clearly, and by an echo that may come from anywhere."""
SMOKE = 0.1
"""How likely one is mistaken about a glow."""


class State(NamedTuple):
    room: int
    """Room 5 y + x; the exit is in room 0."""
    victim: int
    """The room, or 25 once carried."""
    fire: int
    """Bit r: room r burns."""
    over: int


class Seen(NamedTuple):
    with_victim: int
    """Whether the victim is in the same room."""
    glow: int
    """Bit d: it seems to burn in the next room north, east, south or west, in the same where there is none; bit 4: in the same."""
    answer: int
    """After a call, how far away it seemed; -1 where none was heard."""


@model
class Rescue(NamedTuple):
    """Out with the victim: +100. A step costs 1, or 6 where it ends in fire. Fire takes the victim one time in ten: -20, and the end."""

    discount: float = 0.96
    max_steps: int = 60

    def prepare(self) -> dict[str, Any]:
        """near [room, way]: the next room north, east, south or west; the same where there is none."""
        near = np.arange(ROOMS)[:, None] + np.array([SIDE, 1, -SIDE, -1])
        for r in range(ROOMS):
            x, y = r % SIDE, r // SIDE
            for way, blocked in enumerate((y == SIDE - 1, x == SIDE - 1, y == 0, x == 0)):
                near[r, way] = r if blocked else near[r, way]
        return {"near": near}

    def actions(self) -> tuple[str, ...]:
        return "north", "east", "south", "west", "call", "lift"

    def initial(self, rng: Rng) -> State:
        """Anyone but those at the exit may need help; the fire starts two rooms or more from the exit."""
        fire = rng.integer(ROOMS)
        while far(EXIT, fire) < 2:
            fire = rng.integer(ROOMS)
        return State(EXIT, 1 + rng.integer(ROOMS - 1), 1 << fire, 0)

    def step(self: Any, s: State, a: int, rng: Rng) -> tuple[State, float]:
        room = self.near[s.room, a] if a < CALL else s.room
        victim = s.victim
        if a == LIFT and victim == s.room:
            victim = CARRIED
        elif victim < ROOMS and rng.uniform() < CRAWLS:
            victim = self.near[victim, rng.integer(4)]
        fire = s.fire
        for r in range(ROOMS):
            for way in range(4):
                if s.fire >> self.near[r, way] & 1 and rng.uniform() < SPREAD:
                    fire |= 1 << r
        reward = -6.0 if fire >> room & 1 else -1.0
        if victim == CARRIED and room == EXIT:
            return State(room, victim, fire, 1), reward + 100.0
        if victim < ROOMS and fire >> victim & 1 and rng.uniform() < CHOKES:
            return State(room, victim, fire, 1), reward - 20.0
        return State(room, victim, fire, 0), reward

    def observe(self: Any, s: State, a: int, rng: Rng) -> Seen:
        answer = -1
        if a == CALL and s.victim < ROOMS:
            u = rng.uniform()
            answer = far(s.room, s.victim) if u < CLEAR else rng.integer(FARTHEST + 1) if u < CLEAR + ECHO else -1
        glow = 0
        for way in range(5):
            glow |= (burns(self.near, s, way) ^ (1 if rng.uniform() < SMOKE else 0)) << way
        return Seen(1 if s.victim == s.room else 0, glow, answer)

    def obs_logpdf(self: Any, o: Seen, s: State, a: int) -> float:
        if o.with_victim != (1 if s.victim == s.room else 0) or (o.answer >= 0 and (a != CALL or s.victim == CARRIED)):
            return -math.inf
        probability = 1.0
        if a == CALL and s.victim < ROOMS:
            probability = ECHO / (FARTHEST + 1) if o.answer >= 0 else 1.0 - CLEAR - ECHO
            probability += CLEAR if o.answer == far(s.room, s.victim) else 0.0
        for way in range(5):
            probability *= 1.0 - SMOKE if o.glow >> way & 1 == burns(self.near, s, way) else SMOKE
        return math.log(probability)

    def is_terminal(self, s: State) -> bool:
        return s.over > 0


def far(a: int, b: int) -> int:
    """Rooms from one to another."""
    return abs(a % SIDE - b % SIDE) + abs(a // SIDE - b // SIDE)


def burns(near: Any, s: State, way: int) -> int:
    """Whether it burns in the next room that way, in the same where there is none, or for way 4."""
    return s.fire >> (near[s.room, way] if way < 4 else s.room) & 1
