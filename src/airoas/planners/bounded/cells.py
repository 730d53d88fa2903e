"""Actions that are no list: a node begins with some all over the space and gets more, near those that promise most, the more often it is
visited.

An action node stands for the part of the space that is nearer to it than to any other (its Voronoi cell); its bounds are those of
the action itself, which is really simulated. A new action splits the cell of the best one, as in Voronoi optimistic optimisation
(Kim et al. 2020).
"""

from __future__ import annotations

import math

import numpy as np

from airoas.compiler.kernels import Record
from airoas.modelling.actions import ActionSpace
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Rows
from airoas.modelling.spread import spread_actions
from airoas.planners.spaces import Space, draw_anywhere, draw_near, make_space
from airoas.rng import Rng

SPREAD = 12
"""Actions all over the space that a node begins with, about."""
CAPACITY, ROOT_CAPACITY = 24, 400
"""Action nodes that a node may get besides, and the root."""
RATE, POWER = 2.0, 0.6
"""After n visits a node may have RATE n^POWER of them."""
_ANYWHERE = 0.2  # of the new actions are drawn from the whole space
_FIRST_WIDTH = 0.25  # of the box: standard deviation of the first new actions about the best


class Cells(Record):
    """Where actions are no list: their space, and how many action nodes a node, and the root, may get besides the first."""

    space: Space
    capacity: int
    root_capacity: int


def make_cells(model: KernelModel) -> Cells:
    space = make_space(model)
    return Cells(space=space, capacity=CAPACITY if space.boxes else 0, root_capacity=ROOT_CAPACITY if space.boxes else 0)


def candidate_rows(model: KernelModel) -> np.ndarray:
    """[A, k] what a node begins with: every action of a list, or some all over the space."""
    if model.n_actions:
        return np.arange(model.n_actions, dtype=np.float64)[:, None].copy()
    return spread_actions(model, SPREAD).copy()


def max_root_actions(model: KernelModel) -> int:
    """Action nodes that the root may get; 0 where actions are a list."""
    return len(candidate_rows(model)) + ROOT_CAPACITY if model.space is not None and model.space.boxes.any() else 0


def half_widths(space: ActionSpace, rows: np.ndarray) -> np.ndarray:
    """[n] how large the cells of these actions [n, k] are, for people: by what part of its box every number of an action may change, all at
    once, before another action with the same choices is nearer; inf where there is none."""
    boxes = space.boxes
    unit = (rows[:, boxes] - space.low[boxes]) / (space.high - space.low)[boxes]
    gaps = np.abs(unit[:, None] - unit[None])
    gaps = np.where(space.wraps[boxes], np.minimum(gaps, 1.0 - gaps), gaps)
    squared = (gaps * gaps).mean(axis=2)
    squared[(rows[:, None, ~boxes] != rows[None, :, ~boxes]).any(axis=2)] = np.inf
    np.fill_diagonal(squared, np.inf)
    result: np.ndarray = 0.5 * np.sqrt(squared.min(axis=1))
    return result


# --- inside kernels ---


def may_widen(cells: Cells, extra: int, visits: int, is_root: bool) -> bool:
    """Whether a node with so many actions besides the first ones may have one more."""
    most = cells.root_capacity if is_root else cells.capacity
    return bool(extra < most and extra < RATE * math.pow(float(visits), POWER))


def propose(cells: Cells, actions: Rows, best: int, extra: int, rng: Rng) -> None:
    """Write a new action to the space's row: near the row `best` of the actions, the nearer the more there are, or anywhere."""
    if rng.uniform() < _ANYWHERE:
        draw_anywhere(cells.space, rng)
    else:
        draw_near(cells.space, actions, best, _FIRST_WIDTH * math.pow(1.0 + extra, -1.0 / cells.space.boxes), rng)
