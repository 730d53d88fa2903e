"""`Agent`: a planner with its belief, for the loop of a robot."""

from __future__ import annotations

from typing import Any

from airoas.belief.filters import update as filters
from airoas.belief.particles import Particles, _checked
from airoas.errors import OptionError
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
        filter: str = "auto",
        particles: int = 10_000,
        belief: Particles | None = None,
    ) -> None:
        """belief: where to start, the model's initial one by default; a saved one resumes (`Particles.load`)."""
        self.filter = filters.choose_method(_checked(model), filter)
        if particles < 1:
            raise OptionError(f"particles is {particles}", "use at least 1.")
        self.model = model
        self.planner = planner
        self.seed = seed
        self.belief = filters.start(model, self.filter, particles, stream(seed, "filter")) if belief is None else belief
        self.steps = 0
        """Observations taken in so far."""
        self.rescue = ""
        """How the last update was rescued when no particle explained the observation; "" where all was well."""
        self._action: Any = None

    def act(self) -> Decision:
        """The decision for the present belief. Asked again before the next observation it is found anew."""
        decision = self.planner.plan(self.model, self.belief, stream(self.seed, "planner", self.steps))
        self._action = decision.action
        return decision

    def observe(self, observation: Any, action: Any = None) -> Particles:
        """The belief after what was seen. action: what was done, where that was not what `act` said."""
        action = self._action if action is None else action
        if action is None:
            raise OptionError("nothing has been done yet that could be observed", "call act() first, or say observe(o, action=...).")
        self.belief, self.rescue = filters.update_and_tell(
            self.model, self.belief, action, observation, stream(self.seed, "filter", self.steps), self.filter
        )
        self.steps += 1
        self._action = None
        return self.belief
