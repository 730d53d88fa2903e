"""Returns of the references, and of random actions in the same worlds, on the models without hints.

`python -m benchmarks.strangers` plays every model and writes results/strangers/references.json, model by model; `--models` plays a few
and leaves the others' entries as they are. Nothing has a deadline: the same seeds give the same returns on any machine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from airoas.catalog import find_domain
from airoas.experiments.analysis.statistics import estimate
from benchmarks.strangers.entries import ENTRIES, play

OUT = Path(__file__).parents[2] / "results" / "strangers" / "references.json"
SEEDS = range(400_000, 500_000)
"""Worlds for tuning: nothing is judged in them."""


def measure(name: str, episodes: int, pool: ProcessPoolExecutor, tick: Callable[[], None]) -> dict[str, Any]:
    """What the file says of a model."""
    model, seeds = find_domain(name)(SEEDS[0]), SEEDS[:episodes]
    record = {"what": ENTRIES[name].what, "discount": model.discount, "max_steps": model.max_steps, "first_seed": seeds[0]}
    for who in ("reference", "random"):
        returns = []
        for value in pool.map(play, repeat(name), repeat(who), seeds):
            returns.append(value)
            tick()
        known = estimate(returns)
        record[who] = {"mean": known.mean, "sem": known.sem, "n": known.n}
    return record


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200, help="of each, the reference and random (200)")
    parser.add_argument("--models", nargs="+", choices=ENTRIES, default=list(ENTRIES), metavar="MODEL", help=", ".join(ENTRIES))
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE")
    options = parser.parse_args()
    if not 2 <= options.episodes <= len(SEEDS):
        parser.error(f"--episodes is {options.episodes}: an error of the mean needs 2, and there are seeds for {len(SEEDS)}")
    console, count = Console(stderr=True), TextColumn("{task.description} {task.completed}/{task.total}")
    pools = ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn"))
    with pools as pool, Progress(count, BarColumn(), TimeElapsedColumn(), console=console) as progress:
        for name in options.models:
            task = progress.add_task(name, total=2 * options.episodes)
            record = measure(name, options.episodes, pool, lambda task=task: progress.advance(task))
            options.out.parent.mkdir(parents=True, exist_ok=True)
            records = {**(json.loads(options.out.read_text()) if options.out.exists() else {}), name: record}
            options.out.write_text(json.dumps({known: records[known] for known in ENTRIES if known in records}, indent=1) + "\n")
            means = (f"{who} {record[who]['mean']:.2f} ± {record[who]['sem']:.2f}" for who in ("reference", "random"))
            console.print(f"{name}: {', '.join(means)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
