"""Late answers are measured from outside, with company that comes and goes; the page of robots shows what was measured."""

from __future__ import annotations

import gc
import json
import multiprocessing
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from airoas.planners import POMCP, Random
from benchmarks import deadlines
from tools.deadlines_page import PAGE, late_answers


def test_the_page_shows_what_was_measured() -> None:
    assert f"<!-- late answers -->\n{late_answers()}\n<!-- /late answers -->" in PAGE.read_text(encoding="utf-8"), "run `make pages`"


def test_figures_of_conditions_and_planners_become_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "CONDITIONS", dict.fromkeys(("alone", "in company"), deadlines.CONDITIONS["nothing else runs"]))
    monkeypatch.setattr(deadlines, "PLANNERS", {"POMCP": (POMCP, "tiger"), "another": (POMCP, "tiger")})
    path = tmp_path / "measured.json"
    monkeypatch.setattr("sys.argv", ["deadlines", "--decisions", "3", "--out", str(path)])
    monkeypatch.setattr(deadlines, "SECONDS", (0.01,))
    deadlines.main()
    monkeypatch.setattr(deadlines, "SECONDS", (0.01, 0.1))
    deadlines.main()  # goes on with what is missing
    measured = json.loads(path.read_text(encoding="utf-8"))
    cells = {(row["condition"], row["planner"], row["seconds"]) for row in measured["rows"]}
    assert len(cells) == len(measured["rows"]) == 8 and all(0.0 <= row["p99"] <= row["most"] for row in measured["rows"])
    measured["rows"].sort(key=lambda row: (row["condition"], row["planner"] != "POMCP", row["seconds"]))
    for number, row in enumerate(measured["rows"]):
        row |= {"p99": 1.0 + number, "most": 2.0 + number}
    path.write_text(json.dumps(measured), encoding="utf-8")
    shown = late_answers(path)
    assert "| alone | 0.01 s | 1.0 (2.0) | 3.0 (4.0) |\n| alone | 0.1 s | 2.0 (3.0) | 4.0 (5.0) |" in shown
    assert "| in company | 0.1 s | 6.0 (7.0) | 8.0 (9.0) |" in shown and "POMCP on tiger, another on tiger" in shown
    assert late_answers(tmp_path / "none.json").startswith("Not measured yet.")
    path.write_text(json.dumps(measured | {"cpu": "another"}), encoding="utf-8")
    with pytest.raises(SystemExit, match="on another machine"):
        deadlines.main()


class Late(Random):
    """A planner that answers 30 ms after its deadline, and does not say so."""

    def plan(self, *asked: Any) -> Any:
        time.sleep(0.04)
        return super().plan(*asked)


def test_lateness_is_what_the_one_who_asks_sees() -> None:
    assert min(deadlines.lateness("tiger", Late(), 0.01, 2)) >= 30.0
    assert deadlines.lateness("tiger", Random(), 60.0, 2) == [0.0, 0.0]


def test_garbage_is_made_and_collected_and_all_company_leaves() -> None:
    collections: list[int] = []

    def record(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            collections.append(info["collected"])

    gc.callbacks.append(record)
    try:
        with deadlines.garbage_beside():
            until = time.monotonic() + 30.0
            while not any(collections) and time.monotonic() < until:
                time.sleep(0.01)
    finally:
        gc.callbacks.remove(record)
    assert any(collections)  # the whole heap was looked through, as a robot's own objects would be
    threads = threading.active_count()
    with deadlines.processes(deadlines.spin, 2, 19):
        assert len(multiprocessing.active_children()) == 2
    with deadlines.garbage_elsewhere():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0 and not multiprocessing.active_children() and threading.active_count() == threads
