"""A belief policy learned from the simulator alone: fitted Q iteration (Ernst et al., 2005) over particle beliefs, as a correction of
QMDP.

Q(b, a) = q_a(b) + D_a(b), where q is QMDP and D <= 0, since no policy earns what seeing the state would. What is learned is how much of
QMDP's promise is lost: where a belief is certain nothing is, and the policy acts by QMDP exactly. D is one forest of the belief's
features with a value for every action; where not all actions are tried at a belief, what was not tried is taken to lose what it does at
beliefs alike. Or, where actions are many, D is one forest of a belief with an action (`airoas.policies.pairs`): what is learned of
one action then serves for those that do the like, and fewer beliefs are enough.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.bounds.learned.forest import TREES, Descent, Forest, descend, descent_of, find_leaves, grow, learn
from airoas.compiler.kernels import kernel
from airoas.policies.experience import Experience, is_among
from airoas.policies.pairs import describe_pair
from airoas.policies.runs import Policy, corrected_by
from airoas.rng import stream

FEWEST = 10
"""Beliefs in a leaf."""
_GROWINGS, _SWEEPS = 3, 50


@kernel
def sweep(experience: Experience, n: int, discount: float, values: Any, leaves: Any, targets: Any) -> float:
    """targets [n, A] of what was tried = min(0, R + gamma max_a' [q_a'(b') + D_a'(phi(b'))] - q_a(b)) for the D of some leaves'
    values; the largest change."""
    actions, tried, change = targets.shape[1], experience.tried.shape[1], 0.0
    for i in range(n):
        for t in range(tried):
            a = experience.tried[i, t]
            if not experience.legal[i, a]:
                continue
            row, best = i * tried + t, -math.inf
            if experience.ended[row]:
                best = 0.0
            else:
                for b in range(actions):
                    value = experience.later_q[row, b]
                    if value > -1e29:
                        for tree in range(leaves.shape[1]):
                            value += values[leaves[row, tree], b]
                        best = max(best, value)
            target = min(0.0, experience.rewards[i, t] + discount * best - experience.q[i, a])
            change = max(change, abs(target - targets[i, a]))
            targets[i, a] = target
    return change


@kernel
def fill(experience: Experience, n: int, values: Any, leaves: Any, targets: Any) -> None:
    """targets [n, A] of what was not tried: those of leaves' values; where there are no leaves, the mean of what was tried."""
    for i in range(n):
        mean, count = 0.0, 0
        for a in experience.tried[i]:
            if experience.legal[i, a]:
                mean += targets[i, a]
                count += 1
        for a in range(targets.shape[1]):
            if experience.legal[i, a] and not is_among(a, experience.tried[i], len(experience.tried[i])):
                targets[i, a] = 0.0 if leaves.shape[1] else mean / max(1, count)
                for tree in range(leaves.shape[1]):
                    targets[i, a] += values[leaves[i, tree], a]


def fit(policy: Policy, experience: Experience, seed: int) -> Forest:
    """The correction that the experience teaches."""
    return _fit_shared(policy, experience, seed) if policy.shared else _fit_each(policy, experience, seed)


def _fit_each(policy: Policy, experience: Experience, seed: int) -> Forest:
    """One for every action."""
    n, actions, tried = experience.count, len(policy.actions), experience.tried.shape[1]
    features = np.ascontiguousarray(experience.features[:n])
    later = np.ascontiguousarray(experience.later_features[: n * tried])
    targets, nothing = np.zeros((n, actions)), np.zeros((1, actions))
    discount = policy.simulator.discount
    sweep(experience, n, discount, nothing, np.zeros((n * tried, 1), np.int64), targets)
    fill(experience, n, nothing, np.zeros((n, 0), np.int64), targets)
    small, axes = _small(targets), to_cut_along(features.shape[1], actions)
    for growing in range(_GROWINGS):
        forest = grow(features, targets, FEWEST, stream(seed, "correction", growing), axes)
        own, after = np.zeros((n, TREES), np.int64), np.zeros((n * tried, TREES), np.int64)
        find_leaves(forest, features, own)
        find_leaves(forest, later, after)
        counts = np.zeros(len(forest.cut))
        for _ in range(_SWEEPS):
            learn(forest, own, targets, counts)
            if sweep(experience, n, discount, forest.values, after, targets) < small:
                break
            fill(experience, n, forest.values, own, targets)
    learn(forest, own, targets, counts)
    return forest


def to_cut_along(features: int, actions: int) -> np.ndarray:
    """The features, those of a belief again and again until they are as many as those of single actions: many actions would hide them."""
    first = features - 2 - actions
    single = np.arange(first, first + actions)
    rest = np.delete(np.arange(features), single)
    return np.arange(features) if actions <= len(rest) else np.concatenate([single, np.tile(rest, -(-actions // len(rest)))])


def _small(targets: np.ndarray) -> float:
    """A change that ends the sweeps."""
    return 1e-3 * max(1e-12, float(np.abs(targets).max()))


@kernel
def describe_tried(policy: Policy, experience: Experience, rows: Any) -> None:
    """rows [n K, .]: the beliefs with the actions that were tried there."""
    tried = experience.tried.shape[1]
    for j in range(len(rows)):
        i, t = j // tried, j % tried
        describe_pair(policy, experience.features[i], experience.options[j], experience.tried[i, t], rows[j])


@kernel
def find_leaves_after(policy: Policy, experience: Experience, descent: Descent, rows: Any, nodes: Any, leaves: Any) -> None:
    """leaves [n K, A, TREES]: where all actions end after those that were tried. rows [A, .] and nodes [A]: room."""
    for j in range(len(leaves)):
        if experience.ended[j]:
            continue
        for b in range(len(nodes)):
            describe_pair(policy, experience.later_features[j], experience.later_options[j, b], b, rows[b])
        for tree in range(leaves.shape[2]):
            descend(descent, tree, rows, nodes, len(nodes))
            for b in range(len(nodes)):
                leaves[j, b, tree] = nodes[b]


@kernel
def sweep_shared(experience: Experience, discount: float, values: Any, leaves: Any, targets: Any) -> float:
    """targets [n K, 1]: as `sweep`, for leaves of beliefs with actions; the largest change."""
    tried, change = experience.tried.shape[1], 0.0
    for j in range(len(targets)):
        i, t = j // tried, j % tried
        a, best = experience.tried[i, t], -math.inf
        if not experience.legal[i, a]:
            continue
        if experience.ended[j]:
            best = 0.0
        else:
            for b in range(leaves.shape[1]):
                value = experience.later_q[j, b]
                if value > -1e29:
                    for tree in range(leaves.shape[2]):
                        value += values[leaves[j, b, tree], 0]
                    best = max(best, value)
        target = min(0.0, experience.rewards[i, t] + discount * best - experience.q[i, a])
        change = max(change, abs(target - targets[j, 0]))
        targets[j, 0] = target
    return change


def _fit_shared(policy: Policy, experience: Experience, seed: int) -> Forest:
    """One for all actions."""
    (n, tried), actions, discount = (experience.count, experience.tried.shape[1]), len(policy.actions), policy.simulator.discount
    rows, targets = np.zeros((n * tried, corrected_by(policy)[0])), np.zeros((n * tried, 1))
    own, after = np.zeros((n * tried, TREES), np.int64), np.zeros((n * tried, actions, TREES), np.int32)
    table, nodes = np.zeros((actions, rows.shape[1] + 1)), np.zeros(actions, np.int32)
    describe_tried(policy, experience, rows)
    used = np.flatnonzero(np.take_along_axis(experience.legal[:n], experience.tried[:n], axis=1))
    rows, own = rows[used], own[used]
    sweep_shared(experience, discount, np.zeros((1, 1)), after, targets)
    small = _small(targets)
    for growing in range(_GROWINGS):
        forest = grow(rows, targets[used], FEWEST, stream(seed, "correction", growing))
        find_leaves(forest, rows, own)
        find_leaves_after(policy, experience, descent_of(forest), table, nodes, after)
        counts = np.zeros(len(forest.cut))
        for _ in range(_SWEEPS):
            learn(forest, own, targets[used], counts)
            if sweep_shared(experience, discount, forest.values, after, targets) < small:
                break
    learn(forest, own, targets[used], counts)
    return forest
