"""Noise records: a recorded draw comes back, anything else comes fresh and is recorded; the same interpreted and compiled."""

import math

import numpy as np
import pytest

import airoas
from airoas.belief.tempering.noise_record import INTEGER, NORMAL, UNIFORM, recorded, size
from airoas.compiler.kernels import kernel, running

DRAWS = 4


@kernel
def three_draws(rows, values, rng):
    own = recorded(rng, rows, 1)
    values[0] = own.uniform()
    values[1] = own.normal()
    values[2] = own.integer(7)


@kernel
def six_normals(rows, values, rng):
    own = recorded(rng, rows, 0)
    for k in range(6):
        values[k] = own.normal()


def rows_and_values(count=3):
    return np.zeros((2, size(DRAWS))), np.empty(count)


@pytest.mark.parametrize("mode", ["interpreted", "compiled"])
def test_a_second_run_repeats_the_first(mode):
    (rows, first), again = rows_and_values(), np.empty(3)
    with running(mode):
        three_draws(rows, first, airoas.stream(1))
        kept = rows.copy()
        three_draws(rows, again, airoas.stream(2))
    assert (first == again).all()
    assert (rows == kept).all()
    assert rows[1, 0] == 3.0
    assert rows[1, 1:7:2].tolist() == [UNIFORM, NORMAL, INTEGER + 7]
    assert rows[1, 2:8:2].tolist() == first.tolist()
    assert not rows[0].any()  # the other row is not touched


@pytest.mark.parametrize("mode", ["interpreted", "compiled"])
def test_a_draw_of_another_kind_is_fresh_and_replaces_the_recorded_one(mode):
    rows, values = rows_and_values()
    rows[1, :5] = 2, NORMAL, -9.0, NORMAL, -8.0
    with running(mode):
        three_draws(rows, values, airoas.stream(3))
    assert 0.0 <= values[0] < 1.0
    assert values[1] == -8.0
    assert rows[1, 1] == UNIFORM
    assert rows[1, 2] == values[0]


@pytest.mark.parametrize("mode", ["interpreted", "compiled"])
def test_draws_that_the_last_run_did_not_take_are_forgotten(mode):
    """The third was recorded by an earlier run; the last one took two."""
    rows, values = rows_and_values()
    rows[1, :7] = 2, UNIFORM, 0.25, NORMAL, 0.5, INTEGER + 7, 99.0
    with running(mode):
        three_draws(rows, values, airoas.stream(3))
    assert values[:2].tolist() == [0.25, 0.5]
    assert 0 <= values[2] < 7
    assert rows[1, 6] == values[2]


def test_an_integer_of_another_range_is_another_kind():
    rows, values = rows_and_values()
    rows[1, :7] = 3, UNIFORM, 0.25, NORMAL, 0.5, INTEGER + 100, 99.0
    three_draws(rows, values, airoas.stream(3))
    assert values[:2].tolist() == [0.25, 0.5]
    assert 0 <= values[2] < 7


@pytest.mark.parametrize("mode", ["interpreted", "compiled"])
def test_draws_past_the_end_are_counted_and_fresh(mode):
    (rows, first), again = rows_and_values(6), np.empty(6)
    with running(mode):
        six_normals(rows, first, airoas.stream(1))
        six_normals(rows, again, airoas.stream(2))
    assert rows[0, 0] == 6.0
    assert (first[:DRAWS] == again[:DRAWS]).all()
    assert (first[DRAWS:] != again[DRAWS:]).all()
    assert not rows[1].any()  # nothing is written behind the row


def test_interpreted_and_compiled_agree_and_leave_the_stream_alike():
    seen = []
    for mode in ("interpreted", "compiled"):
        rows, values = rows_and_values()
        rng = airoas.stream(5)
        with running(mode):
            three_draws(rows, values, rng)
        seen.append((rows.tobytes(), values.tobytes(), rng.bits(60)))
    assert seen[0] == seen[1]


def test_an_empty_record_only_counts():
    rows, values = np.zeros((2, size(0))), np.empty(3)
    three_draws(rows, values, airoas.stream(0))
    assert rows[1, 0] == 3.0


@pytest.mark.parametrize("count", [math.nan, -5.0, 1e300, -math.inf])
def test_a_row_that_was_never_written_harms_nothing(count):
    """Rows of an array that is not yet filled hold anything; winding back must stay inside the row."""
    for draws in (0, DRAWS):
        rows, values = np.full((3, size(draws)), 7.0), np.empty(3)
        rows[1, 0] = count
        three_draws(rows, values, airoas.stream(0))
        assert (rows[[0, 2]] == 7.0).all()
        assert rows[1, 0] == 3.0
