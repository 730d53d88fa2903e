"""What a policy that was found from the simulator says at the root, and whether rollouts know better."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.resampling import indices
from airoas.compiler.clock import now
from airoas.modelling.macros import LONGEST, own_macros
from airoas.policies.learned import Learned, policy_of
from airoas.policies.rollout import CUT, LEAST_GAIN, MOST_TRIED, Candidate, Rollouts, repeated, seekers
from airoas.rng import stream

REFINED = 4
"""Of the actions that are tried, where actions are no list: in place of each one the best around it."""
BETTER = 1.5
"""Errors by which a candidate must be better than the policy's action to be taken."""
KEPT = 2000
"""Particles of a belief that are looked at."""
ROUNDS = 3
"""Of rollouts, where the budget is a number of trials."""


@dataclass(frozen=True)
class Advice:
    """An action, and what it is known to earn."""

    action: np.ndarray
    value: float
    error: float
    runs: int
    """Rollouts that were made."""
    improved: bool
    """Whether rollouts chose another action than the policy, beyond their errors."""
    tried: np.ndarray
    """[., .] the actions that rollouts began with."""


@dataclass(frozen=True)
class Outlook:
    """A belief as a policy sees it."""

    states: np.ndarray
    weights: np.ndarray
    allowed: np.ndarray
    seed: int
    action: np.ndarray
    """The policy's own."""
    promised: float
    """What it thinks it is worth."""
    knowing: float
    """What knowing the state would be worth on top."""


class Advisor:
    """A policy on a model, with a workspace for rollouts; asked for one belief at a time."""

    def __init__(self, model: Any, learned: Learned | None, macros: bool = True, values: str = "auto") -> None:
        self.learned = learned
        self.name = f"{learned.policy}, {learned.rounds} rounds, {learned.digest}" if learned else "qmdp, nothing was learned"
        self.space = None if model.n_actions else model.space
        self.macros = own_macros(model) if macros else []
        self.repeats = macros and not self.macros and (learned is None or learned.repeats)
        length = learned.length if learned else CUT
        self.seeks = macros and learned is not None and learned.seeks
        far = self.repeats or self.seeks
        self.rollouts = Rollouts(model, policy_of(model, learned, values), cut=CUT + LONGEST if far else length)

    def assess(self, states: np.ndarray, weights: np.ndarray, allowed: np.ndarray, seed: int) -> Outlook:
        """What the policy thinks of a belief."""
        if len(weights) > KEPT:
            rows = indices(weights, KEPT, stream(seed, "advice"))
            states, weights = states[rows], np.full(KEPT, 1.0 / KEPT)
        actions = self.rollouts.policy.actions
        allowed = allowed if self.space is None else np.ones(len(actions), np.bool_)
        a, promised, knowing = self.rollouts.act(states, weights, seed)
        action = actions[a if allowed[a] else np.flatnonzero(allowed)[0]]
        if self.space is not None:
            action = self.rollouts.refine(self.space, action[None], seed, math.inf)[0]
        return Outlook(states, weights, allowed, seed, action, promised, knowing)

    def advise(self, outlook: Outlook, searched: np.ndarray, deadline: float) -> Advice:
        """The policy's action, or one that rollouts show to be better; `searched` is tried among them."""
        rollouts, action = self.rollouts, outlook.action
        belief = outlook.states, outlook.weights
        tried = rollouts.policy.actions[rollouts.promising(*belief, outlook.allowed, MOST_TRIED, outlook.seed)]
        if self.space is not None:
            tried = np.concatenate([rollouts.refine(self.space, tried[:REFINED], outlook.seed, deadline), tried[REFINED:]])
        rows = dict.fromkeys(tuple(row) for row in (action, searched, *tried))
        candidates = [Candidate(np.array([row])) for row in rows]
        if self.seeks:
            candidates[2:2] = seekers(rollouts.policy)
        candidates += repeated(tried) if self.repeats else []
        labels = np.zeros(len(outlook.weights), np.int64)
        if outlook.knowing > LEAST_GAIN * max(1e-9, abs(outlook.promised)):
            macros = [macro for macro in self.macros if self.space is not None or outlook.allowed[int(macro[0, 0])]]
            candidates += [Candidate(macro) for macro in macros]
            candidates += rollouts.hypotheses(*belief, labels)
        candidates = candidates[: rollouts.affordable(deadline - now())]
        rounds = ROUNDS if deadline == math.inf else 8
        runs = rollouts.compare(candidates, *belief, labels, outlook.seed, deadline, rounds)
        own = candidates[0]
        better = [candidate for candidate in candidates if candidate is not own and _is_better(candidate, own)]
        best = max(better, key=lambda candidate: candidate.gain_over(own)[0], default=own)
        improved = best is not own
        if best.cluster >= 0:
            action = rollouts.policy.actions[rollouts.act_believing(best.cluster, *belief, labels, outlook.seed)]
        elif best.route >= 0:
            action = rollouts.policy.actions[rollouts.act_seeking(best.route, *belief, outlook.seed)]
        elif improved:
            action = best.actions[0]
        n = len(best.returns)
        spread = float(np.std(best.returns, ddof=1) / math.sqrt(n)) if n > 1 else math.inf
        tried = np.array([candidate.actions[0] for candidate in candidates if candidate.returns and len(candidate.actions)])
        return Advice(action, best.mean if n else outlook.promised, spread, runs, improved, tried.reshape(-1, len(action)))


def _is_better(candidate: Candidate, own: Candidate) -> bool:
    gain, error = candidate.gain_over(own)
    return gain > BETTER * error
