"""Rows without their moves: of an episode what tables, intervals and a second look at its world need, in a few hundred bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from airoas.experiments.rows.types import Row, SearchTotals, Times

MOVES = ("rewards", "lower", "upper", "stops", "trials", "nodes", "depths", "n_particles", "surprise")
"""Lists with a value for each move. `actions` is not among them: with the seed they determine what happened."""
TIMED = ("plan", "overshoot", "update")
"""Those within `times`."""
TIMINGS = ("plan_mean", "plan_max", "overshoot_mean", "overshoot_max", "update_mean")
"""What a row without its moves has in place of these: from them follow the same of many episodes, as percentiles would not."""
NO_SEARCH = ("done", "terminal")
"""How decisions end for which no search was wanted."""


def slim(row: Row, keep: Iterable[str] = ()) -> Row:
    """The row with its moves summed up: `search`, and `times` as `timing` has them. `keep` names lists that stay."""
    if "error" in row:
        return row
    dropped = {*MOVES, *TIMED} - set(keep)
    times = {name: value for name, value in row["times"].items() if name not in dropped}
    kept: dict[str, Any] = {name: value for name, value in row.items() if name not in dropped}
    notes = {name: same_words(value) for name, value in row.get("notes", {}).items()}
    kept["notes"] = {name: value for name, value in notes.items() if isinstance(value, (str, bool))}  # others are counts
    return cast(Row, kept | {"search": search_totals(row), "times": times | timing(row)})


def search_totals(row: Row) -> SearchTotals:
    """How much was searched. Bounds that meet before the first trial are no lack of time."""
    if "search" in row:
        return row["search"]
    moves = range(len(row.get("stops", ())))
    searched = [i for i in moves if row["stops"][i] not in NO_SEARCH]
    trials = row.get("trials", [])
    late = sum(row["stops"][i] == "deadline" and trials[i] == 0 for i in searched)
    totals: SearchTotals = {"decisions": len(searched), "trials": sum(trials[i] for i in searched), "unsearched": late}
    notes = row.get("notes", {})
    alone = [i for i in searched if note_at(notes.get("policy"), i) is None]  # where a policy leads it tells the actions apart
    if "tied" in notes:
        totals["tied"] = sum(note_at(notes["tied"], i) is True for i in alone)
    if "opened" in notes:
        totals["unopened"] = sum((note_at(notes["opened"], i) or 1.0) < 1.0 for i in alone)
    if notes.get("sound", True) is not True:
        totals["contradicted"] = sum(note_at(notes.get("contradicted"), i) is not None for i in searched)
    return totals


def note_at(note: Any, i: int) -> Any:
    """A note at a move, None beyond the last: one that is the same at every move stands once."""
    if isinstance(note, list):
        return note[i] if i < len(note) else None
    return note


def same_words(note: Any) -> Any:
    """Words that are the same at every move that has them, once; else the note as it is."""
    if not isinstance(note, list) or not all(isinstance(one, str | None) for one in note):
        return note
    words = {one for one in note if one is not None}
    return words.pop() if len(words) == 1 else note


def timing(row: Row) -> Times:
    """The mean and the longest decision, the same of how far decisions ran past their deadline, and the mean of the belief's
    updates; zeros where there were none."""
    times = cast(dict[str, Any], row["times"])
    if "plan_mean" in times:
        return cast(Times, {name: times[name] for name in TIMINGS})
    if not times["plan"]:
        return cast(Times, dict.fromkeys(TIMINGS, 0.0))
    plan, overshoot, update = (np.array(times[name]) for name in TIMED)
    values = (plan.mean(), plan.max(), overshoot.mean(), overshoot.max(), update.mean())
    return cast(Times, {name: round(float(value), 6) for name, value in zip(TIMINGS, values, strict=True)})
