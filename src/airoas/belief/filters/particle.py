"""Particle filters: bootstrap (Gordon, Salmond and Smith, 1993), and annealed toward sharp observations."""

from __future__ import annotations

import contextlib
import functools
import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from airoas.belief.distinct import are_few, diversity, is_whole, merged, split, unseen
from airoas.belief.filters.anew import Followed, draw_anew
from airoas.belief.filters.interface import Updated, as_particles
from airoas.belief.filters.parts import Parts
from airoas.belief.filters.recovery import recover
from airoas.belief.particles import InitialDraws, Particles
from airoas.belief.tempering.anneal import anneal, check_device, check_moves
from airoas.belief.tempering.result import Annealed
from airoas.compiler.clock import read_clock
from airoas.errors import OptionError, ParticleDeprivationError
from airoas.modelling.kernel_model import KernelModel
from airoas.options import check_types, whole
from airoas.rng import Rng, stream

_MOST_UNEVEN = 2.0
"""N/ESS above which particles are resampled."""


@dataclass(frozen=True)
class BootstrapFilter:
    """Simulates every particle, multiplies its weight by the likelihood, and resamples systematically where the effective sample
    size falls below N/2. N stays that of the belief."""

    particles: int = 10_000
    """N of the initial belief."""
    device: str = field(default="cpu", kw_only=True)
    """"cuda" keeps the belief on a GPU and updates it there."""
    name: ClassVar[str] = "bootstrap"

    def __post_init__(self) -> None:
        check_types(self)
        whole("particles", self.particles, 1)
        check_device(self.device)

    def start(self, model: Any, rng: Rng) -> Particles:
        return self._sample(model, self.particles, rng)

    def _sample(self, model: KernelModel, n: int, rng: Rng) -> Particles:
        if self.device == "cpu":
            return Particles.sample(model, n, rng)
        from airoas.belief.device import DeviceParticles
        from airoas.compiler.device import device

        return DeviceParticles.sample_on(device(), model, n, rng)

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: Rng) -> Updated:
        before = as_particles(belief, self.particles, rng)

        def annealed(some: Particles) -> Annealed:
            return anneal(model, some, action, observation, rng, device=self.device, **self._options())

        try:
            tempered = annealed(before)
        except ParticleDeprivationError as error:
            return recover(model, error, annealed, rng)
        uneven = tempered.inefficiency[1] > _MOST_UNEVEN
        posterior = tempered.belief.draw(len(before), rng) if uneven else tempered.belief
        return Updated(posterior, tempered.log_evidence, annealed=tempered if tempered.move else None)

    def _options(self) -> dict[str, Any]:
        """Of `anneal`."""
        return {"mode": "none"}


@dataclass(frozen=True)
class AnnealedFilter(BootstrapFilter):
    """A bootstrap filter while observations are mild; where one is sharp, the particles are moved toward it (see `anneal`)."""

    target_inefficiency: float = 2.0
    """N/ESS above which an update is annealed, and which one step of temperature may cause."""
    moves: int = 2
    """Sweeps of Metropolis-Hastings at each temperature."""
    move: str = "auto"
    """Which; see `anneal`."""
    name: ClassVar[str] = "annealed"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.target_inefficiency, self.moves, self.move)

    def _options(self) -> dict[str, Any]:
        return {"target_inefficiency": self.target_inefficiency, "moves": self.moves, "move": self.move}


@dataclass(frozen=True)
class AdaptiveFilter(AnnealedFilter):
    """As many particles as the belief asks for.

    It begins with twenty times `particles`, and where few of them explain the first observation it draws more from the initial belief,
    up to ten times as many: what is not among them then will not come back. It draws more of where a belief's states lead to, too, if these
    are whole numbers and few, and lead to more than was drawn. Where it resamples a belief that has narrowed to a tenth of
    the initial one it leaves fewer, in proportion to the spread, down to `particles`; never less than half of those before, for what is
    thinned out is gone. A plain update while enough of them explain what was seen; annealed where hardly any does, or where a number
    that nothing moves has few values left, unless that explains it less.
    """

    update_seconds: float | None = None
    """What an update may take, about: no more particles than that allows, and no more annealing. Beliefs then depend on the clock. None is
    no limit."""
    name: ClassVar[str] = "adaptive"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.update_seconds is not None and not 0.0 < self.update_seconds < math.inf:
            raise OptionError(f"update_seconds is {self.update_seconds}", "give seconds above 0, or None for no limit.")
        if self.update_seconds is not None and self.device != "cpu":
            problem = "update_seconds counts particles by what each takes, and on a GPU that is launches, however many there are"
            raise OptionError(problem, "leave it out there.")

    def start(self, model: Any, rng: Rng) -> Particles:
        belief = self._sample(model, _MOST * self.particles, rng)
        if self._merges(model):
            are_few(belief.states[:1], 1)  # compiled now, not at the first observation that makes weights uneven
        return belief

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: Rng) -> Updated:
        updated = self._update(model, belief, action, observation, rng)
        if not self._merges(model):
            return updated
        return replace(updated, belief=Followed.through(updated.belief, belief, action, observation))

    def _update(self, model: KernelModel, belief: Any, action: Any, observation: Any, rng: Rng) -> Updated:
        clock = _Clock(self.update_seconds)
        before = clock.afford(model, as_particles(belief, _MOST * self.particles, rng), action, observation, rng)
        try:
            plain = anneal(model, before, action, observation, rng, mode="none", device=self.device)
        except ParticleDeprivationError:
            plain = None
        if isinstance(before, InitialDraws) or self._merges(model):
            plain = self._with_more(model, before, plain, action, observation, rng, clock)
        if plain is None and isinstance(belief, Followed) and (again := self._anew(model, belief, action, observation, rng, clock)):
            return again
        inefficiency = plain.inefficiency[1] if plain else math.inf
        hardly = len(before) < _LEAST * min(self.particles, len(before)) * inefficiency
        poor = hardly or (inefficiency > _MOST_UNEVEN and _is_thin(model, before, _FEW_VALUES * self.particles))
        if plain is None or (poor and not self._covers(model, before, plain.belief)):
            few = before.particles(clock.moved(self.particles), rng)
            updated = replace(self, update_seconds=clock.left())._annealed(model, few, action, observation, rng)
            if plain is None or updated.log_evidence > plain.log_evidence - _MISSED:  # else the few did not find what some of the many did
                return updated
        assert plain is not None
        if inefficiency <= _MOST_UNEVEN:
            return Updated(plain.belief, plain.log_evidence)
        return Updated(self._resampled(model, plain.belief, len(before), rng), plain.log_evidence)

    def _merges(self, model: KernelModel) -> bool:
        return self.device == "cpu" and is_whole(model)

    def _covers(self, model: KernelModel, before: Particles, after: Particles) -> bool:
        """Whether the particles are copies of few states, before the observation and after it, unlikely ones too: then others are not
        missed because there were too few draws, and to move few of them would lose what is rare."""
        return self._merges(model) and all(are_few(belief.states, len(before) // 2) for belief in (before, after))

    def _resampled(self, model: KernelModel, belief: Particles, n: int, rng: Rng) -> Particles:
        """A belief of uneven weights, of n particles before."""
        most = _MOST * self.particles
        if self._merges(model):  # the spread of packed flags means nothing
            distinct = merged(belief, most // 2)
            if distinct is None:
                return belief.draw(max(most, n // 2), rng)
            return split(distinct, _level(max(diversity(distinct), 2.0 * len(distinct) / self.particles), self.particles))
        spread = _spread(model, belief.draw(min(_SAMPLE, n), rng))
        return belief.draw(max(_level(spread / _SURE, self.particles), n // 2), rng)

    def _with_more(
        self, model: KernelModel, before: Particles, plain: Annealed | None, action: Any, observation: Any, rng: Rng, clock: _Clock
    ) -> Annealed | None:
        """An update with more draws, until enough of them explain what was seen: of the initial belief; or of where states that are
        distinct lead to, while it seems that they lead to others, too."""
        most, parts, states = _MOST * self.particles, Parts(model, plain, len(before)), None
        if not isinstance(before, InitialDraws):
            mild = plain is not None and plain.inefficiency[1] <= _MOST_UNEVEN
            states = merged(before, len(before) // 2) if not mild else None
            if states is None:
                return plain
        while parts.ess < _ENOUGH * self.particles and parts.tried < _BATCHES and clock.has_time():
            so_far = parts.joined() if states and parts.ess >= _TELLING else None
            if so_far and unseen(so_far.belief) < _UNSEEN:
                break
            more = split(states, most) if states else self._sample(model, most, rng)
            parts.add(functools.partial(anneal, model, more, action, observation, rng, mode="none"), most)
        return parts.joined()

    def _anew(self, model: KernelModel, belief: Followed, action: Any, observation: Any, rng: Rng, clock: _Clock) -> Updated | None:
        """The belief from new draws of the initial one."""

        def update(some: Particles, a: Any, o: Any) -> tuple[Annealed, Particles]:
            plain = anneal(model, some, a, o, rng, mode="none")
            return plain, plain.belief if plain.inefficiency[1] <= _MOST_UNEVEN else self._resampled(model, plain.belief, len(some), rng)

        most = _MOST * self.particles
        again = draw_anew(model, belief, action, observation, lambda: self._sample(model, most, rng), update, clock.has_time)
        if again is None:
            return None
        told = (
            f"no particle explains observation {observation!r} after action {action!r}; of {again.draws:,} new draws of the initial belief"
        )
        told += " some explain all that was seen. Use more particles."
        return Updated(self._resampled(model, again.belief, most, rng), again.log_evidence, told)

    def _annealed(self, model: KernelModel, few: Particles, action: Any, observation: Any, rng: Rng) -> Updated:
        return AnnealedFilter.update(self, model, few, action, observation, rng)

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "seconds": self.update_seconds}


def _level(times: float, particles: int) -> int:
    """So many times `particles`, or some more: twenty times, or half of that, or half again, and so on, since what was used for as many
    particles before can be used again."""
    level = _MOST * particles
    while level > particles and level // 2 >= times * particles:
        level //= 2
    return max(level, particles)


def _spread(model: KernelModel, belief: Particles) -> float:
    """The standard deviation of a belief over that of the initial one, the mean of those components of which the start is not known."""
    if "_initial_spread" not in model.__dict__:
        model.__dict__["_initial_spread"] = Particles.sample(model, _SAMPLE, stream(0, "spread")).std()
    initial: np.ndarray = model.__dict__["_initial_spread"]
    unknown = initial > 0.0
    return float((belief.std()[unknown] / initial[unknown]).mean()) if unknown.any() else 1.0


def _is_thin(model: KernelModel, belief: Particles, few: float) -> bool:
    """Whether so few values are left of a number of which each draw of the initial belief has its own: copies, which the effective
    number of particles does not tell."""
    if "_initial_values" not in model.__dict__:
        model.__dict__["_initial_values"] = _values(Particles.sample(model, _SAMPLE, stream(0, "spread")).states)
    own = model.__dict__["_initial_values"] > 0.9 * _SAMPLE
    if not own.any():
        return False
    drawn = belief.draw(_SAMPLE, stream(0, "values")).states
    return bool((_values(drawn[:, own]) < few * -math.expm1(-_SAMPLE / few)).any())  # so many of them are drawn


def _values(rows: np.ndarray) -> np.ndarray:
    """How many different values each column has."""
    return np.array([len(np.unique(column)) for column in rows.T])


class _Clock:
    """How many particles the time for an update allows."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else read_clock() + seconds
        self._half = None if seconds is None else read_clock() + 0.5 * seconds
        self._each = 0.0  # seconds for a particle

    def left(self) -> float | None:
        """Seconds."""
        return None if self._end is None else max(1e-6, self._end - read_clock())

    def has_time(self) -> bool:
        """Whether half of it is left."""
        return self._half is None or read_clock() < self._half

    def afford(self, model: KernelModel, belief: Particles, action: Any, observation: Any, rng: Rng) -> Particles:
        """As much of the belief as half of the time allows, by what a few particles take."""
        left = self.left()
        if left is None:
            return belief
        few, begun = belief.particles(_PILOT, rng), read_clock()
        with contextlib.suppress(ParticleDeprivationError):
            anneal(model, few, action, observation, rng, mode="none")
        self._each = (read_clock() - begun) / len(few)
        most = max(_PILOT, int(0.5 * left / self._each))
        distinct = merged(belief, most // 2) if len(belief) > most and is_whole(model) else None
        return split(distinct, most) if distinct else belief.particles(most, rng)

    def moved(self, particles: int) -> int:
        """So many can be annealed in the time that is left, `particles` at most."""
        left = self.left()
        return particles if left is None else max(1, min(particles, max(_PILOT, int(left / (_ANNEALED * self._each)))))


_MOST = 20
"""Times `particles`, at most."""
_BATCHES = 10
"""Times as many draws, at most."""
_ENOUGH = 0.2
"""Of `particles`: where as many are effective after the first observation no more are drawn."""
_TELLING = 100
"""Effective draws, of which those of states drawn once tell what is unseen."""
_UNSEEN = 0.001
"""Of the weight: where states that were not drawn seem to have less no more are drawn."""
_LEAST = 0.02
"""Of `particles`: where fewer are effective they are annealed."""
_MISSED = 0.3
"""Of the log evidence: where annealing finds less by more, it has missed where the posterior is."""
_SURE = 0.005
"""Of the spread of the initial belief: so narrow a one has `particles`."""
_SAMPLE = 1000
"""Of a belief's particles, to see how spread out it is."""
_FEW_VALUES = 0.2
"""Of `particles`: where a number has fewer values the particles are copies."""
_PILOT = 500
_ANNEALED = 20.0
"""What annealing a particle takes, in plain updates of one."""
