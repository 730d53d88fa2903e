"""What the pre-declared run will take, in core seconds by part: `python -m tools.declared_time` writes the table of docs/protocol.md.

An episode takes what such episodes took in earlier runs (`EARLIER`), in proportion to the time for a move. Where there are none, it is
taken to go on to its last step: then the figure is an upper limit, and is marked so. `--pilot` first plays two episodes of every cell on
tuning seeds into `build/declared/NAME/PART`, where it goes on if it was stopped, and takes these; `--only tenth --part 05` are those
to play.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NamedTuple

from airoas.catalog import find_domain
from airoas.experiments.rows.slim import timing
from airoas.experiments.rows.store import latest
from airoas.experiments.rows.types import Row
from airoas.experiments.run.bench import bench
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.cells import Cell, Part, Spec
from airoas.experiments.spec.reading import parse
from tools.marks import ROOT, fill, table

DECLARED = ROOT / "results" / "declared"
PILOT = ROOT / "build" / "declared"
EARLIER = ("literature", "strangers/first", "strangers/fourth")
SEED = 300_000
EPISODES = 2
UNTIMED = 0.01
"""Seconds for a decision that has no deadline, where nothing is known."""
Known = dict[tuple[str, str], list[float]]
"""By domain and planner: core seconds of episodes, for each second of a move's time where it has one."""


class Cost(NamedTuple):
    episodes: int
    seconds: float
    is_limit: bool


def pilot(text: str, part: str = "") -> Spec:
    """The same experiment in few worlds, and others."""
    text = re.sub(r"^seed = .*$", f"seed = {SEED}", text, flags=re.MULTILINE)
    return parse(re.sub(r"^episodes = .*$", f"episodes = {EPISODES}", text, flags=re.MULTILINE), only=part)


def budget(options: dict[str, float]) -> float:
    """Seconds for a move; iterations are taken for a tenth, planners without a budget for one."""
    return float(options.get("seconds", 0.1 if "iterations" in options else 1.0))


def add(known: Known, rows: dict[str, Row]) -> Known:
    """With what these rows say; they count instead of older ones."""
    new: Known = {}
    for row in rows.values():
        if "error" not in row:
            spent = row["steps"] * (timing(row)["plan_mean"] + timing(row)["update_mean"])
            new.setdefault((row["domain"], row["planner"]), []).append(spent / budget(row["options"]))
    return known | new


def cost(part: Part, known: Known) -> Cost:
    seconds, is_limit = 0.0, False
    for cell in part.cells:
        one = known.get((cell.domain, cell.kind))
        is_limit |= one is None
        seconds += len(cell.seeds) * (longest(cell) if one is None else budget(cell.options) * sum(one) / len(one))
    return Cost(sum(len(cell.seeds) for cell in part.cells), seconds, is_limit)


def longest(cell: Cell) -> float:
    """Of an episode that goes on to its last step."""
    steps = cell.max_steps or int(find_domain(cell.domain)(cell.seeds[0]).max_steps)
    return steps * (budget(cell.options) if {"seconds", "iterations"} & cell.options.keys() else UNTIMED)


def play(only: str, part: str) -> None:
    for file in sorted(DECLARED.glob(f"{only or '*'}.toml")):
        text = file.read_text(encoding="utf-8")
        for few in pilot(text, part).parts:
            bench(pilot(text, few.name), PILOT / file.stem / few.name.partition(" ")[0], Inline)


def lines() -> list[list[str]]:
    known: Known = {}
    for folder in (*(ROOT / "results" / name for name in EARLIER), *sorted(path.parent for path in PILOT.glob("*/*/spec.toml"))):
        known = add(known, latest(folder))
    written = []
    for file in sorted(DECLARED.glob("*.toml")):
        parts = [(part.name, cost(part, known)) for part in parse(file.read_text(encoding="utf-8"), check=False).parts]
        whole = Cost(sum(one.episodes for _, one in parts), sum(one.seconds for _, one in parts), any(one.is_limit for _, one in parts))
        for name, one in (*parts, ("**all of it**", whole)):
            rounded = f"{float(f'{one.seconds:.2g}'):,.0f}"
            written.append([file.stem, name, f"{one.episodes:,}", f"at most {rounded}" if one.is_limit else rounded])
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pilot", action="store_true", help="play first")
    parser.add_argument("--only", default="", help="one of the experiments, by its name")
    parser.add_argument("--part", default="", help="parts whose name begins so")
    options = parser.parse_args()
    if options.pilot:
        play(options.only, options.part)
    fill(Path(ROOT / "docs" / "protocol.md"), {"time": table(["run", "part", "episodes", "core seconds"], lines())})


if __name__ == "__main__":
    main()
