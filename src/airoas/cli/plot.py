"""`airoas plot`: pictures of what the episodes of a folder say."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    plot = commands.add_parser("plot", help="pictures of the results in a folder", description="Draw returns with their intervals.")
    plot.add_argument("folder", metavar="DIR", help="what `bench` or `run` got as --out")
    plot.add_argument("--to", metavar="DIR", help="where to put the pictures (default: `plots` in the folder)")
    plot.set_defaults(command=_plot)


def _plot(options: argparse.Namespace) -> int:
    from airoas.experiments.analysis.plot import draw
    from airoas.experiments.rows.store import latest
    from airoas.experiments.spec.reading import of_folder

    folder = Path(options.folder)
    for file in draw(of_folder(folder), latest(folder), Path(options.to) if options.to else folder / "plots"):
        print(file)
    return 0
