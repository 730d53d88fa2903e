"""Bounds of models without hints: estimated, and said to be."""

import numpy as np
import pytest
from bound_models import Noise, Over, Plain, Wide

import airoas
from airoas import Particles
from airoas.bounds import find, find_bounds, store
from airoas.bounds.learned import simulated
from airoas.bounds.learned.forest import TREES, find_leaves, grow, learn
from airoas.domains import LightDark


def evaluated(model, bounds, states):
    plans, numbers = len(bounds.first_actions), bounds.values(model, states)
    return numbers[:, :plans], numbers[:, plans:]


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


def test_a_forest_finds_what_counts_and_stays_within_what_it_saw():
    """Six components of which the difference of two counts: 97 % of the variance on states that it has not seen."""
    draw = np.random.default_rng(0)
    states, others = draw.normal(size=(8000, 6)), draw.normal(size=(2000, 6))
    seen, unseen = (10.0 * np.tanh(rows[:, 1:2] - rows[:, 4:5]) for rows in (states, others))
    forest = grow(states, seen, 6, airoas.stream(0))
    leaves = np.zeros((8000, TREES), np.int64)
    find_leaves(forest, states, leaves)
    learn(forest, leaves, seen, np.zeros(len(forest.cut)))
    result = np.zeros((2000, TREES), np.int64)
    find_leaves(forest, others, result)
    values = forest.values[result, 0].sum(axis=1)
    assert np.mean((values - unseen[:, 0]) ** 2) < 0.03 * unseen.var()
    assert seen.min() <= values.min() and values.max() <= seen.max()
    counts = np.bincount(leaves[:, 0])
    assert counts[counts > 0].min() >= 6


def test_four_continuous_components_are_learned():
    """ "take" pays 10 times the sum if repeated, "wait" nothing: both plans and the best of them are known."""
    model = Wide()
    bounds = find_bounds(model)
    assert (bounds.lower, bounds.upper, bounds.sound, bounds.by_action) == ("simulated plans", "simulated mdp", False, False)
    assert sorted(bounds.first_actions.tolist()) == [0, 1]
    states = np.random.default_rng(1).normal(size=(2000, 4))
    plans, upper = evaluated(model, bounds, states)
    take, wait = (plans[:, bounds.first_actions.tolist().index(a)] for a in range(2))
    value = 10.0 * states.sum(axis=1)
    assert (wait == 0.0).all()  # certain, so that no margin is taken off
    assert (take <= value).mean() > 0.8 and abs(take - value).mean() < 0.4 * value.std()
    best = np.maximum(value, 0.0)
    assert (upper[:, 0] >= best).mean() > 0.75 and abs(upper[:, 0] - best).mean() < 0.2 * value.std()
    lower, above = bounds.at(model, Particles(states))
    assert lower <= 0.0 < best.mean() < above
    with pytest.raises(airoas.OptionError, match="too many components, for a grid"):
        find_bounds(model, ("grid", "grid"))


def test_what_cannot_be_learned_gets_a_margin():
    """Rewards of 1 and -1 that look like chance in the state: means would be 0, and wrong by 10 everywhere."""
    model = Noise()
    bounds = find_bounds(model, ("simulated", "simulated"))
    plans, upper = evaluated(model, bounds, Particles.sample(model, 500, airoas.stream(5)).states)
    assert plans.max(axis=1).mean() < -5.0
    assert upper == pytest.approx(10.0, rel=0.02)  # the better action is always known: that is learned


def test_without_a_state_to_learn_from_there_is_no_model():
    with pytest.raises(airoas.ModelError, match=r"Over.initial .* draws terminal states only. Begin where there is something to decide"):
        find_bounds(Over(), ("simulated", "simulated"))


def test_rollouts_are_learned_and_estimated():
    """Uniform actions in LightDark: not above their mean return by more than chance, a margin below it where rewards jump."""
    model = LightDark()
    bounds = find_bounds(model, ("rollout", "qmdp"))
    assert (bounds.lower, bounds.sound, bounds.first_actions.tolist()) == ("rollout", False, [-1])
    for y in (0.3, 1.6, 5.2, 8.4):
        runs = simulated._returns(
            model, np.array([[y, 0.0]]).repeat(4000, axis=0), [(simulated.POLICY, 0, simulated.POLICY)], airoas.stream(1)
        )
        result = evaluated(model, bounds, np.array([[y, 0.0]]))[0][0, 0]
        assert runs.mean() - 6.0 < result < runs.mean() + 4.0 * runs.std() / np.sqrt(4000)


def test_an_interpreted_search_learns_from_compiled_runs(monkeypatch):
    """The same bounds, in seconds; and a model that cannot be compiled is learned from with less (of which a round is enough here)."""
    belief = Particles.sample(Wide(), 10, airoas.stream(3))
    compiled = find_bounds(Wide()).at(Wide(), belief)
    monkeypatch.setattr(store, "folder", lambda: None)
    monkeypatch.setattr(find, "_cached", {})
    with airoas.running("interpreted"):
        assert find_bounds(Wide()).at(Wide(), belief) == compiled
        for name, least in (("_ROUNDS", 1), ("_RUNS", 2), ("_WORK", 100_000)):
            monkeypatch.setattr(simulated, name, least)
        fewer, arrays = [len(simulated.sample(Wide(), most)) for most in (20_000, 80_000)], simulated.estimate(Wide(), lambda _: None)
    assert fewer == [500, 800] and len(simulated.sample(Wide(), 20_000)) == 20_000
    assert max(len(arrays["plans cut"]), len(arrays["values cut"])) < 800 * TREES


def test_interpreted_equals_compiled():
    for model, spec in ((Plain(), ("grid", "grid")), (Wide(), "auto"), (LightDark(), ("rollout", "qmdp"))):
        belief = Particles.sample(model, 10, airoas.stream(3))
        compiled = find_bounds(model, spec).at(model, belief)
        with airoas.running("interpreted"):
            assert find_bounds(model, spec).at(model, belief) == compiled
