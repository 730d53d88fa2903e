"""How late answers are on a machine that does other things too: `python -m benchmarks.deadlines` writes results/deadlines.json.

Every planner that keeps a deadline decides 300 times with 0.01 s and with 0.1 s, from an initial belief: on an idle machine; while
every core is busy; while a thread beside it makes garbage, which Python collects with its lock held; and the last two with the remedies of
docs/robot.md. Lateness is what passes between asking and having the answer, beyond the deadline. Where a thread makes garbage nearly
every answer is late by up to a second, and a third of the decisions are enough. About 40 minutes on a machine with nothing else to do; what
was measured is kept at once, and the same command goes on where it was stopped. `python -m tools.deadlines_page` puts it into the page.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gc
import itertools
import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import airoas
from airoas.catalog import find_domain
from airoas.compiler.cache import write
from airoas.experiments.run.play import machine
from airoas.planners import AIROAS, ARDESPOT, POMCP, POMCPOW, AdaOPS

OUT = Path(__file__).parents[1] / "results" / "deadlines.json"
PLANNERS: dict[str, tuple[type, str]] = {
    "AIROAS": (AIROAS, "tag"),
    "AIROAS, its policy": (AIROAS, "bare-light-dark-1.0"),
    "AdaOPS": (AdaOPS, "tag"),
    "AR-DESPOT": (ARDESPOT, "tag"),
    "POMCP": (POMCP, "tag"),
    "POMCPOW": (POMCPOW, "tag"),
}
"""With the domain that each is tried on: without hints AIROAS asks a policy, too."""
SECONDS = (0.01, 0.1)
LONG_LIVED, CHUNK = 20, 25_000  # lists in circles: so many chunks of so many live on, and the oldest is dropped for each new one


def spin(niceness: int) -> None:
    os.nice(niceness)
    while True:
        pass


def make_garbage(ends: Callable[[], bool]) -> None:
    alive: collections.deque[list[list[Any]]] = collections.deque(maxlen=LONG_LIVED)
    while not ends():
        circles: list[list[Any]] = [[] for _ in range(CHUNK)]
        for circle in circles:
            circle.append(circle)
        alive.append(circles)


def make_garbage_forever() -> None:
    make_garbage(lambda: False)


@contextlib.contextmanager
def processes(target: Callable[..., None], count: int, *arguments: Any) -> Iterator[None]:
    """Others on this machine, until the end."""
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=target, args=arguments, daemon=True) for _ in range(count)]
    for process in started:
        process.start()
    time.sleep(1.0)  # until they run
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.join()


@contextlib.contextmanager
def garbage_beside() -> Iterator[None]:
    over = threading.Event()
    thread = threading.Thread(target=make_garbage, args=(over.is_set,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def garbage_elsewhere() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    try:
        with processes(make_garbage_forever, 1):
            yield
    finally:
        gc.unfreeze()


def cores() -> int:
    return len(os.sched_getaffinity(0))


CONDITIONS: dict[str, Callable[[], contextlib.AbstractContextManager[None]]] = {
    "nothing else runs": contextlib.nullcontext,
    "every core is busy": lambda: processes(spin, cores(), 0),
    "every core is busy, at low priority": lambda: processes(spin, cores(), 19),
    "a thread makes garbage": garbage_beside,
    "another process makes garbage, `gc.freeze`": garbage_elsewhere,
}


def lateness(domain: str, planner: Any, seconds: float, count: int) -> list[float]:
    """Milliseconds beyond the deadline, of each decision."""
    model = find_domain(domain)(0)
    belief = airoas.Particles.sample(model, 10_000, airoas.stream(0))
    planner.prepare(model)
    late = []
    for number in range(count):
        begun = time.perf_counter()
        planner.plan(model, belief, airoas.stream(number))
        late.append(1e3 * max(0.0, time.perf_counter() - begun - seconds))
    return late


def measure(names: list[str], count: int, rows: list[dict[str, Any]], keep: Callable[[dict[str, Any]], None]) -> None:
    """Whatever is not among the rows yet."""
    known = {(row["condition"], row["planner"], row["seconds"]) for row in rows}
    for condition, load in CONDITIONS.items():
        cells = [(name, seconds) for name, seconds in itertools.product(names, SECONDS) if (condition, name, seconds) not in known]
        if not cells:
            continue
        with load():
            for name, seconds in cells:
                kind, domain = PLANNERS[name]
                decisions = count // 3 if load is garbage_beside else count
                late = np.array(lateness(domain, kind(seconds=seconds), seconds, decisions))
                p99, most = (round(float(x), 2) for x in (np.quantile(late, 0.99), late.max()))
                told = {"condition": condition, "planner": name, "domain": domain, "seconds": seconds, "decisions": decisions}
                keep({**told, "p99": p99, "most": most})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=300, help="of each planner with each deadline, in each condition")
    parser.add_argument("--planners", nargs="+", default=list(PLANNERS), choices=PLANNERS, metavar="NAME")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE")
    options = parser.parse_args()
    where = {"airoas": airoas.__version__} | {name: value for name, value in machine().items() if name != "host"} | {"cores": cores()}
    measured = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {**where, "rows": []}
    if {name: value for name, value in measured.items() if name != "rows"} != where:
        sys.exit(f"{options.out} was measured with another version or on another machine: {measured}. Move it away.")

    def keep(row: dict[str, Any]) -> None:
        measured["rows"].append(row)
        write(options.out, (json.dumps(measured, indent=1) + "\n").encode())
        print(f"{row['condition']}: {row['planner']}, {row['seconds']:g} s: p99 {row['p99']:.2f} ms, most {row['most']:.2f} ms", flush=True)

    measure(options.planners, options.decisions, measured["rows"], keep)


if __name__ == "__main__":
    main()
