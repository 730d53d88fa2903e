"""The random planner: the yardstick that every other one must beat."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from airoas.belief.particles import Particles
from airoas.planners.base import Decision, Stats, legal_actions, prepare
from airoas.rng import Rng


@dataclass(frozen=True)
class Random:
    """Chooses uniformly among the legal actions; a continuous action comes from the model's `sample_action`."""

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        prepare(model, belief)
        begun = time.perf_counter()
        if model.n_actions == 0:
            state = model.from_row("state", belief.draw(1, rng).states[0])
            return Decision(model.sample_action(state, rng), float("nan"), stats=Stats("done", time.perf_counter() - begun))
        actions, alive = legal_actions(model, belief)
        action = int(actions[rng.integer(len(actions))])
        return Decision(action, float("nan"), stats=Stats("done" if alive else "terminal", time.perf_counter() - begun))
