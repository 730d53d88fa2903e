"""The random planner: the yardstick that every other one must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision, PreparedPlanner, Start
from airoas.rng import Rng


@dataclass(frozen=True)
class Random(PreparedPlanner):
    """Chooses uniformly among the legal actions; a continuous action comes from the model's `sample_action`."""

    def prepare(self, model: Any) -> None:
        """Compile for this model ahead of the first decision."""
        _ = batch(_checked(model)).inspect

    def find(self, model: KernelModel) -> tuple[None, bool]:
        is_new = "inspect" not in vars(batch(model))
        self.prepare(model)
        return None, is_new

    def decide(self, model: KernelModel, prepared: None, start: Start, rng: Rng) -> Decision:
        if model.n_actions == 0:
            state = model.from_row("state", Particles(start.states, start.weights).draw(1, rng).states[0])
            action: Any = model.sample_action(state, rng)
        else:
            actions = np.flatnonzero(start.allowed)
            action = int(actions[rng.integer(len(actions))])
        return Decision(action, float("nan"), stats=start.done())
