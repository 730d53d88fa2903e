"""The random planner: the yardstick that every other one must beat."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.planners.base import Decision, Stats, decide_terminal, live_particles
from airoas.rng import Rng


@dataclass(frozen=True)
class Random:
    """Chooses uniformly among the legal actions; a continuous action comes from the model's `sample_action`."""

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        begun = time.perf_counter()
        states, weights, allowed = live_particles(model, belief)
        if not weights.any():
            return decide_terminal(model, allowed, rng, begun, 0.0)
        if model.n_actions == 0:
            state = model.from_row("state", Particles(states, weights).draw(1, rng).states[0])
            return Decision(model.sample_action(state, rng), float("nan"), stats=Stats("done", time.perf_counter() - begun))
        actions = np.flatnonzero(allowed)
        action = int(actions[rng.integer(len(actions))])
        return Decision(action, float("nan"), stats=Stats("done", time.perf_counter() - begun))
