"""Puts the tables and sentences between their marks in the pages, and the pictures into docs/results/. What has not been run is said
to be so, with the command that runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from airoas.experiments.analysis.plot import plots
from tools.marks import fill
from tools.results_page.literature import adjusted, against, few, planners, targets, yardstick
from tools.results_page.paper import hundredth, paper, rocks, untuned
from tools.results_page.referee import hints, measured
from tools.results_page.run import COMMANDS, Run, runs_in
from tools.results_page.strangers import ablation, again, policy, way
from tools.results_page.variations import budgets, factorial

Sections = dict[str, tuple[tuple[str, ...], Callable[..., str]]]
"""Marks of a page, with the experiments that a section is made of."""
IN_PAGE: Sections = {
    "targets": (("literature",), targets),
    "yardstick": (("literature",), yardstick),
    "planners": (("literature",), planners),
    "untuned": (("literature", "paper"), untuned),
    "adjusted": (("literature",), adjusted),
    "against": (("literature",), against),
    "fewer-particles": (("referee",), measured("fewer particles")),
    "hints": (("literature", "factorial", "referee", "strangers/thirteenth"), hints),
    "policy": (("strangers/thirteenth",), policy),
    "way": (("strangers/thirteenth",), way),
    "ablation": (("strangers/ablation",), ablation),
    "again": (("hinted", "literature"), again),
    "paper": (("paper", "literature"), paper),
    "printed": (("referee",), measured("as printed")),
    "hundredth": (("budgets",), hundredth),
    "budgets": (("budgets",), budgets),
    "factorial": (("factorial",), factorial),
    "equal-time": (("referee",), measured("equal time")),
    "rocks": (("paper",), rocks),
}
IN_README: Sections = {"returns": (("literature",), few)}
PICTURES = {
    "budgets": {"budgets-against-seconds": "budgets"},
    "factorial": {"factorial-returns": "factorial", "factorial-2d-returns": "factorial-2d"},
}


def fill_page(results: Path, page: Path) -> None:
    """Fill the page of results, and draw its pictures beside it."""
    runs = runs_in(results)
    fill(page, _written(runs, IN_PAGE, with_source=True))
    for name, wanted in PICTURES.items():
        if name in runs:
            drawn = plots(runs[name].spec, runs[name].adjusted().rows)
            (page.parent / "results").mkdir(exist_ok=True)
            for plot, file in wanted.items():
                drawn[plot].savefig(page.parent / "results" / f"{file}.png", dpi=110)


def fill_readme(results: Path, readme: Path) -> None:
    """Fill README's table."""
    fill(readme, _written(runs_in(results), IN_README, with_source=False))


def _written(runs: dict[str, Run], sections: Sections, with_source: bool) -> dict[str, str]:
    """The text of each section."""
    texts = {}
    for mark, (names, section) in sections.items():
        missing = [f"Not run yet. `{COMMANDS[name]}` makes this part." for name in names if name not in runs]
        needed = [runs[name] for name in names if name in runs]
        texts[mark] = missing[0] if missing else "\n\n".join((section(*needed), *(run.source() for run in needed if with_source)))
    return texts
