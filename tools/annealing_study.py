"""How well filters follow a posterior, with and without annealing: the data of docs/annealing.md.

`python -m tools.annealing_study` (about ten minutes on one core) writes docs/annealing/*.csv; with names of studies, these alone. Every
interval is one of 95 %: percentiles of 2000 resamples of the runs, or mean +- 1.96 standard errors for differences of pairs.
"""

from __future__ import annotations

import csv
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import airoas
from airoas import Particles, Rng, anneal
from airoas.catalog import find_domain
from tools.marks import ROOT

FOLDER = ROOT / "docs" / "annealing"
REPLICATES, WALKS, RUNS = 200, 100, 150
"""Of the three studies."""
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
Record = dict[str, Any]
"""A line of a study's table."""


class Reading(NamedTuple):
    y: float


State = tuple[float]


@airoas.model
class Gauss(NamedTuple):
    """From 0 by a standard normal step, seen with noise sd."""

    sd: float = 0.01
    discount: float = 0.9

    def actions(self) -> tuple[str, ...]:
        return ("wait",)

    def initial(self, rng: Rng) -> State:
        return (0.0,)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        return (s[0] + rng.normal(),), 0.0

    def step_logpdf(self, s2: State, s: State, a: int) -> float:
        z = s2[0] - s[0]
        return -0.5 * z * z - LOG_SQRT_2PI

    def observe(self, s: State, a: int, rng: Rng) -> Reading:
        return Reading(s[0] + self.sd * rng.normal())

    def obs_logpdf(self, o: Reading, s: State, a: int) -> float:
        z = (o.y - s[0]) / self.sd
        return -0.5 * z * z - math.log(self.sd) - LOG_SQRT_2PI


METHODS: dict[str, dict[str, Any]] = {
    "bootstrap": {"mode": "none"},
    "printed, leaf weights L": {"mode": "literal"},
    "printed, leaf weights 1": {"mode": "literal", "literal_weights": "one"},
    "corrected, ancestors and noise": {"move": "ancestors"},
    "corrected, walk": {"move": "walk"},
    "corrected, resimulate": {"move": "resimulate"},
}


def interval(values: np.ndarray, statistic: Callable[[np.ndarray], Any]) -> tuple[float, float]:
    """95 % percentiles of a statistic over resampled values."""
    generator = np.random.default_rng(0)
    drawn = statistic(values[generator.integers(len(values), size=(2000, len(values)))])
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def root_mean_square(x: np.ndarray) -> Any:
    return np.sqrt(np.square(x).mean(axis=-1))


def mean(x: np.ndarray) -> Any:
    return x.mean(axis=-1)


def median(x: np.ndarray) -> Any:
    return np.median(x, axis=-1)


def conjugate(replicates: int = REPLICATES, sizes: tuple[int, ...] = (100, 500, 2000)) -> list[Record]:
    """Prior N(0, 1), one reading: errors of each method against the exact posterior and evidence."""
    records = []
    for sd, y in ((0.01, 1.5), (1.0, 1.0)):
        precision, total = 1.0 + 1.0 / sd**2, 1.0 + sd**2
        exact_mean, exact_sd = y / sd**2 / precision, precision**-0.5
        exact_evidence = -0.5 * y * y / total - 0.5 * math.log(2.0 * math.pi * total)
        for n in sizes:
            for method, options in METHODS.items():
                belief = Particles(np.zeros((n, 1)))
                runs = [anneal(Gauss(sd), belief, 0, Reading(y), airoas.stream(k, method), **options) for k in range(replicates)]
                record: Record = {"sd": sd, "o": y, "N": n, "method": method, "n": replicates}
                columns = {
                    "rmse": (np.array([r.belief.mean()[0] - exact_mean for r in runs]) / exact_sd, root_mean_square),
                    "sd_ratio": (np.array([r.belief.std()[0] for r in runs]) / exact_sd, median),
                    "log_evidence_bias": (np.array([r.log_evidence for r in runs]) - exact_evidence, mean),
                }
                for name, (values, statistic) in columns.items():
                    low, high = interval(values, statistic)
                    record |= {name: float(statistic(values)), f"{name}_low": low, f"{name}_high": high}
                record |= {"last_beta": float(np.median([r.betas[-1] for r in runs]))}
                record |= {"evaluations": float(np.mean([r.evaluations for r in runs]))}
                records.append(record)
    return records


def light(walks: int = WALKS, sizes: tuple[int, ...] = (100, 200, 500)) -> list[Record]:
    """light-dark-2d: walk to the light and stay, 14 steps; the error of the belief's mean at the end."""
    model = find_domain("light-dark-2d")(0)
    records = []
    for n in sizes:
        for method in ("bootstrap", "annealed"):
            errors = []
            for seed in range(walks):
                world, rng = airoas.stream(seed, "world"), airoas.stream(seed, method, n)
                s, belief = model.initial(world), Particles.sample(model, n, rng)
                for _ in range(14):
                    distance = 5.0 - belief.mean()[0]
                    way = "east" if distance > 0.0 else "west"
                    a = model.action_names.index(way if abs(distance) > 0.5 else f"{way}-short")
                    s, _ = model.step(s, a, world)
                    belief = airoas.update(model, belief, a, model.observe(s, a, world), rng, method)
                errors.append(math.dist(belief.mean()[:2], s[:2]))
            values = np.array(errors)
            low, high = interval(values, median)
            record = {"N": n, "method": method, "n": len(values), "median_error": float(np.median(values)), "median_error_low": low}
            records.append(record | {"median_error_high": high, "p90_error": float(np.quantile(values, 0.9))})
    return records


def marginals(model: Any, belief: Particles) -> np.ndarray:
    """[marginals, values]: the opponent's cell, or whether each rock is good."""
    if hasattr(model, "n_rocks"):
        bits = belief.states[:, 2].astype(np.int64)
        return np.stack([np.bincount(bits >> i & 1, weights=belief.weights, minlength=2) for i in range(model.n_rocks)])
    return np.bincount(belief.states[:, 1].astype(np.int64), weights=belief.weights, minlength=model.n_cells)[None]


def start(model: Any, s: Any, n: int, seed: int) -> tuple[Particles, Particles]:
    """n particles and the exact belief; the robot's own cell is known, the opponent's is not."""
    if hasattr(model, "n_rocks"):
        return Particles.sample(model, n, airoas.stream(seed, "start", n)), Particles.exact(model)
    drawn = np.random.default_rng((seed, n)).integers(model.n_cells, size=n)
    both = (np.column_stack([np.full(len(c), float(s[0])), c, np.zeros(len(c))]) for c in (drawn, np.arange(model.n_cells)))
    first, second = (Particles(rows) for rows in both)
    return first, second


def filters(runs: int = RUNS, sizes: tuple[int, ...] = (200, 1000, 5000)) -> list[Record]:
    """Total variation to the exact filter after six random actions; annealed, and bootstrap with as many particles or likelihoods."""
    records = []
    for name in ("tag", "laser-tag", "rock-sample-7-8"):
        model = find_domain(name)(0)
        cost = 1.0
        for n in sizes:
            for equal in ("particles", "likelihoods"):
                m = n if equal == "particles" else round(n * cost)
                followed = [_followed(model, name, n, m, seed, runs) for seed in range(runs)]
                cost = float(np.mean([cost for one in followed for cost in one.costs]))
                values = np.array([one.distances for one in followed if one.distances])
                difference = values[:, 0] - values[:, 1]
                half = 1.96 * float(difference.std()) / math.sqrt(len(values))
                record: Record = {"domain": name, "N": n, "equal": equal, "bootstrap_N": m, "n": len(values), "likelihoods": cost}
                record |= {"annealed": float(values[:, 0].mean()), "bootstrap": float(values[:, 1].mean())}
                centre = float(difference.mean())
                records.append(record | {"difference": centre, "low": centre - half, "high": centre + half})
    return records


class _Followed(NamedTuple):
    costs: list[float]
    """Likelihoods for each particle, update by update."""
    distances: list[float]
    """Of the annealed and of the bootstrap filter from the exact one at the end; none where the episode ended before."""


def _followed(model: Any, name: str, n: int, m: int, seed: int, runs: int) -> _Followed:
    """Six random actions seen by three filters: annealed with n particles, bootstrap with m, exact."""
    world, rng = airoas.stream(seed, "world", name), airoas.stream(seed, "filter", n)
    s = model.initial(world)
    (ours, exact), theirs = start(model, s, n, seed), start(model, s, m, seed + runs)[0]
    costs: list[float] = []
    for _ in range(6):
        legal = [a for a in range(model.n_actions) if model.legal(s, a)]
        a = legal[world.integer(len(legal))]
        s, _ = model.step(s, a, world)
        if model.is_terminal(s):
            return _Followed(costs, [])
        o = model.observe(s, a, world)
        exact = airoas.update(model, exact, a, o, rng, "exact")
        theirs = airoas.update(model, theirs, a, o, rng, "bootstrap")
        try:
            annealed = anneal(model, ours, a, o, rng)
        except airoas.ParticleDeprivationError:
            ours = airoas.update(model, ours, a, o, rng, "annealed")
            costs.append(11.0)
            continue
        # a pursuit's own `move` looks at five successors
        costs.append(1.0 + (annealed.evaluations - 1.0) * (5.0 if annealed.move == "move" else 1.0))
        ours = annealed.belief if annealed.belief.ess >= n / 2 else annealed.belief.draw(n, rng)
    truth = marginals(model, exact)
    return _Followed(costs, [0.5 * float(np.abs(marginals(model, b) - truth).sum(1).mean()) for b in (ours, theirs)])


STUDIES: dict[str, Callable[[], list[Record]]] = {"conjugate": conjugate, "light": light, "filters": filters}


def save(path: Path, records: list[Record]) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, records[0].keys())
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in record.items()} for record in records)


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in names or STUDIES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", airoas.ParticleDeprivationWarning)  # what a filter loses is what is measured
            save(FOLDER / f"{name}.csv", STUDIES[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
