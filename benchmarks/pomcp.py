"""Speed, deadlines and memory of POMCP: random rollouts, depth 100, from 10,000 states of the initial belief.

`python benchmarks/pomcp.py` runs each search alternately in `reference.cpp` and here, on the same random numbers and with equal
trees to the last bit, and prints ratios of CPU time; then simulations per second, in two threads too, beside pomdp-py where that
is installed (`pip install 'airoas[peers]'`; `peers.py` plays whole episodes beside it); how far decisions of 0.1 s overrun; and what
a tree of a million simulations takes.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import run
from airoas import Particles
from airoas.domains.rock_sample import standard
from airoas.planners import POMCP
from airoas.rng import stream
from peers import rock_sample_of_pomdp_py

PARTICLES = 10_000
PEER_TARGETS = {"tag": 100.0, "rock-sample": 50.0}
THREADS_TARGET = 1.6
MEMORY_TARGET = 2_000_000_000


def planner(**budget: Any) -> POMCP:
    return POMCP(max_depth=run.DEPTH, c=1.0, estimate="random", **budget)


# --- against C++ ---


def ours(domain: str, seed: int, count: int) -> run.Run:
    """One search; the total is that of the root's mean returns."""
    model = run.make_model(run.MODELS[domain])
    search = planner(iterations=count)
    search.prepare(model)
    belief = Particles.sample(model, PARTICLES, stream(seed, 0))
    search.plan(model, belief, stream(seed, 1))  # once for the pages of memory, as in the C++ program
    start = time.thread_time()
    decision = search.plan(model, belief, stream(seed, 1))
    seconds = time.thread_time() - start
    total = 0.0
    for child in decision.tree.root.children:
        total += child.value
    return run.Run(seconds, total, decision.stats.notes["steps"])


def check(program: Path, domain: str, seed: int, count: int) -> tuple[run.Run, run.Run]:
    """The search done on both sides; raises AssertionError unless the trees' values and steps agree to the last bit."""
    sides = {"ours": lambda: ours(domain, seed, count), "theirs": lambda: run.theirs(program, f"{domain}+pomcp", seed, count)}
    done = {name: sides[name]() for name in (sides if seed % 2 else reversed(sides))}
    mine, other = done["ours"], done["theirs"]
    if mine[1:] != other[1:]:
        raise AssertionError(f"{domain}: ours gave {mine.total!r} in {mine.steps} steps, C++ {other.total!r} in {other.steps}")
    return mine, other


class SearchTiming(NamedTuple):
    """One domain: ratios of CPU time, ours over C++, one per repetition, and simulations and steps per CPU second."""

    domain: str
    target: float
    ratios: tuple[float, ...]
    simulations: float
    steps: float
    cpp_simulations: float


def compare(program: Path, domain: str, seconds: float, repetitions: int, tick: Callable[[], None]) -> SearchTiming:
    """Alternating searches of about `seconds` each, every repetition on random numbers of its own."""
    count = 1000
    while (probe := check(program, domain, 0, count)[1].seconds) < seconds / 20:
        count *= 4
    count = max(1, int(count * seconds / probe))
    pairs = []
    for seed in range(1, repetitions + 1):
        pairs.append(check(program, domain, seed, count))
        tick()
    mine, other = (statistics.median(pair[side].seconds for pair in pairs) for side in (0, 1))
    ratios = tuple(pair[0].seconds / pair[1].seconds for pair in pairs)
    return SearchTiming(domain, run.TARGETS[domain], ratios, count / mine, pairs[0][0].steps / mine, count / other)


# --- against pomdp-py, with its own models in Python ---


def _tag_of_pomdp_py() -> Any:
    from pomdp_py.problems.tag.env.env import GridMap
    from pomdp_py.problems.tag.example_worlds import world0
    from pomdp_py.problems.tag.problem import TagProblem

    grid = GridMap.from_str(world0[0])
    return TagProblem((0, 4), (5, 3), grid)


PEERS: dict[str, Callable[[], Any]] = {"tag": _tag_of_pomdp_py, "rock-sample": rock_sample_of_pomdp_py}


class Peer(NamedTuple):
    """Simulations per second of another package, and ours over them; `problem` where it could not be run."""

    domain: str
    simulations: float = 0.0
    ratio: float = 0.0
    problem: str = ""


def peer(domain: str, seconds: float) -> Peer:
    """pomdp-py's search on its own problem, in CPU time of this process."""
    try:
        import pomdp_py
    except ImportError:
        return Peer(domain, problem="pomdp-py is not installed: pip install 'airoas[peers]'")
    sample = random.sample
    try:
        random.seed(0)
        random.sample = lambda population, k: sample(tuple(population), k)  # its Tag draws from sets, which Python 3.11 refuses
        problem = PEERS[domain]()
        policy = problem.agent.policy_model
        theirs = pomdp_py.POUCT(  # its POMCP, for beliefs of any kind: particles are only kept by the other
            max_depth=run.DEPTH,
            discount_factor=0.95,
            planning_time=seconds,
            exploration_const=1.0,
            rollout_policy=policy,
            num_visits_init=0,
        )
        start = time.process_time()
        theirs.plan(problem.agent)
        simulations = theirs.last_num_sims / (time.process_time() - start)
    except Exception as error:  # a peer that fails is no failure of ours
        return Peer(domain, problem=f"pomdp-py failed: {type(error).__name__}: {error}")
    finally:
        random.sample = sample
    model = run.make_model(run.MODELS[domain])
    belief = Particles.sample(model, PARTICLES, stream(0, 0))
    start = time.process_time()
    decision = planner(seconds=seconds).plan(model, belief, stream(0, 1))
    mine = decision.stats.trials / (time.process_time() - start - decision.stats.preparation)
    return Peer(domain, simulations, mine / simulations)


# --- threads, deadlines, memory ---


def two_threads(domain: str, seconds: float, repetitions: int) -> float:
    """Simulations per wall-clock second in two threads over those in one; the median of alternating runs."""
    model = run.make_model(run.MODELS[domain])
    belief = Particles.sample(model, PARTICLES, stream(0, 0))
    ratios = []
    for seed in range(repetitions):
        one, two = (POMCP(seconds=seconds, max_depth=run.DEPTH, estimate="random", threads=k) for k in (1, 2))
        trials = [by.plan(model, belief, stream(seed, 1)).stats.trials for by in (one, two)]
        ratios.append(trials[1] / trials[0])
    return statistics.median(ratios)


def overshoots(domain: str, decisions: int) -> np.ndarray:
    """Milliseconds past the deadline of decisions of 0.1 s."""
    model = run.make_model(run.MODELS[domain])
    belief = Particles.sample(model, PARTICLES, stream(0, 0))
    search = planner(seconds=0.1)
    search.prepare(model)
    return np.array([1e3 * search.plan(model, belief, stream(seed, 1)).stats.overshoot for seed in range(decisions)])


class Memory(NamedTuple):
    """A tree of a million simulations on RockSample(15, 15)."""

    nodes: int
    bytes: int
    resident: int
    """By how much the process grew."""
    stop: str


def memory(simulations: int = 1_000_000) -> Memory:
    model = standard(15, 15)
    belief = Particles.sample(model, PARTICLES, stream(0, 0))
    search = planner(iterations=simulations)
    search.prepare(model)
    before = resident()
    decision = search.plan(model, belief, stream(0, 1))
    return Memory(decision.stats.nodes, decision.stats.bytes, resident() - before, decision.stats.stop)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


# --- what a person sees ---


def coloured(text: str, good: bool) -> str:
    return f"[{'green' if good else 'red'}]{text}[/]"


def search_table(results: list[SearchTiming]) -> Table:
    table = Table(title="CPU time of a search, ours / C++: same random numbers, equal trees")
    for heading in ("domain", "median", "min", "max", "target", "thousand simulations/s", "million steps/s", "C++ thousand simulations/s"):
        table.add_column(heading, justify="left" if heading == "domain" else "right")
    for r in results:
        median = statistics.median(r.ratios)
        shown = coloured(f"{median:.2f}", median <= r.target)
        numbers = f"{r.simulations / 1e3:,.0f}", f"{r.steps / 1e6:.1f}", f"{r.cpp_simulations / 1e3:,.0f}"
        table.add_row(r.domain, shown, f"{min(r.ratios):.2f}", f"{max(r.ratios):.2f}", f"<= {r.target:.1f}", *numbers)
    return table


def peer_lines(peers: list[Peer]) -> Iterator[str]:
    for p in peers:
        target = PEER_TARGETS[p.domain]
        if p.problem:
            yield f"{p.domain}: {escape(p.problem)}"
        else:
            ratio = coloured(f"{p.ratio:.0f}", p.ratio >= target)
            yield f"{p.domain}: {ratio} times as many simulations per second as pomdp-py's {p.simulations:.0f} (target {target:.0f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter repetitions: a look, not a measurement")
    parser.add_argument("--json", metavar="FILE", type=Path, help="save the numbers and a description of the machine")
    parser.add_argument("--build", metavar="DIR", type=Path, default=run.BUILD, help="where the C++ program goes")
    options = parser.parse_args()
    seconds, repetitions, decisions = (0.1, 3, 10) if options.quick else (0.5, 9, 100)
    console = Console()
    searches: list[SearchTiming] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        shown = progress.add_task("building the C++ program", total=len(run.MODELS) * (repetitions + 1) + len(PEERS) + 2)
        tick = functools.partial(progress.advance, shown)
        program = run.build(options.build)
        for domain in run.MODELS if program else ():
            progress.update(shown, description=f"{domain}: against C++")
            searches.append(compare(program, domain, seconds, repetitions, tick))
        peers = []
        for domain in PEERS:
            progress.update(shown, description=f"{domain}: against pomdp-py")
            peers.append(peer(domain, 4.0 * seconds))
            tick()
        progress.update(shown, description="two threads")
        gain = two_threads("rock-sample", seconds, repetitions)
        tick()
        late = {}
        for domain in run.MODELS:
            progress.update(shown, description=f"{domain}: deadlines")
            late[domain] = overshoots(domain, decisions)
            tick()
        progress.update(shown, description="a million simulations")
        tree = memory()
        tick()
    if program:
        console.print(search_table(searches))
    else:
        console.print("no C++ compiler: the comparison is left out. Install g++, or name yours in CXX.")
    for line in peer_lines(peers):
        console.print(line)
    cores = os.cpu_count() or 1
    console.print(
        f"two threads: {coloured(f'{gain:.2f}', gain >= THREADS_TARGET)} times the simulations of one ({cores} cores, target 1.6)"
    )
    for domain, times in late.items():
        p50, p99 = np.quantile(times, (0.5, 0.99))
        console.print(f"{domain}: decisions of 100 ms end {p50:.2f} ms late (median), {p99:.2f} (99 %), {times.max():.2f} (at most)")
    size = coloured(
        f"{tree.bytes / 1e6:.0f} MB", tree.bytes < MEMORY_TARGET and tree.resident < MEMORY_TARGET and tree.stop == "iterations"
    )
    console.print(
        f"a million simulations on RockSample(15, 15): {tree.nodes:,} nodes, {size} ({tree.bytes / tree.nodes:.0f} bytes a node), "
        f"resident {tree.resident / 1e6:.0f} MB (target < 2000 MB)"
    )
    described = run.machine(run.compiler_version())
    console.print(", ".join(f"{key} {value}" for key, value in described.items()), style="dim", markup=False, highlight=False)
    if options.json:
        numbers = {
            "searches": [s._asdict() for s in searches],
            "peers": [p._asdict() for p in peers],
            "two_threads": gain,
            "overshoot_ms": {domain: times.tolist() for domain, times in late.items()},
            "memory": tree._asdict(),
        }
        options.json.write_text(json.dumps({"machine": described, **numbers}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
