"""Experiments that commands put together, without a file: the same as by TOML, and stored as TOML that says the same."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airoas.catalog import find_filter
from airoas.cli import main
from airoas.errors import OptionError
from airoas.experiments.run.play import find_domain
from airoas.experiments.run.tune import Tuning
from airoas.experiments.spec.building import build
from airoas.experiments.spec.reading import of_folder, parse
from airoas.experiments.spec.toml import write_toml

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
SCALARS = st.booleans() | st.integers(-(1 << 62), 1 << 62) | st.floats(allow_nan=False) | TEXT
TABLES = st.recursive(
    st.dictionaries(TEXT, SCALARS | st.lists(SCALARS, max_size=3), max_size=3),
    lambda inner: st.dictionaries(TEXT, SCALARS | inner | st.lists(inner, max_size=2), max_size=3),
    max_leaves=8,
)


@given(TABLES)
def test_toml_says_the_same_table(table: dict[str, Any]) -> None:
    assert tomllib.loads(write_toml(table)) == table


def test_what_toml_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="TOML has no NoneType"):
        write_toml({"a": None})


def test_a_table_and_its_text_are_one_experiment(tiny: Path) -> None:
    table = {
        "title": 'a "title"',
        "episodes": 3,
        "domains": {"tiny.py:Walk": {"label": "Walk", "upper_bound": 10.0}},
        "planners": {"a b": {"planner": "tiny.py:Searching", "vary": {"iterations": [3, 5]}}},
    }
    built = build(table, folder=tiny)
    assert built.source_text is None
    parsed = parse(built.text, check=False)
    assert dataclasses.replace(parsed, source_text=None) == built
    assert [task["id"] for task in parsed.tasks()] == [task["id"] for task in built.tasks()]
    assert build({"domains": ["tiger"], "planners": {"random": {}}}, folder=tiny).table.keys() == {"domains", "planners"}


def test_the_command_run_stores_what_it_was_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "tiger", "random", "--episodes", "2", "--seed", "5", "--max-steps", "3", "--out", str(tmp_path)]
    assert main(command) == 0
    spec = of_folder(tmp_path)
    (cell,) = spec.cells
    assert (spec.title, cell.domain, cell.planner, cell.seeds, cell.max_steps) == ("random on tiger", "tiger", "random", (5, 6), 3)
    before = (tmp_path / "spec.toml").read_text()
    assert main([*command, "--episodes", "3"]) == 0
    assert (tmp_path / "spec.toml").read_text() == before.replace("episodes = 2", "episodes = 3")


def test_tuning_builds_a_cell_for_each_set_of_options() -> None:
    tuning = Tuning("tiger", "adaops", {"iterations": 3}, 2, max_steps=4)
    spec = tuning.spec({"tuned": {"iterations": 3, "delta": 0.5}, "default": {"iterations": 3}}, 500_000, 6)
    assert [(cell.planner, cell.kind, cell.options, cell.max_steps) for cell in spec.cells] == [
        ("tuned", "adaops", {"iterations": 3, "delta": 0.5}, 4),
        ("default", "adaops", {"iterations": 3}, 4),
    ]
    assert spec.cells[0].seeds == tuple(range(500_000, 500_006))


FILTERS = """
class Following:
    def __init__(self):
        self.ready = True


class Demanding:
    def __init__(self, gain):
        self.gain = gain


ready = Demanding(2.0)
"""


def test_a_filter_in_a_file_is_found_from_the_folder_of_the_experiment(tmp_path: Path) -> None:
    """Rows keep its name with the whole path."""
    (tmp_path / "mine.py").write_text(FILTERS)
    table = {"domains": ["tiger"], "episodes": 1, "filter": "mine.py:Following", "planners": {"random": {}}}
    (task,) = build(table, folder=tmp_path, check=False).tasks()
    assert task["filter"] == f"{tmp_path}/mine.py:Following"
    assert find_filter(task["filter"]).ready
    assert find_filter(f"{tmp_path}/mine.py:ready").gain == 2.0
    assert [find_filter(name) for name in ("auto", "bootstrap", "kalman")] == ["auto", "bootstrap", "kalman"]
    with pytest.raises(OptionError, match=r"Demanding\(\) raises TypeError.*made without arguments"):
        find_filter(f"{tmp_path}/mine.py:Demanding")
    with pytest.raises(OptionError, match="there is no file"):
        build(table, folder=tmp_path / "elsewhere")


def test_parameters_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command, by TOML, and as a part of the name: the same episodes."""
    command = ["run", "tiger", "random", "--episodes", "2", "--max-steps", "3", "--out", str(tmp_path), "--param", "accuracy=0.9"]
    assert main(command) == 0
    assert "random on tiger(accuracy=0.9)" in capsys.readouterr().out
    (cell,) = of_folder(tmp_path).cells
    assert cell.domain == "tiger(accuracy=0.9)"
    settings = {"episodes": 2, "max_steps": 3, "planners": {"random": {"on": {"tiger": {}}}}}
    by_table = build({**settings, "domains": {"tiger": {"params": {"accuracy": 0.9}}}})
    assert by_table.cells[0].ids == cell.ids
    assert by_table.domains["tiger(accuracy=0.9)"].label == "tiger(accuracy=0.9)"
    several = build({**settings, "domains": ["tiger", "tiger(accuracy=0.9)"]})
    assert several.cells[1].ids == cell.ids != several.cells[0].ids
    with pytest.raises(OptionError, match="a table belongs"):
        build({**settings, "domains": {"tiger": {"params": 3}}})
    with pytest.raises(OptionError, match="no parameter 'size'"):
        build({**settings, "domains": {"tiger": {"params": {"size": 3}}}})


def test_parameters_of_a_model_in_a_file(tiny: Path) -> None:
    spec = build({"domains": {"tiny.py:Walk": {"params": {"discount": 0.5}}}, "planners": {"random": {}}, "episodes": 1}, folder=tiny)
    (task,) = spec.tasks()
    assert task["domain"] == f"{(tiny / 'tiny.py').resolve()}:Walk(discount=0.5)"
    assert find_domain(task["domain"])(0).discount == 0.5


@pytest.mark.parametrize("item", ["accuracy", "=0.9", "a b=3"])
def test_param_is_a_name_and_a_value(item: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "tiger", "random", "--param", item]) == 2
    assert "write --param name=value" in capsys.readouterr().err.lower()
