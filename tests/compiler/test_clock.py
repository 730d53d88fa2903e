"""The clock that deadlines are kept by."""

from __future__ import annotations

import time

import airoas
from airoas.compiler.clock import deadlines_in, now, read_clock
from airoas.compiler.kernels import kernel, running
from airoas.domains import Tiger
from airoas.planners import POMCP


@kernel
def _read(count):
    first = now()
    last = first
    for _ in range(count):
        last = now()
    return first, last


def test_compiled_and_python_read_the_same_clock():
    _read(1)
    before = time.perf_counter()
    first, last = _read(1000)
    after = time.perf_counter()
    assert before <= first <= last <= after
    with running("interpreted"):
        before = time.perf_counter()
        first, last = _read(10)
        assert before <= first <= last <= time.perf_counter()


def test_cpu_time_is_read_in_compiled_code_too():
    _read(1)
    with deadlines_in("cpu"):
        before = time.process_time()
        first, last = _read(1000)
        assert before <= first < last <= time.process_time()
        idle = read_clock()
        time.sleep(0.2)
        assert read_clock() - idle < 0.1
        with running("interpreted"):
            first, last = _read(10)
            assert idle <= first <= last <= time.process_time()
    before = time.perf_counter()
    assert before <= _read(1)[0] <= time.perf_counter()


def test_a_decision_has_its_cpu_time():
    model, planner = Tiger(), POMCP(seconds=0.05)
    planner.prepare(model)
    belief = airoas.Particles.exact(model)
    with deadlines_in("cpu"):
        before = time.process_time()
        stats = planner.plan(model, belief, airoas.stream(0)).stats
        spent = time.process_time() - before
    assert stats.stop == "deadline"
    assert 0.05 <= stats.seconds <= spent
    assert stats.overshoot < 0.05
