"""How much time an experiment is said to need still: that of decisions and updates, not of what comes once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airoas.cli.progress import _Watch
from airoas.experiments.spec.cells import Spec

TWO = "[planners.a]\nplanner = 'tiny.py:Searching'\niterations = 5\n[planners.random]"


def finished(spec: Spec, number: int, seconds: float, plan: float, cell: int = 0, **more: Any) -> Any:
    """A row of an episode of ten steps."""
    times = {"plan_mean": plan, "plan_max": plan, "overshoot_mean": 0.0, "overshoot_max": 0.0, "update_mean": 0.1, "seconds": seconds}
    row = {"id": list(spec.cells[cell].ids)[number], "seed": 0, "map": None, "steps": 10, "discounted_return": 2.0, "times": times}
    return row | more


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("airoas.cli.progress.time.monotonic", lambda: now[0])
    return now


def left(spec: Spec, clock: list[float], rows: list[Any], earlier: tuple[Any, ...] = ()) -> str:
    """What is said after some rows, which came one after another."""
    watch, known = _Watch(spec, None), {row["id"]: row for row in earlier}
    watch(None, known)
    for row in rows:
        clock[0] += row["times"]["seconds"]
        known[row["id"]] = row
        watch(row, known)
    return watch._left(known)


def test_what_is_learned_once_is_not_left(make_spec: Callable[..., Spec], clock: list[float]) -> None:
    spec = make_spec(episodes=201)
    assert left(spec, clock, [finished(spec, 0, 160.0, 0.2)]) == "about 10 min left, mean 2.000"
    assert left(spec, clock, [finished(spec, i, 160.0 if i == 0 else 3.1, 0.2) for i in range(101)]) == "about 5 min left, mean 2.000"


def test_nothing_is_said_of_planners_that_have_not_run(make_spec: Callable[..., Spec], clock: list[float]) -> None:
    spec = make_spec(TWO, episodes=101)
    assert left(spec, clock, [finished(spec, 0, 160.0, 0.2)]) == ""
    both = [finished(spec, 0, 160.0, 0.2), finished(spec, 0, 5.0, 0.0, cell=1)]
    assert left(spec, clock, both) == "about 7 min left"  # 100 times 3 s and 100 times 1 s
    assert left(spec, clock, both[:1], (both[1],)) == "about 7 min left"


def test_maps_are_prepared_one_by_one(make_spec: Callable[..., Spec], clock: list[float]) -> None:
    spec = make_spec(episodes=101)
    rows = [finished(spec, i, 160.0 if i == 0 else 9.0, 0.2, map=i // 10) for i in range(2)]
    assert left(spec, clock, rows) == "about 10 min left, mean 2.000"  # 99 times (3 + 9) / 2 s


def test_a_line_without_a_terminal(make_spec: Callable[..., Spec], clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    spec = make_spec(TWO, episodes=101)
    with caplog.at_level("INFO", "airoas"):
        left(spec, clock, [finished(spec, 0, 160.0, 0.2), finished(spec, 0, 160.0, 0.0, cell=1)])
    assert [record.getMessage() for record in caplog.records] == ["1 of 202 episodes", "2 of 202 episodes, about 7 min left"]


COUNTED = ["2 of 3 episodes, about 3 s left, mean 2.000", "3 of 3 episodes, mean 2.000"]


@pytest.mark.parametrize(("seconds", "lines"), [(30.0, COUNTED), (3.0, [])])
def test_the_last_line_says_that_all_are_there(
    seconds: float, lines: list[str], make_spec: Callable[..., Spec], clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    spec = make_spec(episodes=3)
    with caplog.at_level("INFO", "airoas"):
        left(spec, clock, [finished(spec, i, seconds + 1.0, 0.2) for i in range(3)])
    assert [record.getMessage() for record in caplog.records] == lines


def test_after_earlier_episodes_the_last_line_says_so_too(
    make_spec: Callable[..., Spec], clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    spec = make_spec(episodes=3)
    rows = [finished(spec, i, 3.0, 0.2) for i in range(3)]
    with caplog.at_level("INFO", "airoas"):
        left(spec, clock, rows[2:], tuple(rows[:2]))
    assert [record.getMessage() for record in caplog.records] == ["2 of 3 episodes are there already", "3 of 3 episodes, mean 2.000"]
