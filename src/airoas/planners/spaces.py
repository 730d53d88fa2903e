"""A space of actions inside kernels: draws in it, near an action or anywhere, and distances."""

from __future__ import annotations

import math

import numpy as np

from airoas.compiler.kernels import Record
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Mask, Reals, Rows
from airoas.rng import Rng

MOST_DRAWS = 20
"""To stay within a cell."""
_OTHER_CHOICE = 0.2  # of the choices in a draw near an action are others


class Space(Record):
    """A space of k numbers; none where actions are a list, or their limits not known."""

    low: Reals
    """[k]"""
    width: Reals
    """[k] of the box; the last index of a choice."""
    is_box: Mask
    """[k]"""
    wraps: Mask
    """[k] whether the ends of the box are the same."""
    row: Rows
    """[1, k] the action at hand."""
    boxes: int
    """How many numbers are of boxes."""


def make_space(model: KernelModel) -> Space:
    space = model.space
    if space is None:
        none, flags = np.zeros(0), np.zeros(0, np.bool_)
        return Space(low=none, width=none, is_box=flags, wraps=flags, row=np.zeros((1, 1)), boxes=0)
    boxes, row = space.boxes, np.zeros((1, len(space.axes)))
    return Space(low=space.low, width=space.high - space.low, is_box=boxes, wraps=space.wraps, row=row, boxes=int(boxes.sum()))


# --- inside kernels ---


def draw_anywhere(space: Space, rng: Rng) -> None:
    """Write a uniform draw to `space.row`."""
    for k in range(len(space.low)):
        if space.is_box[k]:
            space.row[0, k] = space.low[k] + space.width[k] * rng.uniform()
        else:
            space.row[0, k] = float(rng.integer(int(space.width[k]) + 1))


def draw_near(space: Space, actions: Rows, i: int, scale: float, rng: Rng) -> None:
    """Write a draw about row i of actions to `space.row`: normal, with this part of the box as standard deviation, and mostly the
    same choices."""
    for k in range(len(space.low)):
        low, width = space.low[k], space.width[k]
        if space.is_box[k]:
            x = (actions[i, k] - low) / width + scale * rng.normal()
            if space.wraps[k]:
                x -= math.floor(x)
            space.row[0, k] = low + width * min(1.0, max(0.0, x))
        else:
            space.row[0, k] = float(rng.integer(int(width) + 1)) if rng.uniform() < _OTHER_CHOICE else actions[i, k]


def distance(space: Space, actions: Rows, i: int) -> float:
    """From row i of actions to `space.row`, squared, in parts of the box; another choice is as far as the ends of a box."""
    total = 0.0
    for k in range(len(space.low)):
        if space.is_box[k]:
            x = abs(actions[i, k] - space.row[0, k]) / space.width[k]
            x = min(x, 1.0 - x) if space.wraps[k] else x
        else:
            x = 0.0 if actions[i, k] == space.row[0, k] else 1.0
        total += x * x
    return total
