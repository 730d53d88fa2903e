"""Some actions all over a space, for what begins with a list of them. Where a choice makes the numbers beside it mean nothing, as a heading
means nothing to one who stops, one action stands for all of them, and the others are spread the more finely."""

from __future__ import annotations

import functools

import numpy as np

from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Rows
from airoas.rng import stream

_WALKERS, _STEPS = 32, 60
"""Walks by random actions, along which it is seen what an action leads to."""


@functools.lru_cache(64)
def spread_actions(model: KernelModel, n: int) -> np.ndarray:
    """[m, k] n actions of a model's space, or a few more; nobody may change them."""
    space = model.space
    assert space is not None
    rows: np.ndarray = space.spread(n)
    if space.n_choices > 1 and space.boxes.any():
        idle = idle_choices(model, rows)
        rows = space.spread(n, idle) if len(idle) < space.n_choices else rows
    rows.flags.writeable = False
    return rows


def idle_choices(model: KernelModel, rows: Rows) -> frozenset[tuple[float, ...]]:
    """The combinations of choices with which all these actions led to the same, wherever random ones came."""
    assert model.space is not None
    choices = ~model.space.boxes
    left: dict[tuple[float, ...], np.ndarray] = {}
    for choice in np.unique(rows[:, choices], axis=0):
        left[tuple(choice)] = rows[(rows[:, choices] == choice).all(axis=1)]
    walks = _Walks(model)
    for _ in range(_STEPS):
        left = {choice: some for choice, some in left.items() if walks.are_the_same(some)}
        if not left:
            break
        walks.go_on(rows)
    return frozenset(left)


class _Walks:
    """Random walks, of which those that end begin anew."""

    def __init__(self, model: KernelModel) -> None:
        self._functions, self._rng = batch(model), stream(0, "spread")
        self._numbers, self._width = np.arange(_WALKERS), model.shapes.observation.size
        self._states, self._alive = self._begun(model.shapes.state.size)

    def _begun(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        states, alive = np.zeros((_WALKERS, width)), np.zeros(_WALKERS, np.bool_)
        self._functions.initial(states, alive, self._rng.bits(62))
        return states, alive

    def _step(self, actions: Rows, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        after, rewards, arrived = self._states.copy(), np.zeros(_WALKERS), np.zeros(_WALKERS, np.bool_)
        self._functions.step(self._states, self._alive, actions, seed, self._numbers, after, rewards, arrived)
        return after, rewards, arrived

    def are_the_same(self, rows: Rows) -> bool:
        """Whether all these actions lead to the same states, rewards and observations by the same chances."""
        seed, first = self._rng.bits(62), None
        for row in rows:
            action = np.array(row[None])
            after, rewards, arrived = self._step(action, seed)
            which = np.flatnonzero(arrived)
            seen = np.zeros((len(which), self._width))
            self._functions.observe(after, which, action, seed, self._numbers[: len(which)], seen)
            outcome = np.concatenate([after.ravel(), rewards, arrived, seen.ravel()])
            if first is None:
                first = outcome
            elif not np.array_equal(first, outcome, equal_nan=True):
                return False
        return True

    def go_on(self, rows: Rows) -> None:
        """One step, by actions drawn from these."""
        chosen = rows[[self._rng.integer(len(rows)) for _ in range(_WALKERS)]]
        after, _, arrived = self._step(chosen, self._rng.bits(62))
        states, alive = self._begun(after.shape[1])
        self._states, self._alive = np.where(arrived[:, None], after, states), arrived | alive
