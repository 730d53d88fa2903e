"""The belief as the root of a search: its live states, drawn by weight, and the actions that may come first."""

from __future__ import annotations

import math

import numpy as np

from airoas.belief.particles import Particles
from airoas.compiler.kernels import Record, kernel
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Rows, Weights
from airoas.planners.base import live_particles
from airoas.rng import Rng


class Root(Record):
    """The belief that simulations start from."""

    states: Rows
    """[N, .]"""
    cumulative: Weights
    """[N] weights of the live states, summed up; infinite from the last of them on."""
    guide: Indices
    """[N] where the search for a draw begins, for each of N equal parts of the total (Chen and Asau, 1974); 32 bits, for the cache."""
    total: float
    """Of those weights."""
    alive: float
    """The probability that the episode has not ended."""
    actions: Indices
    """[k] what may be done first: the actions that are legal in every live state."""


def draw_root(root: Root, rng: Rng) -> int:
    """The number of a live state, drawn by weight with about one comparison."""
    u = rng.uniform()
    i: int = root.guide[int(u * len(root.guide))]
    while root.cumulative[i] <= u * root.total:
        i += 1
    return i


@kernel
def _accumulate(weights: Weights, cumulative: Weights, guide: Indices) -> float:
    """Fill `cumulative` and `guide`; the total, 0 where nothing is alive."""
    total, last = 0.0, -1
    for i in range(len(weights)):
        total += weights[i]
        cumulative[i] = total
        if weights[i] > 0.0:
            last = i
    if last < 0:
        return 0.0
    for i in range(last, len(weights)):
        cumulative[i] = math.inf
    i = 0
    for k in range(len(guide)):
        while cumulative[i] <= k * total / len(guide):
            i += 1
        guide[k] = i
    return total


def make_root(model: KernelModel, belief: Particles, rng: Rng) -> Root:
    """What simulations start from."""
    return root_of(belief, *live_particles(model, belief, rng))


def root_of(belief: Particles, states: Rows, weights: Weights, allowed: Mask) -> Root:
    """The same, of `live_particles`."""
    cumulative, guide = np.empty(len(weights)), np.empty(len(weights), np.int32)
    total = float(_accumulate(weights, cumulative, guide))
    alive = 1.0 if weights.all() else total / float(np.cumsum(belief.weights)[-1])  # added up in the same order: 1 where none has ended
    return Root(states=states, cumulative=cumulative, guide=guide, total=total, alive=alive, actions=np.flatnonzero(allowed))


def example_root(model: KernelModel) -> Root:
    """A root of one state to compile with; what making others takes is compiled, too."""
    states, cumulative, guide = np.zeros((1, model.shapes.state.size)), np.zeros(1), np.zeros(1, np.int32)
    batch(model).inspect(states, np.zeros(1, np.bool_), np.zeros(model.n_actions, np.bool_))
    _accumulate.prepare(cumulative, cumulative, guide)
    return Root(states=states, cumulative=cumulative, guide=guide, total=1.0, alive=1.0, actions=np.zeros(1, np.int64))
