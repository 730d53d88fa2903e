"""The random planner: the yardstick that every other one must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.compiler.clock import read_clock
from airoas.modelling.batch import batch
from airoas.planners.base import Decision, Stats, decide_terminal, live_particles
from airoas.rng import Rng


@dataclass(frozen=True)
class Random:
    """Chooses uniformly among the legal actions; a continuous action comes from the model's `sample_action`."""

    def prepare(self, model: Any) -> None:
        """Compile for this model ahead of the first decision."""
        _ = batch(_checked(model)).inspect

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        asked = read_clock()
        is_new = "inspect" not in vars(batch(model))
        self.prepare(model)
        begun = read_clock()
        preparation = begun - asked if is_new else 0.0
        states, weights, allowed = live_particles(model, belief, rng)
        if not weights.any():
            return decide_terminal(model, allowed, rng, begun, preparation)
        if model.n_actions == 0:
            state = model.from_row("state", Particles(states, weights).draw(1, rng).states[0])
            action: Any = model.sample_action(state, rng)
        else:
            actions = np.flatnonzero(allowed)
            action = int(actions[rng.integer(len(actions))])
        return Decision(action, float("nan"), stats=Stats("done", read_clock() - begun, preparation=preparation))
