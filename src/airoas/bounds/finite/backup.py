"""Plans of a finite model that look before they act, as vectors, and the best new one at a belief.

A plan is an action and, for every observation, the plan that follows. Its value is linear in the belief: a vector over states.
A backup (Sondik) makes the best plan at a belief out of those that are known. Its vector is exact in every state, so that it is a
lower bound at every belief, whichever one it was made for.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.bounds.sides import ILLEGAL
from airoas.compiler.kernels import Record
from airoas.compiler.specialise import noinline


class Problem(Record):
    """A finite model written out; see `airoas.bounds.finite.enumeration`."""

    successors: Any
    probabilities: Any
    rewards: Any
    legal: Any
    terminal: Any
    chances: Any
    """[S, A, O] of each observation in the state arrived in; none in a terminal one, for that the episode ended is seen."""
    discount: Any
    """[1]"""


class Plans(Record):
    """The first `count` of N vectors."""

    values: Any
    """[S, N]; ILLEGAL where the plan cannot be followed."""
    actions: Any
    """[N] what each does first; -1 where it is not tied to one."""
    count: Any
    """[1]"""


class Room(Record):
    """What a backup works in."""

    mass: Any
    """[S] the belief after an action; 0 between uses."""
    reached: Any
    """[S] the states where it is not."""
    sums: Any
    """[O, N] the value of each plan, with each observation."""
    possible: Any
    """[O] whether it can be seen."""
    follow: Any
    """[A, O] the best plan to follow."""
    usual: Any
    """[A, O] the one to follow after what cannot be seen from the belief at hand."""
    after: Any
    """[S] value of having arrived."""
    vector: Any
    """[S] the plan made."""
    work: Any
    """[1] multiplications so far: time as no machine changes it."""


@noinline
def predict(problem: Problem, states: Any, weights: Any, a: int, room: Room) -> int:
    """Puts the live part of a belief after an action into `mass`; the number of states it has."""
    count = 0
    for e in range(len(states)):
        for k in range(problem.successors.shape[2]):
            s = problem.successors[states[e], a, k]
            p = weights[e] * problem.probabilities[states[e], a, k]
            if p > 0.0 and not problem.terminal[s]:
                if room.mass[s] == 0.0:
                    room.reached[count] = s
                    count += 1
                room.mass[s] += p
    room.work[0] += len(states) * problem.successors.shape[2]
    return count


@noinline
def choose_plans(problem: Problem, plans: Plans, a: int, count: int, room: Room) -> float:
    """The plan to `follow` after each observation, and what they are worth together; takes the `count` states out of `mass`."""
    number = plans.count[0]
    for o in range(len(room.possible)):
        room.possible[o] = False
    for e in range(count):
        s = room.reached[e]
        row = plans.values[s]
        for o in range(len(room.possible)):
            w = room.mass[s] * problem.chances[s, a, o]
            if w > 0.0:
                sums = room.sums[o]
                if room.possible[o]:
                    for k in range(number):
                        sums[k] += w * row[k]
                else:
                    for k in range(number):
                        sums[k] = w * row[k]
                    room.possible[o] = True
                room.work[0] += number
        room.mass[s] = 0.0
    total = 0.0
    for o in range(len(room.possible)):
        room.follow[a, o] = room.usual[a, o]
        if room.possible[o]:
            best = largest(room.sums[o], number)
            room.follow[a, o] = best
            total += room.sums[o, best]
    room.work[0] += count * len(room.possible)
    return total


@noinline
def back_up(problem: Problem, plans: Plans, states: Any, weights: Any, room: Room) -> int:
    """The best plan at a belief, or for several together, into `vector`; its first action, -1 where none is legal."""
    best, most = -1, -math.inf
    for a in range(problem.rewards.shape[1]):
        if is_legal(problem, states, a):
            value = 0.0
            for e in range(len(states)):
                value += weights[e] * problem.rewards[states[e], a]
            count = predict(problem, states, weights, a, room)
            value += problem.discount[0] * choose_plans(problem, plans, a, count, room)
            if value > most:
                best, most = a, value
    if best >= 0:
        make_vector(problem, plans, best, room)
    return best


@noinline
def make_vector(problem: Problem, plans: Plans, a: int, room: Room) -> None:
    """The value in every state of an action and then the plans to `follow`."""
    for s in range(len(room.after)):
        room.after[s] = 0.0
        for o in range(len(room.possible)):
            chance = problem.chances[s, a, o]
            if chance > 0.0 and room.after[s] > ILLEGAL:
                value = plans.values[s, room.follow[a, o]]
                room.after[s] = room.after[s] + chance * value if value > ILLEGAL else ILLEGAL
    for s in range(len(room.vector)):
        value = 0.0
        if not problem.terminal[s]:
            value = problem.rewards[s, a] if problem.legal[s, a] else ILLEGAL
            for k in range(problem.successors.shape[2]):
                p = problem.probabilities[s, a, k]
                if p > 0.0 and value > ILLEGAL:
                    after = room.after[problem.successors[s, a, k]]
                    value = value + problem.discount[0] * p * after if after > ILLEGAL else ILLEGAL
        room.vector[s] = value
    room.work[0] += len(room.vector) * (problem.successors.shape[2] + len(room.possible))


def is_legal(problem: Problem, states: Any, a: int) -> bool:
    """Whether every state allows the action."""
    for e in range(len(states)):  # noqa: SIM110
        if not problem.legal[states[e], a]:
            return False
    return True


def best_plan(plans: Plans, states: Any, weights: Any, room: Room) -> int:
    """The plan that is worth most at a belief; what each is worth is left in sums[0]."""
    number, sums = plans.count[0], room.sums[0]
    for k in range(number):
        sums[k] = 0.0
    for e in range(len(states)):
        row = plans.values[states[e]]
        for k in range(number):
            sums[k] += weights[e] * row[k]
    room.work[0] += len(states) * number
    return largest(sums, number)


def largest(values: Any, number: int) -> int:
    best = 0
    for k in range(1, number):
        if values[k] > values[best]:
            best = k
    return best


def worth(vector: Any, states: Any, weights: Any) -> float:
    """The value of a plan at a belief."""
    total = 0.0
    for e in range(len(states)):
        total += weights[e] * vector[states[e]]
    return total
