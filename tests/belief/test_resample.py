"""Resampling keeps expectations, spreads counts as little as its method promises, and never picks weight zero."""

import numpy as np
import pytest

import airoas
from airoas.belief.resampling import METHODS, indices


@pytest.mark.parametrize("method", METHODS)
def test_every_index_is_expected_in_proportion_to_its_weight(method):
    weights = np.array([0.0, 0.5, 2.0, 0.01, 0.0, 1.49, 0.0])
    n, repeats = 50, 4000
    rng = airoas.stream(1, method)
    counts = np.array([np.bincount(indices(weights, n, rng, method), minlength=7) for _ in range(repeats)])
    expected = n * weights / weights.sum()
    error = counts.std(axis=0) / np.sqrt(repeats) + 1e-12
    assert (np.abs(counts.mean(axis=0) - expected) < 5 * error + 1e-9).all()  # false alarm below 1e-5
    assert (counts[:, weights == 0.0] == 0).all()


def test_systematic_counts_differ_from_their_expectation_by_less_than_one():
    rng = airoas.stream(2)
    weights = np.array([rng.uniform() for _ in range(30)])
    for _ in range(200):
        counts = np.bincount(indices(weights, 100, rng), minlength=30)
        assert (np.abs(counts - 100 * weights / weights.sum()) < 1.0).all()


def test_indices_rise_and_reach_the_last_particle_of_positive_weight():
    chosen = indices(np.array([1.0, 0.0, 3.0, 0.0]), 8, airoas.stream(0))
    assert (np.diff(chosen) >= 0).all() and set(chosen) == {0, 2}


def test_unknown_method_is_refused():
    with pytest.raises(airoas.OptionError, match="systematic or stratified"):
        indices(np.ones(3), 3, airoas.stream(0), "multinomial")
