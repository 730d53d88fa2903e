"""Python's threshold of collecting is raised while something is compiled, and is the user's own before and after."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import airoas
from airoas.compiler import kernels
from airoas.compiler.garbage import OBJECTS, Garbage, seldom_collected
from airoas.compiler.kernels import kernel

THRESHOLDS = (701, 11, 12)


@pytest.fixture(autouse=True)
def own_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    yield
    gc.set_threshold(*before)


@kernel
def doubled(numbers, factor):
    for k in range(len(numbers)):
        numbers[k] *= 2.0 * factor


@kernel
def wrong(numbers):
    numbers[0] = "text"


def test_it_is_raised_while_a_kernel_is_compiled_and_not_after(monkeypatch: pytest.MonkeyPatch) -> None:
    while_compiling: list[Any] = []
    end = kernels.notice.end
    monkeypatch.setattr(kernels.notice, "end", lambda: (while_compiling.append(gc.get_threshold()), end()))
    numbers = np.ones(2)
    doubled(numbers, 1.5)
    doubled.prepare(numbers, 2)
    assert numbers[0] == 3.0 and while_compiling == [(OBJECTS, 11, 12)] * 2
    assert gc.get_threshold() == THRESHOLDS
    doubled(numbers, 1.5)
    assert len(while_compiling) == 2


def test_nor_after_one_that_cannot_be_compiled() -> None:
    with pytest.raises(airoas.errors.CompileError):
        wrong(np.ones(2))
    assert gc.get_threshold() == THRESHOLDS


@pytest.mark.parametrize("first", [0, OBJECTS, 10 * OBJECTS])
def test_one_that_never_collects_or_more_seldom_stays(first: int) -> None:
    gc.set_threshold(first, 11, 12)
    garbage = Garbage()
    garbage.let_lie()
    garbage.collect_as_before()
    assert gc.get_threshold() == (first, 11, 12)


def test_two_compilations_at_once_and_a_threshold_that_is_set_meanwhile() -> None:
    garbage = Garbage()
    garbage.let_lie()
    garbage.let_lie()
    garbage.collect_as_before()
    assert gc.get_threshold() == THRESHOLDS
    garbage.collect_as_before()
    assert gc.get_threshold() == THRESHOLDS
    garbage.let_lie()
    gc.set_threshold(900, 9, 9)
    garbage.collect_as_before()
    assert gc.get_threshold() == (900, 9, 9)


def test_seldom_from_end_to_end_whatever_is_compiled_meanwhile() -> None:
    with seldom_collected():
        assert gc.get_threshold() == (OBJECTS, 11, 12)
        doubled(np.ones(3), np.float32(1.5))
        assert gc.get_threshold() == (OBJECTS, 11, 12)
    assert gc.get_threshold() == THRESHOLDS
    with seldom_collected():
        gc.set_threshold(900, 9, 9)
    assert gc.get_threshold() == (900, 9, 9)
    gc.set_threshold(0)
    with seldom_collected():
        assert gc.get_threshold()[0] == 0
    assert gc.get_threshold()[0] == 0
