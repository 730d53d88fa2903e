from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from airoas.bounds import find_bounds
from airoas.compiler.kernels import kernel, running
from airoas.domains.light_dark_2d import STOP, Action, LightDark2D, LightDark2DContinuous, Reading, State, noise
from airoas.errors import OptionError
from airoas.planners import AIROAS
from airoas.rng import stream

BOTH = pytest.mark.parametrize("model", [LightDark2D(), LightDark2DContinuous()], ids=["nine", "continuous"])
WESTWARDS = {"LightDark2D": 3, "LightDark2DContinuous": Action(math.pi, 1.0, 0.0)}
STOPPING = {"LightDark2D": STOP, "LightDark2DContinuous": Action(1.0, 0.7, 1.0)}


@kernel
def trace_nine(model, rng, out):
    s = model.initial(rng)
    for t in range(len(out)):
        if model.is_terminal(s):
            s = model.initial(rng)
        a = model.rollout_action(s, rng) if rng.integer(2) else rng.integer(9)
        s2, r = model.step(s, a, rng)
        o = model.observe(s2, a, rng)
        m = model.mutate_literal(s2, o, a, rng)
        out[t, 0], out[t, 1], out[t, 2], out[t, 3], out[t, 4], out[t, 5] = s2.x, s2.y, s2.stopped, r, o.x, o.y
        out[t, 6], out[t, 7], out[t, 8], out[t, 9] = model.obs_logpdf(o, s2, a), model.step_logpdf(s2, s, a), model.cell(s2), m.x
        s = s2


@kernel
def trace_continuous(model, rng, out):
    s = model.initial(rng)
    for t in range(len(out)):
        if model.is_terminal(s):
            s = model.initial(rng)
        a = model.rollout_action(s, rng) if rng.integer(2) else model.sample_action(s, rng)
        s2, r = model.step(s, a, rng)
        o = model.observe(s2, a, rng)
        m = model.mutate_literal(s2, o, a, rng)
        out[t, 0], out[t, 1], out[t, 2], out[t, 3], out[t, 4], out[t, 5] = s2.x, s2.y, s2.stopped, r, o.x, o.y
        out[t, 6], out[t, 7], out[t, 8], out[t, 9] = model.obs_logpdf(o, s2, a), model.step_logpdf(s2, s, a), model.cell(s2), m.x
        s = s2


@pytest.mark.parametrize(("model", "trace"), [(LightDark2D(), trace_nine), (LightDark2DContinuous(), trace_continuous)])
def test_interpreted_and_compiled_agree_to_the_bit(model, trace):
    rows = np.zeros((2, 1000, 10))
    trace(model, stream(1, "light"), rows[0])
    with running("interpreted"):
        trace(model, stream(1, "light"), rows[1])
    assert rows[0].tobytes() == rows[1].tobytes()
    assert len(set(rows[0, :, 3])) == 3


@pytest.mark.parametrize(("x", "sd"), [(5.0, 0.005), (4.501, 0.005), (5.499, 0.005), (4.5, 0.3586), (0.0, 3.5405), (8.0, 2.1263)])
def test_noise(x, sd):
    assert noise(x, 5.0, 0.005) == pytest.approx(sd, abs=5e-5)


@BOTH
def test_the_transition_density_integrates_to_one(model):
    s, a = State(1.3, -0.4, 0), WESTWARDS[type(model).__name__]
    offset = np.linspace(-0.16, 0.16, 65)
    density = np.array([[math.exp(model.step_logpdf(State(0.3 + dx, -0.4 + dy, 0), s, a)) for dx in offset] for dy in offset])
    assert np.trapezoid(np.trapezoid(density, offset), offset) == pytest.approx(1.0, abs=1e-9)


@BOTH
def test_moves_follow_the_transition_density(model):
    """-log density of a planar normal is its constant plus an exponential of mean and deviation 1. Four checks of 5 standard
    errors: false alarm once in 400 000 seeds."""
    s, a, rng, n = State(1.3, -0.4, 0), WESTWARDS[type(model).__name__], stream(4, "light"), 10_000
    moved = [model.step(s, a, rng)[0] for _ in range(n)]
    surprise = np.mean([-model.step_logpdf(s2, s, a) for s2 in moved])
    assert abs(surprise - (1.0 + math.log(2.0 * math.pi * 0.02 * 0.02))) < 5.0 / math.sqrt(n)
    assert abs(np.mean([s2.x for s2 in moved]) - 0.3) < 5.0 * 0.02 / math.sqrt(n)
    assert abs(np.mean([s2.y for s2 in moved]) + 0.4) < 5.0 * 0.02 / math.sqrt(n)
    assert abs(np.corrcoef([s2.x for s2 in moved], [s2.y for s2 in moved])[0, 1]) < 5.0 / math.sqrt(n)


@BOTH
@pytest.mark.parametrize("x", [5.2, 1.0])
def test_readings_follow_their_density(model, x):
    """As above, one check of 5 standard errors: false alarm once in 1.7 million seeds."""
    s, a, rng, n = State(x, 2.0, 0), WESTWARDS[type(model).__name__], stream(5, "light"), 10_000
    sd = noise(x, 5.0, 0.005)
    surprise = np.mean([-model.obs_logpdf(model.observe(s, a, rng), s, a) for _ in range(n)])
    assert abs(surprise - (1.0 + math.log(2.0 * math.pi * sd * sd))) < 5.0 / math.sqrt(n)


@BOTH
def test_stopping(model):
    stop, go, rng = STOPPING[type(model).__name__], WESTWARDS[type(model).__name__], stream(0, "light")
    s, gone = State(0.1, 0.2, 0), State(0.1, 0.2, 1)
    assert model.step(s, stop, rng) == (gone, 10.0)
    assert model.step(State(0.2, 0.2, 0), stop, rng) == (State(0.2, 0.2, 1), -10.0)
    assert model.is_terminal(gone)
    assert model.step_logpdf(gone, s, stop) == 0.0
    assert model.step_logpdf(s, s, stop) == -math.inf == model.step_logpdf(State(0.1, 0.3, 1), s, stop)
    assert model.step_logpdf(State(-0.9, 0.2, 1), s, go) == -math.inf


def test_the_nine_moves():
    model, s = LightDark2D(move_noise=1e-12), State(0.0, 0.0, 0)
    ends = [model.step(s, a, stream(0, "light"))[0] for a in range(8)]
    expected = [(0, 1), (1, 0), (0, -1), (-1, 0), (0, 0.2), (0.2, 0), (0, -0.2), (-0.2, 0)]
    assert np.allclose([(e.x, e.y) for e in ends], expected, atol=1e-10)
    assert model.action_names[1] == "east"
    assert model.action_names[7] == "west-short"
    assert model.action_names[STOP] == "stop"


def test_continuous_actions():
    """No stop among 2000 draws has a probability of 1e-102."""
    model, rng = LightDark2DContinuous(move_noise=1e-12), stream(6, "light")
    drawn = [model.sample_action(State(0.0, 0.0, 0), rng) for _ in range(2000)]
    moves = [a for a in drawn if not a.stop > 0.5]
    assert all(0.0 <= a.heading < 2.0 * math.pi and 0.0 <= a.stride <= 1.0 for a in moves)
    assert {a for a in drawn if a.stop > 0.5} == {Action(0.0, 0.0, 1.0)}
    s, _ = model.step(State(0.0, 0.0, 0), Action(math.pi / 2.0, 7.0, 0.0), rng)
    assert (s.x, s.y) == pytest.approx((0.0, 1.0), abs=1e-10)
    assert model.n_actions == 0
    assert model.shapes.action.kinds == ("float", "float", "float")


@BOTH
def test_the_default_policy_comes_home(model):
    rng = stream(7, "light")
    for _ in range(200):
        s, reward = model.initial(rng), 0.0
        for _ in range(model.max_steps):
            s, reward = model.step(s, model.rollout_action(s, rng), rng)
            if model.is_terminal(s):
                break
        assert reward == 10.0


@BOTH
def test_nothing_is_solved_beforehand(model):
    """Bounds are estimates, so that AIROAS learns a policy."""
    assert not any(model.has(hook) for hook in ("plan_values", "action_bounds", "value_bounds", "heuristic"))
    bounds = find_bounds(model)
    assert (bounds.lower, bounds.upper, bounds.sound) == ("grid plans", "grid qmdp", False)
    assert AIROAS(iterations=1)._wants_policy(model, bounds)


def test_the_literal_proposal_has_the_variance_of_the_paper():
    """Relative standard error of the variance 1 %; two checks of 5 of them: false alarm once in 870 000 seeds."""
    model, rng, n = LightDark2D(), stream(8, "light"), 20_000
    moved = [model.mutate_literal(State(1.0, 0.0, 0), Reading(2.0, -0.5), 0, rng) for _ in range(n)]
    assert abs(np.var([s.x for s in moved]) / 1.5 - 1.0) < 5.0 * math.sqrt(2.0 / n)
    assert abs(np.var([s.y for s in moved]) / 1.5 - 1.0) < 5.0 * math.sqrt(2.0 / n)


def test_cells():
    model = LightDark2D()
    axis = np.arange(-11.0, 17.0, 0.5)
    assert {model.cell(State(x, y, 0)) for x in axis for y in axis} == set(range(27 * 27))
    assert model.cell(State(-1e300, 1e300, 0)) == 26


@BOTH
@pytest.mark.parametrize("bad", [{"light": math.inf}, {"move_noise": 0.0}, {"sharpness": -1.0}, {"discount": 0.0}])
def test_bad_parameters_are_refused(model, bad):
    with pytest.raises(OptionError, match=f"{type(model).__name__}.*{next(iter(bad))}"):
        type(model)(**bad)


def test_sizes_and_length():
    assert LightDark2D().describe() == ("continuous", 9, "continuous")
    assert LightDark2DContinuous().describe() == ("continuous", "continuous", "continuous")
    assert LightDark2D().max_steps == LightDark2DContinuous().max_steps == 60


@BOTH
def test_text_and_picture(model):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    rng = stream(9, "light")
    states = np.array([model.initial(rng) for _ in range(300)], dtype=float)
    belief = SimpleNamespace(states=states, weights=np.full(300, 1.0 / 300))
    assert "in the goal with probability" in model.text(State(1.5, 2.0, 0), belief)
    for s, b in ((State(1.5, 2.0, 0), belief), (None, belief), (State(30.0, 0.0, 1), None), (None, None)):
        figure, axis = pyplot.subplots()
        model.draw(axis, s, b)
        figure.canvas.draw()
        pyplot.close(figure)
        assert model.text(s, b)
