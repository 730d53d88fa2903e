"""The optimal policy of `Welds`: dynamic programming over mean and precision of the flaw, which is all that readings leave behind.

Precisions are 1 + j / 9: a tap adds 1 to j, ultrasound 9, an X-ray 100. Nothing learned of one weld tells of the next, so that what comes
after a weld is a number. The 60 steps of an episode are far from short.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import airoas
from airoas.domains.strangers.welds import LIMIT, PASS, REPAIR, TAP, ULTRASOUND, WELDS, XRAY, error
from airoas.planners import Decision

MOST = 420  # j beyond which nothing is measured
MEANS = np.linspace(-6.0, 6.0, 481)
FLAWS = np.linspace(-6.0, 6.0, 1201)
GAIN = {TAP: 1, ULTRASOUND: 9, XRAY: 100}
COST = {TAP: 0.3, ULTRASOUND: 1.0, XRAY: 3.0}
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_erf = np.vectorize(math.erf, otypes=[float])


class Filter:
    """On a grid of flaws."""

    def start(self, model: Any, rng: airoas.Rng) -> airoas.Particles:
        return _prior(0)

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: airoas.Rng) -> airoas.Updated:
        before = _prior(observation.weld) if action in (PASS, REPAIR) else belief
        z = (observation.flaw - FLAWS) / error(action)
        return airoas.Updated(airoas.Particles(before.states, log_weights=before.log_weights - 0.5 * z * z))


def _prior(weld: int) -> airoas.Particles:
    return airoas.Particles(np.column_stack((np.full(len(FLAWS), float(weld)), FLAWS)), log_weights=-0.5 * FLAWS * FLAWS)


@functools.cache
def solved(discount: float) -> list[np.ndarray]:
    """[welds left - 1] of values [j, mean, action]."""
    tables: list[np.ndarray] = []
    after = 0.0
    for _ in range(WELDS):
        q = np.full((MOST + 1, len(MEANS), 5), -np.inf)
        for j in range(MOST, -1, -1):
            precision = 1.0 + j / 9.0
            leaks = 0.5 - 0.5 * _erf((LIMIT - MEANS) * math.sqrt(0.5 * precision))
            q[j, :, PASS] = 10.0 - 50.0 * leaks + discount * after
            q[j, :, REPAIR] = -4.0 + discount * after
            for a, gain in GAIN.items():
                if j + gain <= MOST:
                    spread = math.sqrt(1.0 / precision - 1.0 / (precision + gain / 9.0))
                    q[j, :, a] = -COST[a] + discount * _mean(q[j + gain].max(axis=1), MEANS, spread)
        tables.append(q)
        after = float(_mean(q[1].max(axis=1), np.zeros(1), math.sqrt(1.0 - 0.9))[0])  # the next weld comes with a tap: precision 10 / 9
    return tables


def _mean(values: np.ndarray, centres: np.ndarray, spread: float) -> np.ndarray:
    """Of values over MEANS after a reading moves the mean by so much."""
    return np.interp(centres[:, None] + spread * NODES, MEANS, values) @ (WEIGHTS / WEIGHTS.sum())


def optimum(discount: float) -> float:
    """The value of the initial belief."""
    return float(np.interp(0.0, MEANS, solved(discount)[-1][0].max(axis=1)))


@dataclass(frozen=True)
class Reference:
    def plan(self, model: Any, belief: airoas.Particles, rng: airoas.Rng) -> Decision:
        flaw, deviation = belief.mean()[1], belief.std()[1]
        j = min(MOST, max(0, round(9.0 * (1.0 / deviation**2 - 1.0))))
        q = solved(model.discount)[WELDS - 1 - int(belief.states[0, 0])][j]
        values = [float(np.interp(flaw, MEANS, q[:, a])) for a in range(5)]
        return Decision(int(np.argmax(values)), max(values))
