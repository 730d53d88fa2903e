"""`Agent`: a planner with its belief."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from models import Beacon, tiger, walk

import airoas
from airoas import Agent, Particles, stream
from airoas.domains import Tiger
from airoas.errors import OptionError
from airoas.planners import POMCP, QMDP, Decision, Random, Stats


class Told:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.draws: list[int] = []

    def plan(self, model, belief, rng):
        self.draws.append(rng.bits(30))
        return Random().plan(model, belief, stream(0))


def test_acts_and_observes() -> None:
    model = Tiger()
    agent = Agent(model, QMDP(), seed=3, filter="exact")
    assert agent.belief.weights.tolist() == [0.5, 0.5]
    decision = agent.act()
    assert decision.action == 0
    after = agent.observe((0,))
    assert after is agent.belief
    assert agent.steps == 1
    assert agent.recovery == ""
    assert after.weights == pytest.approx([0.85, 0.15])
    agent.act()
    agent.observe((0,))
    odds = (0.85 / 0.15) ** 2
    assert agent.belief.weights == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])


class Slow:
    """Says nothing of its time, or what it is told to say."""

    def __init__(self, stats: Stats) -> None:
        self.stats = stats

    def plan(self, model, belief, rng):
        time.sleep(0.02)
        return Decision(1, 0.5, stats=self.stats)


def test_a_planner_need_not_measure_itself() -> None:
    def seconds(stats: Stats) -> list[float]:
        agent = Agent(Tiger(), Slow(stats), seed=3, filter="exact")
        episode = airoas.simulate(Tiger(), Slow(stats), 3, "exact", max_steps=2)
        return [agent.act().stats.seconds, *(step.decision.stats.seconds for step in episode.trace)]

    assert all(0.02 <= value < 20.0 for value in seconds(Stats("done")))
    assert all(0.01 <= value < 20.0 for value in seconds(Stats("done", preparation=0.01)))
    assert set(seconds(Stats("done", 7.0))) == {7.0}
    decision = Agent(Tiger(), Slow(Stats("mine", notes={"a": 1})), seed=3, filter="exact").act()
    assert (decision.action, decision.value, decision.stats.stop, decision.stats.notes) == (1, 0.5, "mine", {"a": 1})


def test_what_was_done_may_differ_from_what_was_said() -> None:
    agent = Agent(Tiger(), QMDP(), seed=3, filter="exact")
    assert agent.act().action == 0
    agent.observe((0,), action=1)  # a door was opened: the tiger is anywhere again
    assert agent.belief.weights == pytest.approx([0.5, 0.5])


def test_action_zero_is_an_action() -> None:
    agent = Agent(Tiger(), QMDP(), seed=3, filter="exact")
    agent.observe((1,), action=0)
    assert agent.belief.weights == pytest.approx([0.15, 0.85])


def test_nothing_was_done() -> None:
    agent = Agent(Tiger(), QMDP(), seed=3)
    with pytest.raises(OptionError, match=r"act\(\) first"):
        agent.observe((0,))
    agent.act()
    agent.observe((0,))
    with pytest.raises(OptionError, match=r"act\(\) first"):
        agent.observe((0,))


def test_streams_follow_seed_and_step() -> None:
    planner = Told()
    agent = Agent(tiger(), planner, seed=5)
    agent.act()
    agent.act()  # asked again: found anew, the same way
    agent.observe((0,))
    agent.act()
    first, again, later = planner.draws
    assert first == again == stream(5, "planner", 0).bits(30)
    assert later == stream(5, "planner", 1).bits(30)


def test_same_seed_same_life() -> None:
    model = Beacon()

    def live(seed: int) -> tuple[list[int], np.ndarray]:
        agent = Agent(model, POMCP(iterations=200, c=10.0), seed, filter="bootstrap", particles=300)
        actions = []
        for step in range(3):
            actions.append(agent.act().action)
            agent.observe((0.5 + step,), action=0)
        return actions, agent.belief.states

    (actions, states), (again, same), (_, other) = live(1), live(1), live(2)
    assert actions == again
    assert np.array_equal(states, same)
    assert not np.array_equal(states, other)


def test_resumes_from_a_saved_belief(tmp_path) -> None:
    model = walk()
    agent = Agent(model, QMDP(), seed=1, filter="bootstrap", particles=200)
    agent.act()
    agent.observe((1,), action=0)
    agent.belief.save(tmp_path / "belief.npz")
    resumed = Agent(model, QMDP(), seed=1, filter="bootstrap", belief=Particles.load(tmp_path / "belief.npz"))
    assert np.array_equal(resumed.belief.states, agent.belief.states)
    assert resumed.act().action == agent.act().action


def test_simulate_is_an_agent_in_its_world() -> None:
    """The same decisions and beliefs as by hand."""
    model, planner = Tiger(), POMCP(iterations=100, c=100.0, max_depth=5)
    episode = airoas.simulate(model, planner, seed=4, filter="exact", max_steps=5)
    agent = Agent(model, planner, seed=4, filter="exact")
    assert episode.steps == 5
    for step in episode.trace:
        assert agent.act().action == step.action
        agent.observe(step.observation)


def test_refuses() -> None:
    with pytest.raises(OptionError, match="Use at least 1"):
        Agent(Tiger(), QMDP(), seed=0, particles=0)
    with pytest.raises(OptionError, match="filter"):
        Agent(Tiger(), QMDP(), seed=0, filter="kalman")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"false_alarms": "x"}, "false_alarms is 'x'. Give a number"),
        ({"false_alarms": True}, "false_alarms is True"),
        ({"false_alarms": float("nan")}, "false_alarms is nan. It is a rate"),
        ({"recover": "no"}, "recover is 'no'. Give True or False"),
        ({"recover": 1}, "recover is 1"),
        ({"seed": "1"}, "seed is '1'"),
        ({"seed": 1.0}, "seed is 1.0"),
        ({"particles": 1.5}, "particles is 1.5"),
        ({"log": True}, "True is no file"),
        ({"log": "\0"}, "cannot be written"),
        ({"device": np.zeros(2)}, "there is no device"),
        ({"filter": 5}, "5 is no filter"),
        ({"filter": "adaptive", "update_seconds": "1"}, "update_seconds is '1'"),
        ({"belief": 5}, "int is no belief"),
        ({"planner": Random}, "is no planner"),
    ],
    ids=str,
)
def test_options_are_what_they_should_be(options: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError) as caught:
        Agent(**{"model": Tiger(), "planner": Random(), "seed": 0, "filter": "bootstrap"} | options)
    assert told in str(caught.value)


def test_numpys_numbers_are_numbers() -> None:
    options: dict[str, Any] = {"false_alarms": np.float32(0.25), "recover": np.bool_(True), "particles": np.int64(20)}
    agent = Agent(Tiger(), Random(), np.int64(3), "bootstrap", **options)
    assert agent.seed == 3 and agent.false_alarms == 0.25 and len(agent.belief) == 20
