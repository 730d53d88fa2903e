"""Names to things: domains, planners, and models in files."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

from airoas import catalog
from airoas.catalog import DOMAINS, FAMILIES, find_domain, load_class, load_model, make_planner
from airoas.errors import ModelError, OptionError

MODEL = """
from typing import NamedTuple

import airoas


@airoas.model
class Mine(NamedTuple):
    size: float = {size}
    discount: float = 0.9

    def actions(self):
        return ("only",)

    def initial(self, rng):
        return (0.0,)

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return 0.0
"""


@pytest.mark.parametrize("name", DOMAINS)
def test_every_domain_can_be_made(name: str) -> None:
    model = find_domain(name)(0)
    assert model.shapes
    assert 0.0 < model.discount < 1.0
    assert find_domain(name)(9) == model
    assert (find_domain(name)(10) == model) == (name not in FAMILIES)


def test_two_files_of_one_name_are_two_models(tmp_path: Path) -> None:
    for size in (1, 2):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / "same.py").write_text(MODEL.format(size=size))
    first, second = (load_model(str(tmp_path / str(size) / "same.py"), "Mine") for size in (1, 2))
    assert (first.size, second.size) == (1.0, 2.0)
    assert type(first) is getattr(sys.modules[type(first).__module__], "Mine")  # noqa: B009 - what pickling by name finds


def test_an_instance_in_a_file_is_a_model_too(tmp_path: Path) -> None:
    (tmp_path / "sized.py").write_text(MODEL.format(size=1.0) + "\n\nlarge = Mine(size=5.0)\n")
    assert find_domain(f"{tmp_path / 'sized.py'}:large")(3).size == 5.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = (", "line 1: '(' was never closed"),
        ("import math\nmath.nothing", "line 2: AttributeError"),
        ("import nothing_of_this_name", "line 1: ModuleNotFoundError"),
        ("raise SystemExit(0)", "ends the program"),
        ("open('/no/such/folder/file')", "line 1: FileNotFoundError"),
        ("\0", "is not Python source"),
        ("x = 1", "has no 'Mine'"),
        ("class Other: pass\nMine = Other", ""),
    ],
)
def test_files_that_are_no_models(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_text(text)
    with pytest.raises(OptionError) as raised:
        load_model(str(file), "Mine")
    assert problem in str(raised.value)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_bytes(bytes(range(128, 256)))
    with pytest.raises(OptionError, match=r"odd\.py"):
        load_class(str(tmp_path / "odd.py"), "Mine")


def test_misspelled_class_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODEL.format(size=1.0))
    with pytest.raises(OptionError, match=r"Did you mean `Mine`\? The file has Mine"):
        load_class(str(tmp_path / "mine.py"), "Mien")


def test_a_model_that_cannot_be_made_names_the_check(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODEL.format(size=1.0) + "\n    def prepare(self):\n        return {}['missing']\n")
    with pytest.raises(ModelError, match="airoas check"):
        load_model(str(tmp_path / "mine.py"), "Mine")


@dataclass(frozen=True)
class Searching:
    """A planner with a budget, as the searching ones have."""

    seconds: float | None = None
    iterations: int | None = None
    depth: int = 3
    quick: bool = False
    bounds: str = "auto"


@pytest.fixture
def searching(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("airoas.planners.searching")
    module.Searching = Searching  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(catalog.PLANNERS, "searching", ("searching", "Searching"))


@pytest.mark.usefixtures("searching")
def test_options_of_a_planner_are_parsed() -> None:
    planner = make_planner("searching", {"iterations": 5, "depth": "7", "quick": "true", "bounds": "mdp"})
    assert planner == Searching(iterations=5, depth=7, quick=True, bounds="mdp")


@pytest.mark.usefixtures("searching")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "needs a budget"),
        ({"seconds": 1.0, "iterations": 3}, "needs a budget"),
        ({"iterations": 3, "dept": "4"}, "Did you mean `depth`"),
        ({"iterations": 3, "depth": "deep"}, "depth='deep'"),
        ({"iterations": 3, "quick": "perhaps"}, "quick='perhaps'"),
    ],
)
def test_bad_options_of_a_planner(options: dict[str, object], problem: str) -> None:
    with pytest.raises(OptionError) as raised:
        make_planner("searching", options)
    assert problem in str(raised.value)


def test_parameters_follow_a_domain(tmp_path: Path) -> None:
    assert find_domain("tag(opponent='modified', discount=0.9)")(0).opponent == "modified"
    assert find_domain("tiger(accuracy=1)")(3).accuracy == 1.0
    folder = tmp_path / "my models (2)"
    folder.mkdir()
    file = folder / "mine.py"
    file.write_text(MODEL.format(size=1.0) + "\n\nTEN = Mine(size=10.0)\n")
    assert find_domain(f"{file}:Mine")(0).size == 1.0
    assert find_domain(f"{file}:Mine(size=2.5)")(0).size == 2.5
    changed = find_domain(f"{file}:TEN(discount=0.5)")(0)
    assert (changed.size, changed.discount) == (10.0, 0.5)


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("tiger(acuracy=0.9)", "no parameter 'acuracy'. Did you mean `accuracy`"),
        ("tiger(accuracy='high')", "accuracy is 'high'. Tiger has 0.85 there"),
        ("tiger(0.9)", "cannot be read. Write name=value"),
        ("tiger(accuracy=)", "cannot be read. Write name=value"),
        ("tiger(accuracy=open('x'))", "cannot be read. Write name=value"),
        ("tigr(accuracy=0.9)", "no domain 'tigr'"),
    ],
)
def test_bad_parameters_of_a_domain(reference: str, problem: str) -> None:
    with pytest.raises(OptionError) as caught:
        find_domain(reference)(0)
    assert problem in str(caught.value)


def test_a_domain_with_its_parameters_is_one_word_that_says_them_again() -> None:
    parameters = {"a": 1, "b": "it's (so)", "c": (1.5, 2.0), "d": False}
    reference = catalog.with_parameters("some.py:Name", parameters)
    assert catalog.without_parameters(reference) == "some.py:Name"
    assert catalog._parameters(reference) == parameters
    assert catalog.with_parameters("tiger", {}) == "tiger"
    assert catalog.without_parameters("tiger") == "tiger"


def test_a_pair_of_bounds_in_one_word() -> None:
    planner = make_planner("airoas", {"iterations": 5, "bounds": "rollout,grid"})
    assert planner.bounds == ("rollout", "grid")


def test_long_text_is_shown_in_short(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MODEL.format(size=1.0).replace("size: float = 1.0", "size: float = 1.0\n    plan: str = 'ab' * 100"))
    shown = repr(load_model(str(file), "Mine"))
    assert len(shown) < 120
    assert "aba…" in shown
