"""QMDP (Littman, Cassandra and Kaelbling, 1995): act as if the state were seen from the next step on.
Cheap, and blind to what an observation is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import _checked
from airoas.bounds import Bounds, find_bounds
from airoas.errors import OptionError
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision, PreparedPlanner, Start
from airoas.rng import Rng


@dataclass(frozen=True)
class QMDP(PreparedPlanner):
    """The action of the largest mean Q(s, a) of the fully observable problem. For finite models, and those that give Q."""

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        try:
            self.find(_checked(model))
        except OptionError as error:
            return f"QMDP needs Q-values: {error}"
        return None

    def prepare(self, model: Any) -> None:
        """Compile and find Q now."""
        self.find(_checked(model))

    def find(self, model: KernelModel) -> tuple[Bounds, bool]:
        is_new = model not in _prepared
        bounds = find_bounds(model, (0.0, "qmdp"))
        batch(model).inspect(np.zeros((1, model.shapes.state.size)), np.zeros(1, np.bool_), np.zeros(1, np.bool_))
        _prepared.add(model)
        return bounds, is_new

    def decide(self, model: KernelModel, prepared: Bounds, start: Start, rng: Rng) -> Decision:
        actions = np.flatnonzero(start.allowed)
        q = prepared.sums(model, start.belief)[len(prepared.first_actions) :][actions]
        best = np.flatnonzero(q == q.max())
        action, value = int(actions[best[rng.integer(len(best))]]), float(q.max())
        upper = value if prepared.sound else float("nan")
        return Decision(action, value, upper=upper, stats=start.done(bounds=prepared.upper, sound=prepared.sound))


_prepared: set[Any] = set()
