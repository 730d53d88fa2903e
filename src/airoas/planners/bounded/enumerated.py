"""Belief nodes that hold every possible state with its probability, for finite models that list successors.

Only what is seen is left to chance there, a state stands once however likely it is, and there is nothing to anneal: an
observation gives the posterior itself.
"""

from __future__ import annotations

from typing import Any

from airoas.compiler.kernels import kernel
from airoas.compiler.specialise import apart
from airoas.planners.bounded.leaves import LOOK, own_particles
from airoas.planners.bounded.tree import ROWS, Tree, is_late, set_root

TOO_MANY, LATE = -1, -2
LEAST = 1e-5  # of the likeliest state's probability: states that are less likely are left out of a node
_CERTAIN = 1.0 - 1e-12  # the sum of probabilities at which a state has no more successors


def can_list(model: Any) -> bool:
    """Whether the model lists all that its nodes need."""
    return bool(model.is_finite and model.has("reward"))


def slots_for(n: int) -> int:
    """How many slots n states are found in quickly."""
    return 1 << (4 * n - 1).bit_length()


def _forget(work: Any) -> None:
    for at in range(len(work.slots)):
        work.slots[at] = -1


def _find(work: Any, number: int, count: int) -> int:
    """The row of the state of this number; `count`, which is given to it where there is room, for a new one."""
    mask = len(work.slots) - 1
    at = number & mask
    while work.slots[at] >= 0:
        if work.numbers[work.slots[at]] == number:
            return int(work.slots[at])
        at = (at + 1) & mask
    if count < len(work.numbers):
        work.slots[at] = count
        work.numbers[count] = number
    return count


@apart
def list_successors(model: Any, tree: Tree, work: Any, b: int, a: int) -> int:
    """Every state that an action leads to and that does not end the episode becomes a row of the tree, with its probability: how
    many there are. TOO_MANY where there is no room for them."""
    states, weights = own_particles(tree, b)
    begin, most = tree.counts[ROWS], len(work.numbers)
    after, chances = tree.states[begin : begin + most], tree.weights[begin : begin + most]
    _forget(work)
    count = 0
    for i in range(len(weights)):
        if i % LOOK == LOOK - 1 and is_late(tree):
            return LATE
        s = model.read_state(states, i)
        total, k = 0.0, 0
        while total < _CERTAIN and k < model.n_states():
            s2, p = model.successor(s, a, k)
            total += p
            k += 1
            if p > 0.0 and not model.is_terminal(s2):
                row = _find(work, model.index(s2), count)
                if row == most:
                    return TOO_MANY
                if row == count:
                    model.write_state(after, row, s2)
                    chances[row] = 0.0
                    count += 1
                chances[row] += weights[i] * p
    return count


@apart
def keep_likely(tree: Tree, b: int, size: int, weights: Any) -> None:
    """The successors become the node's own states by these weights, but for those that are next to impossible."""
    begin, place = tree.successors[tree.parent[b]], tree.counts[ROWS]
    likeliest = 0.0
    for i in range(size):
        likeliest = max(likeliest, weights[i])
    count, total = 0, 0.0
    for i in range(size):
        if weights[i] >= LEAST * likeliest:
            for k in range(tree.states.shape[1]):
                tree.states[place + count, k] = tree.states[begin + i, k]
            tree.weights[place + count] = weights[i]
            total += weights[i]
            count += 1
    for j in range(place, place + count):
        tree.weights[j] /= total
    tree.place[b], tree.size[b] = place, count
    tree.counts[ROWS] += count


@kernel
def list_root(model: Any, states: Any, weights: Any, tree: Tree, work: Any) -> bool:
    """Whether the root could take every live state of a belief, with its probability, as its own; but for those that are next to
    impossible."""
    _forget(work)
    count, total, likeliest = 0, 0.0, 0.0
    for i in range(len(weights)):
        if not model.is_terminal(model.read_state(states, i)):
            likeliest = max(likeliest, weights[i])
    for i in range(len(weights)):
        s = model.read_state(states, i)
        if weights[i] >= LEAST * likeliest and not model.is_terminal(s):
            row = _find(work, model.index(s), count)
            if row == len(work.numbers):
                return False
            if row == count:
                model.write_state(tree.states, row, s)
                tree.weights[row] = 0.0
                count += 1
            tree.weights[row] += weights[i]
            total += weights[i]
    for j in range(count):
        tree.weights[j] /= total
    set_root(tree, count)
    return True
