"""Pushbox2D (Hoerger, Kurniawati, Kroese and Ye 2023): push a puck into a goal between walls, knowing about where it is.

Robot and puck touch at a distance of 1. The puck flies off along the line between their centres, five times as fast as it is hit, and stops
at once. What is seen: whether there was a contact in this step, and the bearing of the puck, within ten degrees, in steps of thirty.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.modelling.actions import Box
from airoas.modelling.decorator import model
from airoas.rng import Rng

GOAL = (8.5, 9.5)
"""The middle of the goal cell."""
BOOST, BOOST_SD, AIM_SD = 5.0, 0.1, 0.1
"""How much faster than it is hit the puck flies, and standard deviations of that factor and of each component of its direction, each cut
off at one of them."""
SPREAD = 2.0
"""Of each coordinate of the puck at the start, standard deviation and cut."""
SECTOR, BEARING = 30.0, 10.0
"""Degrees of a step of the bearing, and standard deviation and cut of its error."""
_WITHIN = math.erf(1.0 / math.sqrt(2.0))  # probability of one standard deviation
_LOG_DISCOUNT = math.log(0.95)


class State(NamedTuple):
    x: float
    y: float
    puck_x: float
    puck_y: float
    touched: bool
    """In the step that led here."""


class Action(NamedTuple):
    dx: float
    dy: float


class Reading(NamedTuple):
    touched: bool
    sector: int
    """0 .. 11, of the bearing."""


@model
class Pushbox(NamedTuple):
    """Puck in the goal +1000, robot or puck in a wall -1000, each of which ends it; a step -10. `overlap_ends`: so does a robot that
    ends a step nearer to the puck than their contact, as in later experiments of the authors."""

    overlap_ends: bool = False
    discount: float = 0.95
    max_steps: int = 50

    def action_space(self) -> Action:
        return Action(dx=Box(-1.0, 1.0), dy=Box(-1.0, 1.0))  # type: ignore[arg-type]

    def initial(self, rng: Rng) -> State:
        return State(5.5, 9.5, 5.5 + SPREAD * cut_normal(rng), 5.5 + SPREAD * cut_normal(rng), False)

    def step(self, s: State, a: Action, rng: Rng) -> tuple[State, float]:
        when = contact(s, a.dx, a.dy)
        x, y, puck_x, puck_y = s.x + a.dx, s.y + a.dy, s.puck_x, s.puck_y
        if when >= 0.0:
            nx, ny = s.puck_x - (s.x + when * a.dx), s.puck_y - (s.y + when * a.dy)
            speed = BOOST * (1.0 + BOOST_SD * cut_normal(rng)) * (a.dx * nx + a.dy * ny)
            puck_x += speed * (nx + AIM_SD * cut_normal(rng))
            puck_y += speed * (ny + AIM_SD * cut_normal(rng))
        s2 = State(x, y, puck_x, puck_y, when >= 0.0)
        reward = -10.0
        if in_goal(s2):
            reward += 1000.0
        if self.collides(s2):
            reward -= 1000.0
        return s2, reward

    def collides(self, s: State) -> bool:
        if self.overlap_ends and (s.puck_x - s.x) * (s.puck_x - s.x) + (s.puck_y - s.y) * (s.puck_y - s.y) < 1.0:
            return True
        return is_wall(s.x, s.y) or is_wall(s.puck_x, s.puck_y)

    def is_terminal(self, s: State) -> bool:
        return in_goal(s) or self.collides(s)

    def observe(self, s: State, a: Action, rng: Rng) -> Reading:
        angle = (bearing(s) + BEARING * cut_normal(rng)) % 360.0
        return Reading(s.touched, min(11, int(angle / SECTOR)))

    def obs_logpdf(self, o: Reading, s: State, a: Action) -> float:
        if o.touched != s.touched:
            return -math.inf
        p = sector_probability(o.sector, bearing(s))
        return math.log(p) if p > 0.0 else -math.inf

    def heuristic(self, s: State) -> float:
        """The authors': as if one walked behind the puck and pushed it home at the speed of a walk."""
        gx, gy = s.puck_x - GOAL[0], s.puck_y - GOAL[1]
        way = math.sqrt(gx * gx + gy * gy)
        bx, by = s.x - (s.puck_x + gx / max(1e-9, way)), s.y - (s.puck_y + gy / max(1e-9, way))
        return walk_value(way + math.sqrt(bx * bx + by * by), 1000.0, 10.0)


def walk_value(way: float, prize: float, cost: float) -> float:
    """What a prize is worth at the end of a way, which costs so much for a unit."""
    left = math.exp(_LOG_DISCOUNT * way)
    return prize * left - cost * (left - 1.0) / _LOG_DISCOUNT


def cut_normal(rng: Rng) -> float:
    """A standard normal draw within one standard deviation."""
    z = rng.normal()
    while abs(z) > 1.0:
        z = rng.normal()
    return z


def contact(s: State, dx: float, dy: float) -> float:
    """At which part of the step the robot hits the puck; -1 where it does not."""
    length = dx * dx + dy * dy
    if length == 0.0:
        return -1.0
    px, py = s.puck_x - s.x, s.puck_y - s.y
    nearest = (px * dx + py * dy) / length
    off_x, off_y = px - nearest * dx, py - nearest * dy
    off = off_x * off_x + off_y * off_y
    if off >= 1.0:
        return -1.0
    when = nearest - math.sqrt(1.0 - off) / math.sqrt(length)
    return when if 0.0 <= when <= 1.0 else -1.0


def is_wall(x: float, y: float) -> bool:
    if x < 1.0 or x >= 11.0 or y < 1.0 or y >= 11.0:
        return True
    return (x >= 8.0 and y >= 10.0) or (x >= 9.0 and y >= 9.0)


def in_goal(s: State) -> bool:
    return 8.0 <= s.puck_x < 9.0 and 9.0 <= s.puck_y < 10.0


def bearing(s: State) -> float:
    """Of the puck from the robot, in degrees from east, 0 .. 360."""
    return math.degrees(math.atan2(s.puck_y - s.y, s.puck_x - s.x)) % 360.0


def sector_probability(sector: int, angle: float) -> float:
    """That a bearing is read in this sector."""
    total = 0.0
    for turn in range(-1, 2):
        low = SECTOR * sector - angle + 360.0 * turn
        total += max(0.0, _below(low + SECTOR) - _below(low))
    return total


def _below(error: float) -> float:
    """Probability that the error of a bearing is less."""
    z = min(1.0, max(-1.0, error / BEARING))
    return 0.5 + 0.5 * math.erf(z / math.sqrt(2.0)) / _WITHIN
