"""How often the example docks, on the page."""

from pathlib import Path

from tools.lost_page import PAGE, docked


def test_the_page_says_what_the_data_say() -> None:
    assert f"<!-- docked -->\n{docked()}\n<!-- /docked -->" in PAGE.read_text(encoding="utf-8")


def test_runs_are_counted(tmp_path: Path) -> None:
    data = tmp_path / "docked.txt"
    assert "not measured yet" in docked(data)
    data.write_text("seed 0: docked after 20 steps\nseed 1: not docked\nseed 2: docked after 31 steps\ndocked in 2 of 3 runs\n")
    assert docked(data).startswith("It docked in 2 of 3 runs, after 25.5 steps (median): ")
