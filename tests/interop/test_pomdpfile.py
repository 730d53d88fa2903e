"""`.pomdp` files: every form against tables written out by hand, Tiger against the shipped model, and errors with their place."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import airoas
from airoas import Particles
from airoas.catalog import find_domain
from airoas.domains import Tiger
from airoas.errors import AiroasError, OptionError
from airoas.interop import Tabular, entries, parse_pomdp, pomdpfile, read_pomdp
from airoas.interop.pomdpfile import AveragedRewardWarning

FILES = Path(__file__).parent / "files"


def read(name: str) -> Tabular:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AveragedRewardWarning)
        return read_pomdp(FILES / f"{name}.pomdp")


def tables(model):
    """T [A, S, S], O [A, S, O], rewards of transitions [A, S, S] (0 where there is none), all asked of the model's methods."""
    states, actions, observations = model.describe()
    transitions, rewards = np.zeros((actions, states, states)), np.zeros((actions, states, states))
    seen = np.zeros((actions, states, observations))
    for a in range(actions):
        for i in range(states):
            s = model.state(i)
            k = 0
            while transitions[a, i].sum() < 1.0 - 1e-12:
                s2, p = model.successor(s, a, k)
                transitions[a, i, model.index(s2)] += p
                k += 1
            for o in range(observations):
                seen[a, i, o] = math.exp(model.obs_logpdf(model.shapes.observation.record(o), s, a))
            for draw in range(60):
                s2, reward = model.step(s, a, airoas.stream(draw, "rewards"))
                rewards[a, i, model.index(s2)] = reward
    return transitions, seen, rewards


PREAMBLE = "discount: 0.9\nvalues: reward\nstates: a b c\nactions: go stay\nobservations: x y\n"
REST = "T: * identity\nO: * uniform\n"


def test_tiger_is_the_shipped_tiger() -> None:
    ours, theirs = read("tiger"), Tiger()
    for mine, known in zip(tables(ours), tables(theirs), strict=True):
        assert np.allclose(mine, known, rtol=0, atol=1e-16)  # Tiger hears wrongly with 1 - 0.85, which is not 0.15 to the last bit
    assert ours.actions() == theirs.actions()
    assert ours.discount == theirs.discount
    assert ours.describe() == theirs.describe()
    for i in range(2):
        assert not ours.is_terminal(ours.state(i))
        for a in range(3):
            assert ours.reward(ours.state(i), a) == theirs.reward(theirs.state(i), a)


def test_the_exact_filter_on_tiger_is_the_shipped_one_to_the_last_bit() -> None:
    text = (FILES / "tiger.pomdp").read_text().replace("0.15", repr(1.0 - 0.85))
    ours, theirs = parse_pomdp(text), Tiger()
    for mine, known in zip(tables(ours), tables(theirs), strict=True):
        assert np.array_equal(mine, known)
    mine, known = Particles.exact(ours), Particles.exact(theirs)
    rng = airoas.stream(3)
    for a, o in [(0, 1), (0, 1), (0, 0), (2, 1), (0, 0), (1, 0), (0, 1)]:
        mine = airoas.update(ours, mine, a, (o,), rng, filter="exact")
        known = airoas.update(theirs, known, a, (o,), rng, filter="exact")
        assert np.array_equal(mine.states, known.states)
        assert np.array_equal(mine.weights, known.weights)
    assert mine.weights[1] == pytest.approx(0.85)


def test_every_form_gives_the_tables_written_out() -> None:
    with pytest.warns(AveragedRewardWarning, match=r"forms\.pomdp: .*averaged") as told:
        model = read_pomdp(FILES / "forms.pomdp")
    assert len(told) == 1
    transitions, seen, rewards = tables(model)
    assert np.array_equal(transitions[0], np.eye(4))
    assert np.allclose(transitions[1], [[0.1, 0.2, 0.3, 0.4], [0.25] * 4, [0.5, 0.5, 0, 0], [0.5, 0.25, 0.25, 0]], rtol=0, atol=1e-15)
    assert np.allclose(
        transitions[2], [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0.25, 0, 0.25], [0.4, 0.25, 0.25, 0.1]], rtol=0, atol=1e-15
    )
    a, third = [0.25, 0.25, 0.5], [1 / 3] * 3
    assert np.allclose(seen[0], [a, [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]], rtol=0, atol=1e-15)
    assert np.allclose(seen[1], [a, [0.2, 0.3, 0.5], third, [0, 1, 0]], rtol=0, atol=1e-15)
    assert np.allclose(seen[2], [a, [1, 0, 0], [1, 0, 0], [1, 0, 0]], rtol=0, atol=1e-15)
    cost = np.where(transitions > 0.0, 1.0, 0.0)
    cost[0, 0, 0], cost[0, 1, 1] = -2.0, 3.0
    cost[1, :, 1] = 4.0
    cost[1, 0, 2] = 8.0
    cost[:, 2] = 0.0
    cost[2, 3, 0] = 0.25 * 10.0 + 0.25 * 20.0 + 0.5 * 1.0
    assert np.allclose(rewards, -cost, rtol=0, atol=1e-12)
    assert np.allclose(
        [[model.reward(model.state(i), a) for i in range(4)] for a in range(3)], -(transitions * cost).sum(axis=2), rtol=0, atol=1e-12
    )
    assert np.array_equal(model.start, [0.5, 0.25, 0.25, 0.0])
    assert (model.actions(), model.state_labels, model.observation_labels) == (
        ("0", "1", "2"),
        tuple("abcd"),
        ("dim", "bright", "dark-red"),
    )
    assert model.discount == 0.95


def test_a_grid_with_an_end() -> None:
    model = read("grid")
    transitions, seen, rewards = tables(model)
    east = 2
    assert np.allclose(transitions[east, 0], [0.1, 0.8, *[0.0] * 2, 0.1, *[0.0] * 7], rtol=0, atol=1e-15)  # south bumps, north is free
    assert np.array_equal(seen.argmax(axis=2)[0], [1, 0, 0, 1, 2, 1, 1, 1, 0, 0, 1, 3])
    assert [model.is_terminal(model.state(i)) for i in range(12)] == [False] * 11 + [True]
    assert np.array_equal(model.start > 0.0, [i not in (3, 6, 10, 11) for i in range(12)])
    assert [model.reward(model.state(i), east) for i in (0, 10, 6, 11)] == pytest.approx([-0.04, 1.0, -1.0, 0.0], abs=1e-15)
    assert rewards[0, 10, 11] == 1.0
    episode = airoas.simulate(model, airoas.planners.Random(), seed=1)
    assert episode.terminated


@pytest.mark.parametrize("name", ["tiger", "grid", "forms"])
def test_check_finds_nothing(name: str) -> None:
    report = airoas.check(read(name))
    assert report.diagnostics == (), str(report)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("", [1, 1, 1]),
        ("start: uniform", [1, 1, 1]),
        ("start: b", [0, 1, 0]),
        ("start: 2", [0, 0, 1]),
        ("start: 0 0.5 0.5", [0, 1, 1]),
        ("start: 1 0 0", [1, 0, 0]),
        ("start include: a c", [1, 0, 1]),
        ("start include: 1", [0, 1, 0]),
        ("start exclude: 0 b", [0, 0, 1]),
        ("start exclude: c c", [1, 1, 0]),
    ],
)
def test_start(start: str, expected: list[int]) -> None:
    model = parse_pomdp(f"{PREAMBLE}{start}\n{REST}")
    assert np.array_equal(model.start, np.array(expected) / sum(expected))
    states, weights = model.exact_initial()
    assert np.array_equal(np.bincount(states[:, 0].astype(int), weights, 3), model.start)


def test_start_where_there_is_one_state() -> None:
    for text in ("1", "0", "1.0", "only", "uniform"):
        model = parse_pomdp(f"discount: 0.5\nstates: only\nactions: 1\nobservations: 1\nstart: {text}\n{REST}")
        assert np.array_equal(model.start, [1.0])


def test_nearly_one_is_made_one_and_no_farther() -> None:
    near = PREAMBLE + REST + "T: go : a 0.333333 0.333333 0.333333\n"
    assert parse_pomdp(near).probabilities[:3].sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(OptionError, match=r"line 8, column 11: .*`T: go : a` sum to 0\.9999"):
        parse_pomdp(near.replace("0.333333", "0.3333"))


def test_rounding_never_draws_what_cannot_happen() -> None:
    row = " ".join(["0.1"] * 10 + ["0"] * 2)  # ten tenths fall short of 1 when added up
    text = f"discount: 0.9\nstates: 12\nactions: 1\nobservations: 12\nstart: {row}\nT: 0 : * {row}\nO: 0 : * {row}\n"
    model = parse_pomdp(text)
    nearly_one = type("Rng", (), {"uniform": lambda self: 1.0 - 2.0**-53})()
    assert model.initial(nearly_one).number == 9
    assert model.step(model.state(0), 0, nearly_one)[0].number == 9
    assert model.observe(model.state(0), 0, nearly_one).number == 9


def test_rewards_by_observation_that_is_certain_need_no_average() -> None:
    text = PREAMBLE + "T: * identity\nO: * : * : x 1\nR: go : a : a : x 3\nR: go : a : a : y 5\nR: stay : b : b 7 9\n"
    model = parse_pomdp(text)  # a warning would be an error here
    assert (model.reward(model.state(0), 0), model.reward(model.state(1), 1), model.reward(model.state(2), 0)) == (3.0, 7.0, 0.0)


def test_a_state_that_pays_is_not_terminal() -> None:
    model = parse_pomdp(PREAMBLE + REST + "R: go : b : * : * 1\n")
    assert [model.is_terminal(model.state(i)) for i in range(3)] == [True, False, True]


def test_names_in_pictures_and_printouts() -> None:
    model = read("tiger")
    belief = Particles.exact(model)
    assert str(model) == "tiger.pomdp: 2 states, 3 actions, 2 observations, discount 0.95"
    lines = model.text((1,), belief).splitlines()
    assert [line.split()[0] for line in lines] == ["tiger-left", "tiger-right"]
    assert "the state" in lines[1] and "the state" not in lines[0]
    assert model.text(None, None) == ""
    many = parse_pomdp("discount: 0.5\nstates: 100\nactions: 1\nobservations: 1\n" + REST)
    assert len(many.text((99,), Particles.exact(many)).splitlines()) == 13


def test_the_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "airoas.cli", "run", str(FILES / "tiger.pomdp"), "random", "--episodes", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["episodes"], told["failures"]) == (3, 0)
    (tmp_path / "bad.pomdp").write_text("discount: 1.0\n")
    command[4] = str(tmp_path / "bad.pomdp")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr.startswith("airoas: bad.pomdp, line 1, column 11: discount is 1") and done.stderr.count("\n") == 1


def test_catalog_finds_files() -> None:
    assert find_domain(str(FILES / "tiger.pomdp"))(0) == read("tiger")
    for path in ("no-such.pomdp", "/", str(FILES), "a\0b.pomdp"):
        with pytest.raises(OptionError, match=r"path|readable"):
            read_pomdp(path)
    with pytest.raises(OptionError, match=r"there is no file no-such\.pomdp"):
        find_domain("no-such.pomdp")


# What is wrong, with `@` where the error is told to be (line and column), and words of the message.
WRONG = [
    ("@", "no `discount`"),
    ("discount: 0.9\nstates: 2\nactions: 2\n@T: 0 identity", "no `observations`"),
    ("discount: 0.9\nactions: 2\nobservations: 2\n@", "no `states`"),
    ("discount: 0.9\nstates: 2\nobservations: 2\n\n\n@R: 0 : 0 : 0 : 0 1", "no `actions`"),
    ("discount: @1.0", "below 1"),
    ("discount: @1", "below 1"),
    ("discount: @1.5", "discount is 1.5"),
    ("discount: @0", "discount is 0"),
    ("discount: @-0.5", "discount is -0.5"),
    ("discount: @high", "'high' stands"),
    ("discount: @", "file ends"),
    ("discount @0.9", "colon"),
    ("discount: @0.9.9", "'0.9.9' stands"),
    ("discount: 0.9\n@discount: 0.9", "twice"),
    ("values: @money", "`reward` or `cost`"),
    ("states: @0", "0 states"),
    ("states: @-3", "whole number"),
    ("states: @2.5", "whole number"),
    ("states: @1000001", "1000001 states"),
    ("states: @99999999999999999999999", "whole number"),
    ("states:\n  a\n  b\n  @a", "twice among the states"),
    ("states: a b @3 c", "where the states are expected"),
    ("states: a @3b", "'3b' stands"),
    ("states: @T F", "where the states are expected"),
    ("states: a @é", "'é' stands"),
    (f"states: @{'a' * 101}", "at most 100"),
    ("actions: @10001", "10001 actions"),
    ("states: 100000\nactions: 10\n@observations: 10", "10,000,000, above"),
    ("start@: uniform\nstates: 2", "above it"),
    (PREAMBLE + "start: @d", "no state 'd'"),
    (PREAMBLE + "start: @3", "no state 3"),
    (PREAMBLE + "start: @*", "where a state"),
    (PREAMBLE + "start: @0.5 0.25 0.2", "sum to 0.95"),
    (PREAMBLE + "start: 0.5 0.5@", "file ends"),
    (PREAMBLE + "start: 0.5 @1.5 0.5", "1.5 is no probability"),
    (PREAMBLE + "start @exclude: a b c", "every state"),
    (PREAMBLE + "start include: @*", "one of the states"),
    (PREAMBLE + "start include: @", "one of the states"),
    (PREAMBLE + REST + "@start: a", "Move it above"),
    (PREAMBLE + "start: a\n@hello", "T, O or R is expected"),
    (PREAMBLE + "T @go", "colon"),
    (PREAMBLE + "T: @gone : a : b 1", "Did you mean `go`"),
    (PREAMBLE + "T: @2 : a : b 1", "no action 2"),
    (PREAMBLE + "T: @: a : b 1", "one of the actions"),
    (PREAMBLE + "T: go : @x : b 1", "no state 'x'"),
    (PREAMBLE + "T: go : a : b @1.1", "1.1 is no probability"),
    (PREAMBLE + "T: go : a : b @-0.1", "-0.1 is no probability"),
    (PREAMBLE + "T: go : a : b @1e999", "inf is no probability"),
    (PREAMBLE + "T: go : a : b @T", "a probability is expected"),
    (PREAMBLE + "T: go : a\n0.5 @O: go uniform", "number 2 of 3"),
    (PREAMBLE + "T: go\n1 0 0\n0 1 0\n0 0@", "number 3 of 3"),
    (PREAMBLE + "T: go\n1 0 0\n0 @2 0\n0 0 1", "2 is no probability"),
    (PREAMBLE + "T: go\n1 0 0 # fine\n0 1 0\n0 0 1 @1", "T, O or R is expected"),
    (PREAMBLE + "T: go : a @identity", "no meaning"),
    (PREAMBLE + "O: go @identity", "no meaning"),
    (PREAMBLE + "O: go : a @reset", "no meaning"),
    (PREAMBLE + "O: go : a : @z 1", "no observation 'z'"),
    (PREAMBLE + "R: go @-1", "colon"),
    (PREAMBLE + "R: go : a : b : x @much", "a reward is expected"),
    (PREAMBLE + "R: go : a : b : x @1e101", "too large"),
    (PREAMBLE + "R: go : a : b 1@", "number 2 of 2"),
    (PREAMBLE + "R: go : a\n1 2\n3 4\n5 @six", "number 2 of 2"),
    (PREAMBLE + "T: go identity\nT: stay : a @identity", "no meaning"),
    (PREAMBLE + "T: go identity\nT: stay uniform\n@T: stay : b : c 0.5\nO: * uniform", "`T: stay : b` sum to 1.16666667"),
    (PREAMBLE + "T: * identity\nT: stay\n1 0 0\n  @0 0.5 0.4\n0 0 1\nO: * uniform", "`T: stay : b` sum to 0.9"),
    (PREAMBLE + "T: * identity\n@T: stay : * : * 0\nO: * uniform", r"sum to 0 \(2 other rows likewise\)"),
    (PREAMBLE + "T: * identity\n@T: stay : c 0 0 0\nO: * uniform", "`T: stay : c` sum to 0"),
    (PREAMBLE + "T: go identity\nO: * uniform@", "`T: stay : a` is given nowhere"),
    (PREAMBLE + "T: * identity\nO: go uniform\n@O: stay : a : x 0.25", "`O: stay : a` sum to 0.25"),
    (PREAMBLE + "T: * identity\n@", "`O: go : a` is given nowhere"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_errors_give_line_and_column_and_what_to_do(text: str, words: str) -> None:
    before, at, after = text.partition("@")
    assert at
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    with pytest.raises(OptionError, match=re.escape(words) if "\\" not in words else words) as raised:
        parse_pomdp(before + after, "file.pomdp")
    assert str(raised.value).startswith(f"file.pomdp, line {line}, column {column}: "), str(raised.value)
    assert raised.value.remedy.endswith(".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"states: {10**6}\nactions: 5\nobservations: 1\nT: * identity\nT: * identity\n", "T has more than"),
        ("states: 2000\nactions: 2\nobservations: 1\nT: * uniform\n", "T has more than"),
        ("states: 2000\nactions: 2\nobservations: 500\nT: * identity\nO: * : 0 uniform\n" + "O: * uniform\n" * 3, "O has more than"),
        (
            "states: 1000\nactions: 4\nobservations: 2\nT: * uniform\nO: * uniform\nR: 0 : 0 : 0 : 1 1\n",
            "rewards by observation would fill",
        ),
        (
            "states: 1000\nactions: 4\nobservations: 1\nT: * uniform\nO: * uniform\n" + "R: * : * : * : * 1\n" * 100,
            "rewards have been written",
        ),
    ],
)
def test_what_would_eat_memory_or_time_is_refused(text: str, words: str) -> None:
    begun = time.process_time()
    with pytest.raises(OptionError, match=words):
        parse_pomdp("discount: 0.9\n" + text)
    assert time.process_time() - begun < 20.0


def test_a_file_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pomdpfile, "MAX_BYTES", 100)
    with pytest.raises(OptionError, match=r"grid\.pomdp is larger than"):
        read_pomdp(FILES / "grid.pomdp")
    (tmp_path / "bom.pomdp").write_bytes(b"\xef\xbb\xbf# \xff\ndiscount: 1")
    with pytest.raises(OptionError, match="line 2, column 11"):
        read_pomdp(tmp_path / "bom.pomdp")


def test_tables_by_hand_are_looked_over() -> None:
    good = read("tiger")._asdict()
    assert Tabular(**good) == read("tiger")
    wrong = {
        "discount": 1.0,
        "start": [0.5, 0.4],
        "first": np.arange(7.0),
        "successors": np.array([0, 0, 1, 0, 1, 1, 0, 1, 0, 2]),
        "probabilities": np.full(10, 0.5),
        "rewards": np.full(10, np.nan),
        "observations": good["observations"] * 0.9,
        "action_labels": ("one",),
        "state_labels": ("one",),
        "observation_labels": ("one",),
    }
    for name, value in wrong.items():
        with pytest.raises(OptionError, match=name):
            Tabular(**{**good, name: value})
    with pytest.raises(OptionError, match="without a successor"):
        Tabular(**{**good, "first": np.array([0, 1, 1, 5, 6, 8, 10])})


ROWS = {2: [(1, 0), (0, 1), (0.25, 0.75)], 3: [(1, 0, 0), (0, 0.5, 0.5), (0.125, 0.25, 0.625)]}
"""Exact in binary, so that nothing is lost by dividing by their sum."""


@st.composite
def statements(draw: st.DrawFn) -> tuple[str, np.ndarray, np.ndarray, np.ndarray]:
    """T, O and R for PREAMBLE with `start: 0.5 0.25 0.25`, and the same written into dense tables one after the other."""
    transitions, seen, rewards = np.full((2, 3, 3), 1 / 3), np.full((2, 3, 2), 0.5), np.zeros((2, 3, 3, 2))
    lines = ["T: * uniform", "O: * uniform"]

    def reference(names: str) -> tuple[str, slice]:
        number = draw(st.integers(-1, len(names) - 1))
        if number < 0:
            return "*", slice(None)
        name = {"xy": "xy", "abc": "abc", "gs": ("go", "stay")}[names][number]
        return draw(st.sampled_from((name, str(number)))), slice(number, number + 1)

    for _ in range(draw(st.integers(0, 8))):
        letter = draw(st.sampled_from("TOR"))
        action, a = reference("gs")
        state, s = reference("abc")
        if letter == "R":
            arrived, s2 = reference("abc")
            observed, o = reference("xy")
            values = draw(st.lists(st.integers(-3, 3), min_size=6, max_size=6))
            form = draw(st.sampled_from(("entry", "row", "matrix")))
            if form == "entry":
                lines.append(f"R: {action} : {state} : {arrived} : {observed} {values[0]}")
                rewards[a, s, s2, o] = values[0]
            elif form == "row":
                lines.append(f"R: {action} : {state} : {arrived}\n{values[0]} {values[1]}")
                rewards[a, s, s2] = values[:2]
            else:
                lines.append(f"R: {action} : {state}\n" + " ".join(map(str, values)))
                rewards[a, s] = np.reshape(values, (3, 2))
            continue
        table, width = (transitions, 3) if letter == "T" else (seen, 2)
        row = draw(st.sampled_from(ROWS[width]))
        numbers = " ".join(map(str, row))
        form = draw(st.sampled_from(("entries", "row", "uniform row", "reset row", "matrix", "uniform", "identity")))
        if letter == "O" and ("reset" in form or form == "identity"):
            continue
        if form == "entries":
            order = draw(st.permutations(range(width)))
            lines += [f"{letter}: {action} : {state} : * 0"] * draw(st.booleans())
            lines += [f"{letter}:{action}:{state}:{column} {row[column]}" for column in order]
            table[a, s] = row
        elif form.endswith("row"):
            lines.append(f"{letter}: {action} : {state}\n{form.split()[0] if ' ' in form else numbers}")
            table[a, s] = {"uniform row": 1 / width, "reset row": (0.5, 0.25, 0.25)}.get(form, row)
        else:
            lines.append(f"{letter}: {action} {form if form != 'matrix' else ' '.join([numbers] * 3)}")
            table[a] = {"uniform": 1 / width, "identity": np.eye(3)}.get(form, row)
    return "\n".join(lines), transitions, seen, rewards


@settings(max_examples=300, deadline=None)
@given(statements())
def test_any_sequence_of_statements_is_what_writing_them_in_order_gives(case) -> None:
    text, transitions, seen, rewards = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AveragedRewardWarning)
        model = parse_pomdp(f"{PREAMBLE}start: 0.5 0.25 0.25\n{text}\n")
    paid = (rewards * seen[:, None]).sum(axis=3)
    for s, a in np.ndindex(3, 2):
        positions = slice(model.first[s * 2 + a], model.first[s * 2 + a + 1])
        possible = np.flatnonzero(transitions[a, s])
        assert np.array_equal(model.successors[positions], possible)
        assert np.allclose(model.probabilities[positions], transitions[a, s, possible], rtol=0, atol=1e-15)
        assert np.allclose(model.rewards[positions], paid[a, s, possible], rtol=0, atol=1e-14)
        assert np.allclose(model.observations[s, a], seen[a, s], rtol=0, atol=1e-15)


VALID = [(FILES / f"{name}.pomdp").read_text() for name in ("tiger", "forms", "grid")] + [PREAMBLE + "start: b\n" + REST]
WORDS = [
    "discount:",
    "values:",
    "states:",
    "actions:",
    "observations:",
    "start:",
    "T:",
    "O:",
    "R:",
    "start",
    "include:",
    "exclude:",
    "uniform",
    "identity",
    "reset",
    "reward",
    "cost\n:",
    "*",
    "#",
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1e9",
    "1e-9",
    "1e999",
    "+3",
    "99999999999999999999",
    "a",
    "b",
    "go",
    "x",
    "\n",
    "é",
    "\x00",
    "-",
    "+",
    ".",
    ".5",
    "5.",
]


def only_airoas_errors(text: str) -> None:
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AveragedRewardWarning)
            model = parse_pomdp(text)
    except AiroasError as error:
        assert re.match(r"text, line [0-9]+, column [0-9]+: ", str(error)), str(error)
    else:
        assert isinstance(model, Tabular)
    assert time.process_time() - begun < 5.0


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    only_airoas_errors(data.decode("utf-8-sig", errors="replace"))


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60), st.booleans())
@example(["T:", "0", ":", "0", ":", "0", "+ -2"], True)
def test_random_words(words: list[str], with_preamble: bool) -> None:
    only_airoas_errors((PREAMBLE if with_preamble else "") + " ".join(words))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_mutated_files(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(VALID))
    for _ in range(data.draw(st.integers(1, 4))):
        lo, hi = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        hi = min(hi, lo + 40)
        new = data.draw(st.sampled_from(WORDS) | st.text(max_size=3) | st.just(text[lo:hi] * 2) | st.just(""))
        text = text[:lo] + new + text[hi:]
    only_airoas_errors(text)


def test_limits_are_what_the_documentation_says() -> None:
    text = (Path(__file__).parents[2] / "docs" / "interop.md").read_text()
    for limit in (f"{pomdpfile.MAX_BYTES >> 20} MiB", f"{entries.CELLS // 1_000_000} million"):
        assert limit in text
