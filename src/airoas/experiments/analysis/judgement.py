r"""Best, tied or worse: what differences between a planner and the others on some domains show, with few errors over all of them.

On a domain let S be the mean return of the planner that is judged, Q that of another one, and R that of random actions.

    best    S - Q > 0                  for every Q
    tied    S - Q > -0.05 (Q - R)      for every Q
    worse   S - Q < 0                  for some Q

It is said of every Q, and not of the best alone, since nobody knows which one that is; where `tied` holds of the best it holds of all. Each
line is about one mean of differences, taken world by world, so that the error of the margin counts too.

A claim about every Q is shown where each of its parts is, at the level of one (Berger 1982); one about some Q where the clearest part
is, at the level divided by their number. Claims for the planner, `tied` and after it `best`, go over domains by Holm's procedure with a
chance of 2.5 % for any false one among them, and so do claims against it: 5 % in all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airoas.experiments.analysis.statistics import LEVEL, Estimate, estimate, holm_sequences, one_sided_p, student_quantile

MARGIN = 0.05
"""Of what the best earns more than random actions: so much less is still tied."""
ALPHA = 0.5 * (1.0 - LEVEL)
"""For claims in favour, and once more for claims against."""


@dataclass(frozen=True)
class Gap:
    """To one other planner on a domain."""

    difference: Estimate
    """S - Q."""
    eased: Estimate
    """S - Q + 0.05 (Q - R)."""


def gap(ours: np.ndarray, theirs: np.ndarray, random: np.ndarray, groups: Sequence[int] | None = None) -> Gap:
    """From what was earned world by world; `groups` as in `estimate`."""
    difference = ours - theirs
    return Gap(estimate(difference.tolist(), groups), estimate((difference + MARGIN * (theirs - random)).tolist(), groups))


@dataclass(frozen=True)
class Judgement:
    """On one domain."""

    verdict: str
    """best, tied, worse, or open: nothing was shown."""
    decisive: int
    """Which of the gaps it hangs on; -1 where there are none."""
    low: float
    """The lower limit of that difference, at the level that it was tested at; above 0 where best."""
    high: float
    """The upper one; below 0 where shown to be less."""
    eased_low: float
    """The lower limit of the eased difference; above 0 where tied."""


def judge(domains: Sequence[Sequence[Gap]]) -> list[Judgement]:
    """A judgement on each domain from the gaps to all the others there. A domain without any was declared and not run: it counts among
    the domains all the same."""
    favour, divisors = holm_sequences([_favour(gaps) for gaps in domains], ALPHA)
    against, others = holm_sequences([_against(gaps) for gaps in domains], ALPHA)
    return [_judgement(*of) for of in zip(domains, favour, divisors, against, others, strict=True)]


def _favour(gaps: Sequence[Gap]) -> list[float]:
    """p of tied, then of best: the largest of the parts'."""
    if not gaps:
        return [math.nan, math.nan]
    return [max(one_sided_p(gap.eased) for gap in gaps), max(one_sided_p(gap.difference) for gap in gaps)]


def _against(gaps: Sequence[Gap]) -> list[float]:
    """p of worse: the smallest of the parts', times their number."""
    return [len(gaps) * min(_p_below(gap.difference) for gap in gaps)] if gaps else [math.nan]


def _p_below(known: Estimate) -> float:
    """Of the hypothesis that the mean is at or above 0."""
    return one_sided_p(Estimate(known.n, known.groups, -known.mean, known.sem, -known.high, -known.low, known.p))


def _judgement(gaps: Sequence[Gap], favour: int, divisor: int, against: int, other: int) -> Judgement:
    if not gaps:
        return Judgement("open", -1, math.nan, math.nan, math.nan)
    lows = [gap.difference.mean - _half_width(gap.difference, ALPHA / divisor) for gap in gaps]
    highs = [gap.difference.mean + _half_width(gap.difference, ALPHA / other / len(gaps)) for gap in gaps]
    eased = [gap.eased.mean - _half_width(gap.eased, ALPHA / divisor) for gap in gaps]
    verdict = ("open", "tied", "best")[favour] if favour or not against else "worse"
    deciding = {"best": lows, "worse": highs}.get(verdict, eased)
    decisive = min(range(len(gaps)), key=lambda i: -math.inf if math.isnan(deciding[i]) else deciding[i])
    return Judgement(verdict, decisive, lows[decisive], highs[decisive], eased[decisive])


def _half_width(known: Estimate, tail: float) -> float:
    """How far from the mean a limit is that is passed with the probability `tail`."""
    return math.nan if math.isnan(known.sem) else student_quantile(known.groups - 1, 1.0 - 2.0 * tail) * known.sem
