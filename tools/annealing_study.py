"""How well filters follow a posterior, with and without annealing: the data of docs/annealing.md.

`python -m tools.annealing_study` (some minutes on one core) writes docs/annealing/*.csv; with names of studies, these alone. Every
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
REPLICATES, WALKS = 200, 100
"""Of the two studies."""
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


STUDIES: dict[str, Callable[[], list[Record]]] = {"conjugate": conjugate, "light": light}


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
