"""Every shipped planner: rows that are the same wherever they are made, and timed episodes that replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_pool import all_rows, repeatable

from airoas import catalog
from airoas.experiments.run.cluster import Cluster
from airoas.experiments.run.play import play
from airoas.experiments.run.pool import Inline, Pool
from airoas.experiments.run.replay import differences
from airoas.experiments.spec.reading import parse

SEARCHING = [name for name in catalog.PLANNERS if name not in ("random", "blind", "qmdp", "pbvi", "fitted-q")]
TEXT = """
episodes = {episodes}
max_steps = 6
seed = 900000
filter = "bootstrap"
particles = 500
domains = ["tag"]
"""


@pytest.mark.law
def test_rows_are_the_same_for_any_number_of_processes_and_on_dask() -> None:
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    text = (
        TEXT.format(episodes=4)
        + "".join(f"[planners.{name}]\niterations = 40\n" for name in SEARCHING)
        + "[planners.qmdp]\n[planners.pbvi]\n[planners.random]\n[planners.fitted-q]\nlearn_seconds = 0.0\n"
    )
    spec = parse(text)
    expected = repeatable(all_rows(spec, Inline()))
    assert not any("error" in row for row in expected.values())
    for runner in (Pool(1), Pool(2), Pool(4), Cluster("local", 2)):
        assert repeatable(all_rows(spec, runner)) == expected


@pytest.mark.law
@pytest.mark.parametrize("planner", SEARCHING)
def test_a_timed_episode_replays(planner: str, tmp_path: Path) -> None:
    spec = parse(TEXT.format(episodes=4) + f"[planners.{planner}]\nseconds = 0.01\n")
    for task in spec.tasks():
        row = play(task)
        assert "error" not in row
        assert max(row["trials"]) > 0
        assert differences(row, play(task | {"replay": row})) == []
