from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from airoas.compiler.kernels import kernel, running
from airoas.domains.rock_sample import (
    BAD,
    CHECK,
    EAST,
    GOOD,
    MAPS,
    NONE,
    NORTH,
    SAMPLE,
    SOUTH,
    WEST,
    RockSample,
    Seen,
    State,
    random_map,
    standard,
)
from airoas.errors import BeliefError, OptionError
from airoas.rng import stream

SMALL = RockSample(3, ((0, 2), (2, 1)), (0, 1))


@kernel
def trace(model, rng, out):
    s = model.initial(rng)
    for t in range(len(out)):
        if model.is_terminal(s):
            s = model.initial(rng)
        a = model.rollout_action(s, rng) if rng.integer(4) == 0 else rng.integer(model.n_actions)
        s2, r = model.step(s, a, rng)
        o = model.observe(s2, a, rng)
        out[t, 0], out[t, 1], out[t, 2], out[t, 3], out[t, 4], out[t, 5] = s2.x, s2.y, s2.rocks, s2.exited, r, o.code
        out[t, 6], out[t, 7] = model.obs_logpdf(o, s2, a), model.step_logpdf(s2, s, a)
        out[t, 8], out[t, 9] = model.value_bounds(s2)
        out[t, 10], out[t, 11] = model.mutate(s2, o, a, rng).rocks, model.mutate_literal(s2, o, a, rng).rocks
        out[t, 12] = model.legal(s2, 4)
        s = s2


@kernel
def upper_values(model, rows, out):
    for i in range(len(rows)):
        out[i] = model.value_bounds(model.read_state(rows, i))[1]


@pytest.mark.parametrize("model", [standard(7, 8), standard(11, 11, despot=True), random_map(6, 3, 5)])
def test_interpreted_and_compiled_agree_to_the_bit(model):
    rows = np.zeros((2, 1000, 13))
    trace(model, stream(1, "rock"), rows[0])
    with running("interpreted"):
        trace(model, stream(1, "rock"), rows[1])
    assert rows[0].tobytes() == rows[1].tobytes()
    assert (rows[0, :, 7] == 0.0).all()


@pytest.mark.parametrize(
    ("size", "k", "mean", "all_good", "go_east"), [(7, 8, 28.50, 43.40, 7.35), (11, 11, 31.76, 46.50, 5.99), (15, 15, 32.35, 45.26, 4.88)]
)
def test_values_of_the_standard_maps(size, k, mean, all_good, go_east):
    model = standard(size, k)
    states, weights = model.exact_initial()
    upper = np.zeros(len(states))
    upper_values(model, states, upper)
    assert weights @ upper == pytest.approx(mean, abs=5e-3)
    assert upper[-1] == pytest.approx(all_good, abs=5e-3)
    assert model.value_bounds(State(*model.start, 0, 0)) == pytest.approx((go_east, go_east), abs=5e-3)


@pytest.mark.parametrize("model", [SMALL, RockSample(3, ((0, 0), (1, 2)), (0, 0), penalty=-100.0, everything_legal=True, discount=0.8)])
def test_bounds_against_value_iteration(model):
    states = [State(x, y, rocks, 0) for x, y, rocks in itertools.product(range(3), range(3), range(4))]
    rng = stream(0, "rock")
    value, east = dict.fromkeys(states, 0.0), dict.fromkeys(states, 0.0)

    def backup(table, s, a):
        s2, r = model.step(s, a, rng)
        return r + model.discount * (0.0 if s2.exited else table[s2])

    for _ in range(400):
        value = {s: max(backup(value, s, a) for a in range(model.n_actions) if model.legal(s, a)) for s in states}
        east = {s: backup(east, s, EAST) for s in states}
    for s in states:
        assert model.value_bounds(s) == pytest.approx((east[s], value[s]), abs=1e-10)


def test_sensor():
    model = RockSample(25, ((0, 0),))
    for (x, y), accuracy in {(0, 0): 1.0, (1, 0): 0.983, (3, 4): 0.920, (6, 8): 0.854, (20, 0): 0.75}.items():
        for quality in (BAD, GOOD):
            right, wrong = (model.obs_logpdf(Seen(code), State(x, y, quality, 0), CHECK) for code in (quality, 1 - quality))
            assert math.exp(right) == pytest.approx(accuracy, abs=5e-4)
            assert math.exp(right) + math.exp(wrong) == pytest.approx(1.0, abs=1e-15)
            assert model.obs_logpdf(Seen(NONE), State(x, y, quality, 0), CHECK) == -math.inf
    assert model.obs_logpdf(Seen(NONE), State(3, 3, 1, 0), EAST) == 0.0
    assert model.obs_logpdf(Seen(GOOD), State(3, 3, 1, 0), EAST) == -math.inf


def test_checks_are_right_as_often_as_they_say():
    """Two checks of 5 standard errors: false alarm once in 870 000 seeds."""
    model, rng, n = RockSample(25, ((0, 0),)), stream(2, "rock"), 20_000
    for quality in (BAD, GOOD):
        right = sum(model.observe(State(20, 0, quality, 0), CHECK, rng).code == quality for _ in range(n)) / n
        assert abs(right - 0.75) < 5.0 * math.sqrt(0.75 * 0.25 / n)


@pytest.mark.parametrize("despot", [False, True])
def test_moves_and_rewards(despot):
    model, rng = standard(4, 4, despot), stream(0, "rock")  # rocks 0 (3, 1), 1 (2, 1), 2 (1, 3), 3 (1, 0)
    fine = -100.0 if despot else 0.0
    for (x, y, rocks), a, (x2, y2, rocks2, exited), reward in [
        ((0, 2, 15), NORTH, (0, 3, 15, 0), 0.0),
        ((0, 3, 15), NORTH, (0, 3, 15, 0), fine),
        ((0, 0, 15), SOUTH, (0, 0, 15, 0), fine),
        ((0, 2, 15), WEST, (0, 2, 15, 0), fine),
        ((2, 2, 15), WEST, (1, 2, 15, 0), 0.0),
        ((3, 2, 15), EAST, (3, 2, 15, 1), 10.0),
        ((2, 1, 15), SAMPLE, (2, 1, 13, 0), 10.0),
        ((2, 1, 13), SAMPLE, (2, 1, 13, 0), -10.0),
        ((2, 2, 15), SAMPLE, (2, 2, 15, 0), fine),
        ((2, 2, 15), CHECK + 3, (2, 2, 15, 0), 0.0),
    ]:
        arrived = State(x2, y2, rocks2, exited)
        assert model.step(State(x, y, rocks, 0), a, rng) == (arrived, reward)
        assert model.step_logpdf(arrived, State(x, y, rocks, 0), a) == 0.0
        assert model.step_logpdf(arrived._replace(rocks=rocks2 ^ 4), State(x, y, rocks, 0), a) == -math.inf
    assert model.is_terminal(State(3, 2, 15, 1)) and not model.is_terminal(State(3, 2, 15, 0))
    assert model.legal(State(2, 2, 15, 0), SAMPLE) == despot
    assert model.legal(State(2, 1, 0, 0), SAMPLE)
    assert all(model.legal(State(0, 0, 0, 0), a) for a in range(model.n_actions) if a != SAMPLE)


def test_the_default_policy():
    model, rng = standard(4, 4), stream(0, "rock")
    assert model.rollout_action(State(2, 1, 2, 0), rng) == SAMPLE
    assert model.rollout_action(State(2, 1, 13, 0), rng) == EAST
    assert model.rollout_action(State(0, 2, 15, 0), rng) == EAST


def test_proposals_turn_only_the_checked_rock():
    """The literal one turns it half of the time: 5 standard errors, false alarm once in 1.7 million seeds."""
    model, rng, s, n = standard(4, 4), stream(3, "rock"), State(1, 1, 5, 0), 10_000
    assert model.mutate(s, Seen(GOOD), CHECK + 1, rng) == State(1, 1, 7, 0)
    assert model.mutate(s, Seen(NONE), EAST, rng) == s == model.mutate_literal(s, Seen(NONE), EAST, rng)
    turned = [model.mutate_literal(s, Seen(GOOD), CHECK + 1, rng) for _ in range(n)]
    assert set(turned) == {s, State(1, 1, 7, 0)}
    assert abs(turned.count(s) / n - 0.5) < 2.5 / math.sqrt(n)


@pytest.mark.parametrize("seed", range(8))
def test_exact_update_against_bayes_and_log_odds(seed):
    """Each of the 2^k first states is stepped alone and weighed by the likelihood of all observations."""
    rng = stream(seed, "rock", "exact")
    model = random_map(4, 5, seed)
    states, weights = model.exact_initial()
    assert states.shape == (32, 4)
    logs = np.log(weights)
    now, likelihood = [State(*map(int, row)) for row in states], np.zeros(32)
    odds = np.zeros(5)
    s = model.initial(rng)
    for _ in range(40):
        a = rng.integer(model.n_actions)
        while a == EAST and s.x == 3:
            a = rng.integer(model.n_actions)
        s, _ = model.step(s, a, rng)
        o = model.observe(s, a, rng)
        states, logs = model.exact_update(states, logs, a, o)
        now = [model.step(each, a, rng)[0] for each in now]
        likelihood += [model.obs_logpdf(o, each, a) for each in now]
        expected = {}
        for each, w in zip(now, np.exp(likelihood - likelihood.max()), strict=True):
            expected[each] = expected.get(each, 0.0) + w / np.exp(likelihood - likelihood.max()).sum()
        got = {State(*map(int, row)): math.exp(log) for row, log in zip(states, logs, strict=True)}
        assert len(got) == len(states)
        assert set(got) == {each for each, p in expected.items() if p > 0.0}
        assert all(got[each] == pytest.approx(expected[each], rel=1e-9) for each in got)

        if a >= CHECK:
            i = a - CHECK
            eta = 0.5 * (1.0 + 2.0 ** (-math.dist((s.x, s.y), model.rocks[i]) / 20.0))
            odds[i] += (1 if o.code == GOOD else -1) * (math.inf if eta == 1.0 else math.log(eta / (1.0 - eta)))
        elif a == SAMPLE and (s.x, s.y) in model.rocks:
            odds[model.rocks.index((s.x, s.y))] = -math.inf
        good = [sum(p for each, p in got.items() if each.rocks >> i & 1) for i in range(5)]
        assert good == pytest.approx([0.0 if x == -math.inf else 1.0 / (1.0 + math.exp(-x)) for x in odds], abs=1e-9)


def test_a_sampled_rock_is_bad_for_sure():
    model = RockSample(3, ((0, 0), (1, 0), (2, 2)))
    states, weights = model.exact_initial()
    states, logs = model.exact_update(states, np.log(weights), SAMPLE, Seen(NONE))
    assert sorted(states[:, 2]) == [0, 2, 4, 6]
    assert np.exp(logs) == pytest.approx(np.full(4, 0.25), abs=1e-15)


def test_exact_update_refuses_the_impossible():
    model = SMALL
    states, weights = model.exact_initial()
    logs = np.log(weights)
    for a, code in ((EAST, GOOD), (SAMPLE, BAD), (CHECK, NONE)):
        with pytest.raises(BeliefError, match="no state of the belief allows"):
            model.exact_update(states, logs, a, Seen(code))
    states_after, logs = model.exact_update(states, logs, NORTH, Seen(NONE))
    states_after, logs = model.exact_update(states_after, logs, CHECK, Seen(GOOD))
    assert sorted(states_after[:, 2]) == [1, 3]
    with pytest.raises(BeliefError, match="bad after check-0"):
        model.exact_update(states_after, logs, CHECK, Seen(BAD))
    for _ in range(3):
        states_after, logs = model.exact_update(states_after, logs, EAST, Seen(NONE))
    assert (states_after[:, 3] == 1.0).all()
    with pytest.raises(BeliefError, match="new episode"):
        model.exact_update(states_after, logs, EAST, Seen(NONE))


@pytest.mark.parametrize(
    ("size", "rocks", "options", "words"),
    [
        (0, ((0, 0),), {}, "size of 1"),
        (3, (), {}, "at least one rock"),
        (3, ((0, 3),), {}, r"rock 0 \(0, 3\) lies outside.*0 to 2"),
        (3, ((-1, 0),), {}, "outside"),
        (3, ((1, 1), (0, 0), (1, 1)), {}, r"two rocks in the cell \(1, 1\)"),
        (1, ((0, 0), (0, 0)), {}, "2 rocks on 1 cells"),
        (3, ((0, 0),), {"start": (3, 0)}, "start .*outside"),
        (3, ((0, 0),), {"start": (0,)}, "pair of integers"),
        (3, ((0.5, 0),), {}, "pair of integers"),
        (6, tuple((i % 6, i // 6) for i in range(21)), {}, "21 rocks.*memory.*at most 20"),
        (3, ((0, 0),), {"penalty": 1.0}, "0 or below"),
        (3, ((0, 0),), {"discount": 0.0}, "discount"),
        (3, ((0, 0),), {"half_distance": 0.0}, "half_distance"),
        (3, 5, {}, "pair of integers"),
        (3, (1, 2), {}, "pair of integers"),
        (3, [(1, 2)], {}, "tuple of cells"),
    ],
)
def test_bad_parameters_are_refused(size, rocks, options, words):
    with pytest.raises(OptionError, match=words):
        RockSample(size, rocks, **options)


def test_standard_and_random_maps():
    assert set(MAPS) == {(4, 4), (5, 5), (5, 7), (7, 8), (11, 11), (15, 15)}
    for (size, k), (start, rocks) in MAPS.items():
        model = standard(size, k)
        assert len(rocks) == k
        assert start == (0, size // 2) == model.start
        assert (model.penalty, model.everything_legal) == (0.0, False)
        assert model.describe() == (size * size * 2**k, 5 + k, 3)
    assert standard(15, 15).describe() == (7_372_800, 20, 3)
    assert (standard(7, 8, despot=True).penalty, standard(7, 8, despot=True).everything_legal) == (-100.0, True)
    with pytest.raises(OptionError, match="random_map"):
        standard(6, 6)
    model = random_map(11, 11, 3)
    assert model == random_map(11, 11, 3) != random_map(11, 11, 4)
    assert model.start == (0, 0)
    assert len(set(model.rocks)) == 11
    assert set(random_map(2, 4, 0).rocks) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    for size, k in ((0, 1), (3, 0), (3, 10), (9, 21)):
        with pytest.raises(OptionError, match="no random map"):
            random_map(size, k, 0)


def test_random_rocks_lie_everywhere_alike():
    """Each of 9 cells holds one of 2 rocks in 2/9 of the maps; 5 standard errors: false alarm once in 190 000 seeds."""
    n = 1500
    hits = np.zeros((3, 3))
    for seed in range(n):
        for x, y in random_map(3, 2, seed).rocks:
            hits[x, y] += 1
    assert (abs(hits / n - 2 / 9) < 5.0 * math.sqrt(2 / 9 * 7 / 9 / n)).all()


def test_text_and_picture():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = standard(4, 4)
    states, weights = model.exact_initial()
    belief = SimpleNamespace(states=states, weights=weights)
    text = model.text(State(0, 2, 5, 0), belief)
    assert "P(good) 0.500" in text
    assert "@" in text
    assert "left" in model.text(State(3, 2, 5, 1), None)
    for s, b in ((State(0, 2, 5, 0), belief), (None, belief), (State(3, 2, 5, 1), None), (None, None)):
        figure, axis = pyplot.subplots()
        model.draw(axis, s, b)
        figure.canvas.draw()
        pyplot.close(figure)
        assert model.text(s, b)
