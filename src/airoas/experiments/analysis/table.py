"""What an experiment found, cell by cell and as tables: means, paired differences, and the choice where one was to be made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from airoas.errors import StoredDataError
from airoas.experiments.analysis.control_variate import with_adjusted_returns
from airoas.experiments.analysis.statistics import holm
from airoas.experiments.analysis.summary import Summary, paired_difference, summarise
from airoas.experiments.analysis.weakness import unended, weaknesses
from airoas.experiments.rows.types import Row, models_of
from airoas.experiments.spec.cells import Cell, Part, Spec
from airoas.tables import TextTable

ADJUSTED_NOTE = "Adjusted returns: a control variate takes out what chance decided and leaves the mean (docs/experiments.md)."


@dataclass(frozen=True)
class CellSummary(Summary):
    """The summary of a cell, beside what others published."""

    part: str
    reference_mean: float
    reference_sem: float
    upper_bound: float
    wanted: int
    """Episodes that the cell is to have."""

    def to_dict(self) -> dict[str, Any]:
        record = super().to_dict()
        return {"part": record.pop("part"), **record}


@dataclass(frozen=True)
class Difference:
    """Between two cells of a part on one domain: first - second, world by world."""

    part: str
    domain: str
    first: str
    second: str
    pairs: int
    mean: float
    sem: float
    low: float
    high: float
    p: float
    p_holm: float
    """Corrected for all comparisons of the experiment."""

    def to_dict(self) -> dict[str, Any]:
        """For CSV: what is not a number becomes None."""
        return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in asdict(self).items()}


def cell_summaries(spec: Spec, rows: dict[str, Row]) -> list[CellSummary]:
    """The summary of each cell."""
    _refuse_mixed(spec, rows)
    summaries = []
    for part in spec.parts:
        for cell in part.cells:
            summary = summarise(cell.domain, cell.label, (rows[key] for key in cell.ids if key in rows))
            mean, sem = spec.reference.get(cell.domain, {}).get(cell.planner, (None, None))
            summaries.append(
                CellSummary(
                    **vars(summary),
                    part=part.name,
                    reference_mean=_or_nan(mean),
                    reference_sem=_or_nan(sem),
                    upper_bound=_or_nan(spec.domains[cell.domain].upper_bound),
                    wanted=len(cell.seeds),
                )
            )
    return summaries


def _refuse_mixed(spec: Spec, rows: dict[str, Row]) -> None:
    """Returns of two models have no common mean."""
    used = ((cell.domain, rows[key]) for cell in spec.cells for key in cell.ids if key in rows)
    for (domain, _), models in models_of(used).items():
        if len(models) > 1:
            problem = f"the episodes of {domain} are of {len(models)} models: it was changed while they ran"
            raise StoredDataError(problem, "delete the rows of one of them (`model` has the digest), or run them anew.")


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def differences(spec: Spec, rows: dict[str, Row]) -> list[Difference]:
    """Each comparison that the experiment asks for."""
    _refuse_mixed(spec, rows)
    compared = []
    for part in spec.parts:
        for first, second in _comparisons(part):
            known = paired_difference(first, second, rows)
            values = (known.n, known.mean, known.sem, known.low, known.high, known.p, math.nan)
            compared.append(Difference(part.name, first.domain, first.label, second.label, *values))
    return [replace(one, p_holm=p) for one, p in zip(compared, holm([one.p for one in compared]), strict=True)]


def _comparisons(part: Part) -> Iterator[tuple[Cell, Cell]]:
    """The pairs of cells on one domain that the part wants compared; for an axis its values with the first, all else equal."""
    firsts = {axis: value for cell in reversed(part.cells) for axis, value in cell.axes.items()}
    for wanted, (early, late) in itertools.product(part.compare, itertools.combinations(part.cells, 2)):
        if early.domain != late.domain:
            continue
        differing = {axis for axis in early.axes.keys() | late.axes.keys() if early.axes.get(axis) != late.axes.get(axis)}
        same_planner = early.planner == late.planner
        if wanted in firsts:
            if same_planner and differing == {wanted} and firsts[wanted] in (early.axes[wanted], late.axes[wanted]):
                yield (late, early) if early.axes[wanted] == firsts[wanted] else (early, late)
        elif wanted == "all" or (wanted in (early.planner, late.planner) and not same_planner and not differing):
            yield (late, early) if late.planner == wanted else (early, late)


def tables(
    spec: Spec, rows: dict[str, Row], adjusted: bool = False, remarks: Iterable[str] = (), undiscounted: bool = False
) -> list[TextTable]:
    """The tables of an experiment. With `adjusted` they show adjusted returns too, and compare these; with `undiscounted` also what
    rewards come to without the discount. `remarks` are put below the first one."""
    summaries = cell_summaries(spec, rows)
    keys = dict.fromkeys((one.part, one.domain) for one in summaries)
    built = [_returns(spec, *key, [one for one in summaries if (one.part, one.domain) == key], adjusted, undiscounted) for key in keys]
    built += [_choice(spec, part, [one for one in summaries if one.part == part.name]) for part in spec.parts if part.choose]
    compared = differences(spec, with_adjusted_returns(rows) if adjusted else rows)
    if compared:
        built.append(_differences(spec, compared, adjusted))
    if spec.scale:
        for table in built:
            table.title += f" [scale {spec.scale}]"
    built[0].notes[:0] = [*_remarks(spec, summaries, rows), *([ADJUSTED_NOTE] if adjusted else []), *remarks]
    return built


def _remarks(spec: Spec, summaries: list[CellSummary], rows: dict[str, Row]) -> list[str]:
    """What has to be said of the whole."""
    remarks = [spec.note] if spec.note else []
    if any(cell.clock == "cpu" for cell in spec.cells):
        remarks.append("Deadlines, and times of decisions and updates, are in CPU time.")
    if spec.scale:
        remarks.append(f"Scale {spec.scale}: budgets and episodes are cut down for a quick look. This is not the experiment itself.")
    wanted, done = sum(one.wanted for one in summaries), sum(one.episodes for one in summaries)
    failed = sum(one.failures for one in summaries)
    if done + failed < wanted:
        remarks.append(f"Not finished: {done + failed} of {wanted} episodes are there.")
    if failed:
        remarks.append(f"{failed} episodes failed and are left out of every mean, which may flatter it; their rows have the error.")
    recoveries = sum(one.recoveries for one in summaries)
    if recoveries:
        remarks.append(f"A filter lost all its particles and recovered {recoveries} times.")
    lost = sum(one.lost for one in summaries)
    if lost:
        remarks.append(f"A belief was lost {lost} times: what was seen was not what it predicted.")
    remarks += [remark for summary in summaries for remark in weaknesses(summary)]
    played = [(cell, [rows[key] for key in cell.ids if key in rows]) for cell in spec.cells]
    everyone = {domain: [row for cell, own in played if cell.domain == domain for row in own] for domain in spec.domains}
    remarks += [remark for cell, own in played for remark in unended(cell.label, cell.domain, own, everyone[cell.domain])]
    return remarks


def _returns(spec: Spec, part: str, domain: str, summaries: list[CellSummary], adjusted: bool, undiscounted: bool) -> TextTable:
    info = spec.domains[domain]
    title = " - ".join(filter(None, (part, info.label if domain.endswith(info.label) else f"{info.label} ({domain})")))
    before: tuple[str, ...] = ("planner", "n", "return ± SEM", "95 % interval")
    before += ("undiscounted ± SEM", "its 95 % interval") if undiscounted else ()
    before += ("adjusted ± SEM", "its 95 % interval") if adjusted else ()
    after = ("ended > 0", "ended < 0", "plan ms (max)", "overshoot ms (max)", "trials a decision", "unsearched", "failed")
    table = TextTable(title, (*before, spec.reference_title, *after))
    for one in summaries:
        count = f"{one.episodes} on {one.maps} maps" if one.maps else str(one.episodes)
        earned = [with_error(one.mean, one.sem), interval(one.low, one.high)]
        if undiscounted:
            earned += [with_error(one.undiscounted_mean, one.undiscounted_sem), interval(one.undiscounted_low, one.undiscounted_high)]
        if adjusted:
            some = f" ({one.adjusted_episodes})" if 0 < one.adjusted_episodes < one.episodes else ""
            earned += [with_error(one.adjusted_mean, one.adjusted_sem) + some, interval(one.adjusted_low, one.adjusted_high)]
        earned.append(with_error(one.reference_mean, one.reference_sem))
        ended = (percent(one.success), percent(one.wrong_stop))
        planning = mean_and_max(1e3 * one.plan_seconds_mean, 1e3 * one.plan_seconds_max)
        over = mean_and_max(one.overshoot_ms_mean, one.overshoot_ms_max)
        searched = ("" if math.isnan(one.trials_mean) else f"{one.trials_mean:.0f}", percent(one.unsearched))
        table.rows.append((one.planner, count, *earned, *ended, planning, over, *searched, str(one.failures or "")))
    planners = {cell.planner for cell in spec.cells}
    for name, (mean, sem) in spec.reference.get(domain, {}).items():
        if name not in planners:
            published = with_error(mean, _or_nan(sem))
            table.rows.append((name, *[""] * (len(before) - 1), published, *[""] * len(after)))
    if info.upper_bound is not None:
        table.notes.append(f"No policy earns more than {info.upper_bound:g} here (proved).")
    if info.note:
        table.notes.append(info.note)
    if any(one.maps for one in summaries):
        table.notes.append("Errors and intervals are those of a mean over maps.")
    return table.trimmed()


def _choice(spec: Spec, part: Part, summaries: list[CellSummary]) -> TextTable:
    table = TextTable(f"{part.name or 'best'} - chosen", ("domain", "planner", "chosen", "return ± SEM", "among"))
    for domain in dict.fromkeys(cell.domain for cell in part.cells):
        for planner in dict.fromkeys(cell.planner for cell in part.cells):
            labels = [cell.label for cell in part.cells if (cell.domain, cell.planner) == (domain, planner)]
            tried = [one for one in summaries if one.domain == domain and one.planner in labels and not math.isnan(one.mean)]
            if len(labels) > 1 and tried:
                best = max(tried, key=lambda one: one.mean)
                chosen = best.planner.removeprefix(planner).strip()
                table.rows.append((spec.domains[domain].label, planner, chosen, with_error(best.mean, best.sem), str(len(labels))))
    table.notes.append("The mean of a winner is too high on the seeds that made it win: report it on other seeds.")
    return table


def _differences(spec: Spec, compared: list[Difference], adjusted: bool) -> TextTable:
    what = "differences of adjusted returns" if adjusted else "differences"
    table = TextTable(f"{what} on the same worlds", ("domain", "difference", "pairs", "mean ± SEM", "95 % interval", "p", "p (Holm)"))
    for one in compared:
        label = spec.domains[one.domain].label
        domain = f"{one.part}: {label}" if len(spec.parts) > 1 and one.part else label
        known = (str(one.pairs), with_error(one.mean, one.sem), interval(one.low, one.high), probability(one.p), probability(one.p_holm))
        table.rows.append((domain, f"{one.first} - {one.second}", *known))
    tested = sum(not math.isnan(one.p) for one in compared)
    note = f"Student intervals of paired differences, each on its own; p (Holm) is corrected for all {tested} comparisons of this table."
    table.notes.append(note)
    return table


def with_error(mean: float, sem: float) -> str:
    return "" if math.isnan(mean) else f"{mean:.3f}" if math.isnan(sem) else f"{mean:.3f} ± {sem:.3f}"


def interval(low: float, high: float) -> str:
    return "" if math.isnan(low) or math.isnan(high) else f"[{low:.3f}, {high:.3f}]"


def mean_and_max(mean: float, most: float) -> str:
    return "" if math.isnan(mean) or math.isnan(most) else f"{mean:.2f} ({most:.2f})"


def percent(fraction: float) -> str:
    return "" if math.isnan(fraction) else f"{100 * fraction:.1f} %"


def probability(p: float) -> str:
    return "" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"
