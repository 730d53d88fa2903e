"""Lists that grow side by side in one array, without ever being moved.

A list is a chain of chunks of 1, 2, 4, .. places, linked from the newest to the oldest: half of its items are in the newest,
so that a random one is found in about one hop, and growing costs no copy that could break a deadline.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.compiler.kernels import Record
from airoas.planners.storage import Block, Layout

NONE = -1


class Lists(Record):
    """Where the items of each list stand; the items themselves are in arrays of the owner's."""

    top: Any
    """[1] places given out."""
    newest: Any
    """[lists] where the newest chunk begins."""
    size: Any
    """[lists] how many items there are."""
    older: Any
    """[places] where a chunk begins: the beginning of the chunk before."""


LIST_BYTES, PLACE_BYTES = 8, 4


def lists_layout(name: str, lists: int, places: int) -> Layout:
    return ((f"{name}_newest", "int32", (lists,)), (f"{name}_size", "int32", (lists,)), (f"{name}_older", "int32", (places,)))


def new_lists(name: str, block: Block) -> Lists:
    newest, size, older = (block.arrays[f"{name}_{part}"] for part in ("newest", "size", "older"))
    return Lists(top=np.zeros(1, np.int64), newest=newest, size=size, older=older)


def clear_list(lists: Lists, which: int) -> None:
    lists.newest[which] = NONE
    lists.size[which] = 0


def append(lists: Lists, which: int) -> int:
    """The place of a new item at the end."""
    count = lists.size[which]
    lists.size[which] = count + 1
    chunk = newest_chunk(count + 1)
    if chunk == count + 1:
        start = lists.top[0]
        lists.top[0] = start + chunk
        lists.older[start] = lists.newest[which]
        lists.newest[which] = start
    place: int = lists.newest[which] + count + 1 - chunk
    return place


def newest_chunk(count: int) -> int:
    """The size of the newest of the chunks that hold `count` >= 1 items: the largest power of two up to it."""
    chunk = 1
    while 2 * chunk <= count:
        chunk *= 2
    return chunk


def place_of(lists: Lists, which: int, i: int) -> int:
    """Where item i of a list stands."""
    chunk = newest_chunk(lists.size[which])
    start: int = lists.newest[which]
    while i + 1 < chunk:
        start = lists.older[start]
        chunk //= 2
    return start + i + 1 - chunk


def place_above(lists: Lists, which: int, upto: Any, target: float) -> int:
    """Where the first item stands whose `upto`, which never falls along a list, lies above `target`; the last one if none does."""
    chunk = newest_chunk(lists.size[which])
    lo: int = lists.newest[which]
    hi: int = lo + lists.size[which] - chunk
    while chunk > 1:
        before = lists.older[lo]
        chunk //= 2
        if upto[before + chunk - 1] <= target:
            break
        lo, hi = before, before + chunk - 1
    while lo < hi:
        middle = (lo + hi) // 2
        if upto[middle] > target:
            hi = middle
        else:
            lo = middle + 1
    return lo
