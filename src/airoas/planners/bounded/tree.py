"""The bounded belief tree: its columns, excess uncertainty, selection, backup, and the anytime loop around trials.

A belief node stands for what is believed after a sequence of actions and observations, an action node for an action taken
there. Every node has a lower and an upper bound of its value. A trial walks down to where the bounds are farthest apart,
expands there and carries the new bounds up. What a trial changes in older nodes goes to an undo log, so that one that the
deadline cuts leaves no trace. Ross et al. (2008) survey such searches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from airoas.compiler.clock import now
from airoas.compiler.kernels import Record
from airoas.compiler.specialise import noinline
from airoas.modelling.rewards import MOST_REWARD
from airoas.modelling.rows import Indices, Reals, Rows, Weights
from airoas.planners.storage import Block
from airoas.rng import Rng

# how a trial, or the search, ended
OK, GAP, DEADLINE, ITERATIONS, MEMORY, BAD_MODEL, NO_ACTION, BAD_REWARD = range(8)
STOPS = {GAP: "gap", DEADLINE: "deadline", ITERATIONS: "iterations", MEMORY: "memory"}

# columns that the undo log speaks of
_LOWER, _UPPER, _UNREGULARISED, _ACTIONS, _ACTION_LOWER, _ACTION_UPPER, _ACTION_UNREGULARISED, _CHILDREN, _COUNT = range(9)


class Tree(Record):
    """B belief nodes (0 is the root), A action nodes, R particles."""

    parent: Indices
    """[B] the action node above, -1 at the root."""
    depth: Indices
    """[B]"""
    probability: Reals
    """[B] of the observation, given the action node above (p-hat in the paper)."""
    lower: Reals
    """[B]"""
    upper: Reals
    """[B]"""
    first_action: Indices
    """[B] the first of its action nodes, which stand together; -1 for a leaf."""
    n_actions: Indices
    """[B] how many action nodes."""
    first_particle: Indices
    """[B] the first of its own particles, which it has once it is no leaf."""
    n_particles: Indices
    """[B]"""
    key: Indices
    """[B] of its random streams: the same node draws the same numbers in whatever order the tree grows."""
    visits: Indices
    """[B] trials that passed through it since it is no leaf, where a node can get more actions."""
    default: Reals
    """[B] AR-DESPOT: the lower bound of the default policy, scaled to the root."""
    unregularised: Reals
    """[B] AR-DESPOT: the upper bound without regularisation, not scaled."""
    mixture: Indices
    """[B] where its weights begin in `mixtures`, if several observations share it with all their posteriors; below 0: its weights
    follow from its observation."""
    observations: Rows
    """[B, width of an observation]"""
    node: Indices
    """[A] the belief node above."""
    number: Indices
    """[A] among the actions of the node above: of its random streams."""
    reward: Reals
    """[A] expected, of the action's one step."""
    action_lower: Reals
    """[A]"""
    action_upper: Reals
    """[A]"""
    action_unregularised: Reals
    """[A] AR-DESPOT: the upper bound without regularisation, not scaled."""
    first_child: Indices
    """[A] the first of its belief nodes, which stand together; -1 while it has none."""
    n_children: Indices
    """[A] how many."""
    first_successor: Indices
    """[A] the first of the particles that the action leads to: one for each particle of the node above, or every possible state."""
    n_successors: Indices
    """[A] how many."""
    enumerated: Indices
    """[A] 1 where they are every possible state, weighted by its probability."""
    actions: Rows
    """[A, width of an action]"""
    states: Rows
    """[R, width of a state]"""
    weights: Weights
    """[R] of a node's own particles, or of successors: the weight of what they come from, 0 where terminal."""
    mixtures: Reals
    """[.] weights of an action's successors, for each of the nodes that several observations share."""
    undo_column: Indices
    """[.] which column, which row, which value before: what the present trial has changed."""
    undo_row: Indices
    undo_value: Reals
    deadline: float
    """By the clock of `now`."""
    max_trials: float
    max_bytes: float
    max_depth: int
    max_root_actions: int
    """0 where actions are a list. Else a node gets more of them as it is visited; its bounds are those of its best actions, which may
    rise, and the search is over only when the root has all that it may get."""
    gap: float
    """The search ends when the root's bounds are this close."""
    gap_ratio: float
    """xi"""
    first_gap: float
    """Of the root, before the first trial."""
    crossing: float
    """By how much, at most, a lower bound has been above an upper one."""
    root_enumerated: bool
    """Whether the root's particles are every possible state."""
    n_nodes: int
    n_action_nodes: int
    n_rows: int
    """Of particles."""
    n_mixed: int
    """Weights in `mixtures`."""
    n_trials: int
    n_expansions: int
    deepest: int
    n_undo: int
    n_cut: int
    """Trials that ended since the undo log was full."""
    n_annealed: int
    """Leaves that were annealed."""
    n_stages: int
    """Temperatures, in all of them."""
    n_evaluations: int
    """Likelihoods, in all of them."""
    bad_node: int
    """Where a step gave a reward that is none."""
    bad_action: Reals
    """[.] by which action."""
    most_actions: int
    """Of a node."""


SINGLE = -1
"""In place of where a node's mixture is: it has none."""
_LOGGED = 400
"""Levels of a trial whose changes the undo log has room for, about."""
_NODE = (
    *("parent", "depth", "probability", "lower", "upper", "first_action", "n_actions", "first_particle", "n_particles", "key"),
    *("visits", "default", "unregularised", "mixture"),
)
_ACTION = (
    *("node", "number", "reward", "action_lower", "action_upper", "action_unregularised", "first_child", "n_children", "first_successor"),
    *("n_successors", "enumerated"),
)
_REAL = {"probability", "lower", "upper", "default", "unregularised", "reward", "action_lower", "action_upper", "action_unregularised"}
_NODE_NUMBERS, _ACTION_NUMBERS = len(_NODE), len(_ACTION)


def row_bytes(nodes: int, actions: int, rows: int, observation: int, action: int, state: int, mixed: int = 0) -> int:
    """Memory of this many rows of each kind, for observations, actions and states of these widths, and of so many weights of mixtures."""
    return 8 * (nodes * (_NODE_NUMBERS + observation) + actions * (_ACTION_NUMBERS + action) + rows * (state + 1) + mixed)


class Capacity(NamedTuple):
    """How many rows of each kind a tree has room for."""

    nodes: int
    actions: int
    particles: int
    mixed: int
    """Weights of mixtures."""
    log: int
    """Of the undo log."""


def full_capacity(observation: int, action: int, state: int, actions: int, memory: int, depth: int, mixes: bool) -> Capacity:
    """Each kind of row could fill the memory alone; the search counts what all of them take."""
    widths = observation, action, state
    nodes, branches, rows = (memory // row_bytes(*kind, *widths) for kind in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    levels = min(depth, _LOGGED) + 8  # a trial branches every action of a node on each level, and backs up from each
    return Capacity(nodes, branches, rows, memory // 8 if mixes else 1, 16 * levels * (levels + actions))


def make_tree(
    observation: int,
    action: int,
    state: int,
    actions: int,
    memory: int,
    depth: int,
    mixes: bool = False,
    capacity: Capacity | None = None,
) -> tuple[Tree, Block]:
    """An empty tree for observations, actions and states of these widths, and the block that its columns stand in.

    mixes: whether there will be mixtures. capacity: None for all that the memory could hold.
    """
    nodes, branches, rows, mixed, log = capacity or full_capacity(observation, action, state, actions, memory, depth, mixes)
    layout = (
        *((name, "float64" if name in _REAL else "int64", (nodes,)) for name in _NODE),
        ("observations", "float64", (nodes, observation)),
        *((name, "float64" if name in _REAL else "int64", (branches,)) for name in _ACTION),
        ("actions", "float64", (branches, action)),
        ("states", "float64", (rows, state)),
        ("weights", "float64", (rows,)),
        ("mixtures", "float64", (mixed,)),
        ("undo_column", "int64", (log,)),
        ("undo_row", "int64", (log,)),
        ("undo_value", "float64", (log,)),
    )
    block = Block(layout)
    limits = {"deadline": math.inf, "max_trials": math.inf, "max_bytes": float(memory), "max_depth": depth}
    limits |= {"max_root_actions": 0, "gap": 0.0, "gap_ratio": 0.0}
    result: dict[str, Any] = {"first_gap": 0.0, "crossing": 0.0, "root_enumerated": False}
    result |= {"most_actions": actions, "bad_action": np.zeros(action)}
    counts = [name for name in Tree.__annotations__ if name not in {*block.arrays, *limits, *result}]
    fields = {**block.arrays, **limits, **result, **dict.fromkeys(counts, 0)}
    return Tree(**{name: fields[name] for name in Tree.__annotations__}), block


def used_bytes(tree: Tree) -> int:
    """Memory that the tree takes."""
    widths = tree.observations.shape[1], tree.actions.shape[1], tree.states.shape[1]
    return row_bytes(tree.n_nodes, tree.n_action_nodes, tree.n_rows, *widths, tree.n_mixed)


def has_capacity(tree: Tree, nodes: int, actions: int, rows: int, mixed: int = 0) -> bool:
    """Whether this many more rows of each kind, and weights of mixtures, stay within the memory allowed."""
    observation, action, state = tree.observations.shape[1], tree.actions.shape[1], tree.states.shape[1]
    counts = tree.n_nodes + nodes, tree.n_action_nodes + actions, tree.n_rows + rows
    taken = row_bytes(*counts, observation, action, state, tree.n_mixed + mixed)
    fits = counts[0] <= len(tree.parent) and counts[1] <= len(tree.node) and counts[2] <= len(tree.weights)
    return bool(taken <= tree.max_bytes and fits and (mixed == 0 or tree.n_mixed + mixed <= len(tree.mixtures)))


def is_enumerated(tree: Tree, b: int) -> bool:
    """Whether a node's own particles are every possible state."""
    return bool(tree.root_enumerated) if b == 0 else bool(tree.enumerated[tree.parent[b]])


def is_bad(tree: Tree, b: int, actions: Rows, row: int, reward: float) -> bool:
    """Whether a mean reward is none that a search can go on with; then it is put down where it arose."""
    if abs(reward) <= MOST_REWARD:
        return False
    tree.bad_node = b
    for k in range(actions.shape[1]):
        tree.bad_action[k] = actions[row, k]
    return True


def is_late(tree: Tree) -> bool:
    """Whether the deadline has passed."""
    return bool(now() >= tree.deadline)


def set_root(tree: Tree, count: int) -> None:
    """A tree that is its root, whose particles are the first rows."""
    tree.n_rows = count
    tree.n_nodes = 1
    tree.n_mixed = 0
    tree.parent[0], tree.depth[0], tree.probability[0] = -1, 0, 1.0
    tree.lower[0], tree.upper[0] = -math.inf, math.inf
    tree.first_action[0], tree.n_actions[0] = -1, 0
    tree.first_particle[0], tree.n_particles[0], tree.key[0], tree.visits[0] = 0, count, 0, 0


def add_node(tree: Tree, ba: int, depth: int, probability: float) -> int:
    """A new leaf, which has no bounds yet: its number."""
    c = tree.n_nodes
    tree.n_nodes += 1
    tree.deepest = max(tree.deepest, depth)
    tree.parent[c] = ba
    tree.depth[c] = depth
    tree.probability[c] = probability
    tree.first_action[c] = -1
    tree.n_actions[c] = 0
    tree.visits[c] = 0
    tree.mixture[c] = SINGLE
    return int(c)


def bound_leaf(tree: Tree, c: int, lower: float, upper: float) -> None:
    """The first bounds of a leaf, which are never crossed."""
    tree.lower[c] = lower
    tree.upper[c] = max(lower, upper)
    if lower > upper:
        record_crossing(tree, lower - upper)


def add_action(tree: Tree, b: int, actions: Rows, row: int, lower: float, upper: float) -> int:
    """A new action node, for this row of actions, that is not branched yet: where it stands."""
    ba = tree.n_action_nodes
    tree.n_action_nodes += 1
    write_action(tree, ba, b, actions, row, row, lower, upper)
    return int(ba)


def write_action(tree: Tree, ba: int, b: int, actions: Rows, row: int, number: int, lower: float, upper: float) -> None:
    """An action node, for this row of actions, that is not branched yet, in a place that is free."""
    for k in range(tree.actions.shape[1]):
        tree.actions[ba, k] = actions[row, k]
    tree.node[ba] = b
    tree.number[ba] = number
    tree.reward[ba] = math.nan
    tree.action_lower[ba] = lower
    tree.action_upper[ba] = upper
    tree.first_child[ba] = -1
    tree.n_children[ba] = 0
    tree.first_successor[ba] = -1
    tree.n_successors[ba] = 0
    tree.enumerated[ba] = 0


def record_crossing(tree: Tree, excess: float) -> None:
    """Remember by how much, if at all, a lower bound lay above an upper one."""
    tree.crossing = max(tree.crossing, excess)


def allowed_gap(tree: Tree, depth: int, discount: float) -> float:
    """The gap between bounds that is no excess at this depth: xi times the root's, undiscounted.

    Excess uncertainty is of Smith and Simmons (2004). Paper: EU(b) = gap(b) - xi gap(root) / gamma^depth.
    """
    gap: float = max(0.0, tree.upper[0] - tree.lower[0])
    return float(tree.gap_ratio * gap / math.pow(discount, float(depth)))


def best_action(tree: Tree, b: int) -> int:
    """The action node of the largest upper bound. Paper: Alg. 2 line 1."""
    best = tree.first_action[b]
    for ba in range(tree.first_action[b] + 1, tree.first_action[b] + tree.n_actions[b]):
        if tree.action_upper[ba] > tree.action_upper[best]:
            best = ba
    return int(best)


def best_of(lower: np.ndarray, upper: np.ndarray, rng: Rng) -> int:
    """The index of the largest lower bound; of several, that of the largest upper one, which decides where no plan of the bounds
    begins with an action and none was branched; of several, a random one."""
    best = np.flatnonzero(lower == lower.max())
    best = best[upper[best] == upper[best].max()]
    return int(best[rng.integer(len(best))])


def best_child(tree: Tree, ba: int, allowed: float, least: float) -> int:
    """The child of the largest excess uncertainty, weighed by its probability; -1 where none has more than `least`.

    Paper: Alg. 2 line 2.
    """
    best, most = -1, least
    for c in range(tree.first_child[ba], tree.first_child[ba] + tree.n_children[ba]):
        excess = tree.probability[c] * (tree.upper[c] - tree.lower[c] - allowed)
        if excess > most:
            best, most = c, excess
    return int(best)


def set_bounds(tree: Tree, b: int, lower: float, upper: float) -> None:
    """New bounds of a belief node."""
    log_change(tree, _LOWER, b, tree.lower[b])
    log_change(tree, _UPPER, b, tree.upper[b])
    tree.lower[b] = lower
    tree.upper[b] = upper


def set_action_bounds(tree: Tree, ba: int, lower: float, upper: float) -> None:
    """New bounds of an action node."""
    log_change(tree, _ACTION_LOWER, ba, tree.action_lower[ba])
    log_change(tree, _ACTION_UPPER, ba, tree.action_upper[ba])
    tree.action_lower[ba] = lower
    tree.action_upper[ba] = upper


def set_unregularised(tree: Tree, b: int, ba: int, upper: float, action_upper: float) -> None:
    """New unregularised bounds of a belief node and of an action node."""
    log_change(tree, _UNREGULARISED, b, tree.unregularised[b])
    log_change(tree, _ACTION_UNREGULARISED, ba, tree.action_unregularised[ba])
    tree.unregularised[b] = upper
    tree.action_unregularised[ba] = action_upper


def set_actions(tree: Tree, b: int, first: int, count: int) -> None:
    """Make a leaf an inner node."""
    log_change(tree, _ACTIONS, b, tree.first_action[b])
    tree.first_action[b] = first
    tree.n_actions[b] = count


def count_action(tree: Tree, b: int) -> None:
    """A node has the action that was written after its last."""
    log_change(tree, _COUNT, b, tree.n_actions[b])
    tree.n_actions[b] += 1


def set_children(tree: Tree, ba: int, first: int, count: int) -> None:
    """Give an action node its belief nodes."""
    log_change(tree, _CHILDREN, ba, tree.first_child[ba])
    tree.first_child[ba] = first
    tree.n_children[ba] = count


def log_change(tree: Tree, column: int, row: int, value: float) -> None:
    """Put down what is about to be changed."""
    n = tree.n_undo
    tree.undo_column[n] = column
    tree.undo_row[n] = row
    tree.undo_value[n] = value
    tree.n_undo = n + 1


def must_end(tree: Tree, b: int) -> bool:
    """Whether branching every action here, and backing up, could be too much for the undo log: then the trial ends, which is always
    allowed."""
    ends = bool(tree.n_undo + 8 * (tree.depth[b] + tree.most_actions + 4) > len(tree.undo_column))
    tree.n_cut += int(ends)
    return ends


@noinline
def undo(tree: Tree) -> None:
    """Put back what the present trial has changed."""
    for n in range(tree.n_undo - 1, -1, -1):
        column, row, value = tree.undo_column[n], tree.undo_row[n], tree.undo_value[n]
        if column == _LOWER:
            tree.lower[row] = value
        elif column == _UPPER:
            tree.upper[row] = value
        elif column == _UNREGULARISED:
            tree.unregularised[row] = value
        elif column == _ACTION_UNREGULARISED:
            tree.action_unregularised[row] = value
        elif column == _ACTIONS:
            tree.first_action[row] = int(value)
            tree.n_actions[row] = 0
        elif column == _COUNT:
            tree.n_actions[row] = int(value)
        elif column == _ACTION_LOWER:
            tree.action_lower[row] = value
        elif column == _ACTION_UPPER:
            tree.action_upper[row] = value
        else:
            tree.first_child[row] = int(value)
            tree.n_children[row] = 0
            tree.reward[row] = math.nan
    tree.n_undo = 0


@noinline
def refresh_bounds(tree: Tree, b: int) -> None:
    """Bounds of a node from those of its action nodes. They only ever close, where actions are a list; where they would cross, the
    upper one yields."""
    closing = tree.max_root_actions == 0
    lower, upper = tree.lower[b] if closing else -math.inf, -math.inf
    for ba in range(tree.first_action[b], tree.first_action[b] + tree.n_actions[b]):
        lower = max(lower, tree.action_lower[ba])
        upper = max(upper, tree.action_upper[ba])
    upper = min(upper, tree.upper[b]) if closing else upper
    if lower > upper:
        record_crossing(tree, lower - upper)
        upper = lower
    set_bounds(tree, b, lower, upper)


@noinline
def backup(tree: Tree, b: int, lower: float, upper: float, discount: float) -> bool:
    """Carry the change of a node's bounds, which were `lower` and `upper`, up to the root.

    Whether some node on the way now prefers another action than the one that led here.
    """
    changed = False
    while b > 0:
        ba = tree.parent[b]
        weight = discount * tree.probability[b]
        risen, fallen = weight * (tree.lower[b] - lower), weight * (tree.upper[b] - upper)
        b = tree.node[ba]
        lower, upper = tree.lower[b], tree.upper[b]
        set_action_bounds(tree, ba, tree.action_lower[ba] + risen, tree.action_upper[ba] + fallen)
        refresh_bounds(tree, b)
        if best_action(tree, b) != ba:
            changed = True
    return changed


def end_at_depth(tree: Tree, b: int, discount: float) -> None:
    """At the depth limit: the upper bound becomes the lower one. Paper: Alg. 1 lines 10-12. Differs: it is backed up."""
    lower, upper = tree.lower[b], tree.upper[b]
    set_bounds(tree, b, lower, lower)
    backup(tree, b, lower, upper, discount)


def search_by(trial: Callable[..., int]) -> Callable[..., int]:
    """The anytime loop around a planner's trial(tree, search): a function that gives why it ended. Paper: Alg. 1."""

    def run(tree: Tree, search: Any) -> int:
        tree.first_gap = tree.upper[0] - tree.lower[0]
        while True:
            is_full = tree.n_actions[0] >= tree.max_root_actions
            if is_full and tree.upper[0] - tree.lower[0] <= tree.gap:
                return GAP
            if tree.n_trials >= tree.max_trials:
                return ITERATIONS
            if is_late(tree):
                return DEADLINE
            tree.n_undo = 0
            nodes, actions, rows, expansions = tree.n_nodes, tree.n_action_nodes, tree.n_rows, tree.n_expansions
            deepest, annealed, stages, evaluations = tree.deepest, tree.n_annealed, tree.n_stages, tree.n_evaluations
            crossing, mixed = tree.crossing, tree.n_mixed
            status = trial(tree, search)
            if status != OK:
                undo(tree)
                tree.n_nodes, tree.n_action_nodes, tree.n_rows, tree.n_expansions = nodes, actions, rows, expansions
                tree.deepest, tree.n_annealed, tree.n_stages, tree.n_evaluations = deepest, annealed, stages, evaluations
                tree.crossing, tree.n_mixed = crossing, mixed
                return int(status)
            tree.n_trials += 1
            if is_full and tree.n_expansions == expansions and tree.n_undo == 0:  # nothing is left to look into
                return GAP

    return run
