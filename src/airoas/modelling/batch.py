"""The few functions over many particles that a model brings to compiled code; all else is compiled once for every model.

Rows are states, observations and actions as numbers. `alive [n]` says which rows count: but for `is_terminal` no method of the
model is called for another one, and a row that reaches a terminal state is alive no more. Row i draws from a stream of its own,
that of (seed, numbers[i]), so that results do not depend on the order of work. `actions` has a row for each state, or one for all.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from airoas.compiler.kernels import Bound, Kernel, Record, current_mode, kernel
from airoas.compiler.lanes import lanes
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rewards import Watcher
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows
from airoas.rng import new_stream


@kernel
def initial(model: KernelModel, states: Rows, alive: Mask, seed: int) -> None:
    """Draws from the initial belief."""
    own = new_stream()
    for i in lanes(len(states)):
        own.reseed(seed, 0, i)
        s = model.initial(own)
        model.write_state(states, i, s)
        alive[i] = not model.is_terminal(s)


@kernel
def inspect(model: KernelModel, states: Rows, alive: Mask, allowed: Mask) -> int:
    """How many of the rows that are alive are not terminal; the others are alive no more. `allowed[a]` goes where one forbids a."""
    count = 0
    for i in lanes(len(states)):
        if alive[i]:
            s = model.read_state(states, i)
            if model.is_terminal(s):
                alive[i] = False
                continue
            count += 1
            for a in range(len(allowed)):
                if allowed[a] and not model.legal(s, a):
                    allowed[a] = False
    return count


@kernel
def step(
    model: KernelModel, states: Rows, alive: Mask, actions: Rows, seed: int, numbers: Indices, after: Rows, rewards: Reals, arrived: Mask
) -> None:
    """One step of every row that is alive; `arrived` says which are alive after it. It may be `alive` itself, and `after` `states`."""
    own = new_stream()
    many = len(actions) > 1
    for i in lanes(len(states)):
        if alive[i]:
            own.reseed(seed, 0, numbers[i])
            s, rewards[i] = model.step(model.read_state(states, i), model.read_action(actions, i if many else 0), own)
            model.write_state(after, i, s)
            arrived[i] = not model.is_terminal(s)
        else:
            rewards[i], arrived[i] = 0.0, False


@kernel
def observe(model: KernelModel, states: Rows, which: Indices, actions: Rows, seed: int, numbers: Indices, observations: Rows) -> None:
    """Observation j is one in the row which[j]."""
    own = new_stream()
    many = len(actions) > 1
    for j in lanes(len(which)):
        own.reseed(seed, 1, numbers[j])
        i = which[j]
        a = model.read_action(actions, i if many else 0)
        model.write_observation(observations, j, model.observe(model.read_state(states, i), a, own))


@kernel
def log_likelihoods(model: KernelModel, states: Rows, alive: Mask, observations: Rows, actions: Rows, out: Matrix) -> None:
    """out[g, i] = log p(o_g | s_i, a); -inf where row i is not alive.

    Particles in the outer loop: what depends on the state alone is then computed once.
    """
    many = len(actions) > 1
    for i in lanes(len(states)):
        if alive[i]:
            s = model.read_state(states, i)
            a = model.read_action(actions, i if many else 0)
            for g in range(len(observations)):
                out[g, i] = model.obs_logpdf(model.read_observation(observations, g), s, a)
        else:
            for g in range(len(observations)):
                out[g, i] = -math.inf


@kernel
def weigh(model: KernelModel, states: Rows, alive: Mask, observations: Rows, of: Indices, actions: Rows, out: Reals) -> None:
    """out[i] = log p(o | s_i, a_i) of row of[i] of the observations; -inf where row i is not alive."""
    many = len(actions) > 1
    for i in lanes(len(states)):
        out[i] = -math.inf
        if alive[i]:
            o = model.read_observation(observations, of[i])
            out[i] = model.obs_logpdf(o, model.read_state(states, i), model.read_action(actions, i if many else 0))


@kernel
def permits(model: KernelModel, states: Rows, alive: Mask, actions: Rows, out: Mask) -> None:
    """Which of the live rows allow their action."""
    many = len(actions) > 1
    for i in lanes(len(states)):
        out[i] = alive[i] and model.legal(model.read_state(states, i), model.read_action(actions, i if many else 0))


@kernel
def default_actions(model: KernelModel, states: Rows, alive: Mask, seed: int, numbers: Indices, actions: Rows) -> None:
    """An action of the default policy for every live row."""
    own = new_stream()
    for i in lanes(len(states)):
        if alive[i]:
            own.reseed(seed, 2, numbers[i])
            model.write_action(actions, i, model.rollout_action(model.read_state(states, i), own))


class _Free(Record):
    """Of a model that allows every action everywhere."""

    n_actions: int


@kernel
def _permits_all(free: _Free, states: Rows, alive: Mask, actions: Rows, out: Mask) -> None:
    for i in lanes(len(states)):
        out[i] = alive[i]


@kernel
def _uniform_actions(free: _Free, states: Rows, alive: Mask, seed: int, numbers: Indices, actions: Rows) -> None:
    own = new_stream()
    for i in lanes(len(states)):
        if alive[i]:
            own.reseed(seed, 2, numbers[i])
            actions[i, 0] = own.integer(free.n_actions)


class Simulator(Record):
    """A model to shared kernels that simulate it: many states at a time, each with an action of its own."""

    step: Bound
    """See `airoas.modelling.rewards.earn`."""
    permits: Bound
    default_actions: Bound
    is_restricted: bool
    """Whether some action is forbidden somewhere."""
    n_actions: int
    discount: float


class Batch:
    """The batch functions of a model in one mode, each compiled when it is first asked for."""

    def __init__(self, model: KernelModel) -> None:
        layouts = model.shapes
        self._model = model
        self._states = np.zeros((1, layouts.state.size))
        self._observations = np.zeros((1, layouts.observation.size))
        self._actions = np.zeros((1, layouts.action.size if layouts.action else 1))
        self._flags, self._reals, self._numbers = np.zeros(1, np.bool_), np.zeros(1), np.zeros(1, np.int64)

    def _bound(self, function: Kernel, *examples: Any) -> Bound:
        return function.bind(self._model, *examples)

    @functools.cached_property
    def initial(self) -> Bound:
        return self._bound(initial, self._states, self._flags, 0)

    @functools.cached_property
    def inspect(self) -> Bound:
        return self._bound(inspect, self._states, self._flags, self._flags)

    @functools.cached_property
    def step(self) -> Bound:
        rows = self._states, self._flags, self._actions, 0, self._numbers
        return self._bound(step, *rows, self._states, self._reals, self._flags)

    @functools.cached_property
    def _watcher(self) -> Watcher:
        return Watcher(self._model, self.step, self.permits, self._states, self._actions)

    @functools.cached_property
    def earn(self) -> Bound:
        """`step` for those who count the rewards."""
        return self._watcher.earn

    @functools.cached_property
    def observe(self) -> Bound:
        return self._bound(observe, self._states, self._numbers, self._actions, 0, self._numbers, self._observations)

    @functools.cached_property
    def log_likelihoods(self) -> Bound:
        return self._bound(log_likelihoods, self._states, self._flags, self._observations, self._actions, np.zeros((1, 1)))

    @functools.cached_property
    def weigh(self) -> Bound:
        return self._bound(weigh, self._states, self._flags, self._observations, self._numbers, self._actions, self._reals)

    @functools.cached_property
    def permits(self) -> Bound:
        examples = self._states, self._flags, self._actions, self._flags
        return self._bound(permits, *examples) if self._model.has("legal") else _permits_all.bind(self._free, *examples)

    @functools.cached_property
    def default_actions(self) -> Bound:
        examples = self._states, self._flags, 0, self._numbers, self._actions
        own = self._model.has("rollout_action") or self._model.has("legal") or not self._model.n_actions
        return self._bound(default_actions, *examples) if own else _uniform_actions.bind(self._free, *examples)

    @functools.cached_property
    def _free(self) -> _Free:
        return _Free(n_actions=self._model.n_actions)

    @functools.cached_property
    def simulator(self) -> Simulator:
        return Simulator(
            step=self.earn,
            permits=self.permits,
            default_actions=self.default_actions,
            is_restricted=bool(self._model.has("legal")),
            n_actions=self._model.n_actions,
            discount=float(self._model.discount),
        )


def batch(model: KernelModel) -> Batch:
    """The batch functions of a model in the mode in force."""
    held = model.__dict__.setdefault("_batches", {})
    mode = current_mode()
    if mode not in held:
        held[mode] = Batch(model)
    result: Batch = held[mode]
    return result
