"""docs/luck.py takes luck out of returns and leaves their mean as it was."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from docs_scripts import script

from airoas.domains import LightDark, RockSample, Tag, Tiger
from airoas.episode import simulate
from airoas.experiments.run.play import record
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


def test_every_reported_episode_has_its_figure(luck: ModuleType) -> None:
    assert luck.known_figures().keys() == luck.reported().keys(), "run `python docs/luck.py`"
