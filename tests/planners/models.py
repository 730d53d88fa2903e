"""Two families of models for the tests of all planners: finite ones by their tables, and one with a continuous state.

Fields are run-time parameters, so that one compilation serves every model of a family, whatever its size.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import airoas


class Number(NamedTuple):
    number: int


@airoas.model
class Table(NamedTuple):
    """S states, A actions, O observations."""

    moves: np.ndarray
    """[S, A, S] chance of each successor."""
    sees: np.ndarray
    """[S, A, O] chance of each observation in the state arrived in."""
    pays: np.ndarray
    """[S, A]"""
    ends: np.ndarray
    """[S] 1 where terminal."""
    allows: np.ndarray
    """[S, A] 1 where legal."""
    discount: float = 0.9

    def prepare(self):
        with np.errstate(divide="ignore"):
            return {"reached": self.moves.cumsum(axis=2), "seen": self.sees.cumsum(axis=2), "logs": np.log(self.sees)}

    def actions(self):
        return tuple(f"a{a}" for a in range(self.pays.shape[1]))

    def initial(self, rng):
        return Number(rng.integer(len(self.ends)))

    def step(self, s, a, rng):
        u, k = rng.uniform(), 0
        while k < len(self.ends) - 1 and u >= self.reached[s.number, a, k]:
            k += 1
        return Number(k), self.pays[s.number, a]

    def observe(self, s, a, rng):
        u, k = rng.uniform(), 0
        while k < self.seen.shape[2] - 1 and u >= self.seen[s.number, a, k]:
            k += 1
        return Number(k)

    def obs_logpdf(self, o, s, a):
        return self.logs[s.number, a, o.number]

    def is_terminal(self, s):
        return self.ends[s.number] > 0.0

    def legal(self, s, a):
        return self.allows[s.number, a] > 0.0

    def cell(self, s):
        return s.number

    def n_states(self):
        return len(self.ends)

    def index(self, s):
        return s.number

    def state(self, i):
        return Number(i)

    def successor(self, s, a, k):
        return Number(k), self.moves[s.number, a, k]

    def reward(self, s, a):
        return self.pays[s.number, a]


def table(moves: Any, sees: Any, pays: Any, ends: Any = None, allows: Any = None, discount: float = 0.9) -> Any:
    """A model of these tables; by default nothing ends it and everything is legal."""
    pays = np.asarray(pays, float)
    ends = np.zeros(len(pays)) if ends is None else np.asarray(ends, float)
    allows = np.ones(pays.shape) if allows is None else np.asarray(allows, float)
    return Table(np.asarray(moves, float), np.asarray(sees, float), pays, ends, allows, discount)


def tiger(accuracy: float = 0.85, discount: float = 0.95, more: float = 0.0) -> Any:
    """Listen, open left, open right; the tiger is left (0) or right (1), and is placed anew behind an opened door. What is free on
    the right pays so much more, for tests in which a tie would be settled by rounding."""
    stay, anew = np.eye(2), np.full((2, 2), 0.5)
    heard = np.array([[accuracy, 1.0 - accuracy], [1.0 - accuracy, accuracy]])
    moves = np.stack([stay, anew, anew], axis=1)
    sees = np.stack([heard, anew, anew], axis=1)
    return table(moves, sees, [[-1.0, -100.0, 10.0 + more], [-1.0, 10.0, -100.0]], discount=discount)


def one_step(actions: int = 3, discount: float = 0.9) -> Any:
    """Whatever is done ends it. Two states, and action a pays a in the first and 2 (actions - 1 - a) in the second."""
    moves = np.zeros((3, actions, 3))
    moves[:, :, 2] = 1.0
    pays = np.zeros((3, actions))
    pays[0], pays[1] = np.arange(actions), 2.0 * np.arange(actions)[::-1]
    return table(moves, np.ones((3, actions, 1)), pays, ends=[0, 0, 1], discount=discount)


def walk(actions: int = 2, discount: float = 0.9, states: int = 4) -> Any:
    """A corridor: even actions lead right, odd ones left; the last state is the end. A step costs 1 and a little for a high
    number, an arrival pays 5. The place is seen in nine cases of ten, else the one before it."""
    moves, sees = np.zeros((states, actions, states)), np.zeros((states, actions, states))
    pays = np.empty((states, actions))
    for s in range(states):
        for a in range(actions):
            to = min(s + 1, states - 1) if a % 2 == 0 else max(s - 1, 0)
            moves[s, a, states - 1 if s == states - 1 else to] = 1.0
            pays[s, a] = 0.0 if s == states - 1 else (4.0 if to == states - 1 else -1.0) - 0.001 * a
            sees[s, a, s] += 0.9
            sees[s, a, max(s - 1, 0)] += 0.1
    ends = np.zeros(states)
    ends[-1] = 1.0
    return table(moves, sees, pays, ends, discount=discount)


def random_table(seed: int, states: int = 3, actions: int = 2, observations: int = 2, discount: float = 0.7) -> Any:
    draw = np.random.default_rng(seed)
    moves = draw.dirichlet(np.full(states, 0.7), (states, actions))
    sees = draw.dirichlet(np.full(observations, 0.7), (states, actions))
    return table(moves, sees, draw.normal(size=(states, actions)), discount=discount)


class Spot(NamedTuple):
    x: float
    done: int


class Sound(NamedTuple):
    x: float


@airoas.model
class Beacon(NamedTuple):
    """Go to within 1 of 0 and stop there, which pays 10, or -10 elsewhere. The place is heard through noise."""

    noise: float = 0.3
    discount: float = 0.9

    def actions(self):
        return ("left", "stop", "right")

    def initial(self, rng):
        return Spot(1.0 + 2.0 * rng.normal(), 0)

    def step(self, s, a, rng):
        if s.done:
            return s, 0.0
        if a == 1:
            return Spot(s.x, 1), 10.0 if abs(s.x) < 1.0 else -10.0
        return Spot(s.x + (a - 1) + 0.1 * rng.normal(), 0), -0.5

    def observe(self, s, a, rng):
        return Sound(s.x + self.noise * rng.normal())

    def obs_logpdf(self, o, s, a):
        z = (o.x - s.x) / self.noise
        return -0.5 * z * z - math.log(self.noise)

    def is_terminal(self, s):
        return s.done > 0

    def value_bounds(self, s):
        return -10.0, 10.0

    def cell(self, s):
        return math.floor(s.x)


def tiger_value(left: float, steps: int, end: float, model: Any) -> float:
    """The best value of so many more actions in `tiger` when the tiger is on the left with this probability, and every belief
    after them is worth `end`."""
    if steps == 0:
        return end
    accuracy = float(model.sees[0, 0, 0])
    opened = model.discount * tiger_value(0.5, steps - 1, end, model)
    best = max(-100.0 * left + 10.0 * (1.0 - left), 10.0 * left - 100.0 * (1.0 - left)) + opened
    listen = -1.0
    for right, wrong in ((accuracy, 1.0 - accuracy), (1.0 - accuracy, accuracy)):
        probability = left * right + (1.0 - left) * wrong
        listen += model.discount * probability * tiger_value(left * right / probability, steps - 1, end, model)
    return max(best, listen)


def fork() -> Any:
    """Look (pays -1 and shows which of two states it is), or take the first or the second: 10 for the right one, -10 for the
    wrong one, and it is over. Discount 1/2."""
    moves = np.zeros((3, 3, 3))
    moves[:, 0] = np.eye(3)
    moves[:, 1:, 2] = 1.0
    pays = [[-1.0, 10.0, -10.0], [-1.0, -10.0, 10.0], [0.0, 0.0, 0.0]]
    return table(moves, np.stack([np.eye(3)] * 3, axis=1), pays, ends=[0, 0, 1], discount=0.5)


def coin(discount: float = 0.5) -> Any:
    """One state, nothing to see. Action 0 pays nothing, action 1 pays 1."""
    return table(np.ones((1, 2, 1)), np.ones((1, 2, 1)), [[0.0, 1.0]], discount=discount)
