"""The last word at the root where actions are no list: a node has few particles, and of hundreds of actions the one that looks best in
them is often one whose dangers none of them shows. Those of the largest lower bounds are weighed again, in many more particles of the
belief: what their first step promises there, in place of what it promises in the root's own (a control variate)."""

from __future__ import annotations

import math

import numpy as np

from airoas.belief.resampling import indices
from airoas.compiler.clock import now
from airoas.compiler.kernels import kernel
from airoas.modelling.rows import Indices, Reals, Rows, Weights
from airoas.planners.bounded.leaves import add_values, bounds_by_step, clear, plan_bound
from airoas.planners.bounded.search import CHUNK, Search
from airoas.planners.bounded.tree import Tree
from airoas.rng import hash_key, stream

LEAST = 32
"""Actions that are weighed again; more while others promise more than any of these."""
PARTICLES = 1024
"""In which they are."""
PART = 0.1
"""Of the time of a search that it may take."""


@kernel
def recheck(tree: Tree, search: Search, states: Rows, after: Rows, order: Indices, deadline: float, out: Reals) -> int:
    """out [k]: the lower bounds of action nodes of the root, the largest first, corrected; of how many of them."""
    seed, best = hash_key(search.seed, -1, 0), -math.inf
    for j in range(len(order)):
        ba = order[j]
        if j >= LEAST and best >= tree.action_lower[ba]:
            return j
        action = tree.actions[ba : ba + 1]
        many = promise_of_step(search, states, after, action, seed, deadline)
        if many == -math.inf:
            return j
        _, few, _ = bounds_by_step(tree, search, 0, action, tree.number[ba], True)
        out[j] = tree.action_lower[ba] + many - few
        best = max(best, out[j])
    return len(order)


def promise_of_step(search: Search, states: Rows, after: Rows, action: Rows, seed: int, deadline: float) -> float:
    """R + gamma V of an action, a mean over states, all actions by the same chances; -inf where time is up."""
    plans, sums = len(search.first_actions), search.sums
    clear(sums)
    reward, most = 0.0, min(CHUNK, len(search.alive))
    for begin in range(0, len(states), most):
        if now() >= deadline:
            return -math.inf
        size = min(most, len(states) - begin)
        arrived, rewards = search.arrived[:size], search.rewards[:size]
        some = states[begin : begin + size]
        search.step(some, search.alive[:size], action, hash_key(seed, begin, 0), search.numbers[:size], after[:size], rewards, arrived)
        search.evaluate(after[:size], arrived, search.values, 0)
        for i in range(size):
            reward += rewards[i]
            if arrived[i]:
                add_values(sums, 1.0, search.values[i])
    return (reward + search.discount * plan_bound(sums, plans)) / len(states)


def prepare(tree: Tree, search: Search) -> None:
    """Compile, so that no decision has to."""
    rows = np.zeros((1, tree.states.shape[1]))
    recheck.prepare(tree, search, rows, rows, np.zeros(1, np.int64), 0.0, np.zeros(1))


def best_in_many(tree: Tree, search: Search, states: Rows, weights: Weights, deadline: float) -> int:
    """The action node of the root that is best once the best are weighed again."""
    first, count = int(tree.first_action[0]), int(tree.n_actions[0])
    order = first + np.argsort(-tree.action_lower[first : first + count], kind="stable")
    some = np.ascontiguousarray(states[indices(weights, PARTICLES, stream(search.seed, "recheck"))])
    out = np.zeros(len(order))
    done = int(recheck(tree, search, some, np.zeros((CHUNK, some.shape[1])), order, deadline, out))
    return int(order[np.argmax(out[:done])]) if done else int(order[0])
