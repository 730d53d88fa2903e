"""Memory of search trees."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from airoas.catalog import find_domain
from airoas.planners import POMCP, POMCPOW
from airoas.planners.bounded.tree import make_tree
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


@pytest.mark.parametrize("name", ["tiger", "light-dark-1.0", "leak", "light-column-macros-random", "vdp-tag"])
def test_address_space_is_what_the_page_says(name):
    """In docs/robot.md."""
    model, memory = find_domain(name)(0), 1_000_000_000
    widths = model.shapes.observation.size, model.shapes.action.size if model.shapes.action else 1, model.shapes.state.size
    _, block = make_tree(*widths, model.n_actions, memory, 90)
    assert 3e9 - 1e3 < sum(array.nbytes for array in block.arrays.values()) < 3.006e9
    for planner, least, most in ((POMCP(iterations=1), 2.6, 6.01), (POMCPOW(iterations=1), 6.9, 10.9)):
        layout = planner.layout(model, memory)
        assert least < sum(np.prod(shape, dtype=np.int64) * np.dtype(kind).itemsize for _, kind, shape in layout) / memory < most
