"""POMCPOW: tree search with progressive widening and weighted beliefs, for continuous observations and actions
(Sunberg and Kochenderfer, 2018)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.compiler.kernels import Kernel
from airoas.errors import OptionError
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.lists import lists_layout, new_lists, place_of
from airoas.planners.visits.rollout import Estimate, find_estimate, find_table
from airoas.planners.visits.root import Root
from airoas.planners.visits.search import BAD_LIKELIHOOD, FINE, NO_ACTION, Limits, VisitPlanner, search_by
from airoas.planners.visits.tree import (
    ACTION,
    ACTION_VISITS,
    NONE,
    ROOT,
    STEPS,
    back_up,
    choose_by_ucb,
    new_path,
    new_tree,
    note_step,
    tree_layout,
)
from airoas.planners.visits.widening import (
    SIGHT_BYTES,
    Search,
    bytes_used,
    draw_kept,
    history_bytes,
    is_narrow,
    keep,
    kept_bytes,
    see,
    widen_continuous,
    widen_discrete,
    widened_bytes,
)

_ALL = {"iterations": 20_000, "max_depth": 100, "c": 10.0, "estimate": "random"}
_FEW = {**_ALL, "k_observation": 4.0, "alpha_observation": 0.03}
PAPER: dict[str, dict[str, Any]] = {
    "light-dark": _FEW,
    "tag": _FEW,
    "laser-tag": {**_FEW, "widen_actions": False, "check_repeat_observation": False, "final_action": "visits"},
    "rock-sample": {**_ALL, "k_observation": 1.0, "alpha_observation": 1.0, "widen_actions": False},
}
"""The settings of the AIROAS paper by family of domains, `POMCPOW(**PAPER["tag"])`. What it leaves open (action widening, repeats,
the final action) is as in the AdaOPS authors' scripts; the estimate is the package's."""


@dataclass(frozen=True)
class POMCPOW(VisitPlanner):
    """Lets a history have few actions and an action few observations, more as they are visited; each history keeps the states
    that led to it, weighted by the likelihood of its observation."""

    max_depth: int = 100
    """Steps ahead, those of rollouts included; fewer where `epsilon` says so."""
    epsilon: float = 0.01
    """Steps whose rewards are discounted below this are not looked at; 0 for all up to `max_depth`."""
    k_observation: float = 10.0
    """An action gets a new observation while it has at most k N(ha)^alpha of them; k = alpha = 1 is no limit."""
    alpha_observation: float = 0.5
    k_action: float = 10.0
    """A history gets a new random action while it has at most k N(h)^alpha of them."""
    alpha_action: float = 0.5
    widen_actions: bool = True
    """Off: every legal action from the first visit on. Continuous actions need it on."""
    check_repeat_observation: bool = True
    """Whether an observation equal to an earlier one leads to the same history."""
    check_repeat_action: bool = True
    """Whether an action equal to an earlier one is not added again."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("observation", "action"):
            k, alpha = getattr(self, f"k_{name}"), getattr(self, f"alpha_{name}")
            if not 0.0 < k < math.inf:
                raise OptionError(f"k_{name} is {k}", "choose a number above 0; 10 is the default.")
            if not 0.0 <= alpha <= 1.0:
                raise OptionError(f"alpha_{name} is {alpha}", "choose it from 0 (never more) to 1; 0.5 is the default.")
        if not 0.0 <= self.epsilon < 1.0:
            raise OptionError(f"epsilon is {self.epsilon}", "choose it below 1; 0.01 is the default, 0 switches it off.")

    def horizon(self, model: Any) -> int:
        """How many steps ahead the search looks: max_depth, or ceil(ln epsilon / ln discount) if that is less."""
        if self.epsilon == 0.0 or model.discount >= 1.0:
            return self.max_depth
        return max(1, min(self.max_depth, math.ceil(math.log(self.epsilon) / math.log(model.discount))))

    def search(self, model: Any) -> Kernel:
        if model.n_actions == 0 and not self.widen_actions:
            remedy = "leave widen_actions=True."
            raise OptionError(f"{type(model).__name__} has continuous actions, which cannot all be listed", remedy)
        return search_by(_simulation(find_estimate(model, self.estimate), model.n_actions == 0), bytes_used)

    def layout(self, model: Any, memory: int) -> Layout:
        # A simulation can double what its lists have been given, so that room for twice the memory is reserved.
        n, m = 2 + memory // history_bytes(model), 2 + memory // widened_bytes(model) + max(model.n_actions, 1) + self.max_depth
        kept, sights = (2 * (memory // size) + 2 * self.max_depth + 2 for size in (kept_bytes(model), SIGHT_BYTES))
        return (
            *tree_layout(model, n, m),
            ("offsets", "float64", (n,)),
            *lists_layout("kept", n, kept),
            ("states", "float64", (kept, len(model.shapes.state.kinds))),
            ("rewards", "float64", (kept,)),
            ("upto", "float64", (kept,)),
            ("widths", "int32", (m,)),
            *lists_layout("sights", m, sights),
            ("seen", "int32", (sights,)),
        )

    def open(self, model: Any, root: Root, limits: Limits, block: Block) -> Search:
        columns = {name: block.arrays[name] for name in ("offsets", "states", "rewards", "upto", "widths", "seen")}
        return Search(
            tree=new_tree(block),
            path=new_path(self.max_depth),
            root=root,
            limits=limits,
            table=find_table(model, find_estimate(model, self.estimate)),
            sizes=np.array([history_bytes(model), widened_bytes(model), kept_bytes(model), SIGHT_BYTES]),
            kept=new_lists("kept", block),
            sights=new_lists("sights", block),
            **columns,
            max_depth=self.horizon(model),
            c=float(self.c),
            k_observation=float(self.k_observation),
            alpha_observation=float(self.alpha_observation),
            k_action=float(self.k_action),
            alpha_action=float(self.alpha_action),
            widen_actions=bool(self.widen_actions),
            check_observation=bool(self.check_repeat_observation),
            check_action=bool(self.check_repeat_action),
        )


@functools.cache
def _simulation(estimate: Estimate, continuous: bool) -> Any:
    widen = widen_continuous if continuous else widen_discrete

    def simulate(model: Any, work: Search, s: Any, rng: Any) -> int:
        """One simulation from the root, down to a history that is new; FINE, or what is wrong with the model.

        Paper: Sunberg and Kochenderfer, Alg. 2 (POMCPOW).
        """
        tree, path = work.tree, work.path
        node, depth, value = ROOT, 0, 0.0
        while depth < work.max_depth and not model.is_terminal(s):
            if not widen(model, work, node, s, rng):
                return NO_ACTION
            action = choose_by_ucb(tree, node, work.c, math.inf, rng)
            a = model.read_action(tree.labels, action)
            s, reward = model.step(s, a, rng)
            tree.counts[STEPS] += 1
            child, new = NONE, False
            if is_narrow(work.widths[action], work.k_observation, tree.actions[action * ACTION + ACTION_VISITS], work.alpha_observation):
                child, new = see(model, work, action, model.observe(s, a, rng), depth + 1)
            if not new:
                # Drawn again even where the observation was seen before: in proportion to how often each was.
                child = work.seen[place_of(work.sights, action, rng.integer(work.sights.size[action]))]
            if not keep(model, work, child, a, s, reward):
                return BAD_LIKELIHOOD
            if not new:
                place = draw_kept(work, child, rng)
                s, reward = model.read_state(work.states, place), work.rewards[place]
            note_step(path, depth, node, action, reward)
            depth += 1
            if new:
                value, steps = estimate(model, work.table, s, work.max_depth - depth, rng)
                tree.counts[STEPS] += steps
                break
            node = child
        back_up(tree, path, depth, value, model.discount)
        return FINE

    return simulate
