"""Which node an action and an observation lead to: open addressing in a table that grows a little with every insertion.

A table that is rehashed at once would stop a search of a million nodes for longer than a deadline may be missed; one of full
size would cost a page of memory for every node of a small tree. So each table is followed by one of twice the size, which is
emptied while the present one fills, and takes over its entries, some with every insertion, when that is two thirds full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.compiler.kernels import Record
from airoas.planners.storage import Block, Layout

NONE = -1
SLOT = 2  # places of a slot in `slots`: a hash and a node, NONE where it is free
SLOT_BYTES = 8
ENTRIES, START, SIZE, OLD_START, OLD_SIZE, MOVED, EMPTIED = range(7)  # entries of `state`
_FIRST_SIZE, _MOVES, _EMPTIES = 1024, 32, 16


class Lookup(Record):
    """The tables, one after another."""

    state: Any
    """[7] how many entries there are; where the present table starts, and its size; the same of the one before it; how many slots
    of that have been moved; how many slots of the next table have been emptied."""
    slots: Any
    """[2 .]"""


def lookup_layout(entries: int) -> Layout:
    """Room for that many entries in a table that is at least a third full, all before it, and the next."""
    return (("slots", "int32", (SLOT * (12 * entries + 4 * _FIRST_SIZE),)),)


def new_lookup(block: Block) -> Lookup:
    slots = block.arrays["slots"]
    slots[: SLOT * _FIRST_SIZE] = NONE
    return Lookup(state=np.array([0, 0, _FIRST_SIZE, 0, 0, 0, 0], np.int64), slots=slots)


def slots_touched(lookup: Lookup) -> int:
    touched: int = lookup.state[START] + lookup.state[SIZE] + lookup.state[EMPTIED]
    return touched


def enter(lookup: Lookup, hashed: int, node: int) -> None:
    """Add an entry, and do a little for the growth of the table."""
    state, slots = lookup.state, lookup.slots
    _put(lookup, hashed, node)
    state[ENTRIES] += 1
    if state[MOVED] < state[OLD_SIZE]:
        first = state[OLD_START] + state[MOVED]
        for slot in range(first, first + _MOVES):
            if slots[slot * SLOT + 1] != NONE:
                _put(lookup, slots[slot * SLOT], slots[slot * SLOT + 1])
        state[MOVED] += _MOVES
    if state[EMPTIED] < 2 * state[SIZE]:
        first = (state[START] + state[SIZE] + state[EMPTIED]) * SLOT
        for place in range(first, first + _EMPTIES * SLOT):
            slots[place] = NONE
        state[EMPTIED] += _EMPTIES
    if 3 * state[ENTRIES] > 2 * state[SIZE]:
        state[OLD_START], state[OLD_SIZE], state[MOVED], state[EMPTIED] = state[START], state[SIZE], 0, 0
        state[START] += state[SIZE]
        state[SIZE] *= 2


def _put(lookup: Lookup, hashed: int, node: int) -> None:
    start, size = lookup.state[START], lookup.state[SIZE]
    at = hashed & (size - 1)
    while lookup.slots[(start + at) * SLOT + 1] != NONE:
        at = (at + 1) & (size - 1)
    lookup.slots[(start + at) * SLOT] = hashed
    lookup.slots[(start + at) * SLOT + 1] = node
