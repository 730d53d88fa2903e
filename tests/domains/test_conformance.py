"""One suite over every shipped domain: what any model must keep, and what ours promise besides."""

import matplotlib
import numpy as np
import pytest

import airoas
from airoas import Particles, simulate
from airoas.catalog import DOMAINS, FAMILIES, find_domain
from airoas.checker.check import walk
from airoas.domains import LaserTag
from airoas.planners import Random

matplotlib.use("Agg")

ONE_OF_EACH = ["tiger", "light-dark-1.0", "light-dark-2d", "light-dark-2d-continuous", "tag", "laser-tag", "rock-sample-7-8"]
VARIANTS = ["tag-modified", "rock-sample-11-11-despot", "rock-sample-random-11-11", "laser-tag-random"]


def walked(model, steps):
    shapes = model.shapes
    states, observations = np.zeros((steps, len(shapes.state.kinds))), np.zeros((steps, len(shapes.observation.kinds)))
    numbers = np.zeros((steps, 2))
    walk(model, states, observations, numbers, airoas.stream(7, "conformance"))
    return np.hstack([states, observations, numbers])


@pytest.mark.parametrize("name", [*ONE_OF_EACH, *(pytest.param(name, marks=pytest.mark.law) for name in VARIANTS)])
def test_check_finds_nothing(name):
    report = airoas.check(find_domain(name)(0))
    assert report.diagnostics == (), str(report)


@pytest.mark.parametrize("name", DOMAINS)
def test_interpreted_and_compiled_agree_to_the_last_bit_over_1000_steps(name):
    model = find_domain(name)(0)
    compiled = walked(model, 1000)
    with airoas.running("interpreted"):
        assert np.array_equal(compiled, walked(model, 1000), equal_nan=True)
    assert np.isfinite(compiled[:, :-1]).all()


@pytest.mark.parametrize("name", DOMAINS)
def test_a_random_episode_runs_and_repeats(name):
    model = find_domain(name)(0)
    first, again = (simulate(model, Random(), seed=1, particles=300, max_steps=8) for _ in range(2))
    assert first.discounted_return == again.discounted_return
    assert 1 <= first.steps <= 8


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_it_draws_itself_on_an_axis_and_as_text(name, tmp_path):
    import matplotlib.pyplot as plt

    model = find_domain(name)(0)
    belief = Particles.sample(model, 50, airoas.stream(0))
    s = model.initial(airoas.stream(1))
    for state, particles in ((s, belief), (s, None), (None, belief)):
        figure, axis = plt.subplots()
        model.draw(axis, state, particles)
        assert axis.get_xlabel() or axis.get_ylabel()
        figure.savefig(tmp_path / "picture.png")
        plt.close(figure)
        text = model.text(state, particles)
        assert text.strip() and "\x1b" not in text


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("tag", (842, 5, 30)),
        ("laser-tag", (4762, 5, "~1.5e6")),
        ("light-dark-1.0", ("continuous", 3, "continuous")),
        ("rock-sample-11-11", (247_808, 16, 3)),
        ("rock-sample-15-15", (7_372_800, 20, 3)),
        ("tiger", (2, 3, 2)),
    ],
)
def test_sizes_are_those_of_the_papers_table_with_its_swap_undone(name, sizes):
    assert find_domain(name)(0).describe() == sizes


@pytest.mark.parametrize("name", [name for name in DOMAINS if find_domain(name)(0).has("exact_initial")])
def test_the_exact_initial_belief_is_what_initial_draws(name):
    model = find_domain(name)(0)
    exact, drawn = Particles.exact(model), Particles.sample(model, 20_000, airoas.stream(3, name))
    error = exact.std() / np.sqrt(len(drawn))
    assert (np.abs(exact.mean() - drawn.mean()) <= 5.5 * error + 1e-9).all()  # false alarm below 1e-6 over all domains


@pytest.mark.parametrize("name", FAMILIES)
def test_families_change_their_map_every_ten_seeds(name):
    make = find_domain(name)
    assert make(0) == make(9) != make(10)


def test_instances_are_equal_by_fingerprint():
    assert find_domain("laser-tag")(0) == LaserTag() != find_domain("laser-tag-2")(0)
