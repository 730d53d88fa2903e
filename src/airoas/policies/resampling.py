"""The particles of simulated runs, by the likelihood of what was seen.

Runs have some hundred particles where real filters have thousands, so a sharp observation leaves few of them, and soon all are
copies of some. Where runs are to tell what beliefs are like, the likelihood is flattened until enough are effective, and copies are spread:
each takes a step along the line to a particle near it, as in differential evolution (ter Braak, 2006), which is accepted by what it
explains (Gilks and Berzuini, 2001). Steps along such lines keep what is linear among the numbers of a state, a thing that is carried
being where its carrier is, and are as short as the heap that they begin in is narrow. Where runs are as many as they can be, and short, the
truth is put back instead where few are left: a belief is then too sure, and doubt goes away too soon.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.compiler.vector_exp import exp
from airoas.policies.runs import Policy, Runs
from airoas.rng import hash_key, new_stream

FEW, ANY = 0.1, 0.5
"""Of the particles: where fewer are effective the truth is put back; and particles, where it is put back only if none is left."""
SPARSE = 0.5
"""Of the particles: copies are spread where no more are originals."""
NEIGHBOURS, STRIDE = 8, 0.7
"""Originals of which a copy moves toward the nearest, or away from it; and how far, in standard deviations of the distance to it."""
_HALVINGS = 10


def resample(runs: Runs, r: int, seed: int) -> None:
    """The particles of a run by the likelihood of what was seen."""
    n, start = runs.n_particles, r * runs.n_particles
    size, runs.powers[r] = weigh_tempered(runs, start, 1.0), 1.0
    if size < runs.effective:
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if weigh_tempered(runs, start, middle) < runs.effective:
                high = middle
            else:
                low = middle
        size, runs.powers[r] = weigh_tempered(runs, start, low), low
    if size >= (ANY if runs.effective > 0.0 else FEW * n):
        runs.weights[0] = 0.0
    total = 0.0
    for j in range(n):
        total += runs.weights[j]
    own = new_stream()
    own.reseed(seed, 0, 0)
    offset, reached, i = own.uniform(), runs.weights[0], 0
    for j in range(1, n):
        point = (j - 1 + offset) * total / (n - 1)
        while reached <= point and i < n - 1:
            i += 1
            reached += runs.weights[i]
        runs.chosen[j] = i
    runs.chosen[0] = 0
    for j in range(n):
        source = start + runs.chosen[j]
        for k in range(runs.states.shape[1]):
            runs.states[start + j, k] = runs.after[source, k]
        runs.kept_logs[start + j] = runs.logs[source]
        runs.labels_after[start + j] = runs.labels[source]
        runs.alive[start + j] = True
    for row in range(start, start + n):
        runs.labels[row] = runs.labels_after[row]


def weigh_tempered(runs: Runs, start: int, power: float) -> float:
    """The weights of a run's particles by a power of the likelihood; how many of them, the truth aside, are effective."""
    n = runs.n_particles
    peak = runs.logs[start]
    for j in range(1, n):
        peak = max(peak, runs.logs[start + j])
    total = squares = 0.0
    for j in range(n):
        weight = exp(power * (runs.logs[start + j] - peak)) if runs.logs[start + j] > -math.inf else 0.0
        runs.weights[j] = weight
        if j > 0:
            total += weight
            squares += weight * weight
    return total * total / squares if squares > 0.0 else 0.0


def find_copies(runs: Runs, r: int) -> int:
    """Mark the particles of a run that are copies of one before them; how many are none, whose places are then the first in `chosen`.
    After `resample`."""
    n, start, originals = runs.n_particles, r * runs.n_particles, 0
    for j in range(1, n):
        runs.spreading[start + j] = j > 1 and runs.chosen[j] == runs.chosen[j - 1]
    for j in range(1, n):
        if not runs.spreading[start + j]:
            runs.chosen[originals] = j
            originals += 1
    return originals


def propose(policy: Policy, runs: Runs, r: int, seed: int) -> int:
    """Where the copies in a run may move to, if many are; how many may."""
    n, start, own, moving = runs.n_particles, r * runs.n_particles, new_stream(), 0
    originals = find_copies(runs, r)
    few = 1 < originals <= SPARSE * n
    for k in policy.continuous:
        mean = square = 0.0
        for e in range(originals):
            x = runs.states[start + runs.chosen[e], k] - runs.states[start + 1, k]
            mean, square = mean + x / originals, square + x * x / originals
        runs.spreads[k] = square - mean * mean
    for row in range(start + 1, start + n):
        if not runs.spreading[row]:
            continue
        own.reseed(seed, 0, row - start)
        near = nearest(policy, runs, row, originals, own) if few else -1
        runs.spreading[row] = near >= 0
        if near < 0:
            continue
        far, moving = STRIDE * own.normal(), moving + 1
        for k in range(runs.states.shape[1]):
            runs.proposed[row, k] = runs.states[row, k]
        for k in policy.continuous:
            runs.proposed[row, k] += far * (runs.states[near, k] - runs.states[row, k])
    return moving


def nearest(policy: Policy, runs: Runs, row: int, originals: int, rng: Any) -> int:
    """The row of the nearest of some originals that are alike in all that can be counted; -1 where there is none."""
    start, best, least = row // runs.n_particles * runs.n_particles, -1, math.inf
    for _ in range(NEIGHBOURS):
        other = start + runs.chosen[rng.integer(originals)]
        distance = 0.0
        for k in policy.countable:
            if runs.states[other, k] != runs.states[row, k]:
                distance = math.inf
        for k in policy.continuous:
            if runs.spreads[k] > 0.0:
                x = runs.states[other, k] - runs.states[row, k]
                distance += x * x / runs.spreads[k]
        if 0.0 < distance < least:
            best, least = other, distance
    return best


def spread(policy: Policy, runs: Runs, observations: Any, seed: int) -> None:
    """Move the copies to where `propose` says, by Metropolis and Hastings."""
    n, total, own = runs.n_particles, runs.n_runs * runs.n_particles, new_stream()
    rows, moving, logs = runs.proposed[:total], runs.spreading[:total], runs.proposed_logs[:total]
    policy.inspect(rows, moving, runs.any_action)
    policy.weigh(rows, moving, observations, runs.run_of[:total], runs.row_actions[:total], logs)
    for row in range(total):
        if moving[row]:
            own.reseed(hash_key(seed, 9, runs.world[row // n]), 0, row % n)
            gain = runs.powers[row // n] * (logs[row] - runs.kept_logs[row])
            if own.uniform() < exp(min(0.0, gain)):
                for k in range(runs.states.shape[1]):
                    runs.states[row, k] = rows[row, k]
