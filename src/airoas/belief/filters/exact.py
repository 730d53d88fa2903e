"""Exact belief updates: by a model's own closed form, or by enumeration for finite models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from airoas.belief.filters.interface import Updated, as_particles
from airoas.belief.particles import Particles, admit
from airoas.compiler.kernels import kernel
from airoas.errors import BeliefError, OptionError
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Rows, Weights
from airoas.modelling.successors import has_more
from airoas.rng import Rng

_MOST_STATES = 10_000

_OVER, _ENDED, _GOES_ON = range(3)
"""The episode had ended in every possible state before the action, or ended in it, or goes on."""
_EXCUSES = {
    _OVER: ("the episode had ended before this step in every possible state", "begin again, from Particles.exact(model) say."),
    _ENDED: (
        "the episode ended at this step in every possible state, and yet it goes on",
        "let the model say that such an action may fail to end it.",
    ),
}


@dataclass(frozen=True)
class ExactFilter:
    """All states of positive probability (or the model's grid points), with their probabilities."""

    name: ClassVar[str] = "exact"

    def start(self, model: Any, rng: Rng) -> Particles:
        return Particles.exact(model)

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: Rng) -> Updated:
        before = admit(model, as_particles(belief, _MOST_STATES, rng))
        if model.has("exact_update"):
            return Updated(_by_model(model, before, action, observation))
        if not model.is_finite:
            remedy = "give it `exact_update` or the enumeration group (n_states, index, state, successor), or use filter='bootstrap'."
            raise OptionError(f"{type(model).__name__} has no exact update", remedy)
        return _by_enumeration(model, before, action, observation)


def can_update(model: KernelModel) -> bool:
    """Whether the model offers an exact update and a belief to start it from."""
    return bool(model.has("exact_initial") and (model.has("exact_update") or model.is_finite))


def _by_model(model: KernelModel, belief: Particles, action: Any, observation: Any) -> Particles:
    action, observation = (
        model.from_row(what, model.row(what, value)[0]) for what, value in (("action", action), ("observation", observation))
    )
    states, log_weights = model.exact_update(belief.states, belief.log_weights, action, observation)
    posterior = admit(model, Particles(states, log_weights=log_weights))
    possible = posterior.log_weights > -np.inf
    going_on = possible.copy()
    batch(model).inspect(np.array(posterior.states), going_on, np.zeros(0, np.bool_))
    if not going_on.any():
        raise BeliefError(*_EXCUSES[_ENDED])
    if (going_on == possible).all():
        return posterior
    return Particles(posterior.states, log_weights=np.where(going_on, posterior.log_weights, -np.inf))._of(model)


def _by_enumeration(model: KernelModel, belief: Particles, action: Any, observation: Any) -> Updated:
    size = int(model.n_states())
    mass, states = np.zeros(size), np.empty((size, belief.states.shape[1]))
    rows = model.row("action", action), model.row("observation", observation)
    count, status = _enumerate(model, belief.states, belief.weights, *rows, mass, states)
    if status in _EXCUSES:
        raise BeliefError(*_EXCUSES[status])
    if count == 0:
        remedy = "check obs_logpdf and successor with airoas.check(model), or start from Particles.exact(model)."
        raise BeliefError(f"no state explains observation {observation!r} after action {action!r}", remedy)
    return Updated(Particles(states[:count], mass[:count])._of(model), math.log(mass[:count].sum()))


@kernel
def _enumerate(
    model: KernelModel, states: Rows, weights: Weights, actions: Rows, observations: Rows, mass: Weights, arrived: Rows
) -> tuple[int, int]:
    """Push each state's weight to its successors, weigh them by the likelihood, pack the survivors; how many there are, and whether
    the episode goes on."""
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    status = _OVER
    for i in range(len(states)):
        if weights[i] <= 0.0:
            continue
        s = model.read_state(states, i)
        if model.is_terminal(s):  # the episode would have ended there
            continue
        status = _ENDED
        total, k = 0.0, 0
        while has_more(total, k, len(mass)):
            s2, p = model.successor(s, a, k)
            if p > 0.0:
                mass[model.index(s2)] += weights[i] * p
            total += p
            k += 1
    count = 0
    for i in range(len(mass)):
        if mass[i] > 0.0:
            s2 = model.state(i)
            posterior = 0.0
            if not model.is_terminal(s2):
                status = _GOES_ON
                posterior = mass[i] * math.exp(model.obs_logpdf(o, s2, a))
            mass[i] = 0.0
            if posterior > 0.0:
                mass[count] = posterior
                model.write_state(arrived, count, s2)
                count += 1
    return count, status
