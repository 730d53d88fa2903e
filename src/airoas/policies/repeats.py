"""Whether rollouts should try actions that are repeated until something is seen.

Where the way to what tells the state is long, no single action gains anything: the policy that goes on from there turns back. An action
that is repeated goes the whole way. Trying it costs time that most problems need for other things, so what it gains is measured, at beliefs
that the policy meets: the best repeated action against the best single one, each chosen in some worlds and compared in others. Runs go on
to the end: a policy that waits for ever promises what it never earns.
"""

from __future__ import annotations

import numpy as np

from airoas.compiler.clock import read_clock
from airoas.modelling.kernel_model import KernelModel
from airoas.policies.belief_mdp import Policy
from airoas.policies.rollout import MOST_TRIED, Candidate, Rollouts, repeated
from airoas.policies.validation import is_beyond, mean_and_error
from airoas.rng import stream

BELIEFS, FEWEST = 24, 6
"""At which it is measured, as far as time goes, and in any case."""
WORLDS = 16
"""One half to choose in, the other to compare in."""


def repeating_gains(model: KernelModel, policy: Policy, visited: list[tuple[np.ndarray, np.ndarray]], seconds: float) -> bool:
    """Whether a repeated action earns more than a single one, beyond the error of the mean over beliefs."""
    rollouts, begun, gains = Rollouts(model, policy), read_clock(), list[float]()
    some = np.random.default_rng(1).permutation(len(visited))[:BELIEFS]
    for k in some:
        if len(gains) >= FEWEST and read_clock() - begun > seconds:
            break
        states, weights = visited[k]
        gains.append(gain_at(rollouts, states, weights, stream(int(k), "repeats").bits(62)))
    return is_beyond(*mean_and_error(gains), len(gains)) if gains else False


def gain_at(rollouts: Rollouts, states: np.ndarray, weights: np.ndarray, seed: int) -> float:
    """What the best repeated action earns more than the best single one, at a belief."""
    own, _, _ = rollouts.act(states, weights, seed)
    tried = rollouts.promising(states, weights, rollouts.legal(), MOST_TRIED, seed)
    single = [Candidate(rollouts.policy.actions[a : a + 1]) for a in dict.fromkeys([own, *tried])]
    belief = states, weights, np.zeros(len(weights), np.int64)
    returns = rollouts.returns([*single, *repeated(rollouts.policy.actions[tried])], belief, WORLDS, rollouts.horizon, seed)
    half = WORLDS // 2
    means, later = returns[:, :half].mean(axis=1), returns[:, half:].mean(axis=1)
    once, again = int(np.argmax(means[: len(single)])), len(single) + int(np.argmax(means[len(single) :]))
    return float(later[again] - later[once])
