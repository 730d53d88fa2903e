"""A robot in a building of rooms that look alike: find out where you are, drive to the charger, dock."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.modelling.decorator import model
from airoas.rng import Rng

FORWARD, LEFT, RIGHT, DOCK = range(4)
REACH = 12.0
TURN = math.pi / 4.0
STRIDE, STRIDE_SD, TURN_SD, BEAM_SD = 1.5, 0.1, math.radians(3.0), 0.5
CHARGER = (27.0, 29.0)
"""The far corner, marked C, of the room in the north-east."""
NEAR = 1.5
MAP = """
##############################
#........#........#.......C###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
###...######...######...######
#............................#
#............................#
#............................#
#............................#
####...######...######...#####
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
##############################
"""
"""Unit cells, drawn with north above. The rooms are 8 wide and 11 deep, doors 3 wide, walls as thick as a cell.

Turned by half a circle a northern room is a southern one: as long as no beam passes the door, nothing tells which of the six it is. The
corridor goes on two cells farther in the east than in the west, which is all that tells the building from itself turned.
"""
_LOG_SCALE = 4.0 * math.log(BEAM_SD * math.sqrt(2.0 * math.pi))


class State(NamedTuple):
    x: float
    y: float
    heading: float
    """Radians from east, counter-clockwise, in [0, 2 pi)."""
    docked: int


class Beams(NamedTuple):
    front: float
    left: float
    back: float
    right: float


@model
class Building(NamedTuple):
    """Dock within 1.5 of the charger: +100, elsewhere -50. Other steps -1; forward against a wall 5 more, and stays."""

    discount: float = 0.98
    max_steps: int = 80

    def prepare(self) -> dict[str, Any]:
        """walls [y, x]: whether the cell from (x, y) to (x + 1, y + 1) is wall; y grows to the north."""
        return {"walls": np.array([[cell == "#" for cell in row] for row in reversed(MAP.split())])}

    def actions(self) -> tuple[str, ...]:
        return "forward", "left", "right", "dock"

    def initial(self, rng: Rng) -> State:
        room = rng.integer(6)
        x, y = 1.0 + 9.0 * (room % 3), 1.0 + 17.0 * (room // 3)
        return State(x + 8.0 * rng.uniform(), y + 11.0 * rng.uniform(), 2.0 * math.pi * rng.uniform(), 0)

    def step(self: Any, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if a == DOCK:
            dx, dy = s.x - CHARGER[0], s.y - CHARGER[1]
            near = dx * dx + dy * dy <= NEAR * NEAR
            return State(s.x, s.y, s.heading, 1 if near else 0), 100.0 if near else -50.0
        if a == FORWARD:
            stride = STRIDE + STRIDE_SD * rng.normal()
            if distance(self.walls, s.x, s.y, s.heading, stride) < stride:
                return s, -6.0
            return State(s.x + stride * math.cos(s.heading), s.y + stride * math.sin(s.heading), s.heading, 0), -1.0
        heading = s.heading + (TURN if a == LEFT else -TURN) + TURN_SD * rng.normal()
        return State(s.x, s.y, heading % (2.0 * math.pi), 0), -1.0

    def observe(self: Any, s: State, a: int, rng: Rng) -> Beams:
        front, left, back, right = beams(self.walls, s)
        return Beams(
            front + BEAM_SD * rng.normal(), left + BEAM_SD * rng.normal(), back + BEAM_SD * rng.normal(), right + BEAM_SD * rng.normal()
        )

    def obs_logpdf(self: Any, o: Beams, s: State, a: int) -> float:
        front, left, back, right = beams(self.walls, s)
        f, l, b, r = (o.front - front) / BEAM_SD, (o.left - left) / BEAM_SD, (o.back - back) / BEAM_SD, (o.right - right) / BEAM_SD  # noqa: E741
        return -0.5 * (f * f + l * l + b * b + r * r) - _LOG_SCALE

    def is_terminal(self, s: State) -> bool:
        return s.docked > 0


def beams(walls: Any, s: State) -> tuple[float, float, float, float]:
    """How far it is to the wall in front, to the left, behind and to the right, 12 at most."""
    quarter = 0.5 * math.pi
    return (
        distance(walls, s.x, s.y, s.heading, REACH),
        distance(walls, s.x, s.y, s.heading + quarter, REACH),
        distance(walls, s.x, s.y, s.heading + 2.0 * quarter, REACH),
        distance(walls, s.x, s.y, s.heading + 3.0 * quarter, REACH),
    )


def distance(walls: Any, x: float, y: float, angle: float, most: float) -> float:
    """From (x, y) to the first wall along `angle`, `most` where there is none so near: from cell to cell along the ray."""
    dx, dy = math.cos(angle), math.sin(angle)
    column, row = math.floor(x), math.floor(y)
    east, north = 1 if dx > 0.0 else -1, 1 if dy > 0.0 else -1
    per_column, per_row = abs(1.0 / dx) if dx != 0.0 else math.inf, abs(1.0 / dy) if dy != 0.0 else math.inf
    to_column = ((column + 1 - x) if dx > 0.0 else (x - column)) * per_column if dx != 0.0 else math.inf
    to_row = ((row + 1 - y) if dy > 0.0 else (y - row)) * per_row if dy != 0.0 else math.inf
    while True:
        if to_column < to_row:
            gone = to_column
            column += east
            to_column += per_column
        else:
            gone = to_row
            row += north
            to_row += per_row
        if gone >= most:
            return most
        if walls[row, column]:
            return gone
