"""What a bound is to a planner: numbers of each state whose weighted means over a belief bound its value.

A lower bound is a set of plans, which do not know the state: the value of a belief is at least the mean value of any one
of them over its states. An upper bound is the value of the fully observable problem, V(s), or better
Q(s, a): the value of a belief is at most the largest mean of Q over its states, since seeing the state can only help.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.compiler.kernels import Kernel, Record, kernel

ILLEGAL = -1e30
"""Q of an action that is not legal: far below every value, yet finite, so that a particle of weight 0 adds 0 and not nan."""

Evaluate = Callable[..., None]
"""A plain function evaluate(model, data, s, rng, out, at) that kernels bind by closure."""


@dataclass(frozen=True)
class Part:
    """A lower or an upper bound alone."""

    name: str
    evaluate: Evaluate
    """evaluate(model, data, s, rng, out, at) writes `width` numbers for a state that is not terminal."""
    data: Record
    width: int
    first_actions: tuple[int, ...] = ()
    """Of a lower bound, for each of its plans; -1 where the plan is not tied to one."""
    sound: bool = True


@dataclass(frozen=True)
class Bounds:
    """A lower and an upper bound. With K plans and M upper values a state has K + M numbers L_1 .. L_K, U_1 .. U_M:

    lower bound of a belief = max_k sum_i w_i L_k(s_i), upper bound = max_m sum_i w_i U_m(s_i), terminal states counting 0.
    """

    lower: str
    """What was picked: "blind", "plans", "value_bounds", "-20", .."""
    upper: str
    """"qmdp", "fib", "mdp", "11", .."""
    sound: bool
    """Whether both are proved (numbers are taken at their word); else they are estimates from simulation."""
    evaluate: Evaluate
    """evaluate(model, data, s, rng, out, at): for a state that is not terminal writes the K + M numbers from out[at] on.
    A plain function for kernels, bound by closure. Q of an illegal action is `ILLEGAL`."""
    data: Record
    """What `evaluate` reads."""
    first_actions: np.ndarray
    """[K] the action that each plan takes first; -1 where it is not tied to one."""
    by_action: bool
    """Whether the upper values are Q(s, a), one for each action; else there is one, V(s)."""

    def at(self, model: Any, belief: Any, rng: Any) -> tuple[float, float]:
        """Lower and upper bound of a belief (`Particles`). They cross only where one of them is unsound."""
        plans = len(self.first_actions)
        numbers = np.zeros((len(belief.states), plans + (model.n_actions if self.by_action else 1)))
        over_states(self.evaluate)(model, self.data, belief.states, numbers.reshape(-1), rng)
        means = belief.weights @ numbers
        return float(means[:plans].max()), float(means[plans:].max())


def join(lower: Part, upper: Part, n_actions: int) -> Bounds:
    """A lower and an upper bound as one evaluation."""
    evaluate: Evaluate = _one_after_the_other(lower.evaluate, upper.evaluate)
    data: Record = Pair(lower=lower.data, upper=upper.data, width=lower.width)
    if lower.evaluate is table_row and upper.evaluate is table_row:
        evaluate, data = table_row, Table(values=np.hstack((lower.data.values, upper.data.values)))
    if lower.evaluate is value_bounds_lower and upper.evaluate is value_bounds_upper:
        evaluate, data = value_bounds_both, Nothing()
    return Bounds(
        lower=lower.name,
        upper=upper.name,
        sound=lower.sound and upper.sound,
        evaluate=evaluate,
        data=data,
        first_actions=np.array(lower.first_actions, dtype=np.int64),
        by_action=upper.width == n_actions,
    )


class Pair(Record):
    """The data of a lower and an upper bound."""

    lower: Any
    upper: Any
    width: int
    """How many numbers the lower one writes."""


@functools.cache
def _one_after_the_other(lower: Evaluate, upper: Evaluate) -> Evaluate:
    def evaluate(model: Any, data: Pair, s: Any, rng: Any, out: Any, at: int) -> None:
        lower(model, data.lower, s, rng, out, at)
        upper(model, data.upper, s, rng, out, at + data.width)

    return evaluate


@functools.cache
def over_states(evaluate: Evaluate) -> Kernel:
    """A kernel (model, data, states [N, n], out [N * width], rng) that evaluates every state; terminal ones stay as they are."""

    def evaluate_all(model: Any, data: Any, states: Any, out: Any, rng: Any) -> None:
        width = len(out) // len(states)
        for i in range(len(states)):
            s = model.read_state(states, i)
            if not model.is_terminal(s):
                evaluate(model, data, s, rng, out, i * width)

    return kernel(evaluate_all)


# --- where the numbers come from ---


class Nothing(Record):
    """No data."""


class Number(Record):
    value: float


class Table(Record):
    values: Any
    """[S, width] a row for each state of a finite model."""


def number(model: Any, data: Number, s: Any, rng: Any, out: Any, at: int) -> None:
    out[at] = data.value


def table_row(model: Any, data: Table, s: Any, rng: Any, out: Any, at: int) -> None:
    i = model.index(s)
    for k in range(data.values.shape[1]):
        out[at + k] = data.values[i, k]


def value_bounds_lower(model: Any, data: Nothing, s: Any, rng: Any, out: Any, at: int) -> None:
    out[at] = model.value_bounds(s)[0]


def value_bounds_upper(model: Any, data: Nothing, s: Any, rng: Any, out: Any, at: int) -> None:
    out[at] = model.value_bounds(s)[1]


def value_bounds_both(model: Any, data: Nothing, s: Any, rng: Any, out: Any, at: int) -> None:
    out[at], out[at + 1] = model.value_bounds(s)


def plan_values(model: Any, data: Nothing, s: Any, rng: Any, out: Any, at: int) -> None:
    model.plan_values(s, out, at)


def action_bounds(model: Any, data: Nothing, s: Any, rng: Any, out: Any, at: int) -> None:
    model.action_bounds(s, out, at)
    for a in range(model.n_actions):
        if not model.legal(s, a):
            out[at + a] = ILLEGAL
