"""`airoas pack`: the episodes of a folder as one small file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from airoas.errors import OptionError, suggest


def add(commands: Any) -> None:
    pack = commands.add_parser(
        "pack",
        help="make the results in a folder small",
        description="Put the episodes of a folder into one compressed table of columns, each episode once and without its moves; every "
        "command reads it as before, and `bench` and `run` go on from it.",
    )
    pack.add_argument("folder", metavar="DIR", help="what `bench` or `run` got as --out")
    pack.add_argument("--keep", default="", metavar="LIST", help="what stays of every move where --full kept it, as in trials,plan")
    pack.set_defaults(command=_pack)


def _pack(options: argparse.Namespace) -> int:
    from airoas.experiments.rows.slim import MOVES, TIMED
    from airoas.experiments.rows.store import PACKED, pack_folder

    folder, keep, known = Path(options.folder), [name for name in options.keep.split(",") if name], (*MOVES, *TIMED)
    for name in keep:
        if name not in known:
            raise OptionError(f"--keep {name}", f"{suggest(name, known)}What rows have of every move is {', '.join(known)}.")
    count = pack_folder(folder, keep)
    print(f"{folder / PACKED}: {count} episodes, {(folder / PACKED).stat().st_size} bytes")
    return 0
