"""POMCP: Monte-Carlo tree search over histories, started from states of the belief (Silver and Veness, 2010)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airoas.belief.particles import Particles
from airoas.compiler.kernels import Kernel, Record
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.root import Root
from airoas.planners.visits.search import NO_ACTION, Budget, add_legal_actions, finish, is_late, make_budget, search_by, start
from airoas.planners.visits.session import VisitPlanner
from airoas.planners.visits.simulation import Functions, Simulation, bind_functions, make_simulation
from airoas.planners.visits.tree import (
    NONE,
    ROOT,
    VisitTree,
    add_child,
    choose_by_ucb,
    exploration,
    find_child,
    make_tree,
    pass_through,
    tree_bytes,
    tree_layout,
)
from airoas.rng import Rng

if TYPE_CHECKING:
    from airoas.planners.many import Decided

PAPER = {"iterations": 20_000, "max_depth": 100, "c": 1.0, "estimate": "random"}
"""The settings of the AIROAS paper for every domain, `POMCP(**PAPER)`; c and the estimate, which it does not give, are the package's."""


@dataclass(frozen=True)
class POMCP(VisitPlanner):
    """Branches on every observation that differs, and tries actions by UCB1. Continuous observations give a tree of one level:
    use POMCPOW."""

    SEARCH_SPACE = {"c": ("float", 0.1, 300.0, "log"), "max_depth": ("int", 5, 100, "log"), "estimate": ("choice", ("rollout", "random"))}

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        return None if model.n_actions else "it has continuous actions, which POMCP cannot list; use POMCPOW"

    def plan_many(self, model: Any, beliefs: Sequence[Particles], rngs: Sequence[Rng]) -> Decided:
        """What `plan` decides for each belief with its stream, all at once on a GPU, where a thread grows a tree. The budget is
        `iterations`. See docs/gpu.md."""
        from airoas.compiler.device import device
        from airoas.planners.visits.many import plan_many

        return plan_many(device(), self, model, beliefs, rngs)

    def kernel(self) -> Kernel:
        return search_by(run_simulation, bytes_used)

    def layout(self, model: KernelModel, memory: int) -> Layout:
        return tree_layout(model, memory, self.max_depth)

    def make_search(self, model: KernelModel, block: Block) -> PomcpSearch:
        tree = make_tree(model, block)
        simulation = make_simulation(model, tree, self.estimate)
        return PomcpSearch(
            tree=tree,
            simulation=simulation,
            functions=bind_functions(model, simulation, self.estimate),
            budget=make_budget(),
            max_depth=self.max_depth,
            c=self.exploration(),
        )


class PomcpSearch(Record):
    """What one search works with."""

    tree: VisitTree
    simulation: Simulation
    functions: Functions
    budget: Budget
    max_depth: int
    c: float


def bytes_used(search: PomcpSearch) -> int:
    return tree_bytes(search.tree)


def run_simulation(search: PomcpSearch, root: Root, rng: Rng) -> int:
    """One simulation from the root: down the tree by UCB1 to a history that is new, an estimate there, and back up. FINE, or
    what is wrong with the model.

    Paper: Silver and Veness, Alg. 1. Differs: the actions of a history are listed at its first visit rather than when it is
    made, for most are never visited; its first visitor has the same distribution as the state that made it. Nothing is
    observed in a terminal state.
    """
    tree, simulation, functions = search.tree, search.simulation, search.functions
    max_depth, c = search.max_depth, exploration(tree, search.c)
    start(root, simulation, rng)
    history, depth, value = ROOT, 0, 0.0
    while depth < max_depth:
        if tree.histories[history].newest == NONE and not add_legal_actions(tree, history, root, functions, simulation):
            return NO_ACTION
        # With one visit or none the bonus is not defined: an action not yet tried then counts as its V, which is 0.
        action = choose_by_ucb(tree, history, c, math.inf if tree.histories[history].visits > 1 else 0.0, rng)
        goes_on = functions.step(simulation, action, tree.n_histories, rng)
        pass_through(tree, depth, history, action, simulation.reward)
        depth += 1
        if not goes_on or is_late(simulation, depth):
            break
        history = find_child(tree, action)
        if history == NONE:
            add_child(tree, depth)
            value = functions.estimate(simulation, max_depth - depth, rng)
            break
    return finish(tree, simulation, depth, value, functions.discount)
