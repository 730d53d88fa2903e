"""Rows without their moves: of an episode what tables, intervals and a second look at its world need, in a few hundred bytes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from airoas.experiments.run.play import Row

MOVES = ("rewards", "lower", "upper", "stops", "trials", "nodes", "depths")
"""Lists with a value for each move. `actions` is not among them: with the seed they determine what happened."""
TIMED = ("plan", "overshoot", "update")
"""Those within `times`."""
TIMINGS = ("plan_mean", "plan_max", "overshoot_mean", "overshoot_max", "update_mean")
"""What a row without its moves has in place of these: figures from which those of many episodes follow, as percentiles do not."""
NO_SEARCH = ("done", "terminal")
"""How decisions end for which no search was wanted."""


def slim(row: Row, keep: Iterable[str] = ()) -> Row:
    """The row with its moves summed up: `search`, and `times` as `timing` has them. `keep` names lists that stay."""
    if "error" in row:
        return row
    dropped = {*MOVES, *TIMED} - set(keep)
    times = {name: value for name, value in row["times"].items() if name not in dropped}
    kept = {name: value for name, value in row.items() if name not in dropped}
    words = {name: value for name, value in row.get("notes", {}).items() if isinstance(value, (str, bool))}  # the others are counts
    return kept | {"notes": words, "search": searched(row), "times": times | timing(row)}


def searched(row: Row) -> dict[str, int]:
    """How many `decisions` were searched for, with how many `trials` in all, and for how many the time was up before the first of them
    (`unsearched`). Bounds that meet before the first trial are no lack of time."""
    if "search" in row:
        return dict(row["search"])
    ends = [end for end in zip(row.get("stops", ()), row.get("trials", ()), strict=True) if end[0] not in NO_SEARCH]
    return {"decisions": len(ends), "trials": sum(end[1] for end in ends), "unsearched": sum(end == ("deadline", 0) for end in ends)}


def timing(row: Row) -> dict[str, float]:
    """In seconds: the mean and the longest decision, the same of how far decisions ran past their deadline, and the mean of the
    belief's updates; zeros where there were none."""
    times = row["times"]
    if "plan_mean" in times:
        return {name: times[name] for name in TIMINGS}
    if not times["plan"]:
        return dict.fromkeys(TIMINGS, 0.0)
    plan, overshoot, update = (np.array(times[name]) for name in TIMED)
    found = (plan.mean(), plan.max(), overshoot.mean(), overshoot.max(), update.mean())
    return {name: round(float(value), 6) for name, value in zip(TIMINGS, found, strict=True)}
