"""The light column against cases worked out from its definition."""

from __future__ import annotations

import math

import pytest

import airoas
from airoas.compiler.arrays import Flags, Vector
from airoas.domains import LightColumn, LightColumnMacros, light_column
from airoas.domains.light_column import LENGTH, STEPS, STOP, Action, Reading, Readings, State, random_map, random_map_for_macros
from airoas.rng import stream

GO = Action(math.pi / 4.0, 0)


def test_a_move_is_exact_and_costs_a_little():
    s, reward = LightColumn().step(State(1.0, 1.0, 0, False), GO, stream(0))
    assert (s.x, s.y) == pytest.approx((1.3535533906, 1.3535533906), abs=1e-9)
    assert reward == -0.1 and s.steps == 1 and not LightColumn().is_terminal(s)


def test_the_sixtieth_step_must_be_a_stop():
    last = State(-3.0, 3.5, STEPS - 1, False)
    for action, reward in ((GO, -100.0), (Action(0.0, 1), 100.0)):
        s, got = LightColumn().step(last, action, stream(0))
        assert got == reward and LightColumn().is_terminal(s)


@pytest.mark.parametrize(("y", "reward"), [(3.5, 100.0), (4.5, 100.0), (3.499, -100.0)])
def test_stops(y, reward):
    for model, stop in ((LightColumn(), Action(0.0, 1)), (LightColumnMacros(), STOP)):
        s, got = model.step(State(-3.0, y, 5, False), stop, stream(0))
        assert got == reward and model.is_terminal(s)


def test_readings_are_of_the_light_only():
    model, lit, dark = LightColumn(), State(3.1, 2.0, 3, False), State(3.31, 2.0, 3, False)
    assert model.obs_logpdf(Reading(True, 3.15, 2.1), lit, GO) == pytest.approx(2.1422931196, abs=1e-9)
    assert model.obs_logpdf(Reading(False, 0.0, 0.0), dark, GO) == 0.0
    assert model.obs_logpdf(Reading(False, 0.0, 0.0), lit, GO) == model.obs_logpdf(Reading(True, 3.15, 2.1), dark, GO) == -math.inf
    assert model.observe(dark, GO, stream(0)) == Reading(False, 0.0, 0.0) and model.observe(lit, GO, stream(0)).lit


@pytest.mark.parametrize("a", range(STOP))
def test_a_macro_action_is_eight_moves_and_tells_what_each_saw(a):
    macros, single = LightColumnMacros(), LightColumn()
    s = before = State(1.0, -2.0, 8, False)
    total, log_density, seen = 0.0, 0.0, Readings(Flags[LENGTH](False), Vector[LENGTH](0.0), Vector[LENGTH](0.0))
    for k in range(LENGTH):
        s, reward = single.step(s, Action(2.0 * math.pi * a / 8, 0), stream(0))
        total += reward
        reading = Reading(light_column.is_lit(s.x, single.light), s.x + 0.05, s.y - 0.1)
        log_density += single.obs_logpdf(reading, s, GO)
        if reading.lit:
            seen = Readings(seen.lit.with_(k, True), seen.x.with_(k, reading.x), seen.y.with_(k, reading.y))
    after, reward = macros.step(before, a, stream(0))
    assert after == pytest.approx(s) and reward == pytest.approx(total)
    assert macros.obs_logpdf(seen, after, a) == pytest.approx(log_density)
    assert (log_density > 0.0) == (a in (0, 1, 7))  # the light is to the east


def test_a_macro_action_ends_with_the_last_step():
    s, reward = LightColumnMacros().step(State(0.0, 0.0, STEPS - 4, False), 0, stream(0))
    assert s.x == pytest.approx(2.0) and s.steps == STEPS and reward == pytest.approx(-100.3)


def test_maps_are_those_of_the_paper():
    for number in range(30):
        m = random_map(number)
        assert max(abs(x) for x in m[:5]) <= 4.0
        assert min(math.hypot(m.start_x - m.goal_x, m.start_y - m.goal_y), abs(m.start_x - m.light), abs(m.goal_x - m.light)) >= 4.0
        assert random_map_for_macros(number)[:5] == m[:5]


@pytest.mark.parametrize("model", [LightColumn(), LightColumnMacros()])
def test_models_are_sound(model):
    report = airoas.check(model)
    assert report.diagnostics == (), str(report)
