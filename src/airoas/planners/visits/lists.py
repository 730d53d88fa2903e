"""Lists that grow side by side in one array, without ever being moved.

A list is a chain of chunks of 1, 2, 4, .. items, linked from the newest to the oldest: half of its items are in the newest,
so that a random one is found in about one hop, and growing costs no copy that could break a deadline.
"""

from __future__ import annotations

from airoas.compiler.kernels import Record
from airoas.modelling.rows import Indices, Weights
from airoas.planners.storage import Block, Layout

NONE = -1


class Lists(Record):
    """In which rows the items of each list stand; the items themselves are in arrays of the owner's."""

    newest: Indices
    """[lists] the first row of the newest chunk."""
    size: Indices
    """[lists] how many items there are."""
    older: Indices
    """[rows] at the first row of a chunk, the first row of the chunk before."""
    n_rows: int
    """Rows given out."""


LIST_BYTES, ROW_BYTES = 8, 4


def lists_layout(name: str, lists: int, rows: int) -> Layout:
    return ((f"{name}_newest", "int32", (lists,)), (f"{name}_size", "int32", (lists,)), (f"{name}_older", "int32", (rows,)))


def make_lists(name: str, block: Block) -> Lists:
    newest, size, older = (block.arrays[f"{name}_{part}"] for part in ("newest", "size", "older"))
    return Lists(newest=newest, size=size, older=older, n_rows=0)


def clear_list(lists: Lists, which: int) -> None:
    lists.newest[which] = NONE
    lists.size[which] = 0


def append(lists: Lists, which: int) -> int:
    """The row of a new item at the end."""
    count = lists.size[which] + 1
    lists.size[which] = count
    chunk = newest_chunk(count)
    if chunk == count:
        first = lists.n_rows
        lists.n_rows = first + chunk
        lists.older[first] = lists.newest[which]
        lists.newest[which] = first
    row: int = lists.newest[which] + count - chunk
    return row


def newest_chunk(count: int) -> int:
    """The size of the newest of the chunks that hold `count` >= 1 items: the largest power of two up to it."""
    chunk = 1
    while 2 * chunk <= count:
        chunk *= 2
    return chunk


def row_of(lists: Lists, which: int, i: int) -> int:
    """The row of item i of a list."""
    chunk = newest_chunk(lists.size[which])
    first: int = lists.newest[which]
    while i + 1 < chunk:
        first = lists.older[first]
        chunk //= 2
    return first + i + 1 - chunk


def row_above(lists: Lists, which: int, cumulative: Weights, target: float) -> int:
    """The row of the first item whose `cumulative`, which never falls along a list, lies above `target`; the last one if none does."""
    chunk = newest_chunk(lists.size[which])
    lo: int = lists.newest[which]
    hi: int = lo + lists.size[which] - chunk
    while chunk > 1:
        before = lists.older[lo]
        chunk //= 2
        if cumulative[before + chunk - 1] <= target:
            break
        lo, hi = before, before + chunk - 1
    while lo < hi:
        middle = (lo + hi) // 2
        if cumulative[middle] > target:
            hi = middle
        else:
            lo = middle + 1
    return lo
