"""Figures, cells and sentences of the page of results."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from airoas.experiments.analysis.statistics import Estimate
from airoas.experiments.analysis.summary import WORTH_A_WORD, search_share
from airoas.experiments.run.play import Row
from airoas.experiments.spec.cells import Cell

if TYPE_CHECKING:
    from results import Run

SURE = "told apart (p below 0.05 after Holm)"
UNSCRIPTED = {"light-dark-1.0", "light-dark-0.5", "fitted value iteration", "two-constant rule"}
"""Domains whose bound, and references whose figure, nothing in the repository can make again."""


def table(header: str, rows: Iterable[Iterable[str]]) -> str:
    rules = " | ".join(["---"] + ["---:"] * header.count("|"))
    return "\n".join(f"| {line} |" for line in (header, rules, *map(" | ".join, rows)))


def figure(known: Estimate, count: bool = False) -> str:
    """Mean and standard error, and where `count` says so the number of episodes."""
    error = "" if math.isnan(known.sem) else f" ± {known.sem:.2f}"
    return "not run yet" if known.n == 0 else f"{known.mean:.2f}{error}{f' ({known.n})' if count else ''}"


def span(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"[{low:.2f}, {high:.2f}]"


def marked(text: str, name: str) -> str:
    return f"{text} (no script yet)" if name in UNSCRIPTED else text


def bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def searched(rows: Iterable[Row]) -> str:
    """Trials a decision, and the share of decisions whose time was up before the first."""
    trials, none = search_share(list(rows))
    if math.isnan(trials):
        return "no search"
    return f"{trials:,.{0 if trials >= 10.0 else 1}f}, {'0' if none == 0.0 else '< 1' if none < 0.01 else f'{100 * none:.0f}'} %"


def beside(run: Run, cell: Cell, known: Estimate) -> str:
    """A figure of a cell with what its search did."""
    return figure(known, count=True) + (f"; {searched(run.done(cell).values())}" if known.n else "")


def hindered(run: Run, cell: Cell) -> str:
    """In words: a planner that had no time to search, or did not; nothing where it searched."""
    trials, none = search_share(list(run.done(cell).values()))
    if none > WORTH_A_WORD:
        return f"no trial in {100 * none:.0f} % of its decisions"
    return "no search, its bounds meet at the root" if trials < 0.05 else ""


def in_words(run: Run, cells: Iterable[Cell]) -> list[str]:
    """A sentence for each of these cells that hardly searched."""
    found = {(run.label(cell.domain), cell.label): hindered(run, cell) for cell in cells}
    return [f"**{label} on {domain}: {said}.** Its figure is no measure of the planner." for (domain, label), said in found.items() if said]


def after(shown: str, sentences: list[str]) -> str:
    return f"{shown}\n\n{bullets(sentences)}" if sentences else shown


def less(known: Estimate, reference: tuple[float, float | None]) -> str:
    """A figure less one from elsewhere, with both errors."""
    return f"{known.mean - reference[0]:+.2f} ± {math.hypot(known.sem, reference[1] or 0.0):.2f}"
