"""Random finite POMDPs and small models, for bounds."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

import airoas


@airoas.model
class Random(NamedTuple):
    """transitions [S, A, S], likelihoods [S, A, O] of what is observed in the state arrived in, rewards [S, A]."""

    transitions: np.ndarray
    likelihoods: np.ndarray
    rewards: np.ndarray
    discount: float = 0.9

    def prepare(self):
        return {"size": len(self.rewards), "cumulative": self.transitions.cumsum(axis=2), "seen": self.likelihoods.cumsum(axis=2)}

    def actions(self):
        return tuple(f"a{a}" for a in range(self.rewards.shape[1]))

    def initial(self, rng):
        return (rng.integer(self.size),)

    def step(self, s, a, rng):
        u, k = rng.uniform(), 0
        while k < self.size - 1 and u >= self.cumulative[s[0], a, k]:
            k += 1
        return (k,), self.rewards[s[0], a]

    def observe(self, s, a, rng):
        u, k = rng.uniform(), 0
        while k < self.likelihoods.shape[2] - 1 and u >= self.seen[s[0], a, k]:
            k += 1
        return (k,)

    def obs_logpdf(self, o, s, a):
        p = self.likelihoods[s[0], a, o[0]]
        return math.log(p) if p > 0.0 else -math.inf

    def n_states(self):
        return self.size

    def index(self, s):
        return s[0]

    def state(self, i):
        return (i,)

    def successor(self, s, a, k):
        return (k,), self.transitions[s[0], a, k]

    def reward(self, s, a):
        return self.rewards[s[0], a]


def random_model(seed: int, states: int = 3, actions: int = 2, observations: int = 2) -> Any:
    draw = np.random.default_rng(seed)
    transitions = draw.dirichlet(np.full(states, 0.7), (states, actions))
    likelihoods = draw.dirichlet(np.full(observations, 0.7), (states, actions))
    return Random(transitions, likelihoods, draw.normal(size=(states, actions)))


def values_to_horizon(model: Any, belief: np.ndarray, horizon: int) -> float:
    """The optimal value of a belief over so many steps, by going through every action and observation: of all beliefs at a depth at once,
    each times the probability of what was seen on the way."""
    beliefs, earned = belief[None], []
    for _ in range(horizon):
        earned.append(beliefs @ model.rewards)  # [i, a]
        after = np.einsum("is,sax->iax", beliefs, model.transitions)
        beliefs = np.einsum("iax,xao->iaox", after, model.likelihoods).reshape(-1, len(belief))
    values = np.zeros(len(beliefs))
    for rewards in reversed(earned):
        values = (rewards + model.discount * values.reshape(*rewards.shape, -1).sum(axis=2)).max(axis=1)
    return float(values[0])


def corners_and_centre(states: int) -> list[np.ndarray]:
    mixed = [np.full(states, 1.0 / states)]
    return [*np.eye(states), *mixed, *(0.5 * (np.eye(states)[i] + np.eye(states)[j]) for i, j in itertools.combinations(range(states), 2))]


class Blank(NamedTuple):
    y: float
    stopped: int


@airoas.model
class Plain(NamedTuple):
    """LightDark without a hint."""

    step_size: float = 1.0
    discount: float = 0.9

    def actions(self):
        return ("left", "stop", "right")

    def initial(self, rng):
        return Blank(2.0 + 3.0 * rng.normal(), 0)

    def step(self, s, a, rng):
        if s.stopped:
            return s, 0.0
        if a == 1:
            return Blank(s.y, 1), 10.0 if abs(s.y) < 1.0 else -10.0
        return Blank(s.y + (a - 1) * self.step_size, 0), 0.0

    def observe(self, s, a, rng):
        return (s.y + rng.normal(),)

    def obs_logpdf(self, o, s, a):
        return -0.5 * (o[0] - s.y) * (o[0] - s.y) - 0.5 * math.log(2.0 * math.pi)

    def is_terminal(self, s):
        return s.stopped > 0


@airoas.model
class Ladder(NamedTuple):
    """Climb or jump off: no `reward`, so it is averaged over simulated steps; action 1 is illegal at the bottom."""

    discount: float = 0.5

    def actions(self):
        return ("climb", "jump")

    def initial(self, rng):
        return (0,)

    def legal(self, s, a):
        return a == 0 or s[0] > 0

    def is_terminal(self, s):
        return s[0] == 3

    def step(self, s, a, rng):
        if s[0] == 3:
            return s, 0.0
        return ((min(s[0] + 1, 2),), 0.0) if a == 0 else ((3,), 1.0 * s[0])

    def observe(self, s, a, rng):
        return (s[0],)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o[0] == s[0] else -float("inf")

    def n_states(self):
        return 4

    def index(self, s):
        return s[0]

    def state(self, i):
        return (i,)

    def successor(self, s, a, k):
        if s[0] == 3:
            return s, 1.0
        return ((min(s[0] + 1, 2),), 1.0) if a == 0 else ((3,), 1.0)


@airoas.model
class Wide(NamedTuple):
    """Four continuous components that stay; "take" pays their sum, "wait" nothing."""

    discount: float = 0.9

    def actions(self):
        return ("take", "wait")

    def initial(self, rng):
        return rng.normal(), rng.normal(), rng.normal(), rng.normal()

    def step(self, s, a, rng):
        return s, (s[0] + s[1] + s[2] + s[3] if a == 0 else 0.0)

    def observe(self, s, a, rng):
        return (s[0] + rng.normal(),)

    def obs_logpdf(self, o, s, a):
        return -0.5 * (o[0] - s[0]) * (o[0] - s[0]) - 0.5 * math.log(2.0 * math.pi)


@airoas.model
class Noise(NamedTuple):
    """A number that stays and pays 1 or -1, by its sixth digit."""

    discount: float = 0.9

    def actions(self):
        return ("one", "other")

    def initial(self, rng):
        return (rng.uniform(),)

    def step(self, s, a, rng):
        return s, 1.0 if (math.floor(1e6 * s[0]) + a) % 2 == 0 else -1.0

    def observe(self, s, a, rng):
        return (s[0] + rng.normal(),)

    def obs_logpdf(self, o, s, a):
        return -0.5 * (o[0] - s[0]) * (o[0] - s[0]) - 0.5 * math.log(2.0 * math.pi)


@airoas.model
class Over(NamedTuple):
    """Every episode has ended before it begins, and one action is not always legal."""

    discount: float = 0.9

    def actions(self):
        return ("one", "other")

    def initial(self, rng):
        return rng.uniform(), 1

    def legal(self, s, a):
        return a == 0 or s[0] > 0.5

    def step(self, s, a, rng):
        return (s[0], 1), 1.0

    def observe(self, s, a, rng):
        return (s[0],)

    def obs_logpdf(self, o, s, a):
        return 0.0

    def is_terminal(self, s):
        return s[1] > 0
