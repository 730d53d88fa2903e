"""Values of a model whose states are whole numbers and flags, on the states that simulation reaches.

Its author need not list them: states are found by simulated steps, told apart by hashing, and stepped with every action a few times; then
the fully observable problem is iterated. Where steps are random the successors are a sample, so that nothing here is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from airoas.belief.distinct import slot_of
from airoas.bounds.learned.grid import draws
from airoas.bounds.learned.walks import walk
from airoas.bounds.sides import ILLEGAL, bind
from airoas.compiler.kernels import Bound, Record, kernel
from airoas.compiler.lanes import lanes
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows
from airoas.rng import hash_key, stream

_MOST_STATES = 2_000_000
_STEPS = 6_000_000  # simulated, over states, actions and draws
_DRAWS = 6  # of a step that is random
_WALKS = 2000, 20_000  # to begin with, and where these leave out much
_LEFT_OUT = 0.1  # of what other walks meet, at most
_TRIED = 300  # other walks
_TERMINAL, _UNKNOWN = -1, -2  # in place of a successor


class Reached(Record):
    """States by their rows: slots [a power of 2] of numbers of states, open addressing, -1 where free."""

    slots: Indices
    states: Rows
    """[S, dim]"""
    values: Matrix
    """[S + 1, width]; the last row is for states that were not reached."""


@kernel
def _add(slots: Indices, states: Rows, count: int, rows: Rows, alive: Mask, numbers: Indices) -> int:
    """The number of each live row; new ones are added while there is room, else they are unknown. How many states there are."""
    for i in range(len(rows)):
        numbers[i] = _TERMINAL
        if alive[i]:
            at = slot_of(slots, states, rows, i)
            if slots[at] < 0 and count < len(states):
                for k in range(rows.shape[1]):
                    states[count, k] = rows[i, k]
                slots[at] = count
                count += 1
            numbers[i] = slots[at] if slots[at] >= 0 else _UNKNOWN
    return count


Table = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]
"""See `reach`."""


def reach(model: KernelModel) -> Table | None:
    """States [S, dim], successors [S, A, D], mean rewards [S, A] (ILLEGAL where illegal), slots, and how many were left out; None
    where there are too many, or the walks from which they were reached left out many of those that other walks meet."""
    fresh = walk(model, _TRIED, 4, 1.0, stream(0, "fresh"))
    for walks in _WALKS:
        table = _reach_from(model, walk(model, walks, 4, 1.0, stream(0, "reached")))
        if table is None:
            return None
        numbers, states = np.zeros(len(fresh), np.int64), table[0]
        _add(table[3], states, len(states), fresh, np.ones(len(fresh), np.bool_), numbers)
        if (numbers == _UNKNOWN).mean() <= _LEFT_OUT:
            return table
    return None


def _reach_from(model: KernelModel, visited: Rows) -> Table | None:
    """What is reached from these states; None where there are too many."""
    functions, actions = batch(model), model.n_actions
    if not len(visited):
        return None
    d = min(_DRAWS, draws(model, visited))
    most = min(_MOST_STATES, _STEPS // (actions * d))
    slots = np.full(1 << (2 * most - 1).bit_length(), -1, np.int64)
    states = np.zeros((most, visited.shape[1]))
    count = int(_add(slots, states, 0, visited, np.ones(len(visited), np.bool_), np.zeros(len(visited), np.int64)))
    successors, rewards = np.zeros((most, actions, d), np.int32), np.zeros((most, actions))
    done = 0
    while done < count:  # in breadth, until nothing new comes or there is no more room
        part = states[done : min(count, done + 50_000)].copy()
        n = len(part)
        alive, allowed, arrived, numbers = np.ones(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64)
        after, earned = np.zeros_like(part), np.zeros(n)
        for a in range(actions):
            action = model.row("action", a)
            functions.permits(part, alive, action, allowed)
            for k in range(d):
                functions.earn(part, allowed, action, int(hash_key(a, k, 0)), np.arange(done, done + n), after, earned, arrived)
                count = int(_add(slots, states, count, after, arrived, numbers))
                successors[done : done + n, a, k] = numbers
                rewards[done : done + n, a] += earned / d
            rewards[done : done + n, a][~allowed] = ILLEGAL
        done += n
    unknown = int((successors[:count] == _UNKNOWN).sum())
    if count == most and unknown > 0.2 * successors[:count].size:
        return None
    return states[:count], successors[:count], rewards[:count], slots, unknown


def estimate(model: KernelModel, progress: Callable[[str], None]) -> dict[str, np.ndarray]:
    """`states` and Q, `values` [S + 1, A], with the `slots` that find them; nothing where there are too many states."""
    progress("looking for the states that simulation reaches")
    result = reach(model)
    if result is None:
        return {}
    states, successors, rewards, slots, unknown = result
    progress(f"values of {len(states)} states")
    q, values = np.zeros(rewards.shape), np.zeros(len(states) + 1)
    legal = rewards > 0.5 * ILLEGAL
    small = 1e-4 * max(1e-12, float(np.abs(rewards[legal]).max(initial=0.0)))
    _iterate(successors, rewards, float(model.discount), small, values, q)
    table = np.vstack((q, np.where(legal, q, -np.inf).max(axis=0, keepdims=True) if unknown else q[:1]))
    table[-1] = np.quantile(q[legal.all(axis=1)], 0.9, axis=0) if legal.all(axis=1).any() else 0.0  # optimistic of what was not met
    return {"slots": slots, "states": states, "values": np.maximum(table, ILLEGAL)}


@kernel
def _iterate(successors: np.ndarray, rewards: Matrix, discount: float, small: float, values: Reals, q: Matrix) -> None:
    """Sweep Q in place, forth and back in turn, until the values change by less than `small`, 1000 times at most. What was not met
    is worth the mean."""
    states, actions, draws = successors.shape
    for turn in range(1000):
        change, total = 0.0, 0.0
        for j in range(states):
            i = j if turn % 2 == 0 else states - 1 - j
            best = -math.inf
            for a in range(actions):
                if rewards[i, a] < -1e29:
                    q[i, a] = rewards[i, a]
                    continue
                later = 0.0
                for k in range(draws):
                    s = successors[i, a, k]
                    if s != _TERMINAL:
                        later += values[s if s >= 0 else states]
                q[i, a] = rewards[i, a] + discount * later / draws
                best = max(best, q[i, a])
            best = best if best > -math.inf else 0.0
            change = max(change, abs(best - values[i]))
            values[i] = best
            total += best
        values[states] = total / states
        if change < small:
            break


@kernel
def _look_up(data: Reached, states: Rows, alive: Mask, out: Matrix, at: int) -> None:
    for i in lanes(len(states)):
        if alive[i]:
            row = data.slots[slot_of(data.slots, data.states, states, i)]
            row = row if row >= 0 else len(data.values) - 1
            for k in range(data.values.shape[1]):
                out[i, at + k] = data.values[row, k]


def lookup(arrays: dict[str, np.ndarray]) -> Bound:
    """An `evaluate` that looks states up by their rows."""
    return bind(_look_up, Reached(slots=arrays["slots"], states=arrays["states"], values=arrays["values"]))
