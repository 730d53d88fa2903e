"""Where an action leads, for the planners whose belief nodes are weighted particles (AIROAS, AdaOPS): successors, what is observed
in them, and a node for each observation, or for several that say nearly the same.

A particle that ends in a terminal state has value 0 and no observation: that the episode ended is seen.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.compiler.lanes import lanes, largest
from airoas.compiler.specialise import noinline
from airoas.modelling.rows import are_equal
from airoas.planners.bounded.enumerated import TOO_MANY, clear_slots
from airoas.planners.bounded.leaves import (
    TOO_LATE,
    add_weighted,
    clear,
    own_particles,
    plan_bound,
    step_chunk,
    successors,
    upper_bound,
    weigh,
)
from airoas.planners.bounded.packing import ALONE, find_branch, mix
from airoas.planners.bounded.search import BATCH, CHUNK, MOST_LIKELIHOODS, Search
from airoas.planners.bounded.tree import (
    BAD_MODEL,
    BAD_REWARD,
    DEADLINE,
    MEMORY,
    OK,
    SINGLE,
    Tree,
    add_node,
    bound_leaf,
    has_capacity,
    is_bad,
    is_enumerated,
    is_late,
    set_action_bounds,
    set_children,
)
from airoas.rng import hash_key, new_stream

ENUMERATED_DELTA = 0.1
"""Delta among probabilities: a larger one is for weights of particles, which differ by chance."""


@noinline
def branch(tree: Tree, search: Search, ba: int) -> int:
    """Simulate an action, or enumerate where it leads, group what is observed, and give each group a node with bounds."""
    b = tree.node[ba]
    most = max(tree.n_particles[b], len(search.ids) if search.enumerates else 0)
    if not has_capacity(tree, len(search.mass), 0, most):
        return MEMORY
    begin, first = tree.n_rows, tree.n_nodes
    tree.first_successor[ba] = begin
    seed = hash_key(search.seed, tree.key[b], tree.number[ba])
    size, reward = follow(tree, search, ba, seed)
    if size == TOO_LATE:
        return DEADLINE
    if is_bad(tree, b, tree.actions, ba, reward):
        return BAD_REWARD
    tree.n_successors[ba] = size
    tree.n_rows = begin + size
    states, weights = successors(tree, ba, size)
    alive = 0.0
    for i in range(size):
        alive += weights[i]
        search.arrived[i] = weights[i] > 0.0
    groups = observe_successors(tree, search, ba, alive, seed) if alive > 0.0 else 0
    for done in range(0, size, CHUNK):
        if done > 0 and is_late(tree):
            tree.n_rows = begin
            return DEADLINE
        end = min(done + CHUNK, size)
        search.evaluate(states[done:end], search.arrived[done:end], search.values[done:end], 0)
    by_mass = tree.enumerated[ba] > 0 and search.discrete and 2 * groups <= len(search.observing)
    batch_size = min(BATCH, max(1, MOST_LIKELIHOODS // max(1, size)))
    for done in range(0, groups, batch_size):
        if is_late(tree):
            tree.n_nodes, tree.n_rows = first, begin
            return DEADLINE
        some = min(batch_size, groups - done)
        seen = search.observations[done : done + some]
        search.log_likelihoods(states, search.arrived[:size], seen, tree.actions[ba : ba + 1], search.logs)
        for g in range(some):
            if by_mass:
                search.mass[done + g] = probability_of(weights, search.logs[g])
            status = add_branch(tree, search, ba, done + g, search.logs[g], first)
            if status != OK:
                return int(status)
    if by_mass:
        normalise(tree, first, alive)
    lower = upper = reward
    for c in range(first, tree.n_nodes):
        if (c - first) % batch_size == 0 and is_late(tree):
            tree.n_nodes, tree.n_rows = first, begin
            return DEADLINE
        start = tree.mixture[c]
        bound_by_values(tree, search, c, tree.mixtures[start : start + size] if start >= 0 else search.weights[c - first][:size])
        lower += search.discount * tree.probability[c] * tree.lower[c]
        upper += search.discount * tree.probability[c] * tree.upper[c]
    tree.reward[ba] = reward
    set_children(tree, ba, first, tree.n_nodes - first)
    set_action_bounds(tree, ba, lower, upper)
    tree.n_expansions += 1
    return OK


def follow(tree: Tree, search: Search, ba: int, seed: int) -> tuple[int, float]:
    """Enumerate where an action leads, or simulate it where that is too much: how many successors, TOO_LATE where time is up, and the
    reward expected."""
    b = tree.node[ba]
    tree.enumerated[ba] = 0
    if search.enumerates and is_enumerated(tree, b):
        size, reward = enumerate_all(tree, search, ba)
        if size != TOO_MANY:
            tree.enumerated[ba] = 1
            return size, reward
    size, reward = simulate_all(tree, search, ba, seed)
    return size, reward


@noinline
def enumerate_all(tree: Tree, search: Search, ba: int) -> tuple[int, float]:
    """Every state that an action leads to, with its probability, from a node that holds every possible state."""
    states, weights = own_particles(tree, tree.node[ba])
    after, probabilities = successors(tree, ba, len(search.ids))
    clear_slots(search.slots)
    count, reward = 0, 0.0
    for begin in range(0, len(weights), CHUNK):
        if begin > 0 and is_late(tree):
            return TOO_LATE, 0.0
        end = min(begin + CHUNK, len(weights))
        some = states[begin:end], weights[begin:end]
        rows = after, probabilities, search.rewards[begin:end]
        count = search.enumerate_successors(*some, tree.actions[ba : ba + 1], *rows, search.slots, search.ids, count)
        if count == TOO_MANY:
            return TOO_MANY, 0.0
        for i in range(begin, end):
            reward += weights[i] * search.rewards[i]
    return count, reward


@noinline
def simulate_all(tree: Tree, search: Search, ba: int, seed: int) -> tuple[int, float]:
    """One step of every particle of a node."""
    states, weights = own_particles(tree, tree.node[ba])
    after, alive = successors(tree, ba, len(weights))
    reward = 0.0
    for begin in range(0, len(weights), CHUNK):
        if begin > 0 and is_late(tree):
            return TOO_LATE, 0.0
        end = min(begin + CHUNK, len(weights))
        step_chunk(search, states, tree.actions[ba : ba + 1], seed, begin, end, after)
        for i in range(begin, end):
            reward += weights[i] * search.rewards[i]
            alive[i] = weights[i] if search.arrived[i] else 0.0
    return len(weights), reward


@noinline
def observe_successors(tree: Tree, search: Search, ba: int, alive: float, seed: int) -> int:
    """Observe in the successors, in all or in as many as may, and group equal observations: how many groups.

    Where every possible state is enumerated, a likely one observes more than once.
    """
    states, weights = successors(tree, ba, tree.n_successors[ba])
    observing = len(search.observing)
    some = observing < len(weights)
    if some:
        own = new_stream()
        own.reseed(seed, 2, 0)
        choose(weights, SYSTEMATIC, own, search.observing)
    draws = 0
    for j in range(observing if some else len(weights)):
        i = search.observing[j] if some else j
        if weights[i] > 0.0:
            times = max(1, int(observing * weights[i])) if tree.enumerated[ba] and not some else 1
            for _ in range(times):
                search.which[draws] = i
                search.drawn_mass[draws] = alive / observing if some else weights[i] / times
                draws += 1
    which, numbers = search.which[:draws], search.numbers[:draws]
    search.observe(states, which, tree.actions[ba : ba + 1], seed, numbers, search.drawn[:draws])
    groups = 0
    for j in range(draws):
        g = -find_equal(search.observations, groups, search.drawn, j)
        if g == groups:
            for k in range(search.drawn.shape[1]):
                search.observations[g, k] = search.drawn[j, k]
            search.mass[g] = 0.0
            groups += 1
        search.mass[g] += search.drawn_mass[j]
    return groups


@largest
def find_equal(observations: Any, groups: int, drawn: Any, j: int) -> int:
    """-g for the first observation that a draw equals; where there is none, their number."""
    for g in lanes(groups):
        if are_equal(observations, g, drawn, j):
            return -int(g)
    return -groups


def probability_of(weights: Any, logs: Any) -> float:
    """Of an observation: that it is seen again and again says that there are few, and then it need not be estimated."""
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * math.exp(logs[i])
    return total


def normalise(tree: Tree, first: int, alive: float) -> None:
    """Let the probabilities of new nodes sum to `alive`: what is seen too rarely to be drawn has no node."""
    total = 0.0
    for c in range(first, tree.n_nodes):
        total += tree.probability[c]
    for c in range(first, tree.n_nodes):
        tree.probability[c] *= alive / total


@noinline
def add_branch(tree: Tree, search: Search, ba: int, g: int, logs: Any, first: int) -> int:
    """A node for a group of observations, or a larger probability for one whose weights are nearly the same (delta-packing).

    BAD_MODEL where no successor allows what one of them saw: then `observe` and `obs_logpdf` contradict each other.
    """
    b = tree.node[ba]
    size, kept = tree.n_successors[ba], tree.n_nodes - first
    weights, mass = search.weights[kept][:size], search.mass[g]
    delta = min(search.delta, ENUMERATED_DELTA) if tree.enumerated[ba] else search.delta
    _, before = successors(tree, ba, size)
    inefficiency = weigh(before, logs, weights)
    if inefficiency == math.inf:
        return BAD_MODEL
    alone = delta < 0.0 or (inefficiency > search.target and tree.enumerated[ba] == 0)
    c = -1 if alone else find_branch(tree, search, first, weights, delta)
    if c >= 0:
        if search.mixes and not mix(tree, c, search.weights[c - first], weights, mass, len(search.mass) - g):
            return MEMORY
        tree.probability[c] += mass
        return OK
    c = add_node(tree, ba, tree.depth[b] + 1, mass)
    tree.mixture[c] = ALONE if alone else SINGLE
    for k in range(tree.observations.shape[1]):
        tree.observations[c, k] = search.observations[g, k]
    tree.key[c] = hash_key(tree.key[b], tree.number[ba], kept)
    return OK


@noinline
def bound_by_values(tree: Tree, search: Search, c: int, weights: Any) -> None:
    """Bounds of a new node, whose successors weigh this."""
    plans, sums = len(search.first_actions), search.sums
    clear(sums)
    add_weighted(sums, weights, search.arrived, search.values)
    bound_leaf(tree, c, plan_bound(sums, plans), upper_bound(sums, plans))
