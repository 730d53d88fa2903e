"""The tables and the plot of docs/annealing.md, from docs/annealing/*.csv: `python -m tools.annealing_page`.

`python -m tools.annealing_study` and `python -m tools.filter_study` make the data.
"""

from __future__ import annotations

import csv
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from tools.annealing_study import FOLDER, METHODS, Record
from tools.marks import ROOT, fill, table

PAGE = ROOT / "docs" / "annealing.md"
COLOURS = dict(zip(METHODS, ("#555555", "#D55E00", "#E69F00", "#0072B2", "#56B4E9", "#009E73"), strict=True))


def load(name: str) -> list[Record]:
    def number(text: str) -> Any:
        try:
            return float(text)
        except ValueError:
            return text

    with open(FOLDER / f"{name}.csv", newline="") as file:
        return [{k: number(v) for k, v in row.items()} for row in csv.DictReader(file)]


def ranged(row: Record, name: str, digits: int = 2) -> str:
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
        "equal": table(
            [
                "",
                "filter",
                "particles",
                "its N",
                "ms",
                "error",
                "sure and wrong",
                "bootstrap's N",
                "ms",
                "its time / filter's",
                "error",
                "sure and wrong",
                "difference",
            ],
            [
                [
                    r["case"],
                    r["filter"],
                    f"{r['particles']:.0f}",
                    f"{r['filter_N']:.0f}",
                    f"{r['filter_ms']:.2f}",
                    f"{r['filter_error']:.3f}",
                    f"{r['filter_wrong']:.0f}",
                    f"{r['bootstrap_N']:.0f} (equal {r['equal']})",
                    f"{r['bootstrap_ms']:.2f}",
                    f"{r['ratio']:.2f}",
                    f"{r['bootstrap_error']:.3f}",
                    f"{r['bootstrap_wrong']:.0f}",
                    f"{r['difference']:+.3f} ± {r['half']:.3f}",
                ]
                for r in load("equal")
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


if __name__ == "__main__":
    fill(PAGE, tables())
    plot()
