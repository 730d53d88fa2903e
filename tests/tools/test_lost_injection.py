"""Ways to inject places that are compared with what `Agent(recover=True)` does."""

import math
from typing import Any

import pytest

from airoas import Updated
from airoas.belief.surprise import Surprise
from airoas.domains import Tiger
from airoas.planners import Random
from tools.lost_injection import LITTLE, LONG, MOST, SHORT, Augmented, Gentle, Injecting, Proportional


def agent(kind: type[Injecting]) -> Any:
    return kind(Tiger(), Random(), seed=0, filter="bootstrap", particles=100, recover=True)


def test_in_proportion_to_a_surprise_that_grows() -> None:
    robot = agent(Proportional)
    robot._surprise = Surprise(0.5)
    assert robot._weight(0.25) == pytest.approx(0.5 * MOST)
    assert robot._weight(0.75) == 0.0
    robot._surprise = Surprise(1.0, True)
    assert robot._weight(1.0) == pytest.approx(MOST)


def test_a_little_below_the_alarm() -> None:
    robot = agent(Gentle)
    robot._surprise = Surprise(0.5)
    assert robot._weight(0.25) == pytest.approx(0.5 * LITTLE)
    assert robot._weight(0.75) == 0.0
    robot._surprise = Surprise(1.0, True)
    assert robot._weight(1.0) == pytest.approx(MOST)


def test_by_the_averages_of_the_likelihood() -> None:
    robot = agent(Augmented)
    robot.updated = Updated(robot.belief, math.log(0.8))
    assert [robot._weight(0.0) for _ in range(3)] == [0.0] * 3
    robot.updated = Updated(robot.belief, math.log(0.2))
    assert robot._weight(0.0) == pytest.approx(1.0 - (0.8 - SHORT * 0.6) / (0.8 - LONG * 0.6))
    robot.updated = Updated(robot.belief, math.log(0.9))
    assert [robot._weight(0.0) for _ in range(20)][-1] == 0.0


def test_the_belief_keeps_the_rest() -> None:
    robot = agent(Injecting)
    robot._inject(0.3, [(0, (0,))])
    assert len(robot.belief) == 300
    assert robot.belief.weights[:100].sum() == pytest.approx(0.7)
    robot._inject(0.3, [(0, (0,))])
    assert len(robot.belief) == 300  # as many as before, and no more
