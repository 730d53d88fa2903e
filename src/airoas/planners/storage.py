"""Memory for search trees: address space reserved at once, of which only what is touched is taken.

Growing an array of gigabytes in the middle of a search would break its deadline. A block that a tree no longer needs serves
the next tree of the same layout: its pages are there already.
"""

from __future__ import annotations

import mmap
import sys
import weakref
from typing import Any

import numpy as np

from airoas.errors import OptionError

Layout = tuple[tuple[str, "str | np.dtype[Any]", tuple[int, ...]], ...]
"""(name, numpy's type of an element, shape) of each column."""

_free: dict[Layout, list[mmap.mmap]] = {}
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)
_KEPT = 2  # blocks of one layout that wait for the next tree
_RESIDENT = 1 << 28  # bytes that a waiting block may hold


class Block:
    """Arrays by name, whose content is arbitrary at first. The memory is taken back when the block is no longer referred to:
    keep it as long as its arrays."""

    def __init__(self, layout: Layout) -> None:
        sizes = [_aligned(int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize) for _, kind, shape in layout]
        waiting = _free.setdefault(layout, [])
        try:
            space = waiting.pop()
        except IndexError:
            space = _reserved(max(sum(sizes), mmap.PAGESIZE))
        self.arrays: dict[str, np.ndarray] = {}
        start = 0
        for (name, kind, shape), size in zip(layout, sizes, strict=True):
            array = np.frombuffer(space, kind, int(np.prod(shape, dtype=np.int64)), start).reshape(shape)
            self.arrays[name] = array.view(np.recarray) if array.dtype.names else array
            start += size
        self.used = np.zeros(1, np.int64)
        """[1] bytes in use, as told by the owner."""
        self._space = space
        weakref.finalize(self, _give_back, layout, space)

    def rest(self, alone: bool) -> None:
        """Give back the pages, and what they hold, unless it is `alone` among those that wait to be used again, and small."""
        if not alone or self.used[0] > _RESIDENT:
            self._space.madvise(mmap.MADV_DONTNEED)


def _reserved(size: int) -> mmap.mmap:
    try:
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    except (OSError, OverflowError, ValueError) as error:
        problem = f"the system gives no {size / 1e9:.3g} GB of address space for a search tree ({error})"
        raise OptionError(problem, "give the planner a smaller `memory`, or raise the limit (`ulimit -v`).") from None


def _give_back(layout: Layout, space: mmap.mmap) -> None:
    """The pages go back to the system, the address space waits for the next block of this layout."""
    waiting = _free[layout]
    if len(waiting) < _KEPT:
        space.madvise(mmap.MADV_DONTNEED)
        waiting.append(space)


def _aligned(size: int) -> int:
    return -(-size // 64) * 64
