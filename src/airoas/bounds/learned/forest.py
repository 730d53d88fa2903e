"""A forest of regression trees over states: values learned at some states, looked up at others.

Extremely randomised trees (Geurts et al., 2006): a node is split where the best of a few random cuts falls, along a component
of the state or along the difference of two (what counts is often how far apart things are). A leaf holds means of what was
learned there, so that nothing looked up lies beyond what was seen, whatever the number of components.
"""

from __future__ import annotations

import numpy as np

from airoas.compiler.kernels import Record, kernel
from airoas.modelling.rows import Indices, Matrix, Reals, Rows
from airoas.rng import Rng

TREES = 6
_CUTS = 12  # tried at a node
_BLOCK = 256  # rows that go down a tree side by side
_BITS = 20  # of the number of a component: a million of them, and eight million nodes
_MASK = (1 << _BITS) - 1


class Forest(Record):
    """Nodes of all trees. At a node the state goes to `child` where `first` less `second` is below `cut`, else to the one after."""

    roots: Indices
    """[TREES]"""
    first: Indices
    """[nodes] a component."""
    second: Indices
    """[nodes] a component, or none where it is their number."""
    cut: Reals
    """[nodes]"""
    child: Indices
    """[nodes] -1 for a leaf."""
    values: Matrix
    """[nodes, width] of a leaf, already divided by the number of trees."""


def grow(states: Rows, targets: np.ndarray, fewest: int, rng: Rng, axes: Indices | None = None) -> Forest:
    """A forest whose leaves hold alike targets [n, width] of states [n, dim], at least `fewest`; its values are for `learn`. axes: the
    components to cut along, each tried in proportion to how often it is there; all alike where it is not given."""
    n, most = len(states), TREES * (2 * len(states) // fewest + 1)
    forest = Forest(
        roots=np.zeros(TREES, np.int64),
        first=np.zeros(most, np.int64),
        second=np.zeros(most, np.int64),
        cut=np.zeros(most),
        child=np.full(most, -1, np.int64),
        values=np.zeros((most, targets.shape[1])),
    )
    spread = targets.std(axis=0) if n else np.ones(targets.shape[1])
    scaled = np.ascontiguousarray(targets / np.where(spread > 0.0, spread, 1.0))
    axes = np.arange(states.shape[1]) if axes is None else axes
    waiting, sums = np.zeros((n + 2, 3), np.int64), np.zeros((2, targets.shape[1]))
    count = int(_grow(forest, states, scaled, fewest, axes, np.arange(n), waiting, sums, rng))
    return Forest(
        roots=forest.roots, **{name: getattr(forest, name)[:count].copy() for name in ("first", "second", "cut", "child", "values")}
    )


def zero(width: int) -> Forest:
    """A forest of one leaf that says 0."""
    none = np.zeros(1, np.int64)
    return Forest(
        roots=np.zeros(TREES, np.int64), first=none, second=none.copy(), cut=np.zeros(1), child=none - 1, values=np.zeros((1, width))
    )


def along(states: Rows, i: int, first: int, second: int) -> float:
    """A component of a row, less another."""
    return float(states[i, first] - (states[i, second] if second < states.shape[1] else 0.0))


@kernel
def _grow(
    forest: Forest,
    states: Rows,
    targets: Matrix,
    fewest: int,
    axes: Indices,
    order: Indices,
    waiting: np.ndarray,
    sums: Matrix,
    rng: Rng,
) -> int:
    """Split until leaves are small or alike; how many nodes there are. waiting [., 3]: nodes with their part of `order`."""
    dim, width, nodes = states.shape[1], targets.shape[1], 0
    for tree in range(len(forest.roots)):
        forest.roots[tree] = nodes
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = nodes, 0, len(order)
        nodes += 1
        left = 1
        while left > 0:
            left -= 1
            node, begin, end = waiting[left, 0], waiting[left, 1], waiting[left, 2]
            best, best_cut, best_first, best_second = 1e-9, 0.0, -1, dim
            for _ in range(_CUTS if end - begin >= 2 * fewest else 0):
                first = axes[rng.integer(len(axes))]
                second = axes[rng.integer(len(axes))] if rng.uniform() < 0.5 else dim
                u = along(states, order[begin + rng.integer(end - begin)], first, second)
                v = along(states, order[begin + rng.integer(end - begin)], first, second)
                cut = 0.5 * (u + v)
                if first == second or u == v:
                    continue
                for j in range(width):
                    sums[0, j] = sums[1, j] = 0.0
                below = 0
                for k in range(begin, end):
                    side = 0 if along(states, order[k], first, second) < cut else 1
                    below += 1 - side
                    for j in range(width):
                        sums[side, j] += targets[order[k], j]
                above = end - begin - below
                if below < fewest or above < fewest:
                    continue
                gain = 0.0
                for j in range(width):
                    gap = sums[0, j] / below - sums[1, j] / above
                    gain += gap * gap * below * above / (end - begin)
                if gain > best:
                    best, best_cut, best_first, best_second = gain, cut, first, second
            if best_first < 0:
                continue
            middle = begin
            for k in range(begin, end):
                if along(states, order[k], best_first, best_second) < best_cut:
                    order[k], order[middle] = order[middle], order[k]
                    middle += 1
            forest.first[node], forest.second[node], forest.cut[node], forest.child[node] = best_first, best_second, best_cut, nodes
            waiting[left, 0], waiting[left, 1], waiting[left, 2] = nodes, begin, middle
            waiting[left + 1, 0], waiting[left + 1, 1], waiting[left + 1, 2] = nodes + 1, middle, end
            left += 2
            nodes += 2
    return nodes


def leaf_of(forest: Forest, states: Rows, i: int, tree: int) -> int:
    """Where row i ends in a tree."""
    node = forest.roots[tree]
    while forest.child[node] >= 0:
        node = forest.child[node] + (0 if along(states, i, forest.first[node], forest.second[node]) < forest.cut[node] else 1)
    return int(node)


@kernel
def learn(forest: Forest, leaves: np.ndarray, targets: Matrix, counts: Reals) -> None:
    """Put the means of the targets [n, width] into the leaves. counts [nodes]: room."""
    for node in range(len(counts)):
        counts[node] = 0.0
        for j in range(targets.shape[1]):
            forest.values[node, j] = 0.0
    for i in range(len(leaves)):
        for tree in range(leaves.shape[1]):
            node = leaves[i, tree]
            counts[node] += leaves.shape[1]
            for j in range(targets.shape[1]):
                forest.values[node, j] += targets[i, j]
    for node in range(len(counts)):
        if counts[node] > 0.0:
            for j in range(targets.shape[1]):
                forest.values[node, j] /= counts[node]


class Descent(Record):
    """A forest in the form in which many states are looked up at once: all of them go down a tree level by level, without a branch that
    a processor could guess wrong. A leaf is its own child, and no state is beyond its cut."""

    roots: np.ndarray
    """[TREES]"""
    levels: np.ndarray
    """[TREES] below the root of each."""
    links: np.ndarray
    """[nodes] the child and the two components of a row in one number, so that memory is asked once for them; after the last component
    there is a 0."""
    cut: Reals
    """[nodes] nan for a leaf."""
    values: Matrix


def descent_of(forest: Forest) -> Descent:
    """That form of a forest."""
    nodes, leaf = np.arange(len(forest.cut)), forest.child < 0

    def levels(root: int) -> int:
        level, reached = 0, np.array([root])
        while not leaf[reached].all():
            below = forest.child[reached[~leaf[reached]]]
            level, reached = level + 1, np.concatenate((below, below + 1))
        return level

    return Descent(
        roots=forest.roots.astype(np.int32),
        levels=np.array([levels(root) for root in forest.roots]),
        links=np.where(leaf, nodes, forest.child) << 2 * _BITS | forest.first << _BITS | forest.second,
        cut=np.where(leaf, np.nan, forest.cut),
        values=forest.values,
    )


def first_of(links: int) -> int:
    """The component that is cut."""
    return links >> _BITS & _MASK


def second_of(links: int) -> int:
    """The one that is taken off it."""
    return links & _MASK


def child_of(links: int) -> int:
    """The node where a row goes that is below the cut."""
    return links >> 2 * _BITS


def find_leaves(forest: Forest, states: Rows, leaves: np.ndarray) -> None:
    """leaves [n, TREES]: where each row ends in each tree."""
    _find_leaves(descent_of(forest), states, leaves)


@kernel
def _find_leaves(descent: Descent, states: Rows, leaves: np.ndarray) -> None:
    dim = states.shape[1]
    rows, nodes = np.zeros((_BLOCK, dim + 1)), np.zeros(_BLOCK, np.int32)
    for begin in range(0, len(states), _BLOCK):
        count = min(_BLOCK, len(states) - begin)
        for r in range(count):
            for k in range(dim):
                rows[r, k] = states[begin + r, k]
        for tree in range(len(descent.roots)):
            descend(descent, tree, rows, nodes, count)
            for r in range(count):
                leaves[begin + r, tree] = nodes[r]


def descend(descent: Descent, tree: int, rows: Rows, nodes: np.ndarray, count: int) -> None:
    """nodes [n]: where the first rows [n, dim + 1] end in a tree; the last number of a row is 0."""
    for r in range(count):
        nodes[r] = descent.roots[tree]
    for _ in range(descent.levels[tree]):
        for r in range(count):
            node = nodes[r]
            links = descent.links[node]
            beyond = rows[r, first_of(links)] - rows[r, second_of(links)] >= descent.cut[node]
            nodes[r] = child_of(links) + (1 if beyond else 0)
