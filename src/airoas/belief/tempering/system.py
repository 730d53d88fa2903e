"""A particle system in the middle of an update, and how far proposals go in it."""

from __future__ import annotations

import math

import numpy as np

from airoas.belief.tempering.clusters import Clusters
from airoas.compiler.kernels import Record
from airoas.compiler.lanes import lane, lanes
from airoas.compiler.specialise import noinline
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows, Weights
from airoas.rng import Rng


class System(Record):
    """N particles on their way from a belief to its posterior; n numbers to a state."""

    ancestors: Rows
    """[N, n] the state before the action."""
    centres: Rows
    """[N, n] centre of the smoothing kernel that the ancestor came from; [N, 0] for moves without one."""
    records: Rows
    """[N, .] the draws that led from ancestor to state; see `noise_record`."""
    states: Rows
    """[N, n] the state after the action."""
    labels: Indices
    """[N] the cluster that the ancestor came from, in the system in use; 0 for moves that need none."""
    alive: Mask
    """[N] whether the particle had weight before the action."""
    log_weights: Reals
    """[N] normalised."""
    weights: Weights
    """[N] the same, not as logs."""
    log_likelihoods: Reals
    """[N] of the observation in the state; -inf where the episode would have ended."""


class Proposals(Record):
    """How far proposals go. c components of a state are continuous."""

    continuous: Indices
    """[c] which."""
    axes: Indices
    """[c] those of them that are walked on, chosen once; only the first `n_axes` entries count."""
    n_axes: int
    clusters: Clusters
    kernels: np.ndarray
    """[clusters, c, c] Cholesky factors of the smoothing kernels' covariances (lower triangle), over the axes."""
    shrinks: Reals
    """[clusters] a, where centres are a s + (1 - a) mean."""
    boxes: np.ndarray
    """[clusters, 2, c] how low and how high each of the smoothed belief reaches, over the axes."""
    walks: np.ndarray
    """[clusters, c, c] Cholesky factors of the walk's covariances, over the axes."""
    noise: Reals
    """[draws] how far a step on each recorded draw goes."""
    walk_scale: float
    noise_scale: float
    """Multipliers of `walks` and of `noise`, adapted to the share accepted."""
    masses: Weights
    """[clusters] weight of each, of what was fitted last."""
    means: Matrix
    """[clusters, c] over the axes."""
    spreads: np.ndarray
    """[clusters, c, c] covariances (lower triangle), over the axes."""
    z: Matrix
    """[threads, c] room."""


def copy_particle(target: System, j: int, source: System, i: int) -> None:
    """Particle i of one system into row j of another; not its weights, nor its cluster, which no move changes."""
    for k in range(source.states.shape[1]):
        target.ancestors[j, k] = source.ancestors[i, k]
        target.states[j, k] = source.states[i, k]
    for k in range(source.centres.shape[1]):
        target.centres[j, k] = source.centres[i, k]
    if source.records.shape[1] > 1:
        for k in range(source.records.shape[1]):
            target.records[j, k] = source.records[i, k]
    target.alive[j] = source.alive[i]
    target.log_likelihoods[j] = source.log_likelihoods[i]


def add_normals(rows: Rows, i: int, proposals: Proposals, factors: np.ndarray, c: int, scale: float, rng: Rng) -> None:
    """Add scale * factor z to the axes of row i, z standard normal; the factor is that of cluster c."""
    z, axes, factor = proposals.z[lane()], proposals.axes, factors[c]
    for k in range(proposals.n_axes):
        z[k] = rng.normal()
        total = 0.0
        for j in range(k + 1):
            total += factor[k, j] * z[j]
        rows[i, axes[k]] += scale * total


@noinline
def choose_axes(rows: Rows, weights: Weights, proposals: Proposals) -> None:
    """Take the continuous components that are spread out as axes. A number that is whole in every particle is a count, or a level: no
    state lies between two of these."""
    proposals.n_axes = 0
    for k in range(len(proposals.continuous)):
        axis = proposals.continuous[k]
        average, variance = _moments(rows, weights, axis)
        if _is_spread(average, variance) and count_fractional(rows, weights, axis) > 0:
            proposals.axes[proposals.n_axes] = axis
            proposals.n_axes += 1


def count_fractional(rows: Rows, weights: Weights, axis: int) -> int:
    """Particles in which a component is not whole."""
    fractional = 0
    for i in lanes(len(rows)):
        fractional += int(weights[i] > 0.0 and rows[i, axis] != math.floor(rows[i, axis]))
    return fractional


def _moments(rows: Rows, weights: Weights, axis: int) -> tuple[float, float]:
    """Mean and variance of a column, by weights that sum to 1."""
    average = mean_of(rows, weights, axis)
    return average, covariance_of(rows, weights, axis, average, axis, average)


def mean_of(rows: Rows, weights: Weights, axis: int) -> float:
    average = 0.0
    for i in lanes(len(rows)):
        average += weights[i] * rows[i, axis]
    return average


def covariance_of(rows: Rows, weights: Weights, one: int, mean_one: float, other: int, mean_other: float) -> float:
    total = 0.0
    for i in lanes(len(rows)):
        total += weights[i] * (rows[i, one] - mean_one) * (rows[i, other] - mean_other)
    return total


def _is_spread(average: float, variance: float) -> bool:
    return variance > 1e-24 * (1.0 + average * average)


@noinline
def fit_covariances(rows: Rows, weights: Weights, labels: Indices, proposals: Proposals, factors: np.ndarray, size: float) -> None:
    """Each cluster's factor becomes `size` times the Cholesky factor of its weighted covariance over the axes; the means stay in `means`.

    Where its particles have become copies of one on some axis the factor stays as it was: a walk of no length would never part
    them.
    """
    means, spreads, d = proposals.means, proposals.spreads, proposals.n_axes
    if proposals.clusters.count == 1:
        fill_moments(rows, weights, proposals)
    else:
        fill_all_moments(rows, weights, labels, proposals)
    for c in range(proposals.clusters.count):
        is_spread = proposals.masses[c] > 0.0
        for k in range(d):
            is_spread = is_spread and _is_spread(means[c, k], spreads[c, k, k])
        if is_spread:
            factorise(spreads, factors, c, d, size)


def factorise(spreads: np.ndarray, factors: np.ndarray, c: int, d: int, size: float) -> None:
    """`size` times the Cholesky factor of a cluster's covariance."""
    for k in range(d):
        for j in range(k + 1):
            factors[c, k, j] = spreads[c, k, j]
    for k in range(d):
        least = 1e-12 * factors[c, k, k]  # components that hang together exactly keep a sliver of their own
        for j in range(k + 1):
            total = factors[c, k, j]
            for m in range(j):
                total -= factors[c, k, m] * factors[c, j, m]
            factors[c, k, j] = math.sqrt(max(total, least)) if j == k else total / factors[c, j, j]
    for k in range(d):
        for j in range(k + 1):
            factors[c, k, j] *= size


def fill_moments(rows: Rows, weights: Weights, proposals: Proposals) -> None:
    """Mass, mean and covariances over the axes of one cluster, by weights that sum to 1."""
    means, spreads, axes, d = proposals.means, proposals.spreads, proposals.axes, proposals.n_axes
    proposals.masses[0] = 1.0
    for k in range(d):
        means[0, k] = mean_of(rows, weights, axes[k])
    for k in range(d):
        for j in range(k + 1):
            spreads[0, k, j] = covariance_of(rows, weights, axes[k], means[0, k], axes[j], means[0, j])


@noinline
def fill_all_moments(rows: Rows, weights: Weights, labels: Indices, proposals: Proposals) -> None:
    """The same of several."""
    masses, means, spreads = proposals.masses, proposals.means, proposals.spreads
    n, axes, d, count = len(rows), proposals.axes, proposals.n_axes, proposals.clusters.count
    for c in range(count):
        masses[c] = 0.0
        for k in range(d):
            means[c, k] = 0.0
            for j in range(k + 1):
                spreads[c, k, j] = 0.0
    for i in range(n):
        masses[labels[i]] += weights[i]
    for k in range(d):
        for i in range(n):
            means[labels[i], k] += weights[i] * rows[i, axes[k]]
        for c in range(count):
            means[c, k] /= masses[c] if masses[c] > 0.0 else 1.0
    for k in range(d):
        for j in range(k + 1):
            for i in range(n):
                c = labels[i]
                spreads[c, k, j] += weights[i] * (rows[i, axes[k]] - means[c, k]) * (rows[i, axes[j]] - means[c, j])
            for c in range(count):
                spreads[c, k, j] /= masses[c] if masses[c] > 0.0 else 1.0


@noinline
def fit_noise(records: Rows, proposals: Proposals, size: float) -> None:
    """Steps on the noise become `size` times the spread of each draw over the particles that took it."""
    for draw in range(len(proposals.noise)):
        count, total = sum_of_draw(records, draw)
        average = total / max(1, count)
        squares = squares_of_draw(records, draw, average)
        if count > 0 and _is_spread(average, squares / count):
            proposals.noise[draw] = size * math.sqrt(squares / count)


def sum_of_draw(records: Rows, draw: int) -> tuple[int, float]:
    """How many took that draw, and what theirs add up to."""
    count, total = 0, 0.0
    for i in lanes(len(records)):
        if records[i, 0] > draw:
            count += 1
            total += records[i, 2 + 2 * draw]
    return count, total


def squares_of_draw(records: Rows, draw: int, average: float) -> float:
    squares = 0.0
    for i in lanes(len(records)):
        if records[i, 0] > draw:
            x = records[i, 2 + 2 * draw] - average
            squares += x * x
    return squares
