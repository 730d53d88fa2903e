"""Value functions for the control variate: V of a belief, and Q(b, a) = E[r + discount V(b')], which has to be its mean exactly."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from airoas.belief.filters import exact
from airoas.belief.particles import Particles
from airoas.bounds.find import find_bounds, find_plans
from airoas.bounds.finite.enumeration import Enumeration, can_enumerate, enumerate_model, observation_probabilities
from airoas.bounds.finite.point_based import QUICK
from airoas.bounds.sides import Bounds
from airoas.errors import OptionError
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.bounded import enumerated

CERTAIN = 1e-9
"""By so much the probabilities of a state's observations may miss 1."""


class ValueFunction(Protocol):
    """V and its Q."""

    name: str

    def value(self, belief: Particles) -> float:
        """V(b)."""

    def values(self, belief: Particles, action: Any, seed: int) -> tuple[float, float]:
        """V(b) and Q(b, a), or an estimate of Q without bias: `seed` is for what has to be drawn."""


class StateValues:
    """V(b) = sum_i w_i V(s_i), with V(s) = max_a Q(s, a) of the fully observable problem; without bounds V = 0."""

    def __init__(self, model: KernelModel, bounds: Bounds | None) -> None:
        self.model, self.bounds = model, bounds
        self.name = "V = 0" if bounds is None else "the value of the fully observable problem"
        lists_successors = enumerated.can_enumerate(model)
        self._step = self._enumerated_step if lists_successors else self._simulated_step
        self._enumerate = enumerated.enumeration_of(model, lists_successors)

    def value(self, belief: Particles) -> float:
        states, weights = _live(self.model, belief)
        return _sum(weights, self._of_states(states))

    def values(self, belief: Particles, action: Any, seed: int) -> tuple[float, float]:
        states, weights = _live(self.model, belief)
        rewards, after, probabilities = self._step(states, weights, self.model.row("action", action), seed)
        action_value = _sum(weights, rewards) + float(self.model.discount) * _sum(probabilities, self._of_states(after))
        return _sum(weights, self._of_states(states)), action_value

    def _of_states(self, states: np.ndarray) -> np.ndarray:
        """[n] V(s) of states that are not terminal."""
        if self.bounds is None or not len(states):
            return np.zeros(len(states))
        numbers = np.zeros((len(states), self.bounds.width))
        self.bounds.evaluate(states, np.ones(len(states), np.bool_), numbers, 0)
        values: np.ndarray = numbers[:, len(self.bounds.first_actions) :].max(axis=1)
        return values

    def _enumerated_step(
        self, states: np.ndarray, weights: np.ndarray, actions: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Expected rewards [n]; the states arrived in that are not terminal [m, .], and their probabilities [m]."""
        size = 64 + 4 * len(states)
        while True:
            rewards, after, probabilities = np.zeros(len(states)), np.zeros((size, states.shape[1])), np.zeros(size)
            slots, ids = np.full(enumerated.slots_for(size), -1, np.int64), np.zeros(size, np.int64)
            count = self._enumerate(states, weights, actions, after, probabilities, rewards, slots, ids, 0)
            if count != enumerated.TOO_MANY:
                return rewards, after[:count], probabilities[:count]
            size *= 4

    def _simulated_step(
        self, states: np.ndarray, weights: np.ndarray, actions: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same from one step of each state, drawn apart from the world: right on average, and exact where steps are certain."""
        after, rewards, arrived = np.zeros_like(states), np.zeros(len(states)), np.zeros(len(states), np.bool_)
        alive, numbers = np.ones(len(states), np.bool_), np.arange(len(states))
        batch(self.model).earn(states, alive, actions, seed, numbers, after, rewards, arrived)
        return rewards, after[arrived], weights[arrived]


class AlphaVectorValues:
    """V(b) = max_k sum_s b(s) alpha_k(s), with the alpha vectors of point-based value iteration."""

    name = "alpha vectors of point-based value iteration"

    def __init__(self, model: KernelModel, table: Enumeration, observations: np.ndarray) -> None:
        """observations: p(o | s, a) [S, A, O]."""
        self.model, self.table, self.observations = model, table, observations
        self.alpha_vectors = find_plans(model)["values"]
        """[S, K]"""

    def value(self, belief: Particles) -> float:
        return float((self._vector(belief) @ self.alpha_vectors).max())

    def values(self, belief: Particles, action: Any, seed: int) -> tuple[float, float]:
        """Of Q the expected reward, and after each observation the best vector."""
        table, mass = self.table, self._vector(belief)
        support = np.flatnonzero(mass)
        arriving = (mass[support, None] * table.probabilities[support, action]).ravel()
        arrived = np.bincount(table.successors[support, action].ravel(), arriving, len(mass))
        arrived[table.terminal] = 0.0
        live = np.flatnonzero(arrived)
        best = ((arrived[live, None] * self.observations[live, action]).T @ self.alpha_vectors[live]).max(axis=1)
        action_value = mass[support] @ table.rewards[support, action] + self.model.discount * best.sum()
        return float((mass[support] @ self.alpha_vectors[support]).max()), float(action_value)

    def _vector(self, belief: Particles) -> np.ndarray:
        """[S] the belief, without what has ended."""
        states, weights = _live(self.model, belief)
        numbers = np.zeros(len(states), np.int64)
        enumerated.number_states(self.model, states, weights, numbers)
        return np.bincount(numbers, weights, len(self.table.terminal))


def _sum(weights: np.ndarray, values: np.ndarray) -> float:
    """sum_i w_i x_i. By hand: a library for matrices starts threads for it, which take longer than the sum."""
    return float((weights * values).sum())


def _live(model: KernelModel, belief: Particles) -> tuple[np.ndarray, np.ndarray]:
    """The states of a belief in which the episode goes on, and their weights, which sum to 1."""
    states, alive = np.array(belief.states), belief.log_weights > -np.inf
    batch(model).inspect(states, alive, np.zeros(0, np.bool_))
    weights = belief.weights[alive]
    return states[alive], weights / weights.sum()


def value_function(model: KernelModel) -> ValueFunction:
    """The V that a model allows: alpha vectors where they take seconds, else the value of the fully observable problem where states
    are discrete and it is known, else 0, with which Q is the expected reward. OptionError where beliefs cannot be known exactly.

    All are right. The value of the fully observable problem is no guide where all depends on seeing a continuous state, as on Light
    Dark: there it would add noise.
    """
    if not exact.can_update(model):
        remedy = "give it `exact_initial`, and `exact_update` or the enumeration group, or be content with plain returns."
        raise OptionError(f"{type(model).__name__} has no exact filter, which adjusted returns need", remedy)
    if not model.n_actions or "float" in model.shapes.state.kinds or not 0.0 < model.discount < 1.0:
        return StateValues(model, None)
    if can_enumerate(model) and int(model.n_states()) * model.n_actions <= QUICK:
        table = enumerate_model(model)
        observations = observation_probabilities(model, table)
        if observations is not None and observations.size <= QUICK and _observes_all(table, observations):
            return AlphaVectorValues(model, table, observations)
    if can_enumerate(model) or model.has("action_bounds"):
        return StateValues(model, find_bounds(model, (0.0, "qmdp")))
    return StateValues(model, None)


def _observes_all(table: Enumeration, observations: np.ndarray) -> bool:
    """Whether rewards are exact and no observation is missing: only then the backup of alpha vectors is a mean."""
    missing: np.ndarray = abs(1.0 - observations.sum(axis=2))[~table.terminal]
    return table.exact and bool(missing.max(initial=0.0) <= CERTAIN)
