"""`airoas check`: a fixture for every kind of broken model, and correct models that it passes."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from broken_models import BROKEN
from numba.core import event

import airoas
from airoas.cli import main
from airoas.compiler.diagnose import plain_types

JARGON = re.compile(r"numba|nopython|unify|Dispatcher|UniTuple|Literal\[|int64|float64|unicode_type|user_|rebuild|<airoas>|[0-9a-f]{16}|\n")


@pytest.mark.parametrize("name", BROKEN)
def test_broken_model_is_named_at_its_line_with_a_remedy(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], said: Callable[[str], list[str]]
) -> None:
    broken = BROKEN[name]
    file = broken.write(tmp_path, name)
    assert main(["check", f"{file}:Broken", "--json"]) == 1
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert said(captured.err) == []
    assert report["model"] == "Broken"
    assert not report["ok"]
    first = report["diagnostics"][0]
    assert first["level"] == "error"
    assert re.match(rf"{re.escape(f'{broken.where} ({file}, line {broken.line}')}[:)]", first["where"])
    assert broken.words in f"{first['problem']}. {first['remedy'][:1].upper()}{first['remedy'][1:]}"
    assert len(first["remedy"]) > 10
    for diagnostic in report["diagnostics"]:
        text = f"{diagnostic['where'].partition(': `')[0]} {diagnostic['problem']} {diagnostic['remedy']}"
        assert not JARGON.search(text), text
        assert len(diagnostic["problem"]) < 500


def test_there_are_many_kinds_of_broken_models() -> None:
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("name", ["misspelled_required", "text_field"])
def test_broken_model_in_a_process_of_its_own(name: str, tmp_path: Path, said: Callable[[str], list[str]]) -> None:
    """The whole way, from the folder of the model: one line, the path as short as it was typed."""
    broken = BROKEN[name]
    broken.write(tmp_path, name)
    command = [sys.executable, "-m", "airoas.cli", "check", f"{name}.py:Broken"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert said(done.stderr) == []
    diagnostic, summary = done.stdout.splitlines()
    assert diagnostic.startswith(f"error: {broken.where} ({name}.py, line {broken.line}")
    assert broken.words in diagnostic
    assert summary == "Broken: 1 error."


CONTINUOUS = """
import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    y: float
    stopped: int = 0


@airoas.model
class Good(NamedTuple):
    noise: float = 0.5
    discount: float = 0.9
    max_steps = 20
    GOAL = 1.0

    def actions(self):
        return ("left", "stop", "right")

    @property
    def log_scale(self):
        return math.log(self.noise) + 0.5 * math.log(2.0 * math.pi)

    def shifted(self, y, by=0.5):
        return y + by

    def initial(self, rng):
        return State(3.0 * rng.normal())

    def step(self, s, a, rng):
        if s.stopped:
            return s, 0.0
        if a == 1:
            return State(s.y, 1), 10.0 if abs(s.y) < self.GOAL else -10.0
        return State(self.shifted(s.y) if a else self.shifted(s.y, -0.5)), -1

    def observe(self, s, a, rng):
        return (s.y + self.noise * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        z = (o[0] - s.y) / self.noise
        return -0.5 * z * z - self.log_scale

    def is_terminal(self, s):
        return s.stopped > 0

    def value_bounds(self, s):
        return -10.0, 10.0
"""

FINITE = """
import math
from typing import NamedTuple

import numpy as np

import airoas


class State(NamedTuple):
    cell: int


class Seen(NamedTuple):
    colour: int


@airoas.model
class Good(NamedTuple):
    slip: float = 0.2
    discount: float = 0.95

    def prepare(self):
        return {"colours": np.array([0, 1, 1, 0])}

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return State(rng.integer(3))

    def is_terminal(self, s):
        return s.cell == 3

    def legal(self, s, a):
        return s.cell > 0 or a == 1

    def step(self, s, a, rng):
        if s.cell == 3:
            return s, 0.0
        if rng.uniform() < self.slip:
            return s, -1.0
        return State(max(0, s.cell + 2 * a - 1)), -1.0

    def observe(self, s, a, rng):
        right = rng.uniform() < 0.8
        return Seen(self.colours[s.cell] if right else 1 - self.colours[s.cell])

    def obs_logpdf(self, o, s, a):
        return math.log(0.8 if o.colour == self.colours[s.cell] else 0.2)

    def step_logpdf(self, s2, s, a):
        total = 0.0
        for k in range(2):
            arrived, p = self.successor(s, a, k)
            if arrived.cell == s2.cell:
                total += p
        return math.log(total) if total > 0.0 else -math.inf

    def cell(self, s):
        return s.cell

    def n_states(self):
        return 4

    def index(self, s):
        return s.cell

    def state(self, i):
        return State(i)

    def successor(self, s, a, k):
        if s.cell == 3:
            return s, 1.0 if k == 0 else 0.0
        if k == 0:
            return s, self.slip
        return State(max(0, s.cell + 2 * a - 1)), 1.0 - self.slip

    def reward(self, s, a):
        return 0.0 if s.cell == 3 else -1.0

    def describe(self):
        return 4, 2, 2

    def text(self, s, belief):
        return f"cell {s.cell}"
"""

HELPERS = """
import math

WIDTH = 0.25


def log_normal(x, mean, sd):
    z = (x - mean) / sd
    return -0.5 * z * z - math.log(sd) - 0.5 * math.log(2.0 * math.pi)
"""

WITH_HELPERS = """
from typing import NamedTuple

import {module}
from {module} import log_normal

import airoas


@airoas.model
class Good(NamedTuple):
    discount: float = 0.9

    def sample_action(self, s, rng):
        return (rng.uniform(), rng.uniform())

    def initial(self, rng):
        return (rng.normal(), 0.0)

    def step(self, s, a, rng):
        return (s[0] + a[0], s[1] + a[1] + {module}.WIDTH * rng.normal()), -a[0]

    def step_logpdf(self, s2, s, a):
        return log_normal(s2[1], s[1] + a[1], {module}.WIDTH) if s2[0] == s[0] + a[0] else -float("inf")

    def observe(self, s, a, rng):
        return (s[0] + {module}.WIDTH * rng.normal(), s[1] + 2.0 * rng.normal())

    def obs_logpdf(self, o, s, a):
        return {module}.log_normal(o[0], s[0], {module}.WIDTH) + log_normal(o[1], s[1], 2.0)
"""


def check_text(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict]:
    file = folder / "model.py"
    file.write_text(text)
    code = main(["check", f"{file}:Good", "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("text", [CONTINUOUS, FINITE], ids=["continuous", "finite"])
def test_correct_model_has_no_diagnostics(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_text(text, tmp_path, capsys) == (0, {"model": "Good", "ok": True, "diagnostics": []})


def test_correct_model_with_helpers_in_a_second_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "helpers_of_check.py").write_text(HELPERS)
    code, report = check_text(WITH_HELPERS.format(module="helpers_of_check"), tmp_path, capsys)
    assert (code, report["diagnostics"]) == (0, [])


class Compiled(event.Listener):
    """How many functions numba compiled."""

    functions = 0

    def on_start(self, event: event.Event) -> None:
        self.functions += 1

    def on_end(self, event: event.Event) -> None: ...


@pytest.mark.parametrize(("goal", "again"), [("1.0", False), ("1.0  # metres", False), ("1.5", True)])
def test_what_compiled_before_is_not_compiled_again(goal: str, again: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_text(CONTINUOUS, tmp_path, capsys)
    compiled = Compiled()
    with event.install_listener("numba:compile", compiled):
        assert check_text(CONTINUOUS.replace("GOAL = 1.0", f"GOAL = {goal}"), tmp_path, capsys)[0] == 0
    assert (compiled.functions > 0) == again


def test_many_actions_are_a_note() -> None:
    """One that says what they cost; 40 actions are told nothing."""

    @airoas.model
    class Many(NamedTuple):
        count: int = 41
        discount: float = 0.9

        def actions(self):
            return tuple(f"a{k}" for k in range(self.count))

        def initial(self, rng):
            return (rng.integer(2),)

        def step(self, s, a, rng):
            return s, 0.0

        def observe(self, s, a, rng):
            return s

        def obs_logpdf(self, o, s, a):
            return 0.0 if o[0] == s[0] else -math.inf

    few, many = airoas.check(Many(40)), airoas.check(Many())
    assert (few.ok, few.diagnostics, many.ok) == (True, (), True)
    (hint,) = many.diagnostics
    assert hint.level == "note" and "names 41 actions, and policies are learned up to 40" in hint.problem


def test_inexact_constructs_are_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CONTINUOUS.replace("import math\n", "import math\n\nimport numpy as np\n", 1)
    text = text.replace("-0.5 * z * z - self.log_scale", "-0.5 * z**2 - np.log(np.exp(self.log_scale)) + 0.0 * math.hypot(z, z)")
    code, report = check_text(text, tmp_path, capsys)
    line = 1 + next(i for i, row in enumerate(text.splitlines()) if "np.exp" in row)
    inexact = [diagnostic for diagnostic in report["diagnostics"] if "may differ in the last bit" in diagnostic["problem"]]
    assert code == 0
    assert report["ok"]
    assert {diagnostic["level"] for diagnostic in inexact} == {"note"}
    instead = {diagnostic["problem"].split(" may ")[0]: diagnostic["remedy"].split(" where ")[0] for diagnostic in inexact}
    assert instead == {
        "`** 2`": "write `x * x` for `x ** 2`",
        "`numpy.exp`": "write `math.exp`",
        "`numpy.log`": "write `math.log`",
        "`math.hypot`": "write `math.sqrt(x * x + y * y)`",
    }
    for diagnostic in inexact:
        assert f"Good.obs_logpdf ({tmp_path / 'model.py'}, line {line})" == diagnostic["where"]


def test_an_inexact_construct_is_told_once_with_all_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CONTINUOUS.replace("-0.5 * z * z - self.log_scale", "-0.5 * z**2 - self.log_scale")
    text = text.replace("return y + by", "return y + by + 0.0 * y**2")
    text = text.replace("return State(3.0 *", "return State(0.0 * self.noise**2 + 3.0 *")
    first, second, third = (number for number, row in enumerate(text.splitlines(), 1) if "**2" in row)
    code, report = check_text(text, tmp_path, capsys)
    (hint,) = [diagnostic for diagnostic in report["diagnostics"] if "may differ" in diagnostic["problem"]]
    assert code == 0
    assert hint["where"] == f"Good.shifted ({tmp_path / 'model.py'}, line {first})"
    assert hint["problem"].endswith(f"compiled runs, here and in lines {second}, {third}")


DRAWING = {
    "text without a belief": ("text(self, s, belief)", 'return f"{belief.mean()}"', "`if belief is not None`"),
    "text with a belief": ("text(self, s, belief)", "return s.nothing", ""),
    "a picture without a belief": ("draw(self, axis, s, belief)", "axis.plot(belief.std())", "`if belief is not None`"),
}


@pytest.mark.parametrize("name", DRAWING)
def test_pictures_and_text_are_tried(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method, body, remedy = DRAWING[name]
    code, report = check_text(f"{CONTINUOUS}\n    def {method}:\n        {body}\n", tmp_path, capsys)
    assert code == 1
    (result,) = report["diagnostics"]
    assert result["where"].startswith(f"Good.{method[:4]} (")
    assert "AttributeError" in result["problem"]
    assert remedy in result["remedy"]


def test_wrong_expected_reward_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = check_text(FINITE.replace("return 0.0 if s.cell == 3 else -1.0", "return -2.0"), tmp_path, capsys)
    assert code == 0
    assert [diagnostic["where"].split()[0] for diagnostic in report["diagnostics"]] == ["Good.reward"]


PLANS = """
    def n_plans(self):
        return 1

    def plan_action(self, k, t):
        return 0

    def plan_values(self, s, out, at):
        out[at] = {value}
"""


@pytest.mark.parametrize(("value", "warned"), [("-8.0", ["Good.plan_values"]), ("-10.0", [])])
def test_what_a_plan_earns_is_compared(value: str, warned: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Left for ever earns -10."""
    code, report = check_text(CONTINUOUS + PLANS.format(value=value), tmp_path, capsys)
    assert code == 0
    assert [diagnostic["where"].split()[0] for diagnostic in report["diagnostics"]] == warned


def test_check_says_what_it_does_and_stops_at_the_first_stage_with_errors(tmp_path: Path) -> None:
    from airoas.catalog import load_class

    stages: list[str] = []
    report = airoas.check(load_class(str(BROKEN["density_wrong_sd"].write(tmp_path, "density_wrong_sd")), "Broken"), stages.append)
    assert not report.ok
    assert stages[0] == "reading the class"
    assert stages[-1] == "comparing `observe` with `obs_logpdf`"


def test_a_helper_that_is_called_may_have_a_name_like_a_method() -> None:
    class Helped(NamedTuple):
        discount: float = 0.9

        def actions(self):
            return ("only",)

        def initial(self, rng):
            return (self.states(0),)

        def states(self, n):
            return n

        def step(self, s, a, rng):
            return s, 0.0

        def observe(self, s, a, rng):
            return s

        def obs_logpdf(self, o, s, a):
            return 0.0

    from airoas.modelling.introspection import structure_problems

    assert structure_problems(airoas.model(Helped)) == []


@pytest.mark.parametrize("thing", [3, "tag", int, dict])
def test_something_else_is_refused_in_words(thing: object) -> None:
    report = airoas.check(thing)
    assert not report.ok
    assert "is not a model" in str(report)


@pytest.mark.parametrize(
    ("compiler", "plain"),
    [
        ("UniTuple(float64 x 2)", "(float, float)"),
        ("UniTuple(int64 x 1)", "(int,)"),
        ("Tuple(float64, int64)", "(float, int)"),
        ("NamedUniTuple(float64 x 2, State)", "State(float, float)"),
        ("NamedTuple(float64, int64, State)", "State(float, int)"),
        ("Literal[int](3) and none", "int and None"),
        ("unicode_type", "text"),
        ("array(float64, 1d, C)", "an array of float"),
    ],
)
def test_types_are_told_in_plain_words(compiler: str, plain: str) -> None:
    assert plain_types(compiler) == plain


@pytest.mark.parametrize("comparison", ['a == "stop"', '"stop" != a', 'a in ("stop", "go")', 's.y == "far"'])
def test_a_number_compared_with_text_is_warned_of(comparison: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "good.py"
    file.write_text(CONTINUOUS.replace("if a == 1:", f"if a == 1 or {comparison}:"))
    main(["check", f"{file}:Good", "--json"])
    first = json.loads(capsys.readouterr().out)["diagnostics"][0]
    assert first["level"] == "warning"
    assert first["where"].startswith("Good.step")
    assert "with the text" in first["problem"]
    assert "its index in `actions`" in first["remedy"]


HIDDEN = """
import math
from typing import NamedTuple

import airoas
from airoas import Flags


class State(NamedTuple):
    mines: Flags[{cells}]
    opened: Flags[{cells}]
{reals}

class Seen(NamedTuple):
    mine: bool


@airoas.model
class Good(NamedTuple):
    discount: float = 0.9

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        mines = Flags[{cells}]()
        for k in range({cells}):
            mines = mines.with_(k, rng.uniform() < 0.5)
        return State(mines, Flags[{cells}](){drawn})

    def step(self, s, a, rng):
        return s._replace(opened=s.opened.with_(rng.integer({cells}), True)), -1.0

    def observe(self, s, a, rng):
        return Seen(s.mines[a])

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.mine == s.mines[a] else -math.inf
"""


@pytest.mark.parametrize(
    ("cells", "reals", "ways"),
    [
        (10, 0, ""),
        (16, 0, "`mines` in about "),
        (30, 0, "`mines` in more than 500,000 ways, and nothing"),
        (2, 2, ""),
        (2, 3, "`x2` in about 30,000 ways, reals"),
    ],
)
def test_what_never_moves_and_is_too_much_for_the_particles_is_noted(
    cells: int, reals: int, ways: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = "".join(f"    x{k}: float\n" for k in range(reals)) or "\n"
    text = HIDDEN.format(cells=cells, reals=fields, drawn=", rng.normal()" * reals)
    code, report = check_text(text, tmp_path, capsys)
    assert code == 0
    assert [diagnostic["level"] for diagnostic in report["diagnostics"]] == ["note"] * bool(ways)
    for diagnostic in report["diagnostics"]:
        assert (
            diagnostic["where"].startswith("Good.initial (") and ways in diagnostic["problem"] and "`opened`" not in diagnostic["problem"]
        )
        assert "--particles" in diagnostic["remedy"]
