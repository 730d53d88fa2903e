"""What a simulation that leaves the tree is worth: a rollout, or a value known beforehand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.errors import OptionError

ESTIMATES = ("rollout", "random", "value")
"""The model's `rollout_action` (uniform where it has none); uniform over the legal actions; the upper bound of the value."""

Estimate = Callable[..., tuple[float, int]]
"""(model, table, s, steps, rng) -> the estimate of s with that many steps to go, and how many steps were simulated."""


def random_action(model: Any, s: Any, rng: Any) -> int:
    """Uniform over the legal actions; the first legal one where none is found in 1000 draws."""
    for _ in range(1000):
        a: int = rng.integer(model.n_actions)
        if model.legal(s, a):
            return a
    for a in range(model.n_actions):
        if model.legal(s, a):
            return a
    return 0


def sampled_action(model: Any, s: Any, rng: Any) -> Any:
    """A continuous action of the model's own choice."""
    return model.sample_action(s, rng)


def default_action(model: Any, s: Any, rng: Any) -> Any:
    return model.rollout_action(s, rng)


def _rollout_of(policy: Callable[..., Any]) -> Estimate:
    def rollout(model: Any, table: Any, s: Any, steps: int, rng: Any) -> tuple[float, int]:
        """The discounted sum of rewards until the end or the depth limit."""
        total, weight, taken = 0.0, 1.0, 0
        while taken < steps and not model.is_terminal(s):
            s, reward = model.step(s, policy(model, s, rng), rng)
            total += weight * reward
            weight *= model.discount
            taken += 1
        return total, taken

    return rollout


def _bounded(model: Any, table: Any, s: Any, steps: int, rng: Any) -> tuple[float, int]:
    if steps == 0 or model.is_terminal(s):
        return 0.0, 0
    return model.value_bounds(s)[1], 0


def _tabulated(model: Any, table: Any, s: Any, steps: int, rng: Any) -> tuple[float, int]:
    if steps == 0 or model.is_terminal(s):
        return 0.0, 0
    return table[model.index(s)], 0


_ROLLOUTS = {policy: _rollout_of(policy) for policy in (random_action, sampled_action, default_action)}


def find_estimate(model: Any, name: str) -> Estimate:
    """The function behind a name of ESTIMATES."""
    if name == "rollout":
        return _ROLLOUTS[default_action]
    if name == "random":
        return _ROLLOUTS[random_action if model.n_actions else sampled_action]
    if model.has("value_bounds"):
        return _bounded
    if model.is_finite:
        return _tabulated
    remedy = "give the model `value_bounds` or the enumeration group, or use estimate='rollout'."
    raise OptionError(f"{type(model).__name__} knows no values for estimate='value'", remedy)


@functools.lru_cache(8)
def _fully_observable(model: Any) -> np.ndarray:
    from airoas.bounds import mdp_values

    return mdp_values(model)


def find_table(model: Any, estimate: Estimate) -> np.ndarray:
    """Values [S] of the fully observable problem where the estimate reads them, else none."""
    return _fully_observable(model) if estimate is _tabulated else np.zeros(1)
