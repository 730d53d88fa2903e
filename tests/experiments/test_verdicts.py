"""Verdicts from rows: which rows count, what is said beside them, and the command."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from airoas.cli import main
from airoas.errors import OptionError
from airoas.experiments.analysis.verdicts import verdict_table, verdicts
from airoas.experiments.rows.store import Store
from airoas.experiments.rows.types import Row
from airoas.experiments.run.bench import bench
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.reading import parse

TEXT = """
episodes = 40
seed = 2000000
domains = ["tiger", "tag"]
[planners.airoas]
seconds = 0.1
[planners.qmdp]
[planners.pbvi]
[planners.random]
"""
EARNED = {"airoas": 0.0, "qmdp": -3.0, "pbvi": -3.0, "random": -20.0}
Rows = dict[str, Row]


@pytest.fixture
def spec() -> Spec:
    return parse(TEXT, check=False)


def rows_of(spec: Spec, earned: dict[str, dict[str, float]] | None = None, **more: Any) -> Rows:
    """World plus planner plus a little noise; `earned` overrides what planners earn on a domain."""
    rng = np.random.default_rng(0)
    worlds = {(domain, seed): float(rng.normal(0.0, 9.0)) for domain in spec.domains for seed in spec.cells[0].seeds}
    rows = {}
    for cell in spec.cells:
        mean = (EARNED | (earned or {}).get(cell.domain, {}))[cell.label]
        for key, seed in cell.ids.items():
            value = worlds[cell.domain, seed] + mean + float(rng.normal(0.0, 0.5))
            search = {"decisions": 10, "trials": 300, "unsearched": 0}
            row = {"id": key, "domain": cell.domain, "seed": seed, "map": None, "discounted_return": value, "search": search}
            rows[key] = cast(Row, row | more)
    return rows


def keys(spec: Spec, domain: str, label: str) -> list[str]:
    return [key for cell in spec.cells if (cell.domain, cell.label) == (domain, label) for key in cell.ids]


def test_each_domain_has_its_word_and_the_planner_to_take(spec: Spec) -> None:
    on_tiger, on_tag = verdicts(spec, rows_of(spec, {"tag": {"pbvi": 5.0, "qmdp": 2.0}}), "airoas")
    assert (on_tiger.domain, on_tiger.verdict, on_tiger.take, on_tiger.pairs) == ("tiger", "best", "airoas", 40)
    assert (on_tag.domain, on_tag.verdict, on_tag.take, on_tag.rival) == ("tag", "worse", "pbvi", "pbvi")
    assert on_tag.difference == pytest.approx(-5.0, abs=0.5)
    assert on_tag.difference == pytest.approx(on_tag.mean - on_tag.rival_mean)
    assert on_tag.low < on_tag.difference < on_tag.high < 0.0
    near, _ = verdicts(spec, rows_of(spec, {"tiger": {"pbvi": 0.3}}), "airoas")  # 5 % of about 20 are 1
    assert (near.verdict, near.take, near.rival) == ("tied", "airoas", "pbvi")
    other, _ = verdicts(spec, rows_of(spec), "qmdp")
    assert (other.verdict, other.take) == ("worse", "airoas")


def test_a_domain_is_judged_when_all_its_episodes_are_there(spec: Spec) -> None:
    rows = rows_of(spec)
    whole = verdicts(spec, rows, "airoas")[0]
    del rows[keys(spec, "tag", "qmdp")[-1]]
    tiger, tag = verdicts(spec, rows, "airoas")
    assert tag.verdict == "not finished"
    assert tag.to_dict()["mean"] is None
    assert tiger.verdict == "best"
    assert tiger.low <= whole.low  # the one that is not finished keeps its part of the level
    assert "1 best, 1 not finished" in verdict_table(spec, rows, "airoas").notes[0]


def test_adjusted_returns_count_where_a_domain_has_them(spec: Spec) -> None:
    rows = rows_of(spec)
    for key in (key for cell in spec.cells if cell.domain == "tiger" for key in cell.ids):
        rows[key]["adjusted"] = rows[key]["discounted_return"] - 100.0
    tiger, tag = verdicts(spec, rows, "airoas", adjusted=True)
    assert (tiger.statistic, tag.statistic) == ("adjusted", "plain")
    assert tiger.mean == pytest.approx(verdicts(spec, rows, "airoas")[0].mean - 100.0)
    assert any(remark.startswith("plain:") for remark in verdict_table(spec, rows, "airoas", adjusted=True).notes)
    del rows[keys(spec, "tiger", "pbvi")[0]]["adjusted"]
    assert verdicts(spec, rows, "airoas", adjusted=True)[0].verdict == "not finished"


def test_a_failed_episode_earns_what_random_actions_do(spec: Spec) -> None:
    rows = rows_of(spec)
    ours, random = keys(spec, "tiger", "airoas"), keys(spec, "tiger", "random")
    expected = np.mean([rows[random[i] if i < 4 else ours[i]]["discounted_return"] for i in range(40)])
    for key in ours[:4]:
        rows[key] = cast(Row, {"id": key, "seed": rows[key]["seed"], "map": None, "error": "the belief was lost"})
    verdict = verdicts(spec, rows, "airoas")[0]
    assert (verdict.failures, verdict.pairs) == (4, 40)
    assert verdict.mean == pytest.approx(expected)
    assert any("A failed episode counts" in remark for remark in verdict_table(spec, rows, "airoas").notes)
    rows[random[0]] = rows[ours[0]]
    assert verdicts(spec, rows, "airoas")[0].pairs == 39  # where random actions failed too there is nothing to count


def test_who_hardly_searched_is_named(spec: Spec) -> None:
    rows = rows_of(spec)
    for key in keys(spec, "tag", "pbvi"):
        rows[key]["search"] = {"decisions": 10, "trials": 9, "unsearched": 2}
    (remark,) = [remark for remark in verdict_table(spec, rows, "airoas").notes if "hardly" in remark]
    assert remark == "pbvi on tag hardly searched (20 % of the decisions had no trial): its figure is no measure of the planner."


def test_what_cannot_be_judged_is_refused(spec: Spec) -> None:
    with pytest.raises(OptionError, match=r"there is no planner 'airoos'. Did you mean"):
        verdicts(spec, {}, "airoos")
    with pytest.raises(OptionError, match="tiger has no random actions beside airoas"):
        verdicts(parse(TEXT.replace("[planners.random]", ""), check=False), {}, "airoas")
    with pytest.raises(OptionError, match="tiger has no other planner beside qmdp"):
        verdicts(parse("domains = ['tiger']\n[planners.qmdp]\n[planners.random]", check=False), {}, "qmdp")


def test_the_command(make_spec: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planners = "".join(
        f"[planners.{name}]\nplanner = 'tiny.py:Searching'\niterations = 5\nclever = {clever}\n"
        for name, clever in (("a", 0.9), ("b", 0.0))
    )
    spec = make_spec(f"{planners}[planners.random]\n", episodes=30)
    bench(spec, tmp_path / "run", Inline)
    assert main(["table", str(tmp_path / "run"), "--verdicts", "a", "--format", "csv"]) == 0
    (record,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert record["verdict"] == "best" and record["rival"] == "b" and float(record["low"]) > 0.0
    assert main(["table", str(tmp_path / "run"), "--verdicts", "a"]) == 0
    assert "Of 1 domains: 1 best." in capsys.readouterr().out
    with Store(tmp_path / "run") as store:
        assert len(store.rows) == 90
