"""The actions that a policy chooses from where a model has a space of them: few, so that each is tried at the beliefs that it learns from,
and those with which least is lost of what is to be earned where the state is seen.

Of some hundreds of actions all over the space, and at the ends of its boxes, they are taken one by one: next is the one that adds most
to the best that those before promise, R + gamma V(s') of the fully observable problem, on average over states far apart. So where only
full strides pay the list has these in all directions, and where the best lies in the middle of the space it has what is there.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from airoas.bounds import find_bounds
from airoas.bounds.learned.walks import walk
from airoas.bounds.store import digest_of_sources, learned
from airoas.modelling.batch import batch
from airoas.modelling.discretised import ACTIONS, action_rows, discretised
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.macros import own_macros
from airoas.modelling.rows import Rows
from airoas.modelling.spread import spread_actions
from airoas.rng import stream

POINTS = 12
"""Actions for each combination of choices, at most."""
_POOL = 192  # actions to choose from, all over the space, and as many again of which a third lie at either end of each box
_WALKS, _STATES, _DRAWS = 200, 300, 4


def action_list(model: KernelModel) -> Rows:
    """[A, k] every action of a list; or those chosen of a space, and those that the model's macro-actions begin with."""
    return action_rows(model) if model.n_actions or model.space is None else _kept(model).copy()


@functools.lru_cache(64)
def _kept(model: KernelModel) -> np.ndarray:
    what = f"actions {digest_of_sources(Path(__file__).parent)}"
    rows = np.concatenate([learned(model, what, lambda: {"rows": _chosen(model)})["rows"], *(macro[:1] for macro in own_macros(model))])
    return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def _chosen(model: KernelModel) -> np.ndarray:
    assert model.space is not None
    choices, first = ~model.space.boxes, spread_actions(model, ACTIONS)
    states = _spaced(walk(discretised(model), _WALKS, 4, 1.0, stream(0, "action list")), _STATES)
    many = spread_actions(model, _POOL)
    pool = np.unique(np.concatenate([many, _stretched(model, many)]), axis=0)
    q, rows = _promises(model, states, pool), []
    for choice in np.unique(first[:, choices], axis=0):
        own = first[(first[:, choices] == choice).all(axis=1)]
        if len(own) > POINTS or (len(own) > 1 and model.space.boxes.any()):
            among = (pool[:, choices] == choice).all(axis=1)
            own = pool[among][_greedy(q[among], min(POINTS, len(own)))]
        rows.append(own)
    return np.concatenate(rows)


def _spaced(states: Rows, n: int) -> np.ndarray:
    """So many of some states, each as far from those before as can be: where a walk seldom comes counts as much as where it often is."""
    scaled = states / np.maximum(states.std(axis=0), 1e-9)
    chosen, far = [0], np.full(len(states), np.inf)
    while len(chosen) < min(n, len(states)):
        far = np.minimum(far, ((scaled - scaled[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(far)))
    return np.ascontiguousarray(states[chosen])


def _stretched(model: KernelModel, rows: Rows) -> np.ndarray:
    """Actions moved away from the middle of each box that does not wrap, as far as it goes."""
    assert model.space is not None
    space, result = model.space, rows.copy()
    moved = space.boxes & ~space.wraps
    low, high = space.low[moved], space.high[moved]
    result[:, moved] = np.clip(0.5 * (low + high) + 3.0 * (rows[:, moved] - 0.5 * (low + high)), low, high)
    return result


def _promises(model: KernelModel, states: Rows, rows: Rows) -> np.ndarray:
    """[A, n] R + gamma V(s') of actions in states, means over a few draws, the same for all."""
    functions, bounds, n = batch(model), find_bounds(model, (0.0, "auto")), len(states)
    q, alive, numbers, values = np.zeros((len(rows), n)), np.ones(n, np.bool_), np.arange(n), np.zeros((n, bounds.width - 1))
    for i, draw in np.ndindex(len(rows), _DRAWS):
        after, rewards, arrived = states.copy(), np.zeros(n), np.zeros(n, np.bool_)
        functions.step(states, alive, np.array(rows[i : i + 1]), draw, numbers, after, rewards, arrived)
        bounds.expected(after, arrived, values, 0)
        q[i] += (rewards + model.discount * np.where(arrived, values.max(axis=1), 0.0)) / _DRAWS
    return q


def _greedy(q: np.ndarray, n: int) -> list[int]:
    """So many rows, one by one that with which the mean of the best of those taken is largest."""
    taken, best = [], np.full(q.shape[1], -np.inf)
    for _ in range(min(n, len(q))):
        taken.append(int(np.argmax(np.maximum(q, best).mean(axis=1))))
        best = np.maximum(best, q[taken[-1]])
    return taken
