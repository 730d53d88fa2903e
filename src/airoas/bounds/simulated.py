"""Estimates by simulation from the state itself, where the search asks for it: for any model, and slow.

A lower bound averages several runs: a single one would, by luck, close the gap to the upper bound and end the search.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.bounds.part import Part
from airoas.compile import Record

RUNS = 8
"""Of each plan, from each state."""
MARGIN = 0.25
"""What the upper estimate adds to the best return, as a share of the span of the returns."""
_MOST_REPEATED = 8
_LONGEST = 20  # steps of the first of two actions


class Runs(Record):
    """How far and how often to simulate."""

    runs: int
    steps: int
    actions: int
    """How many actions to try to repeat."""


def _data(model: Any) -> Runs:
    steps = min(500, max(1, math.ceil(math.log(0.01) / math.log(model.discount))))
    return Runs(runs=RUNS, steps=steps, actions=min(model.n_actions, _MOST_REPEATED))


RANDOM, POLICY = -1, -2  # instead of an action to repeat


def rollouts(model: Any) -> Part:
    """The mean return of `rollout_action`. It may look at the state, which a plan must not: an estimate."""
    return Part("rollout", mean_return, _data(model), 1, (-1,), sound=False)


def estimate(model: Any) -> tuple[Part, Part]:
    """Lower: the mean returns of random actions and of each of the first eight actions repeated. Upper: the best return of
    runs that know what comes (`rollout_action`, and one action a few times, then another), and a quarter of their span."""
    data = _data(model)
    first = (-1, *range(data.actions))
    return (
        Part("simulated plans", mean_returns, data, len(first), first, sound=False),
        Part("simulated best", best_return, data, 1, sound=False),
    )


def _uniform(model: Any, s: Any, rng: Any) -> int:
    for _ in range(100):
        a = rng.integer(model.n_actions)
        if model.legal(s, a):
            return int(a)
    return int(model.rollout_action(s, rng))


def _run(model: Any, s: Any, first: int, times: int, then: int, steps: int, rng: Any) -> float:
    """The return of an action a few times and then another: random ones where RANDOM or not legal, those of
    `rollout_action` where POLICY."""
    total = 0.0
    factor = 1.0
    for t in range(steps):
        if model.is_terminal(s):
            break
        a = first if t < times else then
        if a == POLICY:
            a = model.rollout_action(s, rng)
        elif a == RANDOM or not model.legal(s, a):
            a = _uniform(model, s, rng)
        s, reward = model.step(s, a, rng)
        total += factor * reward
        factor *= model.discount
    return total


def mean_return(model: Any, data: Runs, s: Any, rng: Any, out: Any, at: int) -> None:
    total = 0.0
    for _ in range(data.runs):
        total += _run(model, s, POLICY, 0, POLICY, data.steps, rng)
    out[at] = total / data.runs


def mean_returns(model: Any, data: Runs, s: Any, rng: Any, out: Any, at: int) -> None:
    for a in range(-1, data.actions):
        total = 0.0
        for _ in range(data.runs):
            total += _run(model, s, a, 0, a, data.steps, rng)
        out[at + 1 + a] = total / data.runs


def best_return(model: Any, data: Runs, s: Any, rng: Any, out: Any, at: int) -> None:
    best, worst = -math.inf, math.inf
    for run in range(data.runs * (1 + data.actions)):
        if run < data.runs:
            value = _run(model, s, POLICY, 0, POLICY, data.steps, rng)
        else:
            value = _run(model, s, rng.integer(model.n_actions), rng.integer(_LONGEST), run % model.n_actions, data.steps, rng)
        best, worst = max(best, value), min(worst, value)
    out[at] = best + MARGIN * (best - worst)
