"""Whether rollouts should try actions that are repeated until something is seen, and to go to where much is told.

Where the way to what tells the state is long, no single action gains anything: the policy that goes on from there turns back. An action
that is repeated, or a route (`airoas.policies.seeking`), goes the whole way. Trying them costs time that most problems need for other
things, so what they gain is measured, at beliefs that the policy meets: the best of them against the best single action, each chosen in
some worlds and compared in others. Runs go on to the end: a policy that waits for ever promises what it never earns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airoas.compiler.clock import read_clock
from airoas.modelling.kernel_model import KernelModel
from airoas.policies.rollout import MOST_TRIED, Candidate, Rollouts, repeated, seekers
from airoas.policies.runs import Policy
from airoas.policies.validation import is_beyond, mean_and_error
from airoas.rng import stream

BELIEFS, FEWEST = 24, 6
"""At which it is measured, as far as time goes, and in any case."""
LIKELY = 1.0
"""Errors beyond which routes are tried: they are three at most, so that trying them in vain costs little."""
WORLDS = 16
"""One half to choose in, the other to compare in."""
Visited = list[tuple[np.ndarray, np.ndarray]]
"""Beliefs: states, and their weights."""


def repeating_gains(model: KernelModel, policy: Policy, visited: Visited, seconds: float) -> bool:
    """Whether a repeated action earns more than a single one, beyond the error of the mean over beliefs."""
    gains = _gains(model, policy, visited, seconds, "repeats", lambda tried: repeated(policy.actions[tried]))
    return is_beyond(*mean_and_error([gain for gain, _ in gains]), len(gains)) if gains else False


def seeking_gains(model: KernelModel, policy: Policy, visited: Visited, seconds: float) -> bool:
    """The same of going to where much is told. Once it is told there is nothing more to go for: where a single action was the better one in
    the worlds to choose in, going there would not be chosen, and gains nothing."""
    gains = _gains(model, policy, visited, seconds, "routes", lambda tried: seekers(policy))
    return is_beyond(*mean_and_error([gain if chosen else 0.0 for gain, chosen in gains]), len(gains), LIKELY) if gains else False


def _gains(
    model: KernelModel, policy: Policy, visited: Visited, seconds: float, key: str, others: Callable[[list[int]], list[Candidate]]
) -> list[tuple[float, bool]]:
    """`gain_at` some of the beliefs."""
    rollouts, begun, gains = Rollouts(model, policy), read_clock(), list[tuple[float, bool]]()
    for k in np.random.default_rng(1).permutation(len(visited))[:BELIEFS]:
        if len(gains) >= FEWEST and read_clock() - begun > seconds:
            break
        states, weights = visited[k]
        gains.append(gain_at(rollouts, states, weights, others, stream(int(k), key).bits(62)))
    return gains


def gain_at(
    rollouts: Rollouts, states: np.ndarray, weights: np.ndarray, others: Callable[[list[int]], list[Candidate]], seed: int
) -> tuple[float, bool]:
    """What the best of the others earns more than the best single action, at a belief; and whether it was better in the worlds to choose
    in."""
    own, _, _ = rollouts.act(states, weights, seed)
    tried = rollouts.promising(states, weights, rollouts.legal(), MOST_TRIED, seed)
    single = [Candidate(rollouts.policy.actions[a : a + 1]) for a in dict.fromkeys([own, *tried])]
    belief = states, weights, np.zeros(len(weights), np.int64)
    returns = rollouts.returns([*single, *others(tried)], belief, WORLDS, rollouts.horizon, seed)
    half = WORLDS // 2
    means, later = returns[:, :half].mean(axis=1), returns[:, half:].mean(axis=1)
    once, other = int(np.argmax(means[: len(single)])), len(single) + int(np.argmax(means[len(single) :]))
    return float(later[other] - later[once]), bool(means[other] > means[once])
