"""Bounds on the value of a state, found from the model alone.

So far: the value of the fully observable problem, by value iteration for finite models. It bounds the value of every
belief from above, since seeing the state can only help.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from airoas.compile import kernel
from airoas.errors import ModelError, OptionError
from airoas.rng import stream
from airoas.structure import place

_REWARD_DRAWS = 64  # simulated steps per state and action where a model gives no `reward`


class Enumeration(NamedTuple):
    """A finite model written out: S states, A actions, at most K successors each."""

    successors: np.ndarray
    """[S, A, K] state indices."""
    probabilities: np.ndarray
    """[S, A, K], zero where there are fewer than K."""
    rewards: np.ndarray
    """[S, A] expected reward."""
    legal: np.ndarray
    """[S, A]"""
    terminal: np.ndarray
    """[S]"""


def enumerate_model(model: Any) -> Enumeration:
    """Every transition and expected reward of a finite model."""
    if not model.is_finite:
        remedy = "give it n_states, index, state and successor, or choose bounds that need no enumeration."
        raise OptionError(f"{type(model).__name__} cannot be enumerated", remedy)
    size, actions = int(model.n_states()), model.n_actions
    widest, total = _widest(model, size)
    if abs(total - 1.0) > 1e-9:
        problem = f"has probabilities that sum to {total:.9g} in some state, not 1"
        raise ModelError(problem, "run airoas.check(model) to see where.", where=place(model, "successor"))
    shape = (size, actions)
    table = Enumeration(
        np.zeros((*shape, widest), dtype=np.int64),
        np.zeros((*shape, widest)),
        np.zeros(shape),
        np.zeros(shape, dtype=np.bool_),
        np.zeros(size, dtype=np.bool_),
    )
    _fill_transitions(model, *table[:2], *table[3:])
    if model.has("reward"):
        _fill_rewards(model, table.rewards)
    else:
        _simulate_rewards(model, table.rewards, _REWARD_DRAWS, stream(0, "rewards"))
    return table


def mdp_q_values(model: Any, tolerance: float = 1e-9) -> np.ndarray:
    """Q [S, A] of the fully observable problem, an upper bound within `tolerance` of it; -inf where illegal.

    Iterates from above, so that every iterate is an upper bound whenever it stops.
    """
    table = enumerate_model(model)
    if not 0.0 < model.discount < 1.0:
        raise OptionError(f"discount is {model.discount}", "choose it between 0 and 1, both excluded.")
    best = max(0.0, float(table.rewards[table.legal].max(initial=0.0))) / (1.0 - model.discount)
    values = np.where(table.terminal, 0.0, best)
    q = np.full(table.rewards.shape, -np.inf)
    _iterate_values(*table, model.discount, tolerance * (1.0 - model.discount) / model.discount, values, q)
    return q


def mdp_values(model: Any, tolerance: float = 1e-9) -> np.ndarray:
    """Value [S] of each state of the fully observable problem, from above."""
    values: np.ndarray = mdp_q_values(model, tolerance).max(axis=1)
    return values


@kernel
def _widest(model: Any, size: int) -> tuple[int, float]:
    """The largest number of successors, and the sum of probabilities that is farthest from 1."""
    widest = 1
    worst = 1.0
    for i in range(size):
        s = model.state(i)
        for a in range(model.n_actions):
            if model.is_terminal(s) or not model.legal(s, a):
                continue
            total = 0.0
            k = 0
            while total < 1.0 - 1e-12 and k < size:
                _, p = model.successor(s, a, k)
                total += p
                k += 1
            widest = max(widest, k)
            if abs(total - 1.0) > abs(worst - 1.0):
                worst = total
    return widest, worst


@kernel
def _fill_transitions(model: Any, successors: Any, probabilities: Any, legal: Any, terminal: Any) -> None:
    for i in range(len(terminal)):
        s = model.state(i)
        terminal[i] = model.is_terminal(s)
        for a in range(legal.shape[1]):
            legal[i, a] = terminal[i] or model.legal(s, a)
            if terminal[i] or not legal[i, a]:
                successors[i, a, 0] = i
                continue
            total = 0.0
            k = 0
            while total < 1.0 - 1e-12 and k < successors.shape[2]:
                s2, p = model.successor(s, a, k)
                successors[i, a, k] = model.index(s2)
                probabilities[i, a, k] = p
                total += p
                k += 1


@kernel
def _fill_rewards(model: Any, rewards: Any) -> None:
    for i in range(rewards.shape[0]):
        s = model.state(i)
        if not model.is_terminal(s):
            for a in range(rewards.shape[1]):
                rewards[i, a] = model.reward(s, a)


@kernel
def _simulate_rewards(model: Any, rewards: Any, draws: int, rng: Any) -> None:
    for i in range(rewards.shape[0]):
        s = model.state(i)
        if not model.is_terminal(s):
            for a in range(rewards.shape[1]):
                for _ in range(draws):
                    rewards[i, a] += model.step(s, a, rng)[1] / draws


@kernel
def _iterate_values(
    successors: Any, probabilities: Any, rewards: Any, legal: Any, terminal: Any, discount: float, small: float, values: Any, q: Any
) -> None:
    """Sweep in place until no value falls by more than `small`."""
    change = small + 1.0
    while change > small:
        change = 0.0
        for i in range(len(values)):
            best = -np.inf
            for a in range(rewards.shape[1]):
                if not legal[i, a]:
                    continue
                value = rewards[i, a]
                if not terminal[i]:
                    for k in range(successors.shape[2]):
                        p = probabilities[i, a, k]
                        if p > 0.0:
                            value += discount * p * values[successors[i, a, k]]
                q[i, a] = value
                best = max(best, value)
            change = max(change, values[i] - best)
            values[i] = best
