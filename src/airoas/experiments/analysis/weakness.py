"""What a planner's own record says against it, in sentences with a remedy."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from airoas.experiments.analysis.summary import Summary
from airoas.experiments.rows.types import Row

NOTEWORTHY = 0.05
"""A share of decisions that is told beside the returns."""
OVERRATED = 4.0
"""Standard errors by which a promise must be above what was earned, to be told."""
_USUAL = 0.5  # of the decisions: more is told of what happens now and then to any search
_ALTERNATIVES = {"qmdp": "QMDP", "voting": "voting", "default": "the model's own `rollout_action`", "blind": "one action again and again"}
UNENDED = 0.3
"""A share of episodes without an end that is told."""
_FEWEST_UNENDED = 4  # episodes from which on that is told
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
    if summary.unopened > _USUAL:
        problem = f"some actions were never tried in {_percent(summary.unopened)} of the decisions"
        remarks.append(f"{problem}. Give it more time or fewer particles.")
    if summary.contradicted > _USUAL:
        problem = f"the search found more than its estimated upper bounds allow in {_percent(summary.contradicted)} of the decisions"
        remarks.append(f"{problem}, and went on with that. More particles may do better, or `value_bounds` of the model (docs/bounds.md).")
    remarks += _of_policy(summary.policy)
    if summary.episodes >= _FEWEST and summary.overrated > OVERRATED:
        problem = (
            f"it promised {summary.promised:.3g} at the start and earned {summary.mean:.3g}, {summary.overrated:.0f} standard errors less"
        )
        remarks.append(
            f"{problem}. Its values are too high somewhere, as where what tells the state is far away: "
            "more particles, `macros` that lead there (docs/actions.md) or another planner may do better."
        )
    return [f"{summary.planner} on {summary.domain}: {sentence}" for sentence in remarks]


def _of_policy(policy: str) -> list[str]:
    """What speaks against the policy that led."""
    name, _, rounds = policy.partition(", ")
    if name not in _ALTERNATIVES or not rounds.endswith(" rounds"):
        return []
    if rounds == "0 rounds":
        problem = f"no policy is learned where actions are so many, and {_ALTERNATIVES[name]} leads"
        return [f"{problem}. Give the model a `rollout_action` or `value_bounds` (docs/bounds.md), or offer fewer actions."]
    rounds = "1 round" if rounds == "1 rounds" else rounds
    problem = f"what was learned in {rounds} earned less in validation than {_ALTERNATIVES[name]}, which leads in its place"
    return [f"{problem}. Let it learn for longer (`--learn 60`), or give the model hints (docs/bounds.md)."]


def no_better(ours: Summary, random: Summary) -> list[str]:
    """Where a planner does not earn more than random actions beyond the errors."""
    error = math.hypot(ours.sem, random.sem)
    if not ours.episodes or not random.episodes or ours.mean - random.mean > 2.0 * error:
        return []
    problem = f"{ours.planner} on {ours.domain}: it earned {ours.mean:.3g}, and random actions {random.mean:.3g} (error {error:.2g})"
    return [f"{problem}. Give it more time, let it learn for longer (`--learn 60`), or give the model hints (docs/bounds.md)."]


def unended(planner: str, domain: str, rows: list[Row], everyone: Iterable[Row], may_end: bool = False) -> list[str]:
    """Where many of a planner's episodes ran into the step limit, unless those that end earn no more; of random and blind actions
    nothing is wanted. everyone: the episodes of all planners on the domain. may_end: whether the model is known to have terminal states,
    which an episode that ended shows as well."""
    done = [row for row in rows if "error" not in row]
    late = [row["discounted_return"] for row in done if not row["terminated"]]
    if len(done) < _FEWEST_UNENDED or len(late) <= UNENDED * len(done) or done[0]["planner"] in ("random", "blind"):
        return []
    ended = [row["discounted_return"] for row in everyone if "error" not in row and row["terminated"]]
    if np.mean(ended) <= np.mean(late) if ended else not may_end:
        return []
    steps = "more steps (`max_steps`), or give the model a `rollout_action`, a `heuristic` or `value_bounds` that lead there"
    if not ended:
        problem = f"none of {len(done)} episodes reached a terminal state before the step limit. Where an end is wanted, allow"
    else:
        problem = f"{len(late)} of {len(done)} episodes ran into the step limit without an end, and earned {np.mean(late):.3g}"
        problem = f"{problem}; those that ended earned {np.mean(ended):.3g}. Allow"
    return [f"{planner} on {domain}: {problem} {steps} (docs/bounds.md)."]


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"
