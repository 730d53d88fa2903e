"""Recovery from particle deprivation (Thrun et al., 2005): no particle of a belief allows what was observed. Where the belief was too
narrow it is inflated (Anderson and Anderson, 1999)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.belief.filters.interface import Updated
from airoas.belief.particles import Particles
from airoas.belief.tempering.result import Annealed
from airoas.compiler.kernels import kernel
from airoas.errors import ParticleDeprivationError
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Rows
from airoas.rng import Rng

_MORE = 10
_WIDTHS = (0.25, 0.5, 1.0, 2.0)
"""Of the kernels that inflate a belief, in its own standard deviations."""


class ParticleDeprivationWarning(RuntimeWarning):
    """No particle of a belief allowed what was observed, and the filter recovered."""


def recover(model: KernelModel, error: ParticleDeprivationError, update: Callable[[Particles], Annealed], rng: Rng) -> Updated:
    """Try again with ten times the particles; then, for a finite model, any state that explains the observation; for others a wider
    belief, and one wider still."""
    belief: Any = error.belief
    try:
        tempered = update(belief.draw(_MORE * len(belief), rng))
    except ParticleDeprivationError:
        pass
    else:
        told = f"{error.problem}; the belief was drawn from {_MORE} times as many. Use more particles."
        return Updated(tempered.belief.draw(len(belief), rng), tempered.log_evidence, told, tempered if tempered.move else None)
    if model.is_finite:
        states, log_weights = consistent_states(model, error.action, error.observation)
        explain = log_weights != -np.inf
        if explain.any():
            told = f"{error.problem}; the belief restarts from all states that explain it. Use more particles, or filter='exact'."
            restarted = Particles(states[explain], log_weights=log_weights[explain])._of(model)
            return Updated(restarted.draw(len(belief), rng), -np.inf, told)
    for width in _WIDTHS:
        wide = _inflated(model, belief.draw(_MORE * len(belief), rng), width, rng)
        try:
            tempered = update(wide)
        except Exception:  # a method may refuse what cannot be, as a place outside its map
            continue
        told = f"{error.problem}; the belief was inflated by {width:g} of its standard deviations. Use more particles."
        return Updated(tempered.belief.draw(len(belief), rng), -np.inf, told)
    raise error


def _inflated(model: KernelModel, belief: Particles, width: float, rng: Rng) -> Particles:
    """With normal noise of the belief's own shape in each continuous component that is not whole in every particle."""
    states = np.array(belief.states)
    columns = np.flatnonzero(np.array(model.shapes.state.kinds) == "float")
    columns = columns[(states[:, columns] != np.floor(states[:, columns])).any(axis=0)]
    if not columns.size:
        return belief
    covariance = np.atleast_2d(np.cov(states[:, columns], rowvar=False))
    noise = np.random.default_rng(rng.bits(62)).multivariate_normal(np.zeros(len(columns)), covariance, len(states), method="eigh")
    states[:, columns] += width * noise
    return Particles(states)._of(model)


def consistent_states(model: KernelModel, action: Any, observation: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every state of a finite model, weighed by the likelihood alone; terminal ones have none."""
    states = np.empty((int(model.n_states()), model.shapes.state.size))
    _list_states(model, states)
    alive, functions = np.ones(len(states), np.bool_), batch(model)
    functions.inspect(states, alive, np.zeros(0, np.bool_))
    logs = np.empty((1, len(states)))
    functions.log_likelihoods(states, alive, model.row("observation", observation), model.row("action", action), logs)
    return states, logs[0]


@kernel
def _list_states(model: KernelModel, states: Rows) -> None:
    for i in range(len(states)):
        model.write_state(states, i, model.state(i))
