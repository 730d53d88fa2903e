"""Where an action leads, for the planners whose belief nodes are weighted particles (AIROAS, AdaOPS): successors, what is seen in
them, and a node for each observation, or for several that say nearly the same.

A particle that ends in a terminal state has value 0 and no observation: that the episode ended is seen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.bounds import Bounds
from airoas.compiler.kernels import Record
from airoas.compiler.specialise import apart
from airoas.planners.bounded.enumerated import TOO_MANY, list_successors, slots_for
from airoas.planners.bounded.leaves import LOOK, add_values, likelihoods, own_particles, plan_bound, successors, upper_bound, weigh
from airoas.planners.bounded.tree import (
    BAD_MODEL,
    DEADLINE,
    EXPANSIONS,
    MEMORY,
    NODES,
    OK,
    ROWS,
    Tree,
    add_node,
    has_room,
    is_complete,
    is_late,
    set_action_bounds,
    set_children,
)

TOGETHER = 16  # observations that are weighed at a time at most; between two such lots the clock is read
LOT = 4096  # likelihoods of a lot, unless those of one observation are more
EXACT_DELTA = 0.1
"""Delta among probabilities: a larger one is for weights of particles, which differ by chance."""


class Branching(Record):
    """Room to work in for nodes of up to N particles, and how to branch."""

    bounds: Any
    """What the bounds read; see `airoas.bounds.Bounds`."""
    first_actions: Any
    """[K] the action that each plan of the lower bound begins with."""
    values: Any
    """[N * (K + M)] lower and upper values of each particle."""
    sums: Any
    """[K + M] their weighted sums."""
    observations: Any
    """[G, .] one of each group of equal ones; G is N, or 2 N where states are listed."""
    masses: Any
    """[G] weight of the particles that saw it."""
    weights: Any
    """[G + 1, N] normalised weights of the particles under each observation kept; the last row is for the one at hand."""
    logs: Any
    """[TOGETHER, N] log-likelihoods of some observations."""
    chosen: Any
    """[N] which particles are drawn."""
    seers: Any
    """[.] which particles see something, and so make a branch."""
    delta: float
    """Observations whose weights differ by no more (L1) share a branch; below 0 none do."""
    seed: Any
    """[1] of the decision's streams."""
    allowed: Any
    """[actions] those that the whole belief at the root allows."""
    slots: Any
    """[a power of 2] which row has the state of a number, open addressing, -1 where free; [1] where states are not listed."""
    numbers: Any
    """[N] the number of each row's state."""
    discrete: int
    """1 where observations are whole numbers, whose likelihoods are probabilities, else 0."""


def make_branching(model: Any, bounds: Bounds, particles: int, seers: int, delta: float, exact: bool) -> Branching:
    """Room for nodes of this many particles, of which `seers` make an observation; `exact`: or of as many possible states."""
    groups = 2 * particles if exact else particles  # every state has one draw at least
    plans = len(bounds.first_actions)
    width = plans + (model.n_actions if bounds.by_action else 1)
    return Branching(
        bounds=bounds.data,
        first_actions=np.ascontiguousarray(bounds.first_actions, dtype=np.int64),
        values=np.zeros(particles * width),
        sums=np.zeros(width),
        observations=np.zeros((groups, len(model.shapes.observation.kinds))),
        masses=np.zeros(groups),
        weights=np.zeros((groups + 1, particles)),
        logs=np.zeros((TOGETHER, particles)),
        chosen=np.zeros(particles, np.int64),
        seers=np.zeros(min(seers, particles), np.int64),
        delta=float(delta),
        seed=np.zeros(1, np.int64),
        allowed=np.ones(model.n_actions, np.bool_),
        slots=np.zeros(slots_for(particles) if exact else 1, np.int64),
        numbers=np.zeros(particles, np.int64),
        discrete=int("float" not in model.shapes.observation.kinds),
    )


def branch_by(evaluate: Any, exact: bool) -> Any:
    """`branch`: simulate an action, or list where it leads, group what is seen, and give each group a node with bounds."""

    @apart
    def branch(model: Any, tree: Tree, work: Branching, ba: int, rng: Any) -> int:
        b, a = tree.above[ba], int(tree.action[ba])
        size, width = tree.size[b], len(work.sums)
        if not has_room(tree, len(work.masses) if exact else size, 0, len(work.chosen) if exact else size):
            return MEMORY
        steps, sight = rng.local(), rng.local()
        steps.reseed(work.seed[0], tree.key[b], 2 * a)
        sight.reseed(work.seed[0], tree.key[b], 2 * a + 1)
        begin, first = tree.counts[ROWS], tree.counts[NODES]
        tree.successors[ba] = begin
        count, reward = follow(model, tree, work, ba, steps)
        if count < 0:
            return DEADLINE
        tree.followers[ba] = count
        tree.counts[ROWS] = begin + count
        states, weights = successors(tree, ba, count)
        alive = 0.0
        for i in range(len(weights)):
            if i % LOOK == LOOK - 1 and is_late(tree):
                tree.counts[ROWS] = begin
                return DEADLINE
            if weights[i] > 0.0:
                alive += weights[i]
                evaluate(model, work.bounds, model.read_state(states, i), sight, work.values, i * width)
        groups = see(model, tree, work, ba, alive, sight) if alive > 0.0 else 0
        counted = tree.complete[ba] * work.discrete > 0 and 2 * groups <= len(work.seers)
        together = min(TOGETHER, max(1, LOT // max(1, count)))
        for begun in range(0, groups, together):
            if is_late(tree):
                tree.counts[NODES], tree.counts[ROWS] = first, begin
                return DEADLINE
            some = min(together, groups - begun)
            likelihoods(model, tree, ba, work.observations, begun, some, count, work.logs)
            for g in range(some):
                if counted:
                    work.masses[begun + g] = chance_of(weights, work.logs[g])
                if not add_branch(tree, work, ba, begun + g, work.logs[g], first, steps):
                    return BAD_MODEL
        if counted:
            share_out(tree, first, alive)
        lower = upper = reward
        for c in range(first, tree.counts[NODES]):
            lower += model.discount * tree.chance[c] * tree.lower[c]
            upper += model.discount * tree.chance[c] * tree.upper[c]
        tree.reward[ba] = reward
        set_children(tree, ba, first, tree.counts[NODES] - first)
        set_action_bounds(tree, ba, lower, upper)
        tree.counts[EXPANSIONS] += 1
        return OK

    def follow(model: Any, tree: Tree, work: Branching, ba: int, rng: Any) -> tuple[int, float]:
        """List where an action leads, or simulate it where that is too much: how many successors, -1 where time is up, and the
        reward expected."""
        b, a = tree.above[ba], int(tree.action[ba])
        tree.complete[ba] = 0
        if exact and is_complete(tree, b):
            count = list_successors(model, tree, work, b, a)
            if count != TOO_MANY:
                tree.complete[ba] = 1 if count >= 0 else 0
                return count, expected_reward(model, tree, b, a)
        return simulate(model, tree, ba, rng)

    return branch


def expected_reward(model: Any, tree: Tree, b: int, a: int) -> float:
    reward = 0.0
    states, weights = own_particles(tree, b)
    for i in range(len(weights)):
        reward += weights[i] * model.reward(model.read_state(states, i), a)
    return reward


def simulate(model: Any, tree: Tree, ba: int, rng: Any) -> tuple[int, float]:
    """One step of every particle: how many successors, -1 where time is up, and the mean reward."""
    b, a = tree.above[ba], int(tree.action[ba])
    reward = 0.0
    states, weights = own_particles(tree, b)
    after, alive = successors(tree, ba, len(weights))
    for i in range(len(weights)):
        if i % LOOK == LOOK - 1 and is_late(tree):
            return -1, reward
        s, r = model.step(model.read_state(states, i), a, rng)
        reward += weights[i] * r
        model.write_state(after, i, s)
        alive[i] = 0.0 if model.is_terminal(s) else weights[i]
    return len(weights), reward


def see(model: Any, tree: Tree, work: Branching, ba: int, alive: float, rng: Any) -> int:
    """Observe the successors, all or as many as may see, and group equal observations: how many groups.

    Where every possible state is listed, a likely one observes more than once.
    """
    a, seers = int(tree.action[ba]), len(work.seers)
    states, weights = successors(tree, ba, tree.followers[ba])
    some = seers < len(weights)
    if some:
        choose(weights, SYSTEMATIC, rng, work.seers)
    groups = 0
    for j in range(seers if some else len(weights)):
        i = work.seers[j] if some else j
        if weights[i] > 0.0:
            times = max(1, int(seers * weights[i])) if tree.complete[ba] and not some else 1
            mass = alive / seers if some else weights[i] / times
            s = model.read_state(states, i)
            for _ in range(times):
                model.write_observation(work.observations, groups, model.observe(s, a, rng))
                g = 0
                while g < groups and not same_row(work.observations, g, groups):
                    g += 1
                if g == groups:
                    work.masses[g] = 0.0
                    groups += 1
                work.masses[g] += mass
    return groups


def chance_of(weights: Any, logs: Any) -> float:
    """The probability of an observation: that it is seen again and again says that there are few, and then it need not be guessed."""
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * math.exp(logs[i])
    return total


def share_out(tree: Tree, first: int, alive: float) -> None:
    """Let the chances of new nodes sum to `alive`: what is seen too rarely to be drawn has no node."""
    total = 0.0
    for c in range(first, tree.counts[NODES]):
        total += tree.chance[c]
    for c in range(first, tree.counts[NODES]):
        tree.chance[c] *= alive / total


def same_row(rows: Any, i: int, j: int) -> bool:
    for k in range(rows.shape[1]):  # noqa: SIM110
        if rows[i, k] != rows[j, k]:
            return False
    return True


@apart
def add_branch(tree: Tree, work: Branching, ba: int, g: int, logs: Any, first: int, rng: Any) -> bool:
    """A node for a group of observations, or a larger chance for one whose weights are nearly the same (delta-packing).

    False where no successor allows what one of them saw: then `observe` and `obs_logpdf` contradict each other.
    """
    b = tree.above[ba]
    size, kept = tree.followers[ba], tree.counts[NODES] - first
    weights, chance = work.weights[kept], work.masses[g]
    delta = min(work.delta, EXACT_DELTA) if tree.complete[ba] else work.delta
    if weigh(tree, ba, size, logs, weights) == math.inf:
        return False
    for other in range(kept):
        if delta >= 0.0 and distance(work.weights[other], weights, size, delta) <= delta:
            tree.chance[first + other] += chance
            return True
    plans, width = len(work.first_actions), len(work.sums)
    for j in range(width):
        work.sums[j] = 0.0
    for i in range(size):
        if weights[i] > 0.0:
            add_values(work.sums, weights[i], work.values, i * width)
    c = add_node(tree, ba, tree.depth[b] + 1, chance, plan_bound(work.sums, plans), upper_bound(work.sums, plans))
    for k in range(tree.observations.shape[1]):
        tree.observations[c, k] = work.observations[g, k]
    rng.reseed(tree.key[b], tree.action[ba], kept)
    tree.key[c] = rng.bits(62)
    return True


def distance(u: Any, v: Any, size: int, enough: float) -> float:
    """L1 distance; it may stop once it is more than enough."""
    total = 0.0
    for i in range(size):
        total += abs(u[i] - v[i])
        if total > enough:
            break
    return total
