"""POMCP: Monte-Carlo tree search over histories, started from states of the belief (Silver and Veness, 2010)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from airoas.compiler.kernels import Kernel, Record
from airoas.errors import OptionError
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.lookup import SLOT_BYTES, slots_touched
from airoas.planners.visits.rollout import Estimate, find_estimate, find_table
from airoas.planners.visits.root import Root
from airoas.planners.visits.search import FINE, NO_ACTION, Limits, VisitPlanner, search_by
from airoas.planners.visits.tree import (
    ACTIONS,
    FIRST,
    NODE,
    NODES,
    NONE,
    ROOT,
    STEPS,
    VISITS,
    Path,
    VisitTree,
    action_bytes,
    add_child,
    add_legal_actions,
    back_up,
    choose_by_ucb,
    find_child,
    new_path,
    new_tree,
    node_bytes,
    note_step,
    tree_layout,
)

PAPER = {"iterations": 20_000, "max_depth": 100, "c": 1.0, "estimate": "random"}
"""The settings of the AIROAS paper for every domain, `POMCP(**PAPER)`; c and the estimate, which it does not give, are the package's."""


@dataclass(frozen=True)
class POMCP(VisitPlanner):
    """Branches on every observation that differs, and tries actions by UCB1. Continuous observations give a tree of one level:
    use POMCPOW."""

    def search(self, model: Any) -> Kernel:
        if model.n_actions == 0:
            raise OptionError(f"{type(model).__name__} has continuous actions, which POMCP cannot list", "use POMCPOW.")
        return search_by(_simulation(find_estimate(model, self.estimate)), bytes_used)

    def layout(self, model: Any, memory: int) -> Layout:
        return tree_layout(model, 2 + memory // node_bytes(model), 2 + memory // action_bytes(model) + model.n_actions)

    def open(self, model: Any, root: Root, limits: Limits, block: Block) -> Search:
        return Search(
            tree=new_tree(block),
            path=new_path(self.max_depth),
            root=root,
            limits=limits,
            table=find_table(model, find_estimate(model, self.estimate)),
            max_depth=self.max_depth,
            c=float(self.c),
            node_bytes=node_bytes(model),
            action_bytes=action_bytes(model),
        )


class Search(Record):
    """What one search works on."""

    tree: VisitTree
    path: Path
    root: Root
    limits: Limits
    table: Any
    """[S] values for `estimate`, or [1]."""
    max_depth: int
    c: float
    node_bytes: int
    action_bytes: int


def bytes_used(work: Search) -> int:
    used: int = work.tree.counts[NODES] * work.node_bytes + work.tree.counts[ACTIONS] * work.action_bytes
    return used + slots_touched(work.tree.lookup) * SLOT_BYTES


@functools.cache
def _simulation(estimate: Estimate) -> Any:
    def simulate(model: Any, work: Search, s: Any, rng: Any) -> int:
        """One simulation from the root: down the tree by UCB1 to a history that is new, an estimate there, and back up. FINE, or
        what is wrong with the model.

        Paper: Silver and Veness, Alg. 1. Differs: the actions of a history are listed at its first visit rather than when it
        is made, for most are never visited; its first visitor has the same distribution as the state that made it.
        """
        tree, path = work.tree, work.path
        node, depth, value = ROOT, 0, 0.0
        while depth < work.max_depth and not model.is_terminal(s):
            if tree.nodes[node * NODE + FIRST] == NONE and not add_legal_actions(model, tree, node, s, work.root.actions):
                return NO_ACTION
            # With one visit or none the bonus is not defined: an action not yet tried then counts as its V, which is 0.
            action = choose_by_ucb(tree, node, work.c, math.inf if tree.nodes[node * NODE + VISITS] > 1 else 0.0, rng)
            a = model.read_action(tree.labels, action)
            s, reward = model.step(s, a, rng)
            note_step(path, depth, node, action, reward)
            depth += 1
            tree.counts[STEPS] += 1
            node = find_child(model, tree, action, model.observe(s, a, rng))
            if node == NONE:
                add_child(tree, depth)
                value, steps = estimate(model, work.table, s, work.max_depth - depth, rng)
                tree.counts[STEPS] += steps
                break
        back_up(tree, path, depth, value, model.discount)
        return FINE

    return simulate
