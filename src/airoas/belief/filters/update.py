"""`update`: the belief after one action and observation, by a filter or its name."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from airoas.belief.filters.exact import ExactFilter, can_update
from airoas.belief.filters.interface import Filter
from airoas.belief.filters.particle import AdaptiveFilter, AnnealedFilter, BootstrapFilter
from airoas.belief.filters.recovery import ParticleDeprivationWarning
from airoas.belief.particles import _checked
from airoas.belief.tempering.anneal import check_device
from airoas.errors import OptionError
from airoas.modelling.gate import check_stream
from airoas.rng import Rng

NAMES = ("auto", "bootstrap", "annealed", "adaptive", "exact")
_PARTICLE = {kind.name: kind for kind in (BootstrapFilter, AnnealedFilter, AdaptiveFilter)}


def make_filter(filter: str | Filter, model: Any, particles: int = 10_000, device: str = "cpu") -> Filter:
    """A filter for a model, by name or as it is.

    "auto" is "exact" where the model allows it, else "adaptive". particles: of the initial belief of "bootstrap" and "annealed";
    "adaptive" has up to twenty times as many. device: "cuda" is for particle filters, and "auto" is "adaptive" there.
    """
    check_device(device)
    if not isinstance(filter, str):
        if device != getattr(filter, "device", "cpu"):
            raise OptionError(
                f"the filter {filter!r} runs where it was made to", f"give it device={device!r} itself, or leave device out here."
            )
        missing = [name for name in ("start", "update") if not callable(getattr(filter, name, None))]
        if missing or isinstance(filter, type):
            raise OptionError(f"{filter!r} is no filter", f"give an object with start and update, or one of {', '.join(NAMES)}.")
        return filter
    if filter not in NAMES:
        raise OptionError(f"there is no filter {filter!r}", f"use {', '.join(NAMES)}, or an object with start and update.")
    if filter == "exact" and device != "cpu":
        raise OptionError("the exact update runs on the CPU alone", "leave device out, or use a particle filter.")
    if filter == "exact" or (filter == "auto" and device == "cpu" and can_update(model)):
        return ExactFilter()
    return _particle_filter(filter, particles, device)


@functools.lru_cache(64, typed=True)
def _particle_filter(name: str, particles: int, device: str) -> Filter:
    return _PARTICLE.get(name, AdaptiveFilter)(particles, device=device)


def update(model: Any, belief: Any, action: Any, observation: Any, rng: Rng, filter: str | Filter = "auto", device: str = "cpu") -> Any:
    """The belief after `action` and `observation`.

    filter: "auto", as in `simulate` and `Agent`, is "exact" where the model allows it, else "adaptive". "exact" uses the model's closed
    form or enumeration. "adaptive" is annealed where hardly any particle explains what was seen, and follows the belief in how many there
    are: where it is resampled and still wide, 200,000 at most (`AdaptiveFilter(500)` has a twentieth of that). "bootstrap" simulates
    every particle, multiplies its weight by the likelihood and resamples systematically when the effective sample size falls below N/2;
    N stays. "annealed" is the same while the observation is mild and moves the particles toward it where it is sharp (see `anneal`).
    Or a `Filter`.
    device: "cuda" does it on a GPU; the belief stays there until it is looked at.

    That an observation arrived says that the episode goes on: states in which it has ended are ruled out. Where no particle is
    left a filter recovers with a ParticleDeprivationWarning if that is possible, else ParticleDeprivationError is raised.
    """
    updated = make_filter(filter, _checked(model), device=device).update(model, belief, action, observation, check_stream(rng))
    if updated.recovery:
        warnings.warn(updated.recovery, ParticleDeprivationWarning, stacklevel=2)
    return updated.belief
