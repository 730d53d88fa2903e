"""Who leads where both can act, the search or the policy: both play in the same worlds, with a real filter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from airoas.belief.filters.interface import as_particles
from airoas.belief.filters.update import make_filter
from airoas.belief.particles import Particles
from airoas.compiler.clock import read_clock
from airoas.errors import BeliefError
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Planner
from airoas.rng import stream

MOST, FEWEST = 64, 3
"""Pairs of episodes, and how many tell something."""
SURE = 2.0
"""Errors by which the search must be better, about: else the policy leads."""
_CLEAR = 5.0  # errors of the difference at which no more is played
_DRAWN = 1000  # from a belief that is no particles


@dataclass(frozen=True)
class Lead:
    """What the search earned more than the policy, with its standard error."""

    gain: float
    error: float
    pairs: int

    @property
    def is_the_searchs(self) -> bool:
        """Whether it earned more beyond its error; of few pairs the error is not known well."""
        return self.pairs > 2 and self.gain > SURE * (1.0 + 1.5 / (self.pairs - 2)) * self.error


def compare(model: KernelModel, search: Planner, policy: Planner, seconds: float) -> Lead:
    """Play pairs of episodes until time is up, or one of the two is clearly better."""
    begun, gains = read_clock(), []
    for world in range(MOST):
        gains.append(play(model, search, world) - play(model, policy, world))
        error = float(np.std(gains, ddof=1) / math.sqrt(len(gains))) if len(gains) >= FEWEST else math.inf
        spent = read_clock() - begun
        if (len(gains) >= 8 and abs(np.mean(gains)) > _CLEAR * error) or spent * (1.0 + 1.0 / len(gains)) > seconds:
            break
    return Lead(float(np.mean(gains)), error, len(gains))


def play(model: KernelModel, planner: Planner, world: int) -> float:
    """The discounted return of an episode."""
    functions, own = batch(model), make_filter("auto", model)
    rng = stream(world, "lead")
    belief = own.start(model, rng)
    state = np.array(Particles.sample(model, 1, stream(world, "lead, truth")).states)
    after, seen = np.zeros_like(state), np.zeros((1, model.shapes.observation.size))
    rewards, arrived, numbers = np.zeros(1), np.zeros(1, np.bool_), np.zeros(1, np.int64)
    total, factor = 0.0, 1.0
    for t in range(int(model.max_steps)):
        chosen = planner.plan(model, as_particles(belief, _DRAWN, rng), rng).action
        action = model.row("action", chosen)
        seed = stream(world, "lead, step", t).bits(62)
        functions.earn(state, np.ones(1, np.bool_), action, seed, numbers, after, rewards, arrived)
        total += factor * float(rewards[0])
        factor *= float(model.discount)
        if not arrived[0]:
            break
        functions.observe(after, numbers, action, seed, numbers, seen)
        try:
            belief = own.update(model, belief, chosen, model.from_row("observation", seen[0]), rng).belief
        except BeliefError:
            break
        state[:] = after
    return total
