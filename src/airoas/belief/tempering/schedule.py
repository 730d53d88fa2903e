"""The tempering schedule: what weights come to at a step toward the observation, and how long a step they bear
(Jasra et al., 2011).

A particle of log-likelihood -inf is dead at every positive temperature.
"""

from __future__ import annotations

import math

from airoas.compiler.lanes import lanes, largest
from airoas.compiler.specialise import noinline
from airoas.compiler.vector_exp import exp
from airoas.modelling.rows import Reals, Weights

TOLERANCE = 0.005
"""Of log In_eff at the increment found."""
_MOST_TRIALS = 200


@noinline
def reweigh(log_weights: Reals, log_likelihoods: Reals, increment: float, weights: Weights) -> tuple[float, float, float]:
    """Fill `weights` with v / max v for v = w L^increment; log max v, their sum and the sum of their squares.

    The maximum is -inf where all are dead.
    """
    peak = peak_of(log_weights, log_likelihoods, increment)
    total, squares = weigh_at(log_weights, log_likelihoods, increment, peak, weights)
    return peak, total, squares


@largest
def peak_of(log_weights: Reals, log_likelihoods: Reals, increment: float) -> float:
    step = float(increment)  # interpreted, a numpy number would warn of 0 * inf
    peak = -math.inf
    for i in lanes(len(log_weights)):
        x = log_weights[i] + step * float(log_likelihoods[i])
        peak = x if x > peak else peak  # nan, from 0 * -inf, is dead too
    return peak


def weigh_at(log_weights: Reals, log_likelihoods: Reals, increment: float, peak: float, weights: Weights) -> tuple[float, float]:
    step = float(increment)
    total = 0.0
    squares = 0.0
    if peak == -math.inf:
        for i in lanes(len(log_weights)):
            weights[i] = 0.0
        return total, squares
    for i in lanes(len(log_weights)):  # apart from the sums, so that it becomes vector code
        weights[i] = exp(log_weights[i] + step * float(log_likelihoods[i]) - peak)
    for i in lanes(len(log_weights)):
        total += weights[i]
        squares += weights[i] * weights[i]
    return total, squares


def inefficiency(log_weights: Reals, log_likelihoods: Reals, increment: float, weights: Weights) -> float:
    """In_eff = N / ESS of the weights w L^increment, which `reweigh` fills in; inf if all are dead."""
    return inefficiency_of(len(log_weights), *reweigh(log_weights, log_likelihoods, increment, weights))


def inefficiency_of(n: int, peak: float, total: float, squares: float) -> float:
    """N / ESS by what `reweigh` gave."""
    return math.inf if peak == -math.inf else n * squares / (total * total)


@noinline
def solve_increment(
    log_weights: Reals, log_likelihoods: Reals, remaining: float, target: float, weights: Weights
) -> tuple[float, float, float, float]:
    """The increment at which In_eff reaches its target, and what `reweigh` gives there; `weights` are those at it.

    All that remains where In_eff stays below its target; 0 where the weights are too uneven (or too many particles dead) before
    any increment, so that they must be resampled first. The square root of log In_eff is nearly linear in the increment, which
    makes false position quick; bisection guards it.
    """
    n, goal = len(log_weights), math.log(target)
    peak, total, squares = reweigh(log_weights, log_likelihoods, remaining, weights)
    ratio = inefficiency_of(n, peak, total, squares)
    if ratio <= target:
        return remaining, peak, total, squares
    low, high, at_high = 0.0, remaining, math.sqrt(max(0.0, math.log(ratio)))
    peak, total, squares = reweigh(log_weights, log_likelihoods, 0.0, weights)
    ratio = inefficiency_of(n, peak, total, squares)
    if ratio >= target:
        return 0.0, peak, total, squares
    at_low = math.sqrt(max(0.0, math.log(ratio)))
    for trial in range(1, _MOST_TRIALS):
        if trial % 4 == 0 or not at_high < math.inf:
            increment = 0.5 * (low + high) if low > 0.0 else high / 64.0
        else:
            increment = low + (high - low) * (math.sqrt(goal) - at_low) / (at_high - at_low)
        peak, total, squares = reweigh(log_weights, log_likelihoods, increment, weights)
        reached = math.log(inefficiency_of(n, peak, total, squares))
        if abs(reached - goal) <= TOLERANCE:
            return increment, peak, total, squares
        if reached < goal:
            low, at_low = increment, math.sqrt(max(0.0, reached))
        else:
            high, at_high = increment, math.sqrt(reached)
        if high - low <= 1e-12 * high:
            break
    increment = low if low > 0.0 else high
    peak, total, squares = reweigh(log_weights, log_likelihoods, increment, weights)
    return increment, peak, total, squares


@noinline
def take_step(log_weights: Reals, log_likelihoods: Reals, increment: float, log_sum: float, weights: Weights, total: float) -> None:
    """Take the step that `reweigh` tried: log w + increment log L less the log of their sum; `weights` over their total."""
    step = float(increment)
    for i in lanes(len(log_weights)):
        x = log_weights[i] + step * float(log_likelihoods[i])
        log_weights[i] = x - log_sum if x > -math.inf else -math.inf
        weights[i] = weights[i] / total
