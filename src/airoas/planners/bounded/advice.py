"""What a policy that was found from the simulator says at the root, and whether rollouts know better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.policies.learned import Learned, policy_of
from airoas.policies.rollout import BELIEVED, SURE, Candidate, Rollouts
from airoas.rng import stream

MOST_TRIED = 8
"""Actions that are tried one by one; of more, those that the policy thinks best."""
HYPOTHESES = 4
_LEAST_GAIN = 0.02  # of the policy's value: what knowing the state is worth at least, where hypotheses are tried
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


class Advisor:
    """A policy on a model, with room for rollouts."""

    def __init__(self, model: Any, learned: Learned | None) -> None:
        self.learned = learned
        self.rollouts = Rollouts(model, policy_of(model, learned))

    def advise(self, states: np.ndarray, weights: np.ndarray, allowed: np.ndarray, searched: int, seed: int, deadline: float) -> Advice:
        """The policy's action, or one that rollouts show to be better; `searched` is tried among them."""
        rollouts = self.rollouts
        action, promised, knowing = rollouts.act(states, weights, seed)
        if not allowed[action]:
            action = int(np.flatnonzero(allowed)[0])
        tried = rollouts.promising(states, weights, allowed, MOST_TRIED, seed)
        candidates = [Candidate(a) for a in dict.fromkeys([action, searched, *tried])]
        hypotheses = np.zeros((0, states.shape[1]))
        if knowing > _LEAST_GAIN * max(1e-9, abs(promised)):
            hypotheses = self._hypotheses(states, weights, seed)
            candidates += [Candidate(-1, j, steps) for j in range(len(hypotheses)) for steps in BELIEVED]
        runs = rollouts.compare(candidates, hypotheses, states, weights, seed, deadline, ROUNDS if deadline == math.inf else 8)
        own = next(candidate for candidate in candidates if candidate.action == action)
        best = max(candidates, key=lambda candidate: candidate.mean)
        gain, error = best.gain_over(own)
        improved = best is not own and gain > SURE * error
        chosen = best if improved else own
        if chosen.hypothesis >= 0:
            action = rollouts.act_believing(hypotheses[chosen.hypothesis], states, weights, seed)
        elif improved:
            action = chosen.action
        n = len(chosen.returns)
        spread = float(np.std(chosen.returns, ddof=1) / math.sqrt(n)) if n > 1 else math.inf
        return Advice(action, chosen.mean if n else promised, spread, runs, improved)

    def _hypotheses(self, states: np.ndarray, weights: np.ndarray, seed: int) -> np.ndarray:
        """Some states, drawn by weight."""
        points = (np.arange(HYPOTHESES) + stream(seed, "hypotheses").uniform()) / HYPOTHESES
        order = np.argsort(states[:, 0], kind="stable")
        result = np.searchsorted(np.cumsum(weights[order]) / weights.sum(), points)
        return states[order[np.minimum(result, len(order) - 1)]]
