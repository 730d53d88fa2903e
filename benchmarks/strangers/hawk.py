"""`Hawk` with a bootstrap filter: climb when the hare is lost, dive when it must be below, keep near it; three numbers, tuned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import airoas
from airoas.domains.strangers.hawk import CLIMB, DIVE, FIELD, STROLL
from airoas.planners import Decision

CELLS = int(FIELD)
MOVES = {0: (0.0, 1.0), 1: (1.0, 0.0), 2: (0.0, -1.0), 3: (-1.0, 0.0), DIVE: (0.0, 0.0)}
"""What actions add to the position of a hawk near the ground; a dive there is to stay."""
LOST = 0.3
"""Climb where the hare is less likely than this within 1.5 of where it is likeliest."""
KNOWN, BELOW = 0.5, 2.0
"""Dive where it is likelier than the one and nearer than the other."""


@dataclass(frozen=True)
class Reference:
    def plan(self, model: Any, belief: airoas.Particles, rng: airoas.Rng) -> Decision:
        x, y, high = belief.states[0, :3]
        weights, hare, heading = belief.weights, belief.states[:, 3:5], belief.states[:, 5]
        hare = hare + STROLL * np.column_stack((np.cos(heading), np.sin(heading)))  # in the next step
        cells = np.clip(hare.astype(int), 0, CELLS - 1)
        likeliest = np.bincount(CELLS * cells[:, 0] + cells[:, 1], weights, CELLS * CELLS).argmax()
        near = (np.abs(hare - (likeliest // CELLS + 0.5, likeliest % CELLS + 0.5)) < 1.5).all(axis=1)
        mass = weights[near].sum()
        centre = weights[near] @ hare[near] / mass
        if high:
            if mass >= KNOWN and math.dist(centre, (x, y)) < BELOW:
                return Decision(DIVE, math.nan)
            dx, dy = (centre if mass > LOST else weights @ hare) - (x, y)
            return Decision((1 if dx > 0.0 else 3) if abs(dx) > abs(dy) else 0 if dy > 0.0 else 2, math.nan)
        if mass < LOST:
            return Decision(CLIMB, math.nan)
        values = {}
        for a, move in MOVES.items():
            far = np.hypot(*(hare - (x, y) - move).T)
            values[a] = float(weights @ (far < 0.9)) - 1e-3 * math.dist(centre, (x + move[0], y + move[1]))
        return Decision(max(values, key=values.__getitem__), math.nan)
