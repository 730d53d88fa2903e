"""CPU seconds from the start of a process to its first decision: `python benchmarks/startup.py --out results/startup.csv`.

For README's model, Light Dark, Laser Tag and a robot that casts rays, in four states of the cache of compiled kernels: `empty`, as on a new
machine; `new`, which holds what other models left there; `edited`, after a constant in a method has changed; `warm`, once more. And
`airoas check` in the last three. What is learned from simulation is not counted: bounds are given as numbers, and no policy is learned.
Nor is the compiling of the library's own Python, whatever the environment says of bytecode: an installed package has it.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
DOMAINS = ROOT / "src" / "airoas" / "domains"
PLANNERS = ("airoas", "adaops", "pomcp", "pomcpow")
STATES = ("empty", "new", "edited", "warm")
LIMITS = {"airoas": 4.0, "adaops": 4.0, "pomcp": 3.0, "pomcpow": 3.0, "check": 2.5}
"""Of a new or edited model; a warm one has 0.8."""
WARM = 0.8


class Subject(NamedTuple):
    """A model in a file, and a constant in one of its methods."""

    file: Path
    model: str
    constant: str
    edit: str
    rest: str = ""
    """What is added to the file."""


SUBJECTS = {
    "README's model": Subject(ROOT / "examples" / "my_model.py", "MyModel", "abs(beacon - drone) < 0.5", "abs(beacon - drone) < {}"),
    "Light Dark": Subject(DOMAINS / "light_dark.py", "LightDark", "(a - STOP) * self.step_size", "(a - STOP) * self.step_size + {} - 0.5"),
    "Laser Tag": Subject(
        DOMAINS / "laser_tag.py", "subject", "return Readings(-1,", "return Readings(-1 + int({}),", "subject = standard(1)"
    ),
    "rays": Subject(DOMAINS / "strangers" / "building.py", "Building", "return s, -6.0", "return s, -6.0 + {} - 0.5"),
}
OTHER = """
import math
from typing import NamedTuple

import airoas


@airoas.model
class Other(NamedTuple):
    discount: float = 0.95

    def actions(self):
        return ("left", "stay", "right")

    def initial(self, rng):
        return (rng.normal(), 0)

    def step(self, s, a, rng):
        return (s[0] + a - 1.0 + 0.1 * rng.normal(), 0), -abs(s[0])

    def observe(self, s, a, rng):
        return (s[0] + rng.normal(),)

    def obs_logpdf(self, o, s, a):
        return -0.5 * (o[0] - s[0]) * (o[0] - s[0]) - 0.5 * math.log(2.0 * math.pi)
"""
"""A model that has all shared kernels compiled before another one is new."""
DECIDE = """
import sys
import airoas
from airoas.catalog import find_domain
from airoas.planners import AIROAS, AdaOPS, POMCP, POMCPOW

reference, planner = sys.argv[1:]
bounded = {"iterations": 10, "bounds": (-1000.0, 1000.0)}
planners = {
    "airoas": lambda: AIROAS(policy="none", **bounded),
    "adaops": lambda: AdaOPS(**bounded),
    "pomcp": lambda: POMCP(iterations=10),
    "pomcpow": lambda: POMCPOW(iterations=10),
}
model = find_domain(reference)(0)
belief = airoas.Particles.sample(model, 10_000, airoas.stream(0, "filter"))
planners[planner]().plan(model, belief, airoas.stream(0, "planner"))
"""


def spent(arguments: list[str], cache: Path) -> float:
    """CPU seconds of a process, from its start to its end."""
    environment = {**os.environ, "AIROAS_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": ""}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode:
        told = f"{ran.stdout}\n{ran.stderr}".strip().splitlines() or ["it said nothing"]
        sys.exit(f"{' '.join(arguments[:2])} failed: {told[-1]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(what: str, file: Path, model: str, cache: Path) -> float:
    """Seconds of a first decision, or of a check, of the model in a file. what: a planner, or check."""
    cache.mkdir(mode=0o700, exist_ok=True)
    return spent(["-m", "airoas.cli", "check", f"{file}:{model}"] if what == "check" else ["-c", DECIDE, f"{file}:{model}", what], cache)


def fill(what: str, cache: Path) -> None:
    """Have another model leave in a cache what it does."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "other.py"
        file.write_text(OTHER)
        run(what, file, "Other", cache)


def measured(subject: Subject, what: str, filled: Path, folder: Path) -> dict[str, float]:
    """The seconds in each state."""
    cache, file = folder / "cache", folder / subject.file.name
    source = f"{subject.file.read_text()}\n{subject.rest}\n"
    if source.count(subject.constant) < 1:
        sys.exit(f"{subject.file.name} has no {subject.constant!r} to edit")
    file.write_text(source)
    shutil.copytree(filled, cache)
    seconds = {"empty": run(what, file, subject.model, folder / "empty")} if what != "check" else {}
    seconds["new"] = run(what, file, subject.model, cache)
    file.write_text(source.replace(subject.constant, subject.edit.format(0.5 + time.time_ns() % 10**6 * 1e-12)))
    seconds["edited"] = run(what, file, subject.model, cache)
    seconds["warm"] = run(what, file, subject.model, cache)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the table to this file, as CSV")
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts (default 3)")
    parser.add_argument("--models", nargs="*", default=list(SUBJECTS), choices=list(SUBJECTS))
    parser.add_argument("--what", nargs="*", default=[*PLANNERS, "check"], choices=[*PLANNERS, "check"])
    options = parser.parse_args()
    table = Table(title="CPU seconds from the start of a process to its first decision")
    for heading in ("model", "what", *STATES):
        table.add_column(heading, justify="left" if heading in ("model", "what") else "right")
    rows = []
    for what in options.what:
        with tempfile.TemporaryDirectory() as filled:
            fill(what, Path(filled))
            for name in options.models:
                runs = []
                for _ in range(options.runs):
                    with tempfile.TemporaryDirectory() as folder:
                        runs.append(measured(SUBJECTS[name], what, Path(filled), Path(folder)))
                row = {state: statistics.median(one[state] for one in runs) for state in runs[0]}
                rows.append({"model": name, "what": what, **{state: f"{seconds:.2f}" for state, seconds in row.items()}})
                late = {state for state in ("new", "edited") if row[state] > LIMITS[what]} | ({"warm"} if row["warm"] > WARM else set())
                cells = [f"[red]{row[state]:.2f}[/]" if state in late else f"{row[state]:.2f}" if state in row else "" for state in STATES]
                table.add_row(name, what, *cells)
    Console().print(table)
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["model", "what", *STATES])
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
