"""Does a simulator follow a density? A test that needs nothing but draws and the log density.

For any distribution q, the mean of r = q(x)/p(x) over draws x from p equals q's mass where p > 0. Cut off where r > M, both
sides stay bounded: mean of r [r <= M] over draws from p = chance of r <= M over draws from q. q is a product of marginals
fitted to other draws: the observed values for a component that repeats, a narrowed normal for one that does not. The test
sees a wrong scale, a wrong centre, a wrong normalisation and a wrong support.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.rng import Rng, stream

_DRAWS = 3000
_CUT = 20.0
_Z = 5.5  # 4e-8 two-sided; the bounded ratios are close to normal at 3000 draws, a check makes at most 12 such tests
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def disagreement(draw: Callable[[Rng], Any], log_density: Callable[[Any], float], key: int = 0) -> str:
    """What is wrong between `draw` and `log_density`, in words; empty where nothing is."""
    rng = stream(key, "agreement")
    fitted = _Product(np.array([tuple(draw(rng)) for _ in range(_DRAWS)], dtype=np.float64))
    ours = [draw(rng) for _ in range(_DRAWS)]
    make = type(ours[0])._make if hasattr(ours[0], "_make") else tuple
    kinds = [int if isinstance(x, int) else float for x in ours[0]]
    theirs = [make(kind(x) for kind, x in zip(kinds, fitted.draw(rng), strict=True)) for _ in range(_DRAWS)]
    densities = np.array([log_density(x) for x in ours])
    if np.isneginf(densities).any():
        return f"{ours[int(np.argmin(densities))]!r} is drawn, but its log density is -inf"
    log_ratio = np.array([fitted.log_density(x) for x in ours]) - densities
    other_ratio = np.array([fitted.log_density(x) - log_density(x) for x in theirs])
    left = np.where(log_ratio <= math.log(_CUT), np.exp(np.minimum(log_ratio, math.log(_CUT))), 0.0)
    right = (other_ratio <= math.log(_CUT)).astype(float)
    error = math.sqrt((left.var() + right.var()) / _DRAWS) + 1e-9
    gap = float(left.mean() - right.mean())
    if abs(gap) <= _Z * error:
        return "" if right.mean() > 0.0 or fitted.is_discrete else "the density is far too small everywhere"
    direction = "small" if gap > 0.0 else "large"
    seen = f"mean ratio {left.mean():.3f}, expected {right.mean():.3f}"
    return f"over {_DRAWS} draws the density is too {direction} where most draws fall ({seen})"


class _Product:
    """A product of marginals fitted to rows [N, d]."""

    def __init__(self, rows: np.ndarray) -> None:
        self._marginals: list[tuple[np.ndarray, np.ndarray] | tuple[float, float]] = []
        for column in rows.T:
            values, counts = np.unique(column, return_counts=True)
            if len(values) < len(column) / 2:
                self._marginals.append((values, counts / counts.sum()))
            else:  # narrower than the draws, so that q/p stays small in the tails
                self._marginals.append(
                    (float(np.median(column)), 0.5 * float(np.subtract(*np.quantile(column, [0.84, 0.16])) / 2 + 1e-300))
                )
        self.is_discrete = all(isinstance(m[0], np.ndarray) for m in self._marginals)

    def draw(self, rng: Rng) -> list[float]:
        drawn = []
        for centre, spread in self._marginals:
            if isinstance(centre, np.ndarray):
                place = int(np.searchsorted(np.cumsum(spread), rng.uniform(), side="right"))
                drawn.append(float(centre[min(place, len(centre) - 1)]))
            else:
                drawn.append(centre + float(spread) * rng.normal())
        return drawn

    def log_density(self, row: Any) -> float:
        total = 0.0
        for x, (centre, spread) in zip(row, self._marginals, strict=True):
            if isinstance(centre, np.ndarray):
                place = int(np.searchsorted(centre, x))
                if place == len(centre) or centre[place] != x:
                    return -math.inf
                total += math.log(spread[place])  # type: ignore[index]
            else:
                z = (x - centre) / float(spread)
                total += -0.5 * z * z - math.log(float(spread)) - _LOG_SQRT_2PI
        return total
