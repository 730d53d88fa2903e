"""The belief as the root of a search: its live states, drawn by weight, and the actions that may come first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.compiler.kernels import Record, kernel
from airoas.modelling.batch import batch
from airoas.planners.base import live_particles


class Root(Record):
    """The belief that simulations start from."""

    states: Any
    """[N, .]"""
    upto: Any
    """[N] cumulative weights of the live states, infinite from the last of them on."""
    guide: Any
    """[N] where the search for a draw begins, for each of N equal parts of the total."""
    total: float
    actions: Any
    """[k] what may be done first: the actions that are legal in every live state."""


def draw_root(root: Root, rng: Any) -> int:
    """The number of a live state, drawn by weight with about one comparison."""
    u = rng.uniform()
    i: int = root.guide[int(u * len(root.guide))]
    while root.upto[i] <= u * root.total:
        i += 1
    return i


@kernel
def _accumulate(weights: Any, upto: Any, guide: Any) -> float:
    """Fill `upto` and `guide`; the total, 0 where nothing is alive."""
    total, last = 0.0, -1
    for i in range(len(weights)):
        total += weights[i]
        upto[i] = total
        if weights[i] > 0.0:
            last = i
    if last < 0:
        return 0.0
    for i in range(last, len(weights)):
        upto[i] = math.inf
    i = 0
    for k in range(len(guide)):
        while upto[i] <= k * total / len(guide):
            i += 1
        guide[k] = i
    return total


def gather_root(model: Any, belief: Particles) -> tuple[Root, float]:
    """What simulations start from, and the share of the belief that is alive."""
    states, weights, allowed = live_particles(model, belief)
    upto, guide = np.empty(len(weights)), np.empty(len(weights), np.int64)
    total = float(_accumulate(weights, upto, guide))
    return Root(states=states, upto=upto, guide=guide, total=total, actions=np.flatnonzero(allowed)), total


def example_root(model: Any) -> Root:
    """A root of one state to compile with."""
    states, upto, guide = np.zeros((1, model.shapes.state.size)), np.zeros(1), np.zeros(1, np.int64)
    batch(model).inspect(states, np.zeros(1, np.bool_), np.zeros(model.n_actions, np.bool_))
    _accumulate.prepare(upto, upto, guide)
    return Root(states=states, upto=upto, guide=guide, total=1.0, actions=np.zeros(1, np.int64))
