"""What a policy that was found from the simulator says at the root, and whether rollouts know better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.resampling import indices
from airoas.compiler.clock import now
from airoas.policies.learned import Learned, policy_of
from airoas.policies.rollout import BELIEVED, Candidate, Rollouts
from airoas.rng import stream

MOST_TRIED = 8
"""Actions that are tried one by one; of more, those that the policy thinks best."""
HYPOTHESES = 6
BETTER = 1.0
"""Errors by which a candidate must be better than the policy's action to be taken."""
_LEAST_GAIN = 0.02  # of the policy's value: what knowing the state is worth at least, where hypotheses are tried
KEPT = 2000
"""Particles of a belief that are looked at."""
ROUNDS = 3
"""Of rollouts, where the budget is a number of trials."""


@dataclass(frozen=True)
class Advice:
    """An action, and what it is known to earn."""

    action: int
    value: float
    error: float
    runs: int
    """Rollouts that were made."""
    improved: bool
    """Whether rollouts chose another action than the policy, beyond their errors."""


@dataclass(frozen=True)
class Outlook:
    """A belief as a policy sees it."""

    states: np.ndarray
    weights: np.ndarray
    allowed: np.ndarray
    seed: int
    action: int
    """The policy's own."""
    promised: float
    """What it thinks it is worth."""
    knowing: float
    """What knowing the state would be worth on top."""


class Advisor:
    """A policy on a model, with a workspace for rollouts; asked for one belief at a time."""

    def __init__(self, model: Any, learned: Learned | None) -> None:
        self.learned = learned
        self.name = f"{learned.policy}, {learned.rounds} rounds, {learned.digest}" if learned else "qmdp, nothing was learned"
        self.rollouts = Rollouts(model, policy_of(model, learned))

    def assess(self, states: np.ndarray, weights: np.ndarray, allowed: np.ndarray, seed: int) -> Outlook:
        """What the policy thinks of a belief."""
        if len(weights) > KEPT:
            rows = indices(weights, KEPT, stream(seed, "advice"))
            states, weights = states[rows], np.full(KEPT, 1.0 / KEPT)
        action, promised, knowing = self.rollouts.act(states, weights, seed)
        return Outlook(states, weights, allowed, seed, action if allowed[action] else int(np.flatnonzero(allowed)[0]), promised, knowing)

    def advise(self, outlook: Outlook, searched: int, deadline: float) -> Advice:
        """The policy's action, or one that rollouts show to be better; `searched` is tried among them."""
        rollouts, action = self.rollouts, outlook.action
        belief = outlook.states, outlook.weights
        tried = rollouts.promising(*belief, outlook.allowed, MOST_TRIED, outlook.seed)
        candidates = [Candidate(a) for a in dict.fromkeys([action, searched, *tried])]
        hypotheses = np.zeros((0, outlook.states.shape[1]))
        if outlook.knowing > _LEAST_GAIN * max(1e-9, abs(outlook.promised)):
            hypotheses = self._hypotheses(*belief, outlook.seed)
            candidates += [Candidate(-1, j, steps) for j in range(len(hypotheses)) for steps in BELIEVED]
        candidates = candidates[: rollouts.affordable(deadline - now())]
        rounds = ROUNDS if deadline == math.inf else 8
        runs = rollouts.compare(candidates, hypotheses, *belief, outlook.seed, deadline, rounds)
        own = candidates[0]
        better = [candidate for candidate in candidates if candidate is not own and _is_better(candidate, own)]
        best = max(better, key=lambda candidate: candidate.mean, default=own)
        improved = best is not own
        if best.hypothesis >= 0:
            action = rollouts.act_believing(hypotheses[best.hypothesis], *belief, outlook.seed)
        elif improved:
            action = best.action
        n = len(best.returns)
        spread = float(np.std(best.returns, ddof=1) / math.sqrt(n)) if n > 1 else math.inf
        return Advice(action, best.mean if n else outlook.promised, spread, runs, improved)

    def _hypotheses(self, states: np.ndarray, weights: np.ndarray, seed: int) -> np.ndarray:
        """Some states, drawn by weight."""
        points = (np.arange(HYPOTHESES) + stream(seed, "hypotheses").uniform()) / HYPOTHESES
        order = np.argsort(states[:, 0], kind="stable")
        rows = np.searchsorted(np.cumsum(weights[order]) / weights.sum(), points)
        return states[order[np.minimum(rows, len(order) - 1)]]


def _is_better(candidate: Candidate, own: Candidate) -> bool:
    gain, error = candidate.gain_over(own)
    return gain > BETTER * error
