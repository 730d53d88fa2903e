"""AR-DESPOT: anytime regularised search in a determinised sparse tree (Somani et al., 2013; Ye et al., 2017).

K scenarios, each a start state and a stream of chance that is replayed whatever is tried, stand for the belief. A node holds
the scenarios that have seen its observations; the values of its bounds are scaled by its share of scenarios and the discount,
as the root sees them.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.bounds import Bounds
from airoas.compiler.kernels import Kernel, Record, kernel
from airoas.compiler.specialise import apart
from airoas.errors import OptionError
from airoas.planners.bounded.expansion import same_row
from airoas.planners.bounded.leaves import LOOK, add_values, is_legal, plan_bound, upper_bound
from airoas.planners.bounded.session import BoundedPlanner
from airoas.planners.bounded.tree import (
    BRANCHES,
    DEADLINE,
    EXPANSIONS,
    MEMORY,
    MOST_DEPTH,
    NO_ACTION,
    NODES,
    OK,
    RATIO,
    ROWS,
    Tree,
    add_action,
    add_node,
    best_action,
    cross,
    has_room,
    is_late,
    must_end,
    search_by,
    set_action_bounds,
    set_bounds,
    set_children,
    set_first,
    set_plain,
)
from airoas.planners.bounded.view import BeliefTree


@dataclass(frozen=True)
class ARDESPOT(BoundedPlanner):
    """AR-DESPOT as in its public implementation, the lower bound of the default policy in value form.

    Differs: the root is expanded before the clock is looked at, so that there is always an action to answer.
    """

    scenarios: int = 500
    """K"""
    regularisation: float = 0.01
    """lambda: what a node of the policy tree costs."""
    gap: float = 0.0

    SEARCH_SPACE = {"scenarios": ("int", 20, 2000, "log"), "regularisation": ("float", 1e-4, 1.0, "log"), "gap_ratio": ("float", 0.3, 0.99)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scenarios < 1:
            raise OptionError(f"scenarios is {self.scenarios}", "use at least 1; 500 is the default.")
        if not 0.0 <= self.regularisation < math.inf:
            raise OptionError(f"regularisation is {self.regularisation}", "use 0 or more; 0.01 is the default.")

    def particles_at_root(self, model: Any, belief: Particles) -> int:
        return self.scenarios

    def make_work(self, model: Any, bounds: Bounds) -> Scenarios:
        width = len(bounds.first_actions) + (model.n_actions if bounds.by_action else 1)
        return Scenarios(
            bounds=bounds.data,
            values=np.zeros(width),
            sums=np.zeros((self.scenarios, width)),
            states=np.zeros((self.scenarios, len(model.shapes.state.kinds))),
            observations=np.zeros((self.scenarios + 1, len(model.shapes.observation.kinds))),
            groups=np.zeros(self.scenarios, np.int64),
            counts=np.zeros(self.scenarios, np.int64),
            seed=np.zeros(1, np.int64),
            allowed=np.ones(model.n_actions, np.bool_),
            plans=len(bounds.first_actions),
            regularisation=float(self.regularisation),
        )

    def search_kernel(self, model: Any, bounds: Bounds) -> Kernel:
        return ardespot_by(bounds.evaluate)

    def view(self, model: Any, tree: Tree) -> BeliefTree:
        return BeliefTree(model, tree, weighted=False)


class Scenarios(Record):
    """What the search works in. A node's particles are scenarios: the column `weights` holds their numbers."""

    bounds: Any
    values: Any
    """[K + M] lower and upper values of one state."""
    sums: Any
    """[scenarios, K + M] their sums, for each observation."""
    states: Any
    """[scenarios, .]"""
    observations: Any
    """[scenarios, .] one of each group of equal ones."""
    groups: Any
    """[scenarios] which group a scenario is in; -1 where it has ended."""
    counts: Any
    """[scenarios] how many are in each group."""
    seed: Any
    allowed: Any
    plans: int
    regularisation: float


def scale(tree: Tree, b: int, discount: float) -> float:
    """What a value at the node counts at the root: share of scenarios times discount^depth."""
    return float(tree.size[b] / tree.size[0] * math.pow(discount, float(tree.depth[b])))


def excess(tree: Tree, b: int) -> float:
    """EU(b) = mu - l - share xi (mu_root - l_root). A root whose bounds have met but for rounding allows nothing more."""
    share = tree.size[b] / tree.size[0]
    gap: float = max(0.0, tree.upper[0] - tree.lower[0])
    return float(tree.upper[b] - tree.lower[b] - share * tree.limits[RATIO] * gap)


def most_excessive(tree: Tree, ba: int) -> int:
    """The child of the largest excess uncertainty; -1 where there is no child."""
    best = -1
    for c in range(tree.child[ba], tree.child[ba] + tree.children[ba]):
        if best < 0 or excess(tree, c) > excess(tree, best):
            best = c
    return int(best)


@apart
def backup(tree: Tree, b: int, lower: float, upper: float, plain: float, discount: float) -> None:
    """Carry the change of a node's bounds, which were these, up to the root."""
    while b > 0:
        ba = tree.parent[b]
        risen, fallen = tree.lower[b] - lower, tree.upper[b] - upper
        action_plain = tree.action_plain[ba] + discount * tree.chance[b] * (tree.plain[b] - plain)
        b = tree.above[ba]
        lower, upper, plain = tree.lower[b], tree.upper[b], tree.plain[b]
        set_action_bounds(tree, ba, tree.action_lower[ba] + risen, tree.action_upper[ba] + fallen)
        set_plain(tree, b, ba, plain, action_plain)
        take_actions(tree, b)


def take_actions(tree: Tree, b: int) -> None:
    """Bounds of a node from those of its actions, never below the default policy's."""
    lower = upper = tree.default[b]
    plain = -math.inf
    for ba in range(tree.first[b], tree.first[b] + tree.width[b]):
        lower = max(lower, tree.action_lower[ba])
        upper = max(upper, tree.action_upper[ba])
        plain = max(plain, tree.action_plain[ba])
    set_bounds(tree, b, lower, upper)
    set_plain(tree, b, tree.first[b], plain, tree.action_plain[tree.first[b]])


def close_at_default(tree: Tree, b: int, discount: float) -> None:
    """Give a node up: the default policy is followed there."""
    lower, upper = tree.lower[b], tree.upper[b]
    set_bounds(tree, b, tree.default[b], tree.default[b])
    backup(tree, b, lower, upper, tree.plain[b], discount)


def is_blocked(tree: Tree, x: int, regularisation: float, discount: float) -> bool:
    """Whether an ancestor's default policy cannot be beaten by enough to pay for the nodes down to x."""
    edges = 1
    b = tree.above[tree.parent[x]]
    while b > 0:
        if scale(tree, b, discount) * tree.plain[b] - tree.default[b] <= regularisation * edges:
            return True
        b = tree.above[tree.parent[b]]
        edges += 1
    return False


def prune(tree: Tree, b: int, regularisation: float, discount: float) -> bool:
    """Give up the node, and its ancestors in turn, as long as one is blocked; whether any was."""
    pruned = False
    while b > 0 and is_blocked(tree, b, regularisation, discount):
        close_at_default(tree, b, discount)
        pruned = True
        b = tree.above[tree.parent[b]]
    return pruned


@functools.cache
def ardespot_by(evaluate: Any) -> Kernel:
    """The search as a kernel, for a kind of bounds."""

    def bound(tree: Tree, work: Scenarios, c: int, sums: Any, discount: float) -> None:
        """First bounds of a node from the sums over its scenarios."""
        size = tree.size[c]
        lower, upper = plan_bound(sums, work.plans) / size, upper_bound(sums, work.plans) / size
        share = scale(tree, c, discount)
        cross(tree, share * (lower - upper))
        upper = max(lower, upper)
        tree.default[c] = tree.lower[c] = share * lower
        tree.upper[c] = max(share * lower, share * upper - work.regularisation)
        tree.plain[c] = upper

    def simulate(model: Any, tree: Tree, work: Scenarios, b: int, a: int, rng: Any) -> tuple[int, float]:
        """Run every scenario of a node one step: groups of equal observations (-1 where time is up), and the sum of rewards."""
        groups, total, size = 0, 0.0, tree.size[b]
        width = len(work.values)
        for i in range(size):
            if b > 0 and i % LOOK == LOOK - 1 and is_late(tree):
                return -1, 0.0
            row = tree.place[b] + i
            rng.reseed(work.seed[0], int(tree.weights[row]), tree.depth[b])
            s, r = model.step(model.read_state(tree.states, row), a, rng)
            total += r
            work.groups[i] = -1
            model.write_state(work.states, i, s)
            if not model.is_terminal(s):
                model.write_observation(work.observations, groups, model.observe(s, a, rng))
                g = 0
                while g < groups and not same_row(work.observations, g, groups):
                    g += 1
                if g == groups:
                    groups += 1
                    work.counts[g] = 0
                    for j in range(width):
                        work.sums[g, j] = 0.0
                work.groups[i] = g
                work.counts[g] += 1
                evaluate(model, work.bounds, s, rng, work.values, 0)
                add_values(work.sums[g], 1.0, work.values, 0)
        return groups, total

    @apart
    def branch(model: Any, tree: Tree, work: Scenarios, ba: int, rng: Any) -> int:
        b, a = tree.above[ba], int(tree.action[ba])
        size = tree.size[b]
        if not has_room(tree, size, 0, size):
            return MEMORY
        groups, total = simulate(model, tree, work, b, a, rng.local())
        if groups < 0:
            return DEADLINE
        first, row = tree.counts[NODES], tree.counts[ROWS]
        for g in range(groups):
            c = add_node(tree, ba, tree.depth[b] + 1, work.counts[g] / size, 0.0, 0.0)
            for k in range(tree.observations.shape[1]):
                tree.observations[c, k] = work.observations[g, k]
            tree.place[c], tree.size[c] = row, work.counts[g]
            row += work.counts[g]
            bound(tree, work, c, work.sums[g], model.discount)
            work.counts[g] = 0
        for i in range(size):
            if work.groups[i] >= 0:
                c = first + work.groups[i]
                place = tree.place[c] + work.counts[work.groups[i]]
                work.counts[work.groups[i]] += 1
                for k in range(tree.states.shape[1]):
                    tree.states[place, k] = work.states[i, k]
                tree.weights[place] = tree.weights[tree.place[b] + i]
        tree.counts[ROWS] = row
        rho = math.pow(model.discount, float(tree.depth[b])) * total / tree.size[0] - work.regularisation
        lower = upper = rho
        plain = total / size
        for c in range(first, tree.counts[NODES]):
            lower += tree.lower[c]
            upper += tree.upper[c]
            plain += model.discount * tree.chance[c] * tree.plain[c]
        tree.reward[ba] = total / size
        set_children(tree, ba, first, tree.counts[NODES] - first)
        set_action_bounds(tree, ba, lower, upper)
        tree.action_plain[ba] = plain
        tree.counts[EXPANSIONS] += 1
        return OK

    @apart
    def expand(model: Any, tree: Tree, work: Scenarios, b: int, rng: Any) -> int:
        if not has_room(tree, 0, model.n_actions, 0):
            return MEMORY
        first, count = tree.counts[BRANCHES], 0
        for a in range(model.n_actions):
            if is_legal(model, tree, work.allowed, b, a):
                add_action(tree, b, a, 0.0, 0.0)
                count += 1
        set_first(tree, b, first, count)
        if count == 0:
            return NO_ACTION
        for ba in range(first, first + count):
            if b > 0 and is_late(tree):
                return DEADLINE
            status = branch(model, tree, work, ba, rng)
            if status != OK:
                return int(status)
        return OK

    def trial(model: Any, tree: Tree, work: Scenarios, rng: Any) -> int:
        b = 0
        while tree.depth[b] <= tree.limits[MOST_DEPTH] and excess(tree, b) > 0.0 and not must_end(tree, b):
            if prune(tree, b, work.regularisation, model.discount):
                return OK
            if tree.first[b] < 0:
                lower, upper, plain = tree.lower[b], tree.upper[b], tree.plain[b]
                status = expand(model, tree, work, b, rng)
                if status != OK:
                    return int(status)
                take_actions(tree, b)
                backup(tree, b, lower, upper, plain, model.discount)
            c = most_excessive(tree, best_action(tree, b))
            if c < 0:
                return OK
            b = c
        if tree.depth[b] > tree.limits[MOST_DEPTH]:
            close_at_default(tree, b, model.discount)
        return OK

    search = search_by(trial)

    def plan(model: Any, tree: Tree, work: Scenarios, rng: Any) -> int:
        width = len(work.values)
        for j in range(width):
            work.sums[0, j] = 0.0
        own = rng.local()
        for i in range(tree.size[0]):
            tree.weights[i] = i
            own.reseed(work.seed[0], i, 0)
            evaluate(model, work.bounds, model.read_state(tree.states, i), own, work.values, 0)
            add_values(work.sums[0], 1.0, work.values, 0)
        bound(tree, work, 0, work.sums[0], model.discount)
        first = tree.upper[0]
        status = expand(model, tree, work, 0, rng)
        if status != OK:
            return int(status)
        take_actions(tree, 0)
        status = search(model, tree, work, rng)
        cross(tree, tree.lower[0] - first)  # upper bounds follow what is found below them, so that they never cross later
        return int(status)

    return kernel(plan)
