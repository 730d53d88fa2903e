"""The belief as the root of a search: its live states, drawn by weight, and the actions that may come first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.compiler.kernels import Record, kernel
from airoas.planners import base


class Root(Record):
    """The belief that simulations start from."""

    states: Any
    """[N, .]"""
    upto: Any
    """[N] cumulative weights of the live states, infinite from the last of them on."""
    guide: Any
    """[N] where the search for a draw begins, for each of N equal parts of the total."""
    total: float
    actions: Any
    """[k] what may be done first: the actions that are legal in every live state."""


def draw_root(root: Root, rng: Any) -> int:
    """The number of a live state, drawn by weight with about one comparison."""
    u = rng.uniform()
    i: int = root.guide[int(u * len(root.guide))]
    while root.upto[i] <= u * root.total:
        i += 1
    return i


@kernel
def _weigh_live(model: Any, states: Any, log_weights: Any, upto: Any, guide: Any) -> tuple[float, float]:
    """Fill `upto` and `guide`; the total, 0 where nothing is alive, and the live states' share of the belief."""
    peak, last, ended = -math.inf, -1, False
    for i in range(len(states)):
        upto[i] = log_weights[i]
        if upto[i] > -math.inf and model.is_terminal(model.read_state(states, i)):
            upto[i] = -math.inf
            ended = True
        if upto[i] > -math.inf:
            peak, last = max(peak, upto[i]), i
    if last < 0:
        return 0.0, 0.0
    total = 0.0
    for i in range(len(states)):
        total += math.exp(upto[i] - peak)
        upto[i] = total
    for i in range(last, len(states)):
        upto[i] = math.inf
    i = 0
    for k in range(len(guide)):
        while upto[i] <= k * total / len(guide):
            i += 1
        guide[k] = i
    return total, total * math.exp(peak) if ended else 1.0


def gather_root(model: Any, belief: Particles) -> tuple[Root, float]:
    """What simulations start from, and the share of the belief that is alive."""
    upto, guide = np.empty(len(belief)), np.empty(len(belief), np.int64)
    total, alive = _weigh_live(model, belief.states, belief.log_weights, upto, guide)
    actions = base.legal_actions(model, belief)[0] if model.n_actions else np.zeros(0, np.int64)
    return Root(states=belief.states, upto=upto, guide=guide, total=float(total), actions=actions), float(alive)


def prepare_root(model: Any) -> Root:
    """Compile what `gather_root` needs; a root of one state to compile others with."""
    belief = Particles(np.zeros((1, len(model.shapes.state.kinds))))
    upto, guide = np.zeros(1), np.zeros(1, np.int64)
    _weigh_live.prepare(model, belief.states, belief.log_weights, upto, guide)
    if model.n_actions:
        base.prepare(model, belief)
    return Root(states=belief.states, upto=upto, guide=guide, total=1.0, actions=np.zeros(1, np.int64))
