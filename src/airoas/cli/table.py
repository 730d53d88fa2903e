"""`airoas table`: what the episodes of a folder say, or of several side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airoas.cli.arguments import add_adjusted

if TYPE_CHECKING:
    from airoas.experiments.rows.types import Row


def add(commands: Any) -> None:
    about = "Means, paired differences and times of a folder, or of several as one."
    table = commands.add_parser("table", help="the results in folders, compared", description=about)
    table.add_argument("folders", metavar="DIR", nargs="+", help="what `bench` or `run` got as --out")
    table.add_argument("--format", choices=("text", "markdown", "latex", "csv"), default="text", help="(default text)")
    table.add_argument("--differences", action="store_true", help="with csv: the paired differences instead of the means")
    table.add_argument("--verdicts", metavar="PLANNER", help="where that planner is best, tied or worse, and which one to take")
    table.add_argument("--undiscounted", action="store_true", help="also the mean of rewards added up without the discount")
    add_adjusted(table)
    table.set_defaults(command=_table)


def _table(options: argparse.Namespace) -> int:
    from airoas.experiments.analysis.control_variate import adjusted_folder, with_adjusted_returns
    from airoas.experiments.analysis.load import join
    from airoas.experiments.analysis.render import as_csv, render
    from airoas.experiments.analysis.table import cell_summaries, differences, tables
    from airoas.experiments.analysis.verdicts import verdict_table, verdicts
    from airoas.experiments.rows.store import latest

    remarks: list[str] = []

    def adjusted(folder: Path) -> dict[str, Row]:
        rows, problems = adjusted_folder(folder)
        remarks.extend(problems)
        return rows

    spec, rows = join([Path(folder) for folder in options.folders], adjusted if options.adjusted else latest)
    if options.verdicts:
        judged = spec, rows, options.verdicts, options.adjusted
        print(as_csv(verdicts(*judged)) if options.format == "csv" else render([verdict_table(*judged, remarks)], options.format))
    elif options.format != "csv":
        print(render(tables(spec, rows, options.adjusted, remarks, options.undiscounted), options.format))
    elif options.differences:
        print(as_csv(differences(spec, with_adjusted_returns(rows) if options.adjusted else rows)))
    else:
        print(as_csv(cell_summaries(spec, rows)))
    return 0
