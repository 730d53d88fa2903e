"""A cloud of particles in the middle of an update, and how widely it is spread."""

from __future__ import annotations

import math
from typing import Any

from airoas.compiler.kernels import Record
from airoas.compiler.specialise import apart


class Cloud(Record):
    """Particles in the middle of an update; arrays that Python owns, n numbers to a state."""

    ancestors: Any
    """[N, n] the state before the action."""
    centres: Any
    """[N, n] centre of the smoothing kernel that the ancestor came from; [N, 0] for moves without one."""
    tapes: Any
    """[N, .] the draws that led from ancestor to state; see `tape`."""
    states: Any
    """[N, n] the state after the action."""
    log_weights: Any
    """[N] normalised."""
    weights: Any
    """[N] the same, not as logs."""
    log_likelihoods: Any
    """[N] of the observation in that state."""


class Scales(Record):
    """How far proposals go. Arrays, so that a sweep can adapt them."""

    continuous: Any
    """[c] which components of a state are floats."""
    axes: Any
    """[c] those of them that are walked on, chosen once; only the first `count` entries count."""
    count: Any
    """[1] how many, d."""
    kernel: Any
    """[c, c] Cholesky factor of the smoothing kernel's covariance (lower triangle), over the axes."""
    box: Any
    """[2, c] how low and how high the smoothed belief reaches, over the axes."""
    walk: Any
    """[c, c] Cholesky factor of the walk's covariance, over the axes."""
    noise: Any
    """[draws] how far a step on each recorded draw goes."""
    factors: Any
    """[2] multipliers of `walk` and of `noise`, adapted to the share accepted."""
    counts: Any
    """[chunks, 5] since the last look: moves accepted, steps on the noise accepted, bad likelihoods, bad step densities, and
    likelihoods evaluated where that differs between particles (`gibbs`)."""
    scratch: Any
    """[chunks, 2, c] for each chunk its own, since chunks run in threads."""


ACCEPTED, NOISE_ACCEPTED, BAD_LIKELIHOODS, BAD_STEPS, EVALUATED = range(5)  # columns of `counts`

EDGE = 5  # particles from whose distances the end of a belief is estimated
TRIES = 100  # draws of a kernel until one lies within the belief's box

CHUNK = 4096
"""Particles with a stream of their own: results do not depend on the number of threads."""


def copy_particle(target: Any, j: int, source: Any, i: int) -> None:
    """Particle i of one cloud into place j of another."""
    for k in range(source.states.shape[1]):
        target.ancestors[j, k] = source.ancestors[i, k]
        target.states[j, k] = source.states[i, k]
    for k in range(source.centres.shape[1]):
        target.centres[j, k] = source.centres[i, k]
    if source.tapes.shape[1] > 1:
        for k in range(source.tapes.shape[1]):
            target.tapes[j, k] = source.tapes[i, k]
    target.log_likelihoods[j] = source.log_likelihoods[i]


def add_normals(rows: Any, lo: int, hi: int, scales: Scales, factor: Any, scale: float, rng: Any) -> None:
    """Add scale * factor z to the components that are walked on, z standard normal and new in each row."""
    if scales.count[0] == 1:
        axis = scales.axes[0]
        step = scale * factor[0, 0]
        some = rows[lo:hi]
        for i in range(len(some)):
            some[i, axis] += step * rng.normal()
        return
    z = scales.scratch[lo // CHUNK, 0]
    for i in range(lo, hi):
        for k in range(scales.count[0]):
            z[k] = rng.normal()
            total = 0.0
            for j in range(k + 1):
                total += factor[k, j] * z[j]
            rows[i, scales.axes[k]] += scale * total


@apart
def choose_axes(rows: Any, weights: Any, scales: Scales) -> None:
    """Take the continuous components that are spread out as axes."""
    scales.count[0] = 0
    for k in range(len(scales.continuous)):
        average, variance = _moments(rows, weights, scales.continuous[k])
        if _is_spread(average, variance):
            scales.axes[scales.count[0]] = scales.continuous[k]
            scales.count[0] += 1


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


@apart
def fit(rows: Any, weights: Any, scales: Scales, factor: Any, size: float) -> None:
    """`factor` becomes `size` times the Cholesky factor of the weighted covariance over the axes.

    The means over the axes stay in `scratch[0, 0]`. Where the particles have become copies of one on some axis the factor
    stays as it was: a walk of no length would never part them.
    """
    mean = scales.scratch[0, 0]
    for k in range(scales.count[0]):
        mean[k], variance = _moments(rows, weights, scales.axes[k])
        if not _is_spread(mean[k], variance):
            return
    for k in range(scales.count[0]):
        for j in range(k + 1):
            total = 0.0
            for i in range(len(rows)):
                total += weights[i] * (rows[i, scales.axes[k]] - mean[k]) * (rows[i, scales.axes[j]] - mean[j])
            factor[k, j] = total
    for k in range(scales.count[0]):
        least = 1e-12 * factor[k, k]  # components that hang together exactly keep a sliver of their own
        for j in range(k + 1):
            total = factor[k, j]
            for m in range(j):
                total -= factor[k, m] * factor[j, m]
            factor[k, j] = math.sqrt(max(total, least)) if j == k else total / factor[j, j]
    for k in range(scales.count[0]):
        for j in range(k + 1):
            factor[k, j] *= size


@apart
def smooth(cloud: Cloud, scales: Scales, rng: Any) -> None:
    """Spread the previous belief by a shrunk normal kernel over the axes (Liu and West).

    Mean and covariance stay what they were; centres are c = a s + (1 - a) mean with a = sqrt(1 - h^2), the kernel's
    covariance is h^2 times the belief's. Components that are whole numbers stay as they are. Each kernel is cut off at the
    belief's box, so that what cannot be, as a place outside the map, does not become possible.
    """
    n, d = len(cloud.ancestors), scales.count[0]
    squares = 0.0
    for i in range(n):
        squares += cloud.weights[i] * cloud.weights[i]
    width = min(1.0, math.pow(4.0 / (d + 2.0), 1.0 / (d + 4.0)) * math.pow(squares, 1.0 / (d + 4.0)))
    fit(cloud.ancestors, cloud.weights, scales, scales.kernel, width)
    fit_box(cloud.ancestors, cloud.weights, scales)
    shrink = math.sqrt(max(0.0, 1.0 - width * width))
    mean = scales.scratch[0, 0]
    for i in range(n):
        for k in range(cloud.centres.shape[1]):
            cloud.centres[i, k] = cloud.ancestors[i, k]
    for k in range(d):
        axis = scales.axes[k]
        for i in range(n):
            cloud.centres[i, axis] = shrink * cloud.ancestors[i, axis] + (1.0 - shrink) * mean[k]
            cloud.ancestors[i, axis] = cloud.centres[i, axis]
    for i in range(n):
        if cloud.weights[i] > 0.0:
            _draw_within(cloud, i, scales, rng)


def _draw_within(cloud: Cloud, i: int, scales: Scales, rng: Any) -> None:
    """Draw ancestor i from its kernel, cut off at the box; its centre where that does not succeed."""
    for _ in range(TRIES):
        add_normals(cloud.ancestors, i, i + 1, scales, scales.kernel, 1.0, rng)
        if is_within(cloud.ancestors, i, scales):
            return
        for k in range(scales.count[0]):
            cloud.ancestors[i, scales.axes[k]] = cloud.centres[i, scales.axes[k]]


def is_within(rows: Any, i: int, scales: Scales) -> bool:
    """Whether row i lies within the belief's box."""
    inside = True
    for k in range(scales.count[0]):
        x = rows[i, scales.axes[k]]
        inside = inside and scales.box[0, k] <= x <= scales.box[1, k]
    return inside


@apart
def fit_box(rows: Any, weights: Any, scales: Scales) -> None:
    """The box becomes that of the particles, and a little more where they thin out slowly."""
    for k in range(scales.count[0]):
        for side in range(2):
            scales.box[side, k] = _end(rows, weights, scales.axes[k], 2.0 * side - 1.0)


def _end(rows: Any, weights: Any, axis: int, sign: float) -> float:
    """Where a belief ends: as far beyond its outermost particle as that lies beyond the fifth that differs.

    At a wall particles are dense and the distance is next to nothing; in a tail it is as long as the tail.
    """
    outermost = reached = math.inf
    for rank in range(EDGE):
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


@apart
def fit_noise(tapes: Any, scales: Scales, size: float) -> None:
    """Steps on the noise become `size` times the spread of each draw over the particles that took it."""
    for place in range(len(scales.noise)):
        count = 0
        total = squares = 0.0
        for i in range(len(tapes)):
            if tapes[i, 0] > place:
                count += 1
                total += tapes[i, 2 + 2 * place]
        average = total / max(1, count)
        for i in range(len(tapes)):
            if tapes[i, 0] > place:
                x = tapes[i, 2 + 2 * place] - average
                squares += x * x
        if count > 0 and _is_spread(average, squares / count):
            scales.noise[place] = size * math.sqrt(squares / count)
