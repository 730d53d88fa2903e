"""`Agent`: a planner with its belief, for the loop of a robot."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

from airoas import __version__
from airoas.belief.filters.exact import ExactFilter
from airoas.belief.filters.interface import Filter, Updated, as_particles, filter_name
from airoas.belief.filters.particle import AdaptiveFilter
from airoas.belief.filters.update import make_filter
from airoas.belief.particles import Particles, _checked, admit
from airoas.belief.prediction import likely_observations
from airoas.belief.ranking import rank
from airoas.belief.relocation import REMEMBERED, Relocation, injected
from airoas.belief.surprise import LostWarning, Surprise
from airoas.compiler.clock import read_clock
from airoas.errors import BeliefError, OptionError, ParticleDeprivationError
from airoas.logbook import Logbook
from airoas.modelling.decorator import random_observation
from airoas.options import typed, whole
from airoas.planners.base import Decision, Planner
from airoas.rng import Rng, stream

_LOOKED_AT = 10_000
"""Particles that a planner gets of a belief on a GPU."""


class _Foreseen(NamedTuple):
    """What follows from an observation that may come."""

    updated: Updated
    rng: Rng
    """The filter's, as the update has left it."""
    decision: Decision


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
        update_seconds: float | None = None,
        false_alarms: float = 1e-3,
        recover: bool = False,
        log: str | PathLike[str] | None = None,
        device: str = "cpu",
    ) -> None:
        """filter: "auto", "exact", "annealed", "bootstrap" or a `Filter`. particles: of the belief; where a filter's belief is of
        another kind, as many are drawn from it to plan with. belief: where to start, the filter's initial one by default; a saved
        one resumes (`Particles.load`). update_seconds: what an update of the adaptive filter may take, about. false_alarms: how often, in a
        step, a belief that is right may be called lost by chance; 0 watches nothing. recover: whether a belief that is surprised gets
        particles from anywhere that explain what is seen, with the more weight the more it is surprised. log: a file to write to what is
        done, seen and believed; `airoas report` and `airoas replay` read it. device: "cuda" keeps the belief on a GPU."""
        false_alarms, recover = typed("false_alarms", false_alarms, float), typed("recover", recover, bool)
        if not callable(getattr(planner, "plan", None)) or isinstance(planner, type):
            raise OptionError(f"{planner!r} is no planner", "give an object with plan(model, belief, rng), POMCP(seconds=0.1) say.")
        if not 0.0 <= false_alarms < 1.0:
            raise OptionError(f"false_alarms is {false_alarms}", "it is a rate: 1e-3 is one false alarm in 1,000 steps.")
        whole("particles", particles, 1)
        self.filter = make_filter(filter, _checked(model), particles, device)
        if update_seconds is not None:
            if not isinstance(self.filter, AdaptiveFilter):
                problem = f"update_seconds limits the adaptive filter, and this one is {filter_name(self.filter)}"
                raise OptionError(problem, "leave it out, or use filter='adaptive'.")
            self.filter = replace(self.filter, update_seconds=update_seconds)
        self.model = model
        self.planner = planner
        self.seed = whole("seed", seed, -(1 << 63), (1 << 64) - 1)
        self.steps = 0
        """Observations taken in so far."""
        if isinstance(belief, Particles):
            admit(model, belief)
        elif belief is not None and not hasattr(belief, "particles") and not hasattr(belief, "states"):
            remedy = "give airoas.Particles, or an object whose particles(n, rng) gives them."
            raise OptionError(f"{type(belief).__name__} is no belief", remedy)
        self.updated = Updated(self.filter.start(model, stream(self.seed, "filter")) if belief is None else belief)
        """The belief, and what the filter told of its last update."""
        if recover and (isinstance(self.filter, ExactFilter) or not isinstance(self.belief, Particles)):
            raise OptionError("recover=True adds particles, and this filter's belief is of another kind", "use filter='adaptive'.")
        self.false_alarms = false_alarms
        self._surprise = Surprise()
        self._warns = True
        self._relocation = Relocation(model, particles) if recover else None
        self._sure = self.belief  # one that nothing spoke against
        self._since: list[tuple[Any, Any]] = []  # what was done and seen since
        self._count = particles
        self._particles: Particles | None = None
        self._action: Any = None
        self._ahead: list[Any] | None = None  # observations to think of, the likeliest last
        self._foreseen: dict[bytes, _Foreseen] = {}  # by action and observation
        self._next: Decision | None = None
        self._is_prepared = False
        self._decision: Decision | None = None
        about: dict[str, Any] = {"version": __version__, "model": str(model), "planner": str(planner), "filter": filter_name(self.filter)}
        about |= {"particles": particles, "seed": self.seed, "false_alarms": false_alarms, "recover": recover}
        self._log = None if log is None else Logbook(log, about, self.particles)

    @property
    def belief(self) -> Any:
        """As the filter keeps it."""
        return self.updated.belief

    @property
    def recovery(self) -> str:
        """How the filter recovered where the belief before could not explain the last observation; "" where all was well."""
        return self.updated.recovery

    @property
    def surprise(self) -> float:
        """How much evidence has mounted up against the belief: 0 where what is seen is what it predicts, 1 where it is lost."""
        return self._surprise.level

    @property
    def lost(self) -> bool:
        """Whether what was seen lately is too unlikely for the belief to be right: it is in another place, or the model is wrong."""
        return self._surprise.lost

    @property
    def particles(self) -> Particles:
        """The belief as planners take it."""
        if self._particles is None:
            self._particles = self._particles_of(self.belief, self.steps)
        return self._particles

    def _particles_of(self, belief: Any, steps: int) -> Particles:
        rng = stream(self.seed, "particles", steps)
        return belief.particles(_LOOKED_AT, rng) if hasattr(belief, "on_device") else as_particles(belief, self._count, rng)

    def _plan(self, particles: Particles, steps: int) -> Decision:
        begun = read_clock()
        decision = self.planner.plan(self.model, particles, stream(self.seed, "planner", steps))
        stats = decision.stats
        if stats.seconds:
            return decision
        seconds = max(0.0, read_clock() - begun - stats.preparation)
        return replace(decision, stats=replace(stats, seconds=seconds))  # a planner need not measure itself

    def prepare(self) -> None:
        """Compile, and have the planner find what it needs, so that neither `act` nor `observe` has to. Idempotent."""
        if hasattr(self.planner, "prepare"):
            self.planner.prepare(self.model)
        if self._relocation:
            self._relocation.candidates  # noqa: B018 - found now
        self.prepare_filter()

    def prepare_filter(self) -> None:
        """Compile the filter by an update that nobody needs."""
        if not self._is_prepared:
            self._is_prepared = True
            rng = stream(self.seed, "prepare")
            with contextlib.suppress(BeliefError):  # a random observation may be one that the belief excludes
                action, observation = random_observation(self.model, rng)
                self.filter.update(self.model, self.belief, action, observation, rng)
                rank(self.model, self.belief, action, observation, rng)

    def act(self) -> Decision:
        """The decision for the present belief. Asked again before the next observation it is found anew."""
        decision = self._next or self._plan(self.particles, self.steps)
        self._next = None
        self._stop_thinking()
        self._action = decision.action
        self._decision = replace(decision, tree=None) if self._log else None
        return decision

    def think(self) -> bool:
        """Decide ahead while the robot moves: for the likeliest observation that was not thought of yet. Where that comes, `observe` and
        `act` answer at once, and the same as without. Whether there is another to think of: none where observations are
        continuous. It takes as long as an update and a decision."""
        if self._action is None:
            raise OptionError("nothing is being done that could be observed", "call act() first.")
        if self._ahead is None:
            rng = stream(self.seed, "ahead", self.steps)
            self._ahead = likely_observations(self.model, self.belief, self._action, rng)[::-1]
        if self._ahead:
            observation, rng = self._ahead.pop(), stream(self.seed, "filter", self.steps)
            with contextlib.suppress(BeliefError):  # to be met if it comes
                updated = self.filter.update(self.model, self.belief, self._action, observation, rng)
                decision = self._plan(self._particles_of(updated.belief, self.steps + 1), self.steps + 1)
                self._foreseen[self._key(self._action, observation)] = _Foreseen(updated, rng, replace(decision, tree=None))
        return bool(self._ahead)

    def _stop_thinking(self) -> None:
        self._ahead, self._foreseen = None, {}

    def _key(self, action: Any, observation: Any) -> bytes:
        return bytes(self.model.row("action", action).tobytes() + self.model.row("observation", observation).tobytes())

    def observe(self, observation: Any, action: Any = None) -> Any:
        """The belief after what was seen. action: what was done, where that was not what `act` said."""
        action = self._action if action is None else action
        if action is None:
            raise OptionError("nothing has been done yet that could be observed", "call act() first, or say observe(o, action=...).")
        rng = stream(self.seed, "filter", self.steps)
        before, since = self.belief, [*self._since, (action, observation)]
        foreseen = self._foreseen.get(self._key(action, observation)) if self._foreseen else None
        try:
            if foreseen:
                self.updated, rng = foreseen.updated, foreseen.rng
            else:
                self.updated = self.filter.update(self.model, before, action, observation, rng)
        except ParticleDeprivationError:
            if not self._relocate(None, 1.0, since):
                raise
        else:
            self._watch(before, since, rng)
        self.steps += 1
        self._particles = self._action = None
        self._next = foreseen.decision if foreseen and self.updated is foreseen.updated else None
        self._stop_thinking()
        if self._log:
            told = {"recovery": self.recovery, "log_evidence": self.updated.log_evidence, "surprise": self.surprise, "lost": self.lost}
            self._log.record(self._decision, self.particles, action=action, observation=observation, **told)
            self._decision = None
        return self.belief

    def _watch(self, before: Any, since: list[tuple[Any, Any]], rng: Rng) -> None:
        """Take in how surprising the last observation was. Where the belief is lost by it: warn, and recover if that is wanted.

        rng: the filter's, which has updated the belief already."""
        was = self._surprise
        if self.false_alarms:
            self._surprise = was.after(rank(self.model, before, *since[-1], rng), self.false_alarms)
        if self.lost and not was.lost and self._warns:
            told = f"lost at step {self.steps}: what is seen is not what the belief predicts. See docs/robot.md, Am I lost?"
            warnings.warn(told, LostWarning, stacklevel=3)
        if not self._relocation or not self.surprise or len(since) > REMEMBERED:
            self._sure, self._since = self.belief, []
            return
        self._since = since
        weight = injected(was, self._surprise)
        if weight:
            self._relocate(self.belief, weight, since)

    def _relocate(self, belief: Any, weight: float, since: list[tuple[Any, Any]]) -> bool:
        """Believe in other places too, with that weight, if that is wanted and any explain what was seen; whether it is so."""
        rng = stream(self.seed, "relocation", self.steps)
        wider = self._relocation.find(belief, weight, self._sure, since, rng) if self._relocation else None
        if wider is None:
            return False
        self.updated = replace(self.updated, belief=wider)
        if self.lost or belief is None:
            self.updated = Updated(wider, recovery="the belief was lost; other places that explain what is seen are believed in too")
            self._surprise = Surprise()  # it is another belief
            self._sure, self._since = wider, []
        return True
