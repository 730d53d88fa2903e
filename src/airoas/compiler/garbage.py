"""Fewer collections of garbage while kernels are compiled.

Numba makes objects by the hundred thousand, most of which live until the compiler is done. Python looks through the young ones after
every 700 or 2000, and through all that there are whenever a quarter has come to them: an eighth of the time of compiling.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

OBJECTS = 50_000
"""Between two collections of the youngest while something is compiled; some ten MB of memory."""


class Garbage:
    """Python's first threshold, raised for a while; one that is larger, or 0 for never, stays."""

    def __init__(self) -> None:
        self._usual = 0
        self._lock = threading.Lock()

    def let_lie(self) -> None:
        with self._lock:
            first, *others = gc.get_threshold()
            if 0 < first < OBJECTS:
                self._usual = first
                gc.set_threshold(OBJECTS, *others)

    def collect_as_before(self) -> None:
        with self._lock:
            first, *others = gc.get_threshold()
            if self._usual and first == OBJECTS:  # else somebody has set it meanwhile
                gc.set_threshold(self._usual, *others)
            self._usual = 0


garbage = Garbage()


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """For work that is compiling from end to end, with what is between two kernels."""
    first, *others = gc.get_threshold()
    raised = 0 < first < OBJECTS
    if raised:
        gc.set_threshold(OBJECTS, *others)
    try:
        yield
    finally:
        if raised and gc.get_threshold()[0] == OBJECTS:  # else somebody has set it meanwhile
            gc.set_threshold(first, *others)
