"""The bounded belief tree: columns of numbers, excess uncertainty, selection, backup, and the anytime loop around trials.

A belief node stands for what is believed after a sequence of actions and observations, an action node for an action taken
there. Every node has a lower and an upper bound of its value. A trial walks down to where the bounds are farthest apart,
expands there and carries the new bounds up. What a trial changes in older nodes is noted, so that one that the deadline cuts
leaves no trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.compiler.clock import now
from airoas.compiler.kernels import Record
from airoas.compiler.specialise import apart
from airoas.planners.storage import Block

# how a trial, or the search, ended
OK, GAP, DEADLINE, ITERATIONS, MEMORY, BAD_MODEL, NO_ACTION = range(7)
STOPS = {GAP: "gap", DEADLINE: "deadline", ITERATIONS: "iterations", MEMORY: "memory"}

# places in `counts`
NODES, BRANCHES, ROWS, TRIALS, EXPANSIONS, DEEPEST, NOTED, ANNEALED, STAGES, EVALUATIONS, COUNTS = range(11)
# places in `limits`
UNTIL, MOST_TRIALS, MOST_BYTES, CLOSE, RATIO, MOST_DEPTH, EXCESS, FIRST_GAP, LISTED, LIMITS = range(10)
# kinds of notes: which column was changed
_LOWER, _UPPER, _PLAIN, _FIRST, _ACTION_LOWER, _ACTION_UPPER, _ACTION_PLAIN, _CHILD = range(8)


class Tree(Record):
    """Columns of the tree. B belief nodes (0 is the root), A action nodes, R particles."""

    parent: Any
    """[B] the action node above, -1 at the root."""
    depth: Any
    """[B]"""
    chance: Any
    """[B] probability of the observation, given the action node above (p-hat in the paper)."""
    lower: Any
    """[B]"""
    upper: Any
    """[B]"""
    first: Any
    """[B] the first of its action nodes, which stand together; -1 for a leaf."""
    width: Any
    """[B] how many action nodes."""
    place: Any
    """[B] the first of its own particles, which it has once it is no leaf."""
    size: Any
    """[B] how many particles."""
    key: Any
    """[B] of its random stream: the same node sees the same chance in whatever order the tree grows."""
    default: Any
    """[B] AR-DESPOT: the lower bound of the default policy, scaled to the root."""
    plain: Any
    """[B] AR-DESPOT: the upper bound without regularisation, not scaled."""
    observations: Any
    """[B, width of an observation]"""
    above: Any
    """[A] the belief node above."""
    action: Any
    """[A]"""
    reward: Any
    """[A] expected, of the action's one step."""
    action_lower: Any
    """[A]"""
    action_upper: Any
    """[A]"""
    action_plain: Any
    """[A] AR-DESPOT: the upper bound without regularisation, not scaled."""
    child: Any
    """[A] the first of its belief nodes, which stand together; -1 while it has none."""
    children: Any
    """[A] how many."""
    successors: Any
    """[A] the first of the particles that the action leads to: one for each particle of the node above, or every possible state."""
    followers: Any
    """[A] how many."""
    complete: Any
    """[A] 1 where they are every possible state, weighted by its probability."""
    states: Any
    """[R, width of a state]"""
    weights: Any
    """[R] of a node's own particles, or of successors: the weight of what they come from, 0 where terminal."""
    note_kind: Any
    """[.] which column, which place, which value before: what the present trial has changed."""
    note_place: Any
    note_value: Any
    counts: Any
    limits: Any


_NODE = ("parent", "depth", "chance", "lower", "upper", "first", "width", "place", "size", "key", "default", "plain")
_ACTION = (
    *("above", "action", "reward", "action_lower", "action_upper", "action_plain", "child", "children", "successors", "followers"),
    "complete",
)
_REAL = {"chance", "lower", "upper", "default", "plain", "reward", "action_lower", "action_upper", "action_plain"}


_NODE_NUMBERS, _ACTION_NUMBERS = len(_NODE), len(_ACTION)


def row_bytes(nodes: int, actions: int, rows: int, observation: int, state: int) -> int:
    """Memory of this many rows of each kind, for observations and states of these widths."""
    return 8 * (nodes * (_NODE_NUMBERS + observation) + actions * _ACTION_NUMBERS + rows * (state + 1))


def make_tree(state: int, observation: int, actions: int, memory: int, depth: int) -> tuple[Tree, Block]:
    """An empty tree for states and observations of these widths, and the block that its columns stand in.

    Each kind of row could fill the memory alone; the search counts what all of them take.
    """
    nodes, branches, rows = (memory // row_bytes(*kind, observation, state) for kind in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    notes = 16 * (depth + 8) * (depth + 8 + actions)  # a trial branches every action of a node on each level, and backs up from each
    layout = (
        *((name, "float64" if name in _REAL else "int64", (nodes,)) for name in _NODE),
        ("observations", "float64", (nodes, observation)),
        *((name, "float64" if name in _REAL else "int64", (branches,)) for name in _ACTION),
        ("states", "float64", (rows, state)),
        ("weights", "float64", (rows,)),
        ("note_kind", "int64", (notes,)),
        ("note_place", "int64", (notes,)),
        ("note_value", "float64", (notes,)),
    )
    block = Block(layout)
    return Tree(**block.arrays, counts=np.zeros(COUNTS, np.int64), limits=np.zeros(LIMITS)), block


def used_bytes(tree: Tree) -> int:
    """Memory that the tree takes."""
    counts = tree.counts
    return row_bytes(int(counts[NODES]), int(counts[BRANCHES]), int(counts[ROWS]), tree.observations.shape[1], tree.states.shape[1])


def has_room(tree: Tree, nodes: int, actions: int, rows: int) -> bool:
    """Whether this many more rows of each kind stay within the memory allowed."""
    more = row_bytes(nodes, actions, rows, tree.observations.shape[1], tree.states.shape[1])
    return bool(used_bytes(tree) + more <= tree.limits[MOST_BYTES])


def is_complete(tree: Tree, b: int) -> bool:
    """Whether a node's own particles are every possible state."""
    return bool(tree.limits[LISTED] > 0.0) if b == 0 else bool(tree.complete[tree.parent[b]])


def is_late(tree: Tree) -> bool:
    """Whether the deadline has passed."""
    return bool(now() >= tree.limits[UNTIL])


def set_root(tree: Tree, count: int) -> None:
    """A tree that is its root, whose particles are the first rows."""
    tree.counts[ROWS] = count
    tree.counts[NODES] = 1
    tree.parent[0], tree.depth[0], tree.chance[0] = -1, 0, 1.0
    tree.lower[0], tree.upper[0] = -math.inf, math.inf
    tree.first[0], tree.width[0] = -1, 0
    tree.place[0], tree.size[0], tree.key[0] = 0, count, 0


def add_node(tree: Tree, ba: int, depth: int, chance: float, lower: float, upper: float) -> int:
    """A new leaf, whose bounds are never crossed: its number."""
    c = tree.counts[NODES]
    tree.counts[NODES] += 1
    tree.counts[DEEPEST] = max(tree.counts[DEEPEST], depth)
    tree.parent[c] = ba
    tree.depth[c] = depth
    tree.chance[c] = chance
    tree.lower[c] = lower
    tree.upper[c] = max(lower, upper)
    tree.first[c] = -1
    tree.width[c] = 0
    if lower > upper:
        cross(tree, lower - upper)
    return int(c)


def add_action(tree: Tree, b: int, a: int, lower: float, upper: float) -> int:
    """A new action node that is not branched yet: its number."""
    ba = tree.counts[BRANCHES]
    tree.counts[BRANCHES] += 1
    tree.above[ba] = b
    tree.action[ba] = a
    tree.reward[ba] = math.nan
    tree.action_lower[ba] = lower
    tree.action_upper[ba] = upper
    tree.child[ba] = -1
    tree.children[ba] = 0
    tree.successors[ba] = -1
    tree.followers[ba] = 0
    tree.complete[ba] = 0
    return int(ba)


def cross(tree: Tree, excess: float) -> None:
    """Remember by how much, if at all, a lower bound lay above an upper one."""
    tree.limits[EXCESS] = max(tree.limits[EXCESS], excess)


def allowed_gap(tree: Tree, depth: int, discount: float) -> float:
    """The gap between bounds that is no excess at this depth: xi times the root's, undiscounted.

    Paper: EU(b) = gap(b) - xi gap(root) / gamma^depth.
    """
    gap: float = max(0.0, tree.upper[0] - tree.lower[0])
    return float(tree.limits[RATIO] * gap / math.pow(discount, float(depth)))


def best_action(tree: Tree, b: int) -> int:
    """The action node of the largest upper bound. Paper: Alg. 2 line 1."""
    best = tree.first[b]
    for ba in range(tree.first[b] + 1, tree.first[b] + tree.width[b]):
        if tree.action_upper[ba] > tree.action_upper[best]:
            best = ba
    return int(best)


def best_child(tree: Tree, ba: int, allowed: float, least: float) -> int:
    """The child of the largest excess uncertainty, weighed by its probability; -1 where none has more than `least`.

    Paper: Alg. 2 line 2.
    """
    best, most = -1, least
    for c in range(tree.child[ba], tree.child[ba] + tree.children[ba]):
        excess = tree.chance[c] * (tree.upper[c] - tree.lower[c] - allowed)
        if excess > most:
            best, most = c, excess
    return int(best)


def set_bounds(tree: Tree, b: int, lower: float, upper: float) -> None:
    """New bounds of a belief node; what they were is noted."""
    note(tree, _LOWER, b, tree.lower[b])
    note(tree, _UPPER, b, tree.upper[b])
    tree.lower[b] = lower
    tree.upper[b] = upper


def set_action_bounds(tree: Tree, ba: int, lower: float, upper: float) -> None:
    """New bounds of an action node; what they were is noted."""
    note(tree, _ACTION_LOWER, ba, tree.action_lower[ba])
    note(tree, _ACTION_UPPER, ba, tree.action_upper[ba])
    tree.action_lower[ba] = lower
    tree.action_upper[ba] = upper


def set_plain(tree: Tree, b: int, ba: int, upper: float, action_upper: float) -> None:
    """New unregularised bounds of a belief node and of an action node; what they were is noted."""
    note(tree, _PLAIN, b, tree.plain[b])
    note(tree, _ACTION_PLAIN, ba, tree.action_plain[ba])
    tree.plain[b] = upper
    tree.action_plain[ba] = action_upper


def set_first(tree: Tree, b: int, first: int, width: int) -> None:
    """Make a leaf an inner node."""
    note(tree, _FIRST, b, tree.first[b])
    tree.first[b] = first
    tree.width[b] = width


def set_children(tree: Tree, ba: int, child: int, children: int) -> None:
    """Give an action node its belief nodes."""
    note(tree, _CHILD, ba, tree.child[ba])
    tree.child[ba] = child
    tree.children[ba] = children


def note(tree: Tree, kind: int, place: int, value: float) -> None:
    n = tree.counts[NOTED]
    tree.note_kind[n] = kind
    tree.note_place[n] = place
    tree.note_value[n] = value
    tree.counts[NOTED] += 1


def must_end(tree: Tree, b: int) -> bool:
    """Whether the notes of one more backup from here could be too many: then the trial ends, which is always allowed."""
    return bool(tree.counts[NOTED] + 8 * (tree.depth[b] + 4) > len(tree.note_kind))


@apart
def undo(tree: Tree) -> None:
    """Put back what the present trial has changed."""
    for n in range(tree.counts[NOTED] - 1, -1, -1):
        kind, place, value = tree.note_kind[n], tree.note_place[n], tree.note_value[n]
        if kind == _LOWER:
            tree.lower[place] = value
        elif kind == _UPPER:
            tree.upper[place] = value
        elif kind == _PLAIN:
            tree.plain[place] = value
        elif kind == _ACTION_PLAIN:
            tree.action_plain[place] = value
        elif kind == _FIRST:
            tree.first[place] = int(value)
            tree.width[place] = 0
        elif kind == _ACTION_LOWER:
            tree.action_lower[place] = value
        elif kind == _ACTION_UPPER:
            tree.action_upper[place] = value
        else:
            tree.child[place] = int(value)
            tree.children[place] = 0
            tree.reward[place] = math.nan
    tree.counts[NOTED] = 0


@apart
def take_actions(tree: Tree, b: int) -> None:
    """Bounds of a node from those of its action nodes. They only ever close; where they would cross, the upper one yields."""
    lower, upper = tree.lower[b], -math.inf
    for ba in range(tree.first[b], tree.first[b] + tree.width[b]):
        lower = max(lower, tree.action_lower[ba])
        upper = max(upper, tree.action_upper[ba])
    upper = min(upper, tree.upper[b])
    if lower > upper:
        cross(tree, lower - upper)
        upper = lower
    set_bounds(tree, b, lower, upper)


@apart
def backup(tree: Tree, b: int, lower: float, upper: float, discount: float) -> bool:
    """Carry the change of a node's bounds, which were `lower` and `upper`, up to the root.

    Whether some node on the way now prefers another action than the one that led here.
    """
    changed = False
    while b > 0:
        ba = tree.parent[b]
        share = discount * tree.chance[b]
        risen, fallen = share * (tree.lower[b] - lower), share * (tree.upper[b] - upper)
        b = tree.above[ba]
        lower, upper = tree.lower[b], tree.upper[b]
        set_action_bounds(tree, ba, tree.action_lower[ba] + risen, tree.action_upper[ba] + fallen)
        take_actions(tree, b)
        if best_action(tree, b) != ba:
            changed = True
    return changed


def close(tree: Tree, b: int, discount: float) -> None:
    """At the depth limit: the upper bound becomes the lower one. Paper: Alg. 1 lines 10-12. Differs: it is backed up."""
    lower, upper = tree.lower[b], tree.upper[b]
    set_bounds(tree, b, lower, lower)
    backup(tree, b, lower, upper, discount)


def search_by(trial: Callable[..., int]) -> Callable[..., int]:
    """The anytime loop around a planner's trial: a function for kernels, which gives why it ended. Paper: Alg. 1."""

    def search(model: Any, tree: Tree, work: Any, rng: Any) -> int:
        counts, limits = tree.counts, tree.limits
        limits[FIRST_GAP] = tree.upper[0] - tree.lower[0]
        while True:
            if tree.upper[0] - tree.lower[0] <= limits[CLOSE]:
                return GAP
            if counts[TRIALS] >= limits[MOST_TRIALS]:
                return ITERATIONS
            if is_late(tree):
                return DEADLINE
            counts[NOTED] = 0
            nodes, branches, rows, expansions = counts[NODES], counts[BRANCHES], counts[ROWS], counts[EXPANSIONS]
            deepest, annealed, stages, evaluations = counts[DEEPEST], counts[ANNEALED], counts[STAGES], counts[EVALUATIONS]
            excess = limits[EXCESS]
            status = trial(model, tree, work, rng)
            if status != OK:
                undo(tree)
                counts[NODES], counts[BRANCHES], counts[ROWS], counts[EXPANSIONS] = nodes, branches, rows, expansions
                counts[DEEPEST], counts[ANNEALED], counts[STAGES], counts[EVALUATIONS] = deepest, annealed, stages, evaluations
                limits[EXCESS] = excess
                return int(status)
            counts[TRIALS] += 1
            if counts[EXPANSIONS] == expansions and counts[NOTED] == 0:  # nothing is left to look into
                return GAP

    return search
