"""Speed of annealing: ours against the loop as one writes it in C++, and its growth with N.

`python benchmarks/annealing.py` tempers particles from N(0, 1) to one sharp reading by 100 temperatures, each with reweighting,
systematic resampling where N / ESS exceeds 2 and one sweep of a random walk. C++ (`reference.cpp`, task anneal-N) does all that
one particle at a time; ours in passes over all particles. Both must find the posterior's mean. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import airoas
from airoas.belief.tempering.temper import Tempering, begin, in_use, make_tempering, next_seed, predict, temper_prediction
from airoas.compiler.kernels import kernel
from run import BUILD, build, theirs

TEMPERATURES = 100
SCHEDULE = (np.arange(1, TEMPERATURES + 1) / TEMPERATURES) ** 4
READING, SD, STEP = 1.5, 0.01, 0.05
EXACT = READING / (1.0 + SD * SD)
RATIO, GROWTH = 0.75, 1.5  # targets: ours / C++ at most; ns at 1e6 / ns at 1e2 at most


class Position(NamedTuple):
    x: float


class Reading(NamedTuple):
    y: float


@airoas.model
class Gauss(NamedTuple):
    """A step of N(0, 1) from a known place, and a sharp reading of where it led."""

    sd: float = SD
    discount: float = 0.9

    def actions(self):
        return ("go",)

    def initial(self, rng):
        return Position(0.0)

    def step(self, s, a, rng):
        return Position(s.x + rng.normal()), 0.0

    def observe(self, s, a, rng):
        return Reading(s.x + self.sd * rng.normal())

    def obs_logpdf(self, o, s, a):
        z = (o.y - s.x) / self.sd
        return -0.5 * z * z - math.log(self.sd) - 0.5 * math.log(2.0 * math.pi)

    def step_logpdf(self, s2, s, a):
        z = s2.x - s.x
        return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)


@kernel
def repeat(work: Tempering, count: int, seed: int) -> float:
    """The mean over `count` temperings of the mean particle."""
    total = 0.0
    for run in range(count):
        begin(work)
        for i in range(len(work.chosen)):
            work.first.ancestors[i, 0] = 0.0
            work.first.alive[i] = True
            work.first.log_weights[i] = -math.log(len(work.chosen))
        predict(work, next_seed(work, seed + run))
        temper_prediction(work, seed + run)
        system = in_use(work)
        for i in range(len(work.chosen)):
            total += system.weights[i] * system.states[i, 0]
    return total / count


@functools.cache
def tempering(n: int) -> Tempering:
    work = make_tempering(Gauss(), n, "walk", 0, SCHEDULE, STEP, target=2.0, repeats=1)
    work.observations[0, 0] = READING
    return work


def ours(n: int, seed: int, count: int) -> tuple[float, float]:
    """CPU seconds and the mean found."""
    work = tempering(n)
    repeat.prepare(work, count, seed)
    begun = time.thread_time()
    mean = repeat(work, count, 1000 * seed)
    return time.thread_time() - begun, mean


class Cost(NamedTuple):
    """ns per particle and temperature."""

    n: int
    ours: float
    cpp: float
    ratio: float


def compare(program: Path, n: int, particles: float, repetitions: int) -> Cost:
    """Alternating runs; the ratio is the median of those of each pair."""
    count = max(1, int(particles / n))
    unit = 1e9 / (count * n * TEMPERATURES)
    pairs = []
    for seed in range(1, repetitions + 1):
        seconds, mean = ours(n, seed, count)
        other = theirs(program, f"anneal-{n}", seed, count)
        for result in (mean, other.total / (count * n)):
            if abs(result - EXACT) > 5.0 * SD * 0.15 / math.sqrt(count) * math.sqrt(max(1.0, 100.0 / n)):
                raise AssertionError(f"N = {n}: a mean of {result} where {EXACT} is right")
        pairs.append((unit * seconds, unit * other.seconds))
    return Cost(n, *(statistics.median(side) for side in zip(*pairs, strict=True)), statistics.median(a / b for a, b in pairs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter: a look, not a measurement")
    parser.add_argument("--json", metavar="FILE", type=Path, help="save the numbers")
    options = parser.parse_args()
    repetitions, particles = (3, 2e3) if options.quick else (9, 2e4)
    program = build(BUILD)
    if program is None:
        print("no C++ compiler: install g++, or name yours in CXX.")
        return 1
    costs = [compare(program, n, max(particles, n), repetitions if n < 1e5 else 3) for n in (100, 1000, 10_000, 100_000, 1_000_000)]
    table = Table(title=f"Annealing: ns per particle and temperature; target ours / C++ <= {RATIO} at N = 100 and 1000")
    for heading in ("N", "ours", "C++", "ours / C++"):
        table.add_column(heading, justify="right")
    for cost in costs:
        table.add_row(f"{cost.n:,}", f"{cost.ours:.1f}", f"{cost.cpp:.1f}", f"{cost.ratio:.2f}")
    console = Console()
    console.print(table)
    console.print(f"ns at N = 1e6 over ns at N = 1e2: {costs[-1].ours / costs[0].ours:.2f} (linear: at most {GROWTH})")
    if options.json:
        options.json.write_text(json.dumps({"costs": [cost._asdict() for cost in costs]}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
