"""What an experiment found, as records and as tables: means, paired differences, and the choice where one was to be made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from airoas.experiments.analysis.statistics import estimate, holm
from airoas.experiments.analysis.summary import groups, no_search, summarise
from airoas.experiments.run.play import Row
from airoas.experiments.spec.cells import Cell, Part, Spec
from airoas.tables import Sheet

Record = dict[str, Any]


def figures(spec: Spec, rows: dict[str, Row]) -> list[Record]:
    """A record for each cell: its summary, beside what others published."""
    found = []
    for part in spec.parts:
        for cell in part.cells:
            summary = summarise(cell.domain, cell.label, (rows[key] for key in cell.ids if key in rows))
            published = spec.reference.get(cell.domain, {}).get(cell.planner, (None, None))
            more = {"reference_mean": published[0], "reference_sem": published[1], "upper_bound": spec.domains[cell.domain].upper_bound}
            found.append({"part": part.name, **summary.to_dict(), **more, "wanted": len(cell.seeds)})
    return found


def differences(spec: Spec, rows: dict[str, Row]) -> list[Record]:
    """A record for each comparison: episodes of one seed have the same world, so the difference is taken seed by seed."""
    found: list[Record] = []
    for part in spec.parts:
        for first, second in _comparisons(part):
            ours, theirs = _finished(first, rows), _finished(second, rows)
            seeds = sorted(ours.keys() & theirs.keys())
            gains = [ours[seed]["discounted_return"] - theirs[seed]["discounted_return"] for seed in seeds]
            known = estimate(gains, groups([ours[seed] for seed in seeds]))
            found.append(
                {
                    "part": part.name,
                    "domain": first.domain,
                    "first": first.label,
                    "second": second.label,
                    "pairs": known.n,
                    "mean": known.mean,
                    "sem": known.sem,
                    "low": known.low,
                    "high": known.high,
                    "p": known.p,
                }
            )
    for record, adjusted in zip(found, holm([record["p"] for record in found]), strict=True):
        record["p_holm"] = adjusted
    return [{key: None if isinstance(value, float) and math.isnan(value) else value for key, value in record.items()} for record in found]


def _finished(cell: Cell, rows: dict[str, Row]) -> dict[int, Row]:
    """The episodes of a cell by seed."""
    return {seed: rows[key] for key, seed in cell.ids.items() if key in rows and "error" not in rows[key]}


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


def sheets(spec: Spec, rows: dict[str, Row]) -> list[Sheet]:
    """The tables of an experiment."""
    records = figures(spec, rows)
    places = dict.fromkeys((record["part"], record["domain"]) for record in records)
    found = [_returns(spec, *place, [r for r in records if (r["part"], r["domain"]) == place]) for place in places]
    found += [_choice(spec, part, [r for r in records if r["part"] == part.name]) for part in spec.parts if part.choose]
    compared = differences(spec, rows)
    if compared:
        found.append(_differences(spec, compared))
    if found and spec.scale:
        for sheet in found:
            sheet.title += f" [scale {spec.scale}]"
    found[0].notes[:0] = _remarks(spec, records)
    return found


def _remarks(spec: Spec, records: list[Record]) -> list[str]:
    """What has to be said of the whole."""
    remarks = [spec.note] if spec.note else []
    if spec.scale:
        remarks.append(f"Scale {spec.scale}: budgets and episodes are cut down for a quick look. This is not the experiment itself.")
    wanted, there = (sum(record[key] for record in records) for key in ("wanted", "episodes"))
    failed = sum(record["failures"] for record in records)
    if there + failed < wanted:
        remarks.append(f"Not finished: {there + failed} of {wanted} episodes are there.")
    if failed:
        remarks.append(f"{failed} episodes failed and are left out of every mean, which may flatter it; their rows have the error.")
    rescues = sum(record["rescues"] for record in records)
    if rescues:
        remarks.append(f"A filter lost all its particles and was rescued {rescues} times.")
    remarks += filter(None, map(no_search, records))
    return remarks


def _returns(spec: Spec, part: str, domain: str, records: list[Record]) -> Sheet:
    about = spec.domains[domain]
    title = " - ".join(filter(None, (part, about.label if domain.endswith(about.label) else f"{about.label} ({domain})")))
    columns: tuple[str, ...] = ("planner", "n", "return ± SEM", "95 % interval", spec.reference_title)
    columns += ("success", "wrong stops", "plan ms (max)", "overshoot ms (max)", "trials a decision", "unsearched", "failed")
    sheet = Sheet(title, columns)
    for r in records:
        count = f"{r['episodes']} on {r['maps']} maps" if r["maps"] else str(r["episodes"])
        earned = (with_error(r["mean"], r["sem"]), interval(r["low"], r["high"]), with_error(r["reference_mean"], r["reference_sem"]))
        ended = (percent(r["success"]), percent(r["wrong_stop"]))
        planning = pair(_times(1e3, r["plan_seconds_mean"]), _times(1e3, r["plan_seconds_max"]))
        over = pair(r["overshoot_ms_mean"], r["overshoot_ms_max"])
        searched = ("" if r["trials_mean"] is None else f"{r['trials_mean']:.0f}", percent(r["unsearched"]))
        sheet.rows.append((r["planner"], count, *earned, *ended, planning, over, *searched, str(r["failures"] or "")))
    planners = {cell.planner for cell in spec.cells}
    for name, (mean, sem) in spec.reference.get(domain, {}).items():
        if name not in planners:
            sheet.rows.append((name, "", "", "", with_error(mean, sem), *[""] * (len(columns) - 5)))
    if about.upper_bound is not None:
        sheet.notes.append(f"No policy earns more than {about.upper_bound:g} here (proved).")
    if about.note:
        sheet.notes.append(about.note)
    if any(r["maps"] for r in records):
        sheet.notes.append("Errors and intervals are those of a mean over maps.")
    return sheet.trimmed()


def _choice(spec: Spec, part: Part, records: list[Record]) -> Sheet:
    sheet = Sheet(f"{part.name or 'best'} - chosen", ("domain", "planner", "chosen", "return ± SEM", "among"))
    for domain in dict.fromkeys(cell.domain for cell in part.cells):
        for planner in dict.fromkeys(cell.planner for cell in part.cells):
            labels = [cell.label for cell in part.cells if (cell.domain, cell.planner) == (domain, planner)]
            tried = [r for r in records if r["domain"] == domain and r["planner"] in labels and r["mean"] is not None]
            if len(labels) > 1 and tried:
                best = max(tried, key=lambda r: r["mean"])
                chosen = best["planner"].removeprefix(planner).strip()
                row = (spec.domains[domain].label, planner, chosen, with_error(best["mean"], best["sem"]), str(len(labels)))
                sheet.rows.append(row)
    sheet.notes.append("The mean of a winner is too high on the seeds that made it win: report it on other seeds.")
    return sheet


def _differences(spec: Spec, records: list[Record]) -> Sheet:
    sheet = Sheet("differences on the same worlds", ("domain", "difference", "pairs", "mean ± SEM", "95 % interval", "p", "p (Holm)"))
    several = len(spec.parts) > 1
    for r in records:
        domain = f"{r['part']}: {spec.domains[r['domain']].label}" if several and r["part"] else spec.domains[r["domain"]].label
        p = (probability(r["p"]), probability(r["p_holm"]))
        row = (domain, f"{r['first']} - {r['second']}", str(r["pairs"]), with_error(r["mean"], r["sem"]), interval(r["low"], r["high"]), *p)
        sheet.rows.append(row)
    tested = sum(r["p"] is not None for r in records)
    note = f"Student intervals of paired differences, each on its own; p (Holm) is corrected for all {tested} comparisons of this table."
    sheet.notes.append(note)
    return sheet


def with_error(mean: float | None, sem: float | None) -> str:
    return "" if mean is None else f"{mean:.3f}" if sem is None else f"{mean:.3f} ± {sem:.3f}"


def interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def pair(typical: float | None, most: float | None) -> str:
    return "" if typical is None or most is None else f"{typical:.2f} ({most:.2f})"


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def probability(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value
