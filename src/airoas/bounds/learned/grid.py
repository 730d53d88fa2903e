"""A grid over the states of a continuous model, found by simulation, and values interpolated on it."""

from __future__ import annotations

import numpy as np

from airoas.bounds.learned.explore import explore
from airoas.bounds.learned.walks import is_random, typical_steps, walk
from airoas.bounds.sides import bind
from airoas.compiler.kernels import Bound, Record, kernel
from airoas.compiler.lanes import lanes
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows
from airoas.rng import stream

MOST_AXES = 3
DRAWS = 8
"""Of a step that is random."""
MOST_PLANS = 16
_WALKS = 500
_MOST_POINTS = 2001  # along an axis
_FINE = 64.0  # points to a typical step along an axis, where there is room for so many
_STEPS = 2_000_000  # simulated, over points, actions and draws
_NUMBERS = 4_000_000  # of the tables


class Grid(Record):
    """Where the points lie. Three continuous axes, those too many of one point; any number of whole-numbered ones."""

    axes: Indices
    """[3] components of the state."""
    low: Reals
    """[3]"""
    spacing: Reals
    """[3]"""
    size: Indices
    """[3]"""
    whole: Indices
    """[w] components of whole numbers that vary."""
    least: Indices
    """[w]"""
    count: Indices
    """[w]"""


class Values(Record):
    """The data of `interpolation`."""

    grid: Grid
    values: Matrix
    """[points, width]"""


def shape_of(model: KernelModel) -> tuple[Grid, np.ndarray] | None:
    """The grid over where random actions lead, and the ways to high rewards, and states there [n, dim]; None where it would be too
    large."""
    kinds = model.shapes.state.kinds
    visited = walk(model, _WALKS, 1, 1.0, stream(0, "box"))
    if len(visited) == 0:
        return None
    low, high = np.quantile(visited, (0.002, 0.998), axis=0)
    far = explore(model)
    if len(far):
        low, high = np.minimum(low, far.min(axis=0)), np.maximum(high, far.max(axis=0))
        visited = np.concatenate((visited, far))
    varies = [k for k in range(len(kinds)) if visited[:, k].min() < visited[:, k].max()]
    floats, whole = [k for k in varies if kinds[k] == "float"], [k for k in varies if kinds[k] != "float"]
    least = visited.min(axis=0).astype(np.int64)
    count = visited.max(axis=0).astype(np.int64) - least + 1
    blocks = int(np.prod(count[whole], dtype=np.float64)) if whole else 1
    if len(floats) > MOST_AXES:
        return None
    budget = min(_STEPS / (model.n_actions * draws(model, visited)), _NUMBERS / (model.n_actions + MOST_PLANS)) / blocks
    sizes = _sizes((high - low)[floats], typical_steps(model, visited)[floats], budget)
    if sizes is None:
        return None
    padding = [0] * (MOST_AXES - len(floats))
    size = np.array([*sizes, *[1] * len(padding)], dtype=np.int64)
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


def _sizes(lengths: np.ndarray, steps: np.ndarray, budget: float) -> list[int] | None:
    """How many points along each axis: as many to a step on all of them, as far as there is room; None where that is too coarse."""
    if budget < 1.0:
        return None
    needed = np.maximum(2.0, lengths / np.where(steps > 0.0, steps, lengths))  # points at one to a step
    fine = _FINE
    while fine > 0.25:
        sizes = np.clip(np.ceil(fine * needed) + 1, 11, _MOST_POINTS)
        if sizes.prod(dtype=np.float64) <= budget:
            return [int(size) for size in sizes]
        fine *= 0.95
    return None


def draws(model: KernelModel, visited: Rows) -> int:
    """How many steps to simulate at each point: 1 where they are certain, as far as trying shows."""
    return DRAWS if is_random(model, visited) else 1


# --- where a state lies ---


def _below(x: float, low: float, spacing: float, size: int) -> tuple[int, float]:
    """The point below x on an axis, and how far x is beyond it, in spacings."""
    u = (x - low) / spacing
    if size == 1 or not u > 0.0:
        return 0, 0.0
    if u >= size - 1:
        return size - 2, 1.0
    i = int(u)
    return i, u - i


def locate(grid: Grid, states: Rows, row: int) -> tuple[int, float, float, float]:
    """The table's row below a state, and the three ways beyond it."""
    block = 0
    for k in range(len(grid.whole)):
        n = int(states[row, grid.whole[k]]) - grid.least[k]
        block = block * grid.count[k] + max(0, min(n, grid.count[k] - 1))
    i, f = _below(states[row, grid.axes[0]], grid.low[0], grid.spacing[0], grid.size[0])
    j, g = _below(states[row, grid.axes[1]], grid.low[1], grid.spacing[1], grid.size[1])
    k, h = _below(states[row, grid.axes[2]], grid.low[2], grid.spacing[2], grid.size[2])
    return ((block * grid.size[0] + i) * grid.size[1] + j) * grid.size[2] + k, f, g, h


def set_point(grid: Grid, point: int, states: Rows, row: int) -> None:
    """Write a point of the grid into the components that vary."""
    rest = point
    for k in range(2, -1, -1):
        if grid.size[k] > 1:
            states[row, grid.axes[k]] = grid.low[k] + (rest % grid.size[k]) * grid.spacing[k]
        rest //= grid.size[k]
    for k in range(len(grid.whole) - 1, -1, -1):
        states[row, grid.whole[k]] = grid.least[k] + rest % grid.count[k]
        rest //= grid.count[k]


@kernel
def _interpolate(data: Values, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    values, grid = data.values, data.grid
    width = values.shape[1]
    for i in lanes(len(states)):
        if not alive[i]:
            continue
        row, f, g, h = locate(grid, states, i)
        for column in range(width):
            out[i, at + column] = 0.0
        for corner in range(8):
            weight = (f if corner & 1 else 1.0 - f) * (g if corner & 2 else 1.0 - g) * (h if corner & 4 else 1.0 - h)
            if weight > 0.0:
                point = row
                if corner & 1:
                    point += grid.size[1] * grid.size[2]
                if corner & 2:
                    point += grid.size[2]
                if corner & 4:
                    point += 1
                for column in range(width):
                    out[i, at + column] += weight * values[point, column]


def interpolation(grid: Grid, values: np.ndarray) -> Bound:
    """An `evaluate` that interpolates values [points, width]."""
    return bind(_interpolate, Values(grid=grid, values=np.ascontiguousarray(values)))
