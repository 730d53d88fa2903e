"""A finite model written out: every transition, expected reward and, where there are few, every observation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from airoas.compiler.kernels import interpreted, kernel
from airoas.errors import ModelError, OptionError
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rewards import MOST_REWARD, refuse_reward
from airoas.modelling.rows import Mask, Matrix, Rows, are_equal
from airoas.modelling.successors import has_more
from airoas.rng import Rng, stream

MOST_BYTES = 1 << 30
"""Of an enumeration; larger models are not written out."""
MOST_OBSERVATIONS = 64
_REWARD_DRAWS = 64  # simulated steps per state and action where a model gives no `reward`
_TRIES = 10_000  # steps to find a reward to name
_OBSERVATION_DRAWS = 8  # per state and action


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
    exact: bool = True
    """Whether the rewards are: False where they vary and are averages of simulated steps."""


def can_enumerate(model: KernelModel) -> bool:
    """Whether the model is finite and small enough to be written out: a table of values within 100 MB."""
    return bool(model.is_finite) and int(model.n_states()) * model.n_actions * 8 <= 100_000_000


def enumerate_model(model: KernelModel) -> Enumeration:
    """Every transition and expected reward of a finite model."""
    if not model.is_finite:
        remedy = "give it n_states, index, state and successor, or choose bounds that need no enumeration."
        raise OptionError(f"{type(model).__name__} cannot be enumerated", remedy)
    size, actions = int(model.n_states()), model.n_actions
    widest, total = _widest(model, size)
    if abs(total - 1.0) > 1e-9:
        problem = f"has probabilities that sum to {total:.9g} in some state, not 1"
        raise ModelError(problem, "run airoas.check(model) to see where.", where=location(model, "successor"))
    if size * actions * (16 * widest + 17) > MOST_BYTES:
        problem = f"{type(model).__name__} has {size} states, {actions} actions and up to {widest} successors: too many to write out"
        raise OptionError(problem, "give it `value_bounds` or `action_bounds`, and choose bounds that need no enumeration.")
    shape = (size, actions)
    successors, probabilities = np.zeros((*shape, widest), dtype=np.int64), np.zeros((*shape, widest))
    rewards, legal, terminal = np.zeros(shape), np.zeros(shape, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    _fill_transitions(model, successors, probabilities, legal, terminal)
    exact = True
    if model.has("reward"):
        _fill_rewards(model, rewards)
    else:
        exact = not _simulate_rewards(model, rewards, _REWARD_DRAWS, stream(0, "rewards"))
    bad = np.argwhere(~(np.abs(rewards) <= MOST_REWARD) & legal & ~terminal[:, None])
    if len(bad):
        raise _bad_reward(model, *bad[0])
    return Enumeration(successors, probabilities, rewards, legal, terminal, exact)


def observation_probabilities(model: KernelModel, table: Enumeration) -> np.ndarray | None:
    """p(o | s2, a) [S, A, O] of observations met in every state arrived in; None where there are more than 64, or not whole numbers.

    Rare ones may be missing, so that a row sums to less than 1.
    """
    shape = model.shapes.observation
    size, actions = table.rewards.shape
    if "float" in shape.kinds or size * actions * MOST_OBSERVATIONS * 8 > MOST_BYTES:
        return None
    seen = np.zeros((MOST_OBSERVATIONS, len(shape.kinds)))
    row = np.zeros((1, len(shape.kinds)))
    count = _meet_observations(model, table.terminal, seen, row, _OBSERVATION_DRAWS, stream(0, "observations"))
    if count < 0:
        return None
    likelihoods = np.zeros((size, actions, count))
    _weigh_observations(model, table.terminal, seen, likelihoods)
    worst = likelihoods.sum(axis=2).max()
    if worst > 1.0 + 1e-9:
        problem = f"gives observations of one state probabilities that sum to {worst:.9g}"
        raise ModelError(problem, "run airoas.check(model) to see where.", where=location(model, "obs_logpdf"))
    return likelihoods


def _bad_reward(model: KernelModel, i: int, a: int) -> ModelError:
    """What to say of a state and an action whose expected reward is none: a step's, where one can be found."""
    plain, rng = interpreted(model), stream(0, "rewards")
    s = plain.state(int(i))
    given = (float(plain.reward(s, int(a))),) if model.has("reward") else (plain.step(s, int(a), rng)[1] for _ in range(_TRIES))
    return refuse_reward(model, s, int(a), next((reward for reward in given if not abs(reward) <= MOST_REWARD), math.nan))


@kernel
def _widest(model: KernelModel, size: int) -> tuple[int, float]:
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
            while has_more(total, k, size):
                _, p = model.successor(s, a, k)
                total += p
                k += 1
            widest = max(widest, k)
            if abs(total - 1.0) > abs(worst - 1.0):
                worst = total
    return widest, worst


@kernel
def _fill_transitions(model: KernelModel, successors: np.ndarray, probabilities: np.ndarray, legal: np.ndarray, terminal: Mask) -> None:
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
            while has_more(total, k, successors.shape[2]):
                s2, p = model.successor(s, a, k)
                successors[i, a, k] = model.index(s2)
                probabilities[i, a, k] = p
                total += p
                k += 1


@kernel
def _fill_rewards(model: KernelModel, rewards: Matrix) -> None:
    for i in range(rewards.shape[0]):
        s = model.state(i)
        if not model.is_terminal(s):
            for a in range(rewards.shape[1]):
                rewards[i, a] = model.reward(s, a)


@kernel
def _simulate_rewards(model: KernelModel, rewards: Matrix, draws: int, rng: Rng) -> bool:
    """Whether they vary."""
    vary = False
    for i in range(rewards.shape[0]):
        s = model.state(i)
        if not model.is_terminal(s):
            for a in range(rewards.shape[1]):
                first = model.step(s, a, rng)[1]
                rest = 0.0
                for _ in range(draws - 1):
                    rest += model.step(s, a, rng)[1] - first
                rewards[i, a] = first + rest / draws
                vary = vary or rest != 0.0
    return vary


@kernel
def _meet_observations(model: KernelModel, terminal: Mask, seen: Rows, row: Rows, draws: int, rng: Rng) -> int:
    """Collect the observations drawn in every state; how many there are, -1 where `seen` is too short."""
    count = 0
    for i in range(len(terminal)):
        s = model.state(i)
        if terminal[i]:
            continue
        for a in range(model.n_actions):
            for _ in range(draws):
                model.write_observation(row, 0, model.observe(s, a, rng))
                known = False
                for j in range(count):
                    known = known or are_equal(seen, j, row, 0)
                if not known:
                    if count == len(seen):
                        return -1
                    for k in range(row.shape[1]):
                        seen[count, k] = row[0, k]
                    count += 1
    return count


@kernel
def _weigh_observations(model: KernelModel, terminal: Mask, seen: Rows, likelihoods: np.ndarray) -> None:
    for i in range(len(terminal)):
        s = model.state(i)
        if not terminal[i]:
            for a in range(likelihoods.shape[1]):
                for j in range(likelihoods.shape[2]):
                    likelihoods[i, a, j] = np.exp(model.obs_logpdf(model.read_observation(seen, j), s, a))
