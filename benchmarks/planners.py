"""Deadlines and speed of the bounded-tree planners.

`python benchmarks/planners.py` lets every planner decide 200 times at 0.1 s and 200 times at 0.01 s on every domain, along
episodes, and prints how far past the deadline it came; then node expansions per second from the initial belief, beside those
of a C++ prototype (all actions branched, 100 particles) and of the DESPOT package (500 scenarios). Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import airoas
from airoas.belief.filters.update import make_filter
from airoas.catalog import find_domain
from airoas.planners import AIROAS, ARDESPOT, AdaOPS, Decision

DOMAINS = ("light-dark-0.5", "light-dark-1.0", "tag", "tag-modified", "laser-tag", "rock-sample-11-11", "rock-sample-15-15")
PLANNERS: dict[str, type] = {"airoas": AIROAS, "adaops": AdaOPS, "ardespot": ARDESPOT}
P99_MS, MAX_MS = 2.0, 10.0
SPEED = {  # domain: node expansions per second of the C++ prototype (eager, N = 100; None: not measured), of DESPOT (K = 500)
    "tag": (53_000, 1594),
    "rock-sample-11-11": (None, 1877),
    "laser-tag": (2_100, 18),
}
BOUNDS = {"tag": ("blind", "fib")}  # those of the prototype, where ours come with more plans


class Overshoot(NamedTuple):
    """Milliseconds past the deadline over a number of decisions."""

    domain: str
    planner: str
    seconds: float
    decisions: int
    p50: float
    p99: float
    most: float


class Speed(NamedTuple):
    """Node expansions per second, and what else is known."""

    domain: str
    planner: str
    options: str
    expansions: float
    prototype: float | None
    despot: float


def decisions(domain: str, planner: Any, count: int) -> Iterator[Decision]:
    """`count` decisions along episodes."""
    seed, done = 0, 0
    while done < count:
        episode = airoas.simulate(find_domain(domain)(seed), planner, seed, max_steps=min(100, count - done))
        for step in episode.trace:
            yield step.decision
        done += episode.steps
        seed += 1


def overshoot(domain: str, name: str, seconds: float, count: int) -> Overshoot:
    planner = PLANNERS[name](seconds=seconds)
    planner.prepare(find_domain(domain)(0))
    past = np.array([1e3 * decision.stats.overshoot for decision in decisions(domain, planner, count)])
    return Overshoot(domain, name, seconds, len(past), float(np.median(past)), float(np.quantile(past, 0.99)), float(past.max()))


def speed(domain: str, name: str, planner: Any, options: str, repetitions: int) -> Speed:
    """From the initial belief. One expansion branches every action; a lazy planner's branches count as their share of one."""
    model = find_domain(domain)(0)
    belief = make_filter("auto", model).start(model, airoas.stream(0))
    planner.prepare(model)
    rates = []
    for repetition in range(repetitions):
        begun = time.perf_counter()
        decision = planner.plan(model, belief, airoas.stream(repetition))
        rates.append(decision.stats.notes["expansions"] / (time.perf_counter() - begun))
    per_node = 1.0 if name == "airoas" else model.n_actions
    return Speed(domain, name, options, float(np.median(rates)) / per_node, *SPEED[domain])


def overshoot_table(rows: list[Overshoot]) -> Table:
    table = Table(title=f"Milliseconds past the deadline; targets: p99 <= {P99_MS:g}, max <= {MAX_MS:g}")
    for heading in ("domain", "planner", "seconds", "decisions", "p50", "p99", "max"):
        table.add_column(heading, justify="left" if heading in ("domain", "planner") else "right")
    for row in rows:
        p99, most = (f"[{'green' if x <= y else 'red'}]{x:.3f}[/]" for x, y in ((row.p99, P99_MS), (row.most, MAX_MS)))
        table.add_row(row.domain, row.planner, f"{row.seconds:g}", str(row.decisions), f"{row.p50:.3f}", p99, most)
    return table


def speed_table(rows: list[Speed]) -> Table:
    table = Table(title="Node expansions per second, one core (airoas: action branches)")
    for heading in ("domain", "planner", "options", "ours", "C++ prototype", "prototype / ours", "DESPOT C++"):
        table.add_column(heading, justify="left" if heading in ("domain", "planner", "options") else "right")
    for row in rows:
        prototype = "" if row.prototype is None else f"{row.prototype:,.0f}"
        ratio = "" if row.prototype is None or row.planner != "adaops" else f"{row.prototype / row.expansions:.2f}"
        table.add_row(row.domain, row.planner, row.options, f"{row.expansions:,.0f}", prototype, ratio, f"{row.despot:,.0f}")
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=200)
    parser.add_argument("--domains", nargs="*", default=DOMAINS)
    parser.add_argument("--planners", nargs="*", default=list(PLANNERS))
    parser.add_argument("--json", metavar="FILE", type=Path, help="save the numbers")
    options = parser.parse_args()
    past: list[Overshoot] = []
    rates: list[Speed] = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        cells = [(d, p, s) for d in options.domains for p in options.planners for s in (0.1, 0.01)]
        shown = progress.add_task("deadlines", total=len(cells))
        for domain, name, seconds in cells:
            progress.update(shown, description=f"{domain} {name} {seconds} s")
            past.append(overshoot(domain, name, seconds, options.decisions))
            progress.advance(shown)
        for domain in SPEED:
            progress.update(shown, description=f"{domain}: speed")
            for name, planner, said in (
                ("airoas", AIROAS(seconds=0.1), "default"),
                ("adaops", AdaOPS(seconds=0.1, min_particles=100, max_particles=100, bounds=BOUNDS.get(domain, "auto")), "100 particles"),
                ("ardespot", ARDESPOT(seconds=0.1), "500 scenarios"),
            ):
                rates.append(speed(domain, name, planner, said, 9))
    console = Console()
    console.print(overshoot_table(past))
    console.print(speed_table(rates))
    if options.json:
        options.json.write_text(
            json.dumps({"overshoot": [x._asdict() for x in past], "speed": [x._asdict() for x in rates]}, indent=2) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
