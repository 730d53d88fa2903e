"""The table of newcomers' models in the log is that of the rows."""

from __future__ import annotations

import pytest

from tools import newcomers_table
from tools.marks import ROOT


def test_the_log_has_the_table_of_the_rows() -> None:
    assert newcomers_table.newcomers() in (ROOT / "docs" / "log.md").read_text(encoding="utf-8"), "run `python -m tools.newcomers_table`"


def test_a_table_has_means_of_each_model_and_planner(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "returns.csv"
    lines = [f"cup,{who},{seed},{seed + k}.0" for k, who in enumerate(newcomers_table.WHO) for seed in (0, 2)]
    file.write_text("\n".join(["model,planner,seed,return", *lines]) + "\n")
    monkeypatch.setattr(newcomers_table, "RETURNS", file)
    assert newcomers_table.newcomers().splitlines()[-1] == "| cup | 1.00 ± 1.00 (2) | 2.00 ± 1.00 (2) | 3.00 ± 1.00 (2) |"
