"""Whether a belief is lost: how unlikely what is seen is by what the belief itself predicted.

An observation is ranked among some that are drawn from the predicted belief, by log p(o | b). Where model and belief are right every
rank is equally likely, however sharp or vague the prediction. A small rank is evidence against the belief, by a factor that is 1 in
expectation where all is well; the factors multiply up, and are never let fall below 1 in all (Page, 1954). Then the mean time to a false
alarm is at least 1 / (false-alarm rate) steps, with no assumption on the model (Shin, Ramdas and Rinaldo, 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.filters.interface import as_particles
from airoas.compiler.kernels import Bound, Record, current_mode, kernel
from airoas.compiler.specialise import noinline
from airoas.compiler.vector_exp import exp
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows, Weights
from airoas.rng import Rng, new_stream

RANKS = 64
"""The observation, and those drawn to compare it with."""
_EVIDENCE = [RANKS / rank / sum(1.0 / r for r in range(1, RANKS + 1)) for rank in range(1, RANKS + 1)]
"""The factor of each rank, the smallest first; their mean is 1."""
_CALM = 0.5
"""The surprise below which a belief that was lost is not so any more."""
_JUDGES = {40_000: 128, 20_000: 64, 0: 32}
"""Particles that estimate p(o | b), by those of the belief: a fifth of a plain update's likelihoods at most."""


class LostWarning(RuntimeWarning):
    """What is seen contradicts what the belief predicts."""


@dataclass(frozen=True)
class Surprise:
    """The evidence against a belief that has mounted up."""

    level: float = 0.0
    """0 where observations are as predicted, 1 where the belief is lost."""
    lost: bool = False
    """From level 1 on, until the level has fallen below a half."""

    def after(self, rank: int, false_alarms: float) -> Surprise:
        """With one more observation, of that rank; false_alarms: for each step, by chance."""
        level = min(1.0, max(0.0, self.level + math.log(_EVIDENCE[rank - 1]) / -math.log(false_alarms)))
        return Surprise(level, level >= 1.0 or (self.lost and level >= _CALM))


class Prediction(Record):
    """Observations drawn from a predicted belief, and particles to judge them by."""

    inspect: Bound
    step: Bound
    observe: Bound
    log_likelihoods: Bound
    points: Reals
    """[R - 1] in rising order, of the weight from 0 to 1: where to draw from."""
    drawn: Rows
    """[R - 1, .]"""
    goes_on: Mask
    """[R - 1]"""
    which: Indices
    """[R - 1] where observations come from."""
    judges: Rows
    """[M, .]"""
    weights: Weights
    """[M]"""
    started: Mask
    """[M] whether the episode had not ended before the action."""
    arrived: Mask
    """[M] nor after it."""
    numbers: Indices
    """0, 1, .., [R - 1] and then [M]."""
    judge_numbers: Indices
    rewards: Reals
    seen: Rows
    """[R, .] the observations drawn, and the one to be ranked."""
    logs: Matrix
    """[R, M]"""
    likely: Reals
    """[R] log p(o | b) of each; where the episode ends, the log of how likely that is."""
    observation: Rows
    """[1, .]"""
    actions: Rows
    """[1, .]"""
    no_actions: Mask
    """[0]"""


def rank(model: KernelModel, belief: Any, action: Any, observation: Any, rng: Rng) -> int:
    """How many of RANKS observations are at most as likely as this one, itself included: from 1, unlikely, to RANKS.

    The others are drawn after the same action from the belief before it. p(o | b) is estimated for all of them by the same particles,
    and these have no part in the drawing: so ranks are fair however few they are. That the episode goes on is part of an observation.
    """
    before = as_particles(belief, 4 * RANKS, rng)
    if hasattr(before, "on_device"):
        before = before.draw(min(len(before), max(_JUDGES)), rng)  # to be looked at here
    judges = min(len(before), next(many for least, many in _JUDGES.items() if len(before) >= least))
    waiting = model.__dict__.setdefault("_predictions", {}).setdefault((current_mode(), judges), [])
    try:
        work = waiting.pop()  # one that no other thread has
    except IndexError:
        work = _make(model, judges)
    work.actions[:] = model.row("action", action)
    work.observation[:] = model.row("observation", observation)
    position = int(_rank(work, before.states, before.log_weights, np.empty(len(before)), rng.bits(62)))
    waiting.append(work)
    return position


def _make(model: KernelModel, judges: int) -> Prediction:
    functions, shapes = batch(model), model.shapes
    width, others, most = shapes.state.size, RANKS - 1, max(RANKS, judges)
    return Prediction(
        inspect=functions.inspect,
        step=functions.step,
        observe=functions.observe,
        log_likelihoods=functions.log_likelihoods,
        points=np.zeros(others),
        drawn=np.zeros((others, width)),
        goes_on=np.zeros(others, np.bool_),
        which=np.zeros(others, np.int64),
        judges=np.zeros((judges, width)),
        weights=np.zeros(judges),
        started=np.zeros(judges, np.bool_),
        arrived=np.zeros(judges, np.bool_),
        numbers=np.arange(others),
        judge_numbers=others + np.arange(judges),
        rewards=np.zeros(most),
        seen=np.zeros((RANKS, shapes.observation.size)),
        logs=np.zeros((RANKS, judges)),
        likely=np.zeros(RANKS),
        observation=np.zeros((1, shapes.observation.size)),
        actions=np.zeros((1, shapes.action.size if shapes.action else 1)),
        no_actions=np.zeros(0, np.bool_),
    )


@kernel
def _rank(work: Prediction, states: Rows, log_weights: Reals, weights: Weights, seed: int) -> int:
    own = new_stream()
    own.reseed(seed, 2, 0)
    for i in range(len(states)):  # apart from the sums, so that it becomes vector code
        weights[i] = exp(log_weights[i])
    _draw(work, states, weights, own)
    _appoint(work, states, weights, own)
    work.inspect(work.drawn, work.goes_on, work.no_actions)
    work.step(work.drawn, work.goes_on, work.actions, seed, work.numbers, work.drawn, work.rewards, work.goes_on)
    work.inspect(work.judges, work.started, work.no_actions)
    work.step(work.judges, work.started, work.actions, seed, work.judge_numbers, work.judges, work.rewards, work.arrived)
    some = -1
    for j in range(len(work.drawn)):
        some = j if work.goes_on[j] else some
    for j in range(len(work.drawn)):
        work.which[j] = j if work.goes_on[j] else some  # where it ended nothing is seen
    if some >= 0:
        work.observe(work.drawn, work.which, work.actions, seed, work.numbers, work.seen)
    last = len(work.drawn)
    for k in range(work.seen.shape[1]):
        work.seen[last, k] = work.observation[0, k]
        for j in range(last if some < 0 else 0):
            work.seen[j, k] = work.observation[0, k]
    work.log_likelihoods(work.judges, work.arrived, work.seen, work.actions, work.logs)
    return int(_locate(work, own))


@noinline
def _draw(work: Prediction, states: Rows, weights: Weights, own: Rng) -> None:
    """Independent draws from the belief: points in order, so that one pass over the weights finds them."""
    points = work.points
    for k in range(len(points)):
        point = own.uniform()
        j = k
        while j > 0 and points[j - 1] > point:
            points[j] = points[j - 1]
            j -= 1
        points[j] = point
    total = 0.0
    end = 0
    for i in range(len(weights)):
        total += weights[i]
        end = i if weights[i] > 0.0 else end
    i = 0
    reached = weights[0]
    for k in range(len(points)):
        while reached <= points[k] * total and i < end:
            i += 1
            reached += weights[i]
        for c in range(states.shape[1]):
            work.drawn[k, c] = states[i, c]
        work.goes_on[k] = True


@noinline
def _appoint(work: Prediction, states: Rows, weights: Weights, own: Rng) -> None:
    """Judges: particles at even distances, with their weights."""
    stride = len(states) // len(work.judges)
    first = own.integer(stride)
    for j in range(len(work.judges)):
        i = first + j * stride
        for c in range(states.shape[1]):
            work.judges[j, c] = states[i, c]
        work.weights[j] = weights[i]
        work.started[j] = weights[i] > 0.0


@noinline
def _locate(work: Prediction, own: Rng) -> int:
    """The rank of the last observation by the judges; a random one of those that it shares with others as likely."""
    last = len(work.drawn)
    ended = 0.0
    for j in range(len(work.judges)):
        ended += work.weights[j] if work.started[j] and not work.arrived[j] else 0.0
    for k in range(last + 1):
        peak = -math.inf
        for j in range(len(work.judges)):
            peak = max(peak, work.logs[k, j])
        total = 0.0
        for j in range(len(work.judges)):
            total += work.weights[j] * exp(work.logs[k, j] - peak) if work.logs[k, j] > -math.inf else 0.0
        if k < last and not work.goes_on[k]:
            peak, total = 0.0, ended
        work.likely[k] = peak + math.log(total) if total > 0.0 else -math.inf
    less, alike = 0, 0
    for k in range(last):
        less += int(work.likely[k] < work.likely[last])
        alike += int(work.likely[k] == work.likely[last])
    return 1 + less + int(own.integer(1 + alike))
