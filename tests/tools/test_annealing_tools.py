"""The page on annealing is made from its data, and a study makes such data."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import airoas
from tools import annealing_page, annealing_study, filter_study
from tools.marks import ROOT, fill


def test_the_page_is_made_from_the_data(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "annealing.md").read_text(encoding="utf-8")
    (tmp_path / "annealing.md").write_text(text, encoding="utf-8")
    fill(tmp_path / "annealing.md", annealing_page.tables())
    assert (tmp_path / "annealing.md").read_text(encoding="utf-8") == text, "run `make pages`"


@pytest.mark.filterwarnings("ignore:no particle explained")
@pytest.mark.parametrize("name", annealing_study.STUDIES)
def test_a_study_makes_the_columns_of_the_data(name: str, tmp_path: Path) -> None:
    few = {"conjugate": (3, (20,)), "light": (2, (50,))}[name]
    records = getattr(annealing_study, name)(*few)
    annealing_study.save(tmp_path / "few.csv", records)
    columns = []
    for path in (tmp_path / "few.csv", annealing_study.FOLDER / f"{name}.csv"):
        with open(path, newline="") as file:
            columns.append(next(csv.reader(file)))
    assert columns[0] == columns[1]


@pytest.mark.filterwarnings("ignore:no particle explained")
def test_the_comparison_of_filters_makes_the_columns_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "one sharp reading"
    monkeypatch.setitem(filter_study.CASES, name, filter_study.CASES[name]._replace(sizes=(50,)))
    records = filter_study.study([name], runs=4)
    assert [(r["filter"], r["equal"]) for r in records] == [(f, e) for f in ("annealed", "adaptive") for e in ("particles", "time")]
    assert records[0]["bootstrap_N"] == 50
    assert records[0]["filter_error"] < records[0]["bootstrap_error"]  # sharp readings are what annealing is for
    with open(annealing_study.FOLDER / "equal.csv", newline="") as file:
        assert next(csv.reader(file)) == list(records[0])


@pytest.mark.parametrize("name", ["rock-sample-7-8", "tag"])
def test_many_particles_come_near_the_exact_belief(name: str) -> None:
    walk = filter_study.CASES[name].walk(1)
    assert walk.start is not None
    belief, rng = walk.start(20_000), airoas.stream(0)
    for action, observation in walk.done:
        belief = airoas.update(walk.model, belief, action, observation, rng, "bootstrap")
    assert walk.done
    assert walk.error(belief) < 0.03


def test_the_corrected_moves_find_the_posterior_and_plain_weights_do_not() -> None:
    """One sharp reading, 100 particles: a bootstrap filter misses by many posterior deviations."""
    records = {record["method"]: record for record in annealing_study.conjugate(20, (100,)) if record["sd"] == 0.01}
    assert records["bootstrap"]["rmse"] > 2.0 > 1.0 > records["corrected, walk"]["rmse"]
    assert abs(records["corrected, walk"]["log_evidence_bias"]) < abs(records["printed, leaf weights 1"]["log_evidence_bias"])
