"""Memory of search trees."""

from __future__ import annotations

import gc

import numpy as np

from airoas.planners.storage import Block

LAYOUT = (("a", "float64", (1000, 3)), ("b", "int64", (7,)))


def test_columns_do_not_overlap_and_are_writable():
    block = Block(LAYOUT)
    block.arrays["a"][:] = 1.5
    block.arrays["b"][:] = np.arange(7)
    assert (block.arrays["a"] == 1.5).all()
    assert list(block.arrays["b"]) == list(range(7))


def test_memory_is_not_shared_while_in_use_and_serves_again_after():
    first, second = Block(LAYOUT), Block(LAYOUT)
    first.arrays["b"][:] = 1
    second.arrays["b"][:] = 2
    assert (first.arrays["b"] == 1).all()
    address = second.arrays["b"].ctypes.data
    del second
    gc.collect()
    assert Block(LAYOUT).arrays["b"].ctypes.data == address


def test_address_space_is_free_until_touched():
    block = Block((("big", "float64", (1 << 33,)),))  # 64 GiB, more than most machines have
    block.arrays["big"][-1] = 1.0
    assert block.arrays["big"][0] == 0.0


def test_a_block_that_held_much_gives_its_pages_back():
    layout = (("a", "float64", (4000,)),)
    block = Block(layout)
    block.arrays["a"][:] = 1.0
    block.used[0] = 1 << 30
    del block
    gc.collect()
    assert not Block(layout).arrays["a"].any()
