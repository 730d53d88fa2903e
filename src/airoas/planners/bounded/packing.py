"""Delta-packing: observations whose posteriors are nearly the same share a branch (Wu et al., 2021).

The branch has the posterior of the first of them, or the mixture of all. With mixtures the children of an action average to what it
leads to, as they do unpacked; and a lower bound, the best of several plans, is convex, so that packing cannot raise it.
"""

from __future__ import annotations

from typing import Any

from airoas.compiler.lanes import lanes, largest
from airoas.compiler.specialise import noinline
from airoas.planners.bounded.search import Search
from airoas.planners.bounded.tree import SINGLE, Tree, has_capacity

ALONE = -2
"""In place of where a node's mixture is: no observation may join it."""


def find_branch(tree: Tree, search: Search, first: int, weights: Any, delta: float) -> int:
    """The first node, from `first` on, whose observation gave nearly these weights [n]; -1 where there is none."""
    kept = tree.n_nodes - first
    k = -find_near(tree.mixture[first : tree.n_nodes], search.weights, weights, delta)
    return first + k if k < kept else -1


@largest
def find_near(mixtures: Any, kept: Any, weights: Any, delta: float) -> int:
    """-k for the first of those kept that is near; where there is none, their number."""
    for k in lanes(len(mixtures)):
        if mixtures[k] != ALONE and distance(kept[k], weights, delta) <= delta:
            return -int(k)
    return -len(mixtures)


def distance(u: Any, v: Any, enough: float) -> float:
    """L1 distance; it may stop once it is more than enough."""
    total = 0.0
    for i in range(len(v)):
        total += abs(u[i] - v[i])
        if total > enough:
            break
    return total


@noinline
def mix(tree: Tree, c: int, own: Any, weights: Any, mass: float, more: int) -> bool:
    """Add weights [n] that count `mass` to the mixture of a node, which begins with its `own`; False where memory is out, or would be
    after so many more nodes."""
    n = len(weights)
    if tree.mixture[c] == SINGLE:
        if not has_capacity(tree, more, 0, 0, n):
            return False
        tree.mixture[c] = tree.n_mixed
        tree.n_mixed += n
        copy(own, tree.mixtures[tree.n_mixed - n : tree.n_mixed])
    mixture, total = tree.mixtures[tree.mixture[c] : tree.mixture[c] + n], tree.probability[c] + mass
    fraction = mass / total if total > 0.0 else 0.0
    approach(mixture, weights, fraction)
    return True


def approach(mixture: Any, weights: Any, fraction: float) -> None:
    for i in lanes(len(mixture)):
        mixture[i] += fraction * (weights[i] - mixture[i])


def copy(source: Any, target: Any) -> None:
    for i in lanes(len(target)):
        target[i] = source[i]


def read_mixture(tree: Tree, c: int, weights: Any) -> float:
    """Its weights into `weights` [n]; their N / ESS."""
    mixture, squares = tree.mixtures[tree.mixture[c] : tree.mixture[c] + len(weights)], 0.0
    for i in range(len(weights)):
        weights[i] = mixture[i]
        squares += weights[i] * weights[i]
    return float(len(weights) * squares)
