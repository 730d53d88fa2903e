"""Intervals hold what they promise on known distributions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from airoas.experiments.analysis.statistics import (
    estimate,
    holm,
    holm_limits,
    incomplete_beta,
    less_published,
    student_quantile,
    student_tail,
)

# Two-sided 5 % points as printed in every table of Student's distribution.
PRINTED = {1: 12.7062, 2: 4.3027, 3: 3.1824, 5: 2.5706, 10: 2.2281, 30: 2.0423, 120: 1.9799}


@pytest.mark.parametrize("df", PRINTED)
def test_quantiles_are_the_printed_ones(df: int) -> None:
    assert student_quantile(df) == pytest.approx(PRINTED[df], abs=5e-5)


def test_tails_have_closed_forms_at_one_and_two_degrees_of_freedom() -> None:
    for t in (0.0, 0.01, 0.5, 1.0, 3.0, 40.0, 1e6):
        assert student_tail(t, 1) == pytest.approx(1.0 - 2.0 / math.pi * math.atan(t), rel=1e-12, abs=1e-15)
        assert student_tail(t, 2) == pytest.approx(1.0 - t / math.sqrt(2.0 + t * t), rel=1e-9, abs=1e-12)
    assert student_tail(1.959963984540054, 10**7) == pytest.approx(0.05, abs=1e-6)
    assert student_tail(math.inf, 3) == 0.0


def test_incomplete_beta_is_a_distribution_function() -> None:
    for a, b in ((0.5, 0.5), (2.0, 3.0), (50.0, 0.5)):
        values = [incomplete_beta(x, a, b) for x in np.linspace(0.0, 1.0, 101)]
        assert values[0] == 0.0
        assert values[-1] == 1.0
        assert all(early <= late for early, late in itertools.pairwise(values))
        assert incomplete_beta(0.3, a, b) == pytest.approx(1.0 - incomplete_beta(0.7, b, a), abs=1e-13)
    assert incomplete_beta(0.25, 1.0, 1.0) == pytest.approx(0.25, abs=1e-15)


def test_few_values() -> None:
    assert estimate([]).n == 0
    assert math.isnan(estimate([]).mean)
    one = estimate([3.0])
    assert (one.n, one.mean) == (1, 3.0)
    assert math.isnan(one.sem)
    same = estimate([2.0, 2.0, 2.0])
    assert (same.sem, same.low, same.high, same.p) == (0.0, 2.0, 2.0, 0.0)
    assert estimate([0.0, 0.0]).p == 1.0


def test_the_standard_error_is_the_usual_one() -> None:
    values = [1.0, 4.0, 2.0, 8.0, 5.0]
    assert estimate(values).sem == pytest.approx(np.std(values, ddof=1) / math.sqrt(5), rel=1e-14)
    assert estimate(values).low == pytest.approx(4.0 - 2.776445 * np.std(values, ddof=1) / math.sqrt(5), rel=1e-6)


def test_equal_groups_are_as_their_means() -> None:
    values = [1.0, 3.0, 10.0, 14.0, 2.0, 4.0]
    by_map, of_means = estimate(values, [0, 0, 1, 1, 2, 2]), estimate([2.0, 12.0, 3.0])
    assert (by_map.n, by_map.groups) == (6, 3)
    for part in ("mean", "sem", "low", "high", "p"):
        assert getattr(by_map, part) == pytest.approx(getattr(of_means, part), rel=1e-12)
    assert estimate(values, [7] * 6) == estimate(values)  # one map stands for itself


def coverage(draw: object, truth: float, repeats: int, grouped: bool = True) -> float:
    """The share of intervals that hold the truth."""
    rng = np.random.default_rng(12)
    held = 0
    for _ in range(repeats):
        values, groups = draw(rng)  # type: ignore[operator]
        known = estimate(values, groups if grouped else None)
        held += known.low <= truth <= known.high
    return held / repeats


# A share of 4000 has standard error 0.0034: four of them is a false alarm of 6e-5 each.
@pytest.mark.parametrize("n", [2, 5, 20])
def test_intervals_of_normal_values_hold_the_mean(n: int) -> None:
    assert coverage(lambda rng: (rng.normal(3.0, 2.0, n), None), 3.0, 4000) == pytest.approx(0.95, abs=4 * 0.0034)


def test_intervals_over_maps_hold_the_mean_over_maps_and_naive_ones_do_not() -> None:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
        maps = np.repeat(rng.normal(0.0, 2.0, 8), 10)
        return maps + rng.normal(0.0, 1.0, 80), [i // 10 for i in range(80)]

    assert coverage(draw, 0.0, 4000) == pytest.approx(0.95, abs=4 * 0.0034)
    assert coverage(draw, 0.0, 4000, grouped=False) < 0.6


def test_intervals_of_heavy_tailed_returns_are_near_their_promise() -> None:
    """Light Dark's returns: mostly a discounted 10, now and then a discounted -10. Student is approximate here; at n = 400 it is close."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, None]:
        return np.where(rng.random(400) < 0.05, -10.0, 10.0) * 0.9 ** rng.integers(3, 12, 400), None

    truth = 0.9 * 10.0 * float(np.mean(0.9 ** np.arange(3, 12)))
    assert coverage(draw, truth, 4000) == pytest.approx(0.95, abs=4 * 0.0034 + 0.005)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []
    mixed = holm([0.01, math.nan, 0.02])
    assert math.isnan(mixed[1])
    assert [mixed[0], mixed[2]] == pytest.approx([0.02, 0.02])


def test_holm_keeps_the_rate_of_any_false_alarm() -> None:
    """Ten comparisons without a difference: uncorrected 40 % of experiments cry wolf, corrected 5 %."""
    rng = np.random.default_rng(5)
    raw = corrected = 0
    for _ in range(1000):
        p = [estimate(rng.normal(size=12)).p for _ in range(10)]
        raw += min(p) < 0.05
        corrected += min(holm(p)) < 0.05
    assert raw > 300
    assert corrected == pytest.approx(49, abs=4 * math.sqrt(1000 * 0.049 * 0.951))


def test_holm_limits_by_hand() -> None:
    """With df = 30: the quantiles at 1 - 0.05 / 3, / 2 and / 1 are 2.5357, 2.3596 and 2.0423."""
    values = np.tile([-1.0, 1.0], 16)[:31] * 1.0
    values = (values - values.mean()) / estimate(values).sem  # standard error 1
    clear, fair, none = (estimate(values + mean) for mean in (9.0, 1.5, -8.0))
    limits = holm_limits([none, estimate([]), fair, clear], [1.0] * 4)
    assert limits[3] == pytest.approx((9.0 - 2.5357, 9.0 + 2.5357), abs=1e-4)
    assert limits[2] == pytest.approx((1.5 - 2.3596, 1.5 + 2.3596), abs=1e-4)
    assert limits[0] == pytest.approx((-8.0 - 2.0423, -8.0 + 2.0423), abs=1e-4)
    assert all(map(math.isnan, limits[1]))
    failing = holm_limits([none, fair], [1.0, 0.5])  # the clearest fails, so the other is held to the same level
    assert failing[0][1] - failing[0][0] == pytest.approx(failing[1][1] - failing[1][0]) == pytest.approx(2 * 2.3596, abs=1e-4)


def test_holm_limits_keep_the_rate_of_any_false_claim() -> None:
    """Of ten means five are exactly 1 below 0 and five are 0: a claim that one of the first is above -1 is false. One-sided 2.5 %."""
    rng = np.random.default_rng(6)
    false = true = 0
    for _ in range(2000):
        limits = holm_limits([estimate(rng.normal(-1.0 if i < 5 else 0.0, 1.0, 20)) for i in range(10)], [1.0] * 10)
        false += any(low > -1.0 for low, _ in limits[:5])
        true += sum(low > -1.0 for low, _ in limits[5:])
    assert false <= 0.025 * 2000 + 4 * math.sqrt(2000 * 0.025 * 0.975)
    assert false > 0
    assert true > 0.8 * 5 * 2000


def test_p_values_are_uniform_where_there_is_nothing() -> None:
    rng = np.random.default_rng(8)
    p = np.sort([estimate(rng.normal(size=6)).p for _ in range(2000)])
    distance = np.max(np.abs(p - (np.arange(2000) + 0.5) / 2000))
    assert distance < 1.95 / math.sqrt(2000)  # Kolmogorov: false alarm 1e-3


def test_both_errors_count_beside_a_published_mean() -> None:
    known = estimate([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    gap, error, p = less_published(known, (4.0, 1.0))
    assert (gap, error) == (1.0, pytest.approx(math.hypot(known.sem, 1.0)))
    assert p == pytest.approx(math.erfc(gap / error / math.sqrt(2.0)))
    assert less_published(known, (5.0 - 1.959964 * known.sem, None))[2] == pytest.approx(0.05, abs=1e-6)  # exact where no error is known
    assert less_published(estimate([2.0, 2.0]), (2.0, None)) == (0.0, 0.0, 1.0)
    assert less_published(estimate([2.0, 2.0]), (1.0, None))[2] == 0.0
    assert math.isnan(less_published(estimate([]), (1.0, 0.5))[2])
