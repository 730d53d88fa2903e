"""Closed-loop plans of a finite model as alpha vectors, and the best new one at a belief.

A plan is an action and, for every observation, the plan that follows. Its value is linear in the belief: an alpha vector over states. A
backup (Smallwood and Sondik, 1973) makes the best plan at a belief out of those that are known. Its vector is exact in every state,
so that it is a lower bound at every belief, whichever one it was made for.
"""

from __future__ import annotations

import math

import numpy as np

from airoas.bounds.sides import ILLEGAL
from airoas.compiler.kernels import Record
from airoas.compiler.specialise import noinline
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Weights


class FiniteModel(Record):
    """A finite model written out; see `airoas.bounds.finite.enumeration`."""

    successors: np.ndarray
    probabilities: np.ndarray
    rewards: Matrix
    legal: np.ndarray
    terminal: Mask
    likelihoods: np.ndarray
    """[S, A, O] of each observation in the state arrived in; none in a terminal one, for the end of an episode is observed."""
    discount: Reals
    """[1]"""


class AlphaVectors(Record):
    """Closed-loop plans: the first `count` of N alpha vectors."""

    values: Matrix
    """[S, N]; ILLEGAL where the plan cannot be followed."""
    actions: Indices
    """[N] what each does first; -1 where it is not tied to one."""
    count: Indices
    """[1]"""


class Workspace(Record):
    """What a backup works in."""

    mass: Weights
    """[S] the belief after an action; 0 between uses."""
    reached: Indices
    """[S] the states where it is not."""
    sums: Matrix
    """[O, N] the value of each plan, with each observation."""
    possible: Mask
    """[O] whether it can be seen."""
    follow: np.ndarray
    """[A, O] the best plan to follow."""
    usual: np.ndarray
    """[A, O] the one to follow after what cannot be seen from the belief at hand."""
    after: Reals
    """[S] value of having arrived."""
    vector: Reals
    """[S] the plan made."""
    work: Reals
    """[1] multiplications so far: time as no machine changes it."""


@noinline
def predict(problem: FiniteModel, states: Indices, weights: Weights, a: int, workspace: Workspace) -> int:
    """Puts the live part of a belief after an action into `mass`; the number of states it has."""
    count = 0
    for e in range(len(states)):
        for k in range(problem.successors.shape[2]):
            s = problem.successors[states[e], a, k]
            p = weights[e] * problem.probabilities[states[e], a, k]
            if p > 0.0 and not problem.terminal[s]:
                if workspace.mass[s] == 0.0:
                    workspace.reached[count] = s
                    count += 1
                workspace.mass[s] += p
    workspace.work[0] += len(states) * problem.successors.shape[2]
    return count


@noinline
def choose_plans(problem: FiniteModel, plans: AlphaVectors, a: int, count: int, workspace: Workspace) -> float:
    """The plan to `follow` after each observation, and their value together; takes the `count` states out of `mass`."""
    number = plans.count[0]
    for o in range(len(workspace.possible)):
        workspace.possible[o] = False
    for e in range(count):
        s = workspace.reached[e]
        row = plans.values[s]
        for o in range(len(workspace.possible)):
            w = workspace.mass[s] * problem.likelihoods[s, a, o]
            if w > 0.0:
                sums = workspace.sums[o]
                if workspace.possible[o]:
                    for k in range(number):
                        sums[k] += w * row[k]
                else:
                    for k in range(number):
                        sums[k] = w * row[k]
                    workspace.possible[o] = True
                workspace.work[0] += number
        workspace.mass[s] = 0.0
    total = 0.0
    for o in range(len(workspace.possible)):
        workspace.follow[a, o] = workspace.usual[a, o]
        if workspace.possible[o]:
            best = largest(workspace.sums[o], number)
            workspace.follow[a, o] = best
            total += workspace.sums[o, best]
    workspace.work[0] += count * len(workspace.possible)
    return total


@noinline
def backup_at_belief(problem: FiniteModel, plans: AlphaVectors, states: Indices, weights: Weights, workspace: Workspace) -> int:
    """The best plan at a belief, or for several together, into `vector`; its first action, -1 where none is legal."""
    best, most = -1, -math.inf
    for a in range(problem.rewards.shape[1]):
        if is_legal(problem, states, a):
            value = 0.0
            for e in range(len(states)):
                value += weights[e] * problem.rewards[states[e], a]
            count = predict(problem, states, weights, a, workspace)
            value += problem.discount[0] * choose_plans(problem, plans, a, count, workspace)
            if value > most:
                best, most = a, value
    if best >= 0:
        make_vector(problem, plans, best, workspace)
    return best


@noinline
def make_vector(problem: FiniteModel, plans: AlphaVectors, a: int, workspace: Workspace) -> None:
    """The value in every state of an action and then the plans to `follow`."""
    for s in range(len(workspace.after)):
        workspace.after[s] = 0.0
        for o in range(len(workspace.possible)):
            likelihood = problem.likelihoods[s, a, o]
            if likelihood > 0.0 and workspace.after[s] > ILLEGAL:
                value = plans.values[s, workspace.follow[a, o]]
                workspace.after[s] = workspace.after[s] + likelihood * value if value > ILLEGAL else ILLEGAL
    for s in range(len(workspace.vector)):
        value = 0.0
        if not problem.terminal[s]:
            value = problem.rewards[s, a] if problem.legal[s, a] else ILLEGAL
            for k in range(problem.successors.shape[2]):
                p = problem.probabilities[s, a, k]
                if p > 0.0 and value > ILLEGAL:
                    after = workspace.after[problem.successors[s, a, k]]
                    value = value + problem.discount[0] * p * after if after > ILLEGAL else ILLEGAL
        workspace.vector[s] = value
    workspace.work[0] += len(workspace.vector) * (problem.successors.shape[2] + len(workspace.possible))


def is_legal(problem: FiniteModel, states: Indices, a: int) -> bool:
    """Whether every state allows the action."""
    for e in range(len(states)):  # noqa: SIM110
        if not problem.legal[states[e], a]:
            return False
    return True


def best_plan(plans: AlphaVectors, states: Indices, weights: Weights, workspace: Workspace) -> int:
    """The plan that is worth most at a belief; what each is worth is left in sums[0]."""
    number, sums = plans.count[0], workspace.sums[0]
    for k in range(number):
        sums[k] = 0.0
    for e in range(len(states)):
        row = plans.values[states[e]]
        for k in range(number):
            sums[k] += weights[e] * row[k]
    workspace.work[0] += len(states) * number
    return largest(sums, number)


def largest(values: Reals, number: int) -> int:
    best = 0
    for k in range(1, number):
        if values[k] > values[best]:
            best = k
    return best


def expected_value(vector: Reals, states: Indices, weights: Weights) -> float:
    """The value of a plan at a belief."""
    total = 0.0
    for e in range(len(states)):
        total += weights[e] * vector[states[e]]
    return total
