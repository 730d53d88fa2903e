"""Ways to rewards that random actions hardly meet, because they take many right actions in a row.

States that are rarely met are gone on from more often (Ecoffet et al., 2021), up to the steps that count.
"""

from __future__ import annotations

import functools

import numpy as np

from airoas.belief.resampling import indices
from airoas.bounds.learned.walks import horizon, walk
from airoas.compiler.kernels import current_mode
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Rows
from airoas.rng import hash_key, stream

_ROUNDS, _STARTS, _BURST = 60, 500, 12  # how often it is gone on, from how many states, and for how many steps
_CELLS = 20_000  # into which the states met so far are sorted, about
_ENOUGH = 100  # ways
_HIGHER = 0.05  # of the range of the rewards met at random, for a reward to be sought
_SELDOM = 5e-4  # of the rewards met at random: the highest ones, which are as good as not met


@functools.lru_cache(8)
def explore(model: KernelModel) -> np.ndarray:
    """States [n, dim] on ways to rewards higher than those that random actions commonly meet, and where these were met; none where no
    higher ones were found."""
    starts, rng = _STARTS if current_mode() == "compiled" else _STARTS // 50, stream(0, "explore")
    visited = walk(model, starts, 4, 1.0, rng)
    if not len(visited):
        return visited
    met = visited[np.linspace(0, len(visited) - 1, min(4 * starts, len(visited))).astype(np.int64)]
    usual = _rewards(model, met)
    common = float(np.quantile(usual, 1.0 - _SELDOM, method="lower"))
    sought = common + _HIGHER * (common - float(usual.min())) + 1e-9
    parents, depths = np.full(len(met), -1), np.zeros(len(met), np.int64)
    ways, ends = list[int](), [met[:0]]
    for round_ in range(_ROUNDS):
        weights = np.where(depths < horizon(model), _rarity(met), 0.0)
        if not weights.any() or len(ways) >= _ENOUGH:
            break
        rows = indices(weights / weights.sum(), starts, rng)
        actions = np.array([[float(rng.integer(model.n_actions))] for _ in rows])
        states, going, high, last = _repeat(model, met[rows], actions, sought, round_)
        ways += [int(row) for row in rows[high]]
        ends.append(last[high])
        met, parents = np.concatenate((met, states[going])), np.concatenate((parents, rows[going]))
        depths = np.concatenate((depths, depths[rows[going]] + _BURST))
    on_ways: set[int] = set()
    for way in ways:
        row = way
        while row >= 0 and row not in on_ways:
            on_ways.add(row)
            row = int(parents[row])
    return np.concatenate((met[sorted(on_ways)], *ends))


def _repeat(
    model: KernelModel, states: Rows, actions: Rows, sought: float, key: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where an action for each state [n, dim] leads in some steps, which of them go on [n], which met a reward that is sought [n], and
    where [n, dim]."""
    functions, n = batch(model), len(states)
    going, high = np.ones(n, np.bool_), np.zeros(n, np.bool_)
    allowed, arrived, rewards, where = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n), states.copy()
    for t in range(_BURST):
        functions.permits(states, going, actions, allowed)
        after = states.copy()
        functions.earn(states, allowed, actions, hash_key(key, t, 0), np.arange(n), after, rewards, arrived)
        now = allowed & (rewards > sought)
        where[now & ~high] = states[now & ~high]
        high |= now
        going = allowed & arrived
        states[going] = after[going]
    return states, going, high, where


def _rewards(model: KernelModel, states: Rows) -> np.ndarray:
    """[.] of every legal action in every state."""
    functions, n, result = batch(model), len(states), [np.zeros(1)]
    alive, allowed, arrived, rewards = np.ones(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n)
    for a in range(model.n_actions):
        action = model.row("action", a)
        functions.permits(states, alive, action, allowed)
        functions.earn(states, allowed, action, a, np.arange(n), np.zeros_like(states), rewards, arrived)
        result.append(rewards[allowed])
    return np.concatenate(result)


def _rarity(states: Rows) -> np.ndarray:
    """[n] one over how many of the states lie in the same cell."""
    low, high = states.min(axis=0), states.max(axis=0)
    varies = high > low
    bins = max(2, int(_CELLS ** (1.0 / max(1, varies.sum()))))
    cells = ((states[:, varies] - low[varies]) / (high - low)[varies] * (bins - 1)).astype(np.int64)
    if bins ** cells.shape[1] < 1 << 62:  # a number for each cell: those are sorted in a tenth of the time of rows
        cells = cells @ bins ** np.arange(cells.shape[1])
    _, cell, count = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / count[cell.ravel()])
