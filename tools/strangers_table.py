"""How far AIROAS gets from random to the reference on the models without hints, as a table:

`python -m tools.strangers_table results/strangers/first results/strangers/second`. Of a model in several folders the last one counts.
References and random are those of results/strangers/references.json, which `python -m benchmarks.strangers` writes.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import airoas
from airoas.experiments.analysis.statistics import Estimate, estimate, student_quantile
from tools.marks import ROOT

REFERENCES = ROOT / "results" / "strangers" / "references.json"
Known = tuple[float, float, int]
"""A mean, its standard error, and of how many episodes."""


def fraction(earned: Known, random: Known, reference: Known) -> tuple[float, float, float]:
    """(earned - random) / (reference - random), and the ends of its 95 % interval by Fieller's theorem, nan where it has none.

    A fraction f is in the interval where earned - (1 - f) random - f reference, of independent means, does not differ from 0. Degrees of
    freedom are those of the smallest of the three.
    """
    above, whole = earned[0] - random[0], reference[0] - random[0]
    t = student_quantile(min(earned[2], random[2], reference[2]) - 1)
    own, low, high = ((t * known[1]) ** 2 for known in (earned, random, reference))
    square, half, rest = whole * whole - low - high, above * whole - low, above * above - own - low
    root = half * half - square * rest
    if square <= 0.0 or root < 0.0:
        return above / whole, math.nan, math.nan
    return above / whole, (half - math.sqrt(root)) / square, (half + math.sqrt(root)) / square


def latest_returns(folders: list[Path], label: str = "airoas") -> dict[str, tuple[str, Estimate]]:
    """By model: the folder that counts, and the returns there."""
    known: dict[str, tuple[str, Estimate]] = {}
    for folder in folders:
        returns: dict[str, list[float]] = {}
        for row in airoas.load(folder):
            if row["label"] == label and "error" not in row:
                returns.setdefault(row["domain"], []).append(row["discounted_return"])
        known |= {domain: (folder.name, estimate(values)) for domain, values in returns.items()}
    return known


def table(references: dict[str, Any], known: dict[str, tuple[str, Estimate]]) -> str:
    """In the references' order; a model without episodes of AIROAS has no line."""
    lines = [
        "| model | random | n | reference | n | AIROAS | n | run | fraction (95 %) |",
        "|---|---:|---:|---:|---:|---:|---:|---|---:|",
    ]
    for name, record in references.items():
        if name in known:
            run, earned = known[name]
            ends = [(record[who]["mean"], record[who]["sem"], record[who]["n"]) for who in ("random", "reference")]
            three = [*ends, (earned.mean, earned.sem, earned.n)]
            cells = " | ".join(f"{mean:.1f} ± {sem:.1f} | {n}" for mean, sem, n in three)
            middle, low, high = fraction(three[2], *ends)
            lines.append(f"| {name} | {cells} | {run} | {middle:.2f} ({low:.2f} to {high:.2f}) |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="of rows, as `airoas bench strangers --out FOLDER` leaves them")
    parser.add_argument("--references", type=Path, default=REFERENCES, metavar="FILE")
    options = parser.parse_args()
    print(table(json.loads(options.references.read_text(encoding="utf-8")), latest_returns(options.folders)))


if __name__ == "__main__":
    main()
