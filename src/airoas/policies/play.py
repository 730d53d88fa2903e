"""Episodes with the filter that an agent has by default, in worlds of which each is the same for whoever acts in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.belief.filters.interface import as_particles
from airoas.belief.filters.update import make_filter
from airoas.belief.particles import Particles
from airoas.errors import BeliefError
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.policies.belief_mdp import choose_one
from airoas.policies.qmdp import LOOKED_AT
from airoas.policies.runs import Policy, make_runs
from airoas.rng import Rng, stream

Decide = Callable[[Particles, Rng], Any]
"""The action for a belief."""
_DRAWN = 1000  # from a belief that is no particles, and for a policy to look at


def play(model: KernelModel, decide: Decide, world: int, most: int | None = None) -> float:
    """The discounted return of an episode, of so many steps at most."""
    functions, own = batch(model), make_filter("auto", model)
    rng = stream(world, "play")
    belief = own.start(model, rng)
    state = np.array(Particles.sample(model, 1, stream(world, "play, truth")).states)
    after, seen = np.zeros_like(state), np.zeros((1, model.shapes.observation.size))
    rewards, arrived, numbers = np.zeros(1), np.zeros(1, np.bool_), np.zeros(1, np.int64)
    total, factor = 0.0, 1.0
    for t in range(int(model.max_steps) if most is None else most):
        chosen = decide(as_particles(belief, _DRAWN, rng), rng)
        action = model.row("action", chosen)
        seed = stream(world, "play, step", t).bits(62)
        functions.earn(state, np.ones(1, np.bool_), action, seed, numbers, after, rewards, arrived)
        total += factor * float(rewards[0])
        factor *= float(model.discount)
        if not arrived[0]:
            break
        functions.observe(after, numbers, action, seed, numbers, seen)
        try:
            belief = own.update(model, belief, chosen, model.from_row("observation", seen[0]), rng).belief
        except BeliefError:
            break
        state[:] = after
    return total


def decide_by(model: KernelModel, policy: Policy, visited: list[tuple[np.ndarray, np.ndarray]] | None = None) -> Decide:
    """A policy's action for a belief. visited: states and weights of every belief that is met are added to it."""
    policy.scored = max(policy.scored, LOOKED_AT)
    runs = make_runs(model, policy, 1, _DRAWN)

    def decide(belief: Particles, rng: Rng) -> Any:
        rows = belief.particles(_DRAWN, rng)
        states, weights, allowed = np.array(rows.states), rows.weights, np.ones(model.n_actions, np.bool_)
        alive = weights > 0.0
        batch(model).inspect(states, alive, allowed)
        weights[~alive] = 0.0
        if visited is not None:
            visited.append((states, weights))
        a = int(choose_one(policy, runs, states, weights, np.zeros(len(weights), np.int64), rng.bits(62)))
        if model.n_actions and not allowed[a]:
            a = int(np.argmax(allowed))
        return model.from_row("action", policy.actions[a])

    return decide
