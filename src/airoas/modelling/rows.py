"""Arrays as kernels take them, named by what they hold, and what is asked of rows inside kernels.

The names are for people and type checkers: a type checker knows the kind of number, the shape stands in brackets. `n` is a number of
particles, nodes or the like.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
"""[n, .] States, observations or actions as numbers, each a row; `airoas.modelling.layout` says what the columns are."""
Weights = NDArray[np.float64]
"""[n] Of particles or the like: 0 or above."""
Reals = NDArray[np.float64]
"""[n] One number each: a reward, a log-likelihood, a value."""
Matrix = NDArray[np.float64]
"""[m, n] Numbers of pairs: the log-likelihood of each observation in each state, say."""
Mask = NDArray[np.bool_]
"""[n] Whether something holds for each: that a row is alive, that an action is legal."""
Indices = NDArray[np.integer[Any]]
"""[n] Whole numbers: of rows, of states of a finite model, of random streams; 64 bits, 32 where memory counts."""


def are_equal(rows: Rows, i: int, others: Rows, j: int) -> bool:
    """Whether row i is row j of the others."""
    for k in range(rows.shape[1]):  # noqa: SIM110
        if rows[i, k] != others[j, k]:
            return False
    return True
