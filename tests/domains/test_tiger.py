from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from airoas.compiler.kernels import kernel, running
from airoas.domains.tiger import LISTEN, OPEN_LEFT, OPEN_RIGHT, Heard, State, Tiger
from airoas.errors import OptionError
from airoas.rng import stream


@kernel
def trace(model, rng, out):
    s = model.initial(rng)
    for t in range(len(out)):
        a = model.rollout_action(s, rng)
        k = rng.integer(2)
        _, p = model.successor(s, a, k)
        s, r = model.step(s, a, rng)
        o = model.observe(s, a, rng)
        out[t, 0], out[t, 1], out[t, 2], out[t, 3] = a, s.tiger, r, o.side
        out[t, 4], out[t, 5], out[t, 6] = model.obs_logpdf(o, s, a), model.reward(s, a), p
        out[t, 7] = model.index(model.state(k))


def test_interpreted_and_compiled_agree_to_the_bit():
    rows = np.zeros((2, 1000, 8))
    trace(Tiger(), stream(1, "tiger"), rows[0])
    with running("interpreted"):
        trace(Tiger(), stream(1, "tiger"), rows[1])
    assert rows[0].tobytes() == rows[1].tobytes()


def test_probabilities_sum_to_one():
    model = Tiger()
    states, weights = model.exact_initial()
    assert states.shape == (2, 1)
    assert weights.sum() == 1.0
    for i in range(model.n_states()):
        s = model.state(i)
        assert model.index(s) == i
        for a in range(3):
            count = 1 if a == LISTEN else 2
            successors = [model.successor(s, a, k) for k in range(count)]
            assert sum(p for _, p in successors) == 1.0
            assert len({s2 for s2, _ in successors}) == count
            assert sum(math.exp(model.obs_logpdf(Heard(side), s, a)) for side in (0, 1)) == pytest.approx(1.0, abs=1e-15)


def test_rewards():
    model = Tiger()
    assert [model.reward(State(0), a) for a in (LISTEN, OPEN_LEFT, OPEN_RIGHT)] == [-1.0, -100.0, 10.0]
    assert [model.reward(State(1), a) for a in (LISTEN, OPEN_LEFT, OPEN_RIGHT)] == [-1.0, 10.0, -100.0]


def test_listening_is_right_as_often_as_it_says():
    """5 standard errors: false alarm once in 1.7 million seeds."""
    model, rng, n = Tiger(), stream(2, "tiger"), 20_000
    right = sum(model.observe(State(i % 2), LISTEN, rng).side == i % 2 for i in range(n)) / n
    assert abs(right - 0.85) < 5.0 * math.sqrt(0.85 * 0.15 / n)


def test_optimal_value_of_the_start():
    """Value iteration on the difference between what was heard left and right, which is all a belief depends on."""
    model = Tiger()
    most = 12
    ahead = np.arange(-most, most + 1)
    left = 1.0 / (1.0 + (0.15 / 0.85) ** ahead.astype(float))
    belief = np.column_stack((left, 1.0 - left))
    now = {a: belief @ [model.reward(State(i), a) for i in (0, 1)] for a in range(3)}
    hear_left = belief @ [math.exp(model.obs_logpdf(Heard(0), State(i), LISTEN)) for i in (0, 1)]
    value = np.zeros(2 * most + 1)
    for _ in range(600):
        up, down = value[np.minimum(ahead + 1, most) + most], value[np.maximum(ahead - 1, -most) + most]
        listen = now[LISTEN] + 0.95 * (hear_left * up + (1.0 - hear_left) * down)
        opened = np.maximum(now[OPEN_LEFT], now[OPEN_RIGHT]) + 0.95 * value[most]
        value = np.maximum(listen, opened)
    assert value[most] == pytest.approx(19.371, abs=5e-4)


def test_perfect_hearing_has_impossible_sounds():
    assert Tiger(accuracy=1.0).obs_logpdf(Heard(0), State(1), LISTEN) == -math.inf


@pytest.mark.parametrize("bad", [{"accuracy": 0.4}, {"accuracy": 1.1}, {"accuracy": math.nan}, {"discount": 1.0}, {"discount": 0.0}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(OptionError, match=next(iter(bad))):
        Tiger(**bad)


def test_sizes_and_length():
    assert Tiger().describe() == (2, 3, 2)
    assert Tiger().max_steps == 30
    assert Tiger().action_names == ("listen", "open-left", "open-right")


def test_text_and_picture():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    belief = SimpleNamespace(states=np.array([[0.0], [1.0]]), weights=np.array([0.85, 0.15]))
    assert "0.850" in Tiger().text(State(0), belief)
    assert "left" in Tiger().text(State(0), None)
    for s, b in ((State(0), belief), (None, belief), (State(1), None), (None, None)):
        figure, axis = pyplot.subplots()
        Tiger().draw(axis, s, b)
        figure.canvas.draw()
        pyplot.close(figure)
