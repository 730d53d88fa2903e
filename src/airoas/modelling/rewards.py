"""Rewards that no sum can go on with: nan, infinite ones, and those so large that sums overflow.

Searches look at rewards themselves. Bounds and policies, which count those of many states at a time, step by `earn`: it stops at the
first that is none.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from airoas.compiler.kernels import Bound, Record, kernel
from airoas.errors import ModelError
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.tables import numbers as spelled

MOST_REWARD = 1e20
"""Of a step, in size: no sum of discounted rewards overflows, and no value comes near what stands for an illegal action."""


def refuse_reward(model: KernelModel, state: Any, action: Any, reward: float) -> ModelError:
    """What to say of a reward that nothing can go on with."""
    name = model.action_names[action] if model.action_names else spelled(action)
    problem = f"gives the reward {reward:g} for the action {name} in state {state!r}"
    return ModelError(problem, f"return finite rewards of at most {MOST_REWARD:g} in size.", where=location(model, "step"))


class RewardError(ModelError):
    """Compiled code, which raises it, says no more than that: the rest is what was put down last in a `Watch`."""

    def __init__(self, problem: str = "", remedy: str = "", *, where: str = "") -> None:
        if not problem:
            told = max(list(_watchers), key=lambda watcher: watcher.number).refusal()
            problem, remedy, where = told.problem, told.remedy, told.where
        super().__init__(problem, remedy, where=where)


class Watch(Record):
    """A model's steps, and the first of them whose reward was none."""

    step: Any
    permits: Any
    alive: Any
    """[1] true."""
    allowed: Any
    """[1]"""
    state: Any
    """[1, .]"""
    action: Any
    """[1, .]"""
    reward: Any
    """[1]"""
    number: Any
    """[1] its place among all that were put down; 0 for none."""
    count: Any
    """[1] how many there were, of all models."""


@kernel
def earn(watch: Watch, states: Any, alive: Any, actions: Any, seed: int, numbers: Any, after: Any, rewards: Any, arrived: Any) -> None:
    """`airoas.modelling.batch.step` for those who count rewards. In place it looks at none: the states are gone by which to name one."""
    watch.step(states, alive, actions, seed, numbers, after, rewards, arrived)
    bad = 0
    for i in range(len(states)):
        bad += int(not abs(rewards[i]) <= MOST_REWARD)
    if bad == 0 or after is states:
        return
    for i in range(len(states)):
        if not abs(rewards[i]) <= MOST_REWARD:
            own = i if len(actions) > 1 else 0
            watch.permits(states[i : i + 1], watch.alive, actions[own : own + 1], watch.allowed)
            if watch.allowed[0]:  # what an illegal action would earn counts nowhere
                for k in range(states.shape[1]):
                    watch.state[0, k] = states[i, k]
                for k in range(actions.shape[1]):
                    watch.action[0, k] = actions[own, k]
                watch.reward[0] = rewards[i]
                watch.count[0] += 1
                watch.number[0] = watch.count[0]
                raise RewardError


class Watcher:
    """`earn` on a model."""

    def __init__(self, model: KernelModel, step: Bound, permits: Bound, states: np.ndarray, actions: np.ndarray) -> None:
        self._model = model
        flags, reals, whole = np.zeros(1, np.bool_), np.zeros(1), np.zeros(1, np.int64)
        self._watch = Watch(
            step=step,
            permits=permits,
            alive=~flags,
            allowed=flags,
            state=np.zeros_like(states),
            action=np.zeros_like(actions),
            reward=np.zeros(1),
            number=np.zeros(1, np.int64),
            count=_count,
        )
        self.earn = earn.bind(self._watch, states, flags, actions, 0, whole, states, reals, flags)
        _watchers.add(self)

    @property
    def number(self) -> int:
        return int(self._watch.number[0])

    def refusal(self) -> ModelError:
        """What is to be said of what was put down."""
        state, action = (self._model.from_row(*known) for known in (("state", self._watch.state[0]), ("action", self._watch.action[0])))
        return refuse_reward(self._model, state, action, float(self._watch.reward[0]))


_watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
_count = np.zeros(1, np.int64)
