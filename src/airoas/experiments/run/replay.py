"""An episode once more: a timed search repeats when each move gets the trials that it had finished then, and the particles that its time
allowed. Rollouts of a policy do not: there the recorded action is taken.

That is promised for rows of the version that runs; another may search in another way.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, cast

from airoas import __version__
from airoas.belief.particles import Particles
from airoas.errors import OptionError
from airoas.experiments.rows.slim import note_at
from airoas.experiments.rows.types import Outcome, Row
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision, Planner, Stats
from airoas.rng import Rng

COMPARED = ("actions", "rewards", "lower", "upper", "discounted_return", "return", "steps", "terminated")

TIMED = ("trials", "stops", "actions", "lower", "upper")
"""What of its moves a timed episode needs."""


def can_replay(row: Row) -> bool:
    """Whether a row has what repeating its episode takes."""
    return "error" in row or "seconds" not in row["options"] or all(key in row for key in TIMED)


def check_moves(row: Row) -> None:
    """Refuse a timed episode whose moves were not kept."""
    if not can_replay(row):
        problem = f"episode {row['id']} was timed, and its row does not have the trials of every move"
        raise OptionError(problem, "run it with --full, which keeps them; with --iterations in place of --seconds they are not needed.")


def other_version(row: Row) -> str:
    """What to say of a row that another version has written; else nothing."""
    if row["version"] == __version__:
        return ""
    return f"recorded by airoas {row['version']}, and this is {__version__}: only rows of the same version are sure to repeat"


class Replayed:
    """A planner that gives its moves, one after another, the trials of a recorded episode."""

    def __init__(self, planner: Any, row: Row) -> None:
        self.planner = planner
        self.timed = getattr(planner, "seconds", None) is not None
        self.moves = zip(*(cast(dict[str, Any], row)[key] for key in TIMED), strict=True) if self.timed else iter(())
        self.notes = row.get("notes", {})
        self.move = -1

    def plan(self, model: KernelModel, belief: Particles, rng: Rng) -> Decision:
        if not self.timed:
            return self.planner.plan(model, belief, rng)  # type: ignore[no-any-return]
        trials, stop, action, *bounds = next(self.moves, (1, "", None))  # moves beyond the record: the episodes have parted
        self.move += 1
        taken = tuple(action) if isinstance(action, list) else action
        if trials == 0 and stop == "deadline":  # there is no search to repeat, so the recorded action is taken
            lower, upper = (math.nan if bound is None else bound for bound in bounds)
            return Decision(taken, math.nan, lower, upper, Stats("deadline", notes={"replayed": "the recorded action"}))
        particles = note_at(self.notes.get("particles"), self.move)
        limited = {self.planner.LIMITED_BY_TIME: particles} if particles is not None else {}
        repeated: Planner = dataclasses.replace(self.planner, seconds=None, iterations=max(1, trials), **limited)
        decision = repeated.plan(model, belief, rng)
        if note_at(self.notes.get("rollouts"), self.move) is not None and action is not None:
            decision = dataclasses.replace(decision, action=taken)
        return decision


def differences(row: Row, again: Outcome) -> list[str]:
    """Sentences on where the repeated episode departs from the recorded one; empty where all that the row has is the same to the
    last bit."""
    if "error" in row or "error" in again:
        same = row.get("error") == again.get("error")
        return [] if same else [f"recorded: {row.get('error', 'no error')}; now: {again.get('error', 'no error')}"]
    recorded, repeated, sentences = cast(dict[str, Any], row), cast(dict[str, Any], again), []
    for key in COMPARED:
        if key not in recorded or recorded[key] == repeated[key]:
            continue
        before, now = recorded[key], repeated[key]
        if isinstance(before, list):
            t = next((t for t, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now)))
            before, now = (str(values[t]) if t < len(values) else "nothing" for values in (before, now))
            sentences.append(f"{key} differ from move {t} on: {before} was recorded, {now} came now")
        else:
            sentences.append(f"{key}: {before} was recorded, {now} came now")
    return sentences
