"""The visit-count tree of POMCP and POMCPOW: histories with the actions tried in them, action nodes with N and V.

A history is reached from an action node by an observation. Nodes are numbers, and history 0 is the root. What a simulation
reads of a node together stands together, since in a large tree a step costs as many misses of the cache as it touches lines.
The action nodes of a history are a list, the newest first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.compiler.kernels import Record
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Rows, are_equal
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.lookup import Lookup, clear_lookup, enter, lookup_bytes, lookup_layout, make_lookup
from airoas.rng import Rng

ROOT, NONE = 0, -1
HISTORY = np.dtype([("visits", np.int32), ("newest", np.int32), ("parent", np.int32), ("n_actions", np.int32)])
"""N(h), its newest action node (NONE before its first visit), the action node that it follows, and how many actions it has."""
ACTION_NODE = np.dtype(
    [
        ("value", np.float64),
        ("bonus", np.float64),
        ("visits", np.int32),
        ("older", np.int32),
        ("last_child", np.int32),
        ("n_children", np.int32),
    ]
)
"""V(ha), the mean return; N(ha)^-1/2; N(ha); the next older action node of its history; the history that it led to last; how many
it leads to."""
PASSED = np.dtype([("reward", np.float64), ("history", np.int32), ("action", np.int32)])
"""A step of a simulation within the tree."""
_MULTIPLIER, _LOW_WORD = 0x85EBCA6B, 0xFFFFFFFF


class VisitTree(Record):
    """For n histories and m action nodes."""

    histories: Any
    """[n] of type HISTORY."""
    observations: Rows
    """[n, .] the observation that leads to a history."""
    words: np.ndarray
    """[n, .] the same memory as 32-bit integers, to be hashed."""
    action_nodes: Any
    """[m] of type ACTION_NODE."""
    actions: Rows
    """[m, .] the actions themselves."""
    lookup: Lookup
    """The history of an action node and an observation."""
    path: Any
    """[longest path] of type PASSED: what the simulation at hand has passed through."""
    history_bytes: int
    """Of each history, besides its slots in the lookup."""
    action_bytes: int
    """Of each action node."""
    n_histories: int
    n_action_nodes: int
    deepest: int
    """Depth of the deepest history."""
    hashed: int
    """Of the history that `find_child` did not find."""
    mean_return: float
    squared_returns: float
    """Of the simulations so far: the mean of their returns, and the sum of squared deviations from it (Welford, 1962)."""


def tree_size(model: KernelModel, memory: int, max_depth: int) -> tuple[int, int]:
    """Histories and action nodes that a memory can hold, and those of one simulation more."""
    n = 2 + memory // _history_bytes(model)
    return n, 2 + memory // _action_bytes(model) + max(model.n_actions, 1) + longest_path(n, max_depth)


def longest_path(histories: int, max_depth: int) -> int:
    """Steps of a simulation within a tree: none is deeper than it has histories."""
    return min(max_depth, histories)


def tree_layout(model: KernelModel, memory: int, max_depth: int) -> Layout:
    """What is not touched costs nothing."""
    n, m = tree_size(model, memory, max_depth)
    return (
        ("histories", HISTORY, (n,)),
        ("observations", "float64", (n, model.shapes.observation.size)),
        *lookup_layout(n),
        ("action_nodes", ACTION_NODE, (m,)),
        ("actions", "float64", (m, _action_size(model))),
        ("path", PASSED, (longest_path(n, max_depth),)),
    )


def _action_size(model: KernelModel) -> int:
    return int(model.shapes.action.size) if model.shapes.action else 1


def _history_bytes(model: KernelModel) -> int:
    return HISTORY.itemsize + 8 * int(model.shapes.observation.size)


def _action_bytes(model: KernelModel) -> int:
    return ACTION_NODE.itemsize + 8 * _action_size(model)


def make_tree(model: KernelModel, block: Block) -> VisitTree:
    """A tree that consists of its root, in a block of `tree_layout` (and perhaps more)."""
    columns = block.arrays
    tree = VisitTree(
        histories=columns["histories"],
        observations=columns["observations"],
        words=columns["observations"].view(np.int32),
        action_nodes=columns["action_nodes"],
        actions=columns["actions"],
        lookup=make_lookup(columns["slots"]),
        path=columns["path"],
        history_bytes=_history_bytes(model),
        action_bytes=_action_bytes(model),
        n_histories=0,
        n_action_nodes=0,
        deepest=0,
        hashed=0,
        mean_return=0.0,
        squared_returns=0.0,
    )
    clear_tree(tree)
    return tree


def clear_tree(tree: VisitTree) -> None:
    """Nothing but a root without visits."""
    clear_lookup(tree.lookup)
    tree.n_histories = tree.n_action_nodes = tree.deepest = 0
    tree.mean_return = tree.squared_returns = 0.0
    tree.histories[ROOT].parent = NONE
    add_history(tree, 0)


def tree_bytes(tree: VisitTree) -> int:
    """In use."""
    return tree.n_histories * tree.history_bytes + tree.n_action_nodes * tree.action_bytes + lookup_bytes(tree.lookup)


# --- inside kernels: growing ---


def add_action_node(tree: VisitTree, history: int) -> None:
    """Give a history one more action to try: the one that stands in the next row of `actions`."""
    i = tree.n_action_nodes
    tree.n_action_nodes = i + 1
    node, parent = tree.action_nodes[i], tree.histories[history]
    node.value = 0.0
    node.bonus = 0.0
    node.visits = 0
    node.older = parent.newest
    node.last_child = NONE
    node.n_children = 0
    parent.newest = i
    parent.n_actions += 1


def add_history(tree: VisitTree, depth: int) -> int:
    """A new history, whose action node and observation stand in its row already; it is not entered in the lookup."""
    i = tree.n_histories
    tree.n_histories = i + 1
    tree.deepest = max(tree.deepest, depth)
    history = tree.histories[i]
    history.visits = 0
    history.newest = NONE
    history.n_actions = 0
    return i


def set_key(tree: VisitTree, action: int) -> None:
    """The observation in the next row was made after this action."""
    i = tree.n_histories
    for k in range(tree.observations.shape[1]):
        tree.observations[i, k] += 0.0  # -0.0 becomes 0.0, which equals it but has other bits
    tree.histories[i].parent = action


def find_child(tree: VisitTree, action: int) -> int:
    """The history that an action node and the observation in the next row lead to, compared as a whole; NONE where it is new.

    Often it is the one seen last, which needs no lookup. One that is new can be added by `add_child`.
    """
    set_key(tree, action)
    i, node, lookup = tree.n_histories, tree.action_nodes[action], tree.lookup
    last = node.last_child
    if last >= 0 and are_equal(tree.observations, last, tree.observations, i):
        return int(last)
    hashed = _hash(tree, i)
    tree.hashed = hashed
    child = _probe(tree, lookup.start, lookup.size, hashed, i)
    if child == NONE and lookup.n_moved < lookup.old_size:
        child = _probe(tree, lookup.old_start, lookup.old_size, hashed, i)
    node.last_child = child
    return child


def _probe(tree: VisitTree, start: int, size: int, hashed: int, i: int) -> int:
    slots = tree.lookup.slots
    at = hashed & (size - 1)
    child: int = slots[start + at].history
    while child >= 0 and not (slots[start + at].hash == hashed and _same_key(tree, child, i)):
        at = (at + 1) & (size - 1)
        child = slots[start + at].history
    return child


def add_child(tree: VisitTree, depth: int) -> int:
    """The new history that `find_child` did not find."""
    enter(tree.lookup, tree.hashed, tree.n_histories)
    return add_history(tree, depth)


def _hash(tree: VisitTree, i: int) -> int:
    hashed = int(tree.histories[i].parent)
    for k in range(tree.words.shape[1]):
        hashed = (hashed ^ int(tree.words[i, k])) * _MULTIPLIER & _LOW_WORD
        hashed ^= hashed >> 15
    hashed = hashed * _MULTIPLIER & _LOW_WORD
    return (hashed ^ hashed >> 13) & 0x7FFFFFFF


def _same_key(tree: VisitTree, i: int, j: int) -> bool:
    return tree.histories[i].parent == tree.histories[j].parent and are_equal(tree.observations, i, tree.observations, j)


# --- inside kernels: selecting and backing up ---


def choose_by_ucb(tree: VisitTree, history: int, c: float, untried: float, rng: Rng) -> int:
    """UCB1 (Auer, Cesa-Bianchi and Fischer, 2002): the action node with the largest V + c sqrt(ln N(h) / N(ha)), where one without
    visits counts as `untried`; ties at random."""
    scale = c * math.sqrt(math.log(max(1, tree.histories[history].visits)))
    action: int = tree.histories[history].newest
    best, chosen, ties = -math.inf, action, 0
    while action >= 0:  # rather than != NONE: compiled code then knows that no index is negative
        node = tree.action_nodes[action]
        score = node.value + scale * node.bonus if node.visits > 0 else untried
        if score > best:
            best, chosen, ties = score, action, 1
        elif score == best:
            ties += 1
            if rng.integer(ties) == 0:  # each of the k tied so far is the chosen one with probability 1/k
                chosen = action
        action = node.older
    return chosen


def pass_through(tree: VisitTree, depth: int, history: int, action: int, reward: float) -> None:
    """Record a step of the simulation for `backup_path`."""
    passed = tree.path[depth]
    passed.reward = reward
    passed.history = history
    passed.action = action


def backup_path(tree: VisitTree, depth: int, value: float, discount: float) -> None:
    """Add a return to every node on the path, from its end, where `value` is expected, to the root."""
    for k in range(depth - 1, -1, -1):
        passed = tree.path[k]
        node = tree.action_nodes[passed.action]
        value = passed.reward + discount * value
        tree.histories[passed.history].visits += 1
        node.visits += 1
        node.bonus = 1.0 / math.sqrt(node.visits)  # here once rather than for every action at every choice
        if node.value > -math.inf:
            node.value += (value - node.value) / node.visits
    if math.isfinite(value):
        off = value - tree.mean_return
        tree.mean_return += off / tree.histories[ROOT].visits
        tree.squared_returns += off * (value - tree.mean_return)


def exploration(tree: VisitTree, c: float) -> float:
    """The constant of UCB1: c, or where that is below 0, as many standard deviations of the returns seen so far."""
    return c if c >= 0.0 else -c * math.sqrt(tree.squared_returns / max(1, tree.histories[ROOT].visits))
