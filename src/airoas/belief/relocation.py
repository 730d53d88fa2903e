"""Where else might one be? A belief that is surprised gets particles from anywhere that explain what is seen.

Sensor resetting is of Lenser and Veloso (2000), the injection of particles in proportion to how unlikely readings are of Thrun, Burgard and
Fox (2005, augmented Monte Carlo localisation). Anywhere is wherever random actions lead from the initial belief, and where actions may
have failed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.belief.surprise import Surprise
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Mask, Rows
from airoas.rng import Rng, stream

_STEPS = 50
"""Of random actions, at most."""
_CANDIDATES = 20
"""Times the particles wanted: so many places are looked at."""
_LOST, _DOUBTED = 2.0 / 3.0, 0.1
"""The weight of other places where the belief is lost; and below that, times the surprise: little, so that it hides no surprise."""
_FEWEST = 100
"""Particles of each kind."""
REMEMBERED = 100
"""Steps since a belief was sure: what was done before is not doubted any more, so that a search takes no longer and longer."""


def injected(before: Surprise, now: Surprise) -> float:
    """The weight of the places to believe in too, by the surprise before an observation and after it: where it grows."""
    if now.lost:
        return _LOST
    return _DOUBTED * now.level if now.level > before.level else 0.0


def reachable(model: KernelModel, n: int, rng: Rng) -> np.ndarray:
    """States [n, size] after 0 to 50 random actions from the initial belief, none of them terminal."""
    functions, numbers = batch(model), np.arange(n)
    states, alive = np.empty((n, model.shapes.state.size)), np.empty(n, np.bool_)
    functions.initial(states, alive, rng.bits(62))
    choices = np.random.default_rng(rng.bits(62))
    limit = min(_STEPS, model.max_steps)
    until, actions = choices.integers(limit + 1, size=n), np.zeros((n, model.shapes.action.size if model.shapes.action else 1))
    after, rewards, walks, arrived = states.copy(), np.empty(n), np.empty(n, np.bool_), np.empty(n, np.bool_)
    for t in range(limit):
        if model.n_actions:
            actions[:, 0] = choices.integers(model.n_actions, size=n)
        else:
            functions.default_actions(states, alive, rng.bits(62), numbers, actions)
        functions.permits(states, alive & (until > t), actions, walks)
        functions.step(states, walks, actions, rng.bits(62), numbers, after, rewards, arrived)
        states[arrived] = after[arrived]  # what would end the episode is not done
    return np.ascontiguousarray(states[alive])


def doubtful(model: KernelModel, belief: Particles, since: Sequence[tuple[Any, Any]], n: int, rng: Rng) -> Particles | None:
    """The belief after actions and observations if each action was done not at all, once or twice: n particles; None where none is
    left."""
    functions, numbers = batch(model), np.arange(n)
    choices, rewards = np.random.default_rng(rng.bits(62)), np.empty(n)
    after = belief
    for action, observation in since:
        states, alive, actions = after.draw(n, rng).states.copy(), np.ones(n, np.bool_), model.row("action", action)
        times = choices.integers(3, size=n)
        for k in (1, 2):
            goes, arrived = alive & (times >= k), np.empty(n, np.bool_)
            functions.inspect(states, goes, np.zeros(0, np.bool_))
            functions.step(states, goes, actions, rng.bits(62), numbers, states, rewards, arrived)
            alive &= arrived | (times < k)
        weighed = explaining(model, states, action, observation, alive)
        if weighed is None:
            return None
        after = weighed
    return after.draw(n, rng)


def explaining(model: KernelModel, states: Rows, action: Any, observation: Any, alive: Mask | None = None) -> Particles | None:
    """States by how well they explain what is seen on arriving there, of those that are alive; None where none does."""
    alive, logs = np.ones(len(states), np.bool_) if alive is None else alive, np.empty((1, len(states)))
    batch(model).log_likelihoods(states, alive, model.row("observation", observation), model.row("action", action), logs)
    return Particles(states, log_weights=logs[0]) if logs.max() > -np.inf else None


class Relocation:
    """Finds places for a belief that is surprised."""

    def __init__(self, model: KernelModel, particles: int) -> None:
        """particles: of each kind that it finds for a belief that is lost."""
        self.model, self.particles = model, particles

    @functools.cached_property
    def candidates(self) -> np.ndarray:
        return reachable(self.model, _CANDIDATES * self.particles, stream(0, "relocation"))

    def find(
        self, belief: Particles | None, weight: float, sure: Particles, since: Sequence[tuple[Any, Any]], rng: Rng
    ) -> Particles | None:
        """The belief, if there is one, and with that weight, in equal parts: the places that explain what was seen last, on arriving there;
        and where one might be if what was done since one was `sure` did not work as the model says. Particles in proportion to the weight,
        and no more in all than three times those of a kind. None where nothing explains it."""
        n = min(self.particles, max(_FEWEST, int(weight / _LOST * self.particles)))
        somewhere = explaining(self.model, self.candidates, *since[-1])
        parts = [doubtful(self.model, sure, since, n, rng), somewhere and somewhere.draw(n, rng)]
        others = [part for part in parts if part is not None]
        if not others:
            return None
        states, weights = [part.states for part in others], [part.weights * weight / len(others) for part in others]
        if belief is not None:
            states, weights = [belief.states, *states], [belief.weights * (1.0 - weight), *weights]
        wider = Particles(np.concatenate(states), np.concatenate(weights))
        most = max(3 * self.particles, 0 if belief is None else len(belief))
        return wider if len(wider) <= most else wider.draw(most, rng)
