"""What is asked of rows inside kernels, whatever they hold: states, observations or actions."""

from __future__ import annotations

from typing import Any


def are_equal(rows: Any, i: int, others: Any, j: int) -> bool:
    """Whether row i is row j of the others."""
    for k in range(rows.shape[1]):  # noqa: SIM110
        if rows[i, k] != others[j, k]:
            return False
    return True
