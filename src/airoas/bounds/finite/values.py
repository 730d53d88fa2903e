"""Values of finite models, state by state: the fully observable problem, the fast informed bound, and repeated actions.

All iterate from the safe side, so that what comes out is a bound whenever they stop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.bounds.finite.enumeration import Enumeration, enumerate_model, observation_probabilities
from airoas.compiler.kernels import kernel
from airoas.errors import OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals


def mdp_q_values(model: Any, tolerance: float = 1e-9, table: Enumeration | None = None) -> np.ndarray:
    """Q [S, A] of the fully observable problem, an upper bound within `tolerance` of it; -inf where illegal."""
    table = table or enumerate_model(model)
    discount = checked_discount(model)
    best = max(0.0, float(table.rewards[table.legal].max(initial=0.0))) / (1.0 - discount)
    values = np.where(table.terminal, 0.0, best)
    q = np.full(table.rewards.shape, -np.inf)
    _iterate_values(*table[:5], discount, tolerance * (1.0 - discount) / discount, values, q)
    return q


def mdp_values(model: Any, tolerance: float = 1e-9) -> np.ndarray:
    """Value [S] of each state of the fully observable problem, from above."""
    values: np.ndarray = mdp_q_values(model, tolerance).max(axis=1)
    return values


def fib_q_values(model: Any, tolerance: float = 1e-9, table: Enumeration | None = None) -> np.ndarray:
    """Q [S, A] of the fast informed bound (Hauskrecht 2000), an upper bound below that of the fully observable problem:

    Q(s, a) = R(s, a) + gamma sum_o max_a' sum_s' p(s', o | s, a) Q(s', a'),

    as if the state were seen now and again later, but for the next decision only the observation. An observation that
    was never met counts as one that shows the state, which keeps the bound.
    """
    table = table or enumerate_model(model)
    likelihoods = observation_probabilities(model, table)
    if likelihoods is None:
        problem = f"the fast informed bound of {type(model).__name__} needs few observations, all of whole numbers"
        raise OptionError(problem, 'choose upper="qmdp".')
    discount = checked_discount(model)
    q = mdp_q_values(model, tolerance, table)
    _iterate_informed(*table[:5], likelihoods, discount, tolerance * (1.0 - discount) / discount, q)
    return q


def blind_values(model: Any, actions: list[int] | None = None, tolerance: float = 1e-9, table: Enumeration | None = None) -> np.ndarray:
    """The value [S, k] of repeating each of these actions for ever, from below."""
    table = table or enumerate_model(model)
    chosen = list(range(model.n_actions)) if actions is None else actions
    discount = checked_discount(model)
    for a in chosen:
        if not table.legal[:, a].all():
            problem = f"action {model.action_names[a]!r} is not legal everywhere, so that no plan can repeat it"
            raise OptionError(problem, "choose one that is, or another lower bound.")
    worst = min(0.0, float(table.rewards.min(initial=0.0))) / (1.0 - discount)
    values = np.repeat(np.where(table.terminal, 0.0, worst)[:, None], len(chosen), axis=1)
    numbers = np.array(chosen, dtype=np.int64)
    _iterate_repeated(*table[:3], table.terminal, numbers, discount, tolerance * (1.0 - discount) / discount, values)
    return values


def checked_discount(model: KernelModel) -> float:
    """The discount; refused where sums without end would not be finite."""
    if not 0.0 < model.discount < 1.0:
        raise OptionError(f"discount is {model.discount}", "choose it between 0 and 1, both excluded.")
    return float(model.discount)


@kernel
def _iterate_values(
    successors: np.ndarray,
    probabilities: np.ndarray,
    rewards: Matrix,
    legal: np.ndarray,
    terminal: Mask,
    discount: float,
    small: float,
    values: Reals,
    q: Matrix,
) -> None:
    """Sweep in place until no value falls by more than `small`. Staying where one is, is solved for at once."""
    change = small + 1.0
    while change > small:
        change = 0.0
        for i in range(len(values)):
            best = -np.inf
            for a in range(rewards.shape[1]):
                if not legal[i, a]:
                    continue
                value = rewards[i, a]
                stay = 0.0
                if not terminal[i]:
                    for k in range(successors.shape[2]):
                        p = probabilities[i, a, k]
                        if successors[i, a, k] == i:
                            stay += discount * p
                        elif p > 0.0:
                            value += discount * p * values[successors[i, a, k]]
                q[i, a] = value + stay * values[i]
                best = max(best, value / (1.0 - stay))
            change = max(change, values[i] - best)
            values[i] = min(values[i], best)


@kernel
def _iterate_informed(
    successors: np.ndarray,
    probabilities: np.ndarray,
    rewards: Matrix,
    legal: np.ndarray,
    terminal: Mask,
    likelihoods: np.ndarray,
    discount: float,
    small: float,
    q: Matrix,
) -> None:
    """Sweep in place until no value falls by more than `small`."""
    actions = rewards.shape[1]
    change = small + 1.0
    while change > small:
        change = 0.0
        for i in range(len(q)):
            if terminal[i]:
                continue
            for a in range(actions):
                if not legal[i, a]:
                    continue
                value = rewards[i, a]
                for o in range(likelihoods.shape[2]):
                    possible = False
                    for k in range(successors.shape[2]):
                        possible = possible or (probabilities[i, a, k] > 0.0 and likelihoods[successors[i, a, k], a, o] > 0.0)
                    if not possible:
                        continue
                    best = -np.inf
                    for b in range(actions):
                        total = 0.0
                        for k in range(successors.shape[2]):
                            j = successors[i, a, k]
                            p = probabilities[i, a, k] * likelihoods[j, a, o]
                            if p > 0.0:
                                total += p * q[j, b]
                        best = max(best, total)
                    value += discount * best
                for k in range(successors.shape[2]):  # what was never met
                    j = successors[i, a, k]
                    if probabilities[i, a, k] > 0.0 and not terminal[j]:
                        left = 1.0
                        for o in range(likelihoods.shape[2]):
                            left -= likelihoods[j, a, o]
                        if left > 1e-12:
                            best = -np.inf
                            for b in range(actions):
                                best = max(best, q[j, b])
                            value += discount * probabilities[i, a, k] * left * best
                change = max(change, q[i, a] - value)
                q[i, a] = min(q[i, a], value)


@kernel
def _iterate_repeated(
    successors: np.ndarray,
    probabilities: np.ndarray,
    rewards: Matrix,
    terminal: Mask,
    actions: Indices,
    discount: float,
    small: float,
    values: Matrix,
) -> None:
    """Sweep in place until no value rises by more than `small`. Staying where one is, is solved for at once."""
    for column in range(len(actions)):
        a = actions[column]
        change = small + 1.0
        while change > small:
            change = 0.0
            for i in range(len(values)):
                if terminal[i]:
                    continue
                value = rewards[i, a]
                stay = 0.0
                for k in range(successors.shape[2]):
                    p = probabilities[i, a, k]
                    if successors[i, a, k] == i:
                        stay += discount * p
                    elif p > 0.0:
                        value += discount * p * values[successors[i, a, k], column]
                value /= 1.0 - stay
                change = max(change, value - values[i, column])
                values[i, column] = max(values[i, column], value)
