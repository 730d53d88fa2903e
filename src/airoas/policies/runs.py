"""A policy as compiled code has it, and the room in which many runs of it go on side by side; see `airoas.policies.belief_mdp`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.bounds.learned.forest import Forest
from airoas.compiler.kernels import Record
from airoas.modelling.batch import Simulator
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.macros import LONGEST
from airoas.policies.pairs import TRUTHS, n_options

FOLLOW, FORCED, SEEK = range(3)
"""What a run does: the policy from the start; given actions first; or first to where much is told (`airoas.policies.seeking`)."""
GREEDY, DEFAULT, BLIND, VOTING = range(4)
"""What a policy does: the best by its values; what the model's default policy would do in one of the particles; always the same; what is
best in most of the particles."""


class Policy(Record):
    """argmax over a of q_a(b) + D_a(phi(b)): QMDP, and a correction of it that was learned."""

    simulator: Simulator
    observe: Any
    weigh: Any
    inspect: Any
    value: Any
    """Q (s, a) of the fully observable problem, or V(s); see `airoas.bounds`."""
    by_action: bool
    """Whether the values are those of the actions; else each action is simulated for a step, and the best value after it counts."""
    n_values: int
    """How many numbers it writes."""
    actions: Any
    """[A, .] all of a list, or some all over a space."""
    discrete: bool
    """Whether they are all."""
    components: Any
    """[d] of the state, those that vary."""
    continuous: Any
    """Of the components, those with a value of their own at nearly every state."""
    countable: Any
    """The others."""
    bits: Any
    """[d] of whole numbers: how many bits count one by one, 0 for none."""
    correction: Any
    """A forest over the features with values [., A]; where it is shared over a belief's and an action's, with values [., 1]. Of one leaf
    where nothing was learned."""
    corrected: bool
    shared: bool
    """Whether one correction serves all actions, which are described; see `airoas.policies.pairs`."""
    bias: float
    """By how much it promises more than it was seen to earn."""
    way: int
    """GREEDY, DEFAULT, BLIND or VOTING."""
    blind: int
    """The action that is always taken, where it is legal."""
    scored: int
    """How many particles q is averaged over."""
    routes: Any
    """Forests over states, one after the other: the steps to where much is told of something. Of one leaf where there are none."""
    n_routes: int
    tells: Any
    """[routes] the action that tells there, -1 where any does."""


class Routes(NamedTuple):
    """Ways to where much is told of something."""

    steps: Forest
    """How many steps lie before it, a forest after the other."""
    tells: tuple[int, ...]
    """For each, the action that tells there, -1 where any does."""


def n_features(policy: Policy) -> int:
    """Means and spreads, single bits, what each action lacks to the best, the best, and what knowing the state would be worth."""
    return 2 * len(policy.components) + int(policy.bits.sum()) + len(policy.actions) + 2


def corrected_by(policy: Policy) -> tuple[int, int]:
    """How many numbers a correction looks at, and how many it gives."""
    actions, width = policy.actions.shape
    if not policy.shared:
        return n_features(policy), actions
    return n_features(policy) - actions + n_options(len(policy.components)) + width, 1


class Runs(Record):
    """R runs of N rows, the truth and N - 1 particles; M of these are scored."""

    states: Any
    """[R N, .]"""
    after: Any
    """[R N, .]"""
    alive: Any
    """[R N]"""
    arrived: Any
    """[R N]"""
    rewards: Any
    """[R N]"""
    logs: Any
    """[R N]"""
    weights: Any
    """[N]"""
    chosen: Any
    """[N]"""
    spreading: Any
    """[R N] whether a particle is a copy of another and may move away from it; see `airoas.policies.resampling`."""
    proposed: Any
    """[R N, .] where to."""
    proposed_logs: Any
    """[R N]"""
    kept_logs: Any
    """[R N] of the particles that were resampled."""
    powers: Any
    """[R] of the likelihood, by which each run was resampled."""
    spreads: Any
    """[.] the variance of each number of the state among the particles of a run that are no copies."""
    any_action: Any
    """[0] for `inspect`, which is not asked what is allowed."""
    row_actions: Any
    """[R N, .] the action of each row's run."""
    numbers: Any
    """[R N] of the rows' random streams: those of one world have the same."""
    run_of: Any
    """[R N]"""
    scored: Any
    """[R M, .] states to score."""
    scored_after: Any
    scored_numbers: Any
    """[R M] of their random streams."""
    scored_alive: Any
    scored_arrived: Any
    scored_rewards: Any
    values: Any
    """[R M, n_values]"""
    totals: Any
    """[R M] the best of a state."""
    favourites: Any
    """[R M] the action that is."""
    votes: Any
    """[A]"""
    q: Any
    """[R, A]"""
    legal: Any
    """[R, A]"""
    features: Any
    """[R, F]"""
    options: Any
    """[R, A, .] what describes each action, where a correction is shared; else [R, 0, .]."""
    pair: Any
    """[1, .] a belief with an action."""
    each: Any
    """[R M, A] q of every particle that is scored."""
    posteriors: Any
    """[R M, A, T] their weights after what some of them see."""
    imagined: Any
    """[R, .] observations."""
    imagining: Any
    """[R] rows of the particles that make them."""
    imagined_numbers: Any
    """[R] of their random streams."""
    imagined_of: Any
    """[R M] which of them a particle is weighed by."""
    imagined_logs: Any
    """[R M]"""
    chosen_action: Any
    """[R] its number; -1 where the run is over."""
    truths: Any
    """[R] row of the truth, among those that observe."""
    observing: Any
    """[R]"""
    observations: Any
    """[R, .]"""
    kind: Any
    """[R] FOLLOW, FORCED or SEEK."""
    sought: Any
    """[R] what a run that seeks wants to know, as the number of its forest."""
    seeking: Any
    """[R M] whether a scored particle is one of a run that seeks."""
    left: Any
    """[R, A] the steps that are left after each action, for those that seek."""
    forced: Any
    """[R, L, .] the actions that are given."""
    steps: Any
    """[R] how many of them."""
    believed: Any
    """[R] the cluster that the truth is taken to be in, until that is refuted; -1 for none."""
    labels: Any
    """[R N] the cluster that each particle came from."""
    labels_after: Any
    """[R N]"""
    seen_as: Any
    """[R] of a run's observation among all."""
    drawn: Any
    """[R, .] a particle of each, for the default policy."""
    drawn_alive: Any
    """[R]"""
    defaults: Any
    """[R, .] actions of the default policy."""
    world: Any
    """[R] runs of one world begin with the same truth and particles, and meet the same chance."""
    returns: Any
    """[R]"""
    effective: float
    """Particles: where fewer would be, the likelihood is flattened until so many are, and copies are spread. 0: the truth is put back where
    few are; see `airoas.policies.resampling`."""
    deadline: float
    cut: int
    """Steps after which a promise counts for the rest."""
    n_runs: int
    n_particles: int


def make_runs(model: KernelModel, policy: Policy, runs: int, particles: int) -> Runs:
    """Room for this many runs of so many particles."""
    n, m, width = runs * particles, runs * policy.scored, model.shapes.state.size
    actions = len(policy.actions)
    shared = int(policy.shared)
    return Runs(
        states=np.zeros((n, width)),
        after=np.zeros((n, width)),
        alive=np.zeros(n, np.bool_),
        arrived=np.zeros(n, np.bool_),
        rewards=np.zeros(n),
        logs=np.zeros(n),
        weights=np.zeros(particles),
        chosen=np.zeros(particles, np.int64),
        spreading=np.zeros(n, np.bool_),
        proposed=np.zeros((n, width)),
        proposed_logs=np.zeros(n),
        kept_logs=np.zeros(n),
        powers=np.ones(runs),
        spreads=np.zeros(width),
        any_action=np.zeros(0, np.bool_),
        row_actions=np.zeros((n, policy.actions.shape[1])),
        numbers=np.arange(n),
        run_of=np.repeat(np.arange(runs), particles),
        scored=np.zeros((m, width)),
        scored_after=np.zeros((m, width)),
        scored_numbers=np.zeros(m, np.int64),
        scored_alive=np.zeros(m, np.bool_),
        scored_arrived=np.zeros(m, np.bool_),
        scored_rewards=np.zeros(m),
        values=np.zeros((m, policy.n_values)),
        totals=np.zeros(m),
        favourites=np.zeros(m, np.int64),
        votes=np.zeros(actions, np.int64),
        q=np.zeros((runs, actions)),
        legal=np.zeros((runs, actions), np.bool_),
        features=np.zeros((runs, n_features(policy))),
        options=np.zeros((runs, shared * actions, n_options(len(policy.components)))),
        pair=np.zeros((1, corrected_by(policy)[0])),
        each=np.zeros((shared * m, actions)),
        posteriors=np.zeros((shared * m, actions, TRUTHS)),
        imagined=np.zeros((shared * runs, model.shapes.observation.size)),
        imagining=np.zeros(runs, np.int64),
        imagined_numbers=np.zeros(runs, np.int64),
        imagined_of=np.zeros(shared * m, np.int64),
        imagined_logs=np.zeros(shared * m),
        chosen_action=np.zeros(runs, np.int64),
        truths=np.zeros(runs, np.int64),
        observing=np.zeros(runs, np.int64),
        observations=np.zeros((runs, model.shapes.observation.size)),
        kind=np.zeros(runs, np.int64),
        sought=np.zeros(runs, np.int64),
        seeking=np.zeros(m, np.bool_),
        left=np.zeros((runs, actions)),
        forced=np.zeros((runs, LONGEST, policy.actions.shape[1])),
        steps=np.zeros(runs, np.int64),
        believed=np.full(runs, -1),
        labels=np.zeros(n, np.int64),
        labels_after=np.zeros(n, np.int64),
        seen_as=np.zeros(runs, np.int64),
        drawn=np.zeros((runs, width)),
        drawn_alive=np.zeros(runs, np.bool_),
        defaults=np.zeros((runs, policy.actions.shape[1])),
        world=np.arange(runs),
        returns=np.zeros(runs),
        effective=0.0,
        deadline=math.inf,
        cut=1 << 60,
        n_runs=runs,
        n_particles=particles,
    )
