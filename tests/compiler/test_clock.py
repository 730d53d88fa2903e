"""The clock that deadlines are kept by."""

from __future__ import annotations

import time

from airoas.compiler.clock import now
from airoas.compiler.kernels import kernel, running


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
