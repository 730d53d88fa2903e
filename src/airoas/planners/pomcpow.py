"""POMCPOW: tree search with progressive widening and weighted beliefs, for continuous observations and actions
(Sunberg and Kochenderfer, 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from airoas.compiler.kernels import Bound, Kernel, Record
from airoas.errors import OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.spaces import Space, make_space
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.root import Root
from airoas.planners.visits.search import (
    BAD_LIKELIHOOD,
    NO_ACTION,
    Budget,
    add_legal_actions,
    finish,
    is_late,
    make_budget,
    search_by,
    start,
)
from airoas.planners.visits.session import VisitPlanner
from airoas.planners.visits.simulation import Functions, Simulation, bind_functions, bind_log_likelihood, bind_proposal, make_simulation
from airoas.planners.visits.tree import NONE, ROOT, VisitTree, choose_by_ucb, exploration, make_tree, pass_through, tree_bytes, tree_layout
from airoas.planners.visits.widening import (
    Widening,
    add_particle,
    add_unless_known,
    clear_widening,
    draw_child,
    draw_particle,
    follow,
    is_narrow,
    make_widening,
    split_best_cell,
    widening_bytes,
    widening_layout,
)
from airoas.rng import Rng

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


WIDENINGS = ("random", "voronoi")


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
    widening: str = "random"
    """Where a new continuous action comes from: "random" (the model's `sample_action`), or "voronoi" (VOMCPOW of Lim, Tomlin and
    Sunberg 2021): also from the cell about the best action so far, where no other is nearer. It needs `action_space`."""
    random_actions: float = 0.5
    """With "voronoi": the fraction of new actions that is random all the same (omega in the paper)."""
    cell_width: float = 0.1
    """With "voronoi": the standard deviation of draws about the best action, as a fraction of the box."""
    widen_actions: bool = True
    """Off: every legal action from the first visit on. Continuous actions need it on."""
    check_repeat_observation: bool = True
    """Whether an observation equal to an earlier one leads to the same history."""
    check_repeat_action: bool = True
    """Whether an action equal to an earlier one is not added again."""

    SEARCH_SPACE = {
        "c": ("float", 0.1, 300.0, "log"),
        "k_observation": ("float", 1.0, 30.0, "log"),
        "alpha_observation": ("float", 0.005, 0.5, "log"),
        "estimate": ("choice", ("rollout", "random")),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("observation", "action"):
            k, alpha = getattr(self, f"k_{name}"), getattr(self, f"alpha_{name}")
            if not 0.0 < k < math.inf:
                raise OptionError(f"k_{name} is {k}", "choose a number above 0; 10 is the default.")
            if not 0.0 <= alpha <= 1.0:
                raise OptionError(f"alpha_{name} is {alpha}", "choose it from 0 (never more) to 1; 0.5 is the default.")
        if self.widening not in WIDENINGS:
            raise OptionError(f"there is no widening={self.widening!r}", f"use {' or '.join(WIDENINGS)}.")
        if not 0.0 <= self.random_actions <= 1.0:
            raise OptionError(f"random_actions is {self.random_actions}", "choose a fraction from 0 to 1; 0.5 is the default.")
        if not 0.0 < self.cell_width < math.inf:
            raise OptionError(f"cell_width is {self.cell_width}", "choose a fraction of the box above 0; 0.1 is the default.")
        if not 0.0 <= self.epsilon < 1.0:
            raise OptionError(f"epsilon is {self.epsilon}", "choose it below 1; 0.01 is the default, 0 switches it off.")

    def horizon(self, model: KernelModel) -> int:
        """How many steps ahead the search looks: max_depth, or ceil(ln epsilon / ln discount) if that is less."""
        if self.epsilon == 0.0 or model.discount >= 1.0:
            return self.max_depth
        return max(1, min(self.max_depth, math.ceil(math.log(self.epsilon) / math.log(model.discount))))

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        if model.n_actions == 0 and not self.widen_actions:
            return "it has continuous actions, which cannot all be listed; leave widen_actions=True"
        if self.widening == "voronoi" and model.space is None:
            return "widening='voronoi' needs the limits of actions; write `action_space`"
        return None

    def kernel(self) -> Kernel:
        return search_by(run_simulation, bytes_used)

    def layout(self, model: KernelModel, memory: int) -> Layout:
        return (*tree_layout(model, memory, self.max_depth), *widening_layout(model, memory, self.max_depth))

    def make_search(self, model: KernelModel, block: Block) -> PomcpowSearch:
        tree = make_tree(model, block)
        simulation = make_simulation(model, tree, self.estimate)
        return PomcpowSearch(
            tree=tree,
            widening=make_widening(model, block),
            simulation=simulation,
            functions=bind_functions(model, simulation, self.estimate),
            propose=bind_proposal(model, simulation),
            log_likelihood=bind_log_likelihood(model, simulation),
            budget=make_budget(),
            max_depth=self.horizon(model),
            c=self.exploration(),
            k_observation=float(self.k_observation),
            alpha_observation=float(self.alpha_observation),
            k_action=float(self.k_action),
            alpha_action=float(self.alpha_action),
            space=make_space(model),
            random_actions=float(self.random_actions) if self.widening == "voronoi" else 1.0,
            cell_width=float(self.cell_width),
            widen_actions=bool(self.widen_actions),
            check_observation=bool(self.check_repeat_observation),
            check_action=bool(self.check_repeat_action),
        )

    def clear(self, search: PomcpowSearch) -> None:
        """Forget what an earlier search left."""
        super().clear(search)
        clear_widening(search.widening)


class PomcpowSearch(Record):
    """What one search works with."""

    tree: VisitTree
    widening: Widening
    simulation: Simulation
    functions: Functions
    propose: Bound
    log_likelihood: Bound
    budget: Budget
    max_depth: int
    c: float
    k_observation: float
    alpha_observation: float
    k_action: float
    alpha_action: float
    space: Space
    random_actions: float
    """1 where all of them are."""
    cell_width: float
    widen_actions: bool
    check_observation: bool
    check_action: bool


def bytes_used(search: PomcpowSearch) -> int:
    return tree_bytes(search.tree) + widening_bytes(search.widening, search.tree)


def widen(search: PomcpowSearch, root: Root, history: int, rng: Rng) -> bool:
    """Give a history what it may try: one more action by widening, or all of them at its first visit; whether there is any."""
    tree, simulation = search.tree, search.simulation
    node = tree.histories[history]
    if not search.widen_actions:
        return node.newest != NONE or add_legal_actions(tree, history, root, search.functions, simulation)
    if is_narrow(node.n_actions, search.k_action, node.visits, search.alpha_action):
        legal = True
        if search.random_actions < 1.0 and node.visits > 0 and rng.uniform() >= search.random_actions:
            split_best_cell(tree, search.space, history, search.cell_width, rng)
        elif history == ROOT and len(root.actions) > 0:
            tree.actions[tree.n_action_nodes, 0] = root.actions[rng.integer(len(root.actions))]
        else:
            legal = search.propose(simulation, tree.n_action_nodes, rng)
        if legal:
            add_unless_known(tree, history, search.check_action)
    return bool(node.newest != NONE)


def run_simulation(search: PomcpowSearch, root: Root, rng: Rng) -> int:
    """One simulation from the root, down to a history that is new; FINE, or what is wrong with the model.

    Paper: Sunberg and Kochenderfer, Alg. 2 (POMCPOW). Differs: nothing is observed in a terminal state, which is therefore in
    no history; its reward counts where it is drawn.
    """
    tree, widening, simulation, functions = search.tree, search.widening, search.simulation, search.functions
    max_depth, c = search.max_depth, exploration(tree, search.c)
    start(root, simulation, rng)
    history, depth, value = ROOT, 0, 0.0
    while depth < max_depth:
        if not widen(search, root, history, rng):
            return NO_ACTION
        action = choose_by_ucb(tree, history, c, math.inf, rng)
        node = tree.action_nodes[action]
        observes = is_narrow(node.n_children, search.k_observation, node.visits, search.alpha_observation)
        goes_on = functions.step(simulation, action, tree.n_histories if observes else NONE, rng)
        child, new = NONE, False
        if goes_on:
            if observes:
                child, new = follow(tree, widening, action, search.check_observation, depth + 1)
            if not new:  # drawn even where the observation was made before: in proportion to how often each was
                child = draw_child(widening, action, rng)
            if not add_particle(widening, simulation, child, search.log_likelihood(simulation, action, child)):
                return BAD_LIKELIHOOD
            if not new:
                draw_particle(widening, simulation, child, rng)
        pass_through(tree, depth, history, action, simulation.reward)
        depth += 1
        if new:
            value = functions.estimate(simulation, max_depth - depth, rng)
        if new or not goes_on or is_late(simulation, depth):
            break
        history = child
    return finish(tree, simulation, depth, value, functions.discount)
