"""Draws of the initial belief that go through everything again.

Of what hardly changes and is made of whole numbers (where ships lie, what a code is) particles can neither be moved nor had more of: each
observation rules some out, and in the end the truth is not among those that are left, or none is. But a belief that knows what was done and
seen since the start can be made again, of as many new draws as it takes: those that explain all of it are draws of the same posterior.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from airoas.belief.distinct import merged
from airoas.belief.particles import InitialDraws, Particles
from airoas.belief.tempering.result import Annealed
from airoas.errors import ParticleDeprivationError
from airoas.modelling.kernel_model import KernelModel

_ENOUGH, _TIMES = 50, 8
"""States that explain everything, and how often any was found among so many draws: then no more are made."""
_WORK, _BATCHES = 20_000_000, 500
"""Steps of particles, at most: some seconds; and how often some are drawn."""


class Past(NamedTuple):
    """What was done and seen, the last of it first."""

    action: Any
    observation: Any
    before: Past | None

    def steps(self) -> list[tuple[Any, Any]]:
        """From the start on."""
        past: Past | None = self
        steps = list[tuple[Any, Any]]()
        while past is not None:
            steps.append((past.action, past.observation))
            past = past.before
        return steps[::-1]


class Followed(Particles):
    """Particles that know what they have been through."""

    __slots__ = ("past",)

    past: Past

    @classmethod
    def through(cls, belief: Particles, before: Any, action: Any, observation: Any) -> Particles:
        """The same, after what was done and seen from a belief on; not known where it is not known of that."""
        if not isinstance(before, (InitialDraws, Followed)):
            return belief
        followed = cls._own(belief.states, belief.log_weights, belief._model)
        assert isinstance(followed, Followed)
        followed.past = Past(action, observation, before.past if isinstance(before, Followed) else None)
        return followed


class Anew(NamedTuple):
    """A belief that was made again."""

    belief: Particles
    log_evidence: float
    """Of the last observation."""
    draws: int
    """Of the initial belief."""


def draw_anew(
    model: KernelModel,
    before: Followed,
    action: Any,
    observation: Any,
    sample: Callable[[], Particles],
    update: Callable[[Particles, Any, Any], tuple[Annealed, Particles]],
    has_time: Callable[[], bool],
) -> Anew | None:
    """The belief after `action` and `observation` from new draws, as many as it takes; None where none explains everything.

    sample: draws of the initial belief. update: a plain update, and its belief resampled where that is uneven.
    """
    steps = [*before.past.steps(), (action, observation)]
    explaining, evidence, until = list[Particles](), list[float](), list[float]()
    work = draws = distinct = 0
    for _ in range(_BATCHES):
        if work >= _WORK or not has_time() or distinct >= _ENOUGH or len(explaining) >= _TIMES:
            break
        belief, total = sample(), 0.0
        draws += len(belief)
        for k, (a, o) in enumerate(steps):
            work += len(belief)
            if k == len(steps) - 1:
                until.append(total)
            try:
                plain, belief = update(belief, a, o)
            except ParticleDeprivationError:
                break
            total += plain.log_evidence
        else:
            explaining.append(merged(belief, len(belief)) or belief)
            distinct += len(explaining[-1])
            evidence.append(total)
    if not explaining:
        return None
    logs = np.concatenate([belief.log_weights + total for belief, total in zip(explaining, evidence, strict=True)])
    joined = Particles(np.concatenate([belief.states for belief in explaining]), log_weights=logs)._of(model)
    return Anew(joined, float(np.logaddexp.reduce(evidence) - np.logaddexp.reduce(until)), draws)
