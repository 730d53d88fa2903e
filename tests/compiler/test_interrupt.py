"""Ctrl-C in compiled code: heard at once, in every thread, and over with the next search."""

from __future__ import annotations

import functools
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from airoas.compiler import interrupt
from airoas.compiler.clock import now
from airoas.compiler.kernels import kernel

SCRIPT = Path(__file__).with_name("interrupt_script.py")


@pytest.mark.parametrize("what", ["airoas", "rollout", "threads", "filter", "bounds", "policy"])
def test_a_search_without_end_stops_at_once(what: str) -> None:
    """Of three times one will do: a machine that is busy may be late."""
    assert any(seconds_to_stop(what) < 0.2 for _ in range(3))


def seconds_to_stop(what: str) -> float:
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs, and theirs, ignore it
    with subprocess.Popen([sys.executable, SCRIPT, what], stdout=subprocess.PIPE, text=True, preexec_fn=heed) as process:
        assert process.stdout is not None
        hopeless = threading.Timer(240.0, process.kill)
        hopeless.start()
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            sent = time.perf_counter()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "stopped\n"
            return time.perf_counter() - sent
        finally:
            hopeless.cancel()
            process.kill()


PLANNER = """
from dataclasses import dataclass
from pathlib import Path
from airoas.planners import POMCP

@dataclass(frozen=True)
class Endless(POMCP):
    marker: str = ""
    SEARCH_SPACE = {"c": ("float", 1.0, 2.0)}

    def plan(self, model, belief, rng):
        Path(self.marker).write_text("searching")
        return super().plan(model, belief, rng)
"""
EXPERIMENT = """
domains = ["tiger"]
episodes = 4
[planners.endless]
planner = "planner.py:Endless"
iterations = 1000000000000000
max_depth = 2
marker = "marker"
"""
ENDLESS = "tiger planner.py:Endless --iterations 1000000000000000 --set max_depth=2 --set marker=marker"
COMMANDS = {
    "run": f"run {ENDLESS}",
    "run in processes": f"run {ENDLESS} --jobs 2 --episodes 4 --out out",
    "bench": "bench experiment.toml --jobs 2 --out out",
    "tune": f"tune {ENDLESS} --trials 3 --jobs 2 --out out",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_without_end_stops_at_once(name: str, tmp_path: Path) -> None:
    """A tree of two steps never fills its memory. Of three times one will do: a machine that is busy may be late."""
    (tmp_path / "planner.py").write_text(PLANNER)
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    assert any(seconds_to_end(COMMANDS[name], tmp_path) < 0.2 for _ in range(3))


def seconds_to_end(command: str, folder: Path) -> float:
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    (folder / "marker").unlink(missing_ok=True)
    with subprocess.Popen(
        [sys.executable, "-m", "airoas.cli", *command.split()], cwd=folder, stderr=subprocess.PIPE, text=True, preexec_fn=heed
    ) as process:
        hopeless = threading.Timer(240.0, process.kill)
        hopeless.start()
        try:
            while not (folder / "marker").exists():
                assert process.poll() is None, process.communicate()[1]
                time.sleep(0.01)
            time.sleep(0.3)
            sent = time.perf_counter()
            process.send_signal(signal.SIGINT)
            process.wait()
            spent = time.perf_counter() - sent
            said = process.communicate()[1]
            assert process.returncode == 130 and "stopped" in said and "Traceback" not in said, said
            return spent
        finally:
            hopeless.cancel()
            process.kill()


@kernel
def spin(until: float) -> int:
    count = 0
    while now() < until:
        count += 1
    return count


@pytest.fixture
def heeded() -> Iterator[None]:
    """Ctrl-C as in a terminal, wherever the tests are run."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    interrupt.listen()


@pytest.mark.usefixtures("heeded")
def test_after_an_interruption_the_next_search_has_its_time() -> None:
    spin(now())
    interrupt.listen()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert interrupt.interrupted() and now() == math.inf
        assert spin(math.inf) == 0  # one that began just now, in whatever thread, ends as well
        with pytest.raises(KeyboardInterrupt):
            interrupt.stop_if_interrupted()
        interrupt.listen()
        assert now() < math.inf
        begun = time.perf_counter()
        spin(begun + 0.01)
        assert 0.01 <= time.perf_counter() - begun < 1.0
        interrupt.stop_if_interrupted()


def test_an_interruption_passes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the main thread never searches, others go on a second later."""
    spin(now())
    interrupt._state[0] = time.perf_counter() - interrupt.LASTS
    try:
        assert now() < math.inf and not interrupt.interrupted()
        assert spin(now() + 0.01) > 0
    finally:
        interrupt._state[0] = 0.0


def test_a_handler_of_the_users_own_is_left_alone() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        interrupt.listen()
        signal.raise_signal(signal.SIGINT)
        assert heard == [1] and not interrupt.interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
        interrupt.listen()
