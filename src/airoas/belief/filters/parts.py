"""An update in parts, each of other draws from one belief: where few of those of the first explain what was seen."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from airoas.belief.particles import Particles
from airoas.belief.tempering.result import Annealed
from airoas.errors import ParticleDeprivationError
from airoas.modelling.kernel_model import KernelModel

_NEGLIGIBLE = -20.0
"""Log weight, relative to the largest, below which a draw is let go."""


class Parts:
    """Plain updates of one belief by one observation, weighed by how many draws each is of and how well these explain it."""

    def __init__(self, model: KernelModel, first: Annealed | None, draws: int) -> None:
        """first: None where no draw explains it."""
        self._model, self._parts, self._draws = model, [first] if first else [], [draws] if first else []
        self.tried, self._total = 1, draws

    def add(self, update: Callable[[], Annealed], draws: int) -> None:
        """One more."""
        with contextlib.suppress(ParticleDeprivationError):
            self._parts.append(update())
            self._draws.append(draws)
        self.tried += 1
        self._total += draws

    @property
    def ess(self) -> float:
        """How many draws explain it."""
        return sum(part.belief.ess for part in self._parts)

    def joined(self) -> Annealed | None:
        if self.tried == 1 or not self._parts:
            return self._parts[0] if self._parts else None
        fractions = np.array(self._draws) / self._draws[-1]
        evidence = [part.log_evidence + math.log(fraction) for part, fraction in zip(self._parts, fractions, strict=True)]
        logs = np.concatenate([part.belief.log_weights + e for part, e in zip(self._parts, evidence, strict=True)])
        likely = logs > logs.max() + _NEGLIGIBLE
        states = np.concatenate([part.belief.states for part in self._parts])[likely]
        belief = Particles(states, log_weights=logs[likely])._of(self._model)
        log_evidence = float(np.logaddexp.reduce(evidence)) - math.log(self._total / self._draws[-1])
        inefficiency = self._draws[-1] / belief.ess
        return replace(self._parts[0], belief=belief, log_evidence=log_evidence, inefficiency=(inefficiency, inefficiency))
