"""Filters against bootstrap with as many particles, and with as many as take the same time: the data of docs/annealing.md.

`python -m tools.filter_study` (a few minutes on one core) writes docs/annealing/equal.csv; with names of cases, these alone again.
Time is CPU time, and filters that are compared go through the same runs by turns, so that other work on the machine does little harm.
What is done and seen is the same for every filter.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import functools
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import airoas
from airoas import AdaptiveFilter, AnnealedFilter, BootstrapFilter, Particles
from airoas.catalog import find_domain
from airoas.domains.strangers.building import State
from tools.annealing_study import FOLDER, Gauss, Reading, Record, save
from tools.lost_study import Tour, anywhere

KINDS = {"annealed": AnnealedFilter, "adaptive": AdaptiveFilter}
RUNS = 30
TOLERANCE = 0.04
"""By how much equal times may differ."""
CALIBRATION, TRIES = 5, 20
"""Runs of the same on which the number of particles for an equal time is looked for at first, and how often at most."""
SECONDS, ROUNDS = 1.0, 25
"""CPU time for which runs are repeated, and how often at most: one update is too short to be timed."""
SEEDS = 730_000


class Walk(NamedTuple):
    """What happened in one run, and how to judge a belief at its end."""

    model: Any
    done: list[tuple[Any, Any]]
    """Actions and observations."""
    start: Callable[[Any], Any] | None
    """(n) -> the belief before them, in n particles; None where it is the filter's own."""
    error: Callable[[Particles], float]
    wrong: Callable[[Particles], bool] | None = None
    """Whether a belief is sure and wrong: 90 % of its weight more than 2 m off."""


def conjugate(sd: float, y: float) -> Callable[[int], Walk]:
    """Prior N(0, 1), one reading; the error of the mean in posterior standard deviations."""

    model, precision = Gauss(sd), 1.0 + 1.0 / sd**2

    def start(n: int) -> Particles:
        return Particles(np.zeros((n, 1)))

    def error(belief: Particles) -> float:
        return float(abs(belief.mean()[0] - y / sd**2 / precision) * precision**0.5)

    def walk(seed: int) -> Walk:
        return Walk(model, [(0, Reading(y))], start, error)

    return walk


@functools.cache
def domain(name: str) -> Any:
    return find_domain(name)(0)


def near(s: Any, radius: float, belief: Particles) -> float:
    """The weight within so many metres of the truth."""
    return float(belief.weights[np.hypot(belief.states[:, 0] - s[0], belief.states[:, 1] - s[1]) <= radius].sum())


def light(seed: int) -> Walk:
    """light-dark-2d: walk into the light and stay there, 14 steps; the distance of the mean from the truth."""
    model, world = domain("light-dark-2d"), airoas.stream(seed, "world")
    s, done = model.initial(world), []
    for _ in range(14):
        distance = 5.0 - s[0]
        way = "east" if distance > 0.0 else "west"
        a = model.action_names.index(way if abs(distance) > 0.5 else f"{way}-short")
        s, _ = model.step(s, a, world)
        done.append((a, model.observe(s, a, world)))
    return Walk(model, done, None, lambda b: math.dist(b.mean()[:2], s[:2]), lambda b: near(s, 2.0, b) < 0.1)


def building(seed: int) -> Walk:
    """The building, from no idea of where one is, driven around for 30 steps; the weight that is not within 1 m of the truth."""
    model, world = domain("building"), airoas.stream(seed, "world")
    s, tour, done = anywhere(model, world), Tour(model, np.random.default_rng(seed)), []
    for _ in range(30):
        a = tour.action(s)
        s = State(*model.step(s, a, world)[0])
        done.append((a, model.observe(s, a, world)))
    return Walk(model, done, None, lambda b: 1.0 - near(s, 1.0, b), lambda b: near(s, 2.0, b) < 0.1)


def finite(name: str) -> Callable[[int], Walk]:
    """Six random actions; total variation between the belief's marginals (the opponent's cell, each rock) and the exact ones. The
    robot's own cell is known at the start."""

    def walk(seed: int) -> Walk:
        model, world = domain(name), airoas.stream(seed, "world", name)
        first = model.initial(world)
        exact, s, done = _prior(model, first, 0, seed), first, []
        for _ in range(6):
            legal = [a for a in range(model.n_actions) if model.legal(s, a)]
            a = legal[world.integer(len(legal))]
            after, _ = model.step(s, a, world)
            if model.is_terminal(after):
                break
            s = after
            done.append((a, model.observe(s, a, world)))
            exact = airoas.update(model, exact, *done[-1], world, "exact")
        truth = marginals(model, exact)
        return Walk(
            model, done, lambda n: _prior(model, first, n, seed), lambda b: 0.5 * float(np.abs(marginals(model, b) - truth).sum(1).mean())
        )

    return walk


def marginals(model: Any, belief: Particles) -> np.ndarray:
    """[marginals, values]: the opponent's cell, or whether each rock is good."""
    if hasattr(model, "n_rocks"):
        bits = belief.states[:, 2].astype(np.int64)
        return np.stack([np.bincount(bits >> i & 1, weights=belief.weights, minlength=2) for i in range(model.n_rocks)])
    return np.bincount(belief.states[:, 1].astype(np.int64), weights=belief.weights, minlength=model.n_cells)[None]


def _prior(model: Any, s: Any, n: int, seed: int) -> Particles:
    """n particles, or the exact belief for none; the robot's own cell is known, the opponent's is not."""
    if hasattr(model, "n_rocks"):
        return Particles.sample(model, n, airoas.stream(seed, "start", n)) if n else Particles.exact(model)
    cells = np.random.default_rng((seed, n)).integers(model.n_cells, size=n) if n else np.arange(model.n_cells)
    return Particles(np.column_stack([np.full(len(cells), float(s[0])), cells, np.zeros(len(cells))]))


class Case(NamedTuple):
    walk: Callable[[int], Walk]
    measure: str
    sizes: tuple[int, ...]


CASES = {
    "one sharp reading": Case(conjugate(0.01, 1.5), "posterior sd", (200, 2000)),
    "one mild reading": Case(conjugate(1.0, 1.0), "posterior sd", (200, 2000)),
    "light-dark-2d": Case(light, "m", (200, 2000)),
    "building": Case(building, "weight", (1000, 2500)),
    "tag": Case(finite("tag"), "total variation", (1000,)),
    "laser-tag": Case(finite("laser-tag"), "total variation", (1000,)),
    "rock-sample-7-8": Case(finite("rock-sample-7-8"), "total variation", (1000,)),
}


class Followed(NamedTuple):
    """Of some runs, each an array [runs]."""

    seconds: np.ndarray
    """CPU time of an update, the median over rounds."""
    errors: np.ndarray
    wrong: np.ndarray
    sizes: np.ndarray
    """Particles, the mean over updates."""


def follow(walk: Walk, filter: Any, seed: int) -> tuple[float, float, bool, float]:
    """A filter through one run: as the fields of `Followed`."""
    rng = airoas.stream(seed, "filter")
    first = filter.particles * (20 if isinstance(filter, AdaptiveFilter) else 1)
    belief = filter.start(walk.model, rng) if walk.start is None else walk.start(first)
    begun, sizes = time.process_time(), [len(belief)]
    for action, observation in walk.done:
        belief = filter.update(walk.model, belief, action, observation, rng).belief
        sizes.append(len(belief))
    took = (time.process_time() - begun) / max(1, len(walk.done))
    return took, walk.error(belief), bool(walk.wrong and walk.wrong(belief)), float(np.mean(sizes[:-1]))


def interleaved(walks: dict[int, Walk], filters: list[Any], seconds: float = 0.0) -> list[Followed]:
    """Filters through the same runs, each run by all of them before the next, in rounds until so much CPU time has passed; one round at
    least, after a first run that does not count."""
    for filter in filters:
        follow(next(iter(walks.values())), filter, 0)  # compiles, and warms up
    rounds: list[np.ndarray] = []
    begun = time.process_time()
    while not rounds or (time.process_time() - begun < seconds and len(rounds) < ROUNDS):
        rows = [[follow(walk, filter, seed) for filter in filters] for seed, walk in walks.items()]
        rounds.append(np.array(rows, float).transpose(1, 2, 0))  # [filters, fields, runs]
    took = np.median([one[:, 0] for one in rounds], axis=0)
    return [Followed(took[k], *rounds[0][k, 1:]) for k in range(len(filters))]


def ratio(ours: Followed, theirs: Followed) -> float:
    """Of the CPU time of all runs, theirs to ours."""
    return float(theirs.seconds.sum() / ours.seconds.sum())


def balanced(walks: dict[int, Walk], filter: Any, n: int) -> tuple[Followed, Followed]:
    """A filter, and bootstrap with as many particles as take its time, on the same runs and by turns: looked for on a few of them, and
    then on all, until the times differ by no more than `TOLERANCE`; the nearest of `TRIES` where none does."""
    few, m = dict(list(walks.items())[:CALIBRATION]), float(n)
    seen: list[tuple[float, float]] = []
    nearest: list[Followed] = []
    on_all, least = False, math.inf
    for _ in range(TRIES):
        if not on_all and len(seen) > 1 and abs(seen[-1][1]) < math.log1p(2 * TOLERANCE):
            on_all, seen = True, []
        ours, theirs = interleaved(walks if on_all else few, [filter, BootstrapFilter(max(1, round(m)))], SECONDS)
        measured = ratio(ours, theirs)
        print(f"  {filter.name}({n}): bootstrap({m:.0f}) takes {measured:.3f} of its time{' on all runs' if on_all else ''}", flush=True)
        if on_all and abs(measured - 1.0) < least:
            nearest, least = [ours, theirs], abs(measured - 1.0)
        if least <= TOLERANCE:
            break
        seen.append((math.log(m), math.log(measured)))
        sizes, times = (np.array(column) for column in zip(*seen[-3:], strict=True))
        steep = float(np.polyfit(sizes, times, 1)[0]) if np.ptp(sizes) > 0.1 else 1.0
        slope = min(1.5, max(0.3, steep))
        m = max(1.0, m * math.exp(float(np.clip(-seen[-1][1] / slope, -1.5, 1.5))))
    ours, theirs = nearest or interleaved(walks, [filter, BootstrapFilter(max(1, round(m)))], SECONDS)
    return ours, theirs


def equal(case: Case, runs: int, n: int, filter: Any) -> list[Record]:
    """A filter against bootstrap with n particles, and with as many as take its time."""
    walks, records = {seed: case.walk(seed) for seed in range(SEEDS, SEEDS + runs)}, []
    for what in ("particles", "time"):
        ours, theirs = interleaved(walks, [filter, BootstrapFilter(n)]) if what == "particles" else balanced(walks, filter, n)
        difference = ours.errors - theirs.errors
        half = 1.96 * float(difference.std(ddof=1)) / math.sqrt(runs)
        record: Record = {"equal": what, "runs": runs, "filter": filter.name, "particles": filter.particles}
        for name, one in (("filter", ours), ("bootstrap", theirs)):
            record |= {f"{name}_N": float(one.sizes.mean()), f"{name}_ms": 1e3 * float(one.seconds.mean())}
            record |= {f"{name}_error": float(one.errors.mean()), f"{name}_wrong": int(one.wrong.sum())}
        records.append(record | {"ratio": ratio(ours, theirs), "difference": float(difference.mean()), "half": half})
    return records


def study(names: list[str], runs: int = RUNS) -> list[Record]:
    records = []
    for name in names:
        case = CASES[name]
        for n in case.sizes:
            for kind in KINDS.values():
                rows = equal(case, runs, n, kind(n))
                records += [{"case": name, "measure": case.measure, **record} for record in rows]
                print(records[-1], flush=True)
    return records


def keep_memory() -> None:
    """What is freed stays with the process. Else large arrays are asked of the system and given back at each update or not, by what was
    freed before, and the same update takes half as long again in one run as in the next."""
    with contextlib.suppress(OSError, AttributeError):  # of glibc
        libc = ctypes.CDLL("libc.so.6")
        for option in (-3, -1):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
            libc.mallopt(option, 32 << 20 if option == -3 else 1 << 30)


def main(names: list[str]) -> None:
    """Each case is saved as soon as it is done."""
    keep_memory()
    path, order = FOLDER / "equal.csv", list(CASES)
    for name in names or order:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", airoas.ParticleDeprivationWarning)  # what a filter loses is what is measured
            rows = study([name])
        known: list[Record] = []
        if path.exists():
            with open(path, newline="") as file:
                known = [row for row in csv.DictReader(file) if row["case"] != name and list(row) == list(rows[0])]
        save(path, sorted(known + rows, key=lambda row: order.index(row["case"])))


if __name__ == "__main__":
    main(sys.argv[1:])
