"""What a model brings to the search: functions that take one state on, and what a state beyond the tree is worth.

The search itself is compiled once for all models and calls these through their addresses, once a step within the tree and once
for a whole rollout. None of a model's methods but `is_terminal` is called in a terminal state.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.compiler.clock import now
from airoas.compiler.kernels import Bound, Kernel, Record, kernel
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rewards import MOST_REWARD
from airoas.modelling.rows import Mask, Matrix, Reals, Rows
from airoas.planners.visits.tree import VisitTree
from airoas.rng import Rng, stream

STEPS_PER_CLOCK_READ = 64
"""Simulated steps after which the clock is read, a power of two: some microseconds of work."""
ESTIMATES = ("rollout", "random", "value")
"""The model's `rollout_action` (uniform where it has none); uniform over the legal actions; its heuristic, or upper bound."""


class Simulation(Record):
    """Where a simulation is, and the rows of the tree that the model's functions read and write."""

    state: Rows
    """[1, .]"""
    actions: Rows
    """[m, .] of the tree's action nodes."""
    observations: Rows
    """[n, .] of the tree's histories."""
    values: Reals
    """[S] of the fully observable problem where the estimate reads them, or [1]."""
    reward: float
    """Of the last step."""
    n_steps: int
    """Simulated so far, in all simulations."""
    deadline: float
    is_late: bool
    """Whether the deadline was found to have passed, in the middle of a simulation."""
    is_bad: bool
    """Whether a step gave a reward that is none: `state` is where, `culprit` what was done, and `reward` what came of it."""
    culprit: Rows
    """[1, .]"""


def make_simulation(model: KernelModel, tree: VisitTree, estimate: str) -> Simulation:
    return Simulation(
        state=np.zeros((1, model.shapes.state.size)),
        actions=tree.actions,
        observations=tree.observations,
        values=_mdp_values(model) if _estimate_of(model, estimate) is _tabulated else np.zeros(1),
        reward=0.0,
        n_steps=0,
        deadline=math.inf,
        is_late=False,
        is_bad=False,
        culprit=np.zeros((1, tree.actions.shape[1])),
    )


@functools.lru_cache(8)
def _mdp_values(model: KernelModel) -> np.ndarray:
    from airoas.bounds import mdp_values

    return mdp_values(model)


# --- one step ---


@kernel
def _step(model: KernelModel, simulation: Simulation, action: int, history: int, rng: Rng) -> bool:
    """Take the action of an action node, and write what is observed then to the row of a history unless that is below 0; whether
    the episode goes on. Where it does not, nothing is observed and the state is left as it was."""
    a = model.read_action(simulation.actions, action)
    s, reward = model.step(model.read_state(simulation.state, 0), a, rng)
    simulation.reward = reward
    if not abs(reward) <= MOST_REWARD:
        model.write_action(simulation.culprit, 0, a)
        simulation.is_bad = True
        return False
    if model.is_terminal(s):
        return False
    model.write_state(simulation.state, 0, s)
    if history >= 0:
        model.write_observation(simulation.observations, history, model.observe(s, a, rng))
    return True


@kernel
def _log_likelihood(model: KernelModel, simulation: Simulation, action: int, history: int) -> float:
    """log p(o | s, a) of a history's observation in the state at hand."""
    s, a = model.read_state(simulation.state, 0), model.read_action(simulation.actions, action)
    log_likelihood: float = model.obs_logpdf(model.read_observation(simulation.observations, history), s, a)
    return log_likelihood


def bind_log_likelihood(model: KernelModel, simulation: Simulation) -> Bound:
    """(simulation, action, history) -> the log-likelihood."""
    return _log_likelihood.bind(model, simulation, 0, 0)


# --- random actions ---


def random_action(model: KernelModel, s: Any, rng: Rng) -> int:
    """Uniform over the legal actions; the first legal one where none is found in 1000 draws."""
    for _ in range(1000):
        a: int = rng.integer(model.n_actions)
        if model.legal(s, a):
            return a
    for a in range(model.n_actions):
        if model.legal(s, a):
            return a
    return 0


@kernel
def _propose_legal(model: KernelModel, simulation: Simulation, action: int, rng: Rng) -> bool:
    s = model.read_state(simulation.state, 0)
    a = random_action(model, s, rng)
    model.write_action(simulation.actions, action, a)
    return bool(model.legal(s, a))


@kernel
def _propose_sampled(model: KernelModel, simulation: Simulation, action: int, rng: Rng) -> bool:
    model.write_action(simulation.actions, action, model.sample_action(model.read_state(simulation.state, 0), rng))
    return True


class _Free(Record):
    """Of a model that allows every action everywhere."""

    n_actions: int


@kernel
def _propose_any(free: _Free, simulation: Simulation, action: int, rng: Rng) -> bool:
    simulation.actions[action, 0] = rng.integer(free.n_actions)
    return True


def bind_proposal(model: KernelModel, simulation: Simulation) -> Bound:
    """(simulation, action, rng) -> whether the random action that now stands in that row is legal."""
    examples = simulation, 0, stream(0)
    if model.n_actions == 0:
        return _propose_sampled.bind(model, *examples)
    return _propose_legal.bind(model, *examples) if model.has("legal") else _propose_any.bind(_Free(n_actions=model.n_actions), *examples)


# --- what a state is worth ---


def _rollout_of(policy: Callable[..., Any]) -> Kernel:
    def rollout(model: KernelModel, simulation: Simulation, steps: int, rng: Rng) -> float:
        """The discounted sum of rewards until the end or for that many steps. The stream is left where it was: a simulation has
        one of its own, and ends here."""
        own = rng.local()
        s = model.read_state(simulation.state, 0)
        total, weight, taken = 0.0, 1.0, 0
        while taken < steps:
            s, reward = model.step(s, policy(model, s, own), own)
            total += weight * reward
            weight *= model.discount
            taken += 1
            if model.is_terminal(s):
                break
            if taken & (STEPS_PER_CLOCK_READ - 1) == 0 and now() >= simulation.deadline:
                simulation.is_late = True
                break
        if not abs(total) <= MOST_REWARD:  # the same steps again, one of which may be at fault
            again = rng.local()
            s = model.read_state(simulation.state, 0)
            for _ in range(taken):
                a = policy(model, s, again)
                arrived, reward = model.step(s, a, again)
                if not abs(reward) <= MOST_REWARD:
                    model.write_state(simulation.state, 0, s)
                    model.write_action(simulation.culprit, 0, a)
                    simulation.reward, simulation.is_bad = reward, True
                    break
                s = arrived
        simulation.n_steps += taken
        return total

    return kernel(rollout)


def _sampled_action(model: KernelModel, s: Any, rng: Rng) -> Any:
    return model.sample_action(s, rng)


def _default_action(model: KernelModel, s: Any, rng: Rng) -> Any:
    return model.rollout_action(s, rng)


_rollout, _random_rollout, _sampled_rollout = (_rollout_of(policy) for policy in (_default_action, random_action, _sampled_action))


@kernel
def _bounded(model: KernelModel, simulation: Simulation, steps: int, rng: Rng) -> float:
    value: float = model.value_bounds(model.read_state(simulation.state, 0))[1] if steps > 0 else 0.0
    return value


@kernel
def _guessed(model: KernelModel, simulation: Simulation, steps: int, rng: Rng) -> float:
    value: float = model.heuristic(model.read_state(simulation.state, 0)) if steps > 0 else 0.0
    return value


@kernel
def _tabulated(model: KernelModel, simulation: Simulation, steps: int, rng: Rng) -> float:
    value: float = simulation.values[model.index(model.read_state(simulation.state, 0))] if steps > 0 else 0.0
    return value


class _Values(Record):
    """Values of the fully observable problem, and a workspace to read them in."""

    expected: Bound
    """See `airoas.bounds.Bounds`."""
    alive: Mask
    """[1]"""
    numbers: Matrix
    """[1, M]"""


@kernel
def _by_values(values: _Values, simulation: Simulation, steps: int, rng: Rng) -> float:
    if steps <= 0:
        return 0.0
    values.expected(simulation.state, values.alive, values.numbers, 0)
    best = -math.inf
    for j in range(values.numbers.shape[1]):
        best = max(best, values.numbers[0, j])
    return best


def _values_of(model: KernelModel) -> _Values:
    from airoas.bounds import find_bounds

    bounds = find_bounds(model, (0.0, "auto"))
    return _Values(expected=bounds.expected, alive=np.ones(1, np.bool_), numbers=np.zeros((1, bounds.width - 1)))


def _estimate_of(model: KernelModel, estimate: str) -> Kernel:
    """The function behind a name of ESTIMATES. A model without a `rollout_action` acts at random."""
    if estimate == "rollout" or (estimate == "random" and not model.has("rollout_action")):
        return _rollout
    if estimate == "random":
        return _random_rollout if model.n_actions else _sampled_rollout
    if model.has("heuristic"):
        return _guessed
    if model.has("value_bounds"):
        return _bounded
    return _tabulated if model.is_finite else _by_values


# --- all of it ---


class Functions(Record):
    """What a model brings to POMCP and POMCPOW alike."""

    step: Bound
    """(simulation, action, history, rng) -> whether the episode goes on."""
    estimate: Bound
    """(simulation, steps, rng) -> the value of the state at hand with that many steps to go."""
    inspect: Bound
    """See `airoas.modelling.batch`."""
    is_restricted: bool
    """Whether it forbids some actions in some states."""
    legal: Mask
    """[A] those that the state at hand allows."""
    alive: Mask
    """[1]"""
    discount: float


def bind_functions(model: KernelModel, simulation: Simulation, estimate: str) -> Functions:
    function = _estimate_of(model, estimate)
    return Functions(
        step=_step.bind(model, simulation, 0, 0, stream(0)),
        estimate=function.bind(_values_of(model) if function is _by_values else model, simulation, 0, stream(0)),
        inspect=batch(model).inspect,
        is_restricted=bool(model.has("legal")),
        legal=np.ones(model.n_actions, np.bool_),
        alive=np.ones(1, np.bool_),
        discount=float(model.discount),
    )
