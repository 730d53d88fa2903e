"""Policy improvement by rollouts from the belief at hand (Bertsekas and Castanon, 1999).

Candidates are each action followed by a policy, and "as if this state were true for some steps, then the policy". Each is valued by
runs in the particle-belief MDP that begin in the same worlds; those that are worse beyond their errors are dropped, and the rest gets
more runs, until time or runs are used up.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.policies.belief_mdp import FORCED, HYPOTHESIS, Policy, Runs, make_runs, roll_out

WORLDS = 8
"""Of the first round, for each candidate; each later round has twice as many."""
BELIEVED = (1, 6, 15)
"""For how many steps a hypothesis is believed."""


@dataclass(frozen=True)
class Candidate:
    """Something to begin with."""

    kind: int
    action: int
    hypothesis: int = -1
    steps: int = 0


@dataclass
class Valued:
    """What rollouts say of a candidate."""

    candidate: Candidate
    returns: list[float]

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns)) if self.returns else -math.inf


class Rollouts:
    """Room for rollouts of a policy on a model."""

    def __init__(self, model: Any, policy: Policy, particles: int = 100, together: int = 128) -> None:
        self.model, self.policy = model, policy
        self.runs: Runs = make_runs(model, policy, together, particles)
        self.together = together

    def value(
        self,
        states: np.ndarray,
        weights: np.ndarray,
        candidates: list[Candidate],
        horizon: int,
        seed: int,
        deadline: float = math.inf,
        rounds: int = 4,
        hypotheses: np.ndarray | None = None,
    ) -> list[Valued]:
        """What each candidate earns."""
        valued = [Valued(candidate, []) for candidate in candidates]
        left, worlds, world = list(range(len(valued))), WORLDS, 0
        for _ in range(rounds):
            pairs = [(c, world + w) for w in range(worlds) for c in left]
            for begin in range(0, len(pairs), self.together):
                if not self._run(states, weights, pairs[begin : begin + self.together], candidates, horizon, seed, deadline, hypotheses, valued):
                    return self._paired(valued)
            world += worlds
            worlds *= 2
            left = _still_good(valued, left)
            if len(left) == 1 or time.perf_counter() >= deadline:
                break
        return valued

    def _run(self, states, weights, pairs, candidates, horizon, seed, deadline, hypotheses, valued) -> bool:  # type: ignore[no-untyped-def]
        runs = self.runs
        runs.n_runs = len(pairs)
        runs.deadline = deadline
        for r, (c, world) in enumerate(pairs):
            candidate = candidates[c]
            runs.kind[r], runs.first[r], runs.steps[r], runs.world[r] = candidate.kind, candidate.action, candidate.steps, world
            runs.hypotheses_alive[r] = candidate.kind == HYPOTHESIS
            if candidate.kind == HYPOTHESIS:
                runs.hypotheses[r] = hypotheses[candidate.hypothesis]
        if not roll_out(self.policy, runs, states, weights, horizon, seed):
            return False
        for r, (c, _) in enumerate(pairs):
            valued[c].returns.append(float(runs.returns[r]))
        return True

    def _paired(self, valued: list[Valued]) -> list[Valued]:
        return valued


def _still_good(valued: list[Valued], left: list[int]) -> list[int]:
    """Those that may be the best yet: within two errors of the paired difference to the best."""
    best = max(left, key=lambda c: valued[c].mean)
    kept = []
    for c in left:
        n = min(len(valued[c].returns), len(valued[best].returns))
        gap = np.array(valued[best].returns[:n]) - np.array(valued[c].returns[:n])
        if c == best or gap.mean() <= 2.0 * gap.std(ddof=1) / math.sqrt(n) + 1e-12:
            kept.append(c)
    return kept


def forced(allowed: np.ndarray) -> list[Candidate]:
    """Every legal action, then the policy."""
    return [Candidate(FORCED, int(a)) for a in np.flatnonzero(allowed)]
