"""What will probably be seen after an action."""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.belief.filters.interface import as_particles
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.rng import Rng

_DRAWS = 200


def likely_observations(model: KernelModel, belief: Any, action: Any, rng: Rng) -> list[Any]:
    """The observations that came more than once among some drawn from a belief after an action, the likeliest first: none where they
    are continuous."""
    rows = np.array(as_particles(belief, _DRAWS, rng).draw(_DRAWS, rng).states)
    goes_on, actions, functions = np.ones(_DRAWS, np.bool_), model.row("action", action), batch(model)
    numbers, seed = np.arange(_DRAWS), rng.bits(62)
    functions.inspect(rows, goes_on, np.zeros(0, np.bool_))
    functions.step(rows, goes_on, actions, seed, numbers, rows, np.zeros(_DRAWS), goes_on)
    which = np.flatnonzero(goes_on)
    seen = np.zeros((len(which), model.shapes.observation.size))
    functions.observe(rows, which, actions, seed, numbers[which], seen)
    different, counts = np.unique(seen, axis=0, return_counts=True)
    order = [k for k in np.argsort(-counts, kind="stable") if counts[k] > 1]
    return [model.from_row("observation", different[k]) for k in order]
