"""AR-DESPOT: anytime regularised search in a determinised sparse tree (Somani et al., 2013; Ye et al., 2017).

K scenarios, each a start state and a random stream that is replayed whatever is tried, stand for the belief. A node holds
the scenarios that have seen its observations; the values of its bounds are scaled by its fraction of scenarios and the discount,
as the root sees them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.bounds import Bounds
from airoas.compiler.kernels import Kernel, Record, kernel
from airoas.compiler.specialise import noinline
from airoas.errors import OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows, are_equal
from airoas.planners.bounded.leaves import add_values, clear, find_legal, plan_bound, upper_bound
from airoas.planners.bounded.search import CHUNK, Search, make_search
from airoas.planners.bounded.session import BoundedPlanner
from airoas.planners.bounded.tree import (
    BAD_REWARD,
    DEADLINE,
    MEMORY,
    NO_ACTION,
    OK,
    Tree,
    add_action,
    add_node,
    best_action,
    has_capacity,
    is_bad,
    is_late,
    must_end,
    record_crossing,
    search_by,
    set_action_bounds,
    set_actions,
    set_bounds,
    set_children,
    set_unregularised,
)
from airoas.planners.bounded.view import BeliefTree
from airoas.rng import hash_key

_FEWEST, _SCENARIOS = 20, 500


@dataclass(frozen=True)
class ARDESPOT(BoundedPlanner):
    """AR-DESPOT as in its public implementation, the lower bound of the default policy in value form.

    Differs: the root is expanded before the clock is looked at, so that there is always an action to answer.
    """

    scenarios: int | None = None
    """K. None: 500, or fewer where the root's actions would take more than a tenth of the `seconds`; the notes then say how many."""
    regularisation: float = 0.01
    """lambda: what a node of the policy tree costs."""
    gap: float = 0.0

    LIMITED_BY_TIME = "scenarios"
    SEARCH_SPACE = {"scenarios": ("int", 20, 2000, "log"), "regularisation": ("float", 1e-4, 1.0, "log"), "gap_ratio": ("float", 0.3, 0.99)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scenarios is not None and self.scenarios < 1:
            raise OptionError(f"scenarios is {self.scenarios}", "use at least 1, or None.")
        if not 0.0 <= self.regularisation < math.inf:
            raise OptionError(f"regularisation is {self.regularisation}", "use 0 or more; 0.01 is the default.")

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        return None if model.n_actions else "ARDESPOT needs a finite set of actions; AIROAS and POMCPOW plan with continuous ones"

    def particles_at_root(self, model: KernelModel, belief: Particles) -> int:
        return _SCENARIOS if self.scenarios is None else self.scenarios

    def follows_time(self) -> tuple[int, int] | None:
        return (_FEWEST, 1) if self.scenarios is None else None

    def make_search(self, model: KernelModel, bounds: Bounds) -> Scenarios:
        most = _SCENARIOS if self.scenarios is None else self.scenarios
        search = make_search(model, bounds, most, most, 0.0, False, weighs=False)
        return Scenarios(
            search=search,
            sums=np.zeros((most, bounds.width)),
            after=np.zeros((most, model.shapes.state.size)),
            groups=np.zeros(most, np.int64),
            counts=np.zeros(most, np.int64),
            regularisation=float(self.regularisation),
            allowed=search.allowed,
            seed=0,
            enumerates=False,
        )

    def kernel(self) -> Kernel:
        return plan

    def view(self, model: KernelModel, tree: Tree) -> BeliefTree:
        return BeliefTree(model, tree, weighted=False)


class Scenarios(Record):
    """What the search works with. A node's particles are scenarios: the column `weights` holds their numbers."""

    search: Search
    sums: Matrix
    """[scenarios, K + M] of the bounds' values, for each observation."""
    after: Rows
    """[scenarios, .] where a step led them."""
    groups: Indices
    """[scenarios] which observation a scenario has; -1 where it has ended."""
    counts: Indices
    """[scenarios] how many have each observation."""
    regularisation: float
    allowed: Mask
    seed: int
    enumerates: bool


def scale(tree: Tree, b: int, discount: float) -> float:
    """What a value at the node counts at the root: fraction of scenarios times discount^depth."""
    return float(tree.n_particles[b] / tree.n_particles[0] * math.pow(discount, float(tree.depth[b])))


def excess(tree: Tree, b: int) -> float:
    """EU(b) = mu - l - fraction xi (mu_root - l_root). A root whose bounds have met but for rounding allows nothing more."""
    fraction = tree.n_particles[b] / tree.n_particles[0]
    gap: float = max(0.0, tree.upper[0] - tree.lower[0])
    return float(tree.upper[b] - tree.lower[b] - fraction * tree.gap_ratio * gap)


def most_excessive(tree: Tree, ba: int) -> int:
    """The child of the largest excess uncertainty; -1 where there is no child."""
    best = -1
    for c in range(tree.first_child[ba], tree.first_child[ba] + tree.n_children[ba]):
        if best < 0 or excess(tree, c) > excess(tree, best):
            best = c
    return int(best)


@noinline
def backup(tree: Tree, b: int, lower: float, upper: float, plain: float, discount: float) -> None:
    """Carry the change of a node's bounds, which were these, up to the root."""
    while b > 0:
        ba = tree.parent[b]
        risen, fallen = tree.lower[b] - lower, tree.upper[b] - upper
        action_plain = tree.action_unregularised[ba] + discount * tree.probability[b] * (tree.unregularised[b] - plain)
        b = tree.node[ba]
        lower, upper, plain = tree.lower[b], tree.upper[b], tree.unregularised[b]
        set_action_bounds(tree, ba, tree.action_lower[ba] + risen, tree.action_upper[ba] + fallen)
        set_unregularised(tree, b, ba, plain, action_plain)
        refresh_bounds(tree, b)


def refresh_bounds(tree: Tree, b: int) -> None:
    """Bounds of a node from those of its actions, never below the default policy's."""
    lower = upper = tree.default[b]
    plain = -math.inf
    first = tree.first_action[b]
    for ba in range(first, first + tree.n_actions[b]):
        lower = max(lower, tree.action_lower[ba])
        upper = max(upper, tree.action_upper[ba])
        plain = max(plain, tree.action_unregularised[ba])
    set_bounds(tree, b, lower, upper)
    set_unregularised(tree, b, first, plain, tree.action_unregularised[first])


def end_at_default(tree: Tree, b: int, discount: float) -> None:
    """Give a node up: the default policy is followed there."""
    lower, upper = tree.lower[b], tree.upper[b]
    set_bounds(tree, b, tree.default[b], tree.default[b])
    backup(tree, b, lower, upper, tree.unregularised[b], discount)


def is_blocked(tree: Tree, x: int, regularisation: float, discount: float) -> bool:
    """Whether an ancestor's default policy cannot be beaten by enough to pay for the nodes down to x."""
    edges = 1
    b = tree.node[tree.parent[x]]
    while b > 0:
        if scale(tree, b, discount) * tree.unregularised[b] - tree.default[b] <= regularisation * edges:
            return True
        b = tree.node[tree.parent[b]]
        edges += 1
    return False


def prune(tree: Tree, b: int, regularisation: float, discount: float) -> bool:
    """Give up the node, and its ancestors in turn, as long as one is blocked; whether any was."""
    pruned = False
    while b > 0 and is_blocked(tree, b, regularisation, discount):
        end_at_default(tree, b, discount)
        pruned = True
        b = tree.node[tree.parent[b]]
    return pruned


def set_first_bounds(tree: Tree, search: Scenarios, c: int, sums: Reals) -> None:
    """First bounds of a node from the sums over its scenarios."""
    size, plans = tree.n_particles[c], len(search.search.first_actions)
    lower, upper = plan_bound(sums, plans) / size, upper_bound(sums, plans) / size
    weight = scale(tree, c, search.search.discount)
    record_crossing(tree, weight * (lower - upper))
    upper = max(lower, upper)
    tree.default[c] = tree.lower[c] = weight * lower
    tree.upper[c] = max(weight * lower, weight * upper - search.regularisation)
    tree.unregularised[c] = upper


@noinline
def simulate_scenarios(tree: Tree, search: Scenarios, ba: int) -> tuple[int, float]:
    """Run every scenario of a node one step: groups of equal observations (-1 where time is up), and the sum of rewards."""
    b, workspace = tree.node[ba], search.search
    first, size = tree.first_particle[b], tree.n_particles[b]
    states, numbers = tree.states[first : first + size], workspace.numbers[:size]
    for i in range(size):
        numbers[i] = int(tree.weights[first + i])
    seed, action = hash_key(search.seed, tree.depth[b], 0), tree.actions[ba : ba + 1]
    total = 0.0
    for begin in range(0, size, CHUNK):
        if b > 0 and begin > 0 and is_late(tree):
            return -1, 0.0
        end = min(begin + CHUNK, size)
        rows = search.after[begin:end], workspace.rewards[begin:end], workspace.arrived[begin:end]
        workspace.step(states[begin:end], workspace.alive[begin:end], action, seed, numbers[begin:end], *rows)
        workspace.evaluate(search.after[begin:end], workspace.arrived[begin:end], workspace.values[begin:end], 0)
        for i in range(begin, end):
            total += workspace.rewards[i]
    draws = 0
    for i in range(size):
        search.groups[i] = -1
        if workspace.arrived[i]:
            workspace.which[draws] = i
            workspace.chosen[draws] = numbers[i]
            draws += 1
    workspace.observe(search.after[:size], workspace.which[:draws], action, seed, workspace.chosen[:draws], workspace.drawn[:draws])
    groups = 0
    for j in range(draws):
        g = 0
        while g < groups and not are_equal(workspace.observations, g, workspace.drawn, j):
            g += 1
        if g == groups:
            for k in range(workspace.drawn.shape[1]):
                workspace.observations[g, k] = workspace.drawn[j, k]
            groups += 1
            search.counts[g] = 0
            clear(search.sums[g])
        i = workspace.which[j]
        search.groups[i] = g
        search.counts[g] += 1
        add_values(search.sums[g], 1.0, workspace.values[i])
    return groups, total


@noinline
def branch(tree: Tree, search: Scenarios, ba: int) -> int:
    b, workspace = tree.node[ba], search.search
    size = tree.n_particles[b]
    if not has_capacity(tree, size, 0, size):
        return MEMORY
    groups, total = simulate_scenarios(tree, search, ba)
    if groups < 0:
        return DEADLINE
    if is_bad(tree, b, tree.actions, ba, total / size):
        return BAD_REWARD
    first, row = tree.n_nodes, tree.n_rows
    for g in range(groups):
        c = add_node(tree, ba, tree.depth[b] + 1, search.counts[g] / size)
        for k in range(tree.observations.shape[1]):
            tree.observations[c, k] = workspace.observations[g, k]
        tree.first_particle[c], tree.n_particles[c] = row, search.counts[g]
        row += search.counts[g]
        set_first_bounds(tree, search, c, search.sums[g])
        search.counts[g] = 0
    for i in range(size):
        g = search.groups[i]
        if g >= 0:
            at = tree.first_particle[first + g] + search.counts[g]
            search.counts[g] += 1
            for k in range(tree.states.shape[1]):
                tree.states[at, k] = search.after[i, k]
            tree.weights[at] = tree.weights[tree.first_particle[b] + i]
    tree.n_rows = row
    rho = math.pow(workspace.discount, float(tree.depth[b])) * total / tree.n_particles[0] - search.regularisation
    lower = upper = rho
    plain = total / size
    for c in range(first, tree.n_nodes):
        lower += tree.lower[c]
        upper += tree.upper[c]
        plain += workspace.discount * tree.probability[c] * tree.unregularised[c]
    tree.reward[ba] = total / size
    set_children(tree, ba, first, tree.n_nodes - first)
    set_action_bounds(tree, ba, lower, upper)
    tree.action_unregularised[ba] = plain
    tree.n_expansions += 1
    return OK


@noinline
def expand(tree: Tree, search: Scenarios, b: int) -> int:
    workspace = search.search
    if not has_capacity(tree, 0, len(workspace.legal), 0):
        return MEMORY
    find_legal(tree, workspace, b)
    first = tree.n_action_nodes
    for a in range(len(workspace.legal)):
        if workspace.legal[a]:
            add_action(tree, b, workspace.candidates, a, 0.0, 0.0)
    count = tree.n_action_nodes - first
    set_actions(tree, b, first, count)
    if count == 0:
        return NO_ACTION
    for ba in range(first, first + count):
        if b > 0 and is_late(tree):
            return DEADLINE
        status = branch(tree, search, ba)
        if status != OK:
            return int(status)
    return OK


def trial(tree: Tree, search: Scenarios) -> int:
    b, discount = 0, search.search.discount
    while tree.depth[b] <= tree.max_depth and excess(tree, b) > 0.0 and not must_end(tree, b):
        if prune(tree, b, search.regularisation, discount):
            return OK
        if tree.first_action[b] < 0:
            lower, upper, plain = tree.lower[b], tree.upper[b], tree.unregularised[b]
            status = expand(tree, search, b)
            if status != OK:
                return int(status)
            refresh_bounds(tree, b)
            backup(tree, b, lower, upper, plain, discount)
        c = most_excessive(tree, best_action(tree, b))
        if c < 0:
            return OK
        b = c
    if tree.depth[b] > tree.max_depth:
        end_at_default(tree, b, discount)
    return OK


run = search_by(trial)


@kernel
def plan(tree: Tree, search: Scenarios) -> int:
    """The search; why it ended."""
    workspace, size = search.search, tree.n_particles[0]
    workspace.evaluate(tree.states[:size], workspace.alive[:size], workspace.values, 0)
    clear(search.sums[0])
    for i in range(size):
        tree.weights[i] = i
        add_values(search.sums[0], 1.0, workspace.values[i])
    set_first_bounds(tree, search, 0, search.sums[0])
    first = tree.upper[0]
    status = expand(tree, search, 0)
    if status != OK:
        return int(status)
    refresh_bounds(tree, 0)
    status = run(tree, search)
    record_crossing(tree, tree.lower[0] - first)  # upper bounds follow what is found below them, so that they never cross later
    return int(status)
