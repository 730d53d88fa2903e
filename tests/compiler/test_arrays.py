"""Vector, Flags, nested NamedTuples and flags in states and observations: values that are the same in every mode and in rows."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import airoas
from airoas import Flags, Vector
from airoas.checker.check import walk
from airoas.cli import main
from airoas.compiler.kernels import kernel, running
from airoas.errors import CompileError, ModelError, OptionError
from airoas.modelling.layout import Shape
from airoas.planners import AIROAS, POMCP, POMCPOW, AdaOPS

MODES = ("interpreted", "compiled", "debug")
LENGTH = 3


class Pose(NamedTuple):
    x: float
    n: int


class State(NamedTuple):
    pose: Pose
    gathered: Flags[10]
    map: Flags[13, 13]
    v: Vector[LENGTH]
    grid: Vector[13, 13]
    ok: bool


class Seen(NamedTuple):
    beams: Vector[8]
    hits: Flags[60]


def shift(flags, by):
    """A helper takes and gives arrays as it does numbers."""
    shifted = flags
    for k in range(len(flags)):
        shifted = shifted.with_(k, flags[(k + by) % len(flags)])
    return shifted


@airoas.model
class Everything(NamedTuple):
    """What can be done with arrays."""

    discount: float = 0.9
    max_steps: int = 5

    def actions(self):
        return ("a", "b")

    def initial(self, rng):
        return State(Pose(rng.normal(), rng.integer(5)), False, Flags[13, 13](), 0.5, np.ones((13, 13)), True)

    def step(self, s, a, rng):
        k = rng.integer(10)
        seen = s.map.with_((rng.integer(13), rng.integer(13)), True)
        seen = seen.with_((k, -1), not seen[k, 12])
        grid = s.grid.copy()
        grid[1, 2] += s.grid[2, 3] + rng.normal()
        grid[k, k] = s.grid[k, -1] + s.grid.shape[0]
        doubled = [2.0 * x for x in s.v]
        gathered = shift(s.gathered, 1).with_(k, not s.gathered[k])
        every = all(gathered) or any(s.map)
        reward = float(sum(s.gathered)) + sum(s.map) + len(s.v) + len(s.grid) + (gathered == s.gathered) + (s.grid != s.grid)
        return State(Pose(s.pose.x + 1, s.pose.n + s.ok), gathered, seen, (doubled[0], 1, rng.uniform()), grid, every), reward

    def observe(self, s, a, rng):
        beams, hits = np.zeros(8), np.zeros(60, np.bool_)
        for i in range(8):
            beams[i] = s.pose.x + i * rng.normal()
        for i in range(60):
            hits[i] = rng.uniform() < 0.3
        return Seen(beams, hits)

    def obs_logpdf(self, o, s, a):
        total = 0.0
        for i, beam in enumerate(o.beams):
            total -= abs(beam - s.pose.x) * (i + 1)
        for hit in o.hits:
            total -= 0.3 if hit else 0.7
        for i in range(13):
            for j in range(13):
                if s.map[i, j]:
                    total -= i * 0.1 + j
        return total


def walked(model: Any, steps: int = 60) -> np.ndarray:
    states, observations, numbers = (np.zeros((steps, n)) for n in (model.shapes.state.size, model.shapes.observation.size, 2))
    walk(model, states, observations, numbers, airoas.stream(0, "walk"))
    return np.hstack((states, observations, numbers))


def same_in_every_mode(model: Any) -> np.ndarray:
    results = {}
    for mode in MODES:
        with running(mode):
            results[mode] = walked(model)
    assert results["interpreted"].tobytes() == results["compiled"].tobytes() == results["debug"].tobytes()
    return results["compiled"]


def test_interpreted_equals_compiled_to_the_last_bit() -> None:
    model = Everything()
    rows = same_in_every_mode(model)
    shape = model.shapes.state
    assert (shape.size, shape.kinds.count("flags"), shape.kinds.count("float")) == (2 + 1 + 4 + 3 + 169 + 1, 5, 1 + 3 + 169)
    assert shape.names[:5] == ("pose.x", "pose.n", "gathered", "map, word 0", "map, word 1") and shape.names[8] == "v[1]"
    for row in rows[:, : shape.size]:
        state = model.from_row("state", row)
        assert model.row("state", state).tobytes() == row.tobytes()
        assert type(state.pose) is Pose and type(state.gathered) is Flags[10] and type(state.grid[0, 0]) is float and type(state.ok) is bool
    assert len({row[5] for row in rows}) > 10  # the map changes


BOUNDED = {"iterations": 2, "bounds": (-900, 900)}


@pytest.mark.parametrize(
    "planner",
    [AIROAS(particles=5, policy="none", **BOUNDED), AdaOPS(min_particles=4, max_particles=5, **BOUNDED)],
    ids=["airoas", "adaops"],
)
def test_planners_with_bounds_and_filters(planner: Any) -> None:
    episodes = []
    for mode in ("interpreted", "compiled"):
        with running(mode):
            episodes.append(airoas.simulate(Everything(), planner, 0, particles=10, max_steps=2))
    first, second = ([(step.state, step.decision.value) for step in episode.trace] for episode in episodes)
    assert first == second
    assert "of pose.x, pose.n, v[0], v[1], v[2], grid[0, 0], grid[0, 1], grid[0, 2] and 167 more" in " ".join(episodes[0].table().columns)


@pytest.mark.parametrize("planner", [POMCP(iterations=30, c=5.0, max_depth=3), POMCPOW(iterations=30, c=5.0, max_depth=3)])
def test_planners_by_visits(planner: Any) -> None:
    belief = airoas.Particles.sample(Everything(), 20, airoas.stream(0))
    decisions = []
    for mode in ("interpreted", "compiled"):
        with running(mode):
            decisions.append(planner.plan(Everything(), belief, airoas.stream(1)))
    assert decisions[0].value == decisions[1].value and decisions[0].action == decisions[1].action
    assert "sees" in str(decisions[0].tree)


@given(st.lists(st.booleans(), min_size=120, max_size=120))
def test_flags_are_packed_52_to_a_word(flags: list[bool]) -> None:
    packed = Flags[120](flags)
    words = packed.words()
    assert len(words) == 3 == Flags[120].n_words
    for index, flag in enumerate(flags):
        assert int(words[index // 52]) >> index % 52 & 1 == flag
    assert Flags[120].from_words(words) == packed and list(packed) == flags and sum(packed) == sum(flags)
    assert max(words) < 2**52


@given(st.lists(st.floats(allow_nan=False), min_size=4, max_size=4), st.integers(-4, 3), st.floats(allow_nan=False))
def test_an_array_is_a_value(numbers: list[float], index: int, number: float) -> None:
    before = Vector[4](numbers)
    after = before.with_(index, number)
    assert list(before) == numbers and after[index] == number
    assert [after[k] for k in range(4) if k != index % 4] == [numbers[k] for k in range(4) if k != index % 4]
    worked = before.copy()
    worked[index] = number
    assert list(before) == numbers and Vector[4](worked) == after and hash(Vector[4](worked)) == hash(after)
    assert pickle.loads(pickle.dumps(after)) == after == copy.deepcopy(after) and Vector[4] is Vector[4,]


def test_a_column_by_its_name() -> None:
    """Of every field: what the states hold one by one."""
    model, random = Everything(), np.random.default_rng(0)
    shape = model.shapes.state
    states = [
        State(Pose(x, k), Flags[10](random.random(10) < 0.5), Flags[13, 13](random.random((13, 13)) < 0.5), *arrays, k % 2 == 0)
        for k, x in enumerate(random.normal(size=5))
        for arrays in [(Vector[LENGTH](random.normal(size=LENGTH)), Vector[13, 13](random.normal(size=(13, 13))))]
    ]
    rows = np.array([shape.to_row(state) for state in states])
    for name in ("gathered", "map", "v", "grid"):
        column, expected = shape.column(rows, name), np.array([getattr(state, name).copy() for state in states])
        assert column.shape == expected.shape and column.dtype == expected.dtype and (column == expected).all()
    assert shape.column(rows, "pose.x").tolist() == [state.pose.x for state in states]
    assert shape.column(rows, "pose.n").dtype == np.int64 and shape.column(rows, "pose.n").tolist() == list(range(5))
    assert shape.column(rows, "ok").tolist() == [True, False] * 2 + [True]
    with pytest.raises(OptionError, match=r"no field 'gatherd'. Did you mean `gathered`\? They are pose.x, pose.n, gathered"):
        shape.column(rows, "gatherd")


def test_classes_by_text_and_by_constant() -> None:
    """Annotations that are text, as after `from __future__ import annotations`, are looked up in the module."""
    assert Shape.of(State(Pose(0.0, 0), Flags[10](), Flags[13, 13](), Vector[3](), Vector[13, 13](), True), "").parts[3] is Vector[3]


SOURCE = """
import numpy as np
from typing import NamedTuple

import airoas
from airoas import Flags, Vector


class State(NamedTuple):
    f: {kind}


@airoas.model
class Small(NamedTuple):
    table: np.ndarray = np.array([5.0, 6.0])
    square: np.ndarray = np.array([[5.0, 6.0], [7.0, 8.0]])
    pair: tuple = (1, 2)
    discount: float = 0.9

    def actions(self):
        return ("on", "off")

    def initial(self, rng):
        return State({initial})

    def step(self, s, a, rng):
        {step}

    def observe(self, s, a, rng):
        return (0,)

    def obs_logpdf(self, o, s, a):
        return 0.0
"""
CHANGES = "changes a Flags[10], which is a value"
REFUSED = {  # annotation, first state, step: what `check` says of it
    "setitem": ("Flags[10]", "False", "s.f[2] = True; return s, 0.0", CHANGES),
    "index": ("Flags[10]", "False", "return State(s.f.with_(12, True)), 0.0", "index 12 is out of range"),
    "too few": ("Vector[10]", "0.0", "return State(np.zeros(3)), 0.0", "an array of shape (3,) stands where Vector[10] belongs"),
    "too few at first": ("Vector[10]", "[1.0, 2.0]", "return s, 0.0", "stands where Vector[10] belongs"),
    "one index": ("Vector[3, 3]", "0.0", "return s, s.f[1]", "takes other indices"),
    "no whole number": ("Vector[3]", "0.0", "return s, s.f[0.5]", "cannot be interpreted as an integer"),
    "no flag": ("Flags[4]", "0", "return State(0.5), 0.0", "0.5 stands where True or False belongs"),
    "no flag in a index": ("Flags[4]", "0", "return State(s.f.with_(1, 0.5)), 0.0", "0.5 stands where True or False belongs"),
    "attribute": ("Flags[4]", "0", "return State(s.f.put(1, 1)), 0.0", "has no attribute 'put'"),
    "sum of floats": ("Vector[4]", "0", "return s, sum(s.f)", "computes with a whole Vector[4]"),
    "no size": ("Vector", "0", "return s, 0.0", "without a size"),
    "list": ("list", "[1, 2]", "return s, 0.0", "a tuple with list"),
    "beyond 2**53 at first": ("int", "1 << 54", "return s, 0.0", "is beyond 2**53"),
    "beyond 2**53": ("int", "3", "return State(s.f * 1000000007), 0.0", "is beyond 2**53"),
}


def written(tmp_path: Path, kind: str, initial: str, step: str) -> Path:
    file = tmp_path / f"made{abs(hash((kind, initial, step)))}.py"
    file.write_text(SOURCE.format(kind=kind, initial=initial, step=step))
    return file


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_told_with_its_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    *texts, said = REFUSED[name]
    file = written(tmp_path, *texts)
    assert main(["check", f"{file}:Small"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert said in told and f"({file}, line" in told


COMPILED = {  # step in a state with Flags[10]: what the compiler says of it, where nobody checked
    "s.f[2] = True; return s, 0.0": CHANGES,
    "return State(np.zeros(3)), 0.0": "a value of type an array of float stands where Flags[10] belongs",
    "return State(0.5), 0.0": "a value of type float stands where Flags[10] belongs",
    "return s, s.f[1, 2]": "Flags[10] takes other indices",
    "return State(s.f + 1), 0.0": "computes with a whole Flags[10]",
}


@pytest.mark.parametrize("step", COMPILED)
def test_compiled_code_refuses_the_same(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, "Flags[10]", "False", f"if a == 1:\n            {step}\n        return s, 0.0")
    monkeypatch.syspath_prepend(str(tmp_path))
    model = __import__(file.stem).Small()
    with pytest.raises(CompileError) as error:
        walked(model, 3)
    assert COMPILED[step] in str(error.value) and str(file) in error.value.where


def test_debug_mode_checks_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("return s, float(s.f[7 + rng.integer(9)])", "return State(s.f.with_(10 + a, True)), 0.0"):
        file = written(tmp_path, "Flags[10]", "False", f"if rng.uniform() < 0.1:\n            {step}\n        return s, 0.0")
        monkeypatch.syspath_prepend(str(tmp_path))
        with running("debug"), pytest.raises(IndexError):
            walked(__import__(file.stem).Small(), 400)


@pytest.mark.parametrize(
    ("size", "said"),
    [(300, "has 300 elements"), (3.5, "is no size"), (0, "is no size"), ((2, 2, 2), "is no size"), ((True, 2), "")],
)
def test_sizes(size: Any, said: str) -> None:
    if not said:
        assert Flags[size].shape == (1, 2)
        return
    with pytest.raises(ModelError, match=said):
        Vector[size]


def test_rows_refuse_what_is_no_state() -> None:
    model = Everything()
    good = model.from_row("state", walked(model, 3)[1, : model.shapes.state.size])
    short = State._make((good._asdict() | {"gathered": [True]}).values())  # converts nothing
    for bad in (short, good._replace(pose=3), good._replace(pose=Pose(1.0, 2**54)), (1, 2)):
        with pytest.raises(OptionError, match="is no state of Everything"):
            model.row("state", bad)


WHERE_INT_DOES = (
    "f + 1; f + f; f * 2; -f; f << 2; 1 << f; 5 >> f; f & 3; f | 4; f ^ 1; f // 2; f % 2; f / 2; f ** 3; 2 ** f; f - 3; f == 1; f < 2; "
    "min(f, 2); max(f, 0); abs(f); round(f); divmod(f, 2)[0]; float(f); int(f); len(range(f)); rng.integer(f + 1); "
    "self.table[f]; self.square[f, f]; self.square[1, f]; self.pair[f]; [4, 5][f]"
)


def test_a_flag_works_wherever_a_whole_number_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one is returned for an int, and where an int is returned for it."""
    lines = "".join(f"        total = 3.0 * total % 1000.0 + float({e})\n" for e in WHERE_INT_DOES.split("; "))
    step = f"f, total = s.f, 0.0\n{lines}        return State(1 - f), total"
    file = written(tmp_path, "bool", "1", step)
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = same_in_every_mode(__import__(file.stem).Small())
    assert len(set(rows[:, -2])) > 1


@kernel
def compare(model: Any, states: Any, out: Any) -> None:
    for i in range(len(states)):
        for j in range(len(states)):
            out[i, j] = model.read_state(states, i) != model.read_state(states, j)


def test_states_with_arrays_can_be_compared() -> None:
    model = Everything()
    states = np.ascontiguousarray(walked(model, 6)[:, : model.shapes.state.size])
    states[3] = states[1]
    for mode in MODES:
        with running(mode):
            out = np.zeros((6, 6))
            compare(model, states, out)
        assert np.array_equal(out == 0.0, np.eye(6, dtype=bool) | (np.add.outer(*[np.isin(range(6), (1, 3))] * 2, dtype=int) == 2))


def test_the_density_test_looks_into_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sound example passes; with a wrong spread in one beam, or one flag that is likelier than stated, it does not."""
    examples = Path(__file__).parents[2] / "examples"
    wrong = (
        ("sonar.py", "Docking", "self.noise * rng.normal() for k", "(self.noise + 0.05 * (k == 5)) * rng.normal() for k", "beams"),
        (
            "ten_objects.py",
            "Search",
            "holds == (rng.uniform() < self.sure)",
            "(rng.uniform() < 0.5 * self.sure)",
            "something",
        ),
    )
    for name, model, right, changed, said in wrong:
        text = (examples / name).read_text()
        assert text.count(right) == 1
        file = tmp_path / name
        file.write_text(text.replace(right, changed))
        assert main(["check", f"{file}:{model}"]) == 1
        told = capsys.readouterr().out
        assert "observe" in told and said in told


class Loose(NamedTuple):
    x: float
    seen: Flags[10]
    heights: Vector[3] = 2.0


class Beams(NamedTuple):
    beams: Vector[3]


@airoas.model
class Loosely(NamedTuple):
    """Gives what stands for an array: a number for all of it, a list."""

    discount: float = 0.9

    def actions(self):
        return ("go", "mark")

    def initial(self, rng):
        return Loose(rng.normal(), False)

    def step(self, s, a, rng):
        if a == 1:
            return s._replace(heights=[s.x, 1, s.heights[0]]), float(sum(s.seen))
        return Loose(s.x + 1.0, s.seen.with_(rng.integer(10), True), s.heights.copy()), 0.0

    def observe(self, s, a, rng):
        return Beams([s.x + rng.normal() for k in range(3)])

    def obs_logpdf(self, o, s, a):
        total = 0.0
        for k in range(len(o.beams)):
            z = o.beams[k] - s.x
            total -= 0.5 * z * z + 0.5 * math.log(2.0 * math.pi)
        return total


def test_what_stands_for_an_array_serves_by_hand_as_it_does_in_check() -> None:
    assert airoas.check(Loosely).ok
    model, rng = Loosely(), airoas.stream(0)
    s = model.initial(rng)
    for a in (1, 0, 1):
        s, _ = model.step(s, a, rng)
        o = model.observe(s, a, rng)
        assert math.isfinite(model.obs_logpdf(o, s, a))
        assert [type(part) for part in (s.seen, s.heights, o.beams)] == [Flags[10], Vector[3], Vector[3]]
    assert s.heights[2] == s.x - 1.0 and sum(s.seen) == 1
    by_hand = Loose(0.0, seen=True)
    assert sum(by_hand.seen) == 10 and by_hand.heights == Vector[3](2.0)
    assert pickle.loads(pickle.dumps(by_hand)) == by_hand
    with pytest.raises(airoas.ModelError, match=r"shape \(2,\) stands where Vector\[3\] belongs"):
        Loose(0.0, False, [1.0, 2.0])
