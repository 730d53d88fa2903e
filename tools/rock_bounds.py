"""Proved upper bounds of RockSample, map by map: `python -m tools.rock_bounds 11 15` writes docs/results/rock-bounds.csv.

Replace a check of accuracy eta by one that tells the truth with probability 2 eta - 1 and else nothing. Turning that silence
into a coin's toss gives back the noisy check, so the new problem is worth at least as much. And it is solved exactly: a rock
is known or unknown. 100 maps of 15 rocks take three quarters of an hour on two cores, and 6 GB.
"""

from __future__ import annotations

import csv
import itertools
import math
import sys
from functools import cache
from typing import Any

import numba
import numpy as np

from airoas.catalog import find_domain
from tools.marks import ROOT

FILE = ROOT / "docs" / "results" / "rock-bounds.csv"
FIRST, MAPS = 90_000, 100
"""The maps of the seeds from 900,000 on."""


@numba.njit
def raise_to(values: np.ndarray, others: np.ndarray, factor: float) -> None:
    for i in range(len(values)):
        other = factor * others[i]
        values[i] = other if other > values[i] else values[i]


@numba.njit
def spread(values: np.ndarray, discount: float) -> None:
    """The best of staying and of walking to any other cell, in place: values [x, y], a factor `discount` for each move."""
    n = len(values)
    for _ in range(2):  # east and west, then on the mirror image north and south
        for x in range(1, n):
            raise_to(values[x], values[x - 1], discount)
        for x in range(n - 2, -1, -1):
            raise_to(values[x], values[x + 1], discount)
        for x in range(n):
            for y in range(x):
                values[x, y], values[y, x] = values[y, x], values[x, y]


@numba.njit
def raise_by_check(values: np.ndarray, factors: np.ndarray, if_bad: np.ndarray, if_good: np.ndarray) -> None:
    for i in range(len(values)):
        checked = factors[i] * (if_bad[i] + if_good[i])
        values[i] = checked if checked > values[i] else values[i]


@numba.njit(parallel=True)
def solve(
    out: np.ndarray, unknown: np.ndarray, before: np.ndarray, index: np.ndarray, checks: np.ndarray, cells: np.ndarray, discount: float
) -> None:
    """Write V [sets, known good, cells] for the sets U of unknown rocks of one size; `before` is V of the sets with one rock less,
    each at its `index`. The good rocks are a subset of those outside U, written as bits over these alone."""
    k, n = len(cells), round(math.sqrt(out.shape[2]))
    for row in numba.prange(len(unknown)):
        known = [i for i in range(k) if not unknown[row] >> i & 1]
        for good in range(out.shape[1]):
            values = out[row, good]
            values[:] = 0.0
            for y in range(n):
                values[n * (n - 1) + y] = 10.0
            for bit in range(len(known)):
                if good >> bit & 1:
                    cell = cells[known[bit]]
                    values[cell] = max(values[cell], np.float32(10.0) + discount * out[row, good ^ (1 << bit), cell])
            below = 0  # how many rocks before i are known: where i's bit goes once it is known too
            for i in range(k):
                if not unknown[row] >> i & 1:
                    below += 1
                    continue
                set_ = index[unknown[row] ^ (1 << i)]
                bad = good >> below << (below + 1) | good & ((1 << below) - 1)
                raise_by_check(values, checks[i], before[set_, bad], before[set_, bad | 1 << below])
            spread(values.reshape(n, n), discount)


@cache
def workspace(numbers: int) -> tuple[np.ndarray, np.ndarray]:
    """Space for the values of two sizes of sets, used again by the next map: new memory takes half as long as the values themselves."""
    return np.empty(numbers, dtype=np.float32), np.empty(numbers, dtype=np.float32)


def bound(model: Any) -> float:
    """The value of the start where checks erase."""
    n, k, discount = model.size, model.n_rocks, model.discount
    truth = 2.0 * model.accuracy.transpose(2, 0, 1).reshape(k, n * n) - 1.0  # [rock, n x + y]
    # the same check is repeated until it tells: discount * truth * (mean of both) + discount * (1 - truth) * itself
    checks = (0.5 * discount * truth / (1.0 - discount * (1.0 - truth))).astype(np.float32)
    cells = np.array([n * x + y for x, y in model.rocks])
    index = np.zeros(1 << k, dtype=np.int64)
    shapes = [(math.comb(k, size), 1 << (k - size), n * n) for size in range(k + 1)]
    space = workspace(max(map(math.prod, shapes)))
    values = np.zeros((1, 1, n * n), dtype=np.float32)
    for size, shape in enumerate(shapes):
        sets = np.array([sum(1 << i for i in chosen) for chosen in itertools.combinations(range(k), size)])
        before, values = values, space[size % 2][: math.prod(shape)].reshape(shape)
        solve(values, sets, before, index, checks, cells, np.float32(discount))
        index[sets] = np.arange(len(sets))
    return float(values[0, 0, n * model.start[0] + model.start[1]])


def main() -> None:
    rows = {}
    if FILE.exists():
        with open(FILE, newline="") as file:
            rows = {(row["domain"], int(row["map"])): float(row["bound"]) for row in csv.DictReader(file)}
    for size in sys.argv[1:]:
        domain = f"rock-sample-random-{size}-{size}"
        for number in range(FIRST, FIRST + MAPS):
            if (domain, number) not in rows:
                rows[domain, number] = bound(find_domain(domain)(10 * number))
                FILE.parent.mkdir(exist_ok=True)
                with open(FILE, "w", newline="") as file:
                    writer = csv.writer(file, lineterminator="\n")
                    writer.writerow(("domain", "map", "bound"))
                    writer.writerows((*key, f"{value:.4f}") for key, value in sorted(rows.items()))
                print(domain, number, f"{rows[domain, number]:.4f}", flush=True)


if __name__ == "__main__":
    main()
