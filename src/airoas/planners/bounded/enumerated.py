"""Belief nodes that hold every possible state with its probability, for finite models that list successors.

Only the observation is random there, a state stands once however likely it is, and there is nothing to anneal: an
observation gives the posterior itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.compiler.kernels import Bound, Record, kernel
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Reals, Rows, Weights
from airoas.modelling.successors import has_more
from airoas.planners.bounded.tree import Tree, set_root

TOO_MANY = -1
NEGLIGIBLE = 1e-5
"""Of the likeliest state's probability: states that are less likely are left out of a node."""


def can_enumerate(model: KernelModel) -> bool:
    """Whether the model lists all that its nodes need."""
    return bool(model.is_finite and model.has("reward"))


def slots_for(n: int) -> int:
    """How many slots n states are found in quickly."""
    return 1 << (4 * n - 1).bit_length()


def clear_slots(slots: Indices) -> None:
    for at in range(len(slots)):
        slots[at] = -1


def find_row(slots: Indices, ids: Indices, number: int, count: int) -> int:
    """The row of the state of this number; `count`, which is given to it where there is room, for a new one."""
    mask = len(slots) - 1
    at = number & mask
    while slots[at] >= 0:
        if ids[slots[at]] == number:
            return int(slots[at])
        at = (at + 1) & mask
    if count < len(ids):
        slots[at] = count
        ids[count] = number
    return count


@kernel
def _enumerate(
    model: KernelModel,
    states: Rows,
    weights: Weights,
    actions: Rows,
    after: Rows,
    probabilities: Weights,
    rewards: Reals,
    slots: Indices,
    ids: Indices,
    count: int,
) -> int:
    """Every state that an action leads to and that does not end the episode becomes a row, with its probability, after those that
    there are already: how many there are then. TOO_MANY where there is no room for them. `rewards` are those of the step."""
    a = model.read_action(actions, 0)
    for i in range(len(weights)):
        s = model.read_state(states, i)
        rewards[i] = model.reward(s, a)
        total, k = 0.0, 0
        while has_more(total, k, model.n_states()):
            s2, p = model.successor(s, a, k)
            total += p
            k += 1
            if p > 0.0 and not model.is_terminal(s2):
                row = find_row(slots, ids, model.index(s2), count)
                if row == len(ids):
                    return TOO_MANY
                if row == count:
                    model.write_state(after, row, s2)
                    probabilities[row] = 0.0
                    count += 1
                probabilities[row] += weights[i] * p
    return count


class _Nothing(Record):
    pass


@kernel
def _enumerate_nothing(
    owner: Any,
    states: Rows,
    weights: Weights,
    actions: Rows,
    after: Rows,
    probabilities: Weights,
    rewards: Reals,
    slots: Indices,
    ids: Indices,
    count: int,
) -> int:
    """Instead of the above for a model that lists no successors."""
    return TOO_MANY


def enumeration_of(model: KernelModel, enumerates: bool) -> Bound:
    """`enumerate_successors` of a model."""
    rows, reals, numbers = np.zeros((1, 1)), np.zeros(1), np.zeros(1, np.int64)
    owner, function = (model, _enumerate) if enumerates else (_Nothing(), _enumerate_nothing)
    return function.bind(owner, rows, reals, rows, rows, reals, reals, numbers, numbers, 0)


def keep_likely(tree: Tree, b: int, size: int, weights: Weights) -> None:
    """The successors become the node's own states by these weights, but for those that are next to impossible."""
    begin, first = tree.first_successor[tree.parent[b]], tree.n_rows
    likeliest = 0.0
    for i in range(size):
        likeliest = max(likeliest, weights[i])
    count, total = 0, 0.0
    for i in range(size):
        if weights[i] >= NEGLIGIBLE * likeliest:
            for k in range(tree.states.shape[1]):
                tree.states[first + count, k] = tree.states[begin + i, k]
            tree.weights[first + count] = weights[i]
            total += weights[i]
            count += 1
    for j in range(first, first + count):
        tree.weights[j] /= total
    tree.first_particle[b], tree.n_particles[b] = first, count
    tree.n_rows = first + count


@kernel
def number_states(model: KernelModel, states: Rows, weights: Weights, numbers: Indices) -> None:
    """The number of each state of positive weight."""
    for i in range(len(weights)):
        if weights[i] > 0.0:
            numbers[i] = model.index(model.read_state(states, i))


@kernel
def enumerate_root(tree: Tree, search: Any, states: Rows, weights: Weights, numbers: Indices) -> bool:
    """Whether the root could take every state of positive weight, with its probability, as its own; but for those that are next to
    impossible."""
    clear_slots(search.slots)
    count, total, likeliest = 0, 0.0, 0.0
    for i in range(len(weights)):
        likeliest = max(likeliest, weights[i])
    for i in range(len(weights)):
        if weights[i] > 0.0 and weights[i] >= NEGLIGIBLE * likeliest:
            row = find_row(search.slots, search.ids, numbers[i], count)
            if row == len(search.ids):
                return False
            if row == count:
                for k in range(states.shape[1]):
                    tree.states[row, k] = states[i, k]
                tree.weights[row] = 0.0
                count += 1
            tree.weights[row] += weights[i]
            total += weights[i]
    for j in range(count):
        tree.weights[j] /= total
    set_root(tree, count)
    return True
