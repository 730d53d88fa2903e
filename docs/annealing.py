"""Make the data, the tables and the plot of docs/annealing.md: `python docs/annealing.py` (about ten minutes on one core).

Writes docs/annealing/*.csv and annealing.png, and puts the tables into docs/annealing.md between their marks. Every
interval is one of 95 %: percentiles of 2000 resamples of the runs, or mean +- 1.96 standard errors for differences of pairs.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import airoas
from airoas import Particles, anneal
from airoas.belief.filters.update import make_filter
from airoas.catalog import find_domain

FOLDER = Path(__file__).parent / "annealing"
PAGE = Path(__file__).parent / "annealing.md"
REPLICATES, RUNS = 200, 150
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


class Reading(NamedTuple):
    y: float


@airoas.model
class Gauss(NamedTuple):
    """From 0 by a standard normal step, seen with noise sd."""

    sd: float = 0.01
    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return (0.0,)

    def step(self, s, a, rng):
        return (s[0] + rng.normal(),), 0.0

    def step_logpdf(self, s2, s, a):
        z = s2[0] - s[0]
        return -0.5 * z * z - LOG_SQRT_2PI

    def observe(self, s, a, rng):
        return Reading(s[0] + self.sd * rng.normal())

    def obs_logpdf(self, o, s, a):
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
COLOURS = dict(zip(METHODS, ("#555555", "#D55E00", "#E69F00", "#0072B2", "#56B4E9", "#009E73"), strict=True))


def interval(values: np.ndarray, statistic: Any) -> tuple[float, float]:
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


def conjugate() -> list[dict[str, Any]]:
    """Prior N(0, 1), one reading: errors of each method against the exact posterior and evidence."""
    rows = []
    for sd, y in ((0.01, 1.5), (1.0, 1.0)):
        precision, total = 1.0 + 1.0 / sd**2, 1.0 + sd**2
        exact_mean, exact_sd = y / sd**2 / precision, precision**-0.5
        exact_evidence = -0.5 * y * y / total - 0.5 * math.log(2.0 * math.pi * total)
        for n in (100, 500, 2000):
            for method, options in METHODS.items():
                belief = Particles(np.zeros((n, 1)))
                runs = [anneal(Gauss(sd), belief, 0, Reading(y), airoas.stream(k, method), **options) for k in range(REPLICATES)]
                row: dict[str, Any] = {"sd": sd, "o": y, "N": n, "method": method, "n": REPLICATES}
                columns = {
                    "rmse": (np.array([r.belief.mean()[0] - exact_mean for r in runs]) / exact_sd, root_mean_square),
                    "sd_ratio": (np.array([r.belief.std()[0] for r in runs]) / exact_sd, median),
                    "log_evidence_bias": (np.array([r.log_evidence for r in runs]) - exact_evidence, mean),
                }
                for name, (values, statistic) in columns.items():
                    low, high = interval(values, statistic)
                    row |= {name: float(statistic(values)), f"{name}_low": low, f"{name}_high": high}
                row |= {"last_beta": float(np.median([r.betas[-1] for r in runs]))}
                row |= {"evaluations": float(np.mean([r.evaluations for r in runs]))}
                rows.append(row)
                print(row, flush=True)
    return rows


def light() -> list[dict[str, Any]]:
    """light-dark-2d: walk to the light and stay, 14 steps; the error of the belief's mean at the end."""
    model = find_domain("light-dark-2d")(0)
    rows = []
    for n in (100, 200, 500):
        for method in ("bootstrap", "annealed"):
            errors = []
            for seed in range(100):
                world, rng = airoas.stream(seed, "world"), airoas.stream(seed, method, n)
                s, belief = model.initial(world), Particles.sample(model, n, rng)
                for _ in range(14):
                    away = 5.0 - belief.mean()[0]
                    way = "east" if away > 0.0 else "west"
                    a = model.action_names.index(way if abs(away) > 0.5 else f"{way}-short")
                    s, _ = model.step(s, a, world)
                    belief = make_filter(method, model).update(model, belief, a, model.observe(s, a, world), rng).belief
                errors.append(math.dist(belief.mean()[:2], s[:2]))
            values = np.array(errors)
            low, high = interval(values, median)
            row = {"N": n, "method": method, "n": len(values), "median_error": float(np.median(values)), "median_error_low": low}
            rows.append(row | {"median_error_high": high, "p90_error": float(np.quantile(values, 0.9))})
            print(rows[-1], flush=True)
    return rows


def marginals(model: Any, belief: Particles) -> np.ndarray:
    """[marginals, values]: the opponent's cell, or each rock's worth."""
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


def filters() -> list[dict[str, Any]]:
    """Total variation to the exact filter after six random actions; annealed, and bootstrap with as many particles or likelihoods."""
    rows = []
    for name in ("tag", "laser-tag", "rock-sample-7-8"):
        model = find_domain(name)(0)
        cost = 1.0
        for n in (200, 1000, 5000):
            for other in ("particles", "likelihoods"):
                m = n if other == "particles" else round(n * cost)
                pairs, spent = [], []
                for seed in range(RUNS):
                    world, rng = airoas.stream(seed, "world", name), airoas.stream(seed, "filter", n)
                    s = model.initial(world)
                    (ours, exact), theirs = start(model, s, n, seed), start(model, s, m, seed + RUNS)[0]
                    for _ in range(6):
                        legal = [a for a in range(model.n_actions) if model.legal(s, a)]
                        a = legal[world.integer(len(legal))]
                        s, _ = model.step(s, a, world)
                        if model.is_terminal(s):
                            break
                        o = model.observe(s, a, world)
                        exact = airoas.update(model, exact, a, o, rng, "exact")
                        theirs = make_filter("bootstrap", model).update(model, theirs, a, o, rng).belief
                        try:
                            found = anneal(model, ours, a, o, rng)
                        except airoas.ParticleDeprivationError:
                            ours = make_filter("annealed", model).update(model, ours, a, o, rng).belief
                            spent.append(11.0)
                            continue
                        # a pursuit's own `move` looks at five successors
                        spent.append(1.0 + (found.evaluations - 1.0) * (5.0 if found.move == "move" else 1.0))
                        ours = found.belief if found.belief.ess >= n / 2 else found.belief.draw(n, rng)
                    else:
                        truth = marginals(model, exact)
                        pairs.append([0.5 * np.abs(marginals(model, b) - truth).sum(1).mean() for b in (ours, theirs)])
                cost = float(np.mean(spent))
                values = np.array(pairs)
                difference = values[:, 0] - values[:, 1]
                half = 1.96 * float(difference.std()) / math.sqrt(len(values))
                row = {"domain": name, "N": n, "equal": other, "bootstrap_N": m, "n": len(values), "likelihoods": cost}
                row |= {"annealed": float(values[:, 0].mean()), "bootstrap": float(values[:, 1].mean())}
                row |= {
                    "difference": float(difference.mean()),
                    "low": float(difference.mean()) - half,
                    "high": float(difference.mean()) + half,
                }
                rows.append(row)
                print(row, flush=True)
    return rows


def save(name: str, rows: list[dict[str, Any]]) -> None:
    with open(FOLDER / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def load(name: str) -> list[dict[str, Any]]:
    def number(text: str) -> Any:
        try:
            return float(text)
        except ValueError:
            return text

    with open(FOLDER / f"{name}.csv", newline="") as file:
        return [{k: number(v) for k, v in row.items()} for row in csv.DictReader(file)]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def ranged(row: dict[str, Any], name: str, digits: int = 2) -> str:
    return f"{row[name]:.{digits}f} ({row[f'{name}_low']:.{digits}f} to {row[f'{name}_high']:.{digits}f})"


def tables() -> dict[str, str]:
    def of_case(sd: float, sizes: tuple[int, ...]) -> str:
        return table(
            ["N", "method", "RMSE of the mean, in posterior sd", "sd ratio (median)", "log evidence, bias", "last beta", "likelihoods"],
            [
                [
                    f"{row['N']:.0f}",
                    row["method"],
                    ranged(row, "rmse"),
                    ranged(row, "sd_ratio"),
                    ranged(row, "log_evidence_bias"),
                    f"{row['last_beta']:.4g}",
                    f"{row['evaluations']:.0f}",
                ]
                for row in load("conjugate")
                if row["sd"] == sd and row["N"] in sizes
            ],
        )

    return {
        "sharp": of_case(0.01, (100, 500, 2000)),
        "mild": of_case(1.0, (500,)),
        "light": table(
            ["N", "filter", "runs", "median error (95 %)", "90th percentile"],
            [[f"{r['N']:.0f}", r["method"], f"{r['n']:.0f}", ranged(r, "median_error", 4), f"{r['p90_error']:.3f}"] for r in load("light")],
        ),
        "filters": table(
            ["domain", "N annealed", "N bootstrap", "runs", "likelihoods per particle", "annealed", "bootstrap", "difference (95 %)"],
            [
                [
                    r["domain"],
                    f"{r['N']:.0f}",
                    f"{r['bootstrap_N']:.0f}",
                    f"{r['n']:.0f}",
                    f"{r['likelihoods']:.2f}",
                    f"{r['annealed']:.4f}",
                    f"{r['bootstrap']:.4f}",
                    f"{r['difference']:+.4f} ({r['low']:+.4f} to {r['high']:+.4f})",
                ]
                for r in load("filters")
            ],
        ),
    }


def plot() -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    sharp = [row for row in load("conjugate") if row["sd"] == 0.01]
    for axis, name, label in (
        (left, "rmse", "RMSE of the mean / posterior sd"),
        (middle, "sd_ratio", "belief's sd / posterior sd (median)"),
    ):
        for k, (method, colour) in enumerate(COLOURS.items()):
            rows = [row for row in sharp if row["method"] == method]
            x = np.array([row["N"] for row in rows]) * 1.04 ** (k - 2.5)
            y = np.array([row[name] for row in rows])
            error = np.abs(np.array([[row[f"{name}_low"], row[f"{name}_high"]] for row in rows]).T - y)
            axis.errorbar(x, y, yerr=error, color=colour, marker="o^vsDP"[k], markersize=5, linewidth=1.4, capsize=2, label=method)
        axis.set(xscale="log", yscale="log", xlabel="particles N", ylabel=label)
        axis.set_xticks([100, 500, 2000], labels=["100", "500", "2000"])
        axis.minorticks_off()
    middle.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
    left.set_title("one sharp reading (1/100 of the prior's sd)", fontsize=10)
    middle.set_title("the same runs: width of the belief", fontsize=10)
    for method, colour, marker in (("bootstrap", "#555555", "o"), ("annealed", "#0072B2", "s")):
        rows = [row for row in load("light") if row["method"] == method]
        y = np.array([row["median_error"] for row in rows])
        error = np.abs(np.array([[row["median_error_low"], row["median_error_high"]] for row in rows]).T - y)
        right.errorbar([row["N"] for row in rows], y, yerr=error, color=colour, marker=marker, capsize=2, label=method)
    right.axhline(0.005, color="black", linewidth=0.8, linestyle=":", label="sensor in the light")
    right.set(xscale="log", yscale="log", xlabel="particles N", ylabel="median error of the mean after 14 steps")
    right.set_xticks([100, 200, 500], labels=["100", "200", "500"])
    right.minorticks_off()
    right.set_title("light-dark-2d, 100 runs", fontsize=10)
    right.legend(fontsize=8)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=6, fontsize=8, frameon=False)
    figure.savefig(FOLDER / "annealing.png", dpi=120)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    makers = {"conjugate": conjugate, "light": light, "filters": filters}
    for name in sys.argv[1:] or makers:
        if name in makers:
            save(name, makers[name]())
    text = PAGE.read_text()
    for name, made in tables().items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{made}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text)
    plot()


if __name__ == "__main__":
    main()
