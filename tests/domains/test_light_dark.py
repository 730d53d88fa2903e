from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from airoas.compiler.kernels import kernel, running
from airoas.domains.light_dark import LEFT, RIGHT, STOP, LightDark, Reading, State
from airoas.errors import BeliefError, OptionError
from airoas.rng import stream


@kernel
def trace(model, rng, out):
    s = model.initial(rng)
    for t in range(len(out)):
        if model.is_terminal(s):
            s = model.initial(rng)
        a = model.rollout_action(s, rng)
        s, r = model.step(s, a, rng)
        o = model.observe(s, a, rng)
        out[t, 0], out[t, 1], out[t, 2], out[t, 3], out[t, 4] = a, s.y, s.stopped, r, o.y
        out[t, 5], out[t, 6] = model.obs_logpdf(o, s, a), model.cell(s)
        out[t, 7], out[t, 8] = model.mutate(s, o, a, rng).y, model.mutate_literal(s, o, a, rng).y


def test_interpreted_and_compiled_agree_to_the_bit():
    rows = np.zeros((2, 1000, 9))
    trace(LightDark(step_size=0.5), stream(1, "light"), rows[0])
    with running("interpreted"):
        trace(LightDark(step_size=0.5), stream(1, "light"), rows[1])
    assert rows[0].tobytes() == rows[1].tobytes()


@pytest.mark.parametrize(("y", "sd"), [(5.0, 0.01), (4.0, 0.717), (2.0, 2.131), (0.0, 3.546), (-1.0, 4.253)])
def test_noise(y, sd):
    assert LightDark().noise(y) == pytest.approx(sd, abs=5e-4)


@pytest.mark.parametrize("y", [5.0, 4.2, 0.0, -6.0])
def test_the_density_of_a_reading_integrates_to_one(y):
    model = LightDark()
    sd = model.noise(y)
    grid = np.linspace(y - 10.0 * sd, y + 10.0 * sd, 4001)
    density = [math.exp(model.obs_logpdf(Reading(float(o)), State(y, 0), RIGHT)) for o in grid]
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-9)


def test_rewards_and_the_end():
    model, rng = LightDark(), stream(0, "light")
    assert model.step(State(0.999, 0), STOP, rng) == (State(0.999, 1), 10.0)
    assert model.step(State(1.0, 0), STOP, rng) == (State(1.0, 1), -10.0)
    assert model.step(State(1.0, 0), LEFT, rng) == (State(0.0, 0), 0.0)
    assert model.is_terminal(State(0.0, 1))
    assert not model.is_terminal(State(0.0, 0))


def test_cells():
    model = LightDark()
    assert [model.cell(State(y, 0)) for y in (-1e300, -10.01, -10.0, -0.5, 0.0, 14.99, 15.0, 1e300)] == [0, 0, 1, 10, 11, 25, 26, 26]
    assert {model.cell(State(y, 0)) for y in np.arange(-12.0, 17.0, 0.25)} == set(range(27))


def test_the_literal_proposal_has_the_variance_of_the_paper():
    """The variance of 20 000 normals has a relative standard error of 1 %; 5 of them: false alarm once in 1.7 million seeds."""
    model, rng, n = LightDark(), stream(3, "light"), 20_000
    steps = np.array([model.mutate_literal(State(1.0, 0), Reading(3.5), LEFT, rng).y - 1.0 for _ in range(n)])
    assert abs(steps.mean()) < 5.0 * math.sqrt(2.5 / n)
    assert abs(steps.var() / 2.5 - 1.0) < 5.0 * math.sqrt(2.0 / n)
    assert model.mutate_literal(State(1.0, 0), Reading(1.0), LEFT, rng) == State(1.0, 0)


def test_the_initial_grid_has_the_moments_of_the_prior():
    states, weights = LightDark().exact_initial()
    assert states.shape == (18001, 2)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    mean = weights @ states[:, 0]
    assert mean == pytest.approx(2.0, abs=1e-6)
    assert math.sqrt(weights @ (states[:, 0] - mean) ** 2) == pytest.approx(3.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_exact_update_against_quadrature(seed):
    """The posterior of y0 is prior times likelihoods along the known shifts; here on a finer grid of other points."""
    model, rng = LightDark(step_size=0.5), stream(seed, "light", "exact")
    states, weights = model.exact_initial()
    logs = np.log(weights)
    y0 = np.linspace(-22.0, 26.0, 400_003)
    reference = -0.5 * ((y0 - 2.0) / 3.0) ** 2
    s, shift = model.initial(rng), 0.0
    for t in range(12):
        a = STOP if t == 11 else RIGHT if rng.uniform() < 0.7 else LEFT
        s, _ = model.step(s, a, rng)
        o = model.observe(s, a, rng)
        states, logs = model.exact_update(states, logs, a, o)
        shift += (a - STOP) * 0.5
        sd = abs(y0 + shift - 5.0) / math.sqrt(2.0) + 0.01
        reference += -0.5 * ((o.y - y0 - shift) / sd) ** 2 - np.log(sd)
        finer = np.exp(reference - reference.max())
        finer /= finer.sum()
        assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-12)
        mean, expected = np.exp(logs) @ states[:, 0], finer @ (y0 + shift)
        spread = math.sqrt(finer @ (y0 + shift - expected) ** 2)
        assert mean == pytest.approx(expected, abs=1e-3 * spread)
        assert math.sqrt(np.exp(logs) @ (states[:, 0] - mean) ** 2) == pytest.approx(spread, rel=1e-3)
        assert (states[:, 1] == (a == STOP)).all()
    with pytest.raises(BeliefError, match="new episode"):
        model.exact_update(states, logs, LEFT, o)


def test_exact_update_survives_a_reading_that_nothing_explains():
    model = LightDark()
    states, weights = model.exact_initial()
    states, logs = model.exact_update(states, np.log(weights), RIGHT, Reading(1e6))
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(BeliefError, match="finite"):
        model.exact_update(states, logs, RIGHT, Reading(math.inf))


@pytest.mark.parametrize("bad", [{"step_size": 0.0}, {"step_size": -1.0}, {"step_size": math.inf}, {"light": math.nan}, {"discount": 1.5}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(OptionError, match=next(iter(bad))):
        LightDark(**bad)


def test_sizes_and_length():
    assert LightDark().describe() == ("continuous", 3, "continuous")
    assert LightDark().max_steps == 50


def test_text_and_picture():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model = LightDark()
    states, weights = model.exact_initial()
    belief = SimpleNamespace(states=states, weights=weights)
    assert "belief: y = 2.000 +- 3.000" in model.text(State(1.5, 0), belief)
    assert "stopped" in model.text(State(1.5, 1), None)
    for s, b in ((State(1.5, 0), belief), (None, belief), (State(30.0, 1), None), (None, None)):
        figure, axis = pyplot.subplots()
        model.draw(axis, s, b)
        figure.canvas.draw()
        pyplot.close(figure)
        assert model.text(s, b)
