"""Many states are looked up at once as one by one, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from airoas import stream
from airoas.bounds.learned.forest import _descend, find_leaves, grow, leaf_of, learn, lookup, zero
from airoas.compiler.kernels import kernel


@pytest.mark.parametrize(("width", "fewest"), [(1, 2), (3, 10), (1, 1000)])
def test_lookup_sums_the_leaves(width: int, fewest: int) -> None:
    rng = np.random.default_rng(width)
    states = rng.normal(size=(500, 4))
    targets = np.stack([np.sin((k + 1) * states[:, 0]) - states[:, 2] for k in range(width)], axis=1)
    forest = grow(states, targets, fewest, stream(3))
    own = np.zeros((len(states), len(forest.roots)), np.int64)
    find_leaves(forest, states, own)
    learn(forest, own, targets, np.zeros(len(forest.cut)))
    others, alive = np.concatenate((states[:50], 3.0 * rng.normal(size=(50, 4)))), np.arange(100) % 3 > 0
    others[np.flatnonzero(~alive)] = np.nan  # nobody looks there
    out = np.full((100, width + 2), 7.0)
    lookup(forest)(others, alive, out, 1)
    for i in range(100):
        expected = np.zeros(width)
        for tree in range(len(forest.roots)):
            expected += forest.values[leaf_of(forest, others, i, tree)]
        assert (out[i, 1:-1] == (expected if alive[i] else 7.0)).all()
    assert (out[:, [0, -1]] == 7.0).all()
    on_gpu = np.full_like(out, 7.0)
    kernel(_descend)(lookup(forest).owner, others, alive, on_gpu, 1)
    assert (on_gpu == out).all()


def test_a_forest_of_one_leaf_says_0() -> None:
    out = np.ones((3, 2))
    lookup(zero(2))(np.ones((3, 5)), np.ones(3, np.bool_), out, 0)
    assert not out.any()
