"""How long rollouts run before what was learned is believed for the rest.

A short run has little chance in it, and many fit a decision; but what was learned may be wrong. Both are measured, at beliefs that the
policy meets: what candidates gain over the policy's own action, by runs of several lengths in the same worlds. A length is judged by its
mean squared error: the variance that is left after the runs that time allows, and the square of how far it is from the longest, from which
chance is taken off; with two standard errors of that on top, so that runs stay long where too little is known. Candidates that are clearly
worse by runs of every length do not count: how wild a door is that nobody would open says nothing of how long to look at the others.
"""

from __future__ import annotations

import math

import numpy as np

from airoas.compiler.clock import read_clock
from airoas.modelling.kernel_model import KernelModel
from airoas.policies.rollout import CUT, LEAST_GAIN, MOST_TRIED, SURE, Candidate, Rollouts
from airoas.policies.runs import GREEDY, Policy
from airoas.rng import stream

LENGTHS = (6, 12, CUT)
BELIEFS, WORLDS = 24, 16
FEWEST = 8
"""Beliefs that tell something."""
_RUNS = 30  # of the longest that a decision has time for, for each candidate, about


def find_cut(model: KernelModel, policy: Policy, visited: list[tuple[np.ndarray, np.ndarray]], seconds: float) -> int:
    """The best of the lengths, at some of the beliefs that were visited; the longest where there was time for too few of them."""
    if not visited or not policy.corrected or policy.way != GREEDY:  # what was learned is not believed
        return CUT
    rollouts, begun = Rollouts(model, policy), read_clock()
    some = np.random.default_rng(0).permutation(len(visited))[:BELIEFS]
    errors = []
    for k in some:
        if read_clock() - begun > seconds:
            break
        states, weights = visited[k]
        measured = squared_errors(rollouts, states, weights, stream(int(k), "cut").bits(62))
        errors += [measured] if np.isfinite(measured).all() else []  # where no action contends there is nothing to compare
    return best_length(np.array(errors))


def best_length(errors: np.ndarray) -> int:
    """By squared errors [beliefs, lengths]."""
    if len(errors) < FEWEST:
        return CUT
    doubt = SURE * errors.std(axis=0, ddof=1) / math.sqrt(len(errors))
    return LENGTHS[int(np.argmin(errors.mean(axis=0) + doubt))]


def squared_errors(rollouts: Rollouts, states: np.ndarray, weights: np.ndarray, seed: int) -> np.ndarray:
    """[lengths] of what candidates gain over the policy's own action at a belief, their mean; unbiased, so that some are negative."""
    labels, policy = np.zeros(len(weights), np.int64), rollouts.policy
    own, promised, knowing = rollouts.act(states, weights, seed)
    actions = rollouts.promising(states, weights, rollouts.legal(), MOST_TRIED, seed)
    candidates = [Candidate(policy.actions[a : a + 1]) for a in dict.fromkeys([own, *actions])]
    if knowing > LEAST_GAIN * max(1e-9, abs(promised)):
        candidates += rollouts.hypotheses(states, weights, labels)
    if len(candidates) == 1:
        return np.full(len(LENGTHS), np.nan)
    returns = [rollouts.returns(candidates, (states, weights, labels), WORLDS, length, seed) for length in LENGTHS]
    gains = [earned[1:] - earned[0] for earned in returns]
    contends = np.any([gain.mean(axis=1) + SURE * gain.std(axis=1, ddof=1) / math.sqrt(WORLDS) >= 0.0 for gain in gains], axis=0)
    if not contends.any():
        return np.full(len(LENGTHS), np.nan)
    gains, errors = [gain[contends] for gain in gains], np.zeros(len(LENGTHS))
    for i, (length, gain) in enumerate(zip(LENGTHS, gains, strict=True)):
        off = gain - gains[-1]
        bias = off.mean(axis=1) ** 2 - off.var(axis=1, ddof=1) / WORLDS
        errors[i] = (bias + gain.var(axis=1, ddof=1) * length / (CUT * _RUNS)).mean()
    return errors
