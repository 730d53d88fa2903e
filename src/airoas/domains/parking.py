"""Parking2D (Hoerger, Kurniawati, Kroese and Ye 2023): steer a car into a gap, starting in one of three lanes and not knowing in which.

Three tiles of the ground before the gap tell the lane when one drives over them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.domains.pushbox import walk_value
from airoas.modelling.actions import Box
from airoas.modelling.decorator import model
from airoas.rng import Rng

LANES = (-3.0, 0.0, 3.0)
JITTER = 0.175
SUBSTEPS = 3
HALF_LENGTH, HALF_WIDTH = 0.5, 0.25
"""Of the car."""
OBSTACLES = ((5.0, 11.0, -5.6, -0.6), (5.0, 11.0, 0.6, 5.6), (10.45, 16.45, -2.5, 2.5))
"""West, east, south, north."""
GOAL_X, GOAL_RADIUS = 10.0, 0.2


class State(NamedTuple):
    x: float
    y: float
    yaw: float
    speed: float


class Action(NamedTuple):
    acceleration: float
    turn: float
    """Radians a second."""


class Tile(NamedTuple):
    number: int
    """0 beside the tiles."""


@model
class Parking(NamedTuple):
    """Centre of the car within 0.2 of the goal +100, into an obstacle -100, each of which ends it; a step -1."""

    accuracy: float = 1.0
    """Probability that a tile is read right: 1 in the authors' program, 0.7 in their paper; the others are equally likely."""
    discount: float = 0.95
    max_steps: int = 50

    def action_space(self) -> Action:
        return Action(acceleration=Box(-8.0, 8.0), turn=Box(-1.57, 1.57))  # type: ignore[arg-type]

    def initial(self, rng: Rng) -> State:
        return State(-1.0, LANES[rng.integer(3)] + JITTER * (2.0 * rng.uniform() - 1.0), 0.0, 0.0)

    def step(self, s: State, a: Action, rng: Rng) -> tuple[State, float]:
        s2 = drive(s, a.acceleration, a.turn)
        return s2, -1.0 + (100.0 if at_goal(s2) else 0.0) - (100.0 if collides(s2) else 0.0)

    def is_terminal(self, s: State) -> bool:
        return at_goal(s) or collides(s)

    def observe(self, s: State, a: Action, rng: Rng) -> Tile:
        tile = tile_at(s.x, s.y)
        if tile > 0 and rng.uniform() >= self.accuracy:
            tile = 1 + (tile + rng.integer(2)) % 3
        return Tile(tile)

    def obs_logpdf(self, o: Tile, s: State, a: Action) -> float:
        tile = tile_at(s.x, s.y)
        if (tile == 0) != (o.number == 0):
            return -math.inf
        p = 1.0 if tile == 0 else self.accuracy if tile == o.number else 0.5 * (1.0 - self.accuracy)
        return math.log(p) if p > 0.0 else -math.inf

    def heuristic(self, s: State) -> float:
        """The authors': straight to the goal, a unit a step."""
        dx = s.x - GOAL_X
        return walk_value(math.sqrt(dx * dx + s.y * s.y), 100.0, 1.0)


def drive(s: State, acceleration: float, turn: float) -> State:
    """Where the car is after a second, or where it has hit something."""
    x, y, yaw, speed = s.x, s.y, s.yaw, s.speed
    for _ in range(SUBSTEPS):
        x += speed * math.cos(yaw) / SUBSTEPS
        y += speed * math.sin(yaw) / SUBSTEPS
        yaw += turn / SUBSTEPS
        if yaw > math.pi:
            yaw -= 2.0 * math.pi
        elif yaw <= -math.pi:
            yaw += 2.0 * math.pi
        speed += acceleration / SUBSTEPS
        if collides(State(x, y, yaw, speed)):
            break
    return State(x, y, yaw, speed)


def collides(s: State) -> bool:
    """Whether the car, a turned rectangle, meets an obstacle: no line along a side of either separates them."""
    c, d = math.cos(s.yaw), math.sin(s.yaw)
    reach_x = HALF_LENGTH * abs(c) + HALF_WIDTH * abs(d)
    reach_y = HALF_LENGTH * abs(d) + HALF_WIDTH * abs(c)
    if s.x + reach_x < OBSTACLES[0][0]:
        return False
    for k in range(3):
        west, east, south, north = OBSTACLES[k]
        dx, dy = s.x - 0.5 * (west + east), s.y - 0.5 * (south + north)
        half_x, half_y = 0.5 * (east - west), 0.5 * (north - south)
        if abs(dx) > half_x + reach_x or abs(dy) > half_y + reach_y:
            continue
        if abs(c * dx + d * dy) > HALF_LENGTH + half_x * abs(c) + half_y * abs(d):
            continue
        if abs(c * dy - d * dx) > HALF_WIDTH + half_x * abs(d) + half_y * abs(c):
            continue
        return True
    return False


def at_goal(s: State) -> bool:
    dx = s.x - GOAL_X
    return dx * dx + s.y * s.y <= GOAL_RADIUS * GOAL_RADIUS


def tile_at(x: float, y: float) -> int:
    """1 to the north, 3 to the south, 0 beside the tiles."""
    if x < 1.0 or x > 5.0 or y < -6.0 or y > 6.0:
        return 0
    if y >= 2.0:
        return 1
    return 2 if y >= -2.0 else 3
