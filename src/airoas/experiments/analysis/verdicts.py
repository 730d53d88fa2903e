"""Verdicts on a planner, from the rows of an experiment: best, tied or worse on each domain, and which planner to take there.

What the words mean, and with which chance one of them is wrong, says `airoas.experiments.analysis.judgement`. Where an episode failed,
what random actions earn in its world counts; a world in which random actions failed is left out. A domain is judged when all of its
episodes are there, and counts among the domains from the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from airoas.errors import OptionError, suggest
from airoas.experiments.analysis.judgement import Gap, Judgement, gap, judge
from airoas.experiments.analysis.statistics import LEVEL
from airoas.experiments.analysis.summary import map_numbers, search_rates
from airoas.experiments.analysis.weakness import NOTEWORTHY
from airoas.experiments.rows.types import Row
from airoas.experiments.spec.cells import Cell, Part, Spec
from airoas.tables import TextTable


@dataclass(frozen=True)
class Verdict:
    """On a planner and a domain, with the numbers that it hangs on."""

    part: str
    domain: str
    planner: str
    verdict: str
    """best, tied, worse, open, or `not finished`, which has no numbers."""
    take: str = ""
    """The planner itself where it is best or tied; else the one that earned most."""
    statistic: str = ""
    """adjusted, or plain where the domain has no adjusted returns."""
    rival: str = ""
    """The planner that decides."""
    pairs: int = 0
    failures: int = 0
    """Episodes of the two that failed."""
    mean: float = math.nan
    rival_mean: float = math.nan
    random_mean: float = math.nan
    difference: float = math.nan
    sem: float = math.nan
    low: float = math.nan
    """Limits of the difference, and the lower one after 5 % of (rival - random) were added: as in `Judgement`."""
    high: float = math.nan
    eased_low: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """For CSV: what is not a number becomes None."""
        return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class _Field:
    """The planners on one domain of a part."""

    part: str
    judged: Cell
    random: Cell
    rivals: list[Cell]
    statistic: str
    earned: dict[str, np.ndarray]
    """Of each label, world by world; nothing where episodes are missing."""
    groups: list[int] | None
    failures: dict[str, int]

    def gaps(self) -> list[Gap]:
        ours, random = (self.earned.get(cell.label) for cell in (self.judged, self.random))
        return [] if ours is None or random is None else [gap(ours, self.earned[cell.label], random, self.groups) for cell in self.rivals]

    def verdict(self, judgement: Judgement) -> Verdict:
        own = self.judged.label
        if not self.earned:
            return Verdict(self.part, self.judged.domain, own, "not finished")
        means = {label: float(values.mean()) for label, values in self.earned.items()}
        rival, difference = self.rivals[judgement.decisive].label, self.gaps()[judgement.decisive].difference
        most = max((own, *(cell.label for cell in self.rivals)), key=lambda label: means[label])
        return Verdict(
            part=self.part,
            domain=self.judged.domain,
            planner=own,
            verdict=judgement.verdict,
            take=own if judgement.verdict in ("best", "tied") else most,
            statistic=self.statistic,
            rival=rival,
            pairs=difference.n,
            failures=self.failures[own] + self.failures[rival],
            mean=means[own],
            rival_mean=means[rival],
            random_mean=means[self.random.label],
            difference=difference.mean,
            sem=difference.sem,
            low=judgement.low,
            high=judgement.high,
            eased_low=judgement.eased_low,
        )


def verdicts(spec: Spec, rows: dict[str, Row], planner: str, adjusted: bool = False) -> list[Verdict]:
    """The verdict on a planner, by its label, in every part and domain where it stands. With `adjusted`, adjusted returns count where a
    domain has them."""
    judged = [(part, cell) for part in spec.parts for cell in part.cells if cell.label == planner]
    if not judged:
        labels = list(dict.fromkeys(cell.label for cell in spec.cells))
        raise OptionError(f"there is no planner {planner!r}", f"{suggest(planner, labels)}Name one of {', '.join(labels)}.")
    fields = [_field(part, cell, rows, adjusted) for part, cell in judged]
    return [field.verdict(judgement) for field, judgement in zip(fields, judge([field.gaps() for field in fields]), strict=True)]


def _field(part: Part, judged: Cell, rows: dict[str, Row], adjusted: bool) -> _Field:
    cells = [cell for cell in part.cells if cell.domain == judged.domain]
    random = next((cell for cell in cells if cell.kind == "random"), None)
    rivals = [cell for cell in cells if cell not in (judged, random)]
    if random is None or not rivals:
        problem = f"{judged.domain} has no {'other planner' if random else 'random actions'} beside {judged.label}"
        raise OptionError(problem, "add [planners.random] and the others to its part, or leave its folder out.")
    runs = {cell.label: {seed: rows[key] for key, seed in cell.ids.items() if key in rows} for cell in cells}
    has_adjusted = adjusted and any("adjusted" in row for run in runs.values() for row in run.values())
    blind = runs[random.label]
    worlds = [seed for seed in judged.seeds if "error" not in blind.get(seed, {})]

    def earned(run: dict[int, Row]) -> list[float | None]:
        played = (run.get(seed) for seed in worlds)
        counted = (blind.get(seed) if row and "error" in row else row for seed, row in zip(worlds, played, strict=True))
        return [None if not row else row.get("adjusted") if has_adjusted else row.get("discounted_return") for row in counted]

    values = {label: earned(run) for label, run in runs.items()}
    finished = bool(worlds) and not any(value is None for of in values.values() for value in of)
    return _Field(
        part=part.name,
        judged=judged,
        random=random,
        rivals=rivals,
        statistic="adjusted" if has_adjusted else "plain",
        earned={label: np.array(of, dtype=np.float64) for label, of in values.items()} if finished else {},
        groups=map_numbers([blind[seed] for seed in worlds]) if finished else None,
        failures={label: sum("error" in row for row in run.values()) for label, run in runs.items()},
    )


def verdict_table(spec: Spec, rows: dict[str, Row], planner: str, adjusted: bool = False, remarks: Iterable[str] = ()) -> TextTable:
    """The verdicts on a planner, with how many there are of each kind and what weakens them; `remarks` are put below."""
    results = verdicts(spec, rows, planner, adjusted)
    columns = ("domain", "verdict", "take", "n", "failed", "returns", planner, "against", "earns", "random", "difference ± SEM")
    table = TextTable(f"{planner}: best, tied or worse", (*columns, "limits (Holm)", "lower limit + 5 %"))
    labels = [spec.domains[one.domain].label for one in results]
    for one, label in zip(results, labels, strict=True):
        name = f"{one.part}: {label}" if one.part and labels.count(label) > 1 else label
        if one.verdict == "not finished":
            table.rows.append((name, one.verdict, *[""] * (len(table.columns) - 2)))
            continue
        known = (one.verdict, one.take, str(one.pairs), str(one.failures or ""), one.statistic, f"{one.mean:.3f}", one.rival)
        difference = (f"{one.rival_mean:.3f}", f"{one.random_mean:.3f}", f"{one.difference:+.3f} ± {one.sem:.3f}")
        table.rows.append((name, *known, *difference, f"[{one.low:+.3f}, {one.high:+.3f}]", f"{one.eased_low:+.3f}"))
    counts = {word: sum(one.verdict == word for one in results) for word in ("best", "tied", "worse", "open", "not finished")}
    table.notes += [
        f"Of {len(results)} domains: {', '.join(f'{count} {word}' for word, count in counts.items() if count)}.",
        "Best: shown to earn more than every other. Tied: shown to earn at most 5 % of (other - random) less than every other (the last "
        "column is above 0). Worse: shown to earn less than another. Open: nothing is shown; what to take is then what earned most.",
        f"A false claim anywhere in this table has a chance of at most {100 * (1 - LEVEL):.0f} % (Holm's procedure over its domains).",
    ]
    if any(one.statistic == "plain" for one in results):
        table.notes.append("plain: there are no adjusted returns, so that what chance decided is in the difference and in its error.")
    if any(one.failures for one in results):
        table.notes.append("A failed episode counts as what random actions earn in its world.")
    machines = {row["machine"]["cpu"] for row in rows.values() if "machine" in row}
    table.notes += [f"Run on {', '.join(sorted(machines))}."] if machines else []
    table.notes += [*_hardly_searched(spec, rows, {(one.part, one.domain) for one in results}), *remarks]
    return table.trimmed()


def _hardly_searched(spec: Spec, rows: dict[str, Row], judged: set[tuple[str, str]]) -> Iterator[str]:
    for part in spec.parts:
        for cell in part.cells:
            unsearched = search_rates(rows[key] for key in cell.ids if key in rows)[1]
            if (part.name, cell.domain) in judged and unsearched > NOTEWORTHY:
                fraction = f"{100 * unsearched:.0f} % of the decisions had no trial"
                yield f"{cell.label} on {cell.domain} hardly searched ({fraction}): its figure is no measure of the planner."
