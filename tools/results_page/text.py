"""Numbers, cells and sentences of the page of results."""

from __future__ import annotations

import math
from collections.abc import Iterable

from airoas.experiments.analysis.statistics import Estimate, less_published
from airoas.experiments.analysis.summary import search_rates
from airoas.experiments.analysis.weakness import NOTEWORTHY
from airoas.experiments.rows.types import Row
from airoas.experiments.spec.cells import Cell, Published
from tools.results_page.run import Run

SURE = "told apart (p below 0.05 after Holm)"
UNSCRIPTED = {"light-dark-1.0", "light-dark-0.5", "fitted value iteration", "two-constant rule"}
"""Domains whose bound, and references whose return, nothing in the repository can make again."""


def table(header: str, rows: Iterable[Iterable[str]]) -> str:
    rules = " | ".join(["---"] + ["---:"] * header.count("|"))
    return "\n".join(f"| {line} |" for line in (header, rules, *map(" | ".join, rows)))


def with_error(known: Estimate, count: bool = False) -> str:
    """Mean and standard error, and where `count` says so the number of episodes."""
    error = "" if math.isnan(known.sem) else f" ± {known.sem:.2f}"
    return "not run yet" if known.n == 0 else f"{known.mean:.2f}{error}{f' ({known.n})' if count else ''}"


def published_with_error(published: Published) -> str:
    mean, sem = published
    return f"{mean:.2f}" if sem is None else f"{mean:.2f} ± {sem:.2f}"


def span(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"[{low:.2f}, {high:.2f}]"


def marked(text: str, name: str) -> str:
    return f"{text} (no script yet)" if name in UNSCRIPTED else text


def bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def searched(rows: Iterable[Row]) -> str:
    """Trials a decision, and the share of decisions whose time was up before the first."""
    trials, unsearched = search_rates(rows)
    if math.isnan(trials):
        return "no search"
    percent = "0" if unsearched == 0.0 else "< 1" if unsearched < 0.01 else f"{100 * unsearched:.0f}"
    return f"{trials:,.{0 if trials >= 10.0 else 1}f}, {percent} %"


def with_search(run: Run, cell: Cell, known: Estimate) -> str:
    """A mean of a cell with what its search did."""
    return with_error(known, count=True) + (f"; {searched(run.done(cell))}" if known.n else "")


def hindrance(run: Run, cell: Cell) -> str:
    """In words: a planner that had no time to search, or did not; nothing where it searched."""
    trials, unsearched = search_rates(run.done(cell))
    if unsearched > NOTEWORTHY:
        return f"no trial in {100 * unsearched:.0f} % of its decisions"
    return "no search, its bounds meet at the root" if trials < 0.05 else ""


def hindrances(run: Run, cells: Iterable[Cell]) -> list[str]:
    """A sentence for each of these cells that hardly searched."""
    words = {(run.label(cell.domain), cell.label): hindrance(run, cell) for cell in cells}
    return [f"**{label} on {domain}: {word}.** Its figure is no measure of the planner." for (domain, label), word in words.items() if word]


def after(shown: str, sentences: list[str]) -> str:
    return f"{shown}\n\n{bullets(sentences)}" if sentences else shown


def less(known: Estimate, published: Published) -> str:
    """A mean less one from elsewhere, with both errors."""
    gap, error, _ = less_published(known, published)
    return f"{gap:+.2f} ± {error:.2f}"
