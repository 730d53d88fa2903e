"""What an expansion does with particles, for the planners whose belief nodes are weighted particles (AIROAS, AdaOPS).

Particles are simulated one step and shared by all the observations that follow; a child keeps its observation, from which its
weights can be had again when it is visited. A particle that ends in a terminal state has value 0 and no observation: that the
episode ended is seen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.arithmetic import exp
from airoas.belief.resample import SYSTEMATIC, choose
from airoas.bounds import Bounds
from airoas.compile import Record
from airoas.link import apart
from airoas.planners.bounded_tree import (
    BAD_MODEL,
    BRANCHES,
    DEADLINE,
    EXPANSIONS,
    MEMORY,
    NO_ACTION,
    NODES,
    OK,
    ROWS,
    Tree,
    add_action,
    add_node,
    has_room,
    is_late,
    set_action_bounds,
    set_bounds,
    set_children,
    set_first,
)

TOGETHER = 16  # observations that are weighed at a time at most; between two such lots the clock is read
LOT = 4096  # likelihoods of a lot, unless those of one observation are more
LOOK = 32  # particles that are simulated between two looks at the clock


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
    """[N, .] one of each group of equal ones."""
    masses: Any
    """[N] weight of the particles that saw it."""
    weights: Any
    """[N + 1, N] normalised weights of the particles under each observation kept; the last row is for the one at hand."""
    logs: Any
    """[TOGETHER, N] log-likelihoods of some observations."""
    chosen: Any
    """[N] which particles are drawn."""
    seers: Any
    """[G] which particles see something, and so make a branch."""
    delta: float
    """Observations whose weights differ by no more (L1) share a branch; below 0 none do."""
    seed: Any
    """[1] of the decision's streams."""
    allowed: Any
    """[actions] those that the whole belief at the root allows."""


def make_branching(model: Any, bounds: Bounds, particles: int, seers: int, delta: float) -> Branching:
    """Room for nodes of this many particles, of which `seers` make an observation."""
    plans = len(bounds.first_actions)
    width = plans + (model.n_actions if bounds.by_action else 1)
    return Branching(
        bounds=bounds.data,
        first_actions=np.ascontiguousarray(bounds.first_actions, dtype=np.int64),
        values=np.zeros(particles * width),
        sums=np.zeros(width),
        observations=np.zeros((particles, len(model.shapes.observation.kinds))),
        masses=np.zeros(particles),
        weights=np.zeros((particles + 1, particles)),
        logs=np.zeros((TOGETHER, particles)),
        chosen=np.zeros(particles, np.int64),
        seers=np.zeros(min(seers, particles), np.int64),
        delta=float(delta),
        seed=np.zeros(1, np.int64),
        allowed=np.ones(model.n_actions, np.bool_),
    )


def likelihoods(model: Any, tree: Tree, ba: int, observations: Any, first: int, count: int, size: int, logs: Any) -> None:
    """logs[g, i] = log p(o | s, a) of observation `first` + g in successor i, for `count` observations.

    Particles in the outer loop: what depends on the state alone is then computed once.
    """
    a = int(tree.action[ba])
    states, weights = successors(tree, ba, size)
    some = observations[first : first + count]
    for i in range(len(weights)):
        if weights[i] > 0.0:
            s = model.read_state(states, i)
            for g in range(len(some)):
                logs[g, i] = model.obs_logpdf(model.read_observation(some, g), s, a)
        else:
            for g in range(len(some)):
                logs[g, i] = -math.inf


def successors(tree: Tree, ba: int, size: int) -> tuple[Any, Any]:
    """States and weights of an action's successors. Slices: an index that starts at 0 is never negative, which compiled code
    would otherwise look for at every access."""
    start = tree.successors[ba]
    return tree.states[start : start + size], tree.weights[start : start + size]


def own_particles(tree: Tree, b: int) -> tuple[Any, Any]:
    """States and weights of a node's own particles."""
    start, size = tree.place[b], tree.size[b]
    return tree.states[start : start + size], tree.weights[start : start + size]


@apart
def weigh(tree: Tree, ba: int, size: int, logs: Any, weights: Any) -> float:
    """Weights [size], normalised, of an action's successors after an observation of log-likelihoods `logs`; their N / ESS.

    inf where none allows it; what is no density explains nothing.
    """
    _, before = successors(tree, ba, size)
    peak = -math.inf
    for i in range(len(before)):
        peak = logs[i] if peak < logs[i] < math.inf else peak
    if peak == -math.inf:
        return math.inf
    for i in range(len(before)):
        weights[i] = before[i] * exp(logs[i] - peak if logs[i] < math.inf else -math.inf)
    total = squares = 0.0
    for i in range(len(before)):
        total += weights[i]
        squares += weights[i] * weights[i]
    if not total > 0.0:
        return math.inf
    for i in range(len(before)):
        weights[i] /= total
    return float(size * squares / (total * total))


@apart
def keep_particles(tree: Tree, b: int, size: int, weights: Any) -> None:
    """The successors of positive weight become the node's own particles, weighted."""
    start, place = tree.successors[tree.parent[b]], tree.counts[ROWS]
    count = 0
    for i in range(size):
        if weights[i] > 0.0:
            for k in range(tree.states.shape[1]):
                tree.states[place + count, k] = tree.states[start + i, k]
            tree.weights[place + count] = weights[i]
            count += 1
    _own(tree, b, count)


@apart
def draw_particles(tree: Tree, b: int, size: int, weights: Any, chosen: Any, count: int, rng: Any) -> None:
    """`count` draws among the successors become the node's own particles, of equal weight."""
    start, place = tree.successors[tree.parent[b]], tree.counts[ROWS]
    choose(weights[:size], SYSTEMATIC, rng, chosen[:count])
    for j in range(count):
        for k in range(tree.states.shape[1]):
            tree.states[place + j, k] = tree.states[start + chosen[j], k]
        tree.weights[place + j] = 1.0 / count
    _own(tree, b, count)


def _own(tree: Tree, b: int, count: int) -> None:
    tree.place[b] = tree.counts[ROWS]
    tree.size[b] = count
    tree.counts[ROWS] += count


def is_legal(model: Any, tree: Tree, allowed: Any, b: int, a: int) -> bool:
    """Whether every particle of the node allows the action."""
    if b == 0:
        return bool(allowed[a])
    for i in range(tree.place[b], tree.place[b] + tree.size[b]):  # noqa: SIM110
        if not model.legal(model.read_state(tree.states, i), a):
            return False
    return True


def add_values(sums: Any, weight: float, values: Any, at: int) -> None:
    for j in range(len(sums)):
        sums[j] += weight * values[at + j]


def plan_bound(sums: Any, plans: int) -> float:
    """The best plan's value."""
    best = -math.inf
    for k in range(plans):
        best = max(best, sums[k])
    return best


def upper_bound(sums: Any, plans: int) -> float:
    """The best upper value: of the belief, or over the actions."""
    best = -math.inf
    for j in range(plans, len(sums)):
        best = max(best, sums[j])
    return best


def open_by(evaluate: Any, by_action: bool) -> Any:
    """`open_node`: give a node that has particles its action nodes, with bounds but without branches."""

    @apart
    def open_by_values(model: Any, tree: Tree, work: Branching, b: int, rng: Any) -> int:
        """u(b, a) = sum w Q(s, a); l(b, a) is the best plan that begins with a."""
        plans, width = len(work.first_actions), len(work.sums)
        rng = rng.local()
        rng.reseed(work.seed[0], tree.key[b], -1)
        for j in range(width):
            work.sums[j] = 0.0
        states, weights = own_particles(tree, b)
        for i in range(len(weights)):
            if b > 0 and i % LOOK == LOOK - 1 and is_late(tree):
                return DEADLINE
            evaluate(model, work.bounds, model.read_state(states, i), rng, work.values, 0)
            add_values(work.sums, weights[i], work.values, 0)
        set_bounds(tree, b, max(tree.lower[b], plan_bound(work.sums, plans)), tree.upper[b])
        first = tree.counts[BRANCHES]
        count = 0
        for a in range(model.n_actions):
            if is_legal(model, tree, work.allowed, b, a):
                lower = -math.inf
                for k in range(plans):
                    if work.first_actions[k] == a:
                        lower = max(lower, work.sums[k])
                add_action(tree, b, a, lower, work.sums[plans + a])
                count += 1
        set_first(tree, b, first, count)
        return OK if count > 0 else NO_ACTION

    @apart
    def open_by_steps(model: Any, tree: Tree, work: Branching, b: int, rng: Any) -> int:
        """u(b, a) = R(b, a) + gamma sum w V(s'), and the same for the best plan."""
        plans, width = len(work.first_actions), len(work.sums)
        first = tree.counts[BRANCHES]
        count = 0
        steps, sight = rng.local(), rng.local()
        for a in range(model.n_actions):
            if not is_legal(model, tree, work.allowed, b, a):
                continue
            steps.reseed(work.seed[0], tree.key[b], 2 * a)
            sight.reseed(work.seed[0], tree.key[b], 2 * a + 1)
            for j in range(width):
                work.sums[j] = 0.0
            reward = 0.0
            states, weights = own_particles(tree, b)
            for i in range(len(weights)):
                if b > 0 and i % LOOK == 0 and is_late(tree):  # at the root there is always an action to answer
                    return DEADLINE
                s, r = model.step(model.read_state(states, i), a, steps)
                reward += weights[i] * r
                if not model.is_terminal(s):
                    evaluate(model, work.bounds, s, sight, work.values, 0)
                    add_values(work.sums, weights[i], work.values, 0)
            lower = reward + model.discount * plan_bound(work.sums, plans)
            add_action(tree, b, a, lower, reward + model.discount * upper_bound(work.sums, plans))
            count += 1
        set_first(tree, b, first, count)
        return OK if count > 0 else NO_ACTION

    return open_by_values if by_action else open_by_steps


def branch_by(evaluate: Any) -> Any:
    """`branch`: simulate an action, group what is seen, and give each group a node with bounds."""

    @apart
    def branch(model: Any, tree: Tree, work: Branching, ba: int, rng: Any) -> int:
        b, a = tree.above[ba], int(tree.action[ba])
        size, width = tree.size[b], len(work.sums)
        if not has_room(tree, size, 0, size):
            return MEMORY
        tree.successors[ba] = tree.counts[ROWS]
        tree.counts[ROWS] += size
        steps, sight = rng.local(), rng.local()
        steps.reseed(work.seed[0], tree.key[b], 2 * a)
        sight.reseed(work.seed[0], tree.key[b], 2 * a + 1)
        reward = 0.0
        alive = 0.0
        states, weights = own_particles(tree, b)
        after, alive_weights = successors(tree, ba, size)
        for i in range(len(weights)):
            if i % LOOK == LOOK - 1 and is_late(tree):
                tree.counts[ROWS] = tree.successors[ba]
                return DEADLINE
            s, r = model.step(model.read_state(states, i), a, steps)
            reward += weights[i] * r
            model.write_state(after, i, s)
            if model.is_terminal(s):
                alive_weights[i] = 0.0
            else:
                alive_weights[i] = weights[i]
                alive += weights[i]
                evaluate(model, work.bounds, s, sight, work.values, i * width)
        groups = see(model, tree, work, ba, size, sight) if alive > 0.0 else 0
        first = tree.counts[NODES]
        together = min(TOGETHER, max(1, LOT // size))
        for begin in range(0, groups, together):
            if is_late(tree):
                tree.counts[NODES], tree.counts[ROWS] = first, tree.successors[ba]
                return DEADLINE
            count = min(together, groups - begin)
            likelihoods(model, tree, ba, work.observations, begin, count, size, work.logs)
            for g in range(count):
                if not add_branch(tree, work, ba, begin + g, work.logs[g], first, alive, steps):
                    return BAD_MODEL
        lower = upper = reward
        for c in range(first, tree.counts[NODES]):
            lower += model.discount * tree.chance[c] * tree.lower[c]
            upper += model.discount * tree.chance[c] * tree.upper[c]
        tree.reward[ba] = reward
        set_children(tree, ba, first, tree.counts[NODES] - first)
        set_action_bounds(tree, ba, lower, upper)
        tree.counts[EXPANSIONS] += 1
        return OK

    return branch


def see(model: Any, tree: Tree, work: Branching, ba: int, size: int, rng: Any) -> int:
    """Observe the successors, all or as many as may see, and group equal observations: how many groups."""
    a, start, seers = int(tree.action[ba]), tree.successors[ba], len(work.seers)
    some = seers < size
    if some:
        choose(tree.weights[start : start + size], SYSTEMATIC, rng, work.seers)
    groups = 0
    for j in range(seers if some else size):
        row = start + (work.seers[j] if some else j)
        mass = 1.0 / seers if some else tree.weights[row]
        if mass > 0.0:
            model.write_observation(work.observations, groups, model.observe(model.read_state(tree.states, row), a, rng))
            g = 0
            while g < groups and not same_row(work.observations, g, groups):
                g += 1
            if g == groups:
                work.masses[g] = 0.0
                groups += 1
            work.masses[g] += mass
    return groups


def same_row(rows: Any, i: int, j: int) -> bool:
    for k in range(rows.shape[1]):  # noqa: SIM110
        if rows[i, k] != rows[j, k]:
            return False
    return True


@apart
def add_branch(tree: Tree, work: Branching, ba: int, g: int, logs: Any, first: int, alive: float, rng: Any) -> bool:
    """A node for a group of observations, or a larger chance for one whose weights are nearly the same (delta-packing).

    False where no successor allows what one of them saw: then `observe` and `obs_logpdf` contradict each other.
    """
    b = tree.above[ba]
    size, kept = tree.size[b], tree.counts[NODES] - first
    weights = work.weights[kept]
    chance = work.masses[g] * (alive if len(work.seers) < size else 1.0)
    if weigh(tree, ba, size, logs, weights) == math.inf:
        return False
    for other in range(kept):
        if work.delta >= 0.0 and distance(work.weights[other], weights, size, work.delta) <= work.delta:
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
