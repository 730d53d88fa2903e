"""What AIROAS, its policy alone and policies by hand earn on the models of newcomers: the returns of a run into results/newcomers.csv, and
a table of them.

    airoas bench benchmarks/newcomers/spec.toml --out runs/newcomers --jobs 2
    python -m tools.newcomers_table runs/newcomers

Without a folder the table alone, of the file as it is.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import airoas
from airoas.experiments.analysis.statistics import estimate
from tools.marks import ROOT
from tools.results_page.text import table, with_error

RETURNS = ROOT / "results" / "newcomers.csv"
WHO = ("airoas", "fitted-q", "by-hand")


def take(folder: Path) -> None:
    """Write the returns of a run to the file."""
    rows = [row for row in airoas.load(folder) if row.get("discounted_return") is not None]
    returns = sorted((Path(row["domain"]).stem, row["label"], row["seed"], repr(row["discounted_return"])) for row in rows)
    with open(RETURNS, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("model", "planner", "seed", "return"), *returns])


def newcomers() -> str:
    """The table of the file."""
    earned: dict[tuple[str, str], list[float]] = {}
    with open(RETURNS, newline="") as file:
        for row in csv.DictReader(file):
            earned.setdefault((row["model"], row["planner"]), []).append(float(row["return"]))
    models = sorted({model for model, _ in earned})
    rows = [[model, *(with_error(estimate(earned[model, who]), count=True) for who in WHO)] for model in models]
    return table("model | AIROAS | its policy alone | by hand", rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    options = parser.parse_args()
    if options.folder:
        take(options.folder)
    print(newcomers())
