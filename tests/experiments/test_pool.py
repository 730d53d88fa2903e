"""Worker processes: the same rows as in one process, whatever happens to a worker."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airoas.experiments.rows.types import Row
from airoas.experiments.run import pool
from airoas.experiments.run.pool import DEATHS, Inline, Pool, Runner, WorkerError, run
from airoas.experiments.spec.cells import Spec

MIXED = """
[planners.a]
planner = 'tiny.py:Searching'
iterations = 5
[planners.b]
planner = 'tiny.py:Searching'
iterations = 50
clever = 0.7
[planners.random]
"""


def all_rows(spec: Spec, runner: Runner) -> dict[str, Row]:
    with contextlib.closing(runner):
        rows = list(run(spec.tasks(), runner))
    assert len(rows) == len({row["id"] for row in rows}) == len(spec.tasks())
    return {row["id"]: row for row in rows}


def repeatable(rows: dict[str, Row]) -> dict[str, Row]:
    """Everything but where and how long."""
    return {key: {name: value for name, value in row.items() if name not in ("times", "machine")} for key, row in sorted(rows.items())}


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids: list[int], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(alive, pids))


def test_rows_do_not_depend_on_the_number_of_workers(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(MIXED, episodes=7)
    expected = repeatable(all_rows(spec, Inline()))
    assert len(expected) == 21
    assert all("error" not in row and row["trials"] for row in expected.values())
    for jobs in (1, 2, 4):
        assert repeatable(all_rows(spec, Pool(jobs))) == expected


def test_a_worker_that_dies_costs_a_retry(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    """The episode that killed its worker is run again, and its row is the one that it would have been."""
    once = tmp_path / "once"
    spec = make_spec(f"[planners.a]\nplanner = 'tiny.py:Deadly'\niterations = 5\nonce = '{once}'\n", episodes=12)
    died = all_rows(spec, Pool(2))
    assert once.exists()
    assert not any("error" in row for row in died.values())
    assert repeatable(all_rows(spec, Inline())) == repeatable(died)  # the marker is there now, so nothing dies


def test_an_episode_that_always_kills_becomes_an_error_row_and_harms_no_other(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec("[planners.a]\nplanner = 'tiny.py:Deadly'\niterations = 5\nshare = 0.03\n", episodes=14)
    rows = all_rows(spec, Pool(2))
    lost = [row for row in rows.values() if "error" in row]
    assert 0 < len(lost) < 14
    assert {row["error"] for row in lost} == {lost[0]["error"]}
    assert f"killed by signal 9, {DEATHS} times" in lost[0]["error"]
    calm = make_spec("[planners.a]\nplanner = 'tiny.py:Deadly'\niterations = 5\nshare = 0.0\n", episodes=14)
    expected = {row["seed"]: row["actions"] for row in all_rows(calm, Inline()).values()}
    for row in rows.values():
        if "error" not in row:
            assert row["actions"] == expected[row["seed"]]


def test_an_idle_worker_that_is_killed_is_replaced(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(episodes=4)
    runner = Pool(2)
    for worker in runner._workers:
        worker.process.kill()
        worker.process.wait()
    assert not any("error" in row for row in all_rows(spec, runner).values())


def test_workers_that_cannot_start_end_the_run(make_spec: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(WorkerError, match="ended with exit code 1 before it could start"):
        all_rows(make_spec(), Pool(2))


def test_closing_ends_the_workers(make_spec: Callable[..., Spec]) -> None:
    runner = Pool(2)
    pids = [worker.process.pid for worker in runner._workers]
    assert all(map(alive, pids))
    runner.close()
    assert gone(pids)


def test_a_model_that_raises_gives_rows_with_the_error(tiny: Path) -> None:
    from airoas.experiments.spec.reading import parse

    spec = parse("domains = ['tiny.py:Broken']\nepisodes = 3\nparticles = 10\n[planners.random]\n", folder=tiny)
    rows = all_rows(spec, Pool(2))
    assert all("ValueError: no such step" in row["error"] for row in rows.values())


def test_rows_keep_no_tree_and_fit_json(make_spec: Callable[..., Spec]) -> None:
    import json

    row = next(iter(all_rows(make_spec(episodes=1), Inline()).values()))
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert {
        "version",
        "options",
        "seed",
        "machine",
        "times",
        "trials",
        "lower",
        "upper",
        "stops",
        "notes",
        "discounted_return",
        "return",
    } <= row.keys()
    assert len(row["trials"]) == len(row["times"]["plan"]) == len(row["times"]["update"]) == row["steps"]


DRIVER = """
import contextlib, sys
from pathlib import Path
from airoas.experiments.run.pool import Pool, run
from airoas.experiments.spec.reading import parse
spec = parse(sys.argv[2], folder=Path(sys.argv[1]))
with contextlib.closing(Pool(2)) as runner:
    print(*[worker.process.pid for worker in runner._workers], flush=True)
    for row in run(spec.tasks(), runner):
        print("row", flush=True)
"""


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_driver(signal_: signal.Signals, make_spec: Callable[..., Spec], tiny: Path) -> None:
    """Workers are killed in the midst of a move that would take a minute."""
    spec = make_spec("[planners.a]\nplanner = 'tiny.py:Sleeping'\niterations = 5\npause = 60.0\n")
    arguments: list[Any] = [sys.executable, "-c", DRIVER, str(tiny), spec.text]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        pids = [int(word) for word in driver.stdout.readline().split()]
        assert len(pids) == 2
        time.sleep(2.0)  # into the move
        assert all(map(alive, pids))
        os.kill(driver.pid, signal_)
        driver.wait()
        assert gone(pids)


def test_the_pool_is_what_the_interface_says() -> None:
    for kind in (Inline, Pool):
        assert all(callable(getattr(kind, name)) for name in ("free", "submit", "collect", "close"))
    assert pool.DEATHS == 3
