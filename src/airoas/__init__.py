"""airoas: planning under uncertainty. Models in plain Python, planners at native speed.

The public names; each is imported when it is first used, so that `airoas --help` need not load the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airoas.agent import Agent
    from airoas.belief.filters.exact import ExactFilter
    from airoas.belief.filters.interface import Belief, Filter, Updated
    from airoas.belief.filters.particle import AdaptiveFilter, AnnealedFilter, BootstrapFilter
    from airoas.belief.filters.recovery import ParticleDeprivationWarning
    from airoas.belief.filters.update import make_filter, update
    from airoas.belief.particles import Particles
    from airoas.belief.surprise import LostWarning
    from airoas.belief.tempering.anneal import anneal
    from airoas.belief.tempering.result import Annealed
    from airoas.checker.check import Diagnostic, Report, check
    from airoas.compiler.arrays import Flags, Vector
    from airoas.compiler.kernels import running
    from airoas.episode import Episode, simulate
    from airoas.errors import (
        AiroasError,
        BeliefError,
        CompileError,
        ModelError,
        OptionError,
        ParticleDeprivationError,
        StoredDataError,
    )
    from airoas.experiments.analysis.load import load
    from airoas.modelling.actions import Box, Choice
    from airoas.modelling.decorator import model
    from airoas.rng import Rng, stream

__version__ = "0.2.0"

_HOMES = {
    "agent": ("Agent",),
    "belief.tempering.anneal": ("anneal",),
    "belief.tempering.result": ("Annealed",),
    "belief.filters.exact": ("ExactFilter",),
    "belief.filters.interface": ("Belief", "Filter", "Updated"),
    "belief.filters.particle": ("AdaptiveFilter", "AnnealedFilter", "BootstrapFilter"),
    "belief.filters.recovery": ("ParticleDeprivationWarning",),
    "belief.filters.update": ("make_filter", "update"),
    "belief.particles": ("Particles",),
    "belief.surprise": ("LostWarning",),
    "checker.check": ("Diagnostic", "Report", "check"),
    "compiler.arrays": ("Flags", "Vector"),
    "compiler.kernels": ("running",),
    "episode": ("Episode", "simulate"),
    "errors": (
        "AiroasError",
        "BeliefError",
        "CompileError",
        "ModelError",
        "OptionError",
        "ParticleDeprivationError",
        "StoredDataError",
    ),
    "experiments.analysis.load": ("load",),
    "modelling.actions": ("Box", "Choice"),
    "modelling.decorator": ("model",),
    "rng": ("Rng", "stream"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AdaptiveFilter",
    "Agent",
    "AiroasError",
    "Annealed",
    "AnnealedFilter",
    "Belief",
    "BeliefError",
    "BootstrapFilter",
    "Box",
    "Choice",
    "CompileError",
    "Diagnostic",
    "Episode",
    "ExactFilter",
    "Filter",
    "Flags",
    "LostWarning",
    "ModelError",
    "OptionError",
    "ParticleDeprivationError",
    "ParticleDeprivationWarning",
    "Particles",
    "Report",
    "Rng",
    "StoredDataError",
    "Updated",
    "Vector",
    "anneal",
    "check",
    "load",
    "make_filter",
    "model",
    "running",
    "simulate",
    "stream",
    "update",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'airoas' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"airoas.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
