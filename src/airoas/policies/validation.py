"""What policies earn: in runs with many particles from the initial belief, and in episodes with a real filter."""

from __future__ import annotations

import math

import numpy as np

from airoas.bounds.learned.forest import Forest
from airoas.compiler.clock import read_clock
from airoas.modelling.kernel_model import KernelModel
from airoas.policies.belief_mdp import choose_one, roll_out
from airoas.policies.experience import EFFECTIVE
from airoas.policies.play import decide_by, play
from airoas.policies.qmdp import LOOKED_AT, make_policy
from airoas.policies.runs import BLIND, DEFAULT, FOLLOW, VOTING, Policy, make_runs
from airoas.rng import stream

RUNS = 64
PARTICLES = 1500
SURE = 2.0
"""Errors by which a rival must earn more, about."""
_SIMULATED = 4.0
"""Of so many pairs of episodes the spread of the gains is taken to be known beforehand, from simulated runs."""
_STEPS_IN_VALIDATION = 1000  # steps for q of one belief, about: here as many particles are looked at as in a decision, or nearly


def validate(
    model: KernelModel, correction: Forest | None, states: np.ndarray, weights: np.ndarray, values: str = "auto"
) -> tuple[dict[str, tuple[float, float]], int]:
    """Mean return and its error of what was learned, of QMDP, of voting, of the model's own default policy, and of the best blind one,
    with the action of that."""
    policies = {"learned": make_policy(model, correction, values=values)} if correction is not None else {}
    policies |= {"qmdp": make_policy(model, values=values), "voting": make_policy(model, way=VOTING, values=values)}
    if model.has("rollout_action"):
        policies["default"] = make_policy(model, way=DEFAULT, values=values)
    for policy in policies.values():
        policy.scored = max(policy.scored, min(LOOKED_AT, _STEPS_IN_VALIDATION // len(policy.actions)))
    returns = {name: mean_and_error(_earn(model, policy, PARTICLES, states, weights)) for name, policy in policies.items()}
    always, blind = make_policy(model, way=BLIND, values=values), []
    always.scored = 1  # its values are not asked for
    for a in range(len(always.actions)):
        always.blind = a
        blind.append(mean_and_error(_earn(model, always, 2, states, weights)))
    best = int(np.argmax([mean for mean, _ in blind]))
    return returns | {"blind": blind[best]}, best


def contest(
    model: KernelModel, policies: dict[str, Policy], worlds: int, seconds: float
) -> tuple[dict[str, list[float]], list[tuple[np.ndarray, np.ndarray]]]:
    """What policies earn in the same worlds with the filter that an agent has by default, while there is time; and the beliefs that
    the first of them met."""
    visited: list[tuple[np.ndarray, np.ndarray]] = []
    returns: dict[str, list[float]] = {name: [] for name in policies}
    decides = {name: decide_by(model, policy, visited if name == next(iter(policies)) else None) for name, policy in policies.items()}
    play(model, next(iter(decides.values())), 0, most=2)  # compile ahead
    visited.clear()
    begun = read_clock()
    for world in range(worlds):
        for name, decide in decides.items():
            returns[name].append(play(model, decide, world))
        if (read_clock() - begun) * (1.0 + 1.0 / (world + 1)) > seconds:
            break
    return returns, visited


def promise(model: KernelModel, policy: Policy, states: np.ndarray, weights: np.ndarray) -> float:
    """What a policy thinks that the initial belief is worth."""
    runs = make_runs(model, policy, 1, PARTICLES)
    action = choose_one(policy, runs, states, weights, np.zeros(len(weights), np.int64), stream(0, "promise").bits(62))
    return float(runs.q[0, action])


def _earn(model: KernelModel, policy: Policy, particles: int, states: np.ndarray, weights: np.ndarray) -> np.ndarray:
    runs = make_runs(model, policy, RUNS, particles)
    runs.kind[:], runs.effective = FOLLOW, EFFECTIVE
    horizon = min(int(model.max_steps), math.ceil(math.log(0.01) / math.log(model.discount)))
    roll_out(policy, runs, states, weights, np.zeros(len(weights), np.int64), horizon, stream(0, "validation").bits(62))
    returns: np.ndarray = runs.returns
    return returns


def mean_and_error(returns: np.ndarray | list[float]) -> tuple[float, float]:
    """The mean and its standard error, infinite of a single one."""
    return float(np.mean(returns)), float(np.std(returns, ddof=1) / math.sqrt(len(returns))) if len(returns) > 1 else math.inf


def is_better(gains: np.ndarray, first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Whether episodes with the filter overturn what simulated runs said of two policies. A few episodes may all have gone alike where
    one in five earns much: runs tell how far returns spread."""
    pairs, mean = len(gains), float(np.mean(gains))
    spread = _SIMULATED * RUNS * (first[1] ** 2 + second[1] ** 2) + float(np.square(gains - mean).sum())
    return is_beyond(mean, math.sqrt(spread / (_SIMULATED + pairs - 1.0) / pairs), pairs)


def is_beyond(gain: float, error: float, pairs: int, sure: float = SURE) -> bool:
    """Whether a mean of paired gains is above 0 by so many errors; of few pairs the error is not known well."""
    return pairs > 2 and gain > sure * (1.0 + 1.5 / (pairs - 2)) * error
