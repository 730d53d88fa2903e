"""Means with their uncertainty: Student intervals, paired differences, and the correction of Holm (1979) for many of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and how well it is known. `groups` counts what is independent: maps where episodes share them, else episodes."""

    n: int
    groups: int
    mean: float
    sem: float
    low: float
    high: float
    p: float
    """Of the hypothesis that the mean is 0, two-sided."""


def estimate(values: Sequence[float], groups: Sequence[int] | None = None) -> Estimate:
    """The mean of the values with its standard error and a 95 % Student interval.

    Values of one group (episodes on one map) may be alike: the error is then that of a mean over groups, with as many
    degrees of freedom as groups less one. A single group stands for itself alone, and its values count as independent.
    """
    x = np.asarray(values, dtype=np.float64)
    n = len(x)
    if n == 0:
        return Estimate(0, 0, math.nan, math.nan, math.nan, math.nan, math.nan)
    members = np.unique(np.asarray(groups), return_inverse=True)[1] if groups is not None else np.arange(n)
    if members.max() == 0:
        members = np.arange(n)
    m = int(members.max()) + 1
    mean = float(x.mean())
    if m < 2:
        return Estimate(n, m, mean, math.nan, math.nan, math.nan, math.nan)
    sums = np.bincount(members, x - mean)
    sem = math.sqrt(m / (m - 1) * float(sums @ sums)) / n
    half = student_quantile(m - 1) * sem
    ratio = mean / sem if sem > 0.0 else (0.0 if mean == 0.0 else math.inf)
    return Estimate(n, m, mean, sem, mean - half, mean + half, student_tail(ratio, m - 1))


def holm(p: Sequence[float]) -> list[float]:
    """The p values adjusted so that one false alarm among all of them is as likely as one p value promises. nan stays nan."""
    adjusted = [math.nan] * len(p)
    known = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    least = 0.0
    for rank, (value, i) in enumerate(known):
        least = max(least, min(1.0, (len(known) - rank) * value))
        adjusted[i] = least
    return adjusted


def holm_limits(known: Sequence[Estimate], margins: Sequence[float]) -> list[tuple[float, float]]:
    """An interval for each mean. Its lower end is above -margin where Holm's procedure shows, at 95 % for all of them
    together, that the mean is: the k-th clearest of m has the level 1 - 0.05 / (m - k + 1), and those that come after the
    first that fails have that one's. nan where nothing is known."""
    limits = [(math.nan, math.nan)] * len(known)
    measured = [i for i in range(len(known)) if not math.isnan(known[i].sem)]
    order = sorted(measured, key=lambda i: one_sided_p(known[i], -margins[i]))
    left = len(order)
    for i in order:
        half = student_quantile(known[i].groups - 1, 1.0 - (1.0 - LEVEL) / left) * known[i].sem
        limits[i] = known[i].mean - half, known[i].mean + half
        left -= limits[i][0] > -margins[i]
    return limits


def one_sided_p(known: Estimate, bar: float = 0.0) -> float:
    """Of the hypothesis that the mean is at or below `bar`; 1 where nothing is known."""
    if math.isnan(known.sem):
        return 1.0
    above = known.mean - bar
    tail = student_tail(above / known.sem if known.sem > 0.0 else math.inf, known.groups - 1)
    return 0.5 * tail if above > 0.0 else 1.0 - 0.5 * tail


def holm_sequences(p: Sequence[Sequence[float]], alpha: float) -> tuple[list[int], list[int]]:
    """Holm's procedure over sequences of claims, each of which is tested once those before it are shown. Of every sequence: how many of
    its claims are shown, and by what `alpha` was divided for the last of its tests.

    Every sequence has an equal part of alpha, hands it on from claim to claim, and when all are shown leaves it to the others. One false
    claim among all is no more likely than alpha: a graph of tests (Bretz, Maurer, Brannath and Posch 2009). With sequences of one claim it
    is Holm's procedure. nan is never shown.
    """
    shown, divisors = [0] * len(p), [0] * len(p)
    while True:
        open_ = [i for i in range(len(p)) if shown[i] < len(p[i])]
        for i in open_:
            divisors[i] = len(open_)
        clear = [i for i in open_ if p[i][shown[i]] <= alpha / len(open_)]
        if not clear:
            return shown, divisors
        shown[min(clear, key=lambda i: p[i][shown[i]])] += 1


def less_published(known: Estimate, published: tuple[float, float | None]) -> tuple[float, float, float]:
    """Our mean less a published one, its standard error by both errors, and p of no difference, two-sided.

    p is by the normal distribution, for no more is known of the published mean; one without an error counts as exact.
    """
    mean, sem = published
    gap, error = known.mean - mean, math.hypot(known.sem, sem or 0.0)
    if error == 0.0:
        return gap, error, 1.0 if gap == 0.0 else 0.0
    return gap, error, math.erfc(abs(gap) / error / math.sqrt(2.0))


def student_tail(t: float, df: int) -> float:
    """P(|T| >= |t|) for Student's distribution."""
    return incomplete_beta(df / (df + t * t), df / 2.0, 0.5) if math.isfinite(t) else 0.0


@functools.cache
def student_quantile(df: int, level: float = LEVEL) -> float:
    """The half-width, in standard errors, of an interval that holds the mean with probability `level`."""
    low, high = 0.0, 1.0
    while student_tail(high, df) > 1.0 - level:
        high *= 2.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if student_tail(middle, df) > 1.0 - level else (low, middle)
    return 0.5 * (low + high)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # where the fraction converges slowly, the mirror image does quickly
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(tiny, 1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for k in range(1, 500):
        for numerator in (
            k * (b - k) * x / ((a + 2 * k - 1.0) * (a + 2 * k)),
            -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1.0)),
        ):
            d = 1.0 / _away_from_zero(1.0 + numerator * d, tiny)
            c = _away_from_zero(1.0 + numerator / c, tiny)
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return front * fraction


def _away_from_zero(x: float, tiny: float) -> float:
    return x if abs(x) > tiny else tiny
