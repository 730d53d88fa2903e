"""The visit-count tree of POMCP and POMCPOW: history nodes with the actions tried in them, action nodes with N and V.

A history node is reached from an action node by an observation. Nodes are numbers, their parts stand in arrays (a structure
of arrays), and history node 0 is the root. The actions of a node are a list, the newest first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.compile import Record
from airoas.planners.storage import Block, Layout

ROOT, NONE = 0, -1
NODES, ACTIONS, MASK, DEPTH, TRIALS, STEPS, BYTES = range(7)  # entries of `counts`
_MULTIPLIER, _LOW_WORD = 0x85EBCA6B, 0xFFFFFFFF


class VisitTree(Record):
    """The arrays of a tree, for n history nodes and m action nodes."""

    counts: Any
    """[7] history nodes, action nodes, the lookup's mask, depth of the deepest node, simulations, simulated steps, bytes in use."""
    visits: Any
    """[n] N(h)"""
    first: Any
    """[n] the newest action of h, NONE before its first visit."""
    parents: Any
    """[n] the action node that h belongs to."""
    observations: Any
    """[n, .] the observation that leads to h."""
    words: Any
    """[n, .] the same memory as 32-bit words, to be hashed."""
    hashes: Any
    """[n] of parent and observation."""
    chain: Any
    """[n] the next node in the same bucket."""
    buckets: Any
    """[n] the first node of each bucket; there are as many buckets as nodes."""
    action_visits: Any
    """[m] N(ha)"""
    action_values: Any
    """[m] V(ha), the mean return."""
    action_next: Any
    """[m] the next older action of the same history."""
    labels: Any
    """[m, .] the action itself."""


def tree_layout(model: Any, n: int, m: int) -> Layout:
    """Room for n history nodes and m action nodes: what is not touched costs nothing."""
    names = ("visits", "first", "parents", "hashes", "chain", "buckets")
    return (
        *((name, "int32", (n,)) for name in names),
        ("observations", "float64", (n, len(model.shapes.observation.kinds))),
        ("action_visits", "int32", (m,)),
        ("action_next", "int32", (m,)),
        ("action_values", "float64", (m,)),
        ("labels", "float64", (m, _action_size(model))),
    )


def _action_size(model: Any) -> int:
    return len(model.shapes.action.kinds) if model.shapes.action else 1


def node_bytes(model: Any) -> int:
    """Bytes that a history node takes."""
    return 24 + 8 * len(model.shapes.observation.kinds)


def action_bytes(model: Any) -> int:
    """Bytes that an action node takes."""
    return 16 + 8 * _action_size(model)


def new_tree(block: Block) -> VisitTree:
    """A tree that consists of its root, in a block of `tree_layout` (and perhaps more)."""
    counts = np.array([1, 0, 0, 0, 0, 0, 0], np.int64)
    words = block.arrays["observations"].view(np.int32)
    given = {"counts": counts, "words": words, **block.arrays}
    tree = VisitTree(**{name: given[name] for name in VisitTree.__annotations__})
    tree.visits[ROOT] = 0
    tree.first[ROOT] = tree.parents[ROOT] = tree.buckets[0] = NONE
    return tree


# --- inside kernels: growing ---


def add_action(model: Any, tree: VisitTree, node: int, a: Any) -> None:
    """Give a history one more action to try."""
    place = tree.counts[ACTIONS]
    tree.counts[ACTIONS] = place + 1
    model.write_action(tree.labels, place, a)
    tree.action_visits[place] = 0
    tree.action_values[place] = 0.0
    tree.action_next[place] = tree.first[node]
    tree.first[node] = place


def add_legal_actions(model: Any, tree: VisitTree, node: int, s: Any, root_actions: Any) -> bool:
    """Give a history every action that is legal in s (the root those of the belief); whether there is any."""
    if node == ROOT:
        for i in range(len(root_actions)):
            add_action(model, tree, node, root_actions[i])
    else:
        for a in range(model.n_actions):
            if model.legal(s, a):
                add_action(model, tree, node, a)
    return bool(tree.first[node] != NONE)


def find_child(model: Any, tree: VisitTree, action: int, o: Any) -> int:
    """The history that an action node and an observation lead to, compared as a whole; NONE where it is new.

    The observation then stands in the place of the next node, ready for `add_child`.
    """
    place = write_key(model, tree, action, o)
    hashed = _hash(tree, place)
    tree.hashes[place] = hashed
    node: int = tree.buckets[_bucket(tree, hashed)]
    while node != NONE and not _same_key(tree, node, place):
        node = tree.chain[node]
    return node


def add_child(tree: VisitTree, depth: int) -> int:
    """The new history that `find_child` did not find.

    The lookup is linear hashing (Litwin 1980): each new node brings a bucket and splits one old bucket, so that no insertion
    costs more than another. Differs from a table that doubles, which would stop a search of a million nodes for longer
    than a deadline may be missed, and from one of full size, which costs a page of memory for every node of a small tree.
    """
    place = tree.counts[NODES]
    into = _bucket(tree, tree.hashes[place])
    tree.chain[place] = tree.buckets[into]
    tree.buckets[into] = place
    if place > tree.counts[MASK]:
        tree.counts[MASK] = 2 * tree.counts[MASK] + 1
    mask = tree.counts[MASK]
    split = place & (mask >> 1)
    node = tree.buckets[split]
    tree.buckets[split] = NONE
    tree.buckets[place] = NONE
    while node != NONE:
        following = tree.chain[node]
        into = tree.hashes[node] & mask
        tree.chain[node] = tree.buckets[into]
        tree.buckets[into] = node
        node = following
    return add_node(tree, depth)


def add_node(tree: VisitTree, depth: int) -> int:
    """A new history whose key is written; it is not entered in the lookup."""
    place: int = tree.counts[NODES]
    tree.counts[NODES] = place + 1
    tree.counts[DEPTH] = max(tree.counts[DEPTH], depth)
    tree.visits[place] = 0
    tree.first[place] = NONE
    return place


def write_key(model: Any, tree: VisitTree, action: int, o: Any) -> int:
    """The place of the next node, where its action and observation stand now."""
    place: int = tree.counts[NODES]
    tree.parents[place] = action
    model.write_observation(tree.observations, place, o)
    for k in range(tree.observations.shape[1]):
        tree.observations[place, k] += 0.0  # -0.0 becomes 0.0, which equals it but has other bits
    return place


def _hash(tree: VisitTree, place: int) -> int:
    hashed = int(tree.parents[place])
    for k in range(tree.words.shape[1]):
        hashed = (hashed ^ int(tree.words[place, k])) * _MULTIPLIER & _LOW_WORD
        hashed ^= hashed >> 15
    hashed = hashed * _MULTIPLIER & _LOW_WORD
    return (hashed ^ hashed >> 13) & 0x7FFFFFFF


def _bucket(tree: VisitTree, hashed: int) -> int:
    mask: int = tree.counts[MASK]
    bucket = hashed & mask
    return bucket if bucket < tree.counts[NODES] else hashed & (mask >> 1)


def _same_key(tree: VisitTree, node: int, place: int) -> bool:
    if tree.hashes[node] != tree.hashes[place] or tree.parents[node] != tree.parents[place]:
        return False
    for k in range(tree.observations.shape[1]):  # noqa: SIM110
        if tree.observations[node, k] != tree.observations[place, k]:
            return False
    return True


# --- inside kernels: selecting and backing up ---


def choose_by_ucb(tree: VisitTree, node: int, c: float, untried: float, rng: Any) -> int:
    """The action with the largest V + c sqrt(ln N(h) / N(ha)), where one without visits counts as `untried`; ties at random."""
    log_visits = math.log(max(1, tree.visits[node]))
    action: int = tree.first[node]
    best, chosen, ties = -math.inf, action, 0
    while action != NONE:
        n = tree.action_visits[action]
        score = tree.action_values[action] + c * math.sqrt(log_visits / n) if n > 0 else untried
        if score > best:
            best, chosen, ties = score, action, 1
        elif score == best:
            ties += 1
            if rng.integer(ties) == 0:  # each of the k tied so far is the chosen one with probability 1/k
                chosen = action
        action = tree.action_next[action]
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
        tree.visits[path.nodes[k]] += 1
        tree.action_visits[action] += 1
        if tree.action_values[action] > -math.inf:
            tree.action_values[action] += (value - tree.action_values[action]) / tree.action_visits[action]
