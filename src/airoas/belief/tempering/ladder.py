"""The ladder from a belief to its posterior: the serial work between two passes over the particles.

Paper: Alg. 4. Differs: each temperature is chosen so that N/ESS reaches the target (or taken from a schedule that ends at
1), weights are carried, and the rest L^(1 - beta) is paid when it stops early.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.belief.tempering.cloud import (
    ACCEPTED,
    BAD_LIKELIHOODS,
    BAD_STEPS,
    CHUNK,
    EVALUATED,
    Cloud,
    Scales,
    choose_axes,
    fit,
    fit_noise,
    smooth,
)
from airoas.belief.tempering.temper import INCREMENT, begin_search, is_found
from airoas.compiler.clock import now
from airoas.compiler.kernels import Record
from airoas.compiler.specialise import apart
from airoas.compiler.vector_exp import exp

# what `next_pass` gives: a pass to run, or how it ended
PREDICT, PREDICT_AGAIN, TEMPER, SETTLE, GATHER, SWEEP, PLAIN, DONE, DEPLETED, BAD_LIKELIHOOD, BAD_STEP, LATE = range(12)
FIRST_END = PLAIN
START = -1

# places in `numbers`
PHASE, PASS, SIDE, BETA, STAGE, SWEEPS, LOG_EVIDENCE, BEFORE, AFTER, EVALUATIONS, GOAL, ENDS, PEAK, TOTAL, NUMBERS = range(15)
# what the weights are tempered for: the plain update, to find an increment, by one that is known, by what is left at the end
PLAINLY, SEARCHING, STEPPING, RESTING = range(4)
# places in `options`
TARGET, UNTIL, REPEATS, FIXED, RESAMPLES, FROZEN, PLAIN_ONLY, SMOOTHS, DEADLINE, OPTIONS = range(10)


class Work(Record):
    """Everything that an annealing works on; arrays that Python owns."""

    here: Cloud
    there: Cloud
    """Two clouds that change places when particles are resampled; the idle one holds proposals."""
    scales: Scales
    chosen: Any
    """[N] which particles survive."""
    sums: Any
    """[chunks, 3] what `temper` gave for each chunk."""
    turns: Any
    """The pass that each thread is through with; see `bridge`."""
    search: Any
    """The increment that is tried or taken, and the search for it."""
    schedule: Any
    """[K] fixed temperatures, or none."""
    betas: Any
    """[stages + 1] temperatures visited."""
    acceptance: Any
    """[stages]"""
    actions: Any
    """[1, .]"""
    observations: Any
    """[1, .]"""
    options: Any
    numbers: Any


@apart
def begin(work: Work) -> None:
    """Back to the start; the particles before the action stand in `here.ancestors`, weighted by `here.log_weights`."""
    for k in range(len(work.numbers)):
        work.numbers[k] = 0.0
    work.numbers[PHASE] = START
    scales = work.scales
    for k in range(len(scales.counts)):
        for which in range(scales.counts.shape[1]):
            scales.counts[k, which] = 0
    scales.factors[0] = scales.factors[1] = 1.0
    for k in range(len(work.acceptance)):
        work.acceptance[k] = 0.0
    if work.options[FROZEN] == 0.0:  # what was fitted to other particles
        scales.count[0] = len(scales.continuous)
        for k in range(len(scales.walk)):
            for j in range(len(scales.walk)):
                scales.walk[k, j] = 1.0 if j == k else 0.0
        for k in range(len(scales.noise)):
            scales.noise[k] = 1.0


def sides(work: Work) -> tuple[Cloud, Cloud]:
    """The cloud in use and the idle one."""
    if work.numbers[SIDE] == 0.0:
        return work.here, work.there
    return work.there, work.here


def next_pass(work: Work, rng: Any) -> int:
    """The serial work up to the next pass, which it gives, or how it ended."""
    numbers, options = work.numbers, work.options
    phase = int(numbers[PHASE])
    if phase == START:
        return _next(work, PREDICT)
    if _counted(work, BAD_LIKELIHOODS) > 0:
        return BAD_LIKELIHOOD
    if _counted(work, BAD_STEPS) > 0:
        return BAD_STEP
    if phase == PREDICT:
        numbers[EVALUATIONS] += 1
        return _try(work, PLAINLY, 1.0)
    if phase == TEMPER:
        return int(_tempered(work, rng))
    if phase in (SETTLE, GATHER):
        if numbers[ENDS] > 0.0:
            return int(numbers[ENDS])
        if phase == GATHER:
            numbers[SIDE] = 1.0 - numbers[SIDE]
        numbers[SWEEPS] = 0
    if phase == SWEEP:
        _adapt(work)
    if phase == PREDICT_AGAIN:
        numbers[EVALUATIONS] += 1
    elif numbers[SWEEPS] < options[REPEATS]:
        _refit(work)
        return _next(work, SWEEP)
    return _temper(work)


@apart
def lead(work: Work, rng: Any) -> int:
    """The next pass, unless time is up."""
    phase = next_pass(work, rng)
    late = (phase == SWEEP or phase <= PREDICT_AGAIN) and now() >= work.options[DEADLINE]
    return LATE if late else phase


def _next(work: Work, phase: int) -> int:
    """A pass that may draw: its number is that of its streams."""
    work.numbers[PHASE] = phase
    work.numbers[PASS] += 1
    return phase


def _try(work: Work, goal: int, increment: float) -> int:
    """Temper by this increment, and see."""
    work.search[INCREMENT] = increment
    work.numbers[GOAL] = goal
    work.numbers[PHASE] = TEMPER
    return TEMPER


def _take(work: Work, ends: int) -> int:
    """Keep the weights that were tried, and go on or end."""
    work.numbers[ENDS] = ends
    work.numbers[PHASE] = SETTLE
    return SETTLE


@apart
def _tempered(work: Work, rng: Any) -> int:
    """What the weights tried are good for."""
    numbers, options = work.numbers, work.options
    goal = int(numbers[GOAL])
    log_sum, ratio = _sum_up(work)
    if goal == SEARCHING and not is_found(work.search, ratio, options[TARGET]):
        return _try(work, SEARCHING, work.search[INCREMENT])
    if goal == PLAINLY:
        numbers[BEFORE] = ratio
    numbers[AFTER] = ratio
    if log_sum == -math.inf:
        return DEPLETED
    if goal == PLAINLY and ratio > options[TARGET] and options[PLAIN_ONLY] == 0.0:
        _weigh_ancestors(work)
        return _next(work, PREDICT_AGAIN) if _spread(work, rng) else _temper(work)
    numbers[LOG_EVIDENCE] += log_sum
    if goal == PLAINLY:
        return _take(work, PLAIN)
    if goal == RESTING:
        return _take(work, DONE)
    return _step(work, ratio, rng)


@apart
def _sum_up(work: Work) -> tuple[float, float]:
    """Log of the sum of the weights tried, and N / ESS, from those of the chunks in their order."""
    sums, numbers = work.sums, work.numbers
    peak = -math.inf
    for chunk in range(len(sums)):
        peak = max(peak, sums[chunk, 0])
    if peak == -math.inf:
        return peak, math.inf
    total = squares = 0.0
    for chunk in range(len(sums)):
        share = exp(sums[chunk, 0] - peak)
        total += share * sums[chunk, 1]
        squares += share * share * sums[chunk, 2]
    numbers[PEAK], numbers[TOTAL] = peak, total
    return peak + math.log(total), len(work.chosen) * squares / (total * total)


def _weigh_ancestors(work: Work) -> None:
    """What ended before this step is gone, and counts in the evidence alone."""
    cloud, _ = sides(work)
    peak = -math.inf
    for i in range(len(work.chosen)):
        peak = max(peak, cloud.log_weights[i])
    total = 0.0
    for i in range(len(work.chosen)):
        cloud.weights[i] = exp(cloud.log_weights[i] - peak)
        total += cloud.weights[i]
    for i in range(len(work.chosen)):
        cloud.weights[i] /= total


def _spread(work: Work, rng: Any) -> bool:
    """Choose the axes of the walk and smooth the previous belief over them; whether that moved it.

    With a given scale a walk of states takes every continuous component: axes found from the particles would not be fixed.
    The previous belief, by contrast, is given.
    """
    cloud, _ = sides(work)
    of_ancestors = work.options[SMOOTHS] > 0.0
    if of_ancestors or work.options[FROZEN] == 0.0:
        choose_axes(cloud.ancestors if of_ancestors else cloud.states, cloud.weights, work.scales)
    _refit(work)  # for want of better where the first survivors are copies of one
    if not of_ancestors or work.scales.count[0] == 0:
        return False
    smooth(cloud, work.scales, rng)
    return True


def _temper(work: Work) -> int:
    """Paper: Alg. 4 line 4: toward the next temperature."""
    numbers, options = work.numbers, work.options
    stage, beta = int(numbers[STAGE]), numbers[BETA]
    fixed = options[FIXED] > 0.0
    until = options[UNTIL]
    if (stage >= len(work.schedule) if fixed else beta >= until) or stage >= len(work.acceptance):
        return _try(work, RESTING, 1.0 - beta)
    if fixed:
        return _try(work, STEPPING, work.schedule[stage] - beta)
    begin_search(work.search, until - beta)
    return _try(work, SEARCHING, until - beta)


def _step(work: Work, ratio: float, rng: Any) -> int:
    """Paper: Alg. 4 lines 5-11: the weights at the temperature reached, and which particles survive."""
    numbers, options = work.numbers, work.options
    stage, beta = int(numbers[STAGE]), numbers[BETA]
    fixed = options[FIXED] > 0.0
    until, increment = options[UNTIL], work.search[INCREMENT]
    numbers[BETA] = work.schedule[stage] if fixed else (until if increment == until - beta else beta + increment)
    numbers[STAGE] += 1
    work.betas[stage + 1] = numbers[BETA]
    if options[RESAMPLES] > 0.0 and (not fixed or ratio > options[TARGET]):
        cloud, _ = sides(work)
        for chunk in range(len(work.sums)):
            share = exp(work.sums[chunk, 0] - numbers[PEAK])
            if share < 1.0:  # in the unit of all, no longer in that of the chunk
                some = cloud.weights[chunk * CHUNK : chunk * CHUNK + CHUNK]
                for i in range(len(some)):
                    some[i] *= share
        choose(cloud.weights, SYSTEMATIC, rng, work.chosen)
        return _next(work, GATHER)
    return _take(work, 0)


@apart
def _refit(work: Work) -> None:
    """Proposals as wide as the cloud, unless they are frozen."""
    if work.options[FROZEN] == 0.0:
        cloud, _ = sides(work)
        rows = cloud.ancestors if work.options[SMOOTHS] > 0.0 else cloud.states
        fit(rows, cloud.weights, work.scales, work.scales.walk, 2.38 / math.sqrt(max(1, work.scales.count[0])))
        fit_noise(cloud.tapes, work.scales, 2.38 / math.sqrt(max(1, len(work.scales.noise))))


@apart
def _counted(work: Work, which: int) -> int:
    """What all chunks counted since the last look."""
    counts = work.scales.counts
    total = 0
    for chunk in range(len(counts)):
        total += counts[chunk, which]
        counts[chunk, which] = 0
    return total


@apart
def _adapt(work: Work) -> None:
    """Take the counts of a sweep and tune the proposals toward 30 % accepted."""
    scales, numbers, options = work.scales, work.numbers, work.options
    walks = options[SMOOTHS] == 0.0 or scales.count[0] > 0
    counted = _counted(work, EVALUATED) / len(work.chosen)
    numbers[EVALUATIONS] += counted if counted > 0.0 else (1 if walks else 0) + (1 if len(scales.noise) > 0 else 0)
    for which in range(2):
        share = _counted(work, ACCEPTED + which) / len(work.chosen)
        if which == (0 if walks else 1):
            work.acceptance[int(numbers[STAGE]) - 1] += share / options[REPEATS]
        if options[FROZEN] == 0.0:
            change = math.exp(0.7 * (share - 0.3) / 0.3)
            scales.factors[which] = min(3.0, max(1e-3, scales.factors[which] * min(1.5, max(0.5, change))))
    numbers[SWEEPS] += 1
