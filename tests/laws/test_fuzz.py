"""Anything at all, at every public entry: accepted only where it is what it should be, else refused with an error of ours."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import airoas
from airoas import (
    AdaptiveFilter,
    Agent,
    AiroasError,
    AnnealedFilter,
    BootstrapFilter,
    Box,
    Choice,
    Particles,
    anneal,
    running,
    simulate,
    stream,
    update,
)
from airoas.bounds import find_bounds
from airoas.bounds.learned.forest import zero
from airoas.domains import LightDark, RockSample, Tiger
from airoas.interop import parse_pomdp
from airoas.interop.gymnasium import Environment, Policy
from airoas.modelling.actions import ActionSpace
from airoas.planners import AIROAS, ARDESPOT, PBVI, POMCP, POMCPOW, QMDP, AdaOPS, FittedQ, Random
from airoas.policies import learned

TABLES = (
    "discount: 0.9\nvalues: reward\nstates: 2\nactions: 3\nobservations: 2\nT: * identity\nO: *\n0.8 0.2\n0.2 0.8\nR: * : * : * : * 1\n"
)
SMALL = {"tiger": Tiger(), "tables": parse_pomdp(TABLES)}
"""Two states, three actions, two observations each."""
LIGHT, ROCKS = LightDark(), RockSample(3, ((0, 0), (2, 1)))


class Position(NamedTuple):
    x: float


class Drive(NamedTuple):
    gear: int
    by: float


@airoas.model
class Road(NamedTuple):
    """Actions are a choice and a number."""

    discount: float = 0.9
    max_steps: int = 5

    def action_space(self):
        return Drive(gear=Choice("back", "on"), by=Box(-1.0, 1.0))

    def initial(self, rng):
        return Position(rng.normal())

    def step(self, s, a, rng):
        x = s.x + (a.by if a.gear == 1 else -a.by)
        return Position(x), -abs(x)

    def observe(self, s, a, rng):
        return Position(s.x + rng.normal())

    def obs_logpdf(self, o, s, a):
        return -0.5 * (o.x - s.x) * (o.x - s.x)


ROAD = Road()

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


def is_number(value: Any, low: float, high: float) -> bool:
    """Whether it is one from `low` to `high`, the ends left out."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_)) and low < value < high


def belief_of(model: Any) -> Particles:
    return Particles.sample(model, 8, stream(0))


def planners() -> list[Any]:
    return [
        *(kind(iterations=2) for kind in (AIROAS, AdaOPS, ARDESPOT, POMCP, POMCPOW)),
        QMDP(),
        PBVI(),
        FittedQ(learn_seconds=0.0),
        Random(),
    ]


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


def gymnasium_drive(value: Any, pick: int) -> None:
    world = Environment(ROAD)
    world.reset(seed=0)
    world.step({"gear": value, "by": 0.5} if pick % 2 else {"gear": 1, "by": value})
    number = np.asarray(value)
    assert number.size == 1 and number.dtype.kind in "biuf" and -1.0 <= float(number.item()) <= 1.0


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


def agents_option(value: Any, pick: int) -> None:
    accepts: dict[str, Callable[[Any], bool]] = {
        "false_alarms": lambda x: x == 0 or is_number(x, 0.0, 1.0),
        "recover": lambda x: isinstance(x, (bool, np.bool_)),
        "update_seconds": lambda x: x is None or is_number(x, 0.0, math.inf),
        "seed": lambda x: is_number(x, -(2**64), 2**64) and float(x).is_integer(),
        "particles": lambda x: is_index(x, 1000),
        "belief": lambda x: x is None,
        "log": lambda x: x is None or isinstance(x, str),
        "device": lambda x: False,
        "filter": lambda x: False,
        "planner": lambda x: False,
    }
    name = list(accepts)[pick % len(accepts)]
    if name == "particles" and is_large(value):
        return
    with tempfile.TemporaryDirectory() as folder:
        given = f"{folder}/{value}" if name == "log" and isinstance(value, str) else value
        options = {"planner": Random(), "seed": 0, "filter": "adaptive", "particles": 5, name: given}
        agent = Agent(SMALL["tiger"], **options)
        agent.act()
        agent.observe((1,))
    assert accepts[name](value)


def filters_option(value: Any, pick: int) -> None:
    kind = (BootstrapFilter, AnnealedFilter, AdaptiveFilter)[pick % 3]
    fields = [field.name for field in dataclasses.fields(kind)]
    name = fields[pick % len(fields)]
    filter = kind(**{name: value})  # type: ignore[arg-type]
    accepted = {
        "particles": is_index(value, 1 << 54),
        "moves": is_index(value, 1 << 54),
        "target_inefficiency": is_number(value, 1.0, math.inf) or value == math.inf,
        "update_seconds": value is None or is_number(value, 0.0, math.inf),
    }
    assert accepted.get(name, False)
    if not is_large(value):
        filter.update(SMALL["tables"], belief_of(SMALL["tables"]), 0, (1,), stream(0))


def anneals_option(value: Any, pick: int) -> None:
    names = ("mode", "target_inefficiency", "schedule", "moves", "move", "resample", "until", "scale", "seconds", "device")
    name = (*names, "literal_weights", "literal_constant")[pick % 12]
    if name == "moves" and is_large(value):
        return
    others = {"mode": "literal"} if name.startswith("literal") else {"schedule": "sigmoid"} if name == "resample" else {}
    annealed = anneal(LIGHT, belief_of(LIGHT), 0, (1.0,), stream(0), **{**others, name: value})
    assert np.isfinite(annealed.belief.states).all() and annealed.belief.weights.sum() == pytest.approx(1.0)
    assert not isinstance(value, (str, bytes, complex, dict)) and (name == "resample") == isinstance(value, (bool, np.bool_))


def annealed_belief(value: Any, pick: int) -> None:
    particles = Particles(value)
    anneal(LIGHT, particles, 0, (1.0,), stream(0))
    assert particles.states.shape[1] == LIGHT.shapes.state.size


def fitted_q(value: Any, pick: int) -> None:
    planner = FittedQ(learn_seconds=value)
    assert value == 0 or is_number(value, 0.0, math.inf)
    planner.plan(SMALL["tiger"], belief_of(SMALL["tiger"]), stream(0))


def stored_policy(value: Any, pick: int) -> None:
    """Bytes as the whole file, anything else in place of one of its arrays."""
    model = SMALL["tiger"]
    arrays = {"model": np.array("Tiger"), "actions": np.array(3)}
    arrays |= learned.to_arrays(learned.Learned(zero(3), 1, "", "learned", returns={"qmdp": (0.0, 1.0)}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.npz"
        if isinstance(value, bytes):
            path.write_bytes(value)
        else:
            with contextlib.suppress(Exception):
                np.savez(path, **{**arrays, list(arrays)[pick % len(arrays)]: np.asarray(value)})
        try:
            FittedQ().load(model, path)
            FittedQ().plan(model, belief_of(model), stream(0))
        finally:
            learned._known.pop((model.fingerprint, "auto"), None)


def drive(value: Any, pick: int) -> None:
    if pick % 2:
        update(ROAD, belief_of(ROAD), value, (0.5,), stream(0), "bootstrap")
    else:
        Agent(ROAD, Random(), 0, filter="bootstrap", particles=5).observe((0.5,), action=value)
    assert isinstance(value, tuple) and len(value) == 2 and is_index(value[0], 2)
    assert is_number(value[1], -1.0, 1.0) or abs(value[1]) == 1


def driving_belief(value: Any, pick: int) -> None:
    particles = Particles(value)
    bounded = {"iterations": 2, "bounds": (-20.0, 20.0)}
    kinds = AIROAS(**bounded, policy="none"), AdaOPS(**bounded), POMCPOW(iterations=2), Random()
    kinds[pick % 4].plan(ROAD, particles, stream(0))
    assert particles.states.shape[1] == 1


def action_space(value: Any, pick: int) -> None:
    parts = Box(value, 1.0), Box(-1.0, value), Choice(value), Choice("a", value), value
    space = ActionSpace((parts[pick % 5],), "Road.action_space")
    assert np.isfinite(space.low).all() and (space.low <= space.high).all()
    assert not isinstance(value, (bool, np.bool_))


FROM_ANYTHING = [
    *(observation, action, agents_observation, reading, weights, count, rng, no_belief, option, budget, episode),
    *(gymnasium_step, gymnasium_policy, stored_belief, model_text, belief, updated_belief),
    *(
        gymnasium_drive,
        agents_option,
        filters_option,
        anneals_option,
        annealed_belief,
        fitted_q,
        stored_policy,
        drive,
        driving_belief,
        action_space,
    ),
]
FROM_ROWS = [belief, updated_belief, rocks, bounds_at, stored_belief, annealed_belief, driving_belief, stored_policy]
FROM_NUMBERS = [gymnasium_drive, option, budget, agents_option, filters_option, anneals_option, fitted_q, action_space]
CASES = (
    st.tuples(st.sampled_from(FROM_ANYTHING), ANYTHING, st.integers(0, 1000))
    | st.tuples(st.sampled_from(FROM_ROWS), ROWS, st.integers(0, 1000))
    | st.tuples(st.sampled_from(FROM_NUMBERS), NUMBERS | NUMPY, st.integers(0, 1000))
    | st.tuples(st.just(drive), st.tuples(NUMBERS | NUMPY, NUMBERS | NUMPY), st.integers(0, 1000))
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
        fuzz(20_000)


def test_interpreted() -> None:
    with running("interpreted"):
        fuzz(100)
