"""What is played on each model, and one episode of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import airoas
from airoas.catalog import find_domain
from airoas.planners import Random
from benchmarks.strangers import building, hawk, leak, machine, mine, patrol, poker, rescue, welds


@dataclass(frozen=True)
class Entry:
    what: str
    """What the reference is."""
    planner: Any
    filter: Any = "bootstrap"
    written_out: Callable[[Any], Any] = lambda model: model
    """The same model with what the planner needs to know of it."""


ENTRIES = {
    "building": Entry(
        "QMDP on a grid of poses, with the adaptive filter; in doubt, runs choose whether to act as if some likely pose were true",
        building.Reference(),
        "adaptive",
    ),
    "patrol": Entry("a tuned rule with the exact filter, improved by 200 runs of it for each action", patrol.Reference(), patrol.Filter()),
    "rescue": Entry("a tuned rule with a bootstrap filter: call, go where the victim probably is, round the fire", rescue.Reference()),
    "welds": Entry("the optimal policy, by dynamic programming over mean and precision", welds.Reference(), welds.Filter()),
    "hawk": Entry("a tuned rule with a bootstrap filter: climb when the hare is lost, dive when it is below, keep near", hawk.Reference()),
    "machine": Entry("point-based value iteration on the 16 states", machine.Reference(), "exact", lambda m: machine.FiniteMachine(*m)),
    "poker": Entry("nearly optimal: value iteration over a grid of beliefs about the player", poker.Reference(), poker.Filter()),
    "mine": Entry("the optimal policy, by dynamic programming over what was read", mine.Reference(), mine.Filter()),
    "leak": Entry("one step ahead with a filter on a grid, and a tuned price of entropy", leak.Reference(), leak.Filter()),
}


def play(name: str, who: str, seed: int) -> float:
    """The discounted return of one episode; who: reference or random."""
    entry = ENTRIES[name]
    planner = entry.planner if who == "reference" else Random()
    return airoas.simulate(entry.written_out(find_domain(name)(seed)), planner, seed, filter=entry.filter).discounted_return
