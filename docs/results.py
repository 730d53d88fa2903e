"""Make docs/results.md and README's table from the rows under results/: `python docs/results.py`.

Puts the tables and sentences (`results_page/`) between their marks in the page, and the pictures into docs/results/. What has not
been run is said to be so, with the command that runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from results_page.literature import against, few, luck, planners, targets, yardstick
from results_page.paper import hundredth, paper, rocks, untuned
from results_page.referee import hints, measured
from results_page.variations import budgets, factorial

from airoas.experiments.analysis import plot
from airoas.experiments.analysis.statistics import Estimate, estimate
from airoas.experiments.analysis.summary import groups, returns
from airoas.experiments.rows.store import SPEC, latest
from airoas.experiments.run.play import Row
from airoas.experiments.spec.cells import Cell, Spec
from airoas.experiments.spec.reading import of_folder, parse

ROOT = Path(__file__).parents[1]
PAGE, README = Path(__file__).parent / "results.md", ROOT / "README.md"
COMMANDS = {
    "literature": "airoas bench literature --out results/literature --jobs 2",
    "paper": "airoas bench paper --scale episodes=0.1,seconds=0.02,iterations=0.1 --out results/paper --jobs 2",
    "budgets": "airoas bench results/budgets.toml --out results/budgets --jobs 2",
    "factorial": "airoas bench ablation --only factorial --out results/factorial --jobs 2",
    "referee": "airoas bench results/referee.toml --out results/referee --jobs 2",
}


class Run(NamedTuple):
    """The folder of an experiment."""

    command: str
    spec: Spec
    rows: dict[str, Row]
    luck: dict[str, float]
    """What episodes earned less their luck (`docs/luck.py`), by id."""

    def less_luck(self) -> Run:
        """The run with these in place of returns; without the episodes that have none. Where no episode of a domain has one, they stay."""
        domains = {row["domain"] for key, row in self.rows.items() if key in self.luck}
        kept = {key: row for key, row in self.rows.items() if row["domain"] not in domains}
        return self._replace(rows=kept | {key: self.rows[key] | {"discounted_return": value} for key, value in self.luck.items()})

    def cell(self, domain: str, label: str) -> Cell:
        return next(cell for cell in self.spec.cells if (cell.domain, cell.label) == (domain, label))

    def done(self, cell: Cell) -> dict[int, Row]:
        """The finished episodes of a cell by seed."""
        return {seed: self.rows[key] for key, seed in cell.ids.items() if key in self.rows and "error" not in self.rows[key]}

    def earned(self, domain: str, label: str) -> Estimate:
        return returns(list(self.done(self.cell(domain, label)).values()))

    def gain(self, domain: str, first: str, second: str) -> Estimate:
        """first - second, seed by seed."""
        ours, theirs = (self.done(self.cell(domain, label)) for label in (first, second))
        seeds = sorted(ours.keys() & theirs.keys())
        gains = [ours[seed]["discounted_return"] - theirs[seed]["discounted_return"] for seed in seeds]
        return estimate(gains, groups([ours[seed] for seed in seeds]))

    def label(self, domain: str) -> str:
        return self.spec.domains[domain].label

    def told(self) -> str:
        """Where the figures come from."""
        wanted = {key for cell in self.spec.cells for key in cell.ids}
        there = [row for key, row in self.rows.items() if key in wanted]
        if not there:
            return f"`{self.command}`: not run yet."
        failed = sum("error" in row for row in there)
        days = sorted(row["times"]["started"][:10] for row in there if "started" in row["times"]) or ["unknown"]
        made = sorted({f"airoas {row['version']} on {row['machine']['cpu']}" for row in there})
        much = f"{len(there)} episodes" if len(there) == len(wanted) else f"not finished, {len(there)} of {len(wanted)} episodes"
        failures = f", {failed} of them failed and are in no mean" if failed else ""
        return f"`{self.command}`: {much}{failures}; {days[0]} to {days[-1]}, {', '.join(made)}."


Section = Callable[..., str]
SECTIONS: dict[str, tuple[tuple[str, ...], Section]] = {
    "targets": (("literature",), targets),
    "yardstick": (("literature",), yardstick),
    "planners": (("literature",), planners),
    "untuned": (("literature", "paper"), untuned),
    "luck": (("literature",), luck),
    "against": (("literature",), against),
    "fewer-particles": (("referee",), measured("fewer particles")),
    "hints": (("literature", "factorial", "referee"), hints),
    "paper": (("paper", "literature"), paper),
    "printed": (("referee",), measured("as printed")),
    "hundredth": (("budgets",), hundredth),
    "budgets": (("budgets",), budgets),
    "factorial": (("factorial",), factorial),
    "equal-time": (("referee",), measured("equal time")),
    "rocks": (("paper",), rocks),
}
"""Marks of the page, with the experiments that a section is made of."""
IN_README: dict[str, tuple[tuple[str, ...], Section]] = {"returns": (("literature",), few)}
PICTURES = {
    "budgets": {"budgets-against-seconds": "budgets"},
    "factorial": {"factorial-returns": "factorial", "factorial-2d-returns": "factorial-2d"},
}


def runs_in(results: Path) -> dict[str, Run]:
    """What a folder of results holds."""
    found = {}
    for name, command in COMMANDS.items():
        if (results / name / SPEC).exists() and (rows := latest(results / name)):
            without = {key: row["return_without_luck"] for key, row in rows.items() if "return_without_luck" in row}
            found[name] = Run(command, of_folder(results / name), rows, without)
    return found


def gathered(results: Path) -> dict[str, Run]:
    """What a folder of results holds, and what a referee measured, of which there need be no rows."""
    spec = parse((ROOT / "results" / "referee.toml").read_text(encoding="utf-8"), check=False)
    return {"referee": Run(COMMANDS["referee"], spec, {}, {})} | runs_in(results)


def with_source(section: Section) -> Section:
    return lambda *runs: "\n\n".join((section(*runs), *(run.told() for run in runs)))


def fill(runs: dict[str, Run], page: Path, sections: dict[str, tuple[tuple[str, ...], Section]]) -> None:
    """Put what was run between the marks of a page."""
    text = page.read_text(encoding="utf-8")
    for mark, (names, section) in sections.items():
        missing = [f"Not run yet. `{COMMANDS[name]}` makes this part." for name in names if name not in runs]
        made = missing[0] if missing else section(*(runs[name] for name in names))
        begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{made}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


def make(results: Path, page: Path) -> None:
    """Fill the page of results, and draw its pictures beside it."""
    runs = gathered(results)
    fill(runs, page, {mark: (names, with_source(section)) for mark, (names, section) in SECTIONS.items()})
    for name, wanted in PICTURES.items():
        if name in runs:
            drawn = plot.figures(runs[name].spec, runs[name].less_luck().rows)
            (page.parent / "results").mkdir(exist_ok=True)
            for found, file in wanted.items():
                drawn[found].savefig(page.parent / "results" / f"{file}.png", dpi=110)


if __name__ == "__main__":
    make(ROOT / "results", PAGE)
    fill(gathered(ROOT / "results"), README, IN_README)
