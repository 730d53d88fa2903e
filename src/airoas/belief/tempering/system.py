"""A particle system in the middle of an update, and how far proposals go in it."""

from __future__ import annotations

import math
from typing import Any

from airoas.compiler.kernels import Record
from airoas.compiler.specialise import noinline
from airoas.rng import new_stream

_EDGE = 5  # particles from whose distances the end of a belief is estimated
_TRIES = 100  # draws of a kernel until one lies within the belief's box


class System(Record):
    """N particles on their way from a belief to its posterior; n numbers to a state."""

    ancestors: Any
    """[N, n] the state before the action."""
    centres: Any
    """[N, n] centre of the smoothing kernel that the ancestor came from; [N, 0] for moves without one."""
    records: Any
    """[N, .] the draws that led from ancestor to state; see `noise_record`."""
    states: Any
    """[N, n] the state after the action."""
    alive: Any
    """[N] whether the particle had weight before the action."""
    log_weights: Any
    """[N] normalised."""
    weights: Any
    """[N] the same, not as logs."""
    log_likelihoods: Any
    """[N] of the observation in the state; -inf where the episode would have ended."""


class Proposals(Record):
    """How far proposals go. c components of a state are continuous."""

    continuous: Any
    """[c] which."""
    axes: Any
    """[c] those of them that are walked on, chosen once; only the first `n_axes` entries count."""
    n_axes: int
    kernel: Any
    """[c, c] Cholesky factor of the smoothing kernel's covariance (lower triangle), over the axes."""
    box: Any
    """[2, c] how low and how high the smoothed belief reaches, over the axes."""
    walk: Any
    """[c, c] Cholesky factor of the walk's covariance, over the axes."""
    noise: Any
    """[draws] how far a step on each recorded draw goes."""
    walk_scale: float
    noise_scale: float
    """Multipliers of `walk` and of `noise`, adapted to the share accepted."""
    mean: Any
    """[c] over the axes, of what was fitted last."""
    z: Any
    """[c] room."""


def copy_particle(target: System, j: int, source: System, i: int) -> None:
    """Particle i of one system into row j of another; not its weights."""
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


def add_normals(rows: Any, i: int, proposals: Proposals, factor: Any, scale: float, rng: Any) -> None:
    """Add scale * factor z to the axes of row i, z standard normal."""
    z = proposals.z
    for k in range(proposals.n_axes):
        z[k] = rng.normal()
        total = 0.0
        for j in range(k + 1):
            total += factor[k, j] * z[j]
        rows[i, proposals.axes[k]] += scale * total


@noinline
def choose_axes(rows: Any, weights: Any, proposals: Proposals) -> None:
    """Take the continuous components that are spread out as axes."""
    proposals.n_axes = 0
    for k in range(len(proposals.continuous)):
        average, variance = _moments(rows, weights, proposals.continuous[k])
        if _is_spread(average, variance):
            proposals.axes[proposals.n_axes] = proposals.continuous[k]
            proposals.n_axes += 1


def _moments(rows: Any, weights: Any, axis: int) -> tuple[float, float]:
    """Mean and variance of a column, by weights that sum to 1."""
    average = 0.0
    for i in range(len(rows)):
        average += weights[i] * rows[i, axis]
    variance = 0.0
    for i in range(len(rows)):
        variance += weights[i] * (rows[i, axis] - average) * (rows[i, axis] - average)
    return average, variance


def _is_spread(average: float, variance: float) -> bool:
    return variance > 1e-24 * (1.0 + average * average)


@noinline
def fit_covariance(rows: Any, weights: Any, proposals: Proposals, factor: Any, size: float) -> None:
    """`factor` becomes `size` times the Cholesky factor of the weighted covariance over the axes; the means stay in `mean`.

    Where the particles have become copies of one on some axis the factor stays as it was: a walk of no length would never part
    them.
    """
    mean, d = proposals.mean, proposals.n_axes
    for k in range(d):
        mean[k], variance = _moments(rows, weights, proposals.axes[k])
        if not _is_spread(mean[k], variance):
            return
    for k in range(d):
        for j in range(k + 1):
            total = 0.0
            for i in range(len(rows)):
                total += weights[i] * (rows[i, proposals.axes[k]] - mean[k]) * (rows[i, proposals.axes[j]] - mean[j])
            factor[k, j] = total
    for k in range(d):
        least = 1e-12 * factor[k, k]  # components that hang together exactly keep a sliver of their own
        for j in range(k + 1):
            total = factor[k, j]
            for m in range(j):
                total -= factor[k, m] * factor[j, m]
            factor[k, j] = math.sqrt(max(total, least)) if j == k else total / factor[j, j]
    for k in range(d):
        for j in range(k + 1):
            factor[k, j] *= size


@noinline
def fit_noise(records: Any, proposals: Proposals, size: float) -> None:
    """Steps on the noise become `size` times the spread of each draw over the particles that took it."""
    for draw in range(len(proposals.noise)):
        count = 0
        total = squares = 0.0
        for i in range(len(records)):
            if records[i, 0] > draw:
                count += 1
                total += records[i, 2 + 2 * draw]
        average = total / max(1, count)
        for i in range(len(records)):
            if records[i, 0] > draw:
                x = records[i, 2 + 2 * draw] - average
                squares += x * x
        if count > 0 and _is_spread(average, squares / count):
            proposals.noise[draw] = size * math.sqrt(squares / count)


@noinline
def smooth(system: System, proposals: Proposals, seed: int) -> None:
    """Spread the previous belief by a shrunk normal kernel over the axes (Liu and West, 2001).

    Mean and covariance stay what they were; centres are c = a s + (1 - a) mean with a = sqrt(1 - h^2), the kernel's
    covariance is h^2 times the belief's. Components that are whole numbers stay as they are. Each kernel is cut off at the
    belief's box, so that what cannot be, as a place outside the map, does not become possible.
    """
    n, d = len(system.ancestors), proposals.n_axes
    squares = 0.0
    for i in range(n):
        squares += system.weights[i] * system.weights[i]
    width = min(1.0, math.pow(4.0 / (d + 2.0), 1.0 / (d + 4.0)) * math.pow(squares, 1.0 / (d + 4.0)))
    fit_covariance(system.ancestors, system.weights, proposals, proposals.kernel, width)
    for k in range(d):
        for side in range(2):
            proposals.box[side, k] = _end(system.ancestors, system.weights, proposals.axes[k], 2.0 * side - 1.0)
    shrink = math.sqrt(max(0.0, 1.0 - width * width))
    for i in range(n):
        for k in range(system.centres.shape[1]):
            system.centres[i, k] = system.ancestors[i, k]
    for k in range(d):
        axis = proposals.axes[k]
        for i in range(n):
            system.centres[i, axis] = shrink * system.ancestors[i, axis] + (1.0 - shrink) * proposals.mean[k]
            system.ancestors[i, axis] = system.centres[i, axis]
    own = new_stream()
    for i in range(n):
        if system.weights[i] > 0.0:
            own.reseed(seed, 0, i)
            _draw_within(system, i, proposals, own)


def _draw_within(system: System, i: int, proposals: Proposals, rng: Any) -> None:
    """Draw ancestor i from its kernel, cut off at the box; its centre where that does not succeed."""
    for _ in range(_TRIES):
        add_normals(system.ancestors, i, proposals, proposals.kernel, 1.0, rng)
        if is_within(system.ancestors, i, proposals):
            return
        for k in range(proposals.n_axes):
            system.ancestors[i, proposals.axes[k]] = system.centres[i, proposals.axes[k]]


def is_within(rows: Any, i: int, proposals: Proposals) -> bool:
    """Whether row i lies within the belief's box."""
    inside = True
    for k in range(proposals.n_axes):
        x = rows[i, proposals.axes[k]]
        inside = inside and proposals.box[0, k] <= x <= proposals.box[1, k]
    return inside


def _end(rows: Any, weights: Any, axis: int, sign: float) -> float:
    """Where a belief ends: as far beyond its outermost particle as that lies beyond the fifth that differs.

    At a wall particles are dense and the distance is next to nothing; in a tail it is as long as the tail.
    """
    outermost = reached = math.inf
    for rank in range(_EDGE):
        nearest = -math.inf
        for i in range(len(rows)):
            x = sign * rows[i, axis]
            if weights[i] > 0.0 and nearest < x < reached:
                nearest = x
        if nearest > -math.inf:
            reached = nearest
        if rank == 0:
            outermost = reached
    return sign * (2.0 * outermost - reached)


def kernel_log_density(system: System, i: int, proposals: Proposals) -> float:
    """-1/2 (s - c)' (K K')^-1 (s - c) of ancestor i under its smoothing kernel."""
    y = proposals.z
    total = 0.0
    for k in range(proposals.n_axes):
        x = system.ancestors[i, proposals.axes[k]] - system.centres[i, proposals.axes[k]]
        for j in range(k):
            x -= proposals.kernel[k, j] * y[j]
        y[k] = x / proposals.kernel[k, k]
        total += y[k] * y[k]
    return -0.5 * total
