"""Bounds of models without hints: estimated, and said to be."""

import numpy as np
import pytest
from bound_models import Plain, Wide

import airoas
from airoas import Particles
from airoas.bounds import find_bounds
from airoas.bounds.part import over_states
from airoas.domains import LightDark


def evaluated(model, bounds, states):
    plans = len(bounds.first_actions)
    out = np.zeros((len(states), plans + (model.n_actions if bounds.by_action else 1)))
    over_states(bounds.evaluate)(model, bounds.data, states, out.reshape(-1), airoas.stream(0, "states"))
    return out[:, :plans], out[:, plans:]


def test_a_grid_comes_close_to_the_closed_form():
    """Away from the jumps of the reward at -1 and 1 and their images a step off, where interpolation must blur."""
    plain, known = Plain(), LightDark()
    estimated, exact = find_bounds(plain), find_bounds(known)
    assert (estimated.lower, estimated.upper, estimated.sound) == ("grid plans", "grid qmdp", False)
    assert exact.sound
    y = np.linspace(-6.0, 9.0, 500)
    y = y[abs(y - np.rint(y)) > 0.1]
    states = np.column_stack((y, np.zeros_like(y)))
    (plans, q), (known_plans, known_q) = evaluated(plain, estimated, states), evaluated(known, exact, states)
    assert np.quantile(abs(q - known_q), 0.95) < 0.05
    assert (plans.max(axis=1) <= known_q.max(axis=1) + 0.05).all()
    assert np.median(known_plans.max(axis=1) - plans.max(axis=1)) < 0.05  # it found that one walks, then stops
    walk_and_stop = set(estimated.first_actions.tolist())
    assert walk_and_stop == {0, 1, 2}


def test_four_continuous_components_are_simulated():
    model = Wide()
    bounds = find_bounds(model)
    assert (bounds.lower, bounds.upper, bounds.sound, bounds.by_action) == ("simulated plans", "simulated best", False, False)
    assert bounds.first_actions.tolist() == [-1, 0, 1]
    rows = np.array([[0.3, -0.2, 0.1, 0.4]])
    plans, upper = evaluated(model, bounds, rows)
    assert plans[0, 1] == pytest.approx(0.6 / (1.0 - model.discount), rel=0.011)  # certain rewards, cut at 1 %
    assert plans[0, 2] == 0.0
    assert 0.0 < plans[0, 0] < plans[0, 1]
    assert upper[0, 0] > plans[0].max()
    with pytest.raises(airoas.OptionError, match="too many components, for a grid"):
        find_bounds(model, ("grid", "grid"))


def test_rollouts_are_averaged_and_estimated():
    model = LightDark()
    bounds = find_bounds(model, ("rollout", "qmdp"))
    assert (bounds.lower, bounds.sound, bounds.first_actions.tolist()) == ("rollout", False, [-1])
    state = np.array([[0.0, 0.0]])
    several = np.array([evaluated(model, bounds, np.repeat(state, 200, axis=0))[0]])
    # a run stops at once with probability 1/3; -10 .. 10 in each, so 8 runs averaged spread less than one
    assert several.std() < 0.5 * 10.0
    assert len(np.unique(several)) > 10


def test_interpreted_equals_compiled():
    for model, spec in ((Plain(), ("grid", "grid")), (Wide(), "auto"), (LightDark(), ("rollout", "qmdp"))):
        belief = Particles.sample(model, 10, airoas.stream(3))
        bounds = find_bounds(model, spec)
        compiled = bounds.at(model, belief, airoas.stream(1))
        with airoas.running("interpreted"):
            assert bounds.at(model, belief, airoas.stream(1)) == compiled
