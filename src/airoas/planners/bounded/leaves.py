"""What a leaf is given when a search opens it, for the planners whose belief nodes are weighted particles (AIROAS, AdaOPS):
particles that follow its observation, then action nodes with bounds.

Particles that an action leads to are shared by all the observations that follow; a child keeps its observation, from which its
weights can be had again when it is visited.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.compiler.specialise import apart
from airoas.compiler.vector_exp import exp
from airoas.planners.bounded.tree import BRANCHES, DEADLINE, NO_ACTION, OK, ROWS, Tree, add_action, is_late, set_bounds, set_first

LOOK = 32  # particles that are simulated between two looks at the clock


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
    def open_by_values(model: Any, tree: Tree, work: Any, b: int, rng: Any) -> int:
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
    def open_by_steps(model: Any, tree: Tree, work: Any, b: int, rng: Any) -> int:
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
