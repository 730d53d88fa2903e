"""Many decisions at once on a GPU, of whatever planner grows trees: what is answered, and how many of them grow side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.compiler.device import Device
from airoas.errors import OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.rng import Rng

_FRACTION = 0.8
"""Of the memory that is free."""


class Decided(NamedTuple):
    """Decisions, one to a belief: what `plan` answers for each."""

    actions: np.ndarray
    """[K]"""
    values: np.ndarray
    """[K]"""
    lower: np.ndarray
    upper: np.ndarray
    """[K] bounds of the value; nan where the planner has none."""
    nodes: np.ndarray
    """[K] how large the trees are."""
    trials: np.ndarray
    """[K] fewer than the budget where the bounds met, or memory was out."""
    stops: np.ndarray
    """[K] why each search ended; see `airoas.planners.base.Stats`."""


def check_many(planner: Any, model: KernelModel, beliefs: Sequence[Particles], rngs: Sequence[Rng]) -> None:
    """Refuse what no planner does there."""
    name = type(planner).__name__
    if planner.iterations is None:
        raise OptionError(f"{planner!r} does not plan on a GPU, which keeps no deadline", f"use {name}(iterations=...).")
    if len(beliefs) != len(rngs) or not beliefs:
        raise OptionError(f"{len(beliefs)} beliefs come with {len(rngs)} streams", "give a stream for each belief, and at least one.")
    reason = planner.fits(_checked(model))
    if reason:
        raise OptionError(f"{name} does not fit {type(model).__name__}: {reason}", "choose a planner that fits.")


def waves(device: Device, n_bytes: int, which: np.ndarray) -> Iterator[np.ndarray]:
    """Some trees after the other: as many at a time as fit the memory, of which each takes so many bytes, about."""
    device.release()
    most = max(1, int(_FRACTION * device.memory[0]) // (n_bytes + 4096))
    for start in range(0, len(which), most):
        yield which[start : start + most]


class Typed(NamedTuple):
    """An argument that is known by its type and its words."""

    kind: Any
    words: tuple[int, ...]
