"""Speed of the compiled kernels against straightforward C++ on the same random numbers, and of start-up.

`python benchmarks/run.py` builds `reference.cpp`, runs each task alternately there and here, and prints the ratios of CPU
time, ours over C++. Totals must agree to the last bit: both sides did the same work, or there is no ratio.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from airoas.compiler.kernels import kernel
from airoas.domains.laser_tag import LaserTag
from airoas.domains.light_dark import LightDark
from airoas.domains.rock_sample import standard
from airoas.domains.tag import Tag
from airoas.rng import Rng, stream

SOURCE = Path(__file__).with_name("reference.cpp")
BUILD = Path(__file__).parents[1] / "build" / "benchmarks"
FLAGS = ("-std=c++17", "-O3", "-march=native", "-ffp-contract=off")
DEPTH = 100
MODELS: dict[str, Callable[[], Any]] = {
    "light-dark": LightDark,
    "tag": Tag,
    "rock-sample": lambda: standard(11, 11),
    "laser-tag": LaserTag,
}
TARGETS = {"light-dark": 1.3, "tag": 1.3, "rock-sample": 1.3, "laser-tag": 1.5}


# --- our side: one kernel per task of reference.cpp ---


@kernel
def rollouts(model: Any, rng: Rng, count: int, depth: int, observed: bool, out: np.ndarray) -> None:
    """Random rollouts from the initial belief; out [2] becomes the sum of what they returned (and saw), and the steps."""
    total, steps = 0.0, 0
    for _ in range(count):
        s = model.initial(rng)
        weight, value = 1.0, 0.0
        for _ in range(depth):
            a = rng.integer(model.n_actions)
            while not model.legal(s, a):
                a = rng.integer(model.n_actions)
            s, reward = model.step(s, a, rng)
            value += weight * reward
            steps += 1
            if model.is_terminal(s):
                break
            if observed:
                value += sum(model.observe(s, a, rng))
            weight *= model.discount
        total += value
    out[0], out[1] = total, steps


@kernel
def uniforms(rng: Rng, count: int, seed: int, out: np.ndarray) -> None:
    total = 0.0
    for _ in range(count):
        total += rng.uniform()
    out[0], out[1] = total, count


@kernel
def normals(rng: Rng, count: int, seed: int, out: np.ndarray) -> None:
    total = 0.0
    for _ in range(count):
        total += rng.normal()
    out[0], out[1] = total, count


@kernel
def integers(rng: Rng, count: int, seed: int, out: np.ndarray) -> None:
    total = 0.0
    for _ in range(count):
        total += rng.integer(7)
    out[0], out[1] = total, count


@kernel
def reseeds(rng: Rng, count: int, seed: int, out: np.ndarray) -> None:
    total = 0.0
    for i in range(count):
        rng.reseed(seed, i, 3)
        total += rng.uniform()
    out[0], out[1] = total, count


DRAWS = {"uniform": uniforms, "normal": normals, "integer": integers, "reseed": reseeds}


class Run(NamedTuple):
    """One task done once: CPU seconds, and what it computed."""

    seconds: float
    total: float
    steps: int


@functools.cache
def make_model(model: Callable[[], Any]) -> Any:
    return model()


def ours(task: str, seed: int, count: int) -> Run:
    """The task in our kernels, compiled before the clock starts."""
    domain, _, observed = task.partition("+")
    out, rng = np.zeros(2), stream(seed, 0)
    if task in DRAWS:
        run, arguments = DRAWS[task], (rng, count, seed, out)
    else:
        run, arguments = rollouts, (make_model(MODELS[domain]), rng, count, DEPTH, bool(observed), out)
    run.prepare(*arguments)
    start = time.thread_time()
    run(*arguments)
    return Run(time.thread_time() - start, float(out[0]), int(out[1]))


def theirs(program: Path, task: str, seed: int, count: int) -> Run:
    """The task in C++."""
    text = subprocess.run([program, task, str(seed), str(count)], check=True, capture_output=True, text=True).stdout
    seconds, total, steps = text.split()
    return Run(float(seconds), float.fromhex(total), int(steps))


def build(folder: Path) -> Path | None:
    """The C++ program, built in `folder` unless it is there already; None where there is no compiler."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        return None
    machine = subprocess.run([compiler, *FLAGS, "-E", "-v", "-"], input="", capture_output=True, text=True, check=True).stderr
    key = hashlib.sha256(SOURCE.read_bytes() + machine.encode()).hexdigest()[:16]
    program = folder / f"reference-{key}"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            fresh = Path(scratch) / "reference"
            subprocess.run([compiler, *FLAGS, "-o", fresh, SOURCE], check=True)
            fresh.replace(program)
    return program


# --- the comparison ---


class Ratio(NamedTuple):
    """CPU time of ours over C++: a ratio per repetition, and what the median run cost."""

    task: str
    target: float | None
    ratios: tuple[float, ...]
    ours_ns: float
    cpp_ns: float

    @property
    def median(self) -> float:
        return statistics.median(self.ratios)


def check(program: Path, task: str, seed: int, count: int) -> tuple[Run, Run]:
    """The task done on both sides; raises AssertionError unless totals and steps agree to the last bit."""
    sides = {"ours": lambda: ours(task, seed, count), "theirs": lambda: theirs(program, task, seed, count)}
    done = {name: sides[name]() for name in (sides if seed % 2 else reversed(sides))}  # each side goes first half of the time
    mine, other = done["ours"], done["theirs"]
    if mine[1:] != other[1:]:
        raise AssertionError(f"{task}: ours gave {mine.total!r} in {mine.steps} steps, C++ {other.total!r} in {other.steps}")
    return mine, other


def compare(program: Path, task: str, seconds: float, repetitions: int, tick: Callable[[], None]) -> Ratio:
    """Alternating runs of about `seconds` each, every repetition on random numbers of its own."""
    count = 1000
    while (probe := check(program, task, 0, count)[1].seconds) < seconds / 20:
        count *= 4
    count = max(1, int(count * seconds / probe))
    pairs = []
    for seed in range(1, repetitions + 1):
        pairs.append(check(program, task, seed, count))
        tick()
    mine, other = ([1e9 * pair[side].seconds / pair[side].steps for pair in pairs] for side in (0, 1))
    ratios = tuple(a / b for a, b in zip(mine, other, strict=True))
    return Ratio(task, TARGETS.get(task.partition("+")[0]), ratios, statistics.median(mine), statistics.median(other))


# --- start-up ---


class Start(NamedTuple):
    """CPU seconds (user and system) of new processes; `problem` where the command failed."""

    name: str
    seconds: tuple[float, ...]
    problem: str = ""


def process_seconds(command: list[str], cache: Path) -> float:
    """CPU seconds of a new process; raises CalledProcessError when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "AIROAS_CACHE_DIR": str(cache)}
    subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def starts(repetitions: int, tick: Callable[[], None]) -> Iterator[Start]:
    """Start-up of the command line, beside what Python and numba cost alone."""
    airoas = [sys.executable, "-m", "airoas.cli"]
    episode = [*airoas, "run", "light-dark-1.0", "random", "--episodes", "1", "--seed", "0"]
    commands = {
        "python -c pass": ([sys.executable, "-c", "pass"], False),
        "python -c 'import numba'": ([sys.executable, "-c", "import numba"], False),
        "airoas --help": ([*airoas, "--help"], False),
        "first episode, cold": (episode, True),
        "first episode, warm": (episode, False),
    }
    for name, (command, cold) in commands.items():
        seconds = []
        try:
            with tempfile.TemporaryDirectory() as warm:
                if not cold:
                    process_seconds(command, Path(warm))
                for _ in range(repetitions):
                    with tempfile.TemporaryDirectory() as empty:
                        seconds.append(process_seconds(command, Path(empty if cold else warm)))
                    tick()
            yield Start(name, tuple(seconds))
        except subprocess.CalledProcessError as error:
            yield Start(name, (), (error.stderr.strip().splitlines() or ["it failed and said nothing"])[-1])


# --- what a person sees ---


def machine(compiler: str | None) -> dict[str, Any]:
    """What the numbers depend on."""
    models = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    packages = {name: version(name) for name in ("airoas", "numba", "llvmlite", "numpy")}
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **packages,
        "c++": compiler or "none",
        "flags": " ".join(FLAGS),
    }


def compiler_version() -> str | None:
    """The first line of what the C++ compiler says of itself; None where there is none."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    return compiler and subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def ratio_table(results: list[Ratio]) -> Table:
    table = Table(title="CPU time, ours / C++: same random numbers, equal totals", caption="observed steps draw an observation too")
    for heading in ("task", "median", "min", "max", "target", "ours ns", "C++ ns"):
        table.add_column(heading, justify="left" if heading == "task" else "right")
    for result in results:
        median, least, most = (f"{x:.2f}" for x in (result.median, min(result.ratios), max(result.ratios)))
        target = ""
        if result.target is not None:
            target = f"<= {result.target:.1f}"
            median = f"[{'green' if result.median <= result.target else 'red'}]{median}[/]"
        table.add_row(label(result.task), median, least, most, target, f"{result.ours_ns:.1f}", f"{result.cpp_ns:.1f}")
    return table


def start_table(results: list[Start]) -> Table:
    table = Table(title="Start-up, CPU seconds of a new process")
    for heading in ("command", "median", "min", "max"):
        table.add_column(heading, justify="left" if heading == "command" else "right")
    for result in results:
        if result.problem:
            table.add_row(result.name, "-", "-", "-")
        else:
            table.add_row(result.name, *(f"{x:.2f}" for x in (statistics.median(result.seconds), min(result.seconds), max(result.seconds))))
    return table


def label(task: str) -> str:
    if task in DRAWS:
        return f"draws: {task}"
    domain, _, observed = task.partition("+")
    return f"{domain}: {'observed steps' if observed else 'rollout steps'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions: a look, not a measurement")
    parser.add_argument("--json", metavar="FILE", type=Path, help="save the numbers and a description of the machine")
    parser.add_argument("--build", metavar="DIR", type=Path, default=BUILD, help="where the C++ program goes")
    options = parser.parse_args()
    seconds, repetitions, processes = (0.05, 3, 1) if options.quick else (0.3, 9, 5)
    tasks = [*DRAWS, *(task for domain in MODELS for task in (domain, f"{domain}+observe"))]
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
    ratios: list[Ratio] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        shown = progress.add_task("building the C++ program", total=len(tasks) * repetitions + 5 * processes)

        def tick() -> None:
            progress.advance(shown)

        program = build(options.build)
        for task in tasks if program else ():
            progress.update(shown, description=label(task))
            ratios.append(compare(program, task, seconds, repetitions, tick))
        progress.update(shown, description="start-up")
        begun = list(starts(processes, tick))
    if program:
        console.print(ratio_table(ratios))
    else:
        console.print("no C++ compiler: the comparison is left out. Install g++, or name yours in CXX.")
    console.print(start_table(begun))
    for start in begun:
        if start.problem:
            console.print(f"{start.name} failed: {start.problem}", style="red", markup=False)
    described = machine(compiler_version())
    console.print(", ".join(f"{key} {value}" for key, value in described.items()), style="dim", markup=False, highlight=False)
    if options.json:
        numbers = {"ratios": [{**r._asdict(), "median": r.median} for r in ratios], "start": [s._asdict() for s in begun]}
        saved = {"machine": described, **numbers}
        options.json.write_text(json.dumps(saved, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
