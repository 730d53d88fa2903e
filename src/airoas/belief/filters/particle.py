"""Particle filters: bootstrap (Gordon, Salmond and Smith, 1993), and annealed toward sharp observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from airoas.belief.filters.interface import Updated, as_particles
from airoas.belief.filters.recovery import recover
from airoas.belief.particles import Particles
from airoas.belief.tempering.anneal import anneal
from airoas.belief.tempering.result import Annealed
from airoas.errors import ParticleDeprivationError
from airoas.options import check_types, whole
from airoas.rng import Rng

_MOST_UNEVEN = 2.0
"""N/ESS above which particles are resampled."""


@dataclass(frozen=True)
class BootstrapFilter:
    """Simulates every particle, multiplies its weight by the likelihood, and resamples systematically where the effective sample
    size falls below N/2. N stays that of the belief."""

    particles: int = 10_000
    """N of the initial belief."""
    name: ClassVar[str] = "bootstrap"

    def __post_init__(self) -> None:
        check_types(self)
        whole("particles", self.particles, 1)

    def start(self, model: Any, rng: Rng) -> Particles:
        return Particles.sample(model, self.particles, rng)

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: Rng) -> Updated:
        before = as_particles(belief, self.particles, rng)

        def annealed(some: Particles) -> Annealed:
            return anneal(model, some, action, observation, rng, **self._options())

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

    def _options(self) -> dict[str, Any]:
        return {"target_inefficiency": self.target_inefficiency, "moves": self.moves, "move": self.move}


@dataclass(frozen=True)
class AdaptiveFilter(AnnealedFilter):
    """As many particles as the belief asks for.

    It begins with twenty times `particles`, and goes on with as many as leave about `particles` effective if the next observation
    is as sharp as the last, though with no less than half as many: what is thinned out is gone. A plain update while enough of them
    explain what was seen; annealed where hardly any does.
    """

    name: ClassVar[str] = "adaptive"

    def start(self, model: Any, rng: Rng) -> Particles:
        return Particles.sample(model, _MOST * self.particles, rng)

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: Rng) -> Updated:
        before = as_particles(belief, _MOST * self.particles, rng)
        try:
            plain = anneal(model, before, action, observation, rng, mode="none")
        except ParticleDeprivationError:
            plain = None
        inefficiency = plain.inefficiency[1] if plain else float("inf")
        if plain is None or len(before) < _LEAST * self.particles * inefficiency:
            few = before if len(before) <= self.particles else before.draw(self.particles, rng)
            return super().update(model, few, action, observation, rng)
        wanted = min(_MOST * self.particles, max(self.particles, int(self.particles * inefficiency), len(before) // 2))
        keeps = inefficiency <= _MOST_UNEVEN and len(before) <= wanted
        return Updated(plain.belief if keeps else plain.belief.draw(wanted, rng), plain.log_evidence)


_MOST = 20
"""Times `particles`, at most."""
_LEAST = 0.02
"""Of `particles`: where fewer are effective they are annealed."""
