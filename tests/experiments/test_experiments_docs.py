"""docs/experiments.md tells the truth: its experiment can run, its commands and keys exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from airoas.cli import main
from airoas.experiments.rows.slim import slim
from airoas.experiments.rows.types import EpisodeSpec, Row
from airoas.experiments.run.pool import Inline, run
from airoas.experiments.spec import building, reading

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_the_experiment_can_run() -> None:
    (text,) = (text for kind, text in BLOCKS if kind == "toml")
    spec = reading.parse(text, "docs", folder=ROOT / "examples")
    assert [cell.label for cell in spec.cells] == ["careful", "hasty", "random"]


def test_every_command_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [
        shlex.split(line, comments=True)[1:] for kind, text in BLOCKS if kind == "console" for line in text.splitlines() if line[0] == "$"
    ]
    assert {command[1] for command in commands} == {"bench", "table", "plot", "report", "tune"}
    offered = ""
    for name in ("bench", "table", "plot", "report", "tune", "replay", "pack"):
        with pytest.raises(SystemExit):
            main([name, "--help"])
        offered += capsys.readouterr().out
    named = set(re.findall(r"(?<![\w-])--[a-z]+", TEXT)) - {"--nthreads", "--nworkers"}
    assert named <= set(re.findall(r"--[a-z]+", offered))


def test_every_key_is_one(tmp_path: Path) -> None:
    table = TEXT.partition("| key | where")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)", "".join(line.split("|")[1] for line in table.splitlines() if line.count("|") > 3)))
    assert named - {"title", "returns"} <= {*building.TOP, *building.DOMAIN}
    assert set(building.TOP) - {"name", "scale", "only", "only_planners", "folder"} <= named


def test_every_part_of_a_row_is_named() -> None:
    """Of the usual row in the first table, and what a whole one has besides in the second."""
    spec = reading.parse("domains = ['tiger']\nepisodes = 1\nmax_steps = 2\n[planners.random]\n")
    (row,) = run(spec.tasks(), Inline())
    usual, full = TEXT.partition("`spec.toml` is what")[2].partition("`terminated` is")[0].split("`--full` keeps")

    def parts(row: Row) -> set[str]:
        return {*row, *row["times"], *row.get("search", ())}

    assert parts(slim(row)) <= set(re.findall(r"`(\w+)`", usual))
    assert parts(row) - parts(slim(row)) <= set(re.findall(r"`(\w+)`", full))
    assert set(EpisodeSpec.__annotations__) <= set(re.findall(r"`(\w+)`", usual))
