"""Light Dark in two dimensions (after Platt et al., 2010) with a very sharp light: stop at the origin, after a look at where you are.

A reading in the light is 600 times sharper than the prior on both axes, so almost no particle of the prior explains it: with the same
number of particles a plain filter loses the state there and an annealed one does not. In the same time, which
buys a plain filter more particles, that lead is gone (docs/annealing.md).

Two models share everything but their actions: `LightDark2D` has nine, `LightDark2DContinuous` a heading and a stride.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.domains.light_dark import night
from airoas.errors import OptionError
from airoas.modelling.actions import Box, Choice
from airoas.modelling.decorator import model
from airoas.rng import Rng

LONG, SHORT = 1.0, 0.2
STOP = 8
GOAL = 0.25
HALF_WIDTH = 0.5
"""Half the width of the band of light."""
_LOG_2PI = math.log(2.0 * math.pi)
_LOWEST_CUT, _HIGHEST_CUT = -10, 15
_REACH = 2
"""Open-loop plans go so many short moves at most along each axis."""
_WIDTH = 2 * _REACH + 1
_WALK = _WIDTH * _WIDTH
"""The plan that never stops; after it the two closed-loop ones, going east and west."""
SAME = 0.1
"""Two readings that differ by less, on each axis, from what the move between them explains are said to agree."""
_MISTAKES = 0.1
"""What closed-loop plans lose at most by readings that agree by chance: an estimate on the safe side, tested by playing them."""


class State(NamedTuple):
    x: float
    y: float
    stopped: int


class Reading(NamedTuple):
    x: float
    y: float


class Action(NamedTuple):
    """A continuous action: go `stride` (cut to [0, 1]) along `heading` (radians from east), or stop where `stop` > 0.5."""

    heading: float
    stride: float
    stop: float


@model
class LightDark2D(NamedTuple):
    """Stop within 0.25 of the origin for +10, elsewhere for -10. Moves of 1 or 0.2 along an axis are free."""

    light: float = 5.0
    move_noise: float = 0.02
    sharpness: float = 0.005
    discount: float = 0.95

    @property
    def max_steps(self) -> int:
        return 60

    def prepare(self) -> dict[str, Any]:
        _check(self)
        rate = _rate(self.discount, self.move_noise)
        return {
            "rate": rate,
            "exponential_moment": _exponential_moment(rate, self.move_noise),
            "powers": self.discount ** np.arange(2 * _REACH + 1),
        }

    def actions(self) -> tuple[str, ...]:
        ways = ("north", "east", "south", "west")
        return (*ways, *(f"{way}-short" for way in ways), "stop")

    def initial(self, rng: Rng) -> State:
        return _initial(rng)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        dx, dy = _displacement(a)
        return _step(self, s, dx, dy, a == STOP, rng)

    def step_logpdf(self, s2: State, s: State, a: int) -> float:
        dx, dy = _displacement(a)
        return _step_logpdf(self, s2, s, dx, dy, a == STOP)

    def observe(self, s: State, a: int, rng: Rng) -> Reading:
        return _observe(self, s, rng)

    def obs_logpdf(self, o: Reading, s: State, a: int) -> float:
        return _obs_logpdf(self, o, s)

    def is_terminal(self, s: State) -> bool:
        return s.stopped > 0

    def rollout_action(self, s: State, rng: Rng) -> int:
        """Home along the longer axis, then stop. It knows the state, so its return is no lower bound for a belief."""
        if s.x * s.x + s.y * s.y <= GOAL * GOAL:
            return STOP
        along_x = abs(s.x) >= abs(s.y)
        far = s.x if along_x else s.y
        way = (3 if far > 0.0 else 1) if along_x else (2 if far > 0.0 else 0)
        return way if abs(far) > 0.5 * LONG + 0.5 * SHORT else way + 4

    def n_plans(self) -> int:
        return _WALK + 3

    def plan_action(self, k: int, t: int) -> int:
        """Up to two short moves east or west, up to two north or south, then stop; for ever to the light and on; and two closed-loop
        plans: long moves east, or west, until a reading lies in the light and one a short move on agrees with it; then home, and stop."""
        if k > _WALK and t > 0:
            return -1  # closed-loop: it depends on the readings
        if k >= _WALK:
            return 1 if (k == _WALK + 1 or (k == _WALK and self.light > 0.0)) else 3
        east, north = k // _WIDTH - _REACH, k % _WIDTH - _REACH
        if t < abs(east):
            return 5 if east > 0 else 7
        if t < abs(east) + abs(north):
            return 4 if north > 0 else 6
        return STOP

    def plan_values(self: Any, s: State, out: Any, at: int) -> None:
        """A lower bound: the probability to end in the goal is at least that of noise shorter than the way to its edge."""
        for k in range(_WALK):
            east, north = k // _WIDTH - _REACH, k % _WIDTH - _REACH
            x, y = s.x + SHORT * east, s.y + SHORT * north
            moves = abs(east) + abs(north)
            probability = _probability_within(GOAL - math.sqrt(x * x + y * y), moves * self.move_noise * self.move_noise)
            out[at + k] = self.powers[moves] * (20.0 * probability - 10.0)
        out[at + _WALK] = 0.0
        out[at + _WALK + 1] = _closed_loop_value(self, s, 1.0)
        out[at + _WALK + 2] = _closed_loop_value(self, s, -1.0)

    def action_bounds(self: Any, s: State, out: Any, at: int) -> None:
        """Upper bounds of the values of the actions once the position is seen; see `_rate`."""
        for a in range(STOP):
            dx, dy = _displacement(a)
            x, y = s.x + dx, s.y + dy
            seen = self.exponential_moment * math.exp(-self.rate * (abs(x) + abs(y) - math.sqrt(2.0) * GOAL))
            outside = math.sqrt(x * x + y * y) - GOAL
            if outside > 0.0:  # then another move is due, unless noise alone leads into the goal
                far = min(8.0, outside / self.move_noise)  # beyond it the probability is no more than at 8, which is next to none
                into = math.exp(-0.5 * far * far) if far < 8.0 else 1.3e-14
                seen = min(seen, into + (1.0 - into) * self.discount)
            out[at + a] = 10.0 * self.discount * min(1.0, seen)
        out[at + STOP] = 10.0 if s.x * s.x + s.y * s.y <= GOAL * GOAL else -10.0

    def cell(self, s: State) -> int:
        return _cell(s)

    def mutate_literal(self, s: State, o: Reading, a: int, rng: Rng) -> State:
        return _mutate_literal(s, o, rng)

    def describe(self) -> tuple[str, int, str]:
        return "continuous", 9, "continuous"

    def draw(self, axis: Any, s: State | None, belief: Any) -> None:
        _draw(self, axis, s, belief)

    def text(self, s: State | None, belief: Any) -> str:
        return _text(self, s, belief)


@model
class LightDark2DContinuous(NamedTuple):
    """`LightDark2D` with continuous actions: a heading in [0, 2 pi), a stride in [0, 1], and whether to stop instead."""

    light: float = 5.0
    move_noise: float = 0.02
    sharpness: float = 0.005
    discount: float = 0.95

    @property
    def max_steps(self) -> int:
        return 60

    def prepare(self) -> dict[str, Any]:
        _check(self)
        return {}

    def initial(self, rng: Rng) -> State:
        return _initial(rng)

    def action_space(self) -> Action:
        heading, stride = Box(0.0, 2.0 * math.pi, wraps=True), Box(0.0, 1.0)
        return Action(heading, stride, Choice("go", "stop"))  # type: ignore[arg-type]

    def sample_action(self, s: State, rng: Rng) -> Action:
        """Stop one time in nine, as among the nine actions; always the same tuple, so that a tree holds it once."""
        if rng.integer(9) == STOP:
            return Action(0.0, 0.0, 1.0)
        return Action(2.0 * math.pi * rng.uniform(), rng.uniform(), 0.0)

    def step(self, s: State, a: Action, rng: Rng) -> tuple[State, float]:
        dx, dy = _polar(a)
        return _step(self, s, dx, dy, a.stop > 0.5, rng)

    def step_logpdf(self, s2: State, s: State, a: Action) -> float:
        dx, dy = _polar(a)
        return _step_logpdf(self, s2, s, dx, dy, a.stop > 0.5)

    def observe(self, s: State, a: Action, rng: Rng) -> Reading:
        return _observe(self, s, rng)

    def obs_logpdf(self, o: Reading, s: State, a: Action) -> float:
        return _obs_logpdf(self, o, s)

    def is_terminal(self, s: State) -> bool:
        return s.stopped > 0

    def rollout_action(self, s: State, rng: Rng) -> Action:
        """Straight home, then stop. It knows the state, so its return is no lower bound for a belief."""
        distance = math.sqrt(s.x * s.x + s.y * s.y)
        if distance <= GOAL:
            return Action(0.0, 0.0, 1.0)
        heading = math.atan2(-s.y, -s.x)
        return Action(heading if heading >= 0.0 else heading + 2.0 * math.pi, min(distance, 1.0), 0.0)

    def cell(self, s: State) -> int:
        return _cell(s)

    def mutate_literal(self, s: State, o: Reading, a: Action, rng: Rng) -> State:
        return _mutate_literal(s, o, rng)

    def describe(self) -> tuple[str, str, str]:
        return "continuous", "continuous", "continuous"

    def draw(self, axis: Any, s: State | None, belief: Any) -> None:
        _draw(self, axis, s, belief)

    def text(self, s: State | None, belief: Any) -> str:
        return _text(self, s, belief)


def _check(model: Any) -> None:
    name = type(model).__name__
    if not math.isfinite(model.light):
        raise OptionError(f"{name}(light={model.light})", "light must be a finite position.")
    for field in ("move_noise", "sharpness"):
        if not 0.0 < getattr(model, field) < math.inf:
            raise OptionError(f"{name}({field}={getattr(model, field)})", f"{field} is a standard deviation: above 0 and finite.")
    if not 0.0 < model.discount <= 1.0:
        raise OptionError(f"{name}(discount={model.discount})", "discount must be above 0 and at most 1.")


def _rate(discount: float, noise: float) -> float:
    """The largest c for which U(s) = 10 exp(-c (|x| + |y| - sqrt(2) GOAL)) bounds the value of seeing the position.

    U is at least 10 in the goal, and a move brings |x| + |y| down by at most 1 and the noise: discount exp(c) E exp(c |noise|) <= 1
    makes U(s) at least the discounted mean of U after any move.
    """
    low, high = 0.0, -math.log(discount)
    for _ in range(60):
        c = 0.5 * (low + high)
        low, high = (c, high) if discount * math.exp(c) * _exponential_moment(c, noise) <= 1.0 else (low, c)
    return low


def _exponential_moment(c: float, noise: float) -> float:
    """The exponential moment E exp(c (|u| + |v|)) for u and v normal with standard deviation `noise`."""
    one = math.exp(0.5 * c * c * noise * noise) * (1.0 + math.erf(c * noise / math.sqrt(2.0)))
    return one * one


def _displacement(a: int) -> tuple[float, float]:
    """Where a discrete action goes without noise."""
    stride = LONG if a < 4 else SHORT
    way = a % 4
    if a == STOP:
        return 0.0, 0.0
    if way == 0:
        return 0.0, stride
    if way == 1:
        return stride, 0.0
    if way == 2:
        return 0.0, -stride
    return -stride, 0.0


def _probability_within(radius: float, variance: float) -> float:
    """A lower bound of the probability that normal noise of this variance on each axis is no longer than `radius`."""
    if radius < 0.0:
        return 0.0
    return 1.0 - math.exp(-0.5 * radius * radius / variance) if variance > 0.0 else 1.0


def home(x: float) -> tuple[int, int]:
    """How many long and how many short moves along its axis lead from x home; short ones are negative where they go back."""
    long = math.floor(abs(x) + 0.5)
    rest = abs(x) - LONG * long
    short = math.floor(abs(rest) / SHORT + 0.5)
    return long, short if rest > 0.0 else -short


def _closed_loop_value(model: Any, s: State, way: float) -> float:
    """A lower bound of the value of the closed-loop plan: walking east (way = 1) or west (-1) to the light, looking, and going home.

    Where noise brings one elsewhere than meant, the way home takes it into account: what is left to go after it is no more than what
    the way as meant would leave.
    """
    gap = way * (model.light - s.x)
    moves = max(1, math.ceil(gap - HALF_WIDTH))
    margin = HALF_WIDTH - abs(gap - moves)
    if margin <= 0.0:
        return -_MISTAKES
    noise, blur = model.move_noise * model.move_noise, model.sharpness * model.sharpness
    arrives = _probability_within(margin, moves * noise + blur) * _probability_within(SAME, noise + 2.0 * blur)
    in_vain = 0.2 * (moves - 1)  # moves after a reading that lies in the light by chance: an estimate, as `_MISTAKES` is
    x = s.x + way * moves
    x += SHORT if x < model.light else -SHORT
    (long_x, short_x), (long_y, short_y) = home(x), home(s.y)
    left_x, left_y = abs(x) - LONG * long_x - SHORT * short_x, abs(s.y) - LONG * long_y - SHORT * short_y
    moves += 1 + long_x + abs(short_x) + long_y + abs(short_y)
    radius = GOAL - math.sqrt(left_x * left_x + left_y * left_y)
    probability = arrives * _probability_within(radius, moves * noise + blur)
    return math.pow(model.discount, moves + in_vain) * (10.0 * probability - 10.0 * (arrives - probability)) - _MISTAKES


def _polar(a: Action) -> tuple[float, float]:
    """Where a continuous action goes without noise."""
    stride = min(1.0, max(0.0, a.stride))
    return stride * math.cos(a.heading), stride * math.sin(a.heading)


def noise(x: float, light: float, sharpness: float) -> float:
    """Standard deviation of a reading, on each axis, at x."""
    distance = abs(x - light)
    return sharpness if distance < HALF_WIDTH else distance / math.sqrt(2.0) + sharpness


def _log_normal_2d(dx: float, dy: float, sd: float) -> float:
    u, v = dx / sd, dy / sd
    return -0.5 * (u * u + v * v) - 2.0 * math.log(sd) - _LOG_2PI


def _initial(rng: Rng) -> State:
    return State(2.0 + 3.0 * rng.normal(), 2.0 + 3.0 * rng.normal(), 0)


def _step(model: Any, s: State, dx: float, dy: float, stop: bool, rng: Rng) -> tuple[State, float]:
    if stop:
        return State(s.x, s.y, 1), 10.0 if s.x * s.x + s.y * s.y <= GOAL * GOAL else -10.0
    return State(s.x + dx + model.move_noise * rng.normal(), s.y + dy + model.move_noise * rng.normal(), 0), 0.0


def _step_logpdf(model: Any, s2: State, s: State, dx: float, dy: float, stop: bool) -> float:
    """Log density on (x, y) of a move; where nothing moves (stop) the log mass, 0 or -inf."""
    if stop:
        return 0.0 if s2.stopped and s2.x == s.x and s2.y == s.y else -math.inf
    if s2.stopped:
        return -math.inf
    return _log_normal_2d(s2.x - s.x - dx, s2.y - s.y - dy, model.move_noise)


def _observe(model: Any, s: State, rng: Rng) -> Reading:
    sd = noise(s.x, model.light, model.sharpness)
    return Reading(s.x + sd * rng.normal(), s.y + sd * rng.normal())


def _obs_logpdf(model: Any, o: Reading, s: State) -> float:
    sd = noise(s.x, model.light, model.sharpness)
    return _log_normal_2d(o.x - s.x, o.y - s.y, sd)


def _bin(x: float) -> int:
    if x < _LOWEST_CUT:
        return 0
    if x >= _HIGHEST_CUT:
        return _HIGHEST_CUT - _LOWEST_CUT + 1
    return math.floor(x) - _LOWEST_CUT + 1


def _cell(s: State) -> int:
    """The unit square of (x, y) between the cut points -10, -9, .., 15 on each axis: 27 x 27 bins with those beyond."""
    return _bin(s.x) * (_HIGHEST_CUT - _LOWEST_CUT + 2) + _bin(s.y)


def _mutate_literal(s: State, o: Reading, rng: Rng) -> State:
    """Paper: Alg. 5, a normal step on each axis of variance |s - o|_1; the reading lies in the state space."""
    sd = math.sqrt(abs(s.x - o.x) + abs(s.y - o.y))
    return State(s.x + sd * rng.normal(), s.y + sd * rng.normal(), s.stopped)


def _window(s: State | None, belief: Any) -> tuple[float, float, float, float]:
    """What to show, west, east, south, north: -6 to 10, more where the state or the bulk of the belief lies beyond."""
    points = [np.array([[-6.0, -6.0], [10.0, 10.0]])]
    if belief is not None:
        points.append(belief.states[belief.weights > 1e-3 * belief.weights.max(), :2])
    if s is not None:
        points.append(np.array([[s[0] - 1.0, s[1] - 1.0], [s[0] + 1.0, s[1] + 1.0]]))
    low, high = np.vstack(points).min(axis=0), np.vstack(points).max(axis=0)
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def _draw(model: Any, axis: Any, s: State | None, belief: Any) -> None:
    from matplotlib.patches import Circle

    west, east, south, north = _window(s, belief)
    sd = np.array([[noise(x, model.light, model.sharpness) for x in np.linspace(west, east, 400)]])
    shade = axis.imshow(sd, extent=(west, east, south, north), aspect="equal", cmap=night(), vmin=0.0, vmax=8.0, zorder=0)
    bar = axis.inset_axes((1.02, 0.0, 0.03, 1.0))
    axis.figure.colorbar(shade, cax=bar, label="standard deviation of a reading", extend="max")
    for edge in (model.light - HALF_WIDTH, model.light + HALF_WIDTH):
        axis.axvline(edge, color="#8A6D00", linestyle=":", linewidth=1.2, label="light" if edge < model.light else None)
    axis.add_patch(Circle((0.0, 0.0), GOAL, facecolor="none", edgecolor="#009E73", linewidth=2.0, zorder=3, label="goal: stop here"))
    if belief is not None:
        relative = belief.weights / belief.weights.max()
        shown = np.argsort(-relative, kind="stable")[:3000]
        opacity = np.clip(relative[shown] * min(1.0, 30.0 / math.sqrt(len(shown))), 0.03, 1.0)
        size = 6.0 + 14.0 * relative[shown]
        axis.scatter(belief.states[shown, 0], belief.states[shown, 1], s=size, c="#0072B2", alpha=opacity, linewidths=0, zorder=2)
        axis.scatter([], [], s=20.0, c="#0072B2", label="belief")
    if s is not None:
        axis.scatter([s[0]], [s[1]], s=220.0, marker="*", c="#D55E00", edgecolors="white", clip_on=False, zorder=4, label="true position")
    axis.set(xlim=(west, east), ylim=(south, north), xlabel="x", ylabel="y")
    axis.legend(loc="upper left", framealpha=0.9)


def _text(model: Any, s: State | None, belief: Any) -> str:
    west, east, south, north = _window(s, belief)
    columns, rows = 64, 24

    def cell_of(x: float, y: float) -> tuple[int, int]:
        column = int((x - west) / (east - west) * columns)
        row = int((north - y) / (north - south) * rows)
        return min(rows - 1, max(0, row)), min(columns - 1, max(0, column))

    picture = [[" "] * columns for _ in range(rows)]
    for row in range(rows):
        for x in (model.light - HALF_WIDTH, model.light + HALF_WIDTH):
            picture[row][cell_of(x, 0.0)[1]] = "|"
    lines = []
    if belief is not None:
        heights, _, _ = np.histogram2d(
            -belief.states[:, 1], belief.states[:, 0], bins=(rows, columns), range=((-north, -south), (west, east)), weights=belief.weights
        )
        # Less than 1/450 of the peak stays blank: on an exact grid every bin has some weight.
        levels = np.ceil(9.0 * heights / max(float(heights.max()), 1e-300) - 0.02).astype(int)
        for row, column in zip(*np.nonzero(levels), strict=True):
            picture[row][column] = " .:-=+*#%@"[levels[row, column]]
        mean = belief.weights @ belief.states[:, :2]
        spread = np.sqrt(belief.weights @ (belief.states[:, :2] - mean) ** 2)
        inside = float(belief.weights[(belief.states[:, :2] ** 2).sum(axis=1) <= GOAL * GOAL].sum())
        lines.append(
            f"belief: x = {mean[0]:.3f} +- {spread[0]:.3f}, y = {mean[1]:.3f} +- {spread[1]:.3f}, in the goal with probability {inside:.3f}"
        )
    for mark, x, y in (("G", 0.0, 0.0), *(() if s is None else (("o", s[0], s[1]),))):
        row, column = cell_of(x, y)
        picture[row][column] = mark
    if s is not None:
        lines.append(f"true:   x = {s[0]:.3f}, y = {s[1]:.3f}{', stopped' if s[2] else ''}")
    frame = "+" + "-" * columns + "+"
    corners = f"x {west:.1f} .. {east:.1f}, y {south:.1f} .. {north:.1f}   G goal   | edges of the light   o true position"
    return "\n".join([frame, *("|" + "".join(row) + "|" for row in picture), frame, corners, *lines])
