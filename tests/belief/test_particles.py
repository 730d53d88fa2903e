"""The weighted particle belief: laws of its summaries, immutability, saving and loading."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import airoas
from airoas import Particles
from airoas.domains import LightDark, Tiger

logs = st.lists(st.floats(-700, 700), min_size=1, max_size=40)


@given(logs)
@settings(deadline=None, max_examples=200)
def test_weights_sum_to_one_and_ess_lies_between_one_and_n(log_weights):
    belief = Particles(np.arange(len(log_weights))[:, None], log_weights=log_weights)
    assert belief.weights.sum() == pytest.approx(1.0)
    assert 1.0 - 1e-9 <= belief.ess <= len(belief) + 1e-9
    assert belief.inefficiency == pytest.approx(len(belief) / belief.ess)


@given(logs, st.floats(-1e5, 1e5))
@settings(deadline=None, max_examples=100)
def test_a_common_factor_changes_nothing(log_weights, shift):
    rows = np.arange(len(log_weights))[:, None]
    before, after = Particles(rows, log_weights=log_weights), Particles(rows, log_weights=np.array(log_weights) + shift)
    assert np.allclose(before.weights, after.weights, atol=1e-9)


def test_mean_and_std_are_those_of_the_weighted_points():
    belief = Particles([[0.0, 5.0], [1.0, 5.0]], weights=[1.0, 3.0])
    assert belief.mean() == pytest.approx([0.75, 5.0])
    assert belief.std() == pytest.approx([np.sqrt(0.75 * 0.25), 0.0])
    assert belief.ess == pytest.approx(1.6)


def test_the_belief_cannot_be_changed_from_outside():
    states, weights = np.zeros((3, 1)), np.ones(3)
    belief = Particles(states, weights)
    states[:] = 7.0
    assert (belief.states == 0.0).all()
    with pytest.raises(ValueError, match="read-only"):
        belief.states[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        belief.log_weights[0] = 1.0
    belief.weights[:] = 0.0
    assert belief.weights.sum() == pytest.approx(1.0)


def test_sample_draws_the_initial_belief():
    belief = Particles.sample(LightDark(), 20_000, airoas.stream(0))
    assert belief.states.shape == (20_000, 2)
    assert belief.mean()[0] == pytest.approx(2.0, abs=5 * 3 / np.sqrt(20_000))  # false alarm below 1e-6
    assert belief.std()[0] == pytest.approx(3.0, abs=5 * 3 / np.sqrt(40_000))


def test_exact_starts_from_all_states():
    belief = Particles.exact(Tiger())
    assert len(belief) == 2 and belief.weights == pytest.approx([0.5, 0.5])


def test_draw_keeps_the_mean():
    belief = Particles(np.arange(10.0)[:, None], weights=np.arange(10.0))
    assert belief.draw(1000, airoas.stream(0)).mean()[0] == pytest.approx(belief.mean()[0], abs=0.01)


def test_saved_beliefs_come_back(tmp_path):
    belief = Particles([[1.0, 2.0], [3.0, 4.0]], weights=[1.0, 0.0])
    belief.save(tmp_path / "belief.npz")
    again = Particles.load(tmp_path / "belief.npz")
    assert (again.states == belief.states).all() and (again.log_weights == belief.log_weights).all()


@pytest.mark.parametrize("raw", [b"", b"not a belief", b"PK\x03\x04damaged"])
def test_files_that_are_no_beliefs_are_refused(tmp_path, raw):
    path = tmp_path / "belief.npz"
    path.write_bytes(raw)
    with pytest.raises(airoas.StoredDataError, match="belief"):
        Particles.load(path)


def test_pickled_arrays_are_never_loaded(tmp_path):
    path = tmp_path / "belief.npz"
    np.savez(path, format=np.array("airoas-particles-1"), states=np.array([object()], dtype=object), log_weights=np.zeros(1))
    with pytest.raises(airoas.StoredDataError):
        Particles.load(path)


@pytest.mark.parametrize(
    ("states", "options", "message"),
    [
        ([], {}, "no particles"),
        ([[0.0]], {"weights": [1.0, 2.0]}, "one finite weight"),
        ([[0.0]], {"weights": [-1.0]}, "one finite weight"),
        ([[0.0]], {"weights": [np.inf]}, "one finite weight"),
        ([[0.0]], {"weights": [1.0], "log_weights": [0.0]}, "Give one of them"),
    ],
)
def test_bad_input_is_refused(states, options, message):
    with pytest.raises(airoas.OptionError, match=message):
        Particles(states, **options)


def test_a_belief_without_weight_says_what_to_do():
    with pytest.raises(airoas.BeliefError, match="more particles"):
        Particles([[0.0], [1.0]], weights=[0.0, 0.0])


def test_zero_particles_are_refused():
    with pytest.raises(airoas.OptionError, match="at least 1"):
        Particles.sample(Tiger(), 0, airoas.stream(0))


def test_something_that_is_no_model_is_refused():
    with pytest.raises(airoas.OptionError, match=r"@airoas\.model"):
        Particles.sample("tiger", 10, airoas.stream(0))
