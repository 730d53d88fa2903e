"""The distinct states of a belief whose states are whole numbers and flags: equal particles merged, and split again without chance."""

from __future__ import annotations

import math

import numpy as np

from airoas.belief.particles import Particles
from airoas.compiler.kernels import kernel
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Reals, Rows, Weights
from airoas.rng import hash_key

_NEGLIGIBLE = -30.0
"""Log weight, relative to the largest, below which a state is let go."""


def is_whole(model: KernelModel) -> bool:
    """Whether a state consists of whole numbers and flags alone."""
    return "float" not in model.shapes.state.kinds


def slot_of(slots: Indices, states: Rows, rows: Rows, i: int) -> int:
    """Where the number of row i stands among the slots, or the free one where it belongs."""
    mask, width, key = len(slots) - 1, rows.shape[1], 0
    for k in range(0, width, 2):
        key = hash_key(key, int(rows[i, k]), int(rows[i, k + 1]) if k + 1 < width else 0)
    at = key & mask
    while slots[at] >= 0:
        equal = True
        for k in range(rows.shape[1]):
            equal = equal and states[slots[at], k] == rows[i, k]
        if equal:
            return at
        at = (at + 1) & mask
    return at


def merged(belief: Particles, most: int) -> Particles | None:
    """Every distinct state with the sum of its weights, in the order of their first particles; None where there are more than `most`."""
    first, totals = _first_particles(belief.states, belief.weights, most)
    if first is None:
        return None
    first = first[totals[first] > math.exp(_NEGLIGIBLE) * totals.max()]
    logs = np.log(totals[first])
    return Particles._own(belief.states[first], logs - np.log(totals[first].sum()), belief._model)


def are_few(states: Rows, most: int) -> bool:
    """Whether no more than so many rows are distinct."""
    return _first_particles(states, np.ones(len(states)), most)[0] is not None


def _first_particles(states: Rows, weights: Weights, most: int) -> tuple[np.ndarray | None, np.ndarray]:
    """See `_merge`."""
    size = max(1, min(most, len(states)))
    slots = np.full(1 << (2 * size - 1).bit_length(), -1, np.int64)
    first, totals = np.empty(size, np.int64), np.zeros(len(states))
    count = int(_merge(states, weights, slots, first, totals))
    return first[:count] if count >= 0 else None, totals


def split(belief: Particles, n: int) -> Particles:
    """The same weights on n particles: each state has one, and the heavy ones more, of equal parts of their weight."""
    weights = belief.weights
    ends = np.floor(np.cumsum(weights) * ((n - len(belief)) / weights.sum()) + 1e-6)
    copies = 1 + np.diff(ends, prepend=0.0).astype(np.int64)
    return Particles._own(np.repeat(belief.states, copies, axis=0), np.repeat(belief.log_weights - np.log(copies), copies), belief._model)


def unseen(belief: Particles) -> float:
    """The weight that states have which were not drawn, about: as much as those that one particle alone has (Good, 1953)."""
    weights = belief.weights
    first, counts = _first_particles(belief.states, (weights > 0.0).astype(float), len(weights))
    return float(weights[first[counts[first] == 1.0]].sum()) if first is not None else 1.0


def diversity(belief: Particles) -> float:
    """How many equally likely states a belief of distinct ones amounts to (entropy of order 1/2; Rényi, 1961): with as many times as many
    particles the total variation is the same."""
    return float(np.exp(0.5 * belief.log_weights).sum() ** 2)


@kernel
def _merge(states: Rows, weights: Weights, slots: Indices, first: Indices, totals: Reals) -> int:
    """The first particle of each distinct state of weight above 0, which gets the weight of all in `totals` [N]; how many there are, -1
    where there is no room for them."""
    count, at = 0, -1
    for i in range(len(states)):
        if weights[i] > 0.0:
            equal = at >= 0
            for k in range(states.shape[1]):
                equal = equal and states[i, k] == states[slots[at], k]
            if not equal:  # copies often stand side by side
                at = slot_of(slots, states, states, i)
                if slots[at] < 0:
                    if count == len(first):
                        return -1
                    first[count] = slots[at] = i
                    count += 1
            totals[slots[at]] += weights[i]
    return count
