"""What a planner's own record says against it, in sentences with a remedy."""

from __future__ import annotations

import math

from airoas.experiments.analysis.summary import Summary

NOTEWORTHY = 0.05
"""A share of decisions that is told beside the returns."""
OVERRATED = 4.0
"""Errors by which a promise must be above what was earned, to be told."""
_FEWEST = 10  # episodes from which on a promise is judged


def weaknesses(summary: Summary) -> list[str]:
    """What is known to be weak; nothing where there is no sign of it."""
    remarks = []
    if summary.unsearched > NOTEWORTHY:
        problem = f"no search within the time in {_percent(summary.unsearched)} of the decisions"
        remarks.append(f"{problem}. Give it more time or fewer particles, or add `value_bounds` to the model (docs/bounds.md).")
    if summary.tied > NOTEWORTHY:
        problem = f"every action looked the same in {_percent(summary.tied)} of the decisions, so that one was taken by chance"
        remarks.append(f"{problem}. Let AIROAS learn a policy first (`--learn 30`), or give the model a `rollout_action` (docs/bounds.md).")
    if summary.unopened > 0.5:
        problem = f"some actions were never tried in {_percent(summary.unopened)} of the decisions"
        remarks.append(f"{problem}. Give it more time or fewer particles.")
    if summary.episodes >= _FEWEST and summary.overrated > OVERRATED:
        problem = f"it promised {summary.promised:.3g} at the start and earned {summary.mean:.3g}, {summary.overrated:.0f} errors less"
        remarks.append(f"{problem}. Its values are too high somewhere: more particles, or another planner, may do better.")
    return [f"{summary.planner} on {summary.domain}: {sentence}" for sentence in remarks]


def no_better(ours: Summary, random: Summary) -> list[str]:
    """Where a planner does not earn more than random actions beyond the errors."""
    error = math.hypot(ours.sem, random.sem)
    if not ours.episodes or not random.episodes or ours.mean - random.mean > 2.0 * error:
        return []
    problem = f"{ours.planner} on {ours.domain}: it earned {ours.mean:.3g}, and random actions {random.mean:.3g} (error {error:.2g})"
    return [f"{problem}. Give it more time, let it learn for longer (`--learn 60`), or give the model hints (docs/bounds.md)."]


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"
