"""Light Dark of the MAGIC paper (Lee, Cai and Hsu 2021): go to a goal and stop there, from about a known place. Only in a narrow column of
light, out of the way, does one see where one is.

Start, goal and light are drawn for every map, and known. `LightColumn` goes along any angle. `LightColumnMacros` is the paper's own
protocol: a decision is for eight moves along one of eight headings, and what was seen on the way is told at the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from airoas.compiler.arrays import Flags, Vector
from airoas.modelling.actions import Box, Choice
from airoas.modelling.decorator import model
from airoas.rng import Rng, stream

MOVE = 0.5
NEAR = 0.5
"""Distance from the goal within which to stop."""
HALF_WIDTH, SHARP = 0.3, 0.1
"""Of the column of light, and standard deviation of a reading in it."""
STEPS = 60
"""The last of them must be a stop."""
LENGTH, HEADINGS = 8, 8
"""Moves of a macro-action, and headings that it may have."""
STOP = HEADINGS
SIDE, DISTANCE = 4.0, 4.0
"""Start, goal and light lie within so far from 0, and so far apart."""
_LOG_DENSITY = -math.log(2.0 * math.pi * SHARP * SHARP)
if TYPE_CHECKING:
    Lit = Any
    Positions = Any
else:
    Lit, Positions = Flags[LENGTH], Vector[LENGTH]


class State(NamedTuple):
    x: float
    y: float
    steps: int
    stopped: bool


class Action(NamedTuple):
    angle: float
    stop: int


class Reading(NamedTuple):
    lit: bool
    x: float
    """0 in the dark."""
    y: float


class Readings(NamedTuple):
    """One after each move."""

    lit: Lit
    x: Positions
    y: Positions


@model
class LightColumn(NamedTuple):
    """Stop within 0.5 of the goal for +100, elsewhere for -100; a move costs 0.1, the 60th one 100, and ends it."""

    start_x: float = -3.0
    start_y: float = 0.0
    goal_x: float = -3.0
    goal_y: float = 4.0
    light: float = 3.0
    discount: float = 0.98

    @property
    def max_steps(self) -> int:
        return STEPS

    def action_space(self) -> Action:
        return Action(angle=Box(0.0, 2.0 * math.pi, wraps=True), stop=Choice("go", "stop"))  # type: ignore[arg-type]

    def macros(self) -> tuple[tuple[Action, ...], ...]:
        """Straight on, along each of the headings."""
        return tuple((Action(2.0 * math.pi * k / HEADINGS, 0),) * (2 * LENGTH) for k in range(HEADINGS))

    def initial(self, rng: Rng) -> State:
        return _initial(self, rng)

    def step(self, s: State, a: Action, rng: Rng) -> tuple[State, float]:
        return _stop(self, s) if a.stop > 0 else move(s, a.angle)

    def observe(self, s: State, a: Action, rng: Rng) -> Reading:
        if not is_lit(s.x, self.light):
            return Reading(False, 0.0, 0.0)
        return Reading(True, s.x + SHARP * rng.normal(), s.y + SHARP * rng.normal())

    def obs_logpdf(self, o: Reading, s: State, a: Action) -> float:
        return log_density(o.lit, o.x, o.y, s.x, s.y, self.light)

    def is_terminal(self, s: State) -> bool:
        return s.stopped or s.steps >= STEPS


@model
class LightColumnMacros(NamedTuple):
    """`LightColumn` by decisions for eight moves; what they cost is added up."""

    start_x: float = -3.0
    start_y: float = 0.0
    goal_x: float = -3.0
    goal_y: float = 4.0
    light: float = 3.0
    discount: float = 0.98**LENGTH

    @property
    def max_steps(self) -> int:
        return STEPS // LENGTH + 1

    def actions(self) -> tuple[str, ...]:
        return (*(f"go-{360 * k // HEADINGS}" for k in range(HEADINGS)), "stop")

    def initial(self, rng: Rng) -> State:
        return _initial(self, rng)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if a == STOP:
            return _stop(self, s)
        total = 0.0
        for _ in range(LENGTH):
            if s.steps < STEPS:
                s, reward = move(s, heading(a))
                total += reward
        return s, total

    def observe(self, s: State, a: int, rng: Rng) -> Readings:
        lit, xs, ys = Lit(False), Positions(0.0), Positions(0.0)
        for k in range(LENGTH):
            x, y = passed(s, a, k)
            if is_lit(x, self.light):
                lit = lit.with_(k, True)
                xs = xs.with_(k, x + SHARP * rng.normal())
                ys = ys.with_(k, y + SHARP * rng.normal())
        return Readings(lit, xs, ys)

    def obs_logpdf(self, o: Readings, s: State, a: int) -> float:
        total = 0.0
        for k in range(LENGTH):
            x, y = passed(s, a, k)
            total += log_density(o.lit[k], o.x[k], o.y[k], x, y, self.light)
        return total

    def is_terminal(self, s: State) -> bool:
        return s.stopped or s.steps >= STEPS


def random_map(number: int) -> LightColumn:
    """Start, goal and light, drawn until each of them is far enough from the others."""
    rng = stream(number, "light-column")
    while True:
        start_x, start_y, goal_x, goal_y, light = (SIDE * (2.0 * rng.uniform() - 1.0) for _ in range(5))
        distance = min(math.hypot(start_x - goal_x, start_y - goal_y), abs(start_x - light), abs(goal_x - light))
        if distance >= DISTANCE:
            return LightColumn(start_x, start_y, goal_x, goal_y, light)


def random_map_for_macros(number: int) -> LightColumnMacros:
    """The same map."""
    return LightColumnMacros(*random_map(number)[:5])


def _initial(model: Any, rng: Rng) -> State:
    return State(model.start_x + rng.normal(), model.start_y + rng.normal(), 0, False)


def _stop(model: Any, s: State) -> tuple[State, float]:
    dx, dy = s.x - model.goal_x, s.y - model.goal_y
    return State(s.x, s.y, s.steps + 1, True), 100.0 if dx * dx + dy * dy <= NEAR * NEAR else -100.0


def move(s: State, angle: float) -> tuple[State, float]:
    """One move, which is exact."""
    s2 = State(s.x + MOVE * math.cos(angle), s.y + MOVE * math.sin(angle), s.steps + 1, False)
    return s2, -0.1 if s2.steps < STEPS else -100.0


def heading(a: int) -> float:
    return 2.0 * math.pi * a / HEADINGS


def passed(s: State, a: int, k: int) -> tuple[float, float]:
    """Where one was after move k (0 ..) of a macro-action that led to s."""
    if a == STOP:
        return s.x, s.y
    back = MOVE * (LENGTH - 1 - k)
    return s.x - back * math.cos(heading(a)), s.y - back * math.sin(heading(a))


def is_lit(x: float, light: float) -> bool:
    return abs(x - light) <= HALF_WIDTH


def log_density(lit: bool, seen_x: float, seen_y: float, x: float, y: float, light: float) -> float:
    """Of a reading at (x, y)."""
    if lit != is_lit(x, light):
        return -math.inf
    if not lit:
        return 0.0
    dx, dy = (seen_x - x) / SHARP, (seen_y - y) / SHARP
    return _LOG_DENSITY - 0.5 * (dx * dx + dy * dy)
