"""`Machine` written out, for offline point-based value iteration: 16 states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import airoas
from airoas.domains.strangers.machine import GAUGED, PARTS, WEAR, Machine, State, count
from airoas.planners import PBVI

Reference = PBVI


@airoas.model
class FiniteMachine(NamedTuple):
    """`Machine` with the enumeration group."""

    discount: float
    max_steps: int
    actions, initial, step = Machine.actions, Machine.initial, Machine.step
    observe, obs_logpdf = Machine.observe, Machine.obs_logpdf

    def n_states(self) -> int:
        return 1 << PARTS

    def index(self, s: State) -> int:
        return s.worn

    def state(self, i: int) -> State:
        return State(i)

    def successor(self, s: State, a: int, k: int) -> tuple[State, float]:
        """Work leads to any state that keeps the parts that are worn out."""
        if a > GAUGED:
            return State(s.worn & ~(1 << (a - 2))), 1.0 if k == 0 else 0.0
        if k & s.worn != s.worn:
            return s, 0.0
        fresh = count(k) - count(s.worn)
        return State(k), WEAR**fresh * (1.0 - WEAR) ** (PARTS - count(k))

    def reward(self, s: State, a: int) -> float:
        return -4.0 if a > GAUGED else 7.0 - 6.0 * count(s.worn) - (1.5 if a == GAUGED else 0.0)

    def exact_initial(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((1, 1)), np.ones(1)
