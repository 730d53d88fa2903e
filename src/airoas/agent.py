"""`Agent`: a planner with its belief, for the loop of a robot."""

from __future__ import annotations

import contextlib
from typing import Any

from airoas.belief.filters.interface import Filter, Updated, as_particles
from airoas.belief.filters.update import make_filter
from airoas.belief.particles import Particles, _checked, admit
from airoas.errors import BeliefError, OptionError
from airoas.modelling.decorator import random_observation
from airoas.options import whole
from airoas.planners.base import Decision, Planner
from airoas.rng import stream


class Agent:
    """Decides and keeps the belief up to date: `act()`, do it, `observe(...)`, and so on.

    Planner and filter draw from streams of their own that the seed and the step determine.
    """

    def __init__(
        self,
        model: Any,
        planner: Planner,
        seed: int,
        filter: str | Filter = "auto",
        particles: int = 10_000,
        belief: Any = None,
    ) -> None:
        """filter: "auto", "exact", "annealed", "bootstrap" or a `Filter`. particles: of the belief; where a filter's belief is of
        another kind, as many are drawn from it to plan with. belief: where to start, the filter's initial one by default; a saved
        one resumes (`Particles.load`)."""
        whole("particles", particles, 1)
        self.filter = make_filter(filter, _checked(model), particles)
        self.model = model
        self.planner = planner
        self.seed = seed
        self.steps = 0
        """Observations taken in so far."""
        if isinstance(belief, Particles):
            admit(model, belief)
        self.updated = Updated(self.filter.start(model, stream(seed, "filter")) if belief is None else belief)
        """The belief, and what the filter told of its last update."""
        self._count = particles
        self._particles: Particles | None = None
        self._action: Any = None
        self._is_prepared = False

    @property
    def belief(self) -> Any:
        """As the filter keeps it."""
        return self.updated.belief

    @property
    def recovery(self) -> str:
        """How the filter recovered where the belief before could not explain the last observation; "" where all was well."""
        return self.updated.recovery

    @property
    def particles(self) -> Particles:
        """The belief as planners take it."""
        if self._particles is None:
            self._particles = as_particles(self.belief, self._count, stream(self.seed, "particles", self.steps))
        return self._particles

    def prepare(self) -> None:
        """Compile, and have the planner find what it needs, so that neither `act` nor `observe` has to. Idempotent."""
        if hasattr(self.planner, "prepare"):
            self.planner.prepare(self.model)
        self.prepare_filter()

    def prepare_filter(self) -> None:
        """Compile the filter by an update that nobody needs."""
        if not self._is_prepared:
            self._is_prepared = True
            rng = stream(self.seed, "prepare")
            with contextlib.suppress(BeliefError):  # a random observation may be one that the belief excludes
                action, observation = random_observation(self.model, rng)
                self.filter.update(self.model, self.belief, action, observation, rng)

    def act(self) -> Decision:
        """The decision for the present belief. Asked again before the next observation it is found anew."""
        decision = self.planner.plan(self.model, self.particles, stream(self.seed, "planner", self.steps))
        self._action = decision.action
        return decision

    def observe(self, observation: Any, action: Any = None) -> Any:
        """The belief after what was seen. action: what was done, where that was not what `act` said."""
        action = self._action if action is None else action
        if action is None:
            raise OptionError("nothing has been done yet that could be observed", "call act() first, or say observe(o, action=...).")
        rng = stream(self.seed, "filter", self.steps)
        self.updated = self.filter.update(self.model, self.belief, action, observation, rng)
        self.steps += 1
        self._particles = self._action = None
        return self.belief
