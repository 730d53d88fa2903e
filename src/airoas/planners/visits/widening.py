"""Progressive widening: what POMCPOW adds to the tree. A history keeps the states that led to it, an action what was seen after it."""

from __future__ import annotations

import math
from typing import Any

from airoas.belief.tempering.functions import is_no_density
from airoas.compiler.kernels import Record
from airoas.planners.visits.lists import LIST_BYTES, PLACE_BYTES, Lists, append, clear_list, place_above, place_of
from airoas.planners.visits.lookup import SLOT_BYTES, slots_touched
from airoas.planners.visits.rollout import random_action
from airoas.planners.visits.root import Root
from airoas.planners.visits.search import Limits
from airoas.planners.visits.tree import (
    ACTION,
    ACTION_NEXT,
    ACTIONS,
    FIRST,
    NODE,
    NODES,
    NONE,
    ROOT,
    VISITS,
    WIDTH,
    Path,
    VisitTree,
    action_bytes,
    add_action,
    add_child,
    add_legal_actions,
    add_node,
    find_child,
    node_bytes,
    write_key,
)


def history_bytes(model: Any) -> int:
    return node_bytes(model) + LIST_BYTES + 8


def widened_bytes(model: Any) -> int:
    return action_bytes(model) + LIST_BYTES + 4


def kept_bytes(model: Any) -> int:
    return PLACE_BYTES + 16 + 8 * len(model.shapes.state.kinds)


SIGHT_BYTES = PLACE_BYTES + 4


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


def widen_discrete(model: Any, work: Search, node: int, s: Any, rng: Any) -> bool:
    """Give a history what it may try: one more action by widening, or all of them at its first visit; whether there is any."""
    tree = work.tree
    if not work.widen_actions:
        before = tree.counts[ACTIONS]
        if tree.nodes[node * NODE + FIRST] == NONE:
            add_legal_actions(model, tree, node, s, work.root.actions)
            _begin_actions(work, before)
    elif is_narrow(tree.nodes[node * NODE + WIDTH], work.k_action, tree.nodes[node * NODE + VISITS], work.alpha_action):
        a: int = work.root.actions[rng.integer(len(work.root.actions))] if node == ROOT else random_action(model, s, rng)
        if node == ROOT or model.legal(s, a):
            _add_unless_there(model, work, node, a)
    return bool(tree.nodes[node * NODE + FIRST] != NONE)


def widen_continuous(model: Any, work: Search, node: int, s: Any, rng: Any) -> bool:
    """Give a history one more action of the model's own choice while it has few."""
    if is_narrow(work.tree.nodes[node * NODE + WIDTH], work.k_action, work.tree.nodes[node * NODE + VISITS], work.alpha_action):
        _add_unless_there(model, work, node, model.sample_action(s, rng))
    return True


def is_narrow(count: int, k: float, visits: int, alpha: float) -> bool:
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


def see(model: Any, work: Search, action: int, o: Any, depth: int) -> tuple[int, bool]:
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


def keep(model: Any, work: Search, child: int, a: Any, s: Any, reward: float) -> bool:
    """Add a state to those of a history, weighted by the likelihood of its observation; whether that is one.

    Differs: likelihoods count relative to the first state's, so that no sharp sensor makes all of them 0 or infinite.
    """
    log_likelihood = model.obs_logpdf(model.read_observation(work.tree.observations, child), s, a)
    if is_no_density(log_likelihood):
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


def draw_kept(work: Search, child: int, rng: Any) -> int:
    """The place of one of a history's states, drawn by weight; the last where all weights are 0."""
    last = place_of(work.kept, child, work.kept.size[child] - 1)
    total = work.upto[last]
    return place_above(work.kept, child, work.upto, rng.uniform() * total) if total > 0.0 else last
