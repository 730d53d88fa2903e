"""`airoas table`: what the episodes of a folder say."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    table = commands.add_parser("table", help="the results in a folder", description="Means, paired differences and times of a folder.")
    table.add_argument("folder", metavar="DIR", help="what `bench` or `run` got as --out")
    table.add_argument("--format", choices=("text", "markdown", "latex", "csv"), default="text", help="(default text)")
    table.add_argument("--differences", action="store_true", help="with csv: the paired differences instead of the means")
    table.set_defaults(command=_table)


def _table(options: argparse.Namespace) -> int:
    from airoas.experiments.reading import of_folder
    from airoas.experiments.render import as_csv, render
    from airoas.experiments.store import latest
    from airoas.experiments.table import differences, figures, sheets

    folder = Path(options.folder)
    spec, rows = of_folder(folder), latest(folder)
    if options.format == "csv":
        print(as_csv((differences if options.differences else figures)(spec, rows)))
    else:
        print(render(sheets(spec, rows), options.format))
    return 0
