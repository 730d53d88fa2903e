"""The previous belief, smoothed by normal kernels, each cut off where its cluster ends."""

from __future__ import annotations

import math

from airoas.belief.tempering.system import Proposals, System, add_normals, fit_covariances
from airoas.compiler.lanes import lane, lanes, largest
from airoas.compiler.specialise import noinline
from airoas.modelling.rows import Indices, Reals, Rows, Weights
from airoas.rng import Rng, new_stream

_EDGE = 5  # particles from whose distances the end of a cluster is estimated
_TRIES = 100  # draws of a kernel until one lies within its cluster's box


@noinline
def smooth(system: System, proposals: Proposals, seed: int) -> None:
    """Spread the previous belief by shrunk normal kernels over the axes (Liu and West, 2001), cluster by cluster.

    Mean and covariance of each stay what they were; centres are a s + (1 - a) mean with a = sqrt(1 - h^2), the kernel's
    covariance is h^2 times the cluster's. Components that are whole numbers stay as they are. Each kernel is cut off at the
    cluster's box, so that what cannot be, as a place outside the map, does not become possible.
    """
    d, count, kernels, squares = proposals.n_axes, proposals.clusters.count, proposals.kernels, proposals.clusters.sums[0]
    fit_covariances(system.ancestors, system.weights, system.labels, proposals, kernels, 1.0)
    if count == 1:
        squares[0] = sum_of_squares(system.weights)
    else:
        fill_squares(system.weights, system.labels, count, squares)
    for c in range(count):
        fraction = squares[c] / (proposals.masses[c] * proposals.masses[c])
        width = min(1.0, math.pow(4.0 / (d + 2.0), 1.0 / (d + 4.0)) * math.pow(fraction, 1.0 / (d + 4.0)))
        proposals.shrinks[c] = math.sqrt(max(0.0, 1.0 - width * width))
        for k in range(d):
            for j in range(k + 1):
                kernels[c, k, j] *= width
    for k in range(d):
        for side in range(2):
            find_ends(system, proposals, k, side)
    scatter(system, proposals, seed)


def sum_of_squares(weights: Weights) -> float:
    squares = 0.0
    for i in lanes(len(weights)):
        squares += weights[i] * weights[i]
    return squares


def fill_squares(weights: Weights, labels: Indices, count: int, squares: Reals) -> None:
    """The same of each cluster."""
    for c in range(count):
        squares[c] = 0.0
    for i in range(len(weights)):
        squares[labels[i]] += weights[i] * weights[i]


def scatter(system: System, proposals: Proposals, seed: int) -> None:
    """Put the centres down and draw an ancestor around each."""
    n, d = len(system.ancestors), proposals.n_axes
    for i in lanes(n):
        for k in range(system.centres.shape[1]):
            system.centres[i, k] = system.ancestors[i, k]
    for k in range(d):
        axis = proposals.axes[k]
        for i in lanes(n):
            c = system.labels[i]
            shrink = proposals.shrinks[c]
            system.centres[i, axis] = shrink * system.ancestors[i, axis] + (1.0 - shrink) * proposals.means[c, k]
            system.ancestors[i, axis] = system.centres[i, axis]
    own = new_stream()
    for i in lanes(n):
        if system.weights[i] > 0.0:
            own.reseed(seed, 0, i)
            _draw_within(system, i, proposals, own)


def _draw_within(system: System, i: int, proposals: Proposals, rng: Rng) -> None:
    """Draw ancestor i from its kernel, cut off at the box; its centre where that does not succeed."""
    for _ in range(_TRIES):
        add_normals(system.ancestors, i, proposals, proposals.kernels, system.labels[i], 1.0, rng)
        if is_within(system.ancestors, i, proposals, system.labels[i]):
            return
        for k in range(proposals.n_axes):
            system.ancestors[i, proposals.axes[k]] = system.centres[i, proposals.axes[k]]


def is_within(rows: Rows, i: int, proposals: Proposals, c: int) -> bool:
    """Whether row i lies within the box of cluster c."""
    inside, axes, box = True, proposals.axes, proposals.boxes[c]
    for k in range(proposals.n_axes):
        x = rows[i, axes[k]]
        inside = inside and box[0, k] <= x <= box[1, k]
    return inside


@noinline
def find_ends(system: System, proposals: Proposals, k: int, side: int) -> None:
    """Where the clusters end along an axis: as far beyond the outermost particle as that lies beyond the fifth that differs.

    At a wall particles are dense and the distance is next to nothing; in a tail it is as long as the tail. No cluster ends beyond the
    whole belief: of few particles the fifth may be far from a wall.
    """
    axis, sign, count, sums = proposals.axes[k], 2.0 * side - 1.0, proposals.clusters.count, proposals.clusters.sums
    end = find_end(system, axis, sign)
    if count == 1:
        proposals.boxes[0, side, k] = sign * end
        return
    outermost, reached, nearest = sums[0], sums[1], sums[2]
    for c in range(count):
        outermost[c] = reached[c] = math.inf
    for rank in range(_EDGE):
        fill_farthest(system, axis, sign, count, reached, nearest)
        for c in range(count):
            if nearest[c] > -math.inf:
                reached[c] = nearest[c]
            if rank == 0:
                outermost[c] = reached[c]
    for c in range(count):
        proposals.boxes[c, side, k] = sign * min(end, 2.0 * outermost[c] - reached[c])


def find_end(system: System, axis: int, sign: float) -> float:
    """The same of the whole belief, times the sign."""
    outermost = reached = math.inf
    for rank in range(_EDGE):
        nearest = farthest_below(system.ancestors, system.weights, axis, sign, reached)
        if nearest > -math.inf:
            reached = nearest
        if rank == 0:
            outermost = reached
    return 2.0 * outermost - reached


@largest
def farthest_below(rows: Rows, weights: Weights, axis: int, sign: float, limit: float) -> float:
    """The largest of the numbers below a limit; -inf where there is none."""
    nearest = -math.inf
    for i in lanes(len(rows)):
        x = sign * rows[i, axis]
        if weights[i] > 0.0 and nearest < x < limit:
            nearest = x
    return nearest


def fill_farthest(system: System, axis: int, sign: float, count: int, limits: Reals, nearest: Reals) -> None:
    """The same of each cluster."""
    for c in range(count):
        nearest[c] = -math.inf
    for i in range(len(system.ancestors)):
        x, c = sign * system.ancestors[i, axis], system.labels[i]
        if system.weights[i] > 0.0 and nearest[c] < x < limits[c]:
            nearest[c] = x


def kernel_log_density(system: System, i: int, proposals: Proposals, c: int) -> float:
    """-1/2 (s - m)' (K K')^-1 (s - m) of ancestor i under the kernel K of cluster c around its centre m."""
    y, axes, factor = proposals.z[lane()], proposals.axes, proposals.kernels[c]
    ancestors, centres, total = system.ancestors, system.centres, 0.0
    for k in range(proposals.n_axes):
        x = ancestors[i, axes[k]] - centres[i, axes[k]]
        for j in range(k):
            x -= factor[k, j] * y[j]
        x /= factor[k, k]
        y[k] = x
        total += x * x
    return -0.5 * total
