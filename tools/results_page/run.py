"""The folder of an experiment, as sections of the page ask for it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from airoas.experiments.analysis.control_variate import with_adjusted_returns
from airoas.experiments.analysis.statistics import Estimate
from airoas.experiments.analysis.summary import finished, paired_difference, returns
from airoas.experiments.rows.store import SPEC, latest
from airoas.experiments.rows.types import Row
from airoas.experiments.spec.cells import Cell, Spec
from airoas.experiments.spec.reading import of_folder, parse
from tools.marks import ROOT

COMMANDS = {
    "literature": "airoas bench literature --out results/literature --jobs 2",
    "paper": "airoas bench paper --scale episodes=0.1,seconds=0.02,iterations=0.1 --out results/paper --jobs 2",
    "budgets": "airoas bench results/budgets.toml --out results/budgets --jobs 2",
    "factorial": "airoas bench ablation --only factorial --out results/factorial --jobs 2",
    "referee": "airoas bench results/referee.toml --out results/referee --jobs 2",
    "strangers/thirteenth": "airoas bench results/strangers/thirteenth/spec.toml --out results/strangers/thirteenth --jobs 16",
    "strangers/ablation": "airoas bench strangers --only ablation --out results/strangers/ablation --jobs 16",
    "hinted": "airoas bench results/hinted.toml --out results/hinted --jobs 16",
}


class Run(NamedTuple):
    """An experiment with its rows."""

    command: str
    spec: Spec
    rows: dict[str, Row]

    def adjusted(self) -> Run:
        """The run with adjusted returns in place of returns."""
        return self._replace(rows=with_adjusted_returns(self.rows))

    @property
    def has_adjusted(self) -> bool:
        return any("adjusted" in row for row in self.rows.values())

    def cell(self, domain: str, label: str) -> Cell:
        return next(cell for cell in self.spec.cells if (cell.domain, cell.label) == (domain, label))

    def done(self, cell: Cell) -> list[Row]:
        """The finished episodes of a cell."""
        return list(finished(cell, self.rows).values())

    def earned(self, domain: str, label: str) -> Estimate:
        return returns(self.done(self.cell(domain, label)))

    def gain(self, domain: str, first: str, second: str) -> Estimate:
        """first - second, seed by seed."""
        return paired_difference(self.cell(domain, first), self.cell(domain, second), self.rows)

    def label(self, domain: str) -> str:
        return self.spec.domains[domain].label

    def source(self) -> str:
        """Where the numbers come from."""
        wanted = {key for cell in self.spec.cells for key in cell.ids}
        rows = [row for key, row in self.rows.items() if key in wanted]
        if not rows:
            return f"`{self.command}`: not run yet."
        failed = sum("error" in row for row in rows)
        days = sorted(row["times"]["started"][:10] for row in rows if "started" in row["times"]) or ["unknown"]
        machines = sorted({f"airoas {row['version']} on {row['machine']['cpu']}" for row in rows})
        count = f"{len(rows)} episodes" if len(rows) == len(wanted) else f"not finished, {len(rows)} of {len(wanted)} episodes"
        failures = f", {failed} of them failed and are in no mean" if failed else ""
        return f"`{self.command}`: {count}{failures}; {days[0]} to {days[-1]}, {', '.join(machines)}."


def runs_in(results: Path) -> dict[str, Run]:
    """What a folder of results holds, and what a referee measured, of which there need be no rows."""
    spec = parse((ROOT / "results" / "referee.toml").read_text(encoding="utf-8"), check=False)
    runs = {"referee": Run(COMMANDS["referee"], spec, {})}
    for name, command in COMMANDS.items():
        if (results / name / SPEC).exists() and (rows := latest(results / name)):
            runs[name] = Run(command, of_folder(results / name), rows)
    return runs
