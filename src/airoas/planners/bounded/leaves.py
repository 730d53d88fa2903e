"""What a leaf is given when a search opens it, for the planners whose belief nodes are weighted particles (AIROAS, AdaOPS):
particles that follow its observation, then action nodes with bounds.

Particles that an action leads to are shared by all the observations that follow; a child keeps its observation, from which its
weights can be had again when it is visited, or, where several share it, the mixture of theirs.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.compiler.fingerprint import plain
from airoas.compiler.lanes import lanes, largest
from airoas.compiler.specialise import ON_DEVICE, noinline
from airoas.compiler.vector_exp import exp
from airoas.planners.bounded.cells import may_widen, propose
from airoas.planners.bounded.packing import read_mixture
from airoas.planners.bounded.search import CHUNK, Search
from airoas.planners.bounded.tree import (
    BAD_REWARD,
    DEADLINE,
    NO_ACTION,
    OK,
    Tree,
    add_action,
    count_action,
    is_bad,
    is_late,
    set_actions,
    set_bounds,
    write_action,
)
from airoas.rng import hash_key, new_stream

STEPS, OBSERVATIONS, RESAMPLING, WIDENING = -1, -2, -3, -4
"""Purposes of the streams of a node, besides the numbers of its actions."""
TOO_LATE, BAD_STEP = -2, -3


def successors(tree: Tree, ba: int, size: int) -> tuple[Any, Any]:
    """States and weights of an action's successors. Slices: an index that starts at 0 is never negative, which compiled code
    would otherwise look for at every access."""
    start = tree.first_successor[ba]
    return tree.states[start : start + size], tree.weights[start : start + size]


def own_particles(tree: Tree, b: int) -> tuple[Any, Any]:
    """States and weights of a node's own particles."""
    start, size = tree.first_particle[b], tree.n_particles[b]
    return tree.states[start : start + size], tree.weights[start : start + size]


@noinline
def weigh(before: Any, logs: Any, weights: Any) -> float:
    """Weights [n], normalised, of particles that weighed `before` and give an observation the log-likelihoods `logs`; their N / ESS.

    inf where none allows it; what is no density explains nothing.
    """
    peak = highest(logs, len(before))
    if peak == -math.inf:
        return math.inf
    total, squares = weigh_at(before, logs, peak, weights)
    if not total > 0.0:
        return math.inf
    divide(weights, len(before), total)
    return float(len(before) * squares / (total * total))


@largest
def highest(logs: Any, n: int) -> float:
    peak = -math.inf
    for i in lanes(n):
        peak = logs[i] if peak < logs[i] < math.inf else peak
    return peak


def weigh_at(before: Any, logs: Any, peak: float, weights: Any) -> tuple[float, float]:
    """Sum and sum of squares of the weights, which are relative to the highest likelihood."""
    for i in lanes(len(before)):
        weights[i] = before[i] * exp(logs[i] - peak if logs[i] < math.inf else -math.inf)
    total = squares = 0.0
    for i in lanes(len(before)):
        total += weights[i]
        squares += weights[i] * weights[i]
    return total, squares


def divide(weights: Any, n: int, total: float) -> None:
    for i in lanes(n):
        weights[i] /= total


def mark_positive(weights: Any, marked: Any, n: int) -> None:
    for i in lanes(n):
        marked[i] = weights[i] > 0.0


@noinline
def weigh_leaf(tree: Tree, search: Search, b: int) -> float:
    """The weights of a leaf's observation, in search.weights[0], and their N / ESS."""
    ba = tree.parent[b]
    size = tree.n_successors[ba]
    if tree.mixture[b] >= 0:
        return read_mixture(tree, b, search.weights[0][:size])
    states, before = successors(tree, ba, size)
    mark_positive(before, search.arrived, size)
    search.log_likelihoods(states, search.arrived[:size], tree.observations[b : b + 1], tree.actions[ba : ba + 1], search.logs)
    return float(weigh(before, search.logs[0], search.weights[0]))


@noinline
def keep_particles(tree: Tree, b: int, size: int, weights: Any, chosen: Any) -> None:
    """The successors of positive weight become the node's own particles, weighted. chosen [N]: room."""
    count = 0
    for i in range(size):
        if weights[i] > 0.0:
            chosen[count] = i
            count += 1
    first = tree.n_rows
    copy_successors(tree, b, chosen[:count])
    for j in range(count):
        tree.weights[first + j] = weights[chosen[j]]
    _own(tree, b, count)


def copy_successors(tree: Tree, b: int, chosen: Any) -> None:
    """The states of some successors into the rows that are free."""
    states, start, first = tree.states, tree.first_successor[tree.parent[b]], tree.n_rows
    for j in lanes(len(chosen)):
        for k in range(states.shape[1]):
            states[first + j, k] = states[start + chosen[j], k]


@noinline
def draw_particles(tree: Tree, b: int, size: int, weights: Any, chosen: Any, rng: Any) -> None:
    """Draws among the successors, as many as `chosen` has room for, become the node's own particles, of equal weight."""
    first = tree.n_rows
    choose(weights[:size], SYSTEMATIC, rng, chosen)
    copy_successors(tree, b, chosen)
    for j in range(len(chosen)):
        tree.weights[first + j] = 1.0 / len(chosen)
    _own(tree, b, len(chosen))


def _own(tree: Tree, b: int, count: int) -> None:
    tree.first_particle[b] = tree.n_rows
    tree.n_particles[b] = count
    tree.n_rows += count


@noinline
def find_legal(tree: Tree, search: Search, b: int) -> None:
    """search.legal: which actions every particle of a node allows."""
    for a in range(len(search.legal)):
        search.legal[a] = search.allowed[a] if b == 0 else True
    if b > 0 and search.is_restricted:
        states, weights = own_particles(tree, b)
        for i in range(len(weights)):
            search.arrived[i] = True
        search.inspect(states, search.arrived[: len(weights)], search.legal)


def add_values(sums: Any, weight: float, values: Any) -> None:
    for j in range(len(sums)):
        sums[j] += weight * values[j]


def add_weighted(sums: Any, weights: Any, alive: Any, values: Any) -> None:
    """Add values [n, .] of those that are alive to sums [.], by weight."""
    for i in range(len(weights)):
        if weights[i] > 0.0 and alive[i]:
            add_values(sums, weights[i], values[i])


def _add_by_column(sums: Any, weights: Any, alive: Any, values: Any) -> None:
    """The same in the same order, each sum by another thread of a warp."""
    for j in lanes(len(sums)):
        total = sums[j]
        for i in range(len(weights)):
            if weights[i] > 0.0 and alive[i]:
                total += weights[i] * values[i, j]
        sums[j] = total


ON_DEVICE["warp"][add_weighted] = plain(_add_by_column)


def clear(sums: Any) -> None:
    for j in range(len(sums)):
        sums[j] = 0.0


def plan_bound(sums: Any, plans: int) -> float:
    """The best plan's value."""
    best = -math.inf
    for k in range(plans):
        best = max(best, sums[k])
    return best


def upper_bound(sums: Any, plans: int) -> float:
    """The best upper value: of the belief, or over the actions."""
    best = -math.inf
    for j in range(plans, len(sums)):
        best = max(best, sums[j])
    return best


def open_node(tree: Tree, search: Search, b: int) -> int:
    """Give a node that has particles its action nodes, with bounds but without branches."""
    find_legal(tree, search, b)
    return int(open_by_values(tree, search, b) if search.by_action else open_by_steps(tree, search, b))


@noinline
def open_by_values(tree: Tree, search: Search, b: int) -> int:
    """u(b, a) = sum w Q(s, a); l(b, a) is the best plan that begins with a."""
    plans, sums = len(search.first_actions), search.sums
    clear(sums)
    states, weights = own_particles(tree, b)
    for begin in range(0, len(weights), CHUNK):
        if b > 0 and begin > 0 and is_late(tree):
            return DEADLINE
        end = min(begin + CHUNK, len(weights))
        search.evaluate(states[begin:end], search.alive[begin:end], search.values, 0)
        add_weighted(sums, weights[begin:end], search.alive, search.values)
    set_bounds(tree, b, max(tree.lower[b], plan_bound(sums, plans)), tree.upper[b])
    first = tree.n_action_nodes
    for a in range(len(search.legal)):
        if search.legal[a]:
            lower = -math.inf
            for k in range(plans):
                if search.first_actions[k] == a:
                    lower = max(lower, sums[k])
            add_action(tree, b, search.candidates, a, lower, sums[plans + a])
    set_actions(tree, b, first, tree.n_action_nodes - first)
    return OK if tree.n_action_nodes > first else NO_ACTION


@noinline
def open_by_steps(tree: Tree, search: Search, b: int) -> int:
    """u(b, a) = R(b, a) + gamma sum w V(s'), and the same for the best plan."""
    first = tree.n_action_nodes
    for a in range(len(search.legal)):
        if search.legal[a]:
            status, lower, upper = bounds_by_step(tree, search, b, search.candidates[a : a + 1], a, b == 0)
            if status != OK:
                return int(status)
            add_action(tree, b, search.candidates, a, lower, upper)
    count = tree.n_action_nodes - first
    set_actions(tree, b, first, count)
    tree.n_action_nodes += search.cells.root_capacity if b == 0 else search.cells.capacity
    return OK if count > 0 else NO_ACTION


@noinline
def bounds_by_step(tree: Tree, search: Search, b: int, action: Any, number: int, must: bool) -> tuple[int, float, float]:
    """OK or why not, and bounds of an action from one step of a node's particles. `must`: whatever the time, for at the root there is
    always an action to answer."""
    plans, sums = len(search.first_actions), search.sums
    states, weights = own_particles(tree, b)
    after = tree.states[tree.n_rows : tree.n_rows + len(weights)]  # room that belongs to nobody yet
    seed = hash_key(search.seed, tree.key[b], number)
    clear(sums)
    reward = 0.0
    for begin in range(0, len(weights), CHUNK):
        if not must and is_late(tree):
            return DEADLINE, 0.0, 0.0
        end = min(begin + CHUNK, len(weights))
        step_chunk(search, states, action, seed, begin, end, after)
        search.evaluate(after[begin:end], search.arrived[begin:end], search.values, 0)
        for i in range(begin, end):
            reward += weights[i] * search.rewards[i]
        add_weighted(sums, weights[begin:end], search.arrived[begin:end], search.values)
    if is_bad(tree, b, action, 0, reward):
        return BAD_REWARD, 0.0, 0.0
    return OK, reward + search.discount * plan_bound(sums, plans), reward + search.discount * upper_bound(sums, plans)


@noinline
def widen(tree: Tree, search: Search, b: int) -> int:
    """Give a node that was visited often enough one more action: where it stands, -1 where there is none, TOO_LATE where time is up,
    BAD_STEP where its reward is none."""
    cells = search.cells
    if cells.capacity == 0:
        return -1
    tree.visits[b] += 1
    first, count = tree.first_action[b], tree.n_actions[b]
    extra = count - len(search.candidates)
    if not may_widen(cells, extra, tree.visits[b], b == 0):
        return -1
    best = first
    for ba in range(first + 1, first + count):
        if tree.action_lower[ba] > tree.action_lower[best]:
            best = ba
    own = new_stream()
    own.reseed(hash_key(search.seed, tree.key[b], WIDENING), 0, count)
    propose(cells, tree.actions, best, extra, own)
    status, lower, upper = bounds_by_step(tree, search, b, cells.space.row, count, False)
    if status != OK:
        return TOO_LATE if status == DEADLINE else BAD_STEP
    write_action(tree, first + count, b, cells.space.row, 0, count, lower, upper)
    count_action(tree, b)
    return int(first + count)


def step_chunk(search: Search, states: Any, action: Any, seed: int, begin: int, end: int, after: Any) -> None:
    """One step of some of a node's particles: rewards, and which have not ended, in the workspace."""
    search.step(
        states[begin:end],
        search.alive[begin:end],
        action,
        seed,
        search.numbers[begin:end],
        after[begin:end],
        search.rewards[begin:end],
        search.arrived[begin:end],
    )
