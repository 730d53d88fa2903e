"""Planning that goes on while the robot moves: the same answers, earlier."""

from dataclasses import dataclass, field

import pytest

import airoas
from airoas import Particles
from airoas.belief.prediction import likely_observations
from airoas.domains import LightDark, Tiger
from airoas.planners import POMCP, Random

LISTEN = 0


@dataclass
class Counting:
    """POMCP, and how often it was asked."""

    planner: POMCP = field(default_factory=lambda: POMCP(iterations=200))
    asked: int = 0

    def plan(self, model, belief, rng):
        self.asked += 1
        return self.planner.plan(model, belief, rng)


def run(times, heard=(0, 0, 1, 0, 0)):
    """What an agent does, believes and is surprised by, and how often it planned in `act`; it thinks so many times before each."""
    planner, told, late = Counting(), [], 0
    agent = airoas.Agent(Tiger(), planner, seed=3, filter="bootstrap", particles=300)
    for side in heard:
        before = planner.asked
        decision = agent.act()
        late += planner.asked - before
        for _ in range(times):
            agent.think()
        agent.observe((side,))
        told.append((decision.action, decision.value, agent.belief.states.tobytes(), agent.belief.weights.tobytes(), agent.surprise))
    return told, late


def test_answers_are_the_same_and_there_at_once():
    slow, asked = run(0)
    assert asked == 5
    fast, asked = run(2)  # both observations
    assert fast == slow
    assert asked == 1  # before the first there was nothing to think of
    some, asked = run(1)  # the likelier one
    assert some == slow
    assert 1 < asked < 5


def test_there_is_an_end_to_thinking():
    agent = airoas.Agent(Tiger(), Counting(), seed=0, particles=100)
    with pytest.raises(airoas.OptionError, match="act"):
        agent.think()
    agent.act()
    assert agent.think()
    assert not agent.think()
    assert not agent.think()
    assert agent.planner.asked == 3


def test_what_was_done_instead_was_not_thought_of():
    agent = airoas.Agent(Tiger(), Counting(), seed=0, filter="bootstrap", particles=100)
    assert agent.act().action == LISTEN
    while agent.think():
        pass
    agent.observe((0,), action=1)
    asked = agent.planner.asked
    agent.act()
    assert agent.planner.asked == asked + 1


def test_another_decision_begins_again():
    agent = airoas.Agent(Tiger(), Counting(), seed=0, particles=100)
    agent.act()
    agent.think()
    agent.act()
    assert agent.think()  # from the start again


def test_continuous_observations_are_not_thought_of():
    agent = airoas.Agent(LightDark(), Random(), seed=0, particles=100)
    agent.act()
    assert not agent.think()
    assert likely_observations(LightDark(), agent.belief, 0, airoas.stream(0)) == []


def test_the_likeliest_comes_first():
    belief = Particles([[0.0]] * 9 + [[1.0]])
    assert likely_observations(Tiger(), belief, LISTEN, airoas.stream(0)) == [(0,), (1,)]
