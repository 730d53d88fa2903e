"""Light Dark in one dimension, as in Sunberg and Kochenderfer (2018): stop near the origin; you see clearly only near the light."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.errors import BeliefError, OptionError
from airoas.modelling.decorator import model
from airoas.rng import Rng

LEFT, STOP, RIGHT = 0, 1, 2
GOAL = 1.0
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_LOWEST_CUT, _HIGHEST_CUT = -10, 15
_MOST_MOVES = 20
_ROUNDING = 1e-9  # so near to the edge of the goal, moves that add up otherwise end on either side


class State(NamedTuple):
    y: float
    stopped: int


class Reading(NamedTuple):
    y: float


@model
class LightDark(NamedTuple):
    """Stop within 1 of the origin for +10, elsewhere for -10. Moves are exact and free; sight is sharp at `light`."""

    step_size: float = 1.0
    light: float = 5.0
    discount: float = 0.9

    @property
    def max_steps(self) -> int:
        return 50

    def prepare(self) -> dict[str, Any]:
        if not 0.0 < self.step_size < math.inf:
            raise OptionError(f"LightDark(step_size={self.step_size})", "step_size must be above 0 and finite.")
        if not math.isfinite(self.light):
            raise OptionError(f"LightDark(light={self.light})", "light must be a finite position.")
        if not 0.0 < self.discount <= 1.0:
            raise OptionError(f"LightDark(discount={self.discount})", "discount must be above 0 and at most 1.")
        # Plans go 12 either way, four deviations of the prior from its mean, in at most 20 strides of at least half a unit.
        stride = max(1, int(0.5 / self.step_size))
        moves = stride * np.arange(min(_MOST_MOVES, math.ceil(12.0 / (stride * self.step_size))) + 1)
        plan_moves = np.concatenate((-moves[:0:-1], moves))
        return {"plan_moves": plan_moves, "plan_shifts": self.step_size * plan_moves, "plan_pays": 10.0 * self.discount ** abs(plan_moves)}

    def actions(self) -> tuple[str, ...]:
        return ("left", "stop", "right")

    def noise(self, y: float) -> float:
        """Standard deviation of a reading at y."""
        return abs(y - self.light) / math.sqrt(2.0) + 0.01

    def initial(self, rng: Rng) -> State:
        return State(2.0 + 3.0 * rng.normal(), 0)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if a == STOP:
            return State(s.y, 1), 10.0 if abs(s.y) < GOAL else -10.0
        return State(s.y + (a - STOP) * self.step_size, 0), 0.0

    def observe(self, s: State, a: int, rng: Rng) -> Reading:
        return Reading(s.y + self.noise(s.y) * rng.normal())

    def obs_logpdf(self, o: Reading, s: State, a: int) -> float:
        sd = self.noise(s.y)
        z = (o.y - s.y) / sd
        return -0.5 * z * z - math.log(sd) - _LOG_SQRT_2PI

    def is_terminal(self, s: State) -> bool:
        return s.stopped > 0

    def n_plans(self: Any) -> int:
        return len(self.plan_moves) + 1

    def plan_action(self: Any, k: int, t: int) -> int:
        """So many moves left or right, then stop; the last plan goes toward the light for ever."""
        if k == len(self.plan_moves):
            return RIGHT if self.light > 0.0 else LEFT
        if t >= abs(self.plan_moves[k]):
            return STOP
        return RIGHT if self.plan_moves[k] > 0 else LEFT

    def plan_values(self: Any, s: State, out: Any, at: int) -> None:
        last = len(self.plan_moves)
        for k in range(last):
            inside = abs(s.y + self.plan_shifts[k]) < GOAL - _ROUNDING
            out[at + k] = self.plan_pays[k] if inside else -self.plan_pays[k]
        out[at + last] = 0.0

    def action_bounds(self: Any, s: State, out: Any, at: int) -> None:
        """The values of the actions once the position is seen: walk to the goal and stop, or never stop."""
        out[at + LEFT] = self.discount * self.value_seen(s.y - self.step_size)
        out[at + STOP] = 10.0 if abs(s.y) < GOAL else -10.0
        out[at + RIGHT] = self.discount * self.value_seen(s.y + self.step_size)

    def value_seen(self, y: float) -> float:
        """10 gamma^m with the fewest moves m into the goal; 0 where steps are so long that all of them miss it."""
        outside = abs(y) - GOAL - _ROUNDING
        if outside < 0.0:
            return 10.0
        moves = math.floor(outside / self.step_size) + 1
        if moves * self.step_size - outside >= 2.0 * (GOAL + _ROUNDING):
            return 0.0
        return 10.0 * math.pow(self.discount, moves)

    def cell(self, s: State) -> int:
        """The unit bin of y between the cut points -10, -9, .., 15: 27 bins with the two beyond them."""
        if s.y < _LOWEST_CUT:
            return 0
        if s.y >= _HIGHEST_CUT:
            return _HIGHEST_CUT - _LOWEST_CUT + 1
        return math.floor(s.y) - _LOWEST_CUT + 1

    def mutate(self, s: State, o: Reading, a: int, rng: Rng) -> State:
        """A walk as wide as the sensor's noise where the reading lies: the width ignores s, so the walk is symmetric."""
        return State(s.y + self.noise(o.y) * rng.normal(), s.stopped)

    def mutate_literal(self, s: State, o: Reading, a: int, rng: Rng) -> State:
        """Paper: Alg. 5, a normal step of variance |y - o|; the reading itself lies in the state space."""
        return State(s.y + math.sqrt(abs(s.y - o.y)) * rng.normal(), s.stopped)

    # No `step_logpdf`: moves are exact, so the transition is a point mass and has no density on y.

    def exact_initial(self) -> tuple[np.ndarray, np.ndarray]:
        """The initial belief on a grid of y: steps of 0.002, a fifth of the finest sensor noise, over six deviations."""
        y = np.linspace(-16.0, 20.0, 18001)
        z = (y - 2.0) / 3.0
        weights = np.exp(-0.5 * z * z)
        return np.column_stack((y, np.zeros_like(y))), weights / weights.sum()

    def exact_update(self, states: np.ndarray, log_weights: np.ndarray, a: int, o: Reading) -> tuple[np.ndarray, np.ndarray]:
        """The posterior on the shifted grid: since moves are exact, every point goes where it goes in `step`."""
        y, stopped = states[:, 0], states[:, 1]
        if stopped.all():
            raise BeliefError("every state of the belief has stopped", "start a new episode: nothing happens after `stop`.")
        if a == STOP:
            moved = np.column_stack((y, np.ones_like(y)))
        else:
            moved = np.column_stack((y + np.where(stopped > 0.0, 0.0, (a - STOP) * self.step_size), stopped))
        sd = abs(moved[:, 0] - self.light) / math.sqrt(2.0) + 0.01
        z = (o[0] - moved[:, 0]) / sd
        # A state that had stopped before cannot be where the episode goes on.
        log_weights = np.where(stopped > 0.0, -np.inf, log_weights - 0.5 * z * z - np.log(sd))
        top = log_weights.max()
        if not math.isfinite(top):
            raise BeliefError(f"no state of the belief allows the reading {o[0]}", "give a finite reading, and a belief with weight on it.")
        return moved, log_weights - top - math.log(np.exp(log_weights - top).sum())

    def describe(self) -> tuple[str, int, str]:
        return "continuous", 3, "continuous"

    def draw(self, axis: Any, s: State | None, belief: Any) -> None:
        low, high = _window(s, belief)
        y = np.linspace(low, high, 400)
        sd = abs(y - self.light) / math.sqrt(2.0) + 0.01
        shade = axis.imshow(sd[None, :], extent=(low, high, 0.0, 1.0), aspect="auto", cmap=night(), vmin=0.0, vmax=8.0, zorder=0)
        bar = axis.inset_axes((1.02, 0.0, 0.03, 1.0))
        axis.figure.colorbar(shade, cax=bar, label="standard deviation of a reading", extend="max")
        axis.axvspan(-GOAL, GOAL, facecolor="none", edgecolor="#009E73", hatch="//", linewidth=1.5, label="goal: stop here")
        top = 1.0
        if belief is not None:
            weights, edges = np.histogram(belief.states[:, 0], bins=120, range=(low, high), weights=belief.weights)
            top = max(float(weights.max()), 1e-9)
            axis.stairs(weights, edges, fill=True, color="#0072B2", alpha=0.85, label="belief", zorder=2)
        if s is not None:
            axis.scatter(
                [s[0]], [0.03 * top], s=220.0, marker="*", c="#D55E00", edgecolors="white", clip_on=False, zorder=4, label="true position"
            )
        shade.set_extent((low, high, 0.0, 1.15 * top))
        axis.set(xlim=(low, high), ylim=(0.0, 1.15 * top), xlabel=f"position y (light at {self.light:g})", ylabel="probability per bin")
        axis.legend(loc="upper left", framealpha=0.9)

    def text(self, s: State | None, belief: Any) -> str:
        low, high = _window(s, belief)
        columns = 72
        marks = [" "] * columns

        def column(y: float) -> int:
            return min(columns - 1, max(0, int((y - low) / (high - low) * columns)))

        for k in range(column(-GOAL), column(GOAL) + 1):
            marks[k] = "="
        marks[column(self.light)] = "L"
        lines = []
        if belief is not None:
            weights, _ = np.histogram(belief.states[:, 0], bins=columns, range=(low, high), weights=belief.weights)
            # Less than 1/450 of the peak stays blank: on an exact grid every bin has some weight.
            levels = np.ceil(9.0 * weights / max(float(weights.max()), 1e-300) - 0.02).astype(int)
            lines.append("".join(" .:-=+*#%@"[level] for level in levels))
        if s is not None:
            marks[column(s[0])] = "o"
        lines += ["".join(marks), f"{f'y = {low:.1f}':<{columns - 8}}{high:8.1f}", "= goal   L light   o true position"]
        if belief is not None:
            mean = float(belief.weights @ belief.states[:, 0])
            spread = math.sqrt(float(belief.weights @ (belief.states[:, 0] - mean) ** 2))
            inside = float(belief.weights[abs(belief.states[:, 0]) < GOAL].sum())
            lines.append(f"belief: y = {mean:.3f} +- {spread:.3f}, in the goal with probability {inside:.3f}")
        if s is not None:
            lines.append(f"true:   y = {s[0]:.3f}{', stopped' if s[1] else ''}")
        return "\n".join(lines)


def _window(s: State | None, belief: Any) -> tuple[float, float]:
    """What to show of the axis: -8 to 10, more where the state or the bulk of the belief lies beyond."""
    low, high = -8.0, 10.0
    if belief is not None:
        weighty = belief.states[belief.weights > 1e-4 * belief.weights.max(), 0]
        low, high = min(low, float(weighty.min())), max(high, float(weighty.max()))
    if s is not None:
        low, high = min(low, s[0] - 1.0), max(high, s[0] + 1.0)
    return low, high


def night() -> Any:
    """The colours of a sensor's noise: a pale yellow where it sees, a light grey where it does not."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("night", ["#FFF3B0", "#F4F1E4", "#D9DCE1", "#BFC4CC"])
