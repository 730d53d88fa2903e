"""Many states are looked up at once as one by one, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from airoas import stream
from airoas.bounds.learned.forest import find_leaves, grow, leaf_of, zero
from airoas.bounds.learned.regression import Regression, _descend, features_of, read, regress
from airoas.compiler.kernels import kernel

FLAGS = 20


def some_states(n: int, seed: int) -> np.ndarray:
    """Two numbers, twenty flags in a word, and a number that never changes."""
    rng = np.random.default_rng(seed)
    return np.column_stack((rng.normal(size=(n, 2)), rng.integers(1 << FLAGS, size=n), np.ones(n)))


KINDS = ("float", "float", "flags", "float")


@pytest.mark.parametrize(("width", "fewest"), [(1, 2), (3, 10), (1, 1000)])
def test_lookup_sums_the_leaves(width: int, fewest: int) -> None:
    states = some_states(500, width)
    targets = np.stack([np.sin((k + 1) * states[:, 0]) - states[:, 1] for k in range(width)], axis=1)
    known = regress(states, KINDS, targets, fewest, stream(3))
    known.learn(known.leaves(states), targets)
    others, alive = np.concatenate((states[:50], some_states(50, 9))), np.arange(100) % 3 > 0
    rows = read(known.features, others)
    others[np.flatnonzero(~alive)] = np.nan  # nobody looks there
    out = np.full((100, width + 2), 7.0)
    known.lookup()(others, alive, out, 1)
    forest = known.forest
    for i in range(100):
        expected = np.zeros(width)
        for tree in range(len(forest.roots)):
            expected += forest.values[leaf_of(forest, rows, i, tree)]
        assert (out[i, 1:-1] == (expected if alive[i] else 7.0)).all()
    assert (out[:, [0, -1]] == 7.0).all()
    on_gpu = np.full_like(out, 7.0)
    kernel(_descend)(known.lookup().owner, others, alive, on_gpu, 1)
    assert (on_gpu == out).all()


def test_leaves_of_many_rows_are_those_of_each() -> None:
    rows = np.random.default_rng(2).normal(size=(700, 3))
    forest = grow(rows, np.sin(3.0 * rows[:, :1]), 4, stream(0))
    leaves = np.zeros((700, len(forest.roots)), np.int64)
    find_leaves(forest, rows, leaves)
    for i in range(0, 700, 7):
        assert leaves[i].tolist() == [leaf_of(forest, rows, i, tree) for tree in range(len(forest.roots))]


def test_leaves_are_found_by_components_of_any_number() -> None:
    """Beyond 65,536 of them as well: the links of a node have room for more than 16 bits each."""
    dim = 70_000
    rows = np.zeros((60, dim))
    rows[:, -3:] = np.random.default_rng(0).normal(size=(60, 3))
    forest = grow(rows, rows[:, -3:-2] - rows[:, -2:-1], 2, stream(0), np.array([dim - 3, dim - 2]))
    leaves = np.zeros((60, len(forest.roots)), np.int64)
    find_leaves(forest, rows, leaves)
    for i in range(60):
        assert leaves[i].tolist() == [leaf_of(forest, rows, i, tree) for tree in range(len(forest.roots))]


def test_a_forest_of_one_leaf_says_0() -> None:
    states, out = some_states(3, 0), np.ones((3, 2))
    Regression(features_of(states, KINDS), zero(2)).lookup()(states, np.ones(3, np.bool_), out, 0)
    assert not out.any()


def test_what_is_read_are_numbers_that_vary_and_single_flags_and_how_many_are_up() -> None:
    states = some_states(300, 4)
    rows = read(features_of(states, KINDS), states)
    words = states[:, 2].astype(np.int64)
    single = [(words >> k & 1) for k in range(FLAGS)]
    assert (rows == np.column_stack((states[:, :2], sum(single), *single))).all()


def test_how_many_parts_have_failed_is_learned_from_few_states() -> None:
    """What is lost is the number of flags: on states not seen, nine tenths of its variance, where a packed word tells less than a half."""
    seen, unseen = some_states(1000, 5), some_states(1000, 6)
    lost, wanted = (np.bitwise_count(states[:, 2].astype(np.int64)).astype(float)[:, None] for states in (seen, unseen))
    errors = []
    for kinds in (KINDS, ("float",) * 4):
        known, values = regress(seen, kinds, lost, 2, stream(0)), np.zeros((1000, 1))
        known.learn(known.leaves(seen), lost)
        known.lookup()(unseen, np.ones(1000, np.bool_), values, 0)
        errors.append(float(np.mean((values - wanted) ** 2) / wanted.var()))
    assert errors[0] < 0.1 and errors[1] > 0.5
