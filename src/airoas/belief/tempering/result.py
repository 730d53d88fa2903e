"""What annealing gives, and the temperatures that the paper prints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airoas.belief.particles import Particles


@dataclass(frozen=True)
class Annealed:
    """An updated belief and how it came about."""

    belief: Particles
    log_evidence: float
    """Estimate of log p(observation | belief, action)."""
    betas: np.ndarray
    """Temperatures visited, 0 first (twice where weights were too uneven for any step before resampling) and 1 last; [0, 1]
    for a plain update."""
    acceptance: np.ndarray
    """Share of proposals accepted at each temperature with moves (all but the first, and the last where it stopped early);
    empty for a plain update."""
    inefficiency: tuple[float, float]
    """N / ESS of the plain update, and of the returned belief."""
    move: str
    """Which move was used; "" for none."""
    evaluations: int
    """Likelihoods evaluated, per particle. What a model's own `move` evaluates is not seen: a call counts as one."""


def sigmoid_temperatures() -> np.ndarray:
    """[100] the paper's temperatures as printed (eq. for beta_i), from 0.00676 to 0.99331."""
    x = np.linspace(1e-3, 1.0, 100)
    betas: np.ndarray = 1.0 / (1.0 + np.exp(-10.0 * (x - 0.5)))
    return betas
