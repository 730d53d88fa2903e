"""The bridge from a belief to its posterior: serial work and passes over the particles by turns.

Paper: Alg. 4. Differs: each temperature is chosen so that N/ESS reaches the target (or taken from a schedule that ends at
1), weights are carried, and the rest L^(1 - beta) is paid when it stops early.

`next_pass` does the serial work up to the next pass over the particles and names that pass; `run_pass` does the pass for one
chunk of particles with a stream of the chunk's own, so that chunks may run in threads and give the same result to the last
bit. `bridge_by` gives both as one kernel.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from airoas.arithmetic import exp
from airoas.belief import moves
from airoas.belief.cloud import (
    ACCEPTED,
    BAD_LIKELIHOODS,
    BAD_STEPS,
    CHUNK,
    EVALUATED,
    Cloud,
    Scales,
    choose_axes,
    copy_particle,
    fit,
    fit_noise,
    smooth,
)
from airoas.belief.moves import likelihood_of
from airoas.belief.resample import SYSTEMATIC, choose
from airoas.belief.tape import tape
from airoas.belief.temper import next_increment, reweigh
from airoas.clock import now
from airoas.compile import Kernel, Record, kernel
from airoas.link import apart

MOVES: dict[str, Any] = {
    "move": moves.own_move,
    "gibbs": moves.gibbs,
    "mutate": moves.mutation,
    "ancestors": moves.ancestors_and_noise,
    "walk": moves.walk,
    "resimulate": moves.resimulation,
}

# what `next_pass` gives: a pass to run, or how it ended
PREDICT, PREDICT_AGAIN, GATHER, SWEEP, PLAIN, DONE, DEPLETED, BAD_LIKELIHOOD, BAD_STEP, LATE = range(10)
FIRST_END = PLAIN
START = -1
WHOLE, SERIAL = -2, -1  # instead of a chunk's number

# places in `numbers`
PHASE, PASS, SIDE, BETA, STAGE, SWEEPS, LOG_EVIDENCE, BEFORE, AFTER, EVALUATIONS, NUMBERS = range(11)
# places in `options`
TARGET, UNTIL, REPEATS, FIXED, RESAMPLES, FROZEN, PLAIN_ONLY, SMOOTHS, DEADLINE, OPTIONS = range(10)

ALIVE = 1e-300  # the temperature just above 0, at which only a likelihood of 0 counts


class Work(Record):
    """Everything that an annealing works on; arrays that Python owns."""

    here: Cloud
    there: Cloud
    """Two clouds that change places when particles are resampled; the idle one holds proposals."""
    scales: Scales
    chosen: Any
    """[N] which particles survive."""
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


@apart
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
        ended = _plain(work)
        if ended >= 0:
            return ended
        if _spread(work, rng):
            return _next(work, PREDICT_AGAIN)
    if phase == PREDICT_AGAIN:
        numbers[EVALUATIONS] += 1
    if phase == GATHER:
        numbers[SIDE] = 1.0 - numbers[SIDE]
        if options[REPEATS] > 0.0:
            _refit(work)
            return _next(work, SWEEP)
    if phase == SWEEP:
        _adapt(work)
        if numbers[SWEEPS] < options[REPEATS]:
            _refit(work)
            return _next(work, SWEEP)
    return _temper(work, rng)


def _next(work: Work, phase: int) -> int:
    work.numbers[PHASE] = phase
    work.numbers[PASS] += 1
    return phase


def _plain(work: Work) -> int:
    """PLAIN where the plain update is good enough or asked for, DEPLETED where nothing is alive, else -1."""
    cloud, spare = sides(work)
    numbers, options = work.numbers, work.options
    for i in range(len(work.chosen)):  # `reweigh` changes them, and the bridge starts from those before the observation
        spare.log_weights[i] = cloud.log_weights[i]
    log_sum, ratio = reweigh(cloud.log_weights, cloud.log_likelihoods, 1.0, cloud.weights)
    numbers[BEFORE] = numbers[AFTER] = ratio
    if log_sum == -math.inf:
        return DEPLETED
    if ratio <= options[TARGET] or options[PLAIN_ONLY] > 0.0:
        numbers[LOG_EVIDENCE] = log_sum
        return PLAIN
    peak = -math.inf
    for i in range(len(work.chosen)):
        cloud.log_weights[i] = spare.log_weights[i]
        peak = max(peak, cloud.log_weights[i])
    total = 0.0
    for i in range(len(work.chosen)):
        cloud.weights[i] = exp(cloud.log_weights[i] - peak)
        total += cloud.weights[i]
    for i in range(len(work.chosen)):  # what ended before this step is gone, and counts in the evidence alone
        cloud.weights[i] /= total
    return -1


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


def _temper(work: Work, rng: Any) -> int:
    """Paper: Alg. 4 lines 4-11: the next temperature, its weights and evidence, and which particles survive."""
    cloud, _ = sides(work)
    numbers, options = work.numbers, work.options
    stage, beta = int(numbers[STAGE]), numbers[BETA]
    fixed = options[FIXED] > 0.0
    until = options[UNTIL]
    if (stage >= len(work.schedule) if fixed else beta >= until) or stage >= len(work.acceptance):
        log_sum, ratio = reweigh(cloud.log_weights, cloud.log_likelihoods, 1.0 - beta, cloud.weights)
        numbers[LOG_EVIDENCE] += log_sum
        numbers[AFTER] = ratio
        return DONE if log_sum > -math.inf else DEPLETED
    increment = (
        work.schedule[stage] - beta if fixed else next_increment(cloud.log_weights, cloud.log_likelihoods, until - beta, options[TARGET])
    )
    log_sum, ratio = reweigh(cloud.log_weights, cloud.log_likelihoods, increment, cloud.weights)
    if log_sum == -math.inf:
        return DEPLETED
    numbers[LOG_EVIDENCE] += log_sum
    numbers[BETA] = work.schedule[stage] if fixed else (until if increment == until - beta else beta + increment)
    numbers[STAGE] += 1
    work.betas[stage + 1] = numbers[BETA]
    numbers[SWEEPS] = 0
    if options[RESAMPLES] > 0.0 and (not fixed or ratio > options[TARGET]):
        choose(cloud.weights, SYSTEMATIC, rng, work.chosen)
        return _next(work, GATHER)
    if options[REPEATS] == 0.0:
        return _temper_again(work)
    _refit(work)
    return _next(work, SWEEP)


def _temper_again(work: Work) -> int:
    """A pass over nothing, so that a fixed schedule without moves goes on to its next temperature."""
    for i in range(len(work.chosen)):
        work.chosen[i] = i
    return _next(work, GATHER)


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


def _predict(model: Any, work: Work, lo: int, hi: int, rng: Any) -> None:
    """Simulate each ancestor one step, its draws on tape, and weigh the observation."""
    cloud, _ = sides(work)
    a = model.read_action(work.actions, 0)
    o = model.read_observation(work.observations, 0)
    for i in range(lo, hi):
        s = model.read_state(cloud.ancestors, i)
        if cloud.log_weights[i] == -math.inf or model.is_terminal(s):  # the episode would have ended there
            cloud.log_weights[i] = -math.inf
            cloud.log_likelihoods[i] = -math.inf
            model.write_state(cloud.states, i, s)
            continue
        for k in range(cloud.tapes.shape[1]):
            cloud.tapes[i, k] = 0.0
        s2, _ = model.step(s, a, tape(rng, cloud.tapes, i))
        cloud.log_likelihoods[i] = likelihood_of(model, o, s2, a, work.scales, i)
        model.write_state(cloud.states, i, s2)


@apart
def _gather(work: Work, lo: int, hi: int) -> None:
    cloud, spare = sides(work)
    equal = -math.log(len(work.chosen))
    for j in range(lo, hi):
        copy_particle(spare, j, cloud, work.chosen[j])
        spare.log_weights[j] = equal
        spare.weights[j] = 1.0 / len(work.chosen)


@functools.cache
def bridge_by(name: str) -> Kernel:
    """`bridge` as a kernel; sweeps are `MOVES[name]`."""
    sweep = MOVES[name]

    def run_pass(model: Any, work: Work, phase: int, chunk: int, seed: int, rng: Any) -> None:
        """One chunk of a pass, with the stream of (seed, pass, chunk)."""
        lo = chunk * CHUNK
        hi = min(len(work.chosen), lo + CHUNK)
        if phase <= PREDICT_AGAIN:
            own = rng.local()
            own.reseed(seed, int(work.numbers[PASS]), chunk)
            _predict(model, work, lo, hi, own)
        elif phase == GATHER:
            _gather(work, lo, hi)
        else:
            cloud, spare = sides(work)
            a = model.read_action(work.actions, 0)
            o = model.read_observation(work.observations, 0)
            other = rng.local()  # not the same as above: a stream that a tape points to does not stay in registers
            other.reseed(seed, int(work.numbers[PASS]), chunk)
            sweep(model, cloud, spare, lo, hi, a, o, max(work.numbers[BETA], ALIVE), work.scales, other)

    def bridge(model: Any, work: Work, chunk: int, seed: int, rng: Any) -> int:
        """How the bridge ended. chunk: WHOLE; or that chunk of the present pass alone; or SERIAL, the work up to the next pass."""
        phase = int(work.numbers[PHASE])
        while True:
            if chunk < 0:
                phase = next_pass(work, rng)
            if phase >= FIRST_END or chunk == SERIAL:
                return phase
            if chunk == WHOLE and now() >= work.options[DEADLINE]:
                return LATE
            first, last = (chunk, chunk) if chunk >= 0 else (0, len(work.scales.counts) - 1)
            for here in range(first, last + 1):
                run_pass(model, work, phase, here, seed, rng)
            if chunk >= 0:
                return phase

    return kernel(bridge)
