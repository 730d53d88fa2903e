"""The visit-count tree of POMCP and POMCPOW: history nodes with the actions tried in them, action nodes with N and V.

A history node is reached from an action node by an observation. Nodes are numbers, and history node 0 is the root. What a
simulation reads of a node together stands together, since in a large tree a step costs as many misses of the cache as it
touches lines; in arrays of one dimension, since the compiler knows their strides. The actions of a history are a list, the
newest first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.compiler.kernels import Record
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.lookup import MOVED, OLD_SIZE, OLD_START, SIZE, SLOT, START, Lookup, enter, lookup_layout, new_lookup

ROOT, NONE = 0, -1
NODE, ACTION = 4, 6  # places that one takes in `nodes` and `actions`
VALUE = ACTION // 2  # places that an action takes in `values`
VISITS, FIRST, PARENT, WIDTH = range(4)  # places of a node
ACTION_VISITS, ACTION_NEXT, ACTION_LAST = 2, 3, 4  # places of an action, after V(ha)
NODES, ACTIONS, HASHED, DEPTH, TRIALS, STEPS, BYTES = range(7)  # entries of `counts`
_MULTIPLIER, _LOW_WORD = 0x85EBCA6B, 0xFFFFFFFF


class VisitTree(Record):
    """The arrays of a tree, for n history nodes and m action nodes."""

    counts: Any
    """[7] history nodes, action nodes, the hash of the next node, depth of the deepest node, simulations, simulated steps, bytes in use."""
    nodes: Any
    """[4 n] of a history: its visits N(h), its newest action (NONE before its first visit), the action node that it belongs to, and
    how many actions it has."""
    observations: Any
    """[n, .] the observation that leads to a history."""
    words: Any
    """[n, .] the same memory as 32-bit integers, to be hashed."""
    lookup: Lookup
    """The history of an action node and an observation."""
    values: Any
    """[3 m] V(ha), the mean return, at every third place; between them what `actions` says."""
    actions: Any
    """[6 m] the same memory as 32-bit integers: after V(ha) its visits N(ha), the next older action of its history, and the history
    that it led to last."""
    labels: Any
    """[m, .] the actions themselves."""


def tree_layout(model: Any, n: int, m: int) -> Layout:
    """Room for n history nodes and m action nodes: what is not touched costs nothing."""
    return (
        ("nodes", "int32", (NODE * n,)),
        ("observations", "float64", (n, len(model.shapes.observation.kinds))),
        *lookup_layout(n),
        ("values", "float64", (VALUE * m,)),
        ("labels", "float64", (m, _action_size(model))),
    )


def _action_size(model: Any) -> int:
    return len(model.shapes.action.kinds) if model.shapes.action else 1


def node_bytes(model: Any) -> int:
    """Bytes that a history node takes, besides its slots in the lookup."""
    return 4 * NODE + 8 * len(model.shapes.observation.kinds)


def action_bytes(model: Any) -> int:
    """Bytes that an action node takes."""
    return 4 * ACTION + 8 * _action_size(model)


def new_tree(block: Block) -> VisitTree:
    """A tree that consists of its root, in a block of `tree_layout` (and perhaps more)."""
    columns = block.arrays
    tree = VisitTree(
        counts=np.array([1, 0, 0, 0, 0, 0, 0], np.int64),
        nodes=columns["nodes"],
        observations=columns["observations"],
        words=columns["observations"].view(np.int32),
        lookup=new_lookup(block),
        values=columns["values"],
        actions=columns["values"].view(np.int32),
        labels=columns["labels"],
    )
    tree.nodes[:NODE] = 0, NONE, NONE, 0
    return tree


# --- inside kernels: growing ---


def add_action(model: Any, tree: VisitTree, node: int, a: Any) -> None:
    """Give a history one more action to try."""
    place = tree.counts[ACTIONS]
    tree.counts[ACTIONS] = place + 1
    model.write_action(tree.labels, place, a)
    tree.values[place * VALUE] = 0.0
    tree.actions[place * ACTION + ACTION_VISITS] = 0
    tree.actions[place * ACTION + ACTION_LAST] = NONE
    tree.actions[place * ACTION + ACTION_NEXT] = tree.nodes[node * NODE + FIRST]
    tree.nodes[node * NODE + FIRST] = place
    tree.nodes[node * NODE + WIDTH] += 1


def add_legal_actions(model: Any, tree: VisitTree, node: int, s: Any, root_actions: Any) -> bool:
    """Give a history every action that is legal in s (the root those of the belief); whether there is any."""
    if node == ROOT:
        for i in range(len(root_actions)):
            add_action(model, tree, node, root_actions[i])
    else:
        for a in range(model.n_actions):
            if model.legal(s, a):
                add_action(model, tree, node, a)
    return bool(tree.nodes[node * NODE + FIRST] != NONE)


def write_key(model: Any, tree: VisitTree, action: int, o: Any) -> int:
    """The place of the next node, where its action and observation stand now."""
    place: int = tree.counts[NODES]
    model.write_observation(tree.observations, place, o)
    for k in range(tree.observations.shape[1]):
        tree.observations[place, k] += 0.0  # -0.0 becomes 0.0, which equals it but has other bits
    tree.nodes[place * NODE + PARENT] = action
    return place


def find_child(model: Any, tree: VisitTree, action: int, o: Any) -> int:
    """The history that an action node and an observation lead to, compared as a whole; NONE where it is new.

    The observation then stands in the place of the next node, ready for `add_child`. Often it is the one seen last, which needs
    no lookup.
    """
    place = write_key(model, tree, action, o)
    last = tree.actions[action * ACTION + ACTION_LAST]
    if last >= 0 and _same_observation(tree, last, place):
        return int(last)
    hashed = _hash(tree, place)
    tree.counts[HASHED] = hashed
    state = tree.lookup.state
    node = _probe(tree, state[START], state[SIZE], hashed, place)
    if node == NONE and state[MOVED] < state[OLD_SIZE]:
        node = _probe(tree, state[OLD_START], state[OLD_SIZE], hashed, place)
    tree.actions[action * ACTION + ACTION_LAST] = node
    return node


def _probe(tree: VisitTree, start: int, size: int, hashed: int, place: int) -> int:
    slots = tree.lookup.slots
    at = hashed & (size - 1)
    node: int = slots[(start + at) * SLOT + 1]
    while node >= 0 and not (slots[(start + at) * SLOT] == hashed and _same_key(tree, node, place)):
        at = (at + 1) & (size - 1)
        node = slots[(start + at) * SLOT + 1]
    return node


def add_child(tree: VisitTree, depth: int) -> int:
    """The new history that `find_child` did not find."""
    enter(tree.lookup, tree.counts[HASHED], tree.counts[NODES])
    return add_node(tree, depth)


def add_node(tree: VisitTree, depth: int) -> int:
    """A new history whose key is written; it is not entered in the lookup."""
    place: int = tree.counts[NODES]
    tree.counts[NODES] = place + 1
    tree.counts[DEPTH] = max(tree.counts[DEPTH], depth)
    tree.nodes[place * NODE + VISITS] = 0
    tree.nodes[place * NODE + FIRST] = NONE
    tree.nodes[place * NODE + WIDTH] = 0
    return place


def _hash(tree: VisitTree, place: int) -> int:
    hashed = int(tree.nodes[place * NODE + PARENT])
    for k in range(tree.words.shape[1]):
        hashed = (hashed ^ int(tree.words[place, k])) * _MULTIPLIER & _LOW_WORD
        hashed ^= hashed >> 15
    hashed = hashed * _MULTIPLIER & _LOW_WORD
    return (hashed ^ hashed >> 13) & 0x7FFFFFFF


def _same_key(tree: VisitTree, node: int, place: int) -> bool:
    return tree.nodes[node * NODE + PARENT] == tree.nodes[place * NODE + PARENT] and _same_observation(tree, node, place)


def _same_observation(tree: VisitTree, node: int, place: int) -> bool:
    for k in range(tree.observations.shape[1]):  # noqa: SIM110
        if tree.observations[node, k] != tree.observations[place, k]:
            return False
    return True


# --- inside kernels: selecting and backing up ---


def choose_by_ucb(tree: VisitTree, node: int, c: float, untried: float, rng: Any) -> int:
    """The action with the largest V + c sqrt(ln N(h) / N(ha)), where one without visits counts as `untried`; ties at random."""
    log_visits = math.log(max(1, tree.nodes[node * NODE + VISITS]))
    action: int = tree.nodes[node * NODE + FIRST]
    best, chosen, ties = -math.inf, action, 0
    while action >= 0:  # rather than != NONE: compiled code then knows that no index is negative
        n = tree.actions[action * ACTION + ACTION_VISITS]
        score = tree.values[action * VALUE] + c * math.sqrt(log_visits / n) if n > 0 else untried
        if score > best:
            best, chosen, ties = score, action, 1
        elif score == best:
            ties += 1
            if rng.integer(ties) == 0:  # each of the k tied so far is the chosen one with probability 1/k
                chosen = action
        action = tree.actions[action * ACTION + ACTION_NEXT]
    return chosen


class Path(Record):
    """What one simulation passed through."""

    nodes: Any
    """[depth]"""
    actions: Any
    """[depth]"""
    rewards: Any
    """[depth]"""


def new_path(max_depth: int) -> Path:
    return Path(nodes=np.zeros(max_depth, np.int32), actions=np.zeros(max_depth, np.int32), rewards=np.zeros(max_depth))


def note_step(path: Path, depth: int, node: int, action: int, reward: float) -> None:
    path.nodes[depth] = node
    path.actions[depth] = action
    path.rewards[depth] = reward


def back_up(tree: VisitTree, path: Path, depth: int, value: float, discount: float) -> None:
    """Add a return to every node on the path, from its end, where `value` is expected, to the root."""
    for k in range(depth - 1, -1, -1):
        value = path.rewards[k] + discount * value
        action = path.actions[k]
        n = tree.actions[action * ACTION + ACTION_VISITS] + 1
        tree.nodes[path.nodes[k] * NODE + VISITS] += 1
        tree.actions[action * ACTION + ACTION_VISITS] = n
        mean = tree.values[action * VALUE]
        if mean > -math.inf:
            tree.values[action * VALUE] = mean + (value - mean) / n
