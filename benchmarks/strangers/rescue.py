"""`Rescue` with a bootstrap filter: call until few rooms are left, go where the victim probably is, round the fire; four numbers, tuned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import airoas
from airoas.domains.strangers.rescue import CALL, CARRIED, EXIT, LIFT, ROOMS
from airoas.planners import Decision

FEW = 12.0
"""Call where the victim may be in more rooms than this (the exponential of the entropy)."""
FIRE = 5.0
"""What entering a room costs, on top of 1, where it burns for sure."""
HASTE, BACK = 0.2, 0.05
"""How much less a room is valued, in logarithms, for each unit of what the way to it costs, and of its way to the exit."""


def _ways(near: np.ndarray, cost: np.ndarray, goal: int) -> np.ndarray:
    """[room] the price of the cheapest way to the goal, paid for each room entered."""
    price = np.full(ROOMS, np.inf)
    price[goal] = 0.0
    for _ in range(ROOMS):
        price = np.minimum(price, (price[near] + cost[near]).min(axis=1))
    return price


def _toward(near: np.ndarray, cost: np.ndarray, room: int, goal: int) -> Decision:
    """The first step of the cheapest way."""
    price = _ways(near, cost, goal)
    ways = np.where(near[room] == room, np.inf, price[near[room]] + cost[near[room]])
    return Decision(int(ways.argmin()), math.nan)


@dataclass(frozen=True)
class Reference:
    def plan(self, model: Any, belief: airoas.Particles, rng: airoas.Rng) -> Decision:
        room = int(belief.states[0, 0])
        weights = belief.weights * (belief.states[:, 3] == 0)
        weights /= weights.sum()
        victims = np.bincount(belief.states[:, 1].astype(int), weights, ROOMS + 1)
        burns = np.array([weights @ (belief.states[:, 2].astype(int) >> r & 1) for r in range(ROOMS)])
        cost = 1.0 + FIRE * burns
        if victims[CARRIED] > 0.5:
            return _toward(model.near, cost, room, EXIT)
        if victims[room] > 0.99:
            return Decision(LIFT, math.nan)
        likely = victims[victims > 0.0]
        if math.exp(-float(likely @ np.log(likely))) > FEW:
            return Decision(CALL, math.nan)
        out = _ways(model.near, cost, EXIT)
        values = [victims[r] * math.exp(-HASTE * _ways(model.near, cost, r)[room] - BACK * out[r]) for r in range(ROOMS)]
        values[room] = 0.0
        return _toward(model.near, cost, room, int(np.argmax(values)))
