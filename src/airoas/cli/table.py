"""`airoas table`: what the episodes of a folder say, or of several side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    about = "Means, paired differences and times of a folder, or of several as one."
    table = commands.add_parser("table", help="the results in folders, compared", description=about)
    table.add_argument("folders", metavar="DIR", nargs="+", help="what `bench` or `run` got as --out")
    table.add_argument("--format", choices=("text", "markdown", "latex", "csv"), default="text", help="(default text)")
    table.add_argument("--differences", action="store_true", help="with csv: the paired differences instead of the means")
    table.set_defaults(command=_table)


def _table(options: argparse.Namespace) -> int:
    from airoas.experiments.analysis.load import join
    from airoas.experiments.analysis.render import as_csv, render
    from airoas.experiments.analysis.table import differences, figures, sheets

    spec, rows = join([Path(folder) for folder in options.folders])
    if options.format == "csv":
        print(as_csv((differences if options.differences else figures)(spec, rows)))
    else:
        print(render(sheets(spec, rows), options.format))
    return 0
