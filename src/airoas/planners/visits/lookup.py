"""Which history an action node and an observation lead to: open addressing in a table that grows a little with every entry.

A table that is rehashed at once would stop a search of a million histories for longer than a deadline may be missed; one of
full size would cost a page of memory for every history of a small tree. So each table is followed by one of twice the size,
which is emptied while the present one fills, and takes over its entries, some with every new one, when that is two thirds full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.compiler.kernels import Record
from airoas.planners.storage import Layout

NONE = -1
SLOT = np.dtype([("hash", np.int32), ("history", np.int32)])
"""An entry; the history is NONE where the slot is free."""
_FIRST_SIZE, _MOVES, _EMPTIES = 1024, 32, 16


class Lookup(Record):
    """The tables, one after another."""

    slots: Any
    """[.] of type SLOT."""
    n_entries: int
    start: int
    """Of the present table."""
    size: int
    old_start: int
    """Of the table before it."""
    old_size: int
    n_moved: int
    """Slots of the table before whose entries have been taken over."""
    n_emptied: int
    """Slots of the next table that are free."""


def lookup_layout(entries: int) -> Layout:
    """For that many entries in a table that is at least a third full, all before it, and the next."""
    return (("slots", SLOT, (12 * entries + 4 * _FIRST_SIZE,)),)


def make_lookup(slots: np.ndarray) -> Lookup:
    lookup = Lookup(slots=slots, n_entries=0, start=0, size=0, old_start=0, old_size=0, n_moved=0, n_emptied=0)
    clear_lookup(lookup)
    return lookup


def clear_lookup(lookup: Lookup) -> None:
    """No entries, whatever the slots held."""
    lookup.slots.history[:_FIRST_SIZE] = NONE
    lookup.size = _FIRST_SIZE
    lookup.n_entries = lookup.start = lookup.old_start = lookup.old_size = lookup.n_moved = lookup.n_emptied = 0


def lookup_bytes(lookup: Lookup) -> int:
    """Of all slots that were ever written."""
    return (lookup.start + lookup.size + lookup.n_emptied) * 8


def enter(lookup: Lookup, hashed: int, history: int) -> None:
    """Add an entry, and do a little for the growth of the table."""
    slots = lookup.slots
    _put(lookup, hashed, history)
    lookup.n_entries += 1
    if lookup.n_moved < lookup.old_size:
        first = lookup.old_start + lookup.n_moved
        for i in range(first, first + _MOVES):
            if slots[i].history != NONE:
                _put(lookup, slots[i].hash, slots[i].history)
        lookup.n_moved += _MOVES
    if lookup.n_emptied < 2 * lookup.size:
        first = lookup.start + lookup.size + lookup.n_emptied
        for i in range(first, first + _EMPTIES):
            slots[i].history = NONE
        lookup.n_emptied += _EMPTIES
    if 3 * lookup.n_entries > 2 * lookup.size:
        lookup.old_start, lookup.old_size, lookup.n_moved, lookup.n_emptied = lookup.start, lookup.size, 0, 0
        lookup.start += lookup.size
        lookup.size *= 2


def _put(lookup: Lookup, hashed: int, history: int) -> None:
    slots, start, last = lookup.slots, lookup.start, lookup.size - 1
    i = start + (hashed & last)
    while slots[i].history != NONE:
        i = start + ((i - start + 1) & last)
    slots[i].hash = hashed
    slots[i].history = history
