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
    """The best of three: a machine that is busy may be late once."""
    assert min(seconds_to_stop(what) for _ in range(3)) < 0.2


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
