"""The same experiment on a real Dask scheduler with two worker processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_pool import all_rows, repeatable

from airoas.errors import OptionError
from airoas.experiments.rows.store import read_rows
from airoas.experiments.run.bench import bench
from airoas.experiments.run.cluster import Cluster
from airoas.experiments.run.pool import Inline, Pool
from airoas.experiments.spec.cells import Spec

distributed = pytest.importorskip("distributed", reason="needs the extra `cluster`")
SLOW = "[planners.a]\nplanner = 'tiny.py:Sleeping'\niterations = 5\npause = 0.03\n"


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]], stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler and two workers, each with one thread, as on a cluster."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    common = ("--scheduler-file", str(file), "--no-dashboard")
    processes = [start("dask_scheduler", *common, "--port", "0", "--host", "127.0.0.1")]
    end = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    local = ("--local-directory", str(folder))
    processes.append(start("dask_worker", *common, *local, "--nworkers", "2", "--nthreads", "1"))
    with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        address = client.scheduler.address
    yield address
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()


def test_rows_are_those_of_one_process(scheduler: str, make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(episodes=10)
    assert repeatable(all_rows(spec, Cluster(scheduler, 1))) == repeatable(all_rows(spec, Inline()))


def test_a_worker_killed_in_mid_run_costs_only_a_retry(scheduler: str, make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    spec = make_spec(SLOW, episodes=24)
    with distributed.Client(scheduler, set_as_default=False) as client:
        pids = client.run(os.getpid)
        victims = list(pids.values())[:1]

        def watch(row: object, rows: dict[str, object]) -> None:
            if len(rows) == 5 and victims:
                os.kill(victims.pop(), signal.SIGKILL)

        rows = bench(spec, tmp_path, lambda: Cluster(scheduler, 1), watch, full=True)
        assert not victims
        assert set(client.run(os.getpid).values()) != set(pids.values())  # the nanny has put another in its place
    assert not any("error" in row for row in rows.values())
    assert len(read_rows(tmp_path)) == len(rows) == 24
    assert repeatable(rows) == repeatable(all_rows(spec, Pool(2)))


@pytest.mark.law
def test_an_episode_that_always_kills_becomes_an_error_row(make_spec: Callable[..., Spec]) -> None:
    """On a cluster of its own, started by `--cluster local`."""
    spec = make_spec("[planners.a]\nplanner = 'tiny.py:Deadly'\niterations = 5\nshare = 0.02\n", episodes=8)
    rows = all_rows(spec, Cluster("local", 2))
    lost = [row for row in rows.values() if "error" in row]
    assert 0 < len(lost) < 8
    assert all("died again and again" in row["error"] for row in lost)


def test_no_scheduler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airoas.experiments.run.cluster.WAIT", 0.5)
    with pytest.raises(OptionError, match="no Dask scheduler answers"):
        Cluster("tcp://127.0.0.1:1", 1)


def test_workers_with_threads_are_refused(make_spec: Callable[..., Spec]) -> None:
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, pytest.raises(OptionError, match="--nthreads 1"):
        all_rows(make_spec(), Cluster(cluster.scheduler_address, 1))
