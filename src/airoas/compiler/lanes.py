"""Loops over particles, written once: a CPU takes every turn in order, on a GPU each thread takes some of them.

Turns must not depend on each other. A loop over the same `lanes(n)` gives a thread the same turns again, so that one loop may go
on with what an earlier one left for its turn. There are three modes: in "cuda" threads share the turns of `lanes`; in "alone" each thread
does a whole thing, such as a search, by itself, and they share the turns of `each`; in "warp" those of a warp do such a thing together:
all of them go through the same lines with the same numbers, and where a function has a loop over `lanes`, they share its turns, wait for
each other, and get its counts and sums, or the largest of something, of all turns.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from airoas.compiler.fingerprint import OVERLOADED

WARP = 32
"""Threads of a GPU that go together."""


def lanes(n: int) -> Any:
    """The turns of a loop over n things that the thread at hand takes: on a CPU all of them."""
    return range(n)


def each(n: int) -> Any:
    """The turns of a loop over n things that a thread does alone."""
    return range(n)


def lane() -> int:
    """The number of the thread at hand: 0 on a CPU."""
    return 0


LARGEST: set[Any] = set()
"""Functions over `lanes` that give the largest of something; others give counts and sums."""


def largest(function: Any) -> Any:
    """Mark one of them."""
    LARGEST.add(function)
    return function


@overload(lanes)
def _lanes(n):
    return lambda n: range(n)


@overload(each)
def _each(n):
    return lambda n: range(n)


@overload(lane)
def _lane():
    return lambda: 0


OVERLOADED.extend((lanes, each, lane))
