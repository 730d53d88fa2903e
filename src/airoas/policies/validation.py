"""What policies earn, in runs with many particles from the initial belief."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.bounds.learned.forest import Forest
from airoas.policies.belief_mdp import BLIND, DEFAULT, FOLLOW, Policy, choose_one, make_runs, roll_out
from airoas.policies.qmdp import LOOKED_AT, make_policy
from airoas.rng import stream

RUNS = 64
PARTICLES = 1000
_STEPS_IN_VALIDATION = 1000  # steps for q of one belief, about: here as many particles are looked at as in a decision, or nearly


def validate(model: Any, correction: Forest | None, states: np.ndarray, weights: np.ndarray) -> tuple[dict[str, tuple[float, float]], int]:
    """Mean return and its error of what was learned, of QMDP, of the model's own default policy, and of the best blind one, with
    the action of that."""
    policies = {"learned": make_policy(model, correction), "qmdp": make_policy(model)}
    if model.has("rollout_action"):
        policies["default"] = make_policy(model, way=DEFAULT)
    for policy in policies.values():
        policy.scored = max(policy.scored, min(LOOKED_AT, _STEPS_IN_VALIDATION // len(policy.actions)))
    returns = {name: _mean(_earn(model, policy, PARTICLES, states, weights)) for name, policy in policies.items()}
    always, blind = make_policy(model, way=BLIND), []
    always.scored = 1  # its values are not asked for
    for a in range(len(always.actions)):
        always.blind = a
        blind.append(_mean(_earn(model, always, 2, states, weights)))
    best = int(np.argmax([mean for mean, _ in blind]))
    return returns | {"blind": blind[best]}, best


def promise(model: Any, policy: Policy, states: np.ndarray, weights: np.ndarray) -> float:
    """What a policy thinks that the initial belief is worth."""
    runs = make_runs(model, policy, 1, PARTICLES)
    action = choose_one(policy, runs, states, weights, np.zeros(len(weights), np.int64), stream(0, "promise").bits(62))
    return float(runs.q[0, action])


def _earn(model: Any, policy: Policy, particles: int, states: np.ndarray, weights: np.ndarray) -> np.ndarray:
    runs = make_runs(model, policy, RUNS, particles)
    runs.kind[:] = FOLLOW
    horizon = min(int(model.max_steps), math.ceil(math.log(0.01) / math.log(model.discount)))
    roll_out(policy, runs, states, weights, np.zeros(len(weights), np.int64), horizon, stream(0, "validation").bits(62))
    returns: np.ndarray = runs.returns
    return returns


def _mean(returns: np.ndarray) -> tuple[float, float]:
    return float(returns.mean()), float(returns.std(ddof=1) / math.sqrt(len(returns)))
