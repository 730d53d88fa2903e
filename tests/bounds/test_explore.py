"""Rewards that random actions do not meet, and values that lead to them."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas.bounds import find_bounds
from airoas.bounds.learned import simulated
from airoas.bounds.learned.explore import explore
from airoas.bounds.learned.regression import Regression
from airoas.bounds.learned.walks import walk
from airoas.domains.light_dark import LightDark
from airoas.rng import stream


@airoas.model
class MountainCar(NamedTuple):
    """The engine is too weak for the hill: one has to swing back and forth (Moore, 1990)."""

    top: float = 100.0
    discount: float = 0.99
    max_steps: int = 200

    def actions(self):
        return ("left", "coast", "right")

    def initial(self, rng):
        return -0.5 + 0.1 * rng.normal(), 0.0

    def step(self, s, a, rng):
        x, v = s
        v = min(0.07, max(-0.07, v + 0.001 * (a - 1) - 0.0025 * math.cos(3.0 * x)))
        x = x + v
        if x < -1.2:
            x, v = -1.2, 0.0
        return (x, v), self.top if x >= 0.5 else -1.0

    def observe(self, s, a, rng):
        return (s[0] + 0.1 * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        z = (o[0] - s[0]) / 0.1
        return -0.5 * z * z

    def is_terminal(self, s):
        return s[0] >= 0.5


@pytest.fixture(scope="module")
def car():
    return MountainCar()


def test_ways_lead_from_the_valley_to_where_the_next_step_is_the_top(car):
    ways = explore(car)
    assert walk(car, 500, 4, 1.0, stream(0, "explore"))[:, 0].max() < 0.43  # where random actions lead
    assert ways[:, 0].max() > 0.43
    assert ways[:, 0].min() < -0.8  # it must swing back before
    assert (ways[:, 0] < 0.5).all()  # before the end


def test_nothing_is_added_where_no_higher_reward_is_to_be_found():
    assert len(explore(MountainCar(top=-1.0))) == 0
    assert len(explore(LightDark())) == 0


def test_a_value_that_was_found_so_climbs_the_hill(car):
    bounds = find_bounds(car, (0.0, "auto"))
    bottom, values = np.array([[-0.5, 0.0]]), np.zeros((1, bounds.width))
    bounds.evaluate(bottom, np.ones(1, np.bool_), values, 0)
    # never: -1 / (1 - 0.99) in the limit; 100 to 130 steps there and the top: -26 to -46
    assert values[0, 1:].max() > -50.0


def test_states_are_learned_from_where_following_the_values_leads(car):
    arrays = simulated.estimate(car, lambda doing: None)
    met, earned = simulated._meet(car, Regression.of(arrays, "values ").lookup(), 4000, stream(0, "test"))
    assert 1000 < len(met) <= 4000
    assert earned.shape == (1500,) and -100.0 < earned.mean() < 100.0
    assert met[:, 0].max() > 0.4  # it gets there


@airoas.model
class Islands(NamedTuple):
    """A boat in the open sea. Random actions hardly ever come to the island, and never beyond it."""

    discount: float = 0.98
    max_steps: int = 60

    def actions(self):
        return ("east", "north", "west", "south", "land")

    def initial(self, rng):
        return 0.3 * rng.normal(), 0.3 * rng.normal(), 0

    def step(self, s, a, rng):
        if a == 4:
            return (s[0], s[1], 1) if self.near(s) else s, 100.0 if self.near(s) else -10.0
        x = s[0] + (1.0 if a == 0 else -1.0 if a == 2 else 0.0) + 0.1 * rng.normal()
        return (x, s[1] + (1.0 if a == 1 else -1.0 if a == 3 else 0.0) + 0.1 * rng.normal(), 0), -1.0

    def near(self, s):
        return (s[0] - 14.0) ** 2 + (s[1] - 4.0) ** 2 < 1.5

    def observe(self, s, a, rng):
        return (0,)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o[0] == 0 else -math.inf

    def is_terminal(self, s):
        return s[2] == 1


def test_a_reward_that_is_hardly_ever_met_widens_what_is_learned_from():
    """18 steps and 100: 100 * 0.98**18 - 15 or so, 54. Learned where random actions lead alone, to stay away is best: -50."""
    model = Islands()
    assert np.hypot(explore(model)[:, 0] - 14.0, explore(model)[:, 1] - 4.0).min() < 1.5
    bounds = find_bounds(model, (0.0, "auto"))
    start, values = np.zeros((1, 3)), np.zeros((1, bounds.width))
    bounds.evaluate(start, np.ones(1, np.bool_), values, 0)
    assert 40.0 < values[0, 1:].max() < 65.0
