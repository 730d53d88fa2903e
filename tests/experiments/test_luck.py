"""docs/luck.py takes luck out of returns and leaves their mean as it was."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from docs_scripts import script

from airoas.domains import LightDark, RockSample, Tag, Tiger
from airoas.episode import simulate
from airoas.experiments.rows.slim import slim
from airoas.experiments.rows.store import Store, latest, write_packed
from airoas.experiments.run.bench import bench
from airoas.experiments.run.play import record
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.reading import parse
from airoas.planners import PBVI, QMDP, Random

ROCKS = RockSample(5, ((1, 1), (3, 0), (2, 4)))


@pytest.fixture(scope="module")
def luck() -> ModuleType:
    return script("luck")


def played(model: Any, planner: Any, seeds: range, max_steps: int | None = None, filter: str = "exact") -> list[dict[str, Any]]:
    return [record(simulate(model, planner, seed, filter, particles=100, max_steps=max_steps)) | {"seed": seed} for seed in seeds]


@pytest.mark.parametrize(
    ("guess", "model", "planner", "max_steps", "filter"),
    [
        ("Nothing", LightDark(), QMDP(), None, "exact"),
        ("Nothing", LightDark(), QMDP(), None, "bootstrap"),
        ("Observable", ROCKS, Random(), None, "exact"),
        ("Observable", ROCKS, QMDP(), 6, "exact"),
        ("Solved", Tiger(), Random(), 20, "exact"),
        ("Solved", Tiger(), PBVI(), 20, "exact"),
    ],
    ids=["LightDark", "LightDark by particles", "rocks at random", "rocks cut short", "Tiger at random", "Tiger solved"],
)
def test_the_mean_stays_and_the_spread_falls(
    luck: ModuleType, guess: str, model: Any, planner: Any, max_steps: int | None, filter: str
) -> None:
    """A false alarm in any of the cases: 2 in 10,000, the share of a normal beyond 4.2 deviations six times."""
    known = getattr(luck, guess)(model)
    rows = played(model, planner, range(120), max_steps, filter)
    earned = np.array([row["discounted_return"] for row in rows])
    fair = np.array([luck.without_luck(known, row) for row in rows])
    taken = earned - fair
    assert abs(taken.mean()) < 4.2 * taken.std(ddof=1) / math.sqrt(len(taken))
    assert taken.std() > 0.1 * earned.std()  # there was some
    if not isinstance(planner, Random):  # what chance does is none of what V foresees
        assert fair.std() < earned.std()


def test_a_solved_problem_keeps_no_luck(luck: ModuleType) -> None:
    """Whoever follows the plans of value iteration loses nothing by it, and returns that spread over 30 points become one number."""
    known = luck.Solved(Tag())
    fair = [luck.without_luck(known, row) for row in played(Tag(), PBVI(), range(10))]
    start = known.value(known.view(next(simulate(Tag(), PBVI(), 0, "exact").beliefs())))
    assert np.allclose(fair, start, atol=0.05)


def test_another_world_is_noticed(luck: ModuleType) -> None:
    (row,) = played(ROCKS, QMDP(), range(1))
    with pytest.raises(AssertionError, match="world of seed 0"):
        luck.without_luck(luck.Observable(ROCKS), row | {"discounted_return": 1.0})


def test_folders_that_share_ids_have_their_own_figures(luck: ModuleType, tmp_path: Path) -> None:
    """Versions of a planner run the same episodes and act otherwise: ids, seeds and now and then returns are equal."""
    text = "domains = ['light-dark-1.0']\nepisodes = 12\nseed = 900000\nfilter = 'exact'\n[planners.airoas]\nseconds = 0.1\n"
    tasks = parse(text, check=False).tasks()
    for name, actions in (("literature", (0, 1)), ("budgets", (2, 1))):  # a step to either side, then stop
        with Store(tmp_path / name) as store:
            store.describe(text)
            for task in tasks:
                episode = simulate(LightDark(), luck.Recorded(actions), task["seed"], "exact")
                told = {"version": "0", "machine": {"cpu": "none"}} | record(episode)
                store.append(slim(task | told | {"times": told["times"] | {"started": "2026-01-01T00:00:00+0000", "seconds": 1.0}}))
        luck.complete(tmp_path / name)
    runs = script("results").runs_in(tmp_path)
    first, second = runs["literature"], runs["budgets"]
    assert first.luck.keys() == second.luck.keys() == {task["id"] for task in tasks}
    guess = luck.Nothing(LightDark())
    for run in (first, second):
        for key, row in run.rows.items():
            assert run.luck[key] == pytest.approx(luck.without_luck(guess, row), abs=1e-6)
    equal = [key for key in first.rows if first.rows[key]["discounted_return"] == second.rows[key]["discounted_return"]]
    assert equal
    assert all(first.luck[key] != second.luck[key] for key in equal)  # id and return would not tell them apart


def test_a_figure_stays_with_its_row(luck: ModuleType, tmp_path: Path) -> None:
    """An episode that is run again has none until it is worked out, and nothing is worked out twice."""
    text = "domains = ['light-dark-1.0']\nepisodes = 3\nfilter = 'exact'\n[planners.qmdp]\n"
    rows = bench(parse(text), tmp_path, Inline, full=True)
    luck.complete(tmp_path)
    done = latest(tmp_path)
    assert all("return_without_luck" in row and row["rewards"] == rows[key]["rewards"] for key, row in done.items())
    again, *others = rows
    with Store(tmp_path) as store:
        store.append(slim(rows[again]))
    assert "return_without_luck" not in latest(tmp_path)[again]
    for key in others:
        done[key]["return_without_luck"] = 7.0
    write_packed(tmp_path, [slim(rows[again]), *(done[key] for key in others)])
    luck.complete(tmp_path)
    assert [latest(tmp_path)[key]["return_without_luck"] for key in rows] == [done[again]["return_without_luck"], 7.0, 7.0]


def test_every_reported_episode_has_its_figure(luck: ModuleType) -> None:
    for name in luck.FOLDERS:
        for row in latest(luck.ROOT / "results" / name).values():
            assert luck.reported(row) == ("return_without_luck" in row), "run `python docs/luck.py`"
