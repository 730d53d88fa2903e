"""Point-based value iteration (Pineau et al., 2003; as Perseus does it: Spaan and Vlassis, 2005) of finite models.

Rounds: follow the best plans known so far to beliefs that matter, then back up there until every one of them has improved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.bounds.finite.backup import (
    AlphaVectors,
    FiniteModel,
    Workspace,
    backup_at_belief,
    best_plan,
    choose_plans,
    expected_value,
    is_legal,
    predict,
)
from airoas.bounds.finite.enumeration import Enumeration, enumerate_model, observation_probabilities
from airoas.bounds.finite.values import checked_discount
from airoas.compiler.kernels import Record, kernel
from airoas.errors import OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Reals, Rows, Weights
from airoas.rng import Rng, stream

MOST_LIKELIHOODS = 1 << 24
"""States times actions times observations; larger models are refused."""
QUICK = 1 << 20
"""The same, up to which it is done unasked."""
MOST_WORK = 2e9
"""Multiplications, after which no round begins: a few seconds."""
ROUNDS = 10
NEW_BELIEF_POINTS = 1000  # of a round
SWEEPS = 3  # of a round
EXPLORATION = 0.1  # how often an action is drawn at random on the way to a point
FEW = 32
"""Plans that the lower bound of a search keeps besides repeated actions: each costs time at every particle of a tree."""
REGROUPINGS = 5
_MOST_PLANS = 4000
_MOST_PLAN_BYTES = 1 << 28
_MOST_ENTRIES = 4_000_000  # of all points together
_START = 10_000  # states drawn where a model does not list its initial ones
_PRECISION = 1e-5  # of the range of rewards: what counts as an improvement


class BeliefPoints(Record):
    """Beliefs: point i has the entries from starts[i] to starts[i + 1] of states and weights. The first is the initial one."""

    states: Indices
    weights: Weights
    starts: Indices
    values: Reals
    """[P] of the best plan there."""
    winners: Indices
    """[P] which one that is."""
    before: Reals
    """[P] values when the sweep began."""
    count: Indices
    """[1]"""


def solve(
    model: KernelModel, table: Enumeration, repeated: np.ndarray, first: np.ndarray, progress: Callable[[str], None] = lambda doing: None
) -> dict[str, np.ndarray]:
    """Plans from those that repeat an action on: `values` [S, N] with their `first` actions, and `few` [S, K] with `few_first`.

    Every vector is a lower bound of the optimal value. All of them are a policy: at a belief, the first action of the best. The few
    stand for them in a search. The same model gives the same numbers: time is measured in multiplications.
    """
    problem = write_out(model, table)
    size, actions, seen = problem.likelihoods.shape
    most = max(min(_MOST_PLANS, _MOST_PLAN_BYTES // (8 * size)), 2 * len(first))
    plans = AlphaVectors(values=np.zeros((size, most)), actions=np.full(most, -1, np.int64), count=np.array([len(first)]))
    plans.values[:, : len(first)], plans.actions[: len(first)] = repeated, first
    workspace = Workspace(
        mass=np.zeros(size),
        reached=np.zeros(size, np.int64),
        sums=np.zeros((seen, most)),
        possible=np.zeros(seen, np.bool_),
        follow=np.zeros((actions, seen), np.int64),
        usual=np.zeros((actions, seen), np.int64),
        after=np.zeros(size),
        vector=np.zeros(size),
        work=np.zeros(1),
    )
    points = _initial(model, table, ROUNDS * NEW_BELIEF_POINTS)
    spread = np.ptp(table.rewards[~table.terminal]) if not table.terminal.all() else 0.0
    small = _PRECISION * float(spread)
    longest = math.ceil(math.log(0.01) / math.log(model.discount))
    for round_number in range(ROUNDS):
        progress(f"point-based value iteration, round {round_number + 1} of at most {ROUNDS}")
        _collect(
            problem,
            plans,
            points,
            workspace,
            (round_number + 1) * NEW_BELIEF_POINTS,
            longest,
            EXPLORATION,
            stream(0, "points", round_number),
        )
        for _ in range(SWEEPS):
            rise = _improve(problem, plans, points, workspace, small, len(first))
        if workspace.work[0] > MOST_WORK:
            break
    while rise > small and workspace.work[0] < MOST_WORK:
        rise = _improve(problem, plans, points, workspace, small, len(first))
    count = plans.count[0]
    progress("choosing plans for a search")
    few = _condense(problem, plans, points, workspace, len(first))
    return {
        "values": np.ascontiguousarray(plans.values[:, :count]),
        "first": plans.actions[:count].copy(),
        "few": np.ascontiguousarray(few.values[:, : few.count[0]]),
        "few_first": few.actions[: few.count[0]].copy(),
        "exact": np.array(table.exact),
    }


def is_quick(model: KernelModel, table: Enumeration) -> bool:
    """Whether the model is small enough that the few seconds are well spent on it."""
    likelihoods = observation_probabilities(model, table)
    return likelihoods is not None and likelihoods.size <= QUICK


def write_out(model: KernelModel, table: Enumeration | None = None) -> FiniteModel:
    """The model with its observations; refused where there are too many.

    Observations that were never met are one more, which tells less than they do: what is found for it is a lower bound.
    """
    discount = checked_discount(model)
    table = table or enumerate_model(model)
    likelihoods = observation_probabilities(model, table)
    if likelihoods is None or likelihoods.size > MOST_LIKELIHOODS:
        problem = f"point-based value iteration of {type(model).__name__} needs few observations, all of whole numbers"
        if likelihoods is not None:
            many = " states, {} actions and {} observations".format(*likelihoods.shape[1:])
            problem = f"{type(model).__name__} is too large for point-based value iteration: {len(likelihoods)}{many}"
        raise OptionError(problem, 'choose lower="blind", or a planner that searches, as AIROAS.')
    missed = np.where(table.terminal[:, None], 0.0, 1.0 - likelihoods.sum(axis=2))
    if missed.max() > 1e-9:
        likelihoods = np.concatenate((likelihoods, np.maximum(missed, 0.0)[:, :, None]), axis=2)
    return FiniteModel(
        successors=table.successors,
        probabilities=table.probabilities,
        rewards=table.rewards,
        legal=table.legal,
        terminal=table.terminal,
        likelihoods=likelihoods,
        discount=np.array([discount]),
    )


def _initial(model: KernelModel, table: Enumeration, most: int) -> BeliefPoints:
    """The initial belief, and room for more."""
    start = stream(0, "initial")
    belief = Particles.exact(model) if model.has("exact_initial") else Particles.sample(model, _START, start)
    indices = np.zeros(len(belief.states), np.int64)
    _number(model, belief.states, indices)
    mass = np.bincount(indices, belief.weights, len(table.terminal))
    mass[table.terminal] = 0.0
    states = np.flatnonzero(mass)
    entries = min(most * len(mass), _MOST_ENTRIES) + 2 * len(mass)
    points = BeliefPoints(
        states=np.zeros(entries, np.int64),
        weights=np.zeros(entries),
        starts=np.zeros(most + 1, np.int64),
        values=np.zeros(most),
        winners=np.zeros(most, np.int64),
        before=np.zeros(most),
        count=np.zeros(1, np.int64),
    )
    points.states[: len(states)], points.weights[: len(states)] = states, mass[states] / mass.sum()
    points.starts[1] = len(states)
    return points


def _improve(problem: FiniteModel, plans: AlphaVectors, points: BeliefPoints, workspace: Workspace, small: float, keep: int) -> float:
    """A sweep; then plans that are best at no point go, but for the first ones. How much the mean value rose."""
    count = points.count[0]
    before = points.values[:count].mean()
    states, weights = _mixture(points, np.ones(count, np.bool_), len(workspace.mass))
    _sweep(problem, plans, points, states, weights, workspace, small)
    number, winners = plans.count[0], points.winners[:count]
    used = np.zeros(number, np.bool_)
    used[:keep] = used[winners] = True
    left = np.count_nonzero(used)
    plans.values[:, :left], plans.actions[:left] = plans.values[:, :number][:, used], plans.actions[:number][used]
    plans.count[0] = left
    winners[:] = (np.cumsum(used) - 1)[winners]
    return float(points.values[:count].mean() - before)


def _mixture(points: BeliefPoints, chosen: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The states and weights of some points put together."""
    count = points.count[0]
    inside = np.repeat(chosen, np.diff(points.starts[: count + 1]))
    entries = points.starts[count]
    mass = np.bincount(points.states[:entries][inside], points.weights[:entries][inside], size)
    states = np.flatnonzero(mass)
    return states, mass[states]


def _condense(problem: FiniteModel, plans: AlphaVectors, points: BeliefPoints, workspace: Workspace, keep: int) -> AlphaVectors:
    """The first plans and a few others, in place of all: the points in groups, and for each the plan that is best on average.

    As in k-means, every point then joins the plan that is best for it, and so on: the mean value over all points cannot fall.
    A group may well hold beliefs that observations tell apart: its plan does for each of them what is right for it. The initial
    belief, which every episode begins with, keeps the plan that is best for it, in place of the one that the fewest points join.
    """
    count, number = points.count[0], plans.count[0]
    wins = np.bincount(points.winners[:count], minlength=number)[keep:]
    chosen = np.concatenate((np.arange(keep), keep + np.argsort(-wins, kind="stable")[:FEW]))
    few = AlphaVectors(values=np.ascontiguousarray(plans.values[:, chosen]), actions=plans.actions[chosen], count=np.array([len(chosen)]))
    groups = np.zeros(count, np.int64)
    for _ in range(REGROUPINGS if number > len(chosen) else 0):
        _join(few, points, groups, workspace)
        for k in np.unique(groups[groups >= keep]):
            action = _backup_at_belief(problem, plans, *_mixture(points, groups == k, len(workspace.mass)), workspace)
            if action >= 0:
                few.values[:, k], few.actions[k] = workspace.vector, action
    if number > len(chosen):
        few.values[:, -1], few.actions[-1] = plans.values[:, points.winners[0]], plans.actions[points.winners[0]]
    return few


@kernel
def _number(model: KernelModel, states: Rows, indices: Indices) -> None:
    for i in range(len(states)):
        indices[i] = model.index(model.read_state(states, i))


@kernel
def _collect(
    problem: FiniteModel,
    plans: AlphaVectors,
    points: BeliefPoints,
    workspace: Workspace,
    most: int,
    longest: int,
    exploration: float,
    rng: Rng,
) -> None:
    """Follow the best plans from the initial belief again and again, until there are `most` points or no room for the next.

    Where every episode ends at once, or nothing is legal, there are fewer.
    """
    actions, seen = problem.rewards.shape[1], problem.likelihoods.shape[2]
    for _ in range(most):
        start, end = 0, points.starts[1]
        for _ in range(longest):
            states, weights = points.states[start:end], points.weights[start:end]
            best = best_plan(plans, states, weights, workspace)
            i = points.count[0]
            if i == 0 or start > 0:
                points.values[i], points.winners[i], points.starts[i + 1] = workspace.sums[0, best], best, end
                points.count[0] = i = i + 1
            if i == most or points.starts[i] + len(workspace.mass) > len(points.states):
                return
            a = plans.actions[best]
            if a < 0 or rng.uniform() < exploration:
                a = rng.integer(actions)
            tries = 0
            while tries < actions and not is_legal(problem, states, a):
                a = (a + 1) % actions
                tries += 1
            if tries == actions:
                break
            count = predict(problem, states, weights, a, workspace)
            u, o = rng.uniform(), -1
            while u >= 0.0 and o < seen - 1:
                o += 1
                for e in range(count):
                    u -= workspace.mass[workspace.reached[e]] * problem.likelihoods[workspace.reached[e], a, o]
            start = end = points.starts[i]
            total = 0.0
            for e in range(count):
                s = workspace.reached[e]
                w = workspace.mass[s] * problem.likelihoods[s, a, o]
                workspace.mass[s] = 0.0
                if w > 0.0 and u < 0.0:
                    points.states[end], points.weights[end] = s, w
                    total += w
                    end += 1
            if end == start:  # the episode ended
                break
            for e in range(start, end):
                points.weights[e] /= total


@kernel
def _sweep(
    problem: FiniteModel,
    plans: AlphaVectors,
    points: BeliefPoints,
    mixed: Indices,
    mixed_weights: Weights,
    workspace: Workspace,
    small: float,
) -> None:
    """Back up at every point that no new plan has improved yet. What a point excludes is answered as all of them mixed would.

    Differs: Perseus draws the next point at random and uses the new plans in the next sweep. Here they serve at once, and the last
    points come first, since a belief's value follows from those of the beliefs after it.
    """
    for a in range(problem.rewards.shape[1]):
        choose_plans(problem, plans, a, predict(problem, mixed, mixed_weights, a, workspace), workspace)
        for o in range(len(workspace.possible)):
            workspace.usual[a, o] = workspace.follow[a, o]
    for i in range(points.count[0]):
        points.before[i] = points.values[i]
    for i in range(points.count[0] - 1, -1, -1):
        new = plans.count[0]
        if new == len(plans.actions):
            return
        if points.values[i] > points.before[i] + small:
            continue
        start, end = points.starts[i], points.starts[i + 1]
        states, weights = points.states[start:end], points.weights[start:end]
        a = backup_at_belief(problem, plans, states, weights, workspace)
        if a < 0 or expected_value(workspace.vector, states, weights) <= points.values[i] + small:
            continue
        for s in range(len(workspace.vector)):
            plans.values[s, new] = workspace.vector[s]
        plans.actions[new] = a
        plans.count[0] = new + 1
        for j in range(points.count[0]):
            start, end = points.starts[j], points.starts[j + 1]
            value = expected_value(workspace.vector, points.states[start:end], points.weights[start:end])
            if value > points.values[j]:
                points.values[j], points.winners[j] = value, new
        workspace.work[0] += points.starts[points.count[0]]


@kernel
def _backup_at_belief(problem: FiniteModel, plans: AlphaVectors, states: Indices, weights: Weights, workspace: Workspace) -> int:
    return int(backup_at_belief(problem, plans, states, weights, workspace))


@kernel
def _join(few: AlphaVectors, points: BeliefPoints, groups: Any, workspace: Workspace) -> None:
    """The plan that is best at each point."""
    for i in range(len(groups)):
        start, end = points.starts[i], points.starts[i + 1]
        groups[i] = best_plan(few, points.states[start:end], points.weights[start:end], workspace)
