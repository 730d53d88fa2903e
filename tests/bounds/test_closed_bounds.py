"""Bounds that domains give in closed form, against simulation, value iteration and brute force."""

from typing import Any

import numpy as np
import pytest

import airoas
from airoas import Particles
from airoas.bounds import find_bounds
from airoas.catalog import find_domain
from airoas.compiler.kernels import kernel
from airoas.domains import LightDark, RockSample
from airoas.domains.light_dark import State as Line
from airoas.domains.rock_sample import State as Rover


def numbers(model, s, bounds=None):
    """Plans' values and upper values of a state."""
    bounds = bounds or find_bounds(model)
    result = bounds.values(model, [s])[0]
    return result[: len(bounds.first_actions)], result[len(bounds.first_actions) :]


@kernel
def followed(model: Any, states: Any, k: int, steps: int, runs: int, returns: Any, rng: Any) -> None:
    """Returns [runs] of plan k from the first state."""
    for run in range(runs):
        s = model.read_state(states, 0)
        factor = 1.0
        returns[run] = 0.0
        for t in range(steps):
            if model.is_terminal(s):
                break
            s, reward = model.step(s, model.plan_action(k, t), rng)
            returns[run] += factor * reward
            factor *= model.discount


@pytest.mark.parametrize("step_size", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("y", [-11.3, -0.99, 0.03, 0.42, 1.71, 5.21, 16.03])
def test_light_dark_plans_earn_what_they_say(step_size, y):
    model = LightDark(step_size=step_size)
    plans, _ = numbers(model, Line(y, 0))
    returns = np.zeros(1)
    for k in range(len(plans)):
        followed(model, np.array([[y, 0.0]]), k, 400, 1, returns, airoas.stream(0))
        assert plans[k] == pytest.approx(returns[0])
    assert len(plans) <= 42


@pytest.mark.parametrize("y", [-1.0, 0.0, 2.0, 6.9])
def test_on_the_edge_of_the_goal_light_dark_errs_on_the_safe_side(y):
    """Steps of 0.1 add up to just inside or outside of 1."""
    model = LightDark(step_size=0.1)
    plans, q = numbers(model, Line(y, 0))
    earned = []
    for k in range(len(plans)):
        returns = np.zeros(1)
        followed(model, np.array([[y, 0.0]]), k, 400, 1, returns, airoas.stream(0))
        earned.append(returns[0])
    assert (plans <= np.array(earned) + 1e-9).all()
    assert q.max() >= max(earned) - 1e-9


@pytest.mark.parametrize("step_size", [0.3, 0.5, 1.0, 2.5, 3.0])
def test_light_dark_action_values_are_those_of_value_iteration(step_size):
    """On the lattice y0 + k step every move is exact, so iteration over the lattice is the whole fully observable problem."""
    model = LightDark(step_size=step_size)
    for y0 in (0.01, 0.13, 0.77, 1.2):
        y = y0 + step_size * np.arange(-200, 201)
        stop = np.where(abs(y) < 1.0, 10.0, -10.0)
        value = np.zeros_like(y)
        for _ in range(400):
            move = model.discount * np.maximum(np.roll(value, 1), np.roll(value, -1))
            value = np.maximum(stop, move)
        for i in range(150, 251, 7):
            expected = (model.discount * value[i - 1], stop[i], model.discount * value[i + 1])
            assert numbers(model, Line(float(y[i]), 0))[1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("despot", [False, True])
def test_rock_sample_action_bounds_look_one_step_ahead_of_the_best_tour(despot):
    rocks = ((0, 1), (2, 2), (3, 0), (1, 3))
    model = RockSample(4, rocks, penalty=-100.0 if despot else 0.0, everything_legal=despot)
    for x in range(4):
        for y in range(4):
            for good in range(16):
                s = Rover(x, y, good, 0)
                plans, q = numbers(model, s)
                lower, upper = model.value_bounds(s)
                assert plans.tolist() == [lower]
                assert q.max() == pytest.approx(upper)
                for a in range(model.n_actions):
                    s2, reward = model.step(s, a, None)
                    if model.legal(s, a):
                        later = 0.0 if model.is_terminal(s2) else model.value_bounds(s2)[1]
                        assert q[a] == pytest.approx(reward + model.discount * later)


def test_the_papers_rock_sample_bounds_are_the_fixed_action_and_the_tour():
    model = find_domain("rock-sample-7-8")(0)
    belief = Particles.exact(model)
    lower, upper = find_bounds(model, "paper-rock-sample").at(model, belief)
    assert (lower, upper) == pytest.approx((7.35, 28.50), abs=0.005)  # 10 * 0.95**6; the mean of the best tours, worked out apart
