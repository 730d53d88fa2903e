"""Tempered sequential Monte Carlo from a belief to its posterior: predict, then solve the increment, reweigh, resample, move.

Paper: Alg. 4. Differs: each temperature is chosen so that N/ESS reaches the target (or taken from a schedule that ends at
1), weights are carried, and the rest L^(1 - beta) is paid when it stops early. See Del Moral, Doucet and Jasra (2006).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.belief.tempering.clusters import find_clusters, make_clusters, most_clusters
from airoas.belief.tempering.functions import bind_functions, is_finite, is_no_density
from airoas.belief.tempering.moves import ANCESTORS, BAD_LIKELIHOOD, BAD_STATE, BAD_STEP, MOVES, OK, Swept, sweep
from airoas.belief.tempering.noise_record import size
from airoas.belief.tempering.schedule import reweigh, solve_increment, take_step
from airoas.belief.tempering.smoothing import smooth
from airoas.belief.tempering.system import Proposals, System, choose_axes, copy_particle, fit_covariances, fit_noise
from airoas.compiler.clock import now
from airoas.compiler.kernels import Bound, Record, kernel
from airoas.compiler.lanes import WARP, lanes
from airoas.compiler.specialise import noinline
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows, Weights
from airoas.rng import hash_key, new_stream

# how it ended, besides the failures of a move
PLAIN, DONE, DEPRIVED, LATE = 10, 11, 12, 13
ALIVE = 1e-300
"""The temperature just above 0, at which only a likelihood of 0 counts."""
MOST_STAGES = 256
MOST_DRAWS = 64
"""Of one simulated step that go on record; later ones are drawn afresh."""


class Tempering(Record):
    """A tempering: the model's functions, two particle systems, options and what comes out."""

    inspect: Bound
    step: Bound
    log_likelihoods: Bound
    replay: Bound
    sweep: Bound
    mutate: Bound
    weigh_transitions: Bound
    first: System
    second: System
    """They change places when particles are resampled; the idle one holds proposals."""
    swapped: bool
    """Whether the second one is in use."""
    proposals: Proposals
    chosen: Indices
    """[N] which particles survive."""
    numbers: Indices
    """[N] 0, 1, .."""
    row: Matrix
    """[1, N] room for likelihoods."""
    rewards: Reals
    """[N] room."""
    no_actions: Mask
    """[0] for `inspect`, which need not look at actions."""
    schedule: Reals
    """[K] temperatures, where they are fixed."""
    betas: Reals
    """[stages + 1] temperatures visited."""
    acceptance: Reals
    """[stages]"""
    actions: Rows
    """[1, .]"""
    observations: Rows
    """[1, .]"""
    move: int
    """Index into MOVES."""
    target: float
    """r*: N / ESS that one step of temperature may cause."""
    until: float
    """The temperature to stop at; the rest goes into the weights."""
    repeats: int
    """Sweeps at each temperature."""
    resamples: bool
    fixed: bool
    """Whether the temperatures are those of `schedule`; else they are found."""
    frozen: bool
    """Whether the proposals stay as wide as they are."""
    plain_only: bool
    is_anytime: bool
    """Whether it weighs by the rest where the deadline comes; else it gives up."""
    deadline: float
    beta: float
    stage: int
    n_passes: int
    """Passes that drew: each has a seed of its own."""
    log_evidence: float
    before: float
    after: float
    """N / ESS of the plain update, and at the end."""
    evaluations: float
    """Likelihoods, per particle."""


def make_tempering(
    model: KernelModel, n: int, move: str, draws: int, schedule: np.ndarray, scale: float | None, **options: Any
) -> Tempering:
    """For n particles at a time.

    draws: those of a step that go on record. schedule: temperatures; none where they are to be found, unless the option `fixed`
    says otherwise. scale: of proposals that stay as wide as they are; None where they follow the particles. options: fields.
    """
    layouts, functions = model.shapes, batch(model)
    width = layouts.state.size
    continuous = np.flatnonzero(np.array(layouts.state.kinds) == "float")
    c = len(continuous)
    most = most_clusters(n) if move == "ancestors" else 1
    recorded = size(min(draws, MOST_DRAWS))
    systems = (
        System(
            ancestors=np.zeros((rows, width)),
            centres=np.zeros((rows, width if move == "ancestors" else 0)),
            records=np.zeros((rows, recorded)),
            states=np.zeros((rows, width)),
            labels=np.zeros(rows, np.int64),
            alive=np.zeros(n, np.bool_),
            log_weights=np.zeros(rows),
            weights=np.zeros(rows),
            log_likelihoods=np.zeros(rows),
        )
        for rows in (n, 1 if options.get("plain_only") else n)  # a plain update needs but `alive` of the second
    )
    proposals = Proposals(
        continuous=continuous,
        axes=continuous.copy(),
        n_axes=c,
        clusters=make_clusters(most),
        kernels=np.zeros((most, c, c)),
        shrinks=np.zeros(most),
        boxes=np.zeros((most, 2, c)),
        walks=np.tile(np.eye(c) * (scale or 1.0), (most, 1, 1)),
        noise=np.full((recorded - 1) // 2, scale or 1.0),
        walk_scale=1.0,
        noise_scale=1.0,
        masses=np.zeros(most),
        means=np.zeros((most, max(c, 1))),
        spreads=np.zeros((most, c, c)),
        z=np.zeros((WARP, max(c, 1))),
    )
    stages = len(schedule) or MOST_STAGES
    work = Tempering(
        inspect=functions.inspect,
        step=functions.step,
        log_likelihoods=functions.log_likelihoods,
        **bind_functions(model, move),
        first=next(systems),
        second=next(systems),
        swapped=False,
        proposals=proposals,
        chosen=np.zeros(n, np.int64),
        numbers=np.arange(n),
        row=np.zeros((1, n)),
        rewards=np.zeros(n),
        no_actions=np.zeros(0, np.bool_),
        schedule=np.array(schedule, np.float64),
        betas=np.zeros(stages + 1),
        acceptance=np.zeros(stages),
        actions=np.zeros((1, layouts.action.size if layouts.action else 1)),
        observations=np.zeros((1, layouts.observation.size)),
        move=MOVES.index(move),
        target=2.0,
        until=1.0,
        repeats=2,
        resamples=True,
        fixed=len(schedule) > 0,
        frozen=scale is not None,
        plain_only=False,
        is_anytime=False,
        deadline=math.inf,
        beta=0.0,
        stage=0,
        n_passes=0,
        log_evidence=0.0,
        before=0.0,
        after=0.0,
        evaluations=0.0,
    )
    for name, value in options.items():
        setattr(work, name, value)
    return work


def in_use(work: Tempering) -> System:
    return work.second if work.swapped else work.first


def idle_one(work: Tempering) -> System:
    return work.first if work.swapped else work.second


@noinline
def begin(work: Tempering) -> None:
    """Back to the start. The particles before the action stand in first.ancestors, weighted by first.log_weights, and those of
    positive weight are marked in first.alive."""
    work.swapped = False
    work.beta, work.stage, work.n_passes, work.log_evidence, work.evaluations = 0.0, 0, 0, 0.0, 0.0
    for k in range(len(work.acceptance)):
        work.acceptance[k] = 0.0
    if work.move == ANCESTORS:
        clear(work.first.records)
    proposals = work.proposals
    proposals.walk_scale = proposals.noise_scale = 1.0
    proposals.clusters.count = 1
    proposals.n_axes = len(proposals.continuous)
    for k in range(len(proposals.axes)):
        proposals.axes[k] = proposals.continuous[k]
    if not work.frozen:  # what was fitted to other particles
        for k in range(len(proposals.axes)):
            for j in range(len(proposals.axes)):
                proposals.walks[0, k, j] = 1.0 if j == k else 0.0
        for k in range(len(proposals.noise)):
            proposals.noise[k] = 1.0


def clear(rows: Rows) -> None:
    for i in lanes(len(rows)):
        for k in range(rows.shape[1]):
            rows[i, k] = 0.0


def next_seed(work: Tempering, seed: int) -> int:
    """Of the next pass that draws."""
    work.n_passes += 1
    return hash_key(seed, work.n_passes, 0)


@noinline
def predict(work: Tempering, seed: int) -> int:
    """One step of every ancestor, its draws on record where the move needs them, and the likelihood of the observation: 0 in a state
    that is not finite."""
    work.evaluations += 1.0
    bad, _ = predict_particles(work, in_use(work), idle_one(work).alive, seed)
    return OK if bad == 0 else BAD_LIKELIHOOD


def predict_particles(work: Tempering, system: System, arrived: Mask, seed: int) -> tuple[int, int]:
    """The same; how many likelihoods were no density, and how many states are not finite. arrived: room."""
    n = len(work.chosen)
    endless = 0
    if work.move == ANCESTORS:
        rows = system.ancestors, system.alive, system.records, work.actions, work.observations
        bad = int(work.replay(*rows, seed, system.states, system.log_likelihoods))
        for i in lanes(n):
            if not is_finite(system.states, i):
                system.log_likelihoods[i] = -math.inf
                endless += int(system.alive[i])
        return bad, endless
    work.step(system.ancestors, system.alive, work.actions, seed, work.numbers, system.states, work.rewards, arrived)
    work.log_likelihoods(system.states, arrived, work.observations, work.actions, work.row)
    bad = 0
    for i in lanes(n):
        finite = is_finite(system.states, i)
        bad += int(finite and is_no_density(work.row[0, i]))
        endless += int(system.alive[i] and not finite)
        system.log_likelihoods[i] = work.row[0, i] if finite else -math.inf
    return bad, endless


@kernel
def temper(work: Tempering, seed: int) -> int:
    """From the particles before the action, in first.ancestors with first.log_weights, to those that follow the observation; how
    it ended."""
    begin(work)
    bring_to_life(work, work.first)
    work.evaluations += 1.0
    bad, endless = predict_particles(work, work.first, work.second.alive, next_seed(work, seed))
    if endless > 0:
        return BAD_STATE
    return int(temper_prediction(work, seed)) if bad == 0 else BAD_LIKELIHOOD


def bring_to_life(work: Tempering, system: System) -> None:
    """Those of positive weight in which the episode goes on are alive; the others have no weight, and stay where they are."""
    for i in lanes(len(system.alive)):
        system.alive[i] = system.log_weights[i] > -math.inf
    work.inspect(system.ancestors, system.alive, work.no_actions)
    for i in lanes(len(system.alive)):
        if not system.alive[i]:  # the episode would have ended there
            system.log_weights[i] = -math.inf
            for k in range(system.states.shape[1]):
                system.states[i, k] = system.ancestors[i, k]


def temper_prediction(work: Tempering, seed: int) -> int:
    """The same once the prediction is there."""
    system, n = in_use(work), len(work.chosen)
    peak, total, squares = reweigh(system.log_weights, system.log_likelihoods, 1.0, system.weights)
    if peak == -math.inf:
        return DEPRIVED
    work.before = work.after = n * squares / (total * total)
    if work.before <= work.target or work.plain_only:
        work.log_evidence = peak + math.log(total)
        take_step(system.log_weights, system.log_likelihoods, 1.0, work.log_evidence, system.weights, total)
        return PLAIN
    if now() >= work.deadline and not work.is_anytime:
        return LATE
    status = spread(work, seed)
    if status != OK:
        return int(status)
    while work.stage < len(work.schedule) if work.fixed else work.beta < work.until and work.stage < MOST_STAGES:
        status = next_temperature(work, seed)
        if status == LATE and work.is_anytime:
            break
        if status != OK:
            return int(status)
    system = in_use(work)
    rest = 1.0 - work.beta
    peak, total, squares = reweigh(system.log_weights, system.log_likelihoods, rest, system.weights)
    if peak == -math.inf:
        return DEPRIVED
    work.log_evidence += peak + math.log(total)
    work.after = n * squares / (total * total)
    take_step(system.log_weights, system.log_likelihoods, rest, peak + math.log(total), system.weights, total)
    return DONE


@noinline
def spread(work: Tempering, seed: int) -> int:
    """Choose the axes of the walk and smooth the previous belief over them, which predicts anew.

    With a given scale a walk of states takes every continuous component: axes found from the particles would not be fixed.
    The previous belief, by contrast, is given.
    """
    system, proposals = in_use(work), work.proposals
    # what ended before this step is gone, and counts in the evidence alone
    _, total, _ = reweigh(system.log_weights, system.log_weights, 0.0, system.weights)
    divide(system.weights, total)
    of_ancestors = work.move == ANCESTORS
    if of_ancestors or not work.frozen:
        choose_axes(system.ancestors if of_ancestors else system.states, system.weights, proposals)
    if of_ancestors and proposals.n_axes > 0:
        find_clusters(*(proposals.clusters, system.ancestors, system.weights, proposals.axes, proposals.n_axes), work.chosen, system.labels)
    fit_proposals(work)  # for want of better where the first survivors are copies of one
    if not of_ancestors or proposals.n_axes == 0:
        return OK
    smooth(system, proposals, next_seed(work, seed))
    return LATE if now() >= work.deadline and not work.is_anytime else int(predict(work, next_seed(work, seed)))


def divide(weights: Weights, total: float) -> None:
    for i in lanes(len(weights)):
        weights[i] /= total


@noinline
def next_temperature(work: Tempering, seed: int) -> int:
    """Paper: Alg. 4 lines 4-12."""
    system, n, beta, fixed = in_use(work), len(work.chosen), work.beta, work.fixed
    remaining = work.until - beta
    if fixed:
        increment = work.schedule[work.stage] - beta
        peak, total, squares = reweigh(system.log_weights, system.log_likelihoods, increment, system.weights)
    else:
        increment, peak, total, squares = solve_increment(
            system.log_weights, system.log_likelihoods, remaining, work.target, system.weights
        )
    if peak == -math.inf:
        return DEPRIVED
    work.log_evidence += peak + math.log(total)
    work.after = n * squares / (total * total)
    work.beta = work.schedule[work.stage] if fixed else (work.until if increment == remaining else beta + increment)
    work.stage += 1
    work.betas[work.stage] = work.beta
    if work.resamples and (not fixed or work.after > work.target):
        own = new_stream()
        own.reseed(next_seed(work, seed), 0, 0)
        choose(system.weights, SYSTEMATIC, own, work.chosen)
        survive(idle_one(work), system, work.chosen)
        work.swapped = not work.swapped
    else:
        take_step(system.log_weights, system.log_likelihoods, increment, peak + math.log(total), system.weights, total)
    for _ in range(work.repeats):
        if now() >= work.deadline:
            return LATE
        fit_proposals(work)
        swept = sweep(work, in_use(work), idle_one(work), max(work.beta, ALIVE), next_seed(work, seed))
        if swept.bad > 0:
            return BAD_LIKELIHOOD
        if swept.bad_steps > 0:
            return BAD_STEP
        adapt(work, swept)
    return OK


def survive(target: System, source: System, chosen: Indices) -> None:
    """The chosen particles, with equal weights."""
    n = len(chosen)
    for j in lanes(n):
        copy_particle(target, j, source, chosen[j])
        target.labels[j] = source.labels[chosen[j]]
        target.log_weights[j] = -math.log(n)
        target.weights[j] = 1.0 / n


@noinline
def fit_proposals(work: Tempering) -> None:
    """Proposals as wide as the particle system, unless they are frozen."""
    if not work.frozen:
        system, proposals = in_use(work), work.proposals
        rows = system.ancestors if work.move == ANCESTORS else system.states
        fit_covariances(rows, system.weights, system.labels, proposals, proposals.walks, 2.38 / math.sqrt(max(1, proposals.n_axes)))
        fit_noise(system.records, proposals, 2.38 / math.sqrt(max(1, len(proposals.noise))))


@noinline
def adapt(work: Tempering, swept: Swept) -> None:
    """Take the counts of a sweep and tune the proposals toward 30 % accepted."""
    n, proposals = len(work.chosen), work.proposals
    walks = work.move != ANCESTORS or proposals.n_axes > 0
    work.evaluations += swept.evaluated / n
    walked, stepped = swept.accepted / n, swept.noise_accepted / n
    work.acceptance[work.stage - 1] += (walked if walks else stepped) / work.repeats
    if not work.frozen:
        proposals.walk_scale = tuned(proposals.walk_scale, walked)
        proposals.noise_scale = tuned(proposals.noise_scale, stepped)


def tuned(scale: float, accepted: float) -> float:
    change = math.exp(0.7 * (accepted - 0.3) / 0.3)
    return min(3.0, max(1e-3, scale * min(1.5, max(0.5, change))))


__all__ = ["BAD_LIKELIHOOD", "BAD_STEP", "DEPRIVED", "DONE", "LATE", "PLAIN", "Tempering", "begin", "make_tempering", "temper"]
