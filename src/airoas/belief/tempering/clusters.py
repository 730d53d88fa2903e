"""Neighbourhoods of a belief, each with a mean and a covariance of its own: those of all particles together are wider than any of them.

Cells of a k-d tree (Bentley, 1975), cut where that leaves the least variance within the halves (Fisher, 1958).
"""

from __future__ import annotations

import numpy as np

from airoas.compiler.kernels import Record
from airoas.compiler.specialise import noinline
from airoas.modelling.rows import Indices, Matrix, Reals, Rows, Weights

_MOST = 64
"""Clusters."""
_BINS = 32
_LEFT = 0.3
"""Of the variance along an axis, what two halves may have left within them: two clusters leave next to nothing, a uniform
distribution 0.25, a normal one, which is best left whole, 0.36."""
_LEAST = 10.0
"""Effective particles in a cluster, for each axis and once more."""


class Clusters(Record):
    """Which particles are near each other; M clusters at most."""

    count: int
    first: Indices
    """[M] where the members of each begin in the order."""
    size: Indices
    """[M] how many they are."""
    axis: Indices
    """[M] along which to cut it."""
    threshold: Reals
    """[M] and where."""
    gain: Reals
    """[M] what that would gain; 0 where it is best left whole."""
    bins: Matrix
    """[3, _BINS] sums of weights, of their squares, and of weights times places."""
    sums: Matrix
    """[3, M] room."""


def most_clusters(n: int) -> int:
    """Of n particles."""
    return max(1, min(_MOST, int(n / (2.0 * _LEAST))))


def make_clusters(most: int) -> Clusters:
    numbers = np.zeros((3, most), np.int64)
    return Clusters(
        count=1,
        first=numbers[0].copy(),
        size=numbers[1].copy(),
        axis=numbers[2].copy(),
        threshold=np.zeros(most),
        gain=np.zeros(most),
        bins=np.zeros((3, _BINS)),
        sums=np.zeros((3, most)),
    )


@noinline
def find_clusters(clusters: Clusters, rows: Rows, weights: Weights, axes: Indices, n_axes: int, order: Indices, labels: Indices) -> None:
    """Number the particles by cluster in `labels` [N], the best cuts first. order [N]: room."""
    count = 0
    for i in range(len(rows)):
        labels[i] = 0
        if weights[i] > 0.0:
            order[count] = i
            count += 1
    clusters.count, clusters.first[0], clusters.size[0] = 1, 0, count
    find_cut(clusters, 0, rows, weights, axes, n_axes, order)
    while clusters.count < len(clusters.first):
        best = 0
        for c in range(clusters.count):
            best = c if clusters.gain[c] > clusters.gain[best] else best
        if clusters.gain[best] <= 0.0:
            break
        cut(clusters, best, rows, order)
        find_cut(clusters, best, rows, weights, axes, n_axes, order)
        find_cut(clusters, clusters.count - 1, rows, weights, axes, n_axes, order)
    for c in range(1, clusters.count):
        for j in range(clusters.first[c], clusters.first[c] + clusters.size[c]):
            labels[order[j]] = c


@noinline
def find_cut(clusters: Clusters, c: int, rows: Rows, weights: Weights, axes: Indices, n_axes: int, order: Indices) -> None:
    """The cut of a cluster that leaves the least variance within its halves, relative to that of the whole along the axis."""
    clusters.gain[c] = 0.0
    first, end = clusters.first[c], clusters.first[c] + clusters.size[c]
    bins, least = clusters.bins, _LEAST * (n_axes + 1.0)
    if end - first < 2.0 * least:
        return
    for k in range(n_axes):
        axis = axes[k]
        low = high = rows[order[first], axis]
        for j in range(first, end):
            x = rows[order[j], axis]
            low = x if x < low else low
            high = x if x > high else high
        width = high - low
        if not width > 1e-9 * (1.0 + abs(low) + abs(high)):
            continue
        for b in range(_BINS):
            bins[0, b] = bins[1, b] = bins[2, b] = 0.0
        mass = squares = total = spread = 0.0
        for j in range(first, end):
            i = order[j]
            w, x = weights[i], (rows[i, axis] - low) / width
            b = min(_BINS - 1, int(x * _BINS))
            bins[0, b] += w
            bins[1, b] += w * w
            bins[2, b] += w * x
            mass += w
            squares += w * w
            total += w * x
            spread += w * x * x
        spread -= total * total / mass
        below = squares_below = total_below = 0.0
        for b in range(_BINS - 1):
            below += bins[0, b]
            squares_below += bins[1, b]
            total_below += bins[2, b]
            above, squares_above = mass - below, squares - squares_below
            if below * below <= least * squares_below or above * above <= least * squares_above:
                continue
            gap = total_below / below - (total - total_below) / above
            gain = mass * (_LEFT - 1.0 + below * above / mass * gap * gap / spread)
            if gain > clusters.gain[c]:
                clusters.gain[c], clusters.axis[c], clusters.threshold[c] = gain, axis, low + width * (b + 1) / _BINS
    if clusters.gain[c] > 0.0 and not both_spread(clusters, c, rows, weights, axes, n_axes, order):
        clusters.gain[c] = 0.0


@noinline
def both_spread(clusters: Clusters, c: int, rows: Rows, weights: Weights, axes: Indices, n_axes: int, order: Indices) -> bool:
    """Whether the particles differ on every axis on both sides of the cut: what has no width has no covariance."""
    first, end = clusters.first[c], clusters.first[c] + clusters.size[c]
    for side in range(2):
        for k in range(n_axes):
            mass = mean = squares = 0.0
            for j in range(first, end):
                i = order[j]
                if (rows[i, clusters.axis[c]] >= clusters.threshold[c]) == (side == 1):
                    mass += weights[i]
                    step = rows[i, axes[k]] - mean
                    mean += step * weights[i] / mass
                    squares += weights[i] * step * (rows[i, axes[k]] - mean)
            if not squares > 1e-18 * (1.0 + mean * mean) * mass:
                return False
    return True


def cut(clusters: Clusters, c: int, rows: Rows, order: Indices) -> None:
    """Move the members above the cut to a cluster of their own."""
    i, j = clusters.first[c], clusters.first[c] + clusters.size[c]
    while i < j:
        if rows[order[i], clusters.axis[c]] >= clusters.threshold[c]:
            j -= 1
            order[i], order[j] = order[j], order[i]
        else:
            i += 1
    new = clusters.count
    clusters.first[new], clusters.size[new] = i, clusters.first[c] + clusters.size[c] - i
    clusters.size[c] = i - clusters.first[c]
    clusters.count = new + 1
