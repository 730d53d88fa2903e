"""The way to where much is told: how many steps lie before it from a state, learned from walks.

Where what tells the state is far away no single step towards it pays, and a policy that is learned step by step may never set out. So what
observations told on walks, by the actions that tell, is learned as a number of the state, in nats; states in which it is large are goals;
and how many steps lie before the nearest goal is learned as in any problem that is fully observable, by fitted value iteration (Ernst et
al., 2005). Rollouts then try to go there first, and do there what tells (`airoas.policies.rollout`), and find out what that is worth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.bounds.learned.forest import TREES, Forest, find_leaves, grow, learn
from airoas.compiler.kernels import kernel
from airoas.policies.belief_mdp import FAR, SEEN
from airoas.policies.experience import Told
from airoas.policies.runs import Policy, Routes
from airoas.rng import stream

FEWEST, FEWEST_STEPS = 15, 10
"""States in a leaf of what is told, and of the steps."""
_NUMBERS = 120_000  # told, over observations and numbers of the state
_STATES, _STEPS = 10_000, 250_000  # to learn routes from, and simulated steps
_GROWINGS, _SWEEPS = 4, 60
_OPEN = 0.1  # of a variance that is large among those met: where it is smaller the number is known
_MUCH = 0.6  # of the way from what is usually told to the most
MOST_ROUTES = 3
_ENOUGH = 1000  # states with what was told there
_TRIED = 50  # times that an action was taken, for what it tells to be known
_TELLS = 0.5  # of what the action tells that tells most: any that tells as much will do


def find_routes(policy: Policy, told: Told) -> Routes | None:
    """The ways to where much is told of a number of the state, of those of which some places tell much more than others, the greatest
    differences first; None where there are none."""
    numbers, rng = len(policy.components), np.random.default_rng(0)
    rows = rng.permutation(int(told.count))[: _NUMBERS // max(1, numbers)]
    n, states, actions, informative = len(rows), np.ascontiguousarray(told.states[rows]), told.actions[rows], []
    for c in range(numbers if n >= _ENOUGH else 0):
        spreads, nats = told.spreads[rows, c], told.nats[rows, c]
        asked = spreads > _OPEN * np.quantile(spreads, 0.9)  # of what is known already nothing is told anywhere
        by, tells = _telling(nats[asked], actions[asked])
        asked &= np.isin(actions, by)
        if asked.sum() < _ENOUGH:
            continue
        known = _learned(np.ascontiguousarray(states[asked]), nats[asked, None], c)
        nats = _at(known, states)
        usual, most = float(np.median(nats)), float(np.quantile(nats, 0.999))
        if most - usual >= 0.5 * SEEN:
            informative.append((most - usual, c, known, nats, usual + _MUCH * (most - usual), tells))
    some = min(n, _STATES, _STEPS // len(policy.actions))
    forests, telling = [], []
    for _, _, known, nats, enough, tells in sorted(informative, key=lambda one: (-one[0], one[1]))[:MOST_ROUTES]:
        goals = np.flatnonzero(nats >= enough)
        chosen = np.union1d(rng.permutation(n)[:some], rng.permutation(goals)[: some // 4])
        forests.append(_steps(policy, known, states[chosen], enough))
        telling.append(tells)
    return Routes(joined(forests), tuple(telling)) if forests else None


def _telling(nats: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, int]:
    """The actions by which much is told, at best; and the one that tells most, -1 where all of them do."""
    tried = np.flatnonzero(np.bincount(actions, minlength=1) >= _TRIED)
    if not len(tried):
        return tried, -1
    best = np.array([np.quantile(nats[actions == a], 0.99) for a in tried])
    by = tried[best >= _TELLS * best.max()]
    return by, -1 if len(by) == len(tried) else int(tried[best.argmax()])


def joined(forests: list[Forest]) -> Forest:
    """One after the other."""
    ends = np.cumsum([0, *(len(forest.cut) for forest in forests)])
    parts = {name: np.concatenate([getattr(forest, name) for forest in forests]) for name in ("first", "second", "cut", "values")}
    roots = np.concatenate([forest.roots + end for forest, end in zip(forests, ends[:-1], strict=True)])
    child = np.concatenate([np.where(forest.child >= 0, forest.child + end, -1) for forest, end in zip(forests, ends[:-1], strict=True)])
    return Forest(roots=roots, first=parts["first"], second=parts["second"], cut=parts["cut"], child=child, values=parts["values"])


def _steps(policy: Policy, known: Forest, states: np.ndarray, enough: float) -> Forest:
    """How many steps lie before a state in which enough is told."""
    n, actions = len(states), len(policy.actions)
    after = np.zeros((actions, *states.shape))
    goes = np.zeros((actions, n), np.bool_)
    simulate_all(policy, states, stream(0, "way").bits(62), after, np.zeros(n), goes)
    later = after.reshape(-1, states.shape[1])
    is_goal, is_goal_later = _at(known, states) >= enough, (_at(known, later) >= enough).reshape(actions, n)
    targets = np.where(is_goal, 0.0, FAR)[:, None]
    own, leaves = np.zeros((n, TREES), np.int64), np.zeros((len(later), TREES), np.int64)
    for growing in range(_GROWINGS):
        forest = grow(states, targets, FEWEST_STEPS, stream(0, "way", growing))
        find_leaves(forest, states, own)
        find_leaves(forest, later, leaves)
        counts = np.zeros(len(forest.cut))
        for _ in range(_SWEEPS):
            learn(forest, own, targets, counts)
            shorten(forest.values, leaves, goes, is_goal_later, is_goal, targets)
    learn(forest, own, targets, counts)
    return forest


@kernel
def simulate_all(policy: Policy, states: Any, seed: int, after: Any, rewards: Any, goes: Any) -> None:
    """after [A, n, .]: a step from every state by every action; goes [A, n]: whether it is legal and does not end."""
    allowed, numbers = np.ones(len(states), np.bool_), np.arange(len(states))
    for a in range(len(policy.actions)):
        for i in range(len(states)):
            allowed[i] = True
        if policy.simulator.is_restricted:
            policy.simulator.permits(states, allowed, policy.actions[a : a + 1], goes[a])
            for i in range(len(states)):
                allowed[i] = goes[a, i]
        policy.simulator.step(states, allowed, policy.actions[a : a + 1], seed, numbers, after[a], rewards, goes[a])


@kernel
def shorten(values: Any, leaves: Any, goes: Any, is_goal_later: Any, is_goal: Any, targets: Any) -> None:
    """targets [n, 1]: one step more than from the best state after, 0 at a goal."""
    actions, n = goes.shape
    for i in range(n):
        best = 0.0 if is_goal[i] else FAR
        for a in range(actions):
            if not is_goal[i] and goes[a, i]:
                steps = 1.0
                if not is_goal_later[a, i]:
                    for tree in range(leaves.shape[1]):
                        steps += values[leaves[a * n + i, tree], 0]
                best = min(best, steps)
        targets[i, 0] = best


def _learned(states: np.ndarray, targets: np.ndarray, seed: int) -> Forest:
    """What is told, as a function of the state."""
    forest = grow(states, np.ascontiguousarray(targets), FEWEST, stream(seed, "told"))
    leaves = np.zeros((len(states), TREES), np.int64)
    find_leaves(forest, states, leaves)
    learn(forest, leaves, np.ascontiguousarray(targets), np.zeros(len(forest.cut)))
    return forest


def _at(forest: Forest, states: np.ndarray) -> np.ndarray:
    """What a forest says of states."""
    leaves = np.zeros((len(states), TREES), np.int64)
    find_leaves(forest, np.ascontiguousarray(states), leaves)
    values: np.ndarray = forest.values[leaves, 0].sum(axis=1)
    return values
