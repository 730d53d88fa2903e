"""VDP-Tag (Sunberg and Kochenderfer 2018): catch a target that moves as a Van der Pol oscillator, in a plane with four barriers.

One can look, for a price: then the beam that the target is in tells its distance sharply, otherwise hardly at all. `VDPTag` goes along one
of 20 angles, `VDPTagContinuous` along any.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from airoas.modelling.actions import Box, Choice
from airoas.modelling.decorator import model
from airoas.rng import Rng

ANGLES = 20
MU = 2.0
SUBSTEPS, DT = 5, 0.1
TARGET_SD = 0.05
SPEED = 0.5
"""The way of the agent in a step."""
TAG = 0.1
INNER, OUTER = 0.2, 3.0
"""Barriers lie on the axes, on every side from so far to so far from the origin."""
SHARP, DULL = 0.1, 5.0
"""Standard deviations of the beam that the target is in, with a look and without, and of the others, which read `EMPTY`."""
EMPTY = 1.0
_BACK_OFF = 1e-9
"""The part of a step that stays between the agent and a barrier that has stopped it."""
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


class State(NamedTuple):
    x: float
    y: float
    target_x: float
    target_y: float


class Beams(NamedTuple):
    """Beam k sees bearings from 45 (k - 1) degrees, excluded, to 45 k degrees from east."""

    b1: float
    b2: float
    b3: float
    b4: float
    b5: float
    b6: float
    b7: float
    b8: float


class Action(NamedTuple):
    angle: float
    look: int


@model
class VDPTag(NamedTuple):
    """Come within 0.1 of the target: +100, other steps -1; a look costs 5 more. Actions: 20 angles, then the same with a look."""

    discount: float = 0.95
    max_steps: int = 100

    def actions(self) -> tuple[str, ...]:
        degrees = [(360 * k + 180) // ANGLES for k in range(ANGLES)]
        return (*(f"go-{angle}" for angle in degrees), *(f"look-{angle}" for angle in degrees))

    def initial(self, rng: Rng) -> State:
        return _initial(rng)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        return _step(s, (a % ANGLES + 0.5) * 2.0 * math.pi / ANGLES, a >= ANGLES, rng)

    def observe(self, s: State, a: int, rng: Rng) -> Beams:
        return _observe(s, a >= ANGLES, rng)

    def obs_logpdf(self, o: Beams, s: State, a: int) -> float:
        return _obs_logpdf(o, s, a >= ANGLES)

    def is_terminal(self, s: State) -> bool:
        return distance(s) < TAG


@model
class VDPTagContinuous(NamedTuple):
    """`VDPTag` with any angle."""

    discount: float = 0.95
    max_steps: int = 100

    def action_space(self) -> Action:
        return Action(angle=Box(0.0, 2.0 * math.pi, wraps=True), look=Choice("no", "yes"))  # type: ignore[arg-type]

    def initial(self, rng: Rng) -> State:
        return _initial(rng)

    def step(self, s: State, a: Action, rng: Rng) -> tuple[State, float]:
        return _step(s, a.angle, a.look > 0, rng)

    def observe(self, s: State, a: Action, rng: Rng) -> Beams:
        return _observe(s, a.look > 0, rng)

    def obs_logpdf(self, o: Beams, s: State, a: Action) -> float:
        return _obs_logpdf(o, s, a.look > 0)

    def is_terminal(self, s: State) -> bool:
        return distance(s) < TAG


def distance(s: State) -> float:
    dx, dy = s.target_x - s.x, s.target_y - s.y
    return math.sqrt(dx * dx + dy * dy)


def beam(s: State) -> int:
    """The beam that the target is in, 0 .. 7; due east counts as 360 degrees, not as 0."""
    bearing = math.atan2(s.target_y - s.y, s.target_x - s.x)
    if bearing <= 0.0:
        bearing += 2.0 * math.pi
    return min(7, max(0, math.ceil(bearing / (0.25 * math.pi)) - 1))


def drift(x: float, y: float) -> tuple[float, float]:
    """Where the target goes in a step without noise: classical Runge-Kutta."""
    for _ in range(SUBSTEPS):
        x, y = substep(x, y)
    return x, y


def substep(x: float, y: float) -> tuple[float, float]:
    ax, ay = _flow(x, y)
    bx, by = _flow(x + 0.5 * DT * ax, y + 0.5 * DT * ay)
    cx, cy = _flow(x + 0.5 * DT * bx, y + 0.5 * DT * by)
    dx, dy = _flow(x + DT * cx, y + DT * cy)
    return x + DT / 6.0 * (ax + 2.0 * bx + 2.0 * cx + dx), y + DT / 6.0 * (ay + 2.0 * by + 2.0 * cy + dy)


def _flow(x: float, y: float) -> tuple[float, float]:
    return MU * (x - x * x * x / 3.0 - y), x / MU


def moved(x: float, y: float, angle: float) -> tuple[float, float]:
    """Where the agent gets to: the first barrier in its way stops it just on its own side."""
    dx, dy = SPEED * math.cos(angle), SPEED * math.sin(angle)
    part = min(_crossing(x, y, dx, dy), _crossing(y, x, dy, dx))
    if part <= 1.0:
        part -= _BACK_OFF
        return x + part * dx, y + part * dy
    return x + dx, y + dy


def _crossing(along: float, off: float, d_along: float, d_off: float) -> float:
    """Which part of the way (2 where none) leads onto the barriers on an axis, from `off` beside it and `along` it."""
    if d_off == 0.0:
        return 2.0
    part = -off / d_off
    if part < 0.0 or part > 1.0:
        return 2.0
    where = abs(along + part * d_along)
    return part if INNER <= where <= OUTER else 2.0


def _initial(rng: Rng) -> State:
    return State(0.0, 0.0, 8.0 * rng.uniform() - 4.0, 8.0 * rng.uniform() - 4.0)


def _step(s: State, angle: float, look: bool, rng: Rng) -> tuple[State, float]:
    target_x, target_y = drift(s.target_x, s.target_y)
    target_x += TARGET_SD * rng.normal()
    target_y += TARGET_SD * rng.normal()
    x, y = moved(s.x, s.y, angle)
    s2 = State(x, y, target_x, target_y)
    return s2, (100.0 if distance(s2) < TAG else -1.0) - (5.0 if look else 0.0)


def _reading(k: int, s: State, look: bool, rng: Rng) -> float:
    if k == beam(s):
        return distance(s) + (SHARP if look else DULL) * rng.normal()
    return EMPTY + DULL * rng.normal()


def _observe(s: State, look: bool, rng: Rng) -> Beams:
    return Beams(
        _reading(0, s, look, rng),
        _reading(1, s, look, rng),
        _reading(2, s, look, rng),
        _reading(3, s, look, rng),
        _reading(4, s, look, rng),
        _reading(5, s, look, rng),
        _reading(6, s, look, rng),
        _reading(7, s, look, rng),
    )


def _obs_logpdf(o: Beams, s: State, look: bool) -> float:
    active = beam(s)
    total = -8.0 * _LOG_SQRT_2PI
    for k in range(8):
        sd = SHARP if look and k == active else DULL
        z = (o[k] - (distance(s) if k == active else EMPTY)) / sd
        total -= 0.5 * z * z + math.log(sd)
    return total
