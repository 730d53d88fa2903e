"""What a belief and a filter are, to whoever plans, acts or simulates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from airoas.belief.particles import Particles
from airoas.belief.tempering.result import Annealed
from airoas.errors import OptionError
from airoas.rng import Rng


class Belief(Protocol):
    """Whatever can be drawn from. A belief that also has `states` [N, size] and `log_weights` [N] is planned with as it is."""

    def particles(self, n: int, rng: Rng) -> Particles:
        """Particles that stand for this belief, n of them or fewer."""
        ...


@dataclass(frozen=True)
class Updated:
    """A belief after an action and an observation, and what its filter tells of the update."""

    belief: Any
    """A `Belief`."""
    log_evidence: float = float("nan")
    """log p(observation, and the episode goes on | belief before, action), or an estimate; nan where the filter has none."""
    recovery: str = ""
    """How the filter recovered where the belief before could not explain the observation; "" where all was well."""
    annealed: Annealed | None = None
    """What annealing did, where the observation was sharp enough for it."""


class Filter(Protocol):
    """Keeps a belief up to date. It holds options and no state: what it knows is in the belief.

    That an observation arrives says that the episode goes on: a state in which it has ended is ruled out. `name`, where there
    is one, stands in tables; else that of the class does.
    """

    def start(self, model: Any, rng: Rng) -> Any:
        """The initial `Belief`."""
        ...

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: Rng) -> Updated:
        """The belief after `action` and `observation`, which the random stream and these determine."""
        ...


def as_particles(belief: Any, n: int, rng: Rng) -> Particles:
    """Any belief as particles: its own states and weights where it has them, else n or fewer that it gives."""
    if isinstance(belief, Particles):
        return belief
    if hasattr(belief, "states") and hasattr(belief, "log_weights"):
        return Particles(belief.states, log_weights=belief.log_weights)
    drawn = belief.particles(n, rng) if hasattr(belief, "particles") else None
    if not isinstance(drawn, Particles):
        remedy = "give airoas.Particles, or an object whose particles(n, rng) gives them."
        raise OptionError(f"{type(belief).__name__} is no belief", remedy)
    return drawn


def filter_name(filter: Any) -> str:
    """What tables call a filter."""
    return str(getattr(filter, "name", type(filter).__name__))
