"""`update`: the belief after one action and observation."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from airoas.belief import exact
from airoas.belief.particles import Particles, _checked
from airoas.belief.resample import indices
from airoas.compile import kernel
from airoas.errors import BeliefError, OptionError
from airoas.rng import Rng

METHODS = ("bootstrap", "exact")
_RESCUE = 10


class DepletionWarning(RuntimeWarning):
    """A filter lost all its particles and had to be rescued."""


def choose_method(model: Any, name: str) -> str:
    """The filter behind a name; "auto" is the exact one where the model offers it, else the bootstrap filter."""
    if name == "auto":
        return "exact" if exact.can_update(model) else "bootstrap"
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
    ended. "exact" uses the model's closed form or enumeration.
    """
    if choose_method(_checked(model), method) == "exact":
        return exact.update(model, belief, action, observation)
    posterior = _bootstrap(model, belief, action, observation, rng)
    if posterior is None:
        posterior = _rescue(model, belief, action, observation, rng)
    return posterior


def _bootstrap(model: Any, belief: Particles, action: Any, observation: Any, rng: Rng) -> Particles | None:
    """None where no particle explains the observation."""
    states, log_weights = np.array(belief.states), np.array(belief.log_weights)
    _predict_and_weigh(model, states, log_weights, model.row("action", action), model.row("observation", observation), rng)
    if log_weights.max() == -np.inf:
        return None
    posterior = Particles(states, log_weights=log_weights)
    return posterior if posterior.ess >= len(belief) / 2 else posterior.draw(len(belief), rng)


def _rescue(model: Any, belief: Particles, action: Any, observation: Any, rng: Rng) -> Particles:
    """Try again with ten times the particles; then, for a finite model, any state that explains the observation."""
    wide = _bootstrap(model, Particles(belief.states[indices(belief.weights, _RESCUE * len(belief), rng)]), action, observation, rng)
    if wide is not None:
        warnings.warn(f"no particle explained {observation!r}; {_RESCUE}x as many did. Use more particles.", DepletionWarning, stacklevel=3)
        return wide.draw(len(belief), rng)
    if model.is_finite:
        states = np.empty((int(model.n_states()), belief.states.shape[1]))
        log_weights = np.empty(len(states))
        _consistent(model, states, log_weights, model.row("action", action), model.row("observation", observation))
        if log_weights.max() > -np.inf:
            message = (
                f"no particle explained {observation!r}; the belief restarts from all states that do. Use more particles or method='exact'."
            )
            warnings.warn(message, DepletionWarning, stacklevel=3)
            return Particles(states, log_weights=log_weights).draw(len(belief), rng)
    raise BeliefError(
        f"none of {_RESCUE * len(belief)} particles explains observation {observation!r} after action {action!r}",
        "use more particles, method='exact' where the model allows it, or check that observe and obs_logpdf agree.",
    )


@kernel
def _predict_and_weigh(model: Any, states: Any, log_weights: Any, actions: Any, observations: Any, rng: Any) -> None:
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    for i in range(len(states)):
        s = model.read_state(states, i)
        if log_weights[i] == -math.inf or model.is_terminal(s):
            log_weights[i] = -math.inf
            continue
        s2, _ = model.step(s, a, rng)
        log_weights[i] += model.obs_logpdf(o, s2, a)
        model.write_state(states, i, s2)


@kernel
def _consistent(model: Any, states: Any, log_weights: Any, actions: Any, observations: Any) -> None:
    """Every state, weighed by the likelihood alone."""
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    for i in range(len(states)):
        s = model.state(i)
        log_weights[i] = model.obs_logpdf(o, s, a)
        model.write_state(states, i, s)
