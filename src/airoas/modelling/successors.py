"""The successors of a state of a finite model, for k = 0, 1, 2, ...: how many there are is known by their probabilities alone."""

from __future__ import annotations

CERTAIN = 1.0 - 1e-12
"""The sum of probabilities at which a state has no more successors."""


def has_more(total: float, k: int, n_states: int) -> bool:
    """Whether there is a successor k after those before it, which have this probability together."""
    return total < CERTAIN and k < n_states
