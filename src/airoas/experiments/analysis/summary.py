"""The figures of one cell: what its episodes earned, how they ended, and the time that they took."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from airoas.experiments.analysis.statistics import Estimate, estimate
from airoas.experiments.rows.slim import searched, timing
from airoas.experiments.run.play import Row

WORTH_A_WORD = 0.05
"""A share of decisions without a search that is told beside the figures."""


@dataclass(frozen=True)
class Summary:
    """How a number of episodes went. Times in seconds, overshoot (past the deadline) in milliseconds."""

    domain: str
    planner: str
    episodes: int
    """Those that finished; all other figures but `failures` are about them."""
    maps: int
    """On how many maps, where they are drawn; else 0."""
    mean: float
    """Mean discounted return."""
    sem: float
    """Its standard error: sd / sqrt(n), or that of the mean over maps."""
    low: float
    """The 95 % interval."""
    high: float
    steps_mean: float
    terminated: float
    """Share of episodes that reached a terminal state."""
    success: float
    """Share that ended in one with a reward above 0."""
    wrong_stop: float
    """Share that ended in one with a reward below 0."""
    plan_seconds_mean: float
    plan_seconds_max: float
    update_seconds_mean: float
    overshoot_ms_mean: float
    overshoot_ms_p99: float
    """nan where rows do not have their moves (`--full`)."""
    overshoot_ms_max: float
    trials_mean: float
    """Trials (simulations of POMCP) per decision, of those decisions that were searched for."""
    unsearched: float
    """Share of these in which the time was up before the first trial."""
    rescues: int
    """How often a filter had lost all its particles."""
    failures: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is not a number becomes None."""
        return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in asdict(self).items()}


def summarise(domain: str, planner: str, rows: Iterable[Row]) -> Summary:
    """The figures of some rows; returns and times are over the episodes that finished."""
    rows = list(rows)
    done = [row for row in rows if "error" not in row]
    earned = returns(done)
    times, moves = [timing(row) for row in done], [row["steps"] for row in done]
    late = [x for row in done for x in row["times"]["overshoot"]] if all("overshoot" in row["times"] for row in done) else []
    trials, unsearched = search_share(done)

    def over_moves(key: str) -> Any:
        """A figure of each episode, as often as it has moves."""
        return np.repeat([found[key] for found in times], moves) if sum(moves) else np.array([math.nan])

    def share(key: str) -> float:
        return sum(row[key] for row in done) / len(done) if done else math.nan

    return Summary(
        domain=domain,
        planner=planner,
        episodes=len(done),
        maps=len({row["map"] for row in done if row["map"] is not None}),
        mean=earned.mean,
        sem=earned.sem,
        low=earned.low,
        high=earned.high,
        steps_mean=share("steps"),
        terminated=share("terminated"),
        success=share("success"),
        wrong_stop=share("wrong_stop"),
        plan_seconds_mean=float(over_moves("plan_mean").mean()),
        plan_seconds_max=float(over_moves("plan_max").max()),
        update_seconds_mean=float(over_moves("update_mean").mean()),
        overshoot_ms_mean=1e3 * float(over_moves("overshoot_mean").mean()),
        overshoot_ms_p99=1e3 * float(np.quantile(late, 0.99)) if len(late) else math.nan,
        overshoot_ms_max=1e3 * float(over_moves("overshoot_max").max()),
        trials_mean=trials,
        unsearched=unsearched,
        rescues=sum(row["rescues"] for row in done),
        failures=len(rows) - len(done),
    )


def search_share(rows: Iterable[Row]) -> tuple[float, float]:
    """Trials per decision, and the share of decisions whose time was up before the first trial; both are about decisions that were
    searched for, and nan where there are none. Bounds that meet before the first trial are no lack of time."""
    found = [searched(row) for row in rows if "error" not in row]
    decisions, trials, unsearched = (sum(one[key] for one in found) for key in ("decisions", "trials", "unsearched"))
    return (trials / decisions, unsearched / decisions) if decisions else (math.nan, math.nan)


def no_search(record: dict[str, Any]) -> str | None:
    """What to say of a summary (as `to_dict` gives it) in which more than a few decisions had no time for a search."""
    if not (record["unsearched"] or 0.0) > WORTH_A_WORD:
        return None
    found = f"{record['planner']} on {record['domain']}: no search within the time in {100 * record['unsearched']:.0f} % of the decisions"
    return f"{found}. Give it more time or fewer particles, or add `value_bounds` to the model (docs/bounds.md)."


def returns(rows: list[Row]) -> Estimate:
    """The mean discounted return of finished episodes."""
    return estimate([row["discounted_return"] for row in rows], groups(rows))


def groups(rows: list[Row]) -> list[int] | None:
    """The map of each episode, where maps are drawn."""
    return [row["map"] for row in rows] if rows and all(row["map"] is not None for row in rows) else None
