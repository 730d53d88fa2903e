"""Whether rollouts try repeated actions: what the measurement says of known gains, and of a sign that is near or far."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import stream
from airoas.belief.particles import Particles
from airoas.planners import AIROAS
from airoas.policies import learned
from airoas.policies.qmdp import make_policy
from airoas.policies.repeats import WORLDS, gain_at, repeating_gains
from airoas.policies.rollout import Candidate, repeated


class Scripted:
    """Two actions; what repeating the second gains is known but for chance."""

    horizon = 40

    def __init__(self, gain: float) -> None:
        self.policy = SimpleNamespace(actions=np.arange(2.0)[:, None])
        self.gain, self.rng = gain, np.random.default_rng(0)

    def act(self, *belief: Any) -> tuple[int, float, float]:
        return 0, 1.0, 0.0

    def legal(self) -> np.ndarray:
        return np.ones(2, np.bool_)

    def promising(self, *belief: Any) -> list[int]:
        return [0, 1]

    def returns(self, candidates: list[Candidate], belief: Any, worlds: int, cut: int, seed: int) -> np.ndarray:
        gains = [self.gain if len(one.actions) > 1 and one.actions[0, 0] == 1.0 else 0.0 for one in candidates]
        return np.array(gains)[:, None] + self.rng.normal(size=(len(candidates), worlds))


@pytest.mark.parametrize("gain", [0.0, 5.0])
def test_what_is_chosen_is_compared_in_other_worlds(gain: float) -> None:
    """So the mean is right though the best of noisy candidates is taken: within four standard errors, a false alarm of 6e-5."""
    rollouts: Any = Scripted(gain)
    states, weights = np.zeros((2, 1)), np.full(2, 0.5)
    results = [gain_at(rollouts, states, weights, lambda tried: repeated(rollouts.policy.actions[tried]), 0) for _ in range(2000)]
    gains, chosen = np.array([one[0] for one in results]), np.array([one[1] for one in results])
    assert abs(gains.mean() - gain) < 4.0 * gains.std() / np.sqrt(len(gains))
    assert gains.std() < 2.0 / np.sqrt(WORLDS // 2)  # of two means
    assert chosen.mean() == (1.0 if gain > 0.0 else pytest.approx(0.5, abs=0.05))  # four errors and more


@airoas.model
class Sign(NamedTuple):
    """Which of two doors, at both ends of a corridor's other branch, is the right one, is written on a sign some steps away, where the
    corridor ends: else there would be a place for each step that can be simulated."""

    far: int = 7
    discount: float = 0.98
    max_steps: int = 40

    def actions(self):
        return ("to the sign", "back", "left door", "right door")

    def initial(self, rng):
        return 0, rng.integer(2), 0  # how far from the doors, which one is right, over?

    def step(self, s, a, rng):
        if a < 2:
            return (min(max(0, s[0] + 1 - 2 * a), self.far), s[1], 0), -0.1
        right = s[0] == 0 and s[1] == a - 2
        return (s[0], s[1], 1), 10.0 if right else -10.0

    def observe(self, s, a, rng):
        return (s[1] if s[0] >= self.far else -1,)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o[0] == (s[1] if s[0] >= self.far else -1) else -np.inf

    def is_terminal(self, s):
        return s[2] == 1


def test_a_far_sign_is_reached_by_repeating_and_a_near_one_without() -> None:
    for model, gains in ((Sign(7), True), (Sign(1), False)):
        belief = Particles.sample(model, 200, stream(0))
        visited = [(np.array(belief.states), np.array(belief.weights))] * 12
        assert repeating_gains(model, make_policy(model), visited, 1e6) is gains


def test_nothing_is_tried_where_no_belief_was_met() -> None:
    assert not repeating_gains(Sign(), make_policy(Sign()), [], 1.0)


def test_the_way_to_a_far_sign_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it comes: 14 steps and a right door earn 6.2, a door by chance nothing."""
    monkeypatch.setattr(learned, "ROUNDS", (1000,))
    model, planner = Sign(), AIROAS(iterations=50, policy="always", learn_seconds=1e6)  # rounds end it, not time
    planner.prepare(model)
    returns = [airoas.simulate(model, planner, seed=seed, particles=200).discounted_return for seed in range(4)]
    assert min(returns) > 6.0
