"""What every planner is: frozen options and `plan(model, belief, rng) -> Decision`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from airoas.belief.particles import Particles
from airoas.compile import kernel
from airoas.errors import ModelError
from airoas.rng import Rng


@dataclass(frozen=True)
class Stats:
    """How a decision came about."""

    stop: str
    """Why the search ended: "done", "deadline", "iterations", "terminal" (nothing left to decide)."""
    seconds: float = 0.0
    """Wall-clock time of the search."""
    overshoot: float = 0.0
    """Seconds past the deadline; 0 where there is none."""
    trials: int = 0
    nodes: int = 0


@dataclass(frozen=True)
class Decision:
    """What a planner answers."""

    action: Any
    value: float
    """Estimated value of the belief under the plan; nan where the planner has no estimate."""
    lower: float = float("nan")
    upper: float = float("nan")
    stats: Stats = field(default_factory=lambda: Stats("done"))
    tree: Any = None


class Planner(Protocol):
    """The interface that `simulate` needs."""

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision: ...


@kernel
def _legal_actions(model: Any, states: Any, log_weights: Any, actions: Any) -> int:
    alive = 0
    for i in range(len(states)):
        s = model.read_state(states, i)
        if log_weights[i] > -np.inf and not model.is_terminal(s):
            alive += 1
            for a in range(len(actions)):
                if actions[a] and not model.legal(s, a):
                    actions[a] = False
    return alive


def legal_actions(model: Any, belief: Particles) -> tuple[np.ndarray, bool]:
    """The actions [k] that are legal in every live particle of positive weight, and whether any particle is alive."""
    allowed = np.ones(model.n_actions, dtype=np.bool_)
    alive = _legal_actions(model, belief.states, belief.log_weights, allowed)
    found = np.flatnonzero(allowed)
    if len(found) == 0:
        raise ModelError(
            "no action is legal in every state that the belief holds possible",
            "make one action legal everywhere.",
            where=type(model).__name__,
        )
    return found, alive > 0


def prepare(model: Any, belief: Particles) -> None:
    """Compile what `legal_actions` needs, so that no decision's time includes it."""
    _legal_actions.prepare(model, belief.states, belief.log_weights, np.ones(0, dtype=np.bool_))
