"""Who leads where both can act, the search or the policy: both play in the same worlds, with a real filter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from airoas.compiler.clock import read_clock
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Planner
from airoas.policies.play import Decide, play
from airoas.policies.validation import is_beyond

MOST, FEWEST = 64, 3
"""Pairs of episodes, and how many tell something."""
_CLEAR = 5.0  # errors of the difference at which no more is played


@dataclass(frozen=True)
class Lead:
    """What the search earned more than the policy, with its standard error."""

    gain: float
    error: float
    pairs: int

    @property
    def is_the_searchs(self) -> bool:
        """Whether it earned more beyond its error; of few pairs the error is not known well."""
        return is_beyond(self.gain, self.error, self.pairs)


def compare(model: KernelModel, search: Planner, policy: Planner, seconds: float) -> Lead:
    """Play pairs of episodes until time is up, or one of the two is clearly better."""
    begun, gains = read_clock(), []
    for world in range(MOST):
        gains.append(play(model, _decide_by(model, search), world) - play(model, _decide_by(model, policy), world))
        error = float(np.std(gains, ddof=1) / math.sqrt(len(gains))) if len(gains) >= FEWEST else math.inf
        spent = read_clock() - begun
        if (len(gains) >= 8 and abs(np.mean(gains)) > _CLEAR * error) or spent * (1.0 + 1.0 / len(gains)) > seconds:
            break
    return Lead(float(np.mean(gains)), error, len(gains))


def _decide_by(model: KernelModel, planner: Planner) -> Decide:
    return lambda belief, rng: planner.plan(model, belief, rng).action
