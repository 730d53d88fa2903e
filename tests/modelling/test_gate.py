"""Whatever enters compiled code from outside is refused with a sentence, or is what it says it is."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Agent, AiroasError, ModelError, OptionError, Particles, StoredDataError, running, stream, update
from airoas.bounds import find_bounds
from airoas.domains import LaserTag, LightDark, RockSample, Tag, Tiger
from airoas.interop import read_pomdp
from airoas.modelling.gate import gate_of
from airoas.options import MOST, typed
from airoas.planners import AIROAS, ARDESPOT, PBVI, POMCP, POMCPOW, QMDP, AdaOPS, Blind, Random

TIGER = Tiger()
TWO = """
discount: 0.9
values: reward
states: 2
actions: 1
observations: 2
T: * identity
O: 0
0.8 0.2
0.2 0.8
R: * : * : * : * 1
"""
PLANNERS = [
    *(kind(iterations=3) for kind in (AIROAS, AdaOPS, ARDESPOT, POMCP, POMCPOW)),
    *(QMDP(), PBVI(), Random(), Blind()),
]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("gate") / "two.pomdp"
    path.write_text(TWO)
    return read_pomdp(str(path))


# --- beliefs ---

STRAY = {
    "too wide": ([[0.0, 0.0]], "2 numbers, those of Tiger 1"),
    "far out": ([[1e9]], "tiger is 1000000000, and not a whole number from 0 to 1, in row 0"),
    "below": ([[0.0], [-1.0]], "tiger is -1.* in row 1"),
    "between": ([[0.5]], r"tiger is 0\.5"),
}


@pytest.mark.parametrize(("states", "message"), STRAY.values(), ids=STRAY)
def test_a_belief_that_is_none_of_the_models_enters_nowhere(states: Any, message: str) -> None:
    entries = [
        *(lambda belief, planner=planner: planner.plan(TIGER, belief, stream(0)) for planner in PLANNERS),
        *(lambda belief, method=method: update(TIGER, belief, 0, (1,), stream(0), method) for method in ("bootstrap", "annealed", "exact")),
        lambda belief: Agent(TIGER, Random(), 0, belief=belief),
        lambda belief: find_bounds(TIGER).at(TIGER, belief),
        lambda belief: find_bounds(TIGER).values(TIGER, belief.states),
    ]
    for enter in entries:
        with pytest.raises(OptionError, match=message) as caught:
            enter(Particles(states))
        assert "Particles.sample(model, n, rng)" in caught.value.remedy


def test_only_states_of_positive_weight_have_to_be_the_models() -> None:
    """A particle that has ended may be anywhere: nobody looks at it."""
    belief = Particles([[0.0], [77.0]], [1.0, 0.0])
    assert update(TIGER, belief, 0, (0,), stream(0)).weights.max() > 0.0


def test_a_belief_is_looked_at_once_for_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    belief = Particles([[0.0], [1.0]])
    Random().plan(TIGER, belief, stream(0))
    monkeypatch.setattr("airoas.belief.particles.check_states", lambda *_: pytest.fail("looked at again"))
    Random().plan(TIGER, belief, stream(0))
    after = update(TIGER, belief, 0, (1,), stream(0))
    Random().plan(TIGER, after.draw(5, stream(0)), stream(0))
    Random().plan(TIGER, Particles.sample(TIGER, 5, stream(0)), stream(0))
    with pytest.raises(pytest.fail.Exception):  # another model's states may differ, and so may those from a file
        Random().plan(Tiger(accuracy=0.9), belief, stream(0))
    with pytest.raises(pytest.fail.Exception):
        Random().plan(TIGER, pickle.loads(pickle.dumps(belief)), stream(0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_particles_are_finite(bad: float, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"particle 1 is .*\. Give finite"):
        Particles([[0.0, 1.0], [bad, 1.0]])
    np.savez(tmp_path / "belief.npz", format=np.array("airoas-particles-1"), states=np.array([[bad]]), log_weights=np.zeros(1))
    with pytest.raises(StoredDataError, match="damaged"):
        Particles.load(tmp_path / "belief.npz")


@pytest.mark.parametrize("states", ["1", [["1"]], [[1j]], [[None]], [[1.0], [1.0, 2.0]], {}, [[10**400]], [], [[]], 1.0])
def test_particles_are_numbers(states: Any) -> None:
    with pytest.raises(OptionError):
        Particles(states)


@pytest.mark.parametrize("belief", [None, 1, [[0.0]], np.zeros((1, 1)), object()])
def test_what_is_no_belief_is_refused(belief: Any) -> None:
    for enter in (lambda: Random().plan(TIGER, belief, stream(0)), lambda: update(TIGER, belief, 0, (1,), stream(0))):
        with pytest.raises(OptionError, match="no belief"):
            enter()


@pytest.mark.parametrize("rng", [None, 0, np.random.default_rng(0)])
def test_what_is_no_stream_is_refused(rng: Any) -> None:
    belief = Particles([[0.0]])
    entries = [lambda planner=planner: planner.plan(TIGER, belief, rng) for planner in PLANNERS]
    entries += [lambda: update(TIGER, belief, 0, (1,), rng), lambda: Particles.sample(TIGER, 3, rng), lambda: belief.draw(3, rng)]
    for enter in entries:
        with pytest.raises(OptionError, match="no random stream"):
            enter()


def test_an_index_out_of_range_is_found() -> None:
    """Within the limits of each number, and yet no state."""
    model = Tag()
    with pytest.raises(OptionError, match="none of Tag: robot is 29"):
        Random().plan(model, Particles([[29.0, 0.0, 0.0]]), stream(0))
    many = np.zeros((600, 3))
    many[599, 1] = 900.0
    with pytest.raises(OptionError, match=r"opponent is 900.* in row 599"):
        Random().plan(model, Particles(many), stream(0))


def test_limits_that_a_model_writes() -> None:
    rocks, laser = RockSample(3, ((0, 0), (2, 1))), LaserTag()
    with pytest.raises(OptionError, match="x is 1000000000, and not a whole number from 0 to"):
        POMCP(iterations=3).plan(rocks, Particles([[1e9, 0.0, 0.0, 0.0]]), stream(0))
    assert gate_of(rocks, "observation").high.tolist() == [2.0]
    assert gate_of(laser, "observation").low.tolist() == [-1.0] * 8
    assert rocks.row("observation", (2,)).tolist() == [[2.0]]


@airoas.model
class Off(NamedTuple):
    """Has limits that are none."""

    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return (0.0,)

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return 0.0

    def limits(self):
        return {"observation": (0.0, 1.0, 2.0)}


def test_limits_that_are_none_name_the_method() -> None:
    with pytest.raises(ModelError, match=r"Off\.limits .*returns \(0.0, 1.0, 2.0\) for the observation"):
        Off().row("observation", (0.5,))


# --- observations and actions ---

NO_OBSERVATION = [(10**9,), (math.nan,), (-1,), (2,), (1000,), (1.5,), (True,), ("1",), (0, 1), None, "x", {}, (None,), 10**400, (10**30,)]


@pytest.mark.parametrize("seen", NO_OBSERVATION, ids=str)
def test_observations_out_of_range_are_refused(two: Any, seen: Any) -> None:
    for model in (TIGER, two):
        belief = Particles([[0.0], [1.0]])
        for method in ("bootstrap", "annealed", "exact"):
            with pytest.raises(OptionError, match=f"no observation of {type(model).__name__}") as caught:
                update(model, belief, 0, seen, stream(0), method)
            assert len(str(caught.value)) < 500
        agent = Agent(model, Random(), 0)
        agent.act()
        with pytest.raises(OptionError):
            agent.observe(seen)


@pytest.mark.parametrize("action", [1.5, 1.0, True, "1", 7, -1, 10**400, math.nan, (0, 1), [0], np.array([0, 1]), np.True_], ids=str)
def test_actions_that_are_none_are_refused(action: Any) -> None:
    for method in ("bootstrap", "exact"):
        with pytest.raises(OptionError, match="action"):
            update(TIGER, Particles([[0.0], [1.0]]), action, (1,), stream(0), method)


def test_what_may_enter_does() -> None:
    before = Particles([[0.0], [1.0]])
    for action in (0, np.int64(0), np.int8(0), (0,)):
        for seen in ((1,), (np.int32(1),), 1):
            assert update(TIGER, before, action, seen, stream(0), "exact").weights.tolist() == pytest.approx([0.15, 0.85])


@pytest.mark.parametrize("model", [TIGER, Tag(), RockSample(4, ((1, 1), (2, 3))), LightDark()], ids=lambda model: type(model).__name__)
def test_a_short_look_and_a_close_one_let_the_same_pass(model: Any) -> None:
    rng = stream(0)
    state = model.initial(rng)
    seen, arrived = model.observe(state, 1, rng), model.step(state, 1, rng)[0]
    for what, value in (("state", state), ("state", arrived), ("observation", seen), ("action", 1)):
        items = value if isinstance(value, tuple) else (value,)
        closer = tuple(np.array(item)[()] for item in items)  # numpy's numbers are not of the very types
        rows = model.row(what, value), model.row(what, closer)
        assert [row.dtype for row in rows] == [np.float64] * 2
        assert rows[0].shape == rows[1].shape == (1, len(rows[0][0])) and (rows[0] == rows[1]).all()
        gate = gate_of(model, what)
        for k in range(len(items)):
            for beyond in (2.0 * float(gate.low[k]) - 1.0, 2.0 * float(gate.high[k]) + 1.0):
                for number in (type(items[k])(beyond), type(closer[k])(beyond)):
                    with pytest.raises(OptionError):
                        model.row(what, (*items[:k], number, *items[k + 1 :]))


def test_interpreted_runs_refuse_the_same() -> None:
    with running("interpreted"):
        with pytest.raises(OptionError, match="tiger is 5"):
            update(Tiger(), Particles([[5.0]]), 0, (1,), stream(0))
        with pytest.raises(OptionError, match="side is 2"):
            update(Tiger(), Particles([[0.0]]), 0, (2,), stream(0))


# --- options ---

WRONG_TYPES = [
    *((kind, {"iterations": 1, name: value}) for kind in (AIROAS, POMCP) for name in ("max_depth", "memory") for value in (1.5, "9", True)),
    *((kind, {"iterations": value}) for kind in (AIROAS, POMCPOW, ARDESPOT) for value in (1.5, True, "1", [1], 10**30)),
    *((kind, {"seconds": value}) for kind in (AdaOPS, POMCP) for value in ("1", True, [0.1], 1j)),
    (AIROAS, {"iterations": 1, "particles": 12.0}),
    (AIROAS, {"iterations": 1, "delta": math.nan}),
    (AIROAS, {"iterations": 1, "enumerates": 1}),
    (AIROAS, {"iterations": 1, "anneal": None}),
    (POMCPOW, {"iterations": 1, "widen_actions": "no"}),
    (POMCP, {"iterations": 1, "c": "1"}),
]


@pytest.mark.parametrize(("kind", "options"), WRONG_TYPES, ids=str)
def test_options_of_another_type_are_refused(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        kind(**options)


TAKEN = [(3, (int,)), (3, (float,)), (0.5, (float, str)), (True, (bool,)), ("a", (float, str)), (None, (float, type(None)))]
REFUSED = [(True, (int,)), (True, (float,)), (1.0, (int,)), (1, (bool,)), ("1", (int, float)), (None, (str,)), (MOST + 1, (int,))]


def test_an_option_is_of_its_types() -> None:
    for value, kinds in [*TAKEN, (MOST, (int,)), (-MOST, (int, float))]:
        assert typed("it", value, *kinds) is value
    for value, kinds in [*REFUSED, (-MOST - 1, (int,)), (MOST + 1, (float,)), (np.bool_(True), (int,)), (np.int64(MOST + 1), (int,))]:
        with pytest.raises(OptionError, match="it is "):
            typed("it", value, *kinds)


def test_numpys_numbers_are_options_too() -> None:
    planner = POMCP(iterations=np.int64(3), c=np.float32(0.5))
    assert (planner.iterations, planner.c) == (3, 0.5) and type(planner.iterations) is int


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "5", None, 10**30])
def test_counts_are_whole(value: Any) -> None:
    entries = [
        lambda: Agent(TIGER, Random(), 0, particles=value),
        lambda: Particles.sample(TIGER, value, stream(0)),
        lambda: Particles([[0.0]]).draw(value, stream(0)),
        lambda: airoas.simulate(TIGER, Random(), 0, particles=value),
    ]
    entries += [lambda: airoas.simulate(TIGER, Random(), 0, max_steps=value)] if value is not None else []
    for enter in entries:
        with pytest.raises(OptionError):
            enter()


# --- the discount ---


@pytest.mark.parametrize("discount", [0.0, 2.0, -0.5, math.nan, math.inf])
def test_every_planner_refuses_a_discount_that_is_none(discount: float) -> None:
    model = Tag(discount=discount)
    belief = Particles.sample(model, 3, stream(0))
    for planner in (*PLANNERS[:5], Random()):
        with pytest.raises(AiroasError, match="discount"):
            planner.plan(model, belief, stream(0))
