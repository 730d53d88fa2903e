"""QMDP (Littman, Cassandra and Kaelbling, 1995): act as if the state were seen from the next step on.
Cheap, and blind to what an observation is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.bounds import Bounds, find_bounds
from airoas.compiler.clock import read_clock
from airoas.errors import OptionError
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision, Stats, decide_terminal, live_particles
from airoas.rng import Rng


@dataclass(frozen=True)
class QMDP:
    """The action of the largest mean Q(s, a) of the fully observable problem. For finite models, and those that give Q."""

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        try:
            self._bounds(model)
        except OptionError as error:
            return f"QMDP needs Q-values: {error}"
        return None

    def prepare(self, model: Any) -> None:
        """Compile and find Q now."""
        self._bounds(model)

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        begun = read_clock()
        is_new = model not in _prepared
        bounds = self._bounds(model)
        preparation = read_clock() - begun if is_new else 0.0
        begun += preparation
        _, weights, allowed = live_particles(model, belief, rng)
        if not weights.any():
            return decide_terminal(model, allowed, rng, begun, preparation)
        actions = np.flatnonzero(allowed)
        q = bounds.sums(model, belief)[len(bounds.first_actions) :][actions]
        best = np.flatnonzero(q == q.max())
        action = int(actions[best[rng.integer(len(best))]])
        notes = {"bounds": bounds.upper, "sound": bounds.sound}
        stats = Stats("done", read_clock() - begun, preparation=preparation, notes=notes)
        return Decision(action, float(q.max()), upper=float(q.max()) if bounds.sound else float("nan"), stats=stats)

    def _bounds(self, model: KernelModel) -> Bounds:
        bounds = find_bounds(_checked(model), (0.0, "qmdp"))
        batch(model).inspect(np.zeros((1, model.shapes.state.size)), np.zeros(1, np.bool_), np.zeros(1, np.bool_))
        _prepared.add(model)
        return bounds


_prepared: set[Any] = set()
