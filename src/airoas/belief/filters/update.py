"""`update`: the belief after one action and observation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from airoas.belief.filters import exact
from airoas.belief.particles import Particles, _checked
from airoas.belief.resampling import indices
from airoas.belief.tempering.anneal import anneal
from airoas.belief.tempering.result import Annealed
from airoas.compiler.kernels import kernel
from airoas.errors import BeliefDepleted, OptionError
from airoas.modelling.batch import batch
from airoas.rng import Rng

METHODS = ("bootstrap", "annealed", "exact")
_RESCUE = 10


class DepletionWarning(RuntimeWarning):
    """A filter lost all its particles and had to be rescued."""


def choose_method(model: Any, name: str) -> str:
    """The filter behind a name; "auto" is the exact one where the model offers it, else the annealed one."""
    if name == "auto":
        return "exact" if exact.can_update(model) else "annealed"
    if name not in METHODS:
        raise OptionError(f"there is no filter {name!r}", f"use {', '.join(('auto', *METHODS))}.")
    return name


def start(model: Any, method: str, particles: int, rng: Rng) -> Particles:
    """The belief that a filter starts from."""
    return Particles.exact(model) if method == "exact" else Particles.sample(model, particles, rng)


def update(model: Any, belief: Particles, action: Any, observation: Any, rng: Rng, method: str = "bootstrap") -> Particles:
    """The belief after `action` and `observation`.

    "bootstrap" simulates every particle, multiplies its weight by the likelihood and resamples systematically when the
    effective sample size falls below N/2; particles that had terminated get weight zero, since the episode would have
    ended. "annealed" is the same while the observation is mild and moves the particles toward it where it is sharp (see
    `anneal`). "exact" uses the model's closed form or enumeration. "auto", which `simulate` and `Agent` take by default, is
    "exact" where the model allows it, else "annealed". A filter that loses all its particles is rescued with a
    DepletionWarning where that is possible, else BeliefDepleted is raised.
    """
    posterior, rescue = update_and_tell(_checked(model), belief, action, observation, rng, choose_method(model, method))
    if rescue:
        warnings.warn(rescue, DepletionWarning, stacklevel=2)
    return posterior


def update_and_tell(
    model: Any, belief: Particles, action: Any, observation: Any, rng: Rng, method: str, record: list[Annealed] | None = None
) -> tuple[Particles, str]:
    """The updated belief, and how it was rescued where no particle explained the observation ("" otherwise).

    record: gets what annealing did, where the observation was sharp enough for it.
    """
    if method == "exact":
        return exact.update(model, belief, action, observation), ""
    posterior = _particle_update(model, belief, action, observation, rng, method, record)
    return (posterior, "") if posterior is not None else _rescue(model, belief, action, observation, rng, method)


def _particle_update(
    model: Any, belief: Particles, action: Any, observation: Any, rng: Rng, method: str, record: list[Annealed] | None = None
) -> Particles | None:
    """None where no particle explains the observation."""
    try:
        annealed = anneal(model, belief, action, observation, rng, mode="corrected" if method == "annealed" else "none")
    except BeliefDepleted:
        return None
    if record is not None and annealed.move:
        record.append(annealed)
    posterior = annealed.belief
    return posterior if posterior.ess >= len(belief) / 2 else posterior.draw(len(belief), rng)


def _rescue(model: Any, belief: Particles, action: Any, observation: Any, rng: Rng, method: str) -> tuple[Particles, str]:
    """Try again with ten times the particles; then, for a finite model, any state that explains the observation."""
    many = Particles(belief.states[indices(belief.weights, _RESCUE * len(belief), rng)])
    wide = _particle_update(model, many, action, observation, rng, method)
    if wide is not None:
        return wide.draw(len(belief), rng), f"no particle explained {observation!r}; {_RESCUE}x as many did. Use more particles."
    if model.is_finite:
        states, log_weights = consistent_states(model, action, observation)
        if log_weights.max() > -np.inf:
            told = (
                f"no particle explained {observation!r}; the belief restarts from all states that do. Use more particles or method='exact'."
            )
            return Particles(states, log_weights=log_weights).draw(len(belief), rng), told
    raise BeliefDepleted(belief, action, observation)


def consistent_states(model: Any, action: Any, observation: Any) -> tuple[np.ndarray, np.ndarray]:
    """Every state of a finite model, weighed by the likelihood alone."""
    states = np.empty((int(model.n_states()), model.shapes.state.size))
    _list_states(model, states)
    alive, functions = np.ones(len(states), np.bool_), batch(model)
    functions.inspect(states, alive, np.zeros(0, np.bool_))
    logs = np.empty((1, len(states)))
    functions.log_likelihoods(states, alive, model.row("observation", observation), model.row("action", action), logs)
    return states, logs[0]


@kernel
def _list_states(model: Any, states: Any) -> None:
    for i in range(len(states)):
        model.write_state(states, i, model.state(i))
