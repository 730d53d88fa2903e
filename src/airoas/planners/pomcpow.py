"""POMCPOW: tree search with progressive widening and weighted beliefs, for continuous observations and actions
(Sunberg and Kochenderfer, 2018)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.moves import no_density
from airoas.compile import Kernel, Record
from airoas.errors import OptionError
from airoas.planners.lists import LIST_BYTES, PLACE_BYTES, Lists, append, clear_list, lists_layout, new_lists, place_above, place_of
from airoas.planners.lookup import SLOT_BYTES, slots_touched
from airoas.planners.rollout import Estimate, find_estimate, find_table, random_action
from airoas.planners.storage import Block, Layout
from airoas.planners.visit_search import BAD_LIKELIHOOD, FINE, NO_ACTION, Limits, Root, VisitPlanner, search_by
from airoas.planners.visit_tree import (
    ACTION,
    ACTION_NEXT,
    ACTION_VISITS,
    ACTIONS,
    FIRST,
    NODE,
    NODES,
    NONE,
    ROOT,
    STEPS,
    VISITS,
    WIDTH,
    Path,
    VisitTree,
    action_bytes,
    add_action,
    add_child,
    add_legal_actions,
    add_node,
    back_up,
    choose_by_ucb,
    find_child,
    new_path,
    new_tree,
    node_bytes,
    note_step,
    tree_layout,
    write_key,
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
        n, m = 2 + memory // _node_bytes(model), 2 + memory // _action_bytes(model) + max(model.n_actions, 1) + self.max_depth
        kept, sights = (2 * (memory // size) + 2 * self.max_depth + 2 for size in (_kept_bytes(model), _SIGHT_BYTES))
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
            sizes=np.array([_node_bytes(model), _action_bytes(model), _kept_bytes(model), _SIGHT_BYTES]),
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


def _node_bytes(model: Any) -> int:
    return node_bytes(model) + LIST_BYTES + 8


def _action_bytes(model: Any) -> int:
    return action_bytes(model) + LIST_BYTES + 4


def _kept_bytes(model: Any) -> int:
    return PLACE_BYTES + 16 + 8 * len(model.shapes.state.kinds)


_SIGHT_BYTES = PLACE_BYTES + 4


class Search(Record):
    """What one search works on: n histories, m actions."""

    tree: VisitTree
    path: Path
    root: Root
    limits: Limits
    table: Any
    """[S] values for `estimate`, or [1]."""
    sizes: Any
    """[4] bytes of a history, an action, a kept state, a sight."""
    kept: Lists
    """For each history the states that led to it."""
    sights: Lists
    """For each action the histories that were observed after it, one entry for each time (`generated` in POMCPOW.jl)."""
    offsets: Any
    """[n] the log likelihood that counts as weight 1."""
    states: Any
    """[places of kept, .]"""
    rewards: Any
    """[places of kept] paid on the way there."""
    upto: Any
    """[places of kept] weights, summed up along the list."""
    widths: Any
    """[m] how many histories an action leads to."""
    seen: Any
    """[places of sights] the history."""
    max_depth: int
    c: float
    k_observation: float
    alpha_observation: float
    k_action: float
    alpha_action: float
    widen_actions: bool
    check_observation: bool
    check_action: bool


def bytes_used(work: Search) -> int:
    tree, sizes = work.tree, work.sizes
    used: int = (
        tree.counts[NODES] * sizes[0] + tree.counts[ACTIONS] * sizes[1] + work.kept.top[0] * sizes[2] + work.sights.top[0] * sizes[3]
    )
    return used + slots_touched(tree.lookup) * SLOT_BYTES


# --- actions ---


def _widen_discrete(model: Any, work: Search, node: int, s: Any, rng: Any) -> bool:
    """Give a history what it may try: one more action by widening, or all of them at its first visit; whether there is any."""
    tree = work.tree
    if not work.widen_actions:
        before = tree.counts[ACTIONS]
        if tree.nodes[node * NODE + FIRST] == NONE:
            add_legal_actions(model, tree, node, s, work.root.actions)
            _begin_actions(work, before)
    elif _is_narrow(tree.nodes[node * NODE + WIDTH], work.k_action, tree.nodes[node * NODE + VISITS], work.alpha_action):
        a: int = work.root.actions[rng.integer(len(work.root.actions))] if node == ROOT else random_action(model, s, rng)
        if node == ROOT or model.legal(s, a):
            _add_unless_there(model, work, node, a)
    return bool(tree.nodes[node * NODE + FIRST] != NONE)


def _widen_continuous(model: Any, work: Search, node: int, s: Any, rng: Any) -> bool:
    """Give a history one more action of the model's own choice while it has few."""
    if _is_narrow(work.tree.nodes[node * NODE + WIDTH], work.k_action, work.tree.nodes[node * NODE + VISITS], work.alpha_action):
        _add_unless_there(model, work, node, model.sample_action(s, rng))
    return True


def _is_narrow(count: int, k: float, visits: int, alpha: float) -> bool:
    return bool(count <= k * float(visits) ** alpha)


def _add_unless_there(model: Any, work: Search, node: int, a: Any) -> None:
    tree = work.tree
    place = tree.counts[ACTIONS]
    model.write_action(tree.labels, place, a)
    action = tree.nodes[node * NODE + FIRST] if work.check_action else NONE
    while action != NONE and not _same_label(tree, action, place):
        action = tree.actions[action * ACTION + ACTION_NEXT]
    if action == NONE:
        add_action(model, tree, node, a)
        _begin_actions(work, place)


def _same_label(tree: VisitTree, action: int, other: int) -> bool:
    for k in range(tree.labels.shape[1]):  # noqa: SIM110
        if tree.labels[action, k] != tree.labels[other, k]:
            return False
    return True


def _begin_actions(work: Search, before: int) -> None:
    """The columns of the actions that were added since there were `before`."""
    for action in range(before, work.tree.counts[ACTIONS]):
        work.widths[action] = 0
        clear_list(work.sights, action)


# --- observations and the states kept for them ---


def _see(model: Any, work: Search, action: int, o: Any, depth: int) -> tuple[int, bool]:
    """The history that an observation leads to, and whether it is new."""
    tree = work.tree
    child = NONE
    if work.check_observation:
        child = find_child(model, tree, action, o)
    else:
        write_key(model, tree, action, o)
    new = child == NONE
    if new:
        child = add_child(tree, depth) if work.check_observation else add_node(tree, depth)
        work.widths[action] += 1
        clear_list(work.kept, child)
    work.seen[append(work.sights, action)] = child
    return child, new


def _keep(model: Any, work: Search, child: int, a: Any, s: Any, reward: float) -> bool:
    """Add a state to those of a history, weighted by the likelihood of its observation; whether that is one.

    Differs: likelihoods count relative to the first state's, so that no sharp sensor makes all of them 0 or infinite.
    """
    log_likelihood = model.obs_logpdf(model.read_observation(work.tree.observations, child), s, a)
    if no_density(log_likelihood):
        return False
    count = work.kept.size[child]
    if count == 0:
        work.offsets[child] = log_likelihood if log_likelihood > -math.inf else 0.0
    total = work.upto[place_of(work.kept, child, count - 1)] if count > 0 else 0.0
    place = append(work.kept, child)
    model.write_state(work.states, place, s)
    work.rewards[place] = reward
    work.upto[place] = total + math.exp(min(log_likelihood - work.offsets[child], 600.0))
    return True


def _draw_kept(work: Search, child: int, rng: Any) -> int:
    """The place of one of a history's states, drawn by weight; the last where all weights are 0."""
    last = place_of(work.kept, child, work.kept.size[child] - 1)
    total = work.upto[last]
    return place_above(work.kept, child, work.upto, rng.uniform() * total) if total > 0.0 else last


@functools.cache
def _simulation(estimate: Estimate, continuous: bool) -> Any:
    widen = _widen_continuous if continuous else _widen_discrete

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
            if _is_narrow(work.widths[action], work.k_observation, tree.actions[action * ACTION + ACTION_VISITS], work.alpha_observation):
                child, new = _see(model, work, action, model.observe(s, a, rng), depth + 1)
            if not new:
                # Drawn again even where the observation was seen before: in proportion to how often each was.
                child = work.seen[place_of(work.sights, action, rng.integer(work.sights.size[action]))]
            if not _keep(model, work, child, a, s, reward):
                return BAD_LIKELIHOOD
            if not new:
                place = _draw_kept(work, child, rng)
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
