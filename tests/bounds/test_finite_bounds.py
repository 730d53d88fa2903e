"""Bounds of finite models against linear systems and brute force."""

import numpy as np
import pytest
from bound_models import Ladder, corners_and_centre, random_model, values_to_horizon

import airoas
from airoas import Particles
from airoas.bounds import ILLEGAL, blind_values, enumerate_model, fib_q_values, find_bounds, mdp_q_values
from airoas.bounds.finite.enumeration import observation_probabilities
from airoas.domains import LaserTag, Tag, Tiger

SEEDS = range(10)
HORIZON = 7


@pytest.mark.parametrize("seed", SEEDS)
def test_the_value_of_repeating_an_action_solves_its_linear_system(seed):
    model = random_model(seed)
    values = blind_values(model, tolerance=1e-12)
    for a in range(2):
        exact = np.linalg.solve(np.eye(3) - model.discount * model.transitions[:, a], model.rewards[:, a])
        assert values[:, a] == pytest.approx(exact, abs=1e-10)
        assert (values[:, a] <= exact + 1e-12).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_bound_holds_and_fib_is_below_qmdp_below_mdp(seed):
    model = random_model(seed)
    best, worst = model.rewards.max() / 0.1, model.rewards.min() / 0.1
    rest = model.discount**HORIZON
    fib, q = fib_q_values(model), mdp_q_values(model)
    assert (fib <= q + 1e-12).all()
    for b in corners_and_centre(3):
        so_far = values_to_horizon(model, b, HORIZON)
        lowest, highest = so_far + rest * worst, so_far + rest * best  # the optimal value lies between
        blind, informed, by_action, seen = (b @ blind_values(model)).max(), (b @ fib).max(), (b @ q).max(), b @ q.max(axis=1)
        assert blind <= highest
        assert lowest <= informed <= by_action + 1e-12 and by_action <= seen + 1e-12


def test_fib_is_worth_something():
    models = [random_model(seed) for seed in SEEDS]
    assert sum((fib_q_values(model) < mdp_q_values(model) - 1e-3).any() for model in models) >= len(models) // 2


@pytest.mark.parametrize("seed", SEEDS)
def test_fib_satisfies_its_equation(seed):
    model = random_model(seed)
    q = fib_q_values(model, tolerance=1e-12)
    joint = model.transitions[:, :, :, None] * model.likelihoods.transpose(1, 0, 2)[None]  # [s, a, s2, o]
    expected = model.rewards + model.discount * np.einsum("saxo,xb->saob", joint, q).max(axis=3).sum(axis=2)
    assert q == pytest.approx(expected, abs=1e-10)


def test_tigers_fast_informed_bound_by_hand():
    """With two equations: listening keeps the side and names it, opening forgets it. q = Q(open the free door), l = Q(listen):
    l = -1 + .95 (.85 max + .15 max') where each inner maximum may differ; the largest is q in both, so l = -1 + .95 q."""
    model = Tiger()
    q = fib_q_values(model, 1e-12)
    listen, wrong, right = q[0, 0], q[0, 1], q[0, 2]
    assert q[1] == pytest.approx([listen, right, wrong])
    assert listen == pytest.approx(-1.0 + 0.95 * right)
    after = 0.95 * max(listen, 0.5 * (wrong + right))  # the new side is not known, and nothing is heard
    assert (right, wrong) == pytest.approx((10.0 + after, -100.0 + after))


def test_observations_never_met_count_as_showing_the_state(monkeypatch):
    """Without any observation left FIB is QMDP; with all, it is lower."""
    model = Tag()
    table = enumerate_model(model)
    likelihoods = observation_probabilities(model, table)
    assert likelihoods.shape == (842, 5, 30)
    assert likelihoods[~table.terminal].sum(axis=2) == pytest.approx(1.0)
    assert observation_probabilities(LaserTag(), enumerate_model(LaserTag())) is None
    full, q = fib_q_values(model, table=table), mdp_q_values(model, table=table)
    assert (full <= q + 1e-12).all() and full.mean() < q.mean() - 0.1
    monkeypatch.setattr("airoas.bounds.finite.values.observation_probabilities", lambda *_: np.zeros_like(likelihoods))
    assert fib_q_values(model, table=table) == pytest.approx(q, abs=1e-8)
    monkeypatch.setattr("airoas.bounds.finite.values.observation_probabilities", lambda *_: np.ascontiguousarray(likelihoods[:, :, :15]))
    some = fib_q_values(model, table=table)
    assert (full <= some + 1e-8).all() and (some <= q + 1e-8).all() and full.mean() + 0.01 < some.mean() < q.mean() - 0.01


def test_illegal_actions_are_far_below_and_no_plan_repeats_them():
    model = Ladder()
    bounds = find_bounds(model, ("blind", "qmdp"))
    assert bounds.first_actions.tolist() == [0]
    q = bounds.values(model, [[0.0], [1.0], [2.0]])[:, 1:]
    assert q[0, 1] == ILLEGAL and q[1:].min() > -1e3
    belief = Particles(np.array([[0.0], [2.0]]), np.array([0.0, 1.0]))
    assert bounds.at(model, belief) == pytest.approx((0.0, 2.0))
    with pytest.raises(airoas.OptionError, match="'jump' is not legal everywhere"):
        find_bounds(model, ("fixed:jump", "qmdp"))


def test_a_fixed_action_by_name_and_by_number():
    model = Tag()
    tag, same = find_bounds(model, ("fixed:tag", "mdp")), find_bounds(model, ("fixed:4", 10))
    assert tag.first_actions.tolist() == same.first_actions.tolist() == [4]
    assert not tag.by_action
    belief = Particles.exact(model)
    assert tag.at(model, belief)[0] == same.at(model, belief)[0]
    assert tag.at(model, belief)[1] == pytest.approx(2.15, abs=0.005)  # worked out apart, over all pairs of cells
