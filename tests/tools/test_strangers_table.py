"""The fraction of the way to a reference and its interval; the table of the log is that of the data; references earn what theory says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from airoas.catalog import find_domain
from airoas.experiments.analysis.statistics import student_quantile
from airoas.experiments.spec.reading import parse
from benchmarks.strangers import mine, poker, welds
from benchmarks.strangers.entries import ENTRIES
from tools.marks import ROOT
from tools.strangers_table import REFERENCES, fraction, latest_returns, table

SPEC = """
title = "invented"
seed = 1
[domains.tiger]
[[parts]]
name = "all"
episodes = {episodes}
[parts.planners.airoas]
seconds = 0.1
[parts.planners.random]
"""


def invent(folder: Path, returns: list[float]) -> Path:
    """Rows of AIROAS with these returns, and of random with others."""
    folder.mkdir()
    text = SPEC.format(episodes=len(returns))
    (folder / "spec.toml").write_text(text, encoding="utf-8")
    rows = []
    for task in parse(text).tasks():
        value = returns[task["seed"] - 1] if task["planner"] == "airoas" else -1000.0
        rows.append(json.dumps({**task, "discounted_return": value, "steps": 1, "times": {"plan": [0.1]}}))
    (folder / "episodes.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def test_a_line_of_the_table(tmp_path: Path) -> None:
    """Errors of both ends are 0: the interval is that of the mean of 4, 6, 8, which is 6 ± 1.155."""
    known = latest_returns([invent(tmp_path / "first", [0.0, 0.0]), invent(tmp_path / "second", [4.0, 6.0, 8.0])])
    ends = {"random": {"mean": 2.0, "sem": 0.0, "n": 9}, "reference": {"mean": 10.0, "sem": 0.0, "n": 9}}
    middle, half = 0.5, 4.302653 * 1.154701 / 8.0
    assert table({"tiger": ends, "no such": ends}, known).split("\n")[2:] == [
        f"| tiger | 2.0 ± 0.0 | 9 | 10.0 ± 0.0 | 9 | 6.0 ± 1.2 | 3 | second | 0.50 ({middle - half:.2f} to {middle + half:.2f}) |"
    ]


@pytest.mark.parametrize("earned", [-30.0, 5.0, 20.0, 60.0])
def test_at_an_end_of_the_interval_the_difference_is_just_significant(earned: float) -> None:
    random, reference = (-10.0, 3.0, 40), (50.0, 2.0, 100)
    middle, low, high = fraction((earned, 4.0, 25), random, reference)
    assert middle == pytest.approx((earned + 10.0) / 60.0) and low < middle < high
    for f in (low, high):
        error = math.hypot(4.0, (1.0 - f) * 3.0, f * 2.0)
        assert abs(earned - (1.0 - f) * -10.0 - f * 50.0) == pytest.approx(student_quantile(24) * error)


def test_where_the_ends_may_be_equal_there_is_no_interval() -> None:
    middle, low, high = fraction((1.0, 0.1, 50), (0.0, 1.0, 50), (2.0, 1.0, 50))
    assert middle == 0.5 and math.isnan(low) and math.isnan(high)


@pytest.mark.parametrize("names", [("first", "second", "fourth"), ("eighth",), ("ninth",)])
def test_the_log_has_the_table_of_the_data(names: tuple[str, ...]) -> None:
    folders = [ROOT / "results" / "strangers" / name for name in names]
    expected = table(json.loads(REFERENCES.read_text(encoding="utf-8")), latest_returns(folders))
    assert expected in (ROOT / "docs" / "log.md").read_text(encoding="utf-8"), "run `python -m tools.strangers_table` on these folders"


def test_the_file_is_of_these_models() -> None:
    records = json.loads(REFERENCES.read_text(encoding="utf-8"))
    for name, record in records.items():
        model = find_domain(name)(0)
        assert (record["what"], record["discount"], record["max_steps"]) == (ENTRIES[name].what, model.discount, model.max_steps)


def test_references_earn_what_dynamic_programming_says() -> None:
    """The optimum where it is known, no more than a bound of it elsewhere; episodes are long enough for either."""
    records = json.loads(REFERENCES.read_text(encoding="utf-8"))
    for name, optimum in (("mine", mine.optimum), ("welds", welds.optimum)):
        earned = records[name]["reference"]
        assert abs(earned["mean"] - optimum(records[name]["discount"])) < 4.0 * earned["sem"], name
    earned, discount = records["poker"]["reference"], records["poker"]["discount"]
    assert earned["mean"] - 4.0 * earned["sem"] < poker.bound(discount)
