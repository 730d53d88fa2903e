"""Episodes with the filter against simulated runs."""

import numpy as np

from airoas.policies.validation import is_better


def test_a_few_episodes_that_went_alike_overturn_nothing():
    """Runs say that the first earns 40 in one of two, -30 else: three episodes in a row without the 40 happen one time in eight."""
    first, second = (5.0, 35.0 / 8.0), (-10.0, 0.0)
    assert not is_better(np.array([20.0, 21.0, 19.0]), first, second)
    assert is_better(np.array([20.0, 21.0, 19.0]), (5.0, 0.5), second)  # runs that spread little
    assert is_better(np.full(12, 30.0), first, second)  # or more episodes
    assert not is_better(np.array([20.0, 20.0]), (5.0, 0.0), second)  # of two nothing is known
