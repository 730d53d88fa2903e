"""Anything at all, at every public entry: accepted only where it is what it should be, else refused with an error of ours."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airoas import Agent, AiroasError, Particles, running, simulate, stream, update
from airoas.bounds import find_bounds
from airoas.domains import LightDark, RockSample, Tiger
from airoas.interop import parse_pomdp
from airoas.interop.gymnasium import Environment, Policy
from airoas.planners import AIROAS, ARDESPOT, PBVI, POMCP, POMCPOW, QMDP, AdaOPS, Random

TABLES = (
    "discount: 0.9\nvalues: reward\nstates: 2\nactions: 3\nobservations: 2\nT: * identity\nO: *\n0.8 0.2\n0.2 0.8\nR: * : * : * : * 1\n"
)
SMALL = {"tiger": Tiger(), "tables": parse_pomdp(TABLES)}
"""Two states, three actions, two observations each."""
LIGHT, ROCKS = LightDark(), RockSample(3, ((0, 0), (2, 1)))

NUMBERS = (
    st.booleans() | st.integers(-4, 4) | st.integers(-(10**40), 10**40) | st.floats() | st.sampled_from([1e9, -1e9, 2.0**53, 1e300, 0.5])
)
SCALARS = st.none() | NUMBERS | st.text(max_size=3) | st.binary(max_size=3) | st.complex_numbers() | st.just(object())
NUMPY = st.builds(lambda x, kind: np.int64(x).astype(kind), st.integers(-4, 4), st.sampled_from(["i1", "i8", "u4", "f4", "f8", "?"]))
ARRAYS = st.builds(
    lambda shape, kind, fill: np.full(shape, fill).astype(kind),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from(["f8", "f4", "i8", "?", "U1", "c16", "O"]),
    st.integers(-2, 3),
)
ANYTHING = st.recursive(
    SCALARS | NUMPY | ARRAYS,
    lambda parts: st.tuples(parts) | st.tuples(parts, parts) | st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=2), parts),
    max_leaves=4,
)
ROWS = st.lists(st.lists(NUMBERS, min_size=1, max_size=4), min_size=1, max_size=4)


def is_index(value: Any, n: int) -> bool:
    """Whether it is one of 0 .. n - 1, alone or in a tuple."""
    value = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)) and 0 <= value < n


def is_large(value: Any) -> bool:
    """A number of particles or steps that is allowed, and takes long."""
    return is_index(value, 1 << 54) and not is_index(value, 1000)


def belief_of(model: Any) -> Particles:
    return Particles.sample(model, 8, stream(0))


def planners() -> list[Any]:
    return [*(kind(iterations=2) for kind in (AIROAS, AdaOPS, ARDESPOT, POMCP, POMCPOW)), QMDP(), PBVI(), Random()]


def of_two_states(rows: Any) -> bool:
    array = np.array(rows)
    return array.ndim == 2 and array.shape[1] == 1 and set(array.ravel().tolist()) <= {0, 1}


# (garbage, number) -> nothing; each says itself what it may accept


def observation(value: Any, pick: int) -> None:
    model = list(SMALL.values())[pick % 2]
    update(model, belief_of(model), 0, value, stream(0), ("bootstrap", "annealed", "adaptive", "exact")[pick % 4])
    assert is_index(value, 2)


def action(value: Any, pick: int) -> None:
    model = list(SMALL.values())[pick % 2]
    update(model, belief_of(model), value, (1,), stream(0), ("bootstrap", "exact")[pick % 2])
    assert is_index(value, 3)


def agents_observation(value: Any, pick: int) -> None:
    agent = Agent(SMALL["tables"], Random(), 0, filter="bootstrap", particles=5)
    agent.act()
    agent.observe(value)
    assert is_index(value, 2)


def reading(value: Any, pick: int) -> None:
    after = update(LIGHT, belief_of(LIGHT), 0, value, stream(0), "bootstrap")
    assert np.isfinite(after.states).all()
    value = value[0] if isinstance(value, tuple) else value
    assert math.isfinite(value) and not isinstance(value, (bool, np.bool_))


def belief(value: Any, pick: int) -> None:
    particles = Particles(value)
    assert np.isfinite(particles.states).all()
    model = list(SMALL.values())[pick % 2]
    everything = planners()
    everything[pick % len(everything)].plan(model, particles, stream(0))
    assert of_two_states(value)


def updated_belief(value: Any, pick: int) -> None:
    model = (*SMALL.values(), LIGHT, ROCKS)[pick % 4]
    particles = Particles(value)
    update(model, particles, 0, (2,) if model is ROCKS else (1.0,) if model is LIGHT else (1,), stream(0), "bootstrap")
    assert particles.states.shape[1] == model.shapes.state.size
    assert model in (LIGHT, ROCKS) or of_two_states(value)


def rocks(value: Any, pick: int) -> None:
    POMCP(iterations=3).plan(ROCKS, Particles(value), stream(0))
    rows = np.array(value)
    assert rows.shape[1] == 4 and (rows >= 0).all() and (rows[:, :2] <= 2).all()


def weights(value: Any, pick: int) -> None:
    particles = Particles([[0.0], [1.0]], value) if pick % 2 else Particles([[0.0], [1.0]], log_weights=value)
    assert particles.weights.sum() == pytest.approx(1.0)


def bounds_at(value: Any, pick: int) -> None:
    bounds = find_bounds(SMALL["tiger"])
    bounds.values(SMALL["tiger"], value)
    bounds.at(SMALL["tiger"], Particles(value))
    assert of_two_states(value)


def count(value: Any, pick: int) -> None:
    if is_large(value):
        return
    particles = belief_of(SMALL["tiger"]).draw(value, stream(0)) if pick % 2 else Particles.sample(SMALL["tiger"], value, stream(0))
    assert is_index(value, len(particles) + 1)


def rng(value: Any, pick: int) -> None:
    everything = planners()
    if pick % 2:
        everything[pick % len(everything)].plan(SMALL["tiger"], belief_of(SMALL["tiger"]), value)
    else:
        update(SMALL["tiger"], belief_of(SMALL["tiger"]), 0, (1,), value)
    raise AssertionError(f"{value!r} was taken for a stream")


def no_belief(value: Any, pick: int) -> None:
    everything = planners()
    everything[pick % len(everything)].plan(SMALL["tiger"], value, stream(0))
    raise AssertionError(f"{value!r} was taken for a belief")


def option(value: Any, pick: int) -> None:
    kinds = (AIROAS, AdaOPS, ARDESPOT, POMCP, POMCPOW)
    kind = kinds[pick % len(kinds)]
    others = {"seconds", "iterations", "memory", "threads", "max_depth", "learn_seconds"}
    fields = [field.name for field in dataclasses.fields(kind) if field.name not in others]
    name = fields[pick % len(fields)]
    planner = kind(**{"iterations": 2, name: value}, **({"learn_seconds": 0.0} if kind is AIROAS else {}))
    assert type(value) in (bool, int, float, str, tuple, list, type(None)) or isinstance(value, np.generic)
    if name not in ("particles", "min_particles", "max_particles", "scenarios", "bounds", "policy"):  # large ones take long
        planner.plan(SMALL["tiger"], belief_of(SMALL["tiger"]), stream(0))


def budget(value: Any, pick: int) -> None:
    kinds = (AIROAS, AdaOPS, ARDESPOT, POMCP, POMCPOW)
    name = ("seconds", "iterations", "memory", "max_depth")[pick % 4]
    kinds[pick % 5](**{"iterations": 2} if pick % 4 > 1 else {}, **{name: value})
    assert isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_)) and value > 0


def episode(value: Any, pick: int) -> None:
    if is_large(value):
        return
    options = {"particles": 5, "max_steps": value} if pick % 2 else {"particles": value, "max_steps": 2}
    simulate(SMALL["tiger"], Random(), 0, filter="bootstrap", **options)
    assert (value is None and pick % 2) or is_index(value, 10**6)


def gymnasium_step(value: Any, pick: int) -> None:
    world = Environment(SMALL["tables"])
    world.reset(seed=0)
    world.step(value)
    assert is_index(value, 3) or (isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iu")


def gymnasium_policy(value: Any, pick: int) -> None:
    policy = Policy(SMALL["tiger"], Random(), 0, filter="bootstrap", particles=5)
    policy(None)
    policy(value)
    seen = np.asarray(value, np.float64).ravel()
    assert len(seen) == 1 and seen[0] in (0.0, 1.0)


def stored_belief(value: Any, pick: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "belief.npz"
        if isinstance(value, bytes):
            path.write_bytes(value)
        else:
            with contextlib.suppress(Exception):
                np.savez(
                    path, format=np.array("airoas-particles-1"), states=np.asarray(value), log_weights=np.zeros(max(1, np.size(value)))
                )
        assert np.isfinite(Particles.load(path).states).all()


def model_text(value: Any, pick: int) -> None:
    begin = pick % len(TABLES)
    parse_pomdp(TABLES[:begin] + str(value) + TABLES[begin + pick % 7 :])


FROM_ANYTHING = [
    *(observation, action, agents_observation, reading, weights, count, rng, no_belief, option, budget, episode),
    *(gymnasium_step, gymnasium_policy, stored_belief, model_text, belief, updated_belief),
]
FROM_ROWS = [belief, updated_belief, rocks, bounds_at, stored_belief]
CASES = st.tuples(st.sampled_from(FROM_ANYTHING), ANYTHING, st.integers(0, 1000)) | st.tuples(
    st.sampled_from(FROM_ROWS), ROWS, st.integers(0, 1000)
)


def attempt(case: tuple[Callable[[Any, int], None], Any, int]) -> None:
    enter, value, pick = case
    with warnings.catch_warnings(), contextlib.suppress(AiroasError):
        warnings.simplefilter("ignore")
        enter(value, pick)


def fuzz(examples: int) -> None:
    check = settings(max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    check(given(CASES)(attempt))()


def test_a_few_hundred_cases() -> None:
    fuzz(400)


@pytest.mark.law
def test_twenty_thousand_cases() -> None:
    fuzz(20_000)


@pytest.mark.law
def test_with_array_bounds_checked() -> None:
    with running("debug"):
        fuzz(2000)


def test_interpreted() -> None:
    with running("interpreted"):
        fuzz(100)
