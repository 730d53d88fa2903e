"""A grid over the states of a continuous model, found by simulation, and values interpolated on it."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from airoas.compiler.kernels import Record, kernel
from airoas.compiler.specialise import define
from airoas.rng import stream

MOST_AXES = 3
DRAWS = 8
"""Of a step that is random."""
MOST_PLANS = 16
_WALKS = 500
_MOST_POINTS = (1, 2001, 401, 61)  # along an axis, by the number of continuous axes
_STEPS = 600_000  # simulated, over points, actions and draws
_NUMBERS = 4_000_000  # of the tables


class Grid(Record):
    """Where the points lie. Three continuous axes, those too many of one point; any number of whole-numbered ones."""

    axes: Any
    """[3] components of the state."""
    low: Any
    """[3]"""
    spacing: Any
    """[3]"""
    size: Any
    """[3]"""
    whole: Any
    """[w] components of whole numbers that vary."""
    least: Any
    """[w]"""
    count: Any
    """[w]"""


class Values(Record):
    """The data of `interpolation`."""

    grid: Grid
    values: Any
    """[points, width]"""


def shape_of(model: Any) -> tuple[Grid, np.ndarray] | None:
    """The grid over where random actions lead, and the states that they led to [n, dim]; None where it would be too large."""
    kinds = model.shapes.state.kinds
    steps = min(int(model.max_steps), math.ceil(math.log(0.05) / math.log(model.discount)))
    visited = np.zeros((_WALKS * steps, len(kinds)))
    visited = visited[: _walk(model, visited, _WALKS, steps, stream(0, "box"))]
    if len(visited) == 0:
        return None
    low, high = np.quantile(visited, (0.002, 0.998), axis=0)
    varies = [k for k in range(len(kinds)) if visited[:, k].min() < visited[:, k].max()]
    floats, whole = [k for k in varies if kinds[k] == "float"], [k for k in varies if kinds[k] != "float"]
    least = visited.min(axis=0).astype(np.int64)
    count = visited.max(axis=0).astype(np.int64) - least + 1
    blocks = int(np.prod(count[whole], dtype=np.float64)) if whole else 1
    if len(floats) > MOST_AXES:
        return None
    room = min(_STEPS / (model.n_actions * draws(model, visited)), _NUMBERS / (model.n_actions + MOST_PLANS)) / blocks
    points = min(_MOST_POINTS[len(floats)], int(room ** (1.0 / max(1, len(floats))))) if room >= 1.0 else 0
    if points < (11 if floats else 1):
        return None
    padding = [0] * (MOST_AXES - len(floats))
    size = np.array([points] * len(floats) + [1] * len(padding), dtype=np.int64)
    spacing = np.where(size > 1, (high - low)[floats + padding] / np.maximum(size - 1, 1), 1.0)
    whole_axes = np.array(whole, dtype=np.int64)
    grid = Grid(
        axes=np.array(floats + padding, dtype=np.int64),
        low=low[floats + padding],
        spacing=spacing,
        size=size,
        whole=whole_axes,
        least=least[whole_axes],
        count=count[whole_axes],
    )
    return grid, visited


def draws(model: Any, visited: np.ndarray) -> int:
    """How many steps to simulate at each point: 1 where they are certain, as far as trying shows."""
    some = visited[:: max(1, len(visited) // 200)].copy()
    return DRAWS if _is_random(model, some, np.zeros((2, visited.shape[1])), stream(0, "draws")) else 1


# --- where a state lies ---


@functools.cache
def component_of(size: int) -> Any:
    """component(s, k): number k of a state. Compiled code indexes tuples of mixed kinds by constants only."""
    lines = "".join(f"    if k == {k}:\n        return float(s[{k}])\n" for k in range(size - 1))
    return define(f"def component(s, k):\n{lines}    return float(s[{size - 1}])\n", "component")


def _place(x: float, low: float, spacing: float, size: int) -> tuple[int, float]:
    """The point below x on an axis, and how far x is beyond it, in spacings."""
    u = (x - low) / spacing
    if size == 1 or not u > 0.0:
        return 0, 0.0
    if u >= size - 1:
        return size - 2, 1.0
    i = int(u)
    return i, u - i


@functools.cache
def locator(component: Any) -> Any:
    def locate(grid: Grid, s: Any) -> tuple[int, float, float, float]:
        """The table's row below s, and the three ways beyond it."""
        block = 0
        for k in range(len(grid.whole)):
            n = int(component(s, grid.whole[k])) - grid.least[k]
            block = block * grid.count[k] + max(0, min(n, grid.count[k] - 1))
        i, f = _place(component(s, grid.axes[0]), grid.low[0], grid.spacing[0], grid.size[0])
        j, g = _place(component(s, grid.axes[1]), grid.low[1], grid.spacing[1], grid.size[1])
        k, h = _place(component(s, grid.axes[2]), grid.low[2], grid.spacing[2], grid.size[2])
        return ((block * grid.size[0] + i) * grid.size[1] + j) * grid.size[2] + k, f, g, h

    return locate


@functools.cache
def interpolation(size: int) -> Any:
    """An `evaluate` for states of so many components."""
    locate = locator(component_of(size))

    def interpolate(model: Any, data: Values, s: Any, rng: Any, out: Any, at: int) -> None:
        values, grid = data.values, data.grid
        row, f, g, h = locate(grid, s)
        width = values.shape[1]
        for column in range(width):
            out[at + column] = 0.0
        for corner in range(8):
            weight = (f if corner & 1 else 1.0 - f) * (g if corner & 2 else 1.0 - g) * (h if corner & 4 else 1.0 - h)
            if weight > 0.0:
                here = row
                if corner & 1:
                    here += grid.size[1] * grid.size[2]
                if corner & 2:
                    here += grid.size[2]
                if corner & 4:
                    here += 1
                for column in range(width):
                    out[at + column] += weight * values[here, column]

    return interpolate


# --- simulation ---


@kernel
def _walk(model: Any, visited: Any, walks: int, steps: int, rng: Any) -> int:
    """Store the states before the end that random actions lead to; how many."""
    count = 0
    for _ in range(walks):
        s = model.initial(rng)
        for _ in range(steps):
            if model.is_terminal(s):
                break
            model.write_state(visited, count, s)
            count += 1
            a = rng.integer(model.n_actions)
            if model.legal(s, a):
                s2, _ = model.step(s, a, rng)
                if not model.is_terminal(s2):  # an early end would hide where other actions lead
                    s = s2
    return count


@kernel
def _is_random(model: Any, states: Any, rows: Any, rng: Any) -> bool:
    for i in range(len(states)):
        s = model.read_state(states, i)
        for a in range(model.n_actions):
            s2, first = model.step(s, a, rng)
            s3, second = model.step(s, a, rng)
            model.write_state(rows, 0, s2)
            model.write_state(rows, 1, s3)
            for k in range(rows.shape[1]):
                if rows[0, k] != rows[1, k] or first != second:
                    return True
    return False
