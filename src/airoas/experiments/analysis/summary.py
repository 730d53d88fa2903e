"""How the episodes of one cell went: what they earned, how they ended, and the time that they took."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from airoas.experiments.analysis.statistics import Estimate, estimate
from airoas.experiments.rows.slim import same_words, search_totals, timing
from airoas.experiments.rows.types import Row
from airoas.experiments.spec.cells import Cell


@dataclass(frozen=True)
class Summary:
    """How a number of episodes went. Times in seconds, overshoot (past the deadline) in milliseconds."""

    domain: str
    planner: str
    episodes: int
    """Those that finished; everything else but `failures` is about them."""
    maps: int
    """On how many maps, where they are drawn; else 0."""
    mean: float
    """Mean discounted return."""
    sem: float
    """Its standard error: sd / sqrt(n), or that of the mean over maps."""
    low: float
    """The 95 % interval."""
    high: float
    undiscounted_mean: float
    """The same of rewards added up as they are."""
    undiscounted_sem: float
    undiscounted_low: float
    undiscounted_high: float
    adjusted_episodes: int
    """Those that have an adjusted return, which the next four are about."""
    adjusted_mean: float
    adjusted_sem: float
    adjusted_low: float
    adjusted_high: float
    steps_mean: float
    terminated: float
    """Share of episodes that reached a terminal state."""
    success: float
    """Share that reached one with a reward above 0, the last one."""
    wrong_stop: float
    """Share that reached one with a reward below 0."""
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
    tied: float
    """Share in which every action looked the same; nan where no planner says."""
    unopened: float
    """Share in which some action was never simulated, and no bound told that it need not be."""
    contradicted: float
    """Share in which the search found values far above estimated upper bounds."""
    policy: str
    """The policy that led, with the rounds in which it was learned; the most frequent of several, empty where none led."""
    promised: float
    """What the first decisions thought that their episodes were worth, in the mean."""
    overrated: float
    """By how many standard errors that is above what was earned, episode by episode."""
    recoveries: int
    """How often a filter had lost all its particles."""
    lost: int
    """How often a belief was found to be lost."""
    failures: int

    def to_dict(self) -> dict[str, Any]:
        """For JSON and CSV: what is not a number becomes None."""
        return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in asdict(self).items()}


def summarise(domain: str, planner: str, rows: Iterable[Row]) -> Summary:
    """The summary of some rows; returns and times are over the episodes that finished."""
    rows = list(rows)
    done = [row for row in rows if "error" not in row]
    earned, undiscounted, adjusted = returns(done), undiscounted_returns(done), adjusted_returns(done)
    times, moves = [timing(row) for row in done], [row["steps"] for row in done]
    late = [x for row in done for x in row["times"]["overshoot"]] if all("overshoot" in row["times"] for row in done) else []
    trials, unsearched = search_rates(done)
    promised, overrated = _promises(done)

    def over_moves(values: list[float]) -> Any:
        """A value of each episode, as often as it has moves."""
        return np.repeat(values, moves) if sum(moves) else np.array([math.nan])

    def mean(values: list[float]) -> float:
        return sum(values) / len(values) if values else math.nan

    return Summary(
        domain=domain,
        planner=planner,
        episodes=len(done),
        maps=len({row["map"] for row in done if row["map"] is not None}),
        mean=earned.mean,
        sem=earned.sem,
        low=earned.low,
        high=earned.high,
        undiscounted_mean=undiscounted.mean,
        undiscounted_sem=undiscounted.sem,
        undiscounted_low=undiscounted.low,
        undiscounted_high=undiscounted.high,
        adjusted_episodes=adjusted.n,
        adjusted_mean=adjusted.mean,
        adjusted_sem=adjusted.sem,
        adjusted_low=adjusted.low,
        adjusted_high=adjusted.high,
        steps_mean=mean([row["steps"] for row in done]),
        terminated=mean([row["terminated"] for row in done]),
        success=mean([row["success"] for row in done]),
        wrong_stop=mean([row["wrong_stop"] for row in done]),
        plan_seconds_mean=float(over_moves([one["plan_mean"] for one in times]).mean()),
        plan_seconds_max=float(over_moves([one["plan_max"] for one in times]).max()),
        update_seconds_mean=float(over_moves([one["update_mean"] for one in times]).mean()),
        overshoot_ms_mean=1e3 * float(over_moves([one["overshoot_mean"] for one in times]).mean()),
        overshoot_ms_p99=1e3 * float(np.quantile(late, 0.99)) if len(late) else math.nan,
        overshoot_ms_max=1e3 * float(over_moves([one["overshoot_max"] for one in times]).max()),
        trials_mean=trials,
        unsearched=unsearched,
        tied=_part_of(done, "tied"),
        unopened=_part_of(done, "unopened"),
        contradicted=_part_of(done, "contradicted"),
        policy=_policy_of(done),
        promised=promised,
        overrated=overrated,
        recoveries=sum(row["recoveries"] for row in done),
        lost=sum(row.get("lost", 0) for row in done),
        failures=len(rows) - len(done),
    )


def search_rates(rows: Iterable[Row]) -> tuple[float, float]:
    """Trials per decision, and the share of decisions whose time was up before the first trial; both are about decisions that were
    searched for, and nan where there are none. Bounds that meet before the first trial are no lack of time."""
    totals = [search_totals(row) for row in rows if "error" not in row]
    decisions = sum(one["decisions"] for one in totals)
    if not decisions:
        return math.nan, math.nan
    return sum(one["trials"] for one in totals) / decisions, sum(one["unsearched"] for one in totals) / decisions


def _part_of(rows: list[Row], name: str) -> float:
    """Of the decisions that were searched for, as far as they were told apart."""
    totals: list[dict[str, int]] = [dict(search_totals(row)) for row in rows]  # type: ignore[arg-type]
    totals = [one for one in totals if name in one]
    decisions = sum(one["decisions"] for one in totals)
    return sum(one[name] for one in totals) / decisions if decisions else math.nan


def _policy_of(rows: list[Row]) -> str:
    """ "learned, 6 rounds", say: without its digest, which is another on every map."""
    names = [same_words(row.get("notes", {}).get("policy")) for row in rows]
    counts = Counter(", ".join(name.split(", ")[:2]) for name in names if isinstance(name, str))
    return counts.most_common(1)[0][0] if counts else ""


def _promises(rows: list[Row]) -> tuple[float, float]:
    """The mean of what was promised, and by how many errors it is above what was earned."""
    pairs = [(row["promised"], row["discounted_return"]) for row in rows if row.get("promised") is not None]
    if len(pairs) < 2:
        return math.nan, math.nan
    promised, earned = np.array(pairs, dtype=np.float64).T
    excess = promised - earned
    error = float(excess.std(ddof=1)) / math.sqrt(len(excess))
    return float(promised.mean()), float(excess.mean()) / error if error > 0.0 else 0.0


def returns(rows: list[Row]) -> Estimate:
    """The mean discounted return of finished episodes."""
    return estimate([row["discounted_return"] for row in rows], map_numbers(rows))


def undiscounted_returns(rows: list[Row]) -> Estimate:
    """The mean of their rewards added up as they are."""
    rows = [row for row in rows if "return" in row]
    return estimate([row["return"] for row in rows], map_numbers(rows))


def adjusted_returns(rows: list[Row]) -> Estimate:
    """The mean adjusted return of those that have one."""
    rows = [row for row in rows if "adjusted" in row]
    return estimate([row["adjusted"] for row in rows], map_numbers(rows))


def paired_difference(first: Cell, second: Cell, rows: dict[str, Row]) -> Estimate:
    """The mean of first - second: episodes of one seed have the same world, so the difference is taken seed by seed."""
    ours, theirs = finished(first, rows), finished(second, rows)
    seeds = sorted(ours.keys() & theirs.keys())
    gains = [ours[seed]["discounted_return"] - theirs[seed]["discounted_return"] for seed in seeds]
    return estimate(gains, map_numbers([ours[seed] for seed in seeds]))


def finished(cell: Cell, rows: dict[str, Row]) -> dict[int, Row]:
    """The finished episodes of a cell by seed."""
    return {seed: rows[key] for key, seed in cell.ids.items() if key in rows and "error" not in rows[key]}


def map_numbers(rows: list[Row]) -> list[int] | None:
    """The map of each episode, where maps are drawn."""
    numbers = [row["map"] for row in rows if row["map"] is not None]
    return numbers if numbers and len(numbers) == len(rows) else None
