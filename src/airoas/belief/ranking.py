"""How surprising an observation is: its rank among some that are drawn from the predicted belief, by log p(o | b).

Where model and belief are right every rank is equally likely, however sharp or vague the prediction. Most observations need few draws to be
seen as usual (Besag and Clifford, 1991).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.filters.interface import as_particles
from airoas.belief.surprise import RANKS
from airoas.compiler.kernels import Bound, Record, current_mode, kernel
from airoas.compiler.specialise import noinline
from airoas.compiler.vector_exp import exp
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows, Weights
from airoas.rng import Rng, new_stream

_FEW, _UNLIKELY = 8, 2
"""Of so many the rank is looked at first; the others are drawn where it is this at most."""
_JUDGES = ((40_000, 128), (20_000, 64), (10_000, 32), (0, 16))
"""Particles that estimate p(o | b), by those of the belief: a fifth of a plain update's likelihoods at most."""
_BLOCK = 64
"""Particles whose weights are added up at a time."""


class Prediction(Record):
    """Observations drawn from a predicted belief, and particles to judge them by. Row 0 of those [R] is the observation to be ranked."""

    inspect: Bound
    step: Bound
    observe: Bound
    log_likelihoods: Bound
    points: Reals
    """[R] in rising order, of the weight from 0 to 1: where to draw from."""
    drawn: Rows
    """[R, .]"""
    goes_on: Mask
    """[R]"""
    which: Indices
    """[R] where observations come from."""
    judges: Rows
    """[M, .]"""
    judge_points: Reals
    """[M] in rising order, of the weight from 0 to 1: where to find them."""
    weights: Weights
    """[M]"""
    started: Mask
    """[M] whether the episode had not ended before the action."""
    arrived: Mask
    """[M] nor after it."""
    numbers: Indices
    """0, 1, .., [R] and then [M]."""
    judge_numbers: Indices
    rewards: Reals
    seen: Rows
    """[R, .]"""
    logs: Matrix
    """[R, M]"""
    likely: Reals
    """[R] log p(o | b) of each; where the episode ends, the log of how likely that is."""
    block: Weights
    """[_BLOCK]"""
    actions: Rows
    """[1, .]"""
    no_actions: Mask
    """[0]"""


def rank(model: KernelModel, belief: Any, action: Any, observation: Any, rng: Rng) -> int:
    """How many of RANKS observations are at most as likely as this one, itself included: from 1, unlikely, to RANKS.

    The others are drawn after the same action from the belief before it. p(o | b) is estimated for all of them by the same particles,
    and these have no part in the drawing: so ranks are fair however few they are. That the episode goes on is part of an observation.
    Where it is not among the least likely of a few, the rank among all is drawn by what it is among these: as fair, in a third of the time.
    """
    before = as_particles(belief, 4 * RANKS, rng)
    if hasattr(before, "on_device"):
        before = before.draw(min(len(before), _JUDGES[0][0]), rng)  # to be looked at here
    n = len(before)
    judges = min(n, _JUDGES[-1][1]) if n < _JUDGES[-2][0] else next(many for least, many in _JUDGES if n >= least)
    waiting = model.__dict__.setdefault("_predictions", {}).setdefault((current_mode(), judges), [])
    arguments = before.states, before.log_weights, np.empty((n + _BLOCK - 1) // _BLOCK), rng.bits(62)
    try:
        work, bound = waiting.pop()  # one that no other thread has
    except IndexError:
        work = _make(model, judges)
        bound = _rank.bind(work, *arguments)
    work.actions[0] = model.row("action", action)
    work.seen[0] = model.row("observation", observation)
    position = bound(*arguments)
    waiting.append((work, bound))
    return int(position)


def _make(model: KernelModel, judges: int) -> Prediction:
    functions, shapes = batch(model), model.shapes
    width, most = shapes.state.size, max(RANKS, judges)
    return Prediction(
        inspect=functions.inspect,
        step=functions.step,
        observe=functions.observe,
        log_likelihoods=functions.log_likelihoods,
        points=np.zeros(RANKS),
        drawn=np.zeros((RANKS, width)),
        goes_on=np.zeros(RANKS, np.bool_),
        which=np.zeros(RANKS, np.int64),
        judges=np.zeros((judges, width)),
        judge_points=np.zeros(judges),
        weights=np.zeros(judges),
        started=np.zeros(judges, np.bool_),
        arrived=np.zeros(judges, np.bool_),
        numbers=np.arange(RANKS),
        judge_numbers=RANKS + np.arange(judges),
        rewards=np.zeros(most),
        seen=np.zeros((RANKS, shapes.observation.size)),
        logs=np.zeros((RANKS, judges)),
        likely=np.zeros(RANKS),
        block=np.zeros(_BLOCK),
        actions=np.zeros((1, shapes.action.size if shapes.action else 1)),
        no_actions=np.zeros(0, np.bool_),
    )


@kernel
def _rank(work: Prediction, states: Rows, log_weights: Reals, sums: Weights, seed: int) -> int:
    own = new_stream()
    own.reseed(seed, 2, 0)
    total = 0.0
    for b in range(len(sums)):
        sums[b] = _weigh_block(work, log_weights, b)
        total += sums[b]
    _appoint(work, states, log_weights, sums, total, own)
    work.inspect(work.judges, work.started, work.no_actions)
    work.step(work.judges, work.started, work.actions, seed, work.judge_numbers, work.judges, work.rewards, work.arrived)
    key = own.uniform()  # of those as likely, each is below with this chance
    position = 1
    done = 1
    for end in (_FEW, RANKS):
        _draw(work, states, log_weights, sums, total, done, end, own)
        _predict(work, done, end, seed)
        for k in range(done, end):
            less = work.likely[k] < work.likely[0]
            position += int(less or (work.likely[k] == work.likely[0] and own.uniform() < key))
        done = end
        if position > _UNLIKELY:
            break
    for k in range(done, RANKS):
        position += int(own.uniform() * (k + 1) < position)
    return position


@noinline
def _weigh_block(work: Prediction, log_weights: Reals, b: int) -> float:
    """The sum of a block's weights, which are in `work.block` then, with zeros behind the last."""
    block = work.block
    first = b * _BLOCK
    many = min(_BLOCK, len(log_weights) - first)
    for j in range(many):  # apart from the sum, so that it becomes vector code
        block[j] = exp(log_weights[first + j])
    for j in range(many, _BLOCK):
        block[j] = 0.0
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(0, _BLOCK, 4):
        s0 += block[j]
        s1 += block[j + 1]
        s2 += block[j + 2]
        s3 += block[j + 3]
    return s0 + s1 + (s2 + s3)


@noinline
def _draw(work: Prediction, states: Rows, log_weights: Reals, sums: Weights, total: float, start: int, end: int, own: Rng) -> None:
    """Independent draws from the belief into rows start .. end, in the order of its particles."""
    points = work.points
    for k in range(start, end):
        point = own.uniform() * total
        j = k
        while j > start and points[j - 1] > point:
            points[j] = points[j - 1]
            j -= 1
        points[j] = point
        work.goes_on[k] = True
    _pick(work, states, log_weights, sums, points[start:end], work.drawn[start:end])


@noinline
def _appoint(work: Prediction, states: Rows, log_weights: Reals, sums: Weights, total: float, own: Rng) -> None:
    """Judges, all of one weight: particles at even distances of the belief's weight; itself where it has no more than that."""
    n = len(work.judges)
    if n == len(states):
        for j in range(n):
            for c in range(states.shape[1]):  # to assign a slice takes numba two seconds to compile
                work.judges[j, c] = states[j, c]
            work.weights[j] = exp(log_weights[j])
            work.started[j] = work.weights[j] > 0.0
        return
    first = own.uniform()
    for j in range(n):
        work.judge_points[j] = min((first + j) / n, 1.0 - 2e-16) * total
        work.weights[j] = 1.0 / n
        work.started[j] = True
    _pick(work, states, log_weights, sums, work.judge_points, work.judges)


@noinline
def _pick(work: Prediction, states: Rows, log_weights: Reals, sums: Weights, points: Reals, into: Rows) -> None:
    """The particles at points of the weight, which are in rising order: one pass over the blocks finds them."""
    b = -1
    reached, behind = 0.0, 0.0  # by the blocks before b, and by b too
    for k in range(len(points)):
        if behind <= points[k]:
            while behind <= points[k] and b + 1 < len(sums):
                b += 1
                reached = behind
                behind = reached + sums[b]
            _weigh_block(work, log_weights, b)
            within = reached
            i = 0
            last = 0  # of positive weight
        while i < _BLOCK and (work.block[last] == 0.0 or within <= points[k]):
            if work.block[i] > 0.0:
                last = i
                within += work.block[i]
            i += 1
        for c in range(states.shape[1]):
            into[k, c] = states[b * _BLOCK + last, c]


@noinline
def _predict(work: Prediction, start: int, end: int, seed: int) -> None:
    """What follows from the states drawn into rows start .. end, and how likely that is by the judges; of row 0 too, with the first."""
    drawn, goes_on, numbers = work.drawn[start:end], work.goes_on[start:end], work.numbers[start:end]
    work.inspect(drawn, goes_on, work.no_actions)
    work.step(drawn, goes_on, work.actions, seed, numbers, drawn, work.rewards, goes_on)
    some = -1
    for j in range(len(drawn)):
        some = j if goes_on[j] else some
    if some >= 0:
        for j in range(len(drawn)):
            work.which[j] = j if goes_on[j] else some  # where it ended nothing is seen
        work.observe(drawn, work.which[: len(drawn)], work.actions, seed, numbers, work.seen[start:end])
    else:
        for k in range(start, end):
            for c in range(work.seen.shape[1]):
                work.seen[k, c] = work.seen[0, c]
    first = 0 if start == 1 else start
    work.log_likelihoods(work.judges, work.arrived, work.seen[first:end], work.actions, work.logs[first:end])
    ended = 0.0
    for j in range(len(work.judges)):
        ended += work.weights[j] if work.started[j] and not work.arrived[j] else 0.0
    for k in range(first, end):
        peak = -math.inf
        for j in range(len(work.judges)):
            peak = max(peak, work.logs[k, j])
        total = 0.0
        if k > 0 and not work.goes_on[k]:
            peak, total = 0.0, ended
        elif peak > -math.inf:
            for j in range(len(work.judges)):  # apart from the sum, so that it becomes vector code
                work.logs[k, j] = work.weights[j] * exp(work.logs[k, j] - peak)
            for j in range(len(work.judges)):
                total += work.logs[k, j]
        work.likely[k] = peak + math.log(total) if total > 0.0 else -math.inf
