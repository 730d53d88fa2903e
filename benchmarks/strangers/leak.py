"""`Leak` with a filter on a grid: one step ahead, with a value of what is left to know; two numbers, tuned."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import airoas
from airoas.domains.strangers.leak import HATCHES, NOISE
from airoas.planners import Decision

FINE, LOUD = 20, 12
"""Grid points of the leak's position on each stretch, and of its loudness."""
POSITIONS = (np.arange(HATCHES * FINE) + 0.5) / FINE
LOUDNESSES = 2.0 + 3.0 * (np.arange(LOUD) + 0.5) / LOUD
LEVELS = np.arange(-1.5, 6.6, 0.25)
"""Bins of what can be heard, for reckoning how much it tells."""
KNOWN, PRICE = 42.0, 6.5
"""The value of what comes after a step is the one, less the other for each nat of entropy of the leak's stretch."""


class Filter:
    """On a grid of positions and loudnesses."""

    def start(self, model: Any, rng: airoas.Rng) -> airoas.Particles:
        return airoas.Particles(_rows(0))

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: airoas.Rng) -> airoas.Updated:
        hatch = action % HATCHES
        if action >= HATCHES:  # the leak was not on that stretch
            logs = np.where(np.floor(belief.states[:, 1]) == hatch, -np.inf, belief.log_weights)
        else:
            z = (observation.level - _heard()[hatch].ravel()) / NOISE
            logs = belief.log_weights - 0.5 * z * z
        return airoas.Updated(airoas.Particles(_rows(hatch), log_weights=logs))


@functools.cache
def _rows(team: int) -> np.ndarray:
    position, loudness = np.meshgrid(POSITIONS, LOUDNESSES, indexing="ij")
    return np.column_stack((np.full(position.size, float(team)), position.ravel(), loudness.ravel(), np.zeros(position.size)))


@functools.cache
def _heard() -> np.ndarray:
    """[hatch, position, loudness] the level without noise."""
    hatches = np.arange(HATCHES) + 0.5
    faded = np.exp(-np.abs(POSITIONS - hatches[:, None]) / 3.0)
    return faded[:, :, None] * LOUDNESSES


@functools.cache
def _likelihoods() -> np.ndarray:
    """[hatch, position and loudness, level] of each bin."""
    z = (LEVELS - _heard().reshape(HATCHES, -1, 1)) / NOISE
    likelihoods = np.exp(-0.5 * z * z)
    return (likelihoods / likelihoods.sum(axis=2, keepdims=True)).astype(np.float32)


def _entropy(p: np.ndarray) -> np.ndarray:
    """Along the first axis, of what need not be normalised, times its sum."""
    logs = np.log(np.maximum(p, 1e-30) / np.maximum(p.sum(axis=0), 1e-30))
    return -(p * logs).sum(axis=0)


@dataclass(frozen=True)
class Reference:
    def plan(self, model: Any, belief: airoas.Particles, rng: airoas.Rng) -> Decision:
        hatches = np.arange(HATCHES)
        stretches = np.bincount(np.floor(belief.states[:, 1]).astype(int), belief.weights, HATCHES)
        way = 0.2 * np.abs(hatches - int(belief.states[0, 0]))
        joint = (belief.weights.astype(np.float32)[None, :, None] * _likelihoods()).reshape(HATCHES, HATCHES, -1, len(LEVELS)).sum(axis=2)
        unknown = np.array([_entropy(joint[hatch]).sum() for hatch in hatches])
        listen = -0.5 - way + model.discount * (KNOWN - PRICE * unknown)
        missed = _entropy(np.where(np.eye(HATCHES, dtype=bool), 0.0, stretches[:, None]))
        dig = 42.0 * stretches - way + (1.0 - stretches) * (model.discount * KNOWN - 8.0) - model.discount * PRICE * missed
        return Decision(int(np.concatenate((listen, dig)).argmax()), math.nan)
