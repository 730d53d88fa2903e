"""What a bound is to a planner: numbers of each state whose weighted means over a belief bound its value.

A lower bound is a set of plans, which do not know the state: the value of a belief is at least the mean value of any one
of them over its states. An upper bound is the value of the fully observable problem, V(s), or better
Q(s, a): the value of a belief is at most the largest mean of Q over its states, since seeing the state can only help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import admit
from airoas.compiler.kernels import Bound, Kernel, Record, kernel
from airoas.compiler.lanes import lanes
from airoas.errors import OptionError
from airoas.modelling.batch import batch
from airoas.modelling.gate import as_numbers, check_states
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Mask, Matrix, Rows

ILLEGAL = -1e30
"""Q of an action that is not legal: far below every value, yet finite, so that a particle of weight 0 adds 0 and not nan."""


@dataclass(frozen=True)
class Side:
    """A lower or an upper bound alone."""

    name: str
    evaluate: Bound
    """evaluate(states [n, .], alive [n], out [n, .], at) writes `width` numbers for each row that is alive, from column `at` on."""
    width: int
    first_actions: tuple[int, ...] = ()
    """Of a lower bound, for each of its plans; -1 where the plan is not tied to one."""
    sound: bool = True
    raised_by: float = 0.0
    """What an estimate is raised by, where it serves as an upper bound."""


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
    evaluate: Bound
    """evaluate(states [n, .], alive [n], out [n, .], at) writes the K + M numbers of each row that is alive, from column `at` on; the
    others stay as they are. Q of an illegal action is `ILLEGAL`."""
    first_actions: np.ndarray
    """[K] the action that each plan takes first; -1 where it is not tied to one."""
    by_action: bool
    """Whether the upper values are Q(s, a), one for each action; else there is one, V(s)."""
    width: int
    """K + M"""
    expected: Bound
    """expected(states, alive, out, at) writes the M upper values alone, estimates as they are expected: not raised. It is what policies
    compare actions by: what is added to all values rewards whatever puts off the end."""

    def values(self, model: KernelModel, states: Any) -> np.ndarray:
        """[n, K + M] the numbers of states [n, .]; 0 for terminal ones."""
        rows = as_numbers(states, "states")
        if rows.ndim != 2:
            raise OptionError(f"states of shape {rows.shape}", "give an array [n, size].")
        check_states(model, rows)
        return self._values(model, rows)

    def _values(self, model: KernelModel, rows: Rows) -> np.ndarray:
        alive, numbers = np.ones(len(rows), np.bool_), np.zeros((len(rows), self.width))
        batch(model).inspect(rows, alive, np.zeros(0, np.bool_))
        self.evaluate(rows, alive, numbers, 0)
        return numbers

    def sums(self, model: KernelModel, belief: Any) -> np.ndarray:
        """[K + M] the weighted sums over a belief (`Particles`)."""
        sums: np.ndarray = admit(model, belief).weights @ self._values(model, np.array(belief.states))
        return sums

    def at(self, model: KernelModel, belief: Any) -> tuple[float, float]:
        """Lower and upper bound of a belief (`Particles`). They cross only where one of them is unsound."""
        sums, plans = self.sums(model, belief), len(self.first_actions)
        return float(sums[:plans].max()), float(sums[plans:].max())


def bind(function: Kernel, owner: Any) -> Bound:
    """A kernel (owner, states, alive, out, at) as an `evaluate`."""
    return function.bind(owner, np.zeros((1, 1)), np.zeros(1, np.bool_), np.zeros((1, 1)), 0)


class Joined(Record):
    """A lower and an upper bound."""

    lower: Bound
    upper: Bound
    width: int
    """How many numbers the lower one writes."""


@kernel
def _one_after_the_other(both: Joined, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    both.lower(states, alive, out, at)
    both.upper(states, alive, out, at + both.width)


def join(lower: Side, upper: Side, n_actions: int) -> Bounds:
    """A lower and an upper bound as one evaluation."""
    above = raised(upper.evaluate, upper.width, upper.raised_by) if upper.raised_by else upper.evaluate
    return Bounds(
        lower=lower.name,
        upper=upper.name,
        sound=lower.sound and upper.sound,
        evaluate=bind(_one_after_the_other, Joined(lower=lower.evaluate, upper=above, width=lower.width)),
        first_actions=np.array(lower.first_actions, dtype=np.int64),
        by_action=upper.width == n_actions,
        width=lower.width + upper.width,
        expected=upper.evaluate,
    )


# --- where the numbers come from ---


class Number(Record):
    value: float


@kernel
def _number(data: Number, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    for i in lanes(len(states)):
        out[i, at] = data.value


def number(value: float) -> Bound:
    """The same number for every state."""
    return bind(_number, Number(value=float(value)))


class ValueTable(Record):
    model: KernelModel
    values: Matrix
    """[S, width] a row for each state of a finite model."""


@kernel
def _table_row(table: ValueTable, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    model = table.model
    for i in lanes(len(states)):
        if alive[i]:
            row = model.index(model.read_state(states, i))
            for k in range(table.values.shape[1]):
                out[i, at + k] = table.values[row, k]


def table(model: KernelModel, values: np.ndarray) -> Bound:
    """A row [width] of values [S, width] for each state of a finite model."""
    return bind(_table_row, ValueTable(model=model, values=np.ascontiguousarray(values, dtype=np.float64)))


class Raised(Record):
    """An estimate, and how much is added to it."""

    evaluate: Bound
    width: int
    """How many numbers it writes."""
    offset: float


@kernel
def heuristic(model: KernelModel, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    for i in lanes(len(states)):
        if alive[i]:
            out[i, at] = model.heuristic(model.read_state(states, i))


@kernel
def _add(guess: Raised, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    guess.evaluate(states, alive, out, at)
    for i in lanes(len(states)):
        if alive[i]:
            for k in range(guess.width):
                out[i, at + k] += guess.offset


def raised(estimate: Bound, width: int, offset: float) -> Bound:
    """An estimate of so many numbers, each so much higher."""
    return bind(_add, Raised(evaluate=estimate, width=width, offset=float(offset)))


@kernel
def value_bounds_lower(model: KernelModel, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    for i in lanes(len(states)):
        if alive[i]:
            out[i, at] = model.value_bounds(model.read_state(states, i))[0]


@kernel
def value_bounds_upper(model: KernelModel, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    for i in lanes(len(states)):
        if alive[i]:
            out[i, at] = model.value_bounds(model.read_state(states, i))[1]


@kernel
def plan_values(model: KernelModel, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    for i in lanes(len(states)):
        if alive[i]:
            model.plan_values(model.read_state(states, i), out[i], at)


@kernel
def action_bounds(model: KernelModel, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    for i in lanes(len(states)):
        if alive[i]:
            s = model.read_state(states, i)
            model.action_bounds(s, out[i], at)
            for a in range(model.n_actions):
                if not model.legal(s, a):
                    out[i, at + a] = ILLEGAL
