"""The tempering schedule: increments that reach the target, weights that stay normalised, whatever the likelihoods."""

import math

import numpy as np
import pytest

from airoas.belief.tempering import schedule
from airoas.belief.tempering.schedule import TOLERANCE, solve_increment, take_step

GENERATOR = np.random.default_rng


def uniform(n):
    return np.full(n, -math.log(n))


def by_hand(log_weights, log_likelihoods, increment):
    alive = log_likelihoods > -np.inf
    v = np.exp(log_weights[alive] + increment * log_likelihoods[alive])
    return len(log_weights) * np.square(v).sum() / v.sum() ** 2, math.log(v.sum())


def inefficiency(log_weights, log_likelihoods, increment):
    return schedule.inefficiency(log_weights, log_likelihoods, increment, np.empty(len(log_weights)))


def next_increment(log_weights, log_likelihoods, remaining, target):
    """The increment that is found; the weights and sums that come with it are those at the increment."""
    weights, again = np.empty(len(log_weights)), np.empty(len(log_weights))
    increment, *sums = solve_increment(log_weights, log_likelihoods, remaining, target, weights)
    assert tuple(sums) == schedule.reweigh(log_weights, log_likelihoods, increment, again)
    assert (weights == again).all()
    return increment


def reweigh(log_weights, log_likelihoods, increment, weights):
    """`reweigh`, then `take_step`: the log of the sum, and N / ESS."""
    peak, total, squares = schedule.reweigh(log_weights, log_likelihoods, increment, weights)
    if peak == -math.inf:
        return peak, math.inf
    log_sum = peak + math.log(total)
    take_step(log_weights, log_likelihoods, increment, log_sum, weights, total)
    return log_sum, len(weights) * squares / total**2


def test_inefficiency_is_n_over_ess():
    rng = GENERATOR(0)
    logs, likelihoods = np.log(rng.dirichlet(np.ones(50))), rng.normal(size=50)
    assert inefficiency(logs, likelihoods, 0.7) == pytest.approx(by_hand(logs, likelihoods, 0.7)[0])
    assert inefficiency(uniform(50), likelihoods, 0.0) == pytest.approx(1.0)
    assert inefficiency(uniform(3), np.full(3, -np.inf), 0.5) == math.inf
    weights = np.ones(3)
    assert schedule.reweigh(uniform(3), np.full(3, -np.inf), 0.5, weights) == (-math.inf, 0.0, 0.0)
    assert (weights == 0.0).all()


@pytest.mark.parametrize("width", [3.0, 30.0, 1e4, 1e9, 1e30])
@pytest.mark.parametrize("target", [1.1, 2.0, 10.0])
def test_the_increment_reaches_the_target(width, target):
    likelihoods = -width * GENERATOR(1).exponential(size=500)
    increment = next_increment(uniform(500), likelihoods, 1.0, target)
    reached = inefficiency(uniform(500), likelihoods, increment)
    if increment == 1.0:
        assert reached <= target
    else:
        assert abs(math.log(reached / target)) <= TOLERANCE


def test_all_that_remains_is_taken_where_it_is_cheap():
    assert next_increment(uniform(9), -0.1 * np.arange(9.0), 0.4, 2.0) == 0.4
    assert next_increment(uniform(1), np.array([-1e300]), 1.0, 1.5) == 1.0


def test_uneven_weights_must_be_resampled_first():
    uneven = np.log(np.array([0.97, 0.01, 0.01, 0.01]))
    assert next_increment(uneven, np.array([-9.0, 0.0, -5.0, -100.0]), 1.0, 2.0) == 0.0
    dead = np.array([-1.0, -np.inf, -np.inf, -np.inf])
    assert next_increment(uniform(4), dead, 1.0, 2.0) == 0.0


def test_reweigh_normalises_and_tells_the_sum():
    rng = GENERATOR(2)
    logs, likelihoods = np.log(rng.dirichlet(np.ones(40))), 5.0 * rng.normal(size=40)
    likelihoods[::4] = -np.inf
    expected_ratio, expected_sum = by_hand(logs, likelihoods, 0.3)
    weights = np.empty(40)
    log_sum, ratio = reweigh(logs, likelihoods, 0.3, weights)
    assert (log_sum, ratio) == (pytest.approx(expected_sum), pytest.approx(expected_ratio))
    assert weights.sum() == pytest.approx(1.0)
    assert np.allclose(np.exp(logs), weights)
    assert (weights[::4] == 0.0).all()


def test_reweigh_of_the_dead_says_so():
    assert reweigh(uniform(3), np.full(3, -np.inf), 0.5, np.empty(3)) == (-math.inf, math.inf)


def test_no_likelihoods_however_extreme_give_nan():
    """2000 random sets of weights and likelihoods, from -1e308 to 1e308 and -inf."""
    rng = GENERATOR(3)
    for _ in range(2000):
        n = int(rng.integers(1, 20))
        likelihoods = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 307, size=n if rng.random() < 0.5 else 1)
        likelihoods[rng.random(n) < 0.2] = -np.inf
        with np.errstate(divide="ignore"):
            logs = np.log(rng.dirichlet(np.full(n, 0.2)))
        target = 1.0 + 10.0 ** rng.uniform(-3, 3)
        increment = next_increment(logs, likelihoods, 1.0, target)
        assert 0.0 <= increment <= 1.0
        weights = np.empty(n)
        log_sum, ratio = reweigh(logs, likelihoods, increment, weights)
        assert not math.isnan(log_sum)
        assert not math.isnan(ratio)
        if log_sum > -math.inf:
            assert weights.sum() == pytest.approx(1.0)
