"""docs/results.md says what the rows say: nothing that is not there, and no verdict on a handful of episodes."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from docs_scripts import ROOT, script

from airoas import stream
from airoas.domains import RockSample
from airoas.domains.rock_sample import standard
from airoas.errors import OptionError
from airoas.experiments.reading import parse
from airoas.experiments.spec import Spec
from airoas.experiments.store import Lock, latest


@pytest.fixture(scope="module")
def results() -> ModuleType:
    return script("results")


def experiments() -> dict[str, Spec]:
    """The experiments behind the page, as its commands name them."""
    text = {
        name: (resources.files("airoas.experiments") / f"{name}.toml").read_text(encoding="utf-8")
        for name in ("literature", "paper", "ablation")
    }
    return {
        "literature": parse(text["literature"], check=False),
        "paper": parse(text["paper"], scale="episodes=0.1,seconds=0.02,iterations=0.1", check=False),
        "budgets": parse((ROOT / "results" / "budgets.toml").read_text(encoding="utf-8"), check=False),
        "factorial": parse(text["ablation"], only="factorial", check=False),
    }


def written(folder: Path, results: ModuleType, earned: Callable[[dict[str, Any]], float], share: float = 1.0) -> dict[str, str]:
    """The sections of a page made from rows with returns of our own: world (shared by seed) plus what `earned` says."""
    for name, spec in experiments().items():
        tasks = spec.tasks()
        (folder / name).mkdir(parents=True)
        (folder / name / "spec.toml").write_text(spec.text, encoding="utf-8")
        with open(folder / name / "episodes.jsonl", "w", encoding="utf-8") as file:
            for task in tasks[: int(share * len(tasks))]:
                worth = stream(task["seed"], task["domain"]).normal() + 0.1 * stream(task["seed"], task["id"]).normal() + earned(task)
                times = {"plan": [0.08, 0.1], "overshoot": [0.0, 0.0], "update": [0.001, 0.003], "started": "2026-01-01T00:00:00+0000"}
                told = {"version": "0", "machine": {"cpu": "none"}, "discounted_return": worth, "steps": 2, "terminated": True}
                file.write(json.dumps(task | told | {"success": True, "wrong_stop": False, "rescues": 0, "times": times}) + "\n")
    return page_of(folder, results)


def page_of(folder: Path, results: ModuleType) -> dict[str, str]:
    page = folder / "results.md"
    page.write_text((ROOT / "docs" / "results.md").read_text(encoding="utf-8"), encoding="utf-8")
    results.make(folder, page)
    text = page.read_text(encoding="utf-8")
    assert "nan" not in text
    assert not re.search(r"\| *\|", text)  # no empty cell
    return {mark: text.partition(f"<!-- {mark} -->")[2].partition(f"<!-- /{mark} -->")[0] for mark in results.SECTIONS}


def line(section: str, *beginning: str) -> list[str]:
    """The cells of the row that begins so."""
    found = [row.strip("| ").split(" | ") for row in section.splitlines() if row.startswith("| ")]
    return next(cells for cells in found if tuple(cells[: len(beginning)]) == beginning)


def test_the_page_is_made_from_the_rows(results: ModuleType, tmp_path: Path) -> None:
    for name in results.COMMANDS:
        if (ROOT / "results" / name).is_dir():
            try:
                Lock(ROOT / "results" / name).release()
            except OptionError:
                pytest.skip(f"results/{name} is being written to")
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    (tmp_path / "results.md").write_text(text, encoding="utf-8")
    results.make(ROOT / "results", tmp_path / "results.md")
    assert (tmp_path / "results.md").read_text(encoding="utf-8") == text, "run `python docs/results.py`"
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    results.fill(results.runs_in(ROOT / "results"), tmp_path / "README.md", results.IN_README)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == text, "run `python docs/results.py`"


def test_what_is_not_run_is_said_to_be_so(results: ModuleType, tmp_path: Path) -> None:
    for mark, section in page_of(tmp_path, results).items():
        assert section.strip() == f"Not run yet. `{results.COMMANDS[results.SECTIONS[mark][0]]}` makes this part."


def test_few_rows_are_no_verdict(results: ModuleType, tmp_path: Path) -> None:
    page = written(tmp_path, results, lambda task: 100.0, share=0.01)
    for section in page.values():
        assert "not finished" in section
    assert "“at least” in 0 of 8 rows" in page["targets"]
    assert line(page["targets"], "LightDark 0.5")[1].endswith(" of 400")
    assert line(page["targets"], "Tag")[6:8] == ["-6.6, too few", "-6, too few"]
    assert line(page["against"], "Tag", "adaops")[3:] == ["too few"] * 5
    assert "rows are still to run" in page["against"]


def test_all_rows_speak(results: ModuleType, tmp_path: Path) -> None:
    def earned(task: dict[str, Any]) -> float:
        worth = results.TARGETS.get(task["domain"], (-9.0,))[0]
        if task["domain"] == "light-dark-1.0":
            worth += 5.0 * (task["planner"] == "airoas") + 3.0 * (task["filter"] == "annealed") + task["options"].get("seconds", 0.0)
        if task["domain"] == "laser-tag":
            worth -= 3.0 * (task["planner"] == "airoas")
        return worth + (20.0 if "rock-sample-random" in task["domain"] else 0.0)

    page = written(tmp_path, results, earned)
    assert not any("not finished" in section for section in page.values())
    assert line(page["targets"], "LightDark 1.0")[6] == "3.8, yes"
    assert line(page["targets"], "LaserTag, map 1")[6] == "-8.7, no"
    assert line(page["targets"], "LaserTag, map 1")[9:] == ["90.0", "100.0", "2.00"]
    assert line(page["planners"], "Tag")[7].endswith("(100)")
    better, worse, equal = (line(page["against"], domain, "adaops") for domain in ("LightDark 1.0", "LaserTag, map 1", "Tag"))
    assert float(better[3].split()[0]) == pytest.approx(5.0, abs=0.05)
    assert better[-2:] == ["< 0.001", "yes"]
    assert float(worse[3].split()[0]) == pytest.approx(-3.0, abs=0.07)  # the error is 0.014
    assert worse[-1] == "no"
    assert equal[-1] == "yes"
    assert "Not shown to be above -5 %: LaserTag, map 1 against adaops; LaserTag, map 1 against ardespot." in page["against"]
    assert re.search(r"better beyond doubt[^\n]*: LightDark 1.0 \(adaops, \+", page["against"])
    assert "more than chance explains" in page["paper"]
    assert "Of the others, as near to the paper as chance explains: " in page["paper"]
    assert line(page["hundredth"], "LightDark 1.0")[-1] == "yes"
    assert line(page["hundredth"], "LightDark 0.5")[-1] in ("yes", "the mean, not the interval")
    assert re.search(r"LightDark 1.0, seconds 0.3 less 0.01: \+0.\d\d \[[^\]]*\]. Beyond doubt: yes", page["budgets"])
    assert re.search(r"Tag, seconds 0.3 less 0.01: .* Beyond doubt: no", page["budgets"])
    assert re.search(r"LightDark 1.0, filter annealed less bootstrap: .* in 6 settings. Beyond doubt: \+", page["factorial"])
    assert re.search(r"LightDark 1.0, tree corrected less none: .* in 5 settings. Beyond doubt: no", page["factorial"])
    rocks = line(page["rocks"], "RockSample(11, 11)", "airoas-defaults")
    assert rocks[2] == "100"
    assert rocks[5] == f"{100 * float(rocks[3].split()[0]) / float(rocks[4].split()[0]):.0f} %"
    for picture in ("budgets", "factorial", "factorial-2d"):
        assert (tmp_path / "results" / f"{picture}.png").stat().st_size > 10_000
    assert page["luck"].strip().startswith("Not worked out yet. `python docs/luck.py` does it.")


def test_luck_is_taken_out_where_that_is_known(results: ModuleType, tmp_path: Path) -> None:
    """AIROAS earned 5, but by luck: without it all planners are worth 3."""
    written(tmp_path, results, lambda task: 4.0 + (task["planner"] == "airoas"))
    rows = latest(tmp_path / "literature")
    for row in rows.values():
        if row["domain"].startswith("light"):
            row["return_without_luck"] = 3.0 + 0.1 * stream(row["seed"], row["id"]).normal()
    lines = "".join(json.dumps(row) + "\n" for row in rows.values())
    (tmp_path / "literature" / "episodes.jsonl").write_text(lines, encoding="utf-8")
    page = page_of(tmp_path, results)
    cells = line(page["targets"], "LightDark 1.0")
    assert float(cells[2].split()[0]) == pytest.approx(5.0, abs=0.2)
    assert (cells[4][:3], cells[6]) == ("3.0", "3.8, yes")
    assert "LightDark 1.0 (at least 3.8: not reached); LightDark 1.0 (aim 4.1: not reached)" in page["targets"]
    assert abs(float(line(page["against"], "LightDark 1.0", "adaops")[3].split()[0])) < 0.03
    assert line(page["luck"], "LightDark 1.0")[1].startswith("3.0")
    assert float(line(page["luck"], "LightDark 1.0")[-1]) > 50.0


def erased(model: Any) -> float:
    """The start's value where a check tells the truth with probability 2 eta - 1 and else nothing, by value iteration."""
    n, k, discount = model.size, model.n_rocks, model.discount
    values = {(x, y, known): 0.0 for x in range(n) for y in range(n) for known in itertools.product("?+-", repeat=k)}
    for _ in range(200):
        before = dict(values)
        for x, y, known in values:
            there = before[x, y, known]
            ways = [10.0 if x == n - 1 else discount * before[x + 1, y, known]]
            ways += [discount * before[x - 1, y, known]] if x else []
            ways += [discount * before[x, y + step, known] for step in (-1, 1) if 0 <= y + step < n]
            for i in range(k):
                bad, good = ((*known[:i], sign, *known[i + 1 :]) for sign in "-+")
                if known[i] == "?":
                    told = 2.0 * model.accuracy[x, y, i] - 1.0
                    ways.append(discount * (0.5 * told * (before[x, y, bad] + before[x, y, good]) + (1.0 - told) * there))
                if model.rocks[i] == (x, y):
                    ways.append({"+": 10.0, "-": -10.0, "?": 0.0}[known[i]] + discount * before[x, y, bad])
            values[x, y, known] = max(ways)
    return values[(*model.start, ("?",) * k)]


def test_the_bound_of_rock_sample_is_that_of_checks_that_erase() -> None:
    bound = script("rock_bounds").bound
    for rocks, start in ((((1, 2), (2, 0)), (0, 0)), (((0, 0), (1, 1), (2, 2)), (0, 1))):
        model = RockSample(3, rocks, start, half_distance=2.0)
        assert bound(model) == pytest.approx(erased(model), abs=1e-4)
    assert bound(standard(11, 11)) == pytest.approx(24.18, abs=0.005)
