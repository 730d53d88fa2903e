"""Actions that are no list: a node begins with some all over the space and gets more, near those that promise most, the more often it is
visited.

An action node stands for the part of the space that is nearer to it than to any other (its Voronoi cell); its bounds are those of
the action itself, which is really simulated. A new action splits the cell of the best one, as in Voronoi optimistic optimisation
(Kim et al. 2020).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.compiler.kernels import Record

SPREAD = 12
"""Actions all over the space that a node begins with, about."""
CAPACITY, ROOT_CAPACITY = 24, 400
"""Action nodes that a node may get besides, and the root."""
RATE, POWER = 2.0, 0.6
"""After n visits a node may have RATE n^POWER of them."""
_ANYWHERE = 0.2  # of the new actions are drawn from the whole space
_OTHER_CHOICE = 0.2  # of the choices in the others are drawn anew
_FIRST_WIDTH = 0.25  # of the box: standard deviation of the first new actions about the best


class Cells(Record):
    """A space of k numbers; none where actions are a list."""

    low: Any
    """[k]"""
    width: Any
    """[k] of the box; the last index of a choice."""
    is_box: Any
    """[k]"""
    wraps: Any
    """[k]"""
    row: Any
    """[1, k] the action at hand."""
    capacity: int
    root_capacity: int
    boxes: int
    """How many numbers are of boxes."""


def make_cells(model: Any) -> Cells:
    space = model.space if not model.n_actions else None
    if space is None:
        none, flags = np.zeros(0), np.zeros(0, np.bool_)
        return Cells(low=none, width=none, is_box=flags, wraps=flags, row=np.zeros((1, 1)), capacity=0, root_capacity=0, boxes=0)
    boxes = int(space.boxes.sum())
    return Cells(
        low=space.low,
        width=space.high - space.low,
        is_box=space.boxes,
        wraps=space.wraps,
        row=np.zeros((1, len(space.axes))),
        capacity=CAPACITY if boxes else 0,
        root_capacity=ROOT_CAPACITY if boxes else 0,
        boxes=boxes,
    )


def candidate_rows(model: Any) -> np.ndarray:
    """[A, k] what a node begins with: every action of a list, or some all over the space."""
    if model.n_actions:
        return np.arange(model.n_actions, dtype=np.float64)[:, None].copy()
    rows: np.ndarray = model.space.spread(SPREAD)
    return rows


# --- inside kernels ---


def may_widen(cells: Cells, extra: int, visits: int, is_root: bool) -> bool:
    """Whether a node with so many actions besides the first ones may have one more."""
    most = cells.root_capacity if is_root else cells.capacity
    return bool(extra < most and extra < RATE * math.pow(float(visits), POWER))


def propose(cells: Cells, actions: Any, best: int, extra: int, rng: Any) -> None:
    """Write a new action to `cells.row`: near the row `best` of the actions, the nearer the more there are, or anywhere."""
    row, anywhere = cells.row, rng.uniform() < _ANYWHERE
    scale = _FIRST_WIDTH * math.pow(1.0 + extra, -1.0 / max(1, cells.boxes))
    for k in range(len(cells.low)):
        low, width = cells.low[k], cells.width[k]
        if not cells.is_box[k]:
            fresh = anywhere or rng.uniform() < _OTHER_CHOICE
            row[0, k] = float(rng.integer(int(width) + 1)) if fresh else actions[best, k]
        elif anywhere:
            row[0, k] = low + width * rng.uniform()
        else:
            x = (actions[best, k] - low) / width + scale * rng.normal()
            if cells.wraps[k]:
                x -= math.floor(x)
            row[0, k] = low + width * min(1.0, max(0.0, x))
