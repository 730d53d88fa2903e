"""Light Dark in two dimensions (after Platt et al., 2010) with a very sharp light: stop at the origin, after a look at where you are.

A reading in the light is 600 times sharper than the prior on both axes, so almost no particle of the prior explains it: with the same
number of particles a plain filter loses the state there and an annealed one does not. In the same time, which
buys a plain filter more particles, that lead is gone (docs/annealing.md).

Two models share everything but their actions: `LightDark2D` has nine, `LightDark2DContinuous` a heading and a stride. Neither has plans
or bounds, so that these are found from the model, as estimates, and AIROAS learns a policy. What there is besides the rules: the density
of a move, a default policy that knows the state, bins, and the paper's proposal.
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
        return {}

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
