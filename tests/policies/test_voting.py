"""Voting: the action that is best in most of the particles. It ends what QMDP puts off for ever, and is taken where that earns more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Particles, stream
from airoas.planners import AIROAS
from airoas.policies import learned
from airoas.policies.belief_mdp import choose_one
from airoas.policies.qmdp import make_policy
from airoas.policies.runs import VOTING, make_runs
from airoas.policies.validation import validate


@airoas.model
class Boxes(NamedTuple):
    """In which of some boxes is it? A look costs little and tells nothing, but QMDP thinks that all is known after it."""

    boxes: int = 5
    prize: float = 10.0
    discount: float = 0.9
    max_steps: int = 30

    def actions(self):
        return ("look", *(f"open {k}" for k in range(self.boxes)))

    def initial(self, rng):
        return rng.integer(self.boxes), 0

    def step(self, s, a, rng):
        if a == 0:
            return s, -0.1
        return (s[0], 1 if a - 1 == s[0] else 0), self.prize - 1.0 if a - 1 == s[0] else -1.0

    def observe(self, s, a, rng):
        return (a,)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o[0] == a and not (a > 0 and a - 1 == s[0]) else -np.inf

    def is_terminal(self, s):
        return s[1] == 1


def belief_of(targets: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    states = np.array([[target, 0.0] for target in targets])
    return states, np.full(len(states), 1.0 / len(states)), np.zeros(len(states), np.int64)


def test_the_box_of_most_particles_is_opened() -> None:
    model = Boxes()
    states, weights, labels = belief_of([2] * 40 + [0] * 30 + [4] * 30)
    chosen = []
    for policy in (make_policy(model), make_policy(model, way=VOTING)):
        policy.scored = 96
        chosen.append(choose_one(policy, make_runs(model, policy, 1, 1000), states, weights, labels, 1))
    assert chosen == [0, 3]


def test_every_particle_has_a_vote() -> None:
    model = Boxes()
    policy = make_policy(model, way=VOTING)
    policy.scored = 96
    runs = make_runs(model, policy, 1, 1000)
    states, weights, labels = belief_of([2] * 60 + [4] * 40)
    assert choose_one(policy, runs, states, weights, labels, 1) == 3
    assert runs.votes.sum() == 96
    assert runs.votes[3] > runs.votes[5] > 20


def test_it_earns_what_qmdp_does_not() -> None:
    """Boxes one by one: found after 3 on the average; looking for ever costs 1."""
    model = Boxes()
    belief = Particles.sample(model, 1000, stream(0))
    returns, _ = validate(model, None, np.array(belief.states), belief.weights)
    assert returns["qmdp"] == (pytest.approx(-1.0, abs=0.1), pytest.approx(0.0, abs=1e-9))
    assert returns["voting"][0] > 4.0
    assert "learned" not in returns


def test_with_many_actions_it_leads(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is learned of so many, and the best of the rest is found all the same. 40 at most, and here 10, for less work."""
    assert learned.MOST_ACTIONS == 40
    monkeypatch.setattr(learned, "MOST_ACTIONS", 10)
    model = Boxes(boxes=learned.MOST_ACTIONS + 1, prize=100.0, discount=0.97)
    planner = AIROAS(iterations=5, policy="always", learn_seconds=2.0)
    planner.prepare(model)
    known = learned.find_learned(model)
    assert known is not None
    assert (known.policy, known.rounds, known.is_enough(1e9)) == ("voting", 0, True)
    assert "No policy is learned for Boxes, voting leads: it has 12 actions, more than 10." in caplog.messages
    decision = planner.plan(model, Particles.sample(model, 100, stream(0)), stream(0))
    assert decision.stats.notes["policy"] == "voting, 0 rounds, "
