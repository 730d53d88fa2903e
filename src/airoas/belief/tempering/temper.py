"""Tempering: what the weights of particles come to at a step toward the observation, and how long a step they bear.

Functions over plain arrays that run inside kernels. A particle of log-likelihood -inf is dead at every positive
temperature.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.compiler.specialise import apart
from airoas.compiler.vector_exp import exp

TOLERANCE = 0.005  # of log In_eff at the increment found
MOST_TRIALS = 200

INCREMENT, TRIALS, LOW, AT_LOW, HIGH, AT_HIGH, SEARCH = range(7)  # places in `search`


@apart
def temper(log_weights: Any, log_likelihoods: Any, increment: float, weights: Any) -> tuple[float, float, float]:
    """Fill `weights` with v / max v for v = w L^increment; log max v, their sum and the sum of their squares.

    The maximum is -inf where all are dead.
    """
    step = float(increment)  # interpreted, a numpy number would warn of 0 * inf
    peak = -math.inf
    for i in range(len(log_weights)):
        x = log_weights[i] + step * float(log_likelihoods[i])
        peak = x if x > peak else peak  # nan, from 0 * -inf, is dead too
    total = 0.0
    squares = 0.0
    if peak == -math.inf:
        for i in range(len(log_weights)):
            weights[i] = 0.0
        return peak, total, squares
    for i in range(len(log_weights)):  # apart from the sums, so that it becomes vector code
        weights[i] = exp(log_weights[i] + step * float(log_likelihoods[i]) - peak)
    for i in range(len(log_weights)):
        total += weights[i]
        squares += weights[i] * weights[i]
    return peak, total, squares


def inefficiency(log_weights: Any, log_likelihoods: Any, increment: float, weights: Any) -> float:
    """In_eff = N / ESS of the weights w L^increment, which `temper` fills in; inf if all are dead."""
    peak, total, squares = temper(log_weights, log_likelihoods, increment, weights)
    return math.inf if peak == -math.inf else len(log_weights) * squares / (total * total)


@apart
def settle(log_weights: Any, log_likelihoods: Any, increment: float, log_sum: float, weights: Any, share: float, total: float) -> None:
    """Take the step that `temper` tried: log w + increment log L less the log of their sum; `weights` times share / total."""
    step = float(increment)
    for i in range(len(log_weights)):
        x = log_weights[i] + step * float(log_likelihoods[i])
        log_weights[i] = x - log_sum if x > -math.inf else -math.inf
        weights[i] = weights[i] * share / total


def begin_search(search: Any, remaining: float) -> None:
    """Look for the increment at which In_eff reaches its target; the first to try is all that remains."""
    for k in range(SEARCH):
        search[k] = 0.0
    search[INCREMENT] = search[HIGH] = remaining


@apart
def is_found(search: Any, ratio: float, target: float) -> bool:
    """Whether the increment tried, at which In_eff is `ratio`, is the one; else the next to try takes its place.

    All that remains where In_eff stays below its target; 0 where the weights are too uneven (or too many particles dead)
    before any increment, so that they must be resampled first. The square root of log In_eff is nearly linear in the
    increment, which makes false position quick; bisection guards it.
    """
    trial = int(search[TRIALS])
    search[TRIALS] += 1
    tried = search[INCREMENT]
    reached, goal = math.log(ratio), math.log(target)
    if trial == 0:
        search[AT_HIGH] = math.sqrt(max(0.0, reached))
        search[INCREMENT] = tried if ratio <= target else 0.0
        return ratio <= target
    if trial > MOST_TRIALS or (ratio >= target if trial == 1 else abs(reached - goal) <= TOLERANCE):
        return True
    if reached < goal:
        search[LOW], search[AT_LOW] = tried, math.sqrt(max(0.0, reached))
    else:
        search[HIGH], search[AT_HIGH] = tried, math.sqrt(reached)
    low, high = search[LOW], search[HIGH]
    if trial > 1 and high - low <= 1e-12 * high:
        search[INCREMENT] = low if low > 0.0 else high
        search[TRIALS] = MOST_TRIALS + 1
        return bool(search[INCREMENT] == tried)
    if trial % 4 == 0 or not search[AT_HIGH] < math.inf:
        search[INCREMENT] = 0.5 * (low + high) if low > 0.0 else high / 64.0
    else:
        search[INCREMENT] = low + (high - low) * (math.sqrt(goal) - search[AT_LOW]) / (search[AT_HIGH] - search[AT_LOW])
    return False
