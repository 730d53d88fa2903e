"""Beliefs on walks, and what came of actions that were tried there: what a policy is learned from.

Walks go by the policy learned so far, by QMDP, to where much is told, and by repeated actions. At each belief that is kept every action is
tried once, or of many the policy's, QMDP's and some others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.compiler.kernels import Record, kernel
from airoas.modelling.kernel_model import KernelModel
from airoas.policies.belief_mdp import advance, choose_actions, information_on, score, set_runs, take
from airoas.policies.pairs import n_options
from airoas.policies.qmdp import ALL
from airoas.policies.runs import FOLLOW, SEEK, Policy, Runs, make_runs, n_features
from airoas.rng import hash_key, new_stream

EFFECTIVE = 10.0
"""Particles, after every observation, in runs that are to tell what beliefs are like."""
TRIED = 8
"""Actions at a belief, where there are more than `ALL`."""
_MOST_LATER = 5_000_000
"""Actions after those that were tried, each described: half a gigabyte."""
_POLICY, _QMDP, _SEEK = 0.5, 0.6, 0.7  # up to here the policy, QMDP, to where much is told (or QMDP); then bursts of one action


class Experience(Record):
    """n beliefs, at each of which K actions were tried once."""

    features: Any
    """[n, F]"""
    q: Any
    """[n, A]"""
    legal: Any
    """[n, A]"""
    tried: Any
    """[n, K]"""
    rewards: Any
    """[n, K] means over the particles."""
    later_features: Any
    """[n K, F]"""
    later_q: Any
    """[n K, A] -1e30 where illegal."""
    ended: Any
    """[n K] whether the truth reached a terminal state."""
    options: Any
    """[n K, .] what describes the actions that were tried, where a correction is shared; else [n K, 0]."""
    later_options: Any
    """[n K, A, .] and all actions after them; else [n K, 0, .]."""
    count: int


def most_beliefs(policy: Policy) -> int:
    """How many there is memory for."""
    return _MOST_LATER // (n_tried(policy) * len(policy.actions)) if policy.shared else 1 << 30


def n_tried(policy: Policy) -> int:
    """Actions at a belief."""
    return len(policy.actions) if len(policy.actions) <= ALL else TRIED


def make_experience(policy: Policy, beliefs: int) -> Experience:
    actions, features, tried = len(policy.actions), n_features(policy), n_tried(policy)
    return Experience(
        features=np.zeros((beliefs, features)),
        q=np.zeros((beliefs, actions)),
        legal=np.zeros((beliefs, actions), np.bool_),
        tried=np.zeros((beliefs, tried), np.int64),
        rewards=np.zeros((beliefs, tried)),
        later_features=np.zeros((beliefs * tried, features)),
        later_q=np.zeros((beliefs * tried, actions)),
        ended=np.zeros(beliefs * tried, np.bool_),
        options=np.zeros((beliefs * tried, n_options(len(policy.components)) if policy.shared else 0)),
        later_options=np.zeros((beliefs * tried, actions if policy.shared else 0, n_options(len(policy.components))), np.float32),
        count=0,
    )


class Told(Record):
    """What observations told on walks."""

    states: Any
    """[n, .] the truths that were observed."""
    nats: Any
    """[n, d] of each number that varies."""
    spreads: Any
    """[n, d] its variance before."""
    actions: Any
    """[n] by which it was observed."""
    count: int


def make_told(model: KernelModel, policy: Policy, most: int) -> Told:
    numbers = len(policy.components)
    return Told(
        states=np.zeros((most, model.shapes.state.size)),
        nats=np.zeros((most, numbers)),
        spreads=np.zeros((most, numbers)),
        actions=np.zeros(most, np.int64),
        count=0,
    )


class Walkers(Record):
    """What the walkers do."""

    burst: Any
    """[R] the action that is repeated."""
    left: Any
    """[R] how often it is repeated yet."""
    way: Any
    """[R] how the walker chooses its actions."""
    taken: Any
    """[R] the action of this step."""
    before: Any
    """[R N, .] particles before a step."""


@kernel
def collect(
    policy: Policy,
    walking: Runs,
    walkers: Walkers,
    trying: Runs,
    experience: Experience,
    told: Told,
    initial: Any,
    weights: Any,
    horizon: int,
    keep: float,
    seed: int,
) -> None:
    """Fill the experience with beliefs on walks from an initial belief."""
    walk, own = 0, new_stream()
    n, labels = walking.n_particles, np.zeros(len(weights), np.int64)
    while experience.count < len(experience.features):
        walk += 1
        set_runs(walking, initial, weights, labels, hash_key(seed, walk, 0))
        for r in range(walking.n_runs):
            own.reseed(hash_key(seed, walk, 1), r, 0)
            walkers.way[r] = own.uniform()
            walkers.left[r] = 0
        for t in range(horizon):
            key = hash_key(seed, walk, 2 + t)
            for r in range(walking.n_runs):
                walking.kind[r] = SEEK if seeks(policy, walkers, r) else FOLLOW
                walking.sought[r] = r % max(1, policy.n_routes)
            choose_actions(policy, walking, t, hash_key(key, 0, 0))
            live = 0
            for r in range(walking.n_runs):
                own.reseed(key, 1, r)
                if walking.chosen_action[r] < 0:
                    continue
                live += 1
                if own.uniform() < keep and experience.count < len(experience.features):
                    store(policy, walking, r, trying, experience, hash_key(key, 2, r))
                walking.chosen_action[r] = behave(policy, walking, walkers, r, own)
            if live == 0 or experience.count == len(experience.features):
                break
            total = walking.n_runs * n
            for r in range(walking.n_runs):
                walkers.taken[r] = max(0, walking.chosen_action[r])
                take(walking, r, policy.actions, walkers.taken[r])
            for row in range(total):
                for k in range(walking.states.shape[1]):
                    walkers.before[row, k] = walking.states[row, k]
            advance(policy, walking, 0.0, hash_key(key, 3, 0))
            for r in range(walking.n_runs):
                if walking.alive[r * n] and told.count < len(told.nats):
                    told.actions[told.count] = walkers.taken[r]
                    for k in range(walking.states.shape[1]):
                        told.states[told.count, k] = walking.states[r * n, k]
                    for c in range(len(policy.components)):
                        told.nats[told.count, c], told.spreads[told.count, c] = information_on(walking, r, policy.components[c])
                    told.count += 1
                if not walking.alive[r * n]:  # an early end would hide where other actions lead
                    for row in range(r * n, r * n + n):
                        walking.alive[row] = True
                        for k in range(walking.states.shape[1]):
                            walking.states[row, k] = walkers.before[row, k]
                    walkers.left[r] = 0


def seeks(policy: Policy, walkers: Walkers, r: int) -> bool:
    """Whether a walker goes to where much is told."""
    return bool(policy.n_routes > 0 and _QMDP <= walkers.way[r] < _SEEK and walkers.left[r] == 0)


def behave(policy: Policy, walking: Runs, walkers: Walkers, r: int, rng: Any) -> int:
    """The action of a walker."""
    if walkers.left[r] > 0:
        walkers.left[r] -= 1
        if walking.legal[r, walkers.burst[r]]:
            return int(walkers.burst[r])
    if seeks(policy, walkers, r):
        walkers.way[r] = walkers.way[r] if walking.kind[r] == SEEK else 0.0  # it is there: on by the policy
        return int(walking.chosen_action[r])
    if rng.uniform() < 0.1:
        walkers.way[r] = rng.uniform()
    if walkers.way[r] < _POLICY:
        return int(walking.chosen_action[r])
    if walkers.way[r] < _SEEK:
        best, at = 0, len(walking.features[r]) - 2 - len(policy.actions)
        for a in range(1, len(policy.actions)):
            if walking.features[r, at + a] > walking.features[r, at + best]:
                best = a
        return best
    walkers.burst[r] = rng.integer(len(policy.actions))
    walkers.left[r] = rng.integer(16)
    return int(walkers.burst[r]) if walking.legal[r, walkers.burst[r]] else int(walking.chosen_action[r])


def choose_tried(experience: Experience, i: int, first: int, second: int, rng: Any) -> None:
    """The actions to try at a belief: all, or two that are given and others by chance."""
    tried, actions = experience.tried[i], experience.q.shape[1]
    if len(tried) == actions:
        for a in range(actions):
            tried[a] = a
        return
    tried[0], count = first, 1
    if second != first:
        tried[1], count = second, 2
    while count < len(tried):
        a = rng.integer(actions)
        if not is_among(a, tried, count):
            tried[count] = a
            count += 1


def is_among(a: int, tried: Any, count: int) -> bool:
    """Whether an action is one of the first."""
    known = False
    for j in range(count):
        known = known or tried[j] == a
    return known


def store(policy: Policy, walking: Runs, r: int, trying: Runs, experience: Experience, seed: int) -> None:
    """Keep a belief, and try actions in it."""
    i, actions, many, n = experience.count, len(policy.actions), walking.n_particles, trying.n_particles
    experience.count = i + 1
    for f in range(experience.features.shape[1]):
        experience.features[i, f] = walking.features[r, f]
    at = experience.features.shape[1] - 2 - actions
    greedy = 0
    for a in range(actions):
        experience.legal[i, a] = walking.legal[r, a]
        experience.q[i, a] = walking.features[r, at + a] + walking.features[r, at + actions] if walking.legal[r, a] else -1e30
        greedy = a if experience.q[i, a] > experience.q[i, greedy] else greedy
    own = new_stream()
    own.reseed(seed, 3, 0)
    choose_tried(experience, i, walking.chosen_action[r], greedy, own)
    tried = experience.tried[i]
    trying.n_runs = len(tried)
    for t in range(len(tried)):
        a = tried[t]
        own.reseed(seed, 0, a)
        truth = r * many + 1 + own.integer(many - 1)
        offset = own.uniform()
        for j in range(n):
            source = r * many + 1 + int((j - 1 + offset) * (many - 1) / (n - 1)) if j > 0 else truth
            for k in range(walking.states.shape[1]):
                trying.states[t * n + j, k] = walking.states[source, k]
            trying.alive[t * n + j] = walking.alive[source] and walking.legal[r, a]
            for k in range(policy.actions.shape[1]):
                trying.row_actions[t * n + j, k] = policy.actions[a, k]
            trying.numbers[t * n + j] = a * n + j
        trying.chosen_action[t] = a if walking.legal[r, a] and trying.alive[t * n] else -1
        trying.kind[t], trying.world[t] = 0, a
    advance(policy, trying, 0.0, hash_key(seed, 1, 0))
    for t in range(len(tried)):
        total = 0.0
        for j in range(1, n):
            total += trying.rewards[t * n + j]
        experience.rewards[i, t] = total / (n - 1)
        experience.ended[i * len(tried) + t] = not trying.alive[t * n]
        for k in range(experience.options.shape[1]):
            experience.options[i * len(tried) + t, k] = walking.options[r, tried[t], k]
    score(policy, trying, hash_key(seed, 2, 0))
    for t in range(len(tried)):
        row = i * len(tried) + t
        for f in range(experience.features.shape[1]):
            experience.later_features[row, f] = trying.features[t, f]
        for b in range(actions):
            experience.later_q[row, b] = trying.q[t, b]
        for b in range(experience.later_options.shape[1]):
            for k in range(experience.later_options.shape[2]):
                experience.later_options[row, b, k] = trying.options[t, b, k]


def make_walkers(model: KernelModel, policy: Policy, walks: int, particles: int, tried: int) -> tuple[Runs, Walkers, Runs]:
    """Room for so many walks with so many particles, of which those that are `tried` try the actions."""
    walking, trying = make_runs(model, policy, walks, particles), make_runs(model, policy, n_tried(policy), tried)
    walking.effective = trying.effective = EFFECTIVE
    walkers = Walkers(
        burst=np.zeros(walks, np.int64),
        left=np.zeros(walks, np.int64),
        way=np.zeros(walks),
        taken=np.zeros(walks, np.int64),
        before=np.zeros_like(walking.states),
    )
    return walking, walkers, trying
