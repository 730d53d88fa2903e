"""What a referee measured without keeping rows, beside ours."""

from __future__ import annotations

from collections.abc import Callable

from airoas.experiments.analysis.summary import returns
from airoas.experiments.spec.cells import Cell
from tools.results_page.run import Run
from tools.results_page.text import after, hindrances, published_with_error, table, with_search

HINTED = {
    "hint_free.py:light_dark_1": "light-dark-1.0",
    "hint_free.py:light_dark_05": "light-dark-0.5",
    "hint_free.py:laser_tag_1": "laser-tag",
    "hint_free.py:rock_sample_11_11": "rock-sample-11-11",
    "hint_free.py:light_dark_2d": "light-dark-2d",
}
"""The domains of results/hint_free.py, and the same with their hints."""


def hints(run: Run, factorial: Run, referee: Run) -> str:
    """AIROAS with and without what the domains hand it."""
    adjusted, rows = run.adjusted(), []
    for domain, hinted in HINTED.items():
        if hinted in run.spec.domains:
            shown = with_search(run, run.cell(hinted, "airoas"), adjusted.earned(hinted, "airoas"))
        else:
            chosen = {"anneal": "corrected", "filter": "annealed", "filter_particles": 1000}
            cell = next(cell for cell in factorial.spec.cells if cell.domain == hinted and cell.axes == chosen)
            shown = f"{with_search(factorial, cell, returns(factorial.done(cell)))}; 0.05 s, not adjusted"
        rows.append([referee.label(domain), shown, *_measured(referee, referee.cell(domain, "airoas"))])
    return table("domain | with its hints, adjusted | hint-free, a referee's measurement | hint-free, rows kept", rows)


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
