"""airoas: planning under uncertainty. Models in plain Python, planners at native speed.

The public names; each is imported when it is first used, so that `airoas --help` need not load the compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airoas.agent import Agent
    from airoas.belief.filters.update import DepletionWarning, update
    from airoas.belief.particles import Particles
    from airoas.belief.tempering.anneal import anneal
    from airoas.belief.tempering.result import Annealed
    from airoas.checker.check import Finding, Report, check
    from airoas.compiler.kernels import running
    from airoas.episode import Episode, simulate
    from airoas.errors import AiroasError, BeliefDepleted, BeliefError, CompileError, ModelError, OptionError, StoredDataError
    from airoas.experiments.analysis.load import load
    from airoas.modelling.decorator import model
    from airoas.rng import Rng, stream

__version__ = "0.1.0"

_HOMES = {
    "agent": ("Agent",),
    "belief.tempering.anneal": ("anneal",),
    "belief.tempering.result": ("Annealed",),
    "belief.filters.update": ("DepletionWarning", "update"),
    "belief.particles": ("Particles",),
    "checker.check": ("Finding", "Report", "check"),
    "compiler.kernels": ("running",),
    "episode": ("Episode", "simulate"),
    "errors": ("AiroasError", "BeliefDepleted", "BeliefError", "CompileError", "ModelError", "OptionError", "StoredDataError"),
    "experiments.analysis.load": ("load",),
    "modelling.decorator": ("model",),
    "rng": ("Rng", "stream"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "AiroasError",
    "Annealed",
    "BeliefDepleted",
    "BeliefError",
    "CompileError",
    "DepletionWarning",
    "Episode",
    "Finding",
    "ModelError",
    "OptionError",
    "Particles",
    "Report",
    "Rng",
    "StoredDataError",
    "anneal",
    "check",
    "load",
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
