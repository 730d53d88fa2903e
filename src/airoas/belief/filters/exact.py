"""Exact belief updates: by a model's own closed form, or by enumeration for finite models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.compiler.kernels import kernel
from airoas.errors import BeliefError, OptionError


def can_update(model: Any) -> bool:
    """Whether the model offers an exact update and a belief to start it from."""
    return bool(model.has("exact_initial") and (model.has("exact_update") or model.is_finite))


def update(model: Any, belief: Particles, action: Any, observation: Any) -> Particles:
    """The exact posterior after one action and observation, as all states of positive probability."""
    if model.has("exact_update"):
        states, log_weights = model.exact_update(belief.states, belief.log_weights, action, observation)
        return Particles(states, log_weights=log_weights)
    if not model.is_finite:
        remedy = "give it `exact_update` or the enumeration group (n_states, index, state, successor), or use method='bootstrap'."
        raise OptionError(f"{type(model).__name__} has no exact update", remedy)
    size = int(model.n_states())
    mass = np.zeros(size)
    states = np.empty((size, belief.states.shape[1]))
    found = _enumerate(
        model, belief.states, belief.weights, model.row("action", action), model.row("observation", observation), mass, states
    )
    if found == 0:
        remedy = "check obs_logpdf and successor with airoas.check(model), or start from Particles.exact(model)."
        raise BeliefError(f"no state explains observation {observation!r} after action {action!r}", remedy)
    return Particles(states[:found], mass[:found])


@kernel
def _enumerate(model: Any, states: Any, weights: Any, actions: Any, observations: Any, mass: Any, arrived: Any) -> int:
    """Push each state's weight to its successors, weigh them by the likelihood, pack the survivors; how many there are."""
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    for i in range(len(states)):
        s = model.read_state(states, i)
        if weights[i] <= 0.0 or model.is_terminal(s):  # a terminal state emits no further observation
            continue
        left = 1.0
        k = 0
        while left > 1e-12 and k < len(mass):
            s2, p = model.successor(s, a, k)
            if p > 0.0:
                mass[model.index(s2)] += weights[i] * p
            left -= p
            k += 1
    found = 0
    for i in range(len(mass)):
        if mass[i] > 0.0:
            s2 = model.state(i)
            posterior = mass[i] * math.exp(model.obs_logpdf(o, s2, a))
            mass[i] = 0.0
            if posterior > 0.0:
                mass[found] = posterior
                model.write_state(arrived, found, s2)
                found += 1
    return found
