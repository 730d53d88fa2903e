"""Resampling, systematic and stratified (Kitagawa, 1996): which particles survive, and how often. Plain functions that run inside
kernels too."""

from __future__ import annotations

import numpy as np

from airoas.compiler.kernels import kernel
from airoas.errors import OptionError
from airoas.modelling.rows import Indices, Weights
from airoas.rng import Rng

SYSTEMATIC, STRATIFIED = 0, 1
METHODS = {"systematic": SYSTEMATIC, "stratified": STRATIFIED}


def choose(weights: Weights, method: int, rng: Rng, chosen: Indices) -> None:
    """Fill `chosen` [M] with indices into `weights` [N] (any positive total), in rising order.

    One point falls into each of M equal slices of the total: at the same random place of every slice (systematic) or at
    a place of its own in each (stratified). Either way index i is expected M * weights[i] / total times, and a particle
    of weight zero is never chosen.
    """
    total = 0.0
    last = 0
    for i in range(len(weights)):
        total += weights[i]
        if weights[i] > 0.0:
            last = i
    slice_width = total / len(chosen)
    offset = rng.uniform()
    reached = weights[0]
    i = 0
    for j in range(len(chosen)):
        if method == STRATIFIED and j > 0:
            offset = rng.uniform()
        point = (j + offset) * slice_width
        while reached <= point and i < last:
            i += 1
            reached += weights[i]
        chosen[j] = i


choose_particles = kernel(choose)


def indices(weights: Weights, n: int, rng: Rng, method: str = "systematic") -> np.ndarray:
    """n indices [n] into `weights` [N], drawn by the named method."""
    if method not in METHODS:
        raise OptionError(f"there is no resampling method {method!r}", f"use {' or '.join(METHODS)}.")
    chosen = np.empty(n, dtype=np.int64)
    choose_particles(np.ascontiguousarray(weights, dtype=np.float64), METHODS[method], rng, chosen)
    return chosen
