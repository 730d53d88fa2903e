"""What `find_bounds` picks, refuses, keeps on disk, and that its pairs never cross."""

import time

import numpy as np
import pytest
from bound_models import Plain, random_model

import airoas
from airoas import Particles
from airoas.bounds import find, find_bounds, store
from airoas.catalog import DOMAINS, find_domain
from airoas.domains import LightDark, Tag, Tiger

PICKED = {
    "tiger": ("pbvi", "fib"),
    "light-dark-1.0": ("plans", "qmdp"),
    "tag": ("pbvi", "fib"),
    "tag-modified": ("pbvi", "fib"),
    "laser-tag": ("blind", "qmdp"),
    "rock-sample-7-8": ("plans", "qmdp"),
    "rock-sample-15-15": ("plans", "qmdp"),
    "rock-sample-11-11-despot": ("plans", "qmdp"),
}


@pytest.mark.parametrize("name", PICKED)
def test_auto_picks_a_sound_pair_that_does_not_cross(name):
    model = find_domain(name)(0)
    bounds = find_bounds(model)
    assert ((bounds.lower, bounds.upper), bounds.sound) == (PICKED[name], True)
    rng, draw = airoas.stream(0, name), np.random.default_rng(0)
    start = Particles.sample(model, 300, rng)
    for sharpness in (0.0, 1.0, 10.0):
        weights = np.exp(sharpness * draw.normal(size=300))
        lower, upper = bounds.at(model, Particles(start.states, weights / weights.sum()))
        assert lower <= upper
        assert np.isfinite((lower, upper)).all()


@pytest.mark.parametrize(
    "name", ["tiger", "light-dark-1.0", "light-dark-2d", pytest.param("tag", marks=pytest.mark.law), "rock-sample-7-8"]
)
def test_interpreted_equals_compiled(name):
    model = find_domain(name)(0)
    belief = Particles.sample(model, 40, airoas.stream(2))
    compiled = find_bounds(model).at(model, belief)
    with airoas.running("interpreted"):
        assert find_bounds(model).at(model, belief) == compiled


@pytest.mark.parametrize("name", ["tiger", "light-dark-1.0", "tag", "laser-tag", "rock-sample-7-8"])
def test_a_few_seconds_are_enough_where_a_domain_gives_hints(name, monkeypatch):
    """Once compiled, with nothing on disk."""
    model = find_domain(name)(0)
    find_bounds(model)
    monkeypatch.setattr(store, "folder", lambda: None)
    monkeypatch.setattr(find, "_cached", {})
    start = time.process_time()
    find_bounds(model)
    assert time.process_time() - start < 5.0


@pytest.mark.law
def test_a_few_seconds_are_enough_for_every_domain():
    """Once compiled, and for those without hints once they are on disk."""
    for name in DOMAINS:
        model = find_domain(name)(0)
        if model.n_actions:
            find_bounds(model)
    find._cached.clear()
    for name in DOMAINS:
        model = find_domain(name)(0)
        if model.n_actions:
            start = time.process_time()
            find_bounds(model)
            assert time.process_time() - start < 5.0


def test_the_papers_settings_and_numbers():
    model = Tag()
    belief = Particles.exact(model)
    for spec, lower, upper in (("paper-tag", "-20", "0"), ("paper-light-dark", "-11", "11"), ((-3, 4.5), "-3", "4.5")):
        bounds = find_bounds(model, spec)
        assert (bounds.lower, bounds.upper) == (lower, upper)
        assert bounds.at(model, belief) == pytest.approx((float(lower), float(upper)))
        assert bounds.first_actions.tolist() == [-1]


@pytest.mark.parametrize(
    ("model", "spec", "words"),
    [
        (Tag(), "paper-tags", "Did you mean `paper-tag`"),
        (Tag(), ("blnd", "qmdp"), "no lower bound 'blnd'. Did you mean `blind`"),
        (Tag(), ("blind", "qdmp"), "no upper bound 'qdmp'. Did you mean `qmdp`"),
        (Tag(), ("fixed:tagg", "qmdp"), "Did you mean `tag`"),
        (Tag(), (10, -20), "the lower bound 10 is above the upper one, -20"),
        (Tag(), (float("nan"), 1), "Use a finite number"),
        (Tag(), 7, "is no pair"),
        (Tag(), ("plans", "qmdp"), "has no `plan_values`"),
        (LightDark(), ("blind", "qmdp"), "cannot be enumerated"),
        (LightDark(), ("plans", "value_bounds"), "has no `value_bounds`"),
        (airoas.domains.LaserTag(), ("blind", "fib"), 'Choose upper="qmdp"'),
    ],
)
def test_what_is_refused_is_named_with_a_remedy(model, spec, words):
    with pytest.raises(airoas.OptionError) as error:
        find_bounds(model, spec)
    assert words in str(error.value)


def test_bounds_are_found_once_per_fingerprint():
    assert find_bounds(Tiger()) is find_bounds(Tiger())
    assert find_bounds(Tiger()) is not find_bounds(Tiger(accuracy=0.9))
    assert find_bounds(Tiger(), ("blind", "qmdp")) is find_bounds(Tiger(), ["blind", "qmdp"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of bounds, in which everything is worth keeping."""
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    monkeypatch.setattr(store, "LEAST_SECONDS", -1.0)
    monkeypatch.setattr(find, "_cached", {})
    return tmp_path


def test_stored_bounds_are_loaded_and_damaged_ones_computed_again(folder, monkeypatch):
    model, every = random_model(3), [[0.0], [1.0], [2.0]]
    bounds = find_bounds(model)
    files = sorted(folder.glob("bounds-*.npz"))
    assert len(files) == 3  # the lower bound, all the plans that it was chosen from, the upper bound
    computed = []
    monkeypatch.setattr(find, "enumerate_model", lambda m: computed.append(m) or airoas.bounds.enumerate_model(m))
    find._cached.clear()
    again = find_bounds(model)
    assert not computed
    assert np.array_equal(again.values(model, [[0.0], [1.0], [2.0]]), bounds.values(model, [[0.0], [1.0], [2.0]])) and (
        again.lower,
        again.upper,
    ) == (bounds.lower, bounds.upper)
    for file in files:
        file.write_bytes(file.read_bytes()[:-7] + b"another")
    find._cached.clear()
    assert np.array_equal(find_bounds(model).values(model, every), bounds.values(model, every))
    assert computed == [model]
    assert len(sorted(folder.glob("bounds-*.npz"))) == 3  # the damaged ones were removed and written anew
    find._cached.clear()
    find_bounds(random_model(4))
    assert len(computed) == 2  # another model finds nothing


def test_a_grid_is_stored_too(folder, monkeypatch):
    first = find_bounds(Plain())
    find._cached.clear()
    monkeypatch.setattr(find.fitted, "estimate_values", lambda *_: pytest.fail("it is on disk"))
    belief = Particles.sample(Plain(), 50, airoas.stream(0))
    assert find_bounds(Plain()).at(Plain(), belief) == first.at(Plain(), belief)


def test_quick_work_is_not_stored_and_the_oldest_goes_first(folder, monkeypatch):
    monkeypatch.setattr(store, "LEAST_SECONDS", 1e9)
    find_bounds(random_model(5))
    assert not list(folder.glob("bounds-*.npz"))
    monkeypatch.setattr(store, "LEAST_SECONDS", -1.0)
    monkeypatch.setattr(store, "_KEEP_BYTES", 1)
    find_bounds(random_model(6))
    assert len(list(folder.glob("bounds-*.npz"))) == 0


def test_a_discount_of_one_is_refused_where_sums_need_an_end():
    with pytest.raises(airoas.OptionError, match="discount is 1"):
        find_bounds(Plain(discount=1.0))
    assert find_bounds(LightDark(discount=1.0)).sound


def test_plans_below_another_everywhere_are_left_out_and_equal_ones_stay():
    values = np.array([[1.0, 0.0, 1.0, 0.5], [2.0, 2.0, 2.0, 3.0]])
    assert find._undominated(values) == [0, 2, 3]


def test_progress_is_told(folder):
    told = []
    find_bounds(random_model(7), progress=told.append)
    assert [doing for doing in told if "round" not in doing] == [
        "enumerating states",
        "values of repeated actions",
        "choosing plans for a search",
        "fast informed bound",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_who_waits_at_a_terminal_is_told_why(terminal, monkeypatch, caplog):
    class AtOnce:
        def __init__(self, seconds, function, arguments):
            self.start, self.cancel = lambda: function(*arguments), lambda: None

    monkeypatch.setattr(find.threading, "Timer", AtOnce)
    monkeypatch.setattr(find.sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(find, "_cached", {})
    find_bounds(Tiger(), ("blind", "mdp"))
    assert ("working out the bounds of Tiger, once for this model" in caplog.messages) == terminal
