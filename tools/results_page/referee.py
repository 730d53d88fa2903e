"""What a referee measured without keeping rows, beside ours."""

from __future__ import annotations

from collections.abc import Callable

from airoas.experiments.analysis.summary import returns
from airoas.experiments.spec.cells import Cell
from tools.results_page.run import Run
from tools.results_page.text import after, hindrances, published_with_error, table, with_search

BARE = ("light-dark-1.0", "light-dark-0.5", "laser-tag", "rock-sample-11-11", "light-dark-2d")
"""Domains that there are without their hints, too, as `bare-...`."""


def hints(run: Run, factorial: Run, referee: Run, *strangers: Run) -> str:
    """AIROAS with and without what the domains hand it. Of a domain in several runs without hints the last one counts."""
    adjusted, rows = run.adjusted(), []
    for hinted in BARE:
        domain = f"bare-{hinted}"
        if hinted in run.spec.domains:
            shown = with_search(run, run.cell(hinted, "airoas"), adjusted.earned(hinted, "airoas"))
        else:
            chosen = {"anneal": "corrected", "filter": "annealed", "filter_particles": 1000}
            cell = next(cell for cell in factorial.spec.cells if cell.domain == hinted and cell.axes == chosen)
            shown = f"{with_search(factorial, cell, returns(factorial.done(cell)))}; 0.05 s, not adjusted, with plans removed since"
        before, _ = _measured(referee, referee.cell(domain, "airoas"))
        now = [again for again in strangers if domain in again.spec.domains and again.earned(domain, "airoas").n]
        after = with_search(now[-1], now[-1].cell(domain, "airoas"), now[-1].earned(domain, "airoas")) if now else "not run yet"
        rows.append([referee.label(domain), shown, before, after])
    return table("domain | with its hints, 0.1, adjusted | without, 0.1, a referee's measurement | without, 0.2", rows)


def measured(part: str) -> Callable[[Run], str]:
    """The table of what a referee measured, and of our rows on the same question once they are there."""

    def section(run: Run) -> str:
        cells = [cell for each in run.spec.parts if each.name.startswith(part) for cell in each.cells]
        rows = ([run.label(cell.domain), cell.label, *_measured(run, cell)] for cell in cells)
        return after(table("domain | planner | a referee's measurement | rows kept", rows), hindrances(run, cells))

    return section


def _measured(run: Run, cell: Cell) -> tuple[str, str]:
    """What a referee found, with what is known of how; and what our rows say."""
    ours = with_search(run, cell, returns(run.done(cell)))
    for name, published in run.spec.reference.get(cell.domain, {}).items():
        if name.partition(",")[0] == cell.label:
            return f"{published_with_error(published)}{name.removeprefix(cell.label)}", ours
    return "-", ours
