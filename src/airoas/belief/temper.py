"""Tempering: how far toward the observation the weights can be taken at once, and what that step is worth.

Functions over plain arrays that run inside kernels. A particle of log-likelihood -inf is dead at every positive
temperature.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.arithmetic import exp
from airoas.link import apart

TOLERANCE = 0.005  # of log In_eff at the increment found


def tempered_sums(log_weights: Any, log_likelihoods: Any, increment: float) -> tuple[float, float, float]:
    """Peak of log v, then sum of v / peak and sum of its square, for v = w L^increment; the peak is -inf if all are dead."""
    peak = -math.inf
    for i in range(len(log_weights)):
        x = log_weights[i] + increment * float(log_likelihoods[i])
        peak = x if x > peak else peak  # nan, from 0 * -inf, is dead too
    total = 0.0
    squares = 0.0
    if peak > -math.inf:
        for i in range(len(log_weights)):
            v = exp(log_weights[i] + increment * float(log_likelihoods[i]) - peak)
            total += v
            squares += v * v
    return peak, total, squares


@apart
def inefficiency(log_weights: Any, log_likelihoods: Any, increment: float) -> float:
    """In_eff = N / ESS of the weights w L^increment; inf if all are dead."""
    peak, total, squares = tempered_sums(log_weights, log_likelihoods, increment)
    return math.inf if peak == -math.inf else len(log_weights) * squares / (total * total)


@apart
def next_increment(log_weights: Any, log_likelihoods: Any, remaining: float, target: float) -> float:
    """The increment of temperature at which In_eff reaches `target`, all of `remaining` where it stays below.

    0 where the weights are too uneven (or too many particles dead) before any increment: they must be resampled first.
    The square root of log In_eff is nearly linear in the increment, which makes false position quick; bisection guards it.
    """
    if inefficiency(log_weights, log_likelihoods, remaining) <= target:
        return remaining
    at_zero = inefficiency(log_weights, log_likelihoods, 0.0)
    if at_zero >= target:
        return 0.0
    goal = math.sqrt(math.log(target))
    low, high = 0.0, remaining
    at_low = math.sqrt(max(0.0, math.log(at_zero)))
    at_high = math.sqrt(math.log(inefficiency(log_weights, log_likelihoods, high)))
    for step in range(200):
        if step % 4 == 3 or not at_high < math.inf:
            increment = 0.5 * (low + high) if low > 0.0 else high / 64.0
        else:
            increment = low + (high - low) * (goal - at_low) / (at_high - at_low)
        reached = math.log(inefficiency(log_weights, log_likelihoods, increment))
        if abs(reached - math.log(target)) <= TOLERANCE:
            return increment
        if reached < math.log(target):
            low, at_low = increment, math.sqrt(max(0.0, reached))
        else:
            high, at_high = increment, math.sqrt(reached)
        if high - low <= 1e-12 * high:
            break
    return low if low > 0.0 else high


@apart
def reweigh(log_weights: Any, log_likelihoods: Any, increment: float, weights: Any) -> tuple[float, float]:
    """Weights times L^increment, normalised, as logs and as they are; log of their sum before that, and N / ESS after.

    The log of the sum is -inf where all are dead.
    """
    peak = -math.inf
    for i in range(len(log_weights)):
        x = log_weights[i] + increment * float(log_likelihoods[i])
        log_weights[i] = x if x > -math.inf else -math.inf  # nan, from 0 * -inf, is dead too
        peak = max(peak, log_weights[i])
    if peak == -math.inf:
        return peak, math.inf
    total = 0.0
    squares = 0.0
    for i in range(len(log_weights)):  # apart from the sums, so that it becomes vector code
        weights[i] = exp(log_weights[i] - peak)
    for i in range(len(log_weights)):
        total += weights[i]
        squares += weights[i] * weights[i]
    log_sum = peak + math.log(total)
    for i in range(len(log_weights)):
        weights[i] /= total
        log_weights[i] -= log_sum
    return log_sum, len(log_weights) * squares / (total * total)
