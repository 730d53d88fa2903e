"""The optimal policy of `Mine`, in closed form but for when to stop reading: dynamic programming over how often each shaft was read.

What was read matters only by the differences of these counts. Nothing is learned on the way, so that walking is a factor and a cost.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import airoas
from airoas.domains.strangers.mine import EAST, LEGIBLE, LENGTH, READ, SHAFT, SHAFTS, SLIP, WEST
from airoas.planners import Decision

ODDS = LEGIBLE * (SHAFTS - 1) / (1.0 - LEGIBLE)
MOST_READINGS = 20
Counts = tuple[int, ...]
"""Of readings of each shaft, less the smallest, in rising order."""


class Filter:
    def start(self, model: Any, rng: airoas.Rng) -> airoas.Particles:
        return airoas.Particles([(LENGTH, ore + 1, 0) for ore in range(SHAFTS)])

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: airoas.Rng) -> airoas.Updated:
        states = belief.states.copy()
        states[:, 0] = observation.position
        logs = belief.log_weights + (math.log(ODDS) * (states[:, 1] == observation.plan) if observation.plan else 0.0)
        return airoas.Updated(airoas.Particles(states, log_weights=logs))


def _walk(value: float, cells: int, discount: float) -> float:
    """The value of walking so many cells to where `value` waits; each takes a step, or more by slips."""
    factor = ((1.0 - SLIP) * discount / (1.0 - SLIP * discount)) ** cells
    return factor * value - 0.5 * (1.0 - factor) / (1.0 - discount)


@functools.cache
def values(counts: Counts, readings: int, discount: float) -> tuple[float, float]:
    """At the plan: the value of going to the likeliest shaft now, and of reading once more."""
    weights = ODDS ** np.array(counts, float)
    posterior = weights / weights.sum()
    go = _walk(160.0 * float(posterior.max()) - 60.0, LENGTH, discount)
    if readings == MOST_READINGS:
        return go, -math.inf
    read = -0.5
    for seen in range(SHAFTS):
        probability = float(np.where(np.arange(SHAFTS) == seen, LEGIBLE, (1.0 - LEGIBLE) / (SHAFTS - 1)) @ posterior)
        more = [count + (k == seen) for k, count in enumerate(counts)]
        read += discount * probability * max(values(tuple(sorted(count - min(more) for count in more)), readings + 1, discount))
    return go, read


def optimum(discount: float) -> float:
    """The value of the initial belief: better than any shaft at once (-20) and than waiting."""
    return _walk(max(values((0,) * SHAFTS, 0, discount)), LENGTH, discount)


@dataclass(frozen=True)
class Reference:
    def plan(self, model: Any, belief: airoas.Particles, rng: airoas.Rng) -> Decision:
        logs = belief.log_weights / math.log(ODDS)
        counts = tuple(sorted(round(x) for x in logs - logs.min()))
        position = int(belief.states[0, 0])
        if position == 0:
            go, read = values(counts, 0, model.discount)
            return Decision(EAST if go >= read else READ, max(go, read))
        if max(counts) == 0:
            return Decision(WEST, math.nan)
        return Decision(EAST if position < LENGTH else SHAFT + int(belief.states[belief.weights.argmax(), 1]) - 1, math.nan)
