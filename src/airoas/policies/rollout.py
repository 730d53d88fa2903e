"""Policy improvement by rollouts from the belief at hand (Bertsekas and Castañon, 1999).

Candidates are actions followed by a policy, and "as if the truth were in this cluster, until that is refuted, then the policy". Each is
valued by runs in the particle-belief MDP that begin in the same worlds; those that are worse beyond their errors are dropped, and the
rest gets more runs, until time or rounds are used up, or only the policy's own action is left (successive rejects). Of many actions those
are tried that are best at some price of information: the most promising ones would not be looks, which cost and promise nothing where the
state is thought to be seen.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from airoas.belief.tempering.clusters import find_clusters, make_clusters, most_clusters
from airoas.compiler.clock import now
from airoas.compiler.kernels import kernel
from airoas.modelling.actions import ActionSpace
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.macros import LONGEST
from airoas.policies.belief_mdp import choose_one, compare_actions, inform, roll_out
from airoas.policies.qmdp import LOOKED_AT
from airoas.policies.runs import FOLLOW, FORCED, GREEDY, SEEK, Policy, Runs, make_runs

PARTICLES = 80
"""Of a run: few, for many runs."""
WORLDS = 4
"""Of the first round, for each candidate; each later round has twice as many."""
ENOUGH, LEAST_COMPARED = 8, 4
"""Runs of a candidate that tell something, and candidates in any case."""
SURE = 2.0
"""Errors of a paired difference beyond which one candidate is better than another."""
CUT = 20
"""Steps of a run after which what was learned is believed for the rest, at most; see `airoas.policies.cut`."""
MOST_TRIED = 8
"""Actions that are tried one by one; of more, those that the policy thinks best."""
HYPOTHESES = 6
"""Clusters that the truth is taken to be in, the heaviest, where knowing it is worth something."""
LEAST_GAIN = 0.02
"""Of the policy's value: what knowing the state is worth at least, where hypotheses are tried."""
SCORED, _STEPS_IN_RUN = 8, 80
"""Particles that q is averaged over in a run, where each of them is simulated, and how many steps that may take."""
SHORTEST = 10
"""Steps of a run that time has cut off, at least, for it to count."""
_DOUBT = 2  # worlds
_BATCH = 64  # runs of one call, at most
_STEP = 2e-3  # seconds for a step of all of them, about: the deadline is looked at between steps
_CHOSEN_FROM = 1000  # particles from which a policy chooses
_WIDTHS, _NEAR = (0.06, 0.03, 0.015), 6  # of the box, and actions drawn with each
_PRICES = (0.03, 0.1, 0.3, 1.0, 3.0)  # of information: its range for that part of the range of values


@dataclass
class Candidate:
    """Something to begin with, and what came of it in each world."""

    actions: np.ndarray
    """[L, .] none where a cluster is believed in."""
    cluster: int = -1
    """In which the truth is taken to be; -1 for none."""
    route: int = -1
    """By which it goes to where much is told; -1 for none."""
    returns: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns)) if self.returns else -math.inf

    def gain_over(self, other: Candidate) -> tuple[float, float]:
        """Mean of the paired differences to another, and its error; the error is inf where there are too few pairs.

        A few worlds in which nothing differs say little: the differences are taken to vary as much as the returns do in some more.
        """
        n = min(len(self.returns), len(other.returns))
        if n < 2:
            return 0.0, math.inf
        gaps = np.subtract(self.returns[:n], other.returns[:n])
        squares = float(((gaps - gaps.mean()) ** 2).sum()) + _DOUBT * float(np.var(other.returns[:n], ddof=1))
        return float(gaps.mean()), math.sqrt(squares / (n - 1 + _DOUBT) / n) + 1e-12


def repeated(actions: np.ndarray) -> list[Candidate]:
    """Each of these actions [n, .] again and again, until something is seen."""
    return [Candidate(macro) for macro in np.repeat(actions[:, None], LONGEST, axis=1)]


def seekers(policy: Policy) -> list[Candidate]:
    """To go to where much is told of something."""
    return [Candidate(np.zeros((0, policy.actions.shape[1])), route=route) for route in range(policy.n_routes)]


class Rollouts:
    """A policy, and room for its runs."""

    def __init__(self, model: KernelModel, policy: Policy, particles: int = PARTICLES, cut: int = CUT) -> None:
        self.policy = policy
        few = 3 * SCORED if policy.by_action else max(1, min(SCORED, _STEPS_IN_RUN // len(policy.actions)))
        self._many, self._few = max(policy.scored, LOOKED_AT), min(policy.scored, particles, few)
        policy.scored = self._many
        self._pace = 0.0  # seconds for a step of a run
        self._price = 0.0  # seconds for a run
        self._one: Runs = make_runs(model, policy, 1, _CHOSEN_FROM)
        policy.scored = self._few
        self._runs: Runs = make_runs(model, policy, max(_BATCH, len(policy.actions)), particles)
        self.horizon = min(int(model.max_steps), math.ceil(math.log(0.01) / math.log(model.discount)))
        if policy.corrected and policy.way == GREEDY:
            self._runs.cut = cut
        rows, ones = np.zeros((1, model.shapes.state.size)), np.ones(1)
        choose_one.prepare(policy, self._one, rows, ones, np.zeros(1, np.int64), 0)
        roll_out.prepare(policy, self._runs, rows, ones, np.zeros(1, np.int64), 1, 0)
        compare_actions.prepare(policy, self._one, policy.actions, 0, np.zeros(len(policy.actions)))
        inform.prepare(policy, self._runs, rows, ones, np.ones(1, np.bool_), 0, ones)

    def act(self, states: np.ndarray, weights: np.ndarray, seed: int) -> tuple[int, float, float]:
        """The policy's own action, its value, and what knowing the state would be worth."""
        one, self.policy.scored = self._one, self._many
        one.believed[0] = -1
        action = int(choose_one(self.policy, one, states, weights, np.zeros(len(weights), np.int64), seed))
        return action, float(one.q[0, action]) - self.policy.bias, float(one.features[0, -1])

    def legal(self) -> np.ndarray:
        """[A] which actions the particles allow that were looked at. After `act`."""
        allowed: np.ndarray = self._one.legal[0].copy()
        return allowed

    def promising(self, states: np.ndarray, weights: np.ndarray, allowed: np.ndarray, most: int, seed: int) -> list[int]:
        """So many allowed actions at most: those that are best at some price of information, then those of which the policy thinks
        best. After `act`, from the same belief."""
        q, actions = np.where(allowed, self._one.q[0], -math.inf), len(allowed)
        order = [int(a) for a in np.argsort(-q, kind="stable") if allowed[a]]
        if len(order) <= most:
            return order
        runs, information = self._runs, np.zeros(actions)
        runs.n_runs = max(1, _BATCH // actions) * actions
        runs.kind[:], runs.believed[:], runs.world[:] = FOLLOW, -1, np.arange(len(runs.world)) // actions
        inform(self.policy, runs, states, weights, allowed, seed, information)
        spread, known = q[order[0]] - q[order[-1]], information[order].max() - information[order].min()
        scale = spread / known if known > 0.0 else 0.0
        dear = [int(np.argmax(q + price * scale * information)) for price in _PRICES]
        return list(dict.fromkeys([*dear, *order]))[:most]

    def refine(self, space: ActionSpace, actions: np.ndarray, seed: int, deadline: float) -> np.ndarray:
        """In place of each of these actions, while there is time, the best of some around it, nearer and nearer, by their q. After
        `act`, from the same belief."""
        one, rng, best = self._one, np.random.default_rng(seed), actions.copy()
        self.policy.scored = self._many
        for i, width in itertools.product(range(len(actions)), _WIDTHS):
            if now() < deadline:
                rows = np.concatenate([best[i : i + 1], space.near(best[i], width, _NEAR, rng)])
                q = np.zeros(len(rows))
                compare_actions(self.policy, one, rows, seed, q)
                best[i] = rows[np.argmax(q)]
        return best

    def act_seeking(self, route: int, states: np.ndarray, weights: np.ndarray, seed: int) -> int:
        """The action that leads to where much is told."""
        one, self.policy.scored = self._one, self._many
        one.believed[0], one.kind[0], one.sought[0] = -1, SEEK, route
        action = int(choose_one(self.policy, one, states, weights, np.zeros(len(weights), np.int64), seed))
        one.kind[0] = FOLLOW
        return action

    def act_believing(self, cluster: int, states: np.ndarray, weights: np.ndarray, labels: np.ndarray, seed: int) -> int:
        """The best action if the truth were in this cluster."""
        one, self.policy.scored = self._one, self._many
        one.believed[0] = cluster
        return int(choose_one(self.policy, one, states, weights, labels, seed))

    def hypotheses(self, states: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> list[Candidate]:
        """To believe in each of the heaviest clusters of a belief, if it has several. labels [N]: filled with the cluster of each
        particle."""
        axes = self.policy.components
        _label(make_clusters(most_clusters(len(weights))), states, weights, axes, len(axes), np.zeros(len(weights), np.int64), labels)
        masses, none = np.bincount(labels, weights), np.zeros((0, self.policy.actions.shape[1]))
        heaviest = np.argsort(-masses, kind="stable")[:HYPOTHESES] if len(masses) > 1 else ()
        return [Candidate(none, int(cluster)) for cluster in heaviest]

    def returns(self, candidates: list[Candidate], belief: Belief, worlds: int, cut: int, seed: int) -> np.ndarray:
        """[candidates, worlds] what each earns in the same worlds where runs are cut after so many steps."""
        before, self._runs.cut, self.policy.scored = self._runs.cut, cut, self._few
        own = [replace(candidate, returns=[]) for candidate in candidates]
        pairs = [(candidate, world) for world in range(worlds) for candidate in own]
        for begin in range(0, len(pairs), _BATCH):
            self._run(pairs[begin : begin + _BATCH], *belief, seed, math.inf)
        self._runs.cut = before
        return np.array([candidate.returns for candidate in own])

    def affordable(self, seconds: float) -> int:
        """How many candidates may be compared in that time, with enough runs for each; as many as there are where no time is set."""
        return max(LEAST_COMPARED, int(seconds / (self._price * ENOUGH))) if self._price > 0.0 and seconds < math.inf else 1 << 30

    def compare(
        self,
        candidates: list[Candidate],
        states: np.ndarray,
        weights: np.ndarray,
        labels: np.ndarray,
        seed: int,
        deadline: float,
        rounds: int,
    ) -> int:
        """Fill in the candidates' returns; how many runs were made. The first candidate, with which the others are compared, stays."""
        left, world, worlds, finished = list(candidates), 0, WORLDS, 0
        self.policy.scored = self._few
        for _ in range(rounds):
            done = 0
            while done < worlds:  # every candidate in the same worlds, for as many steps
                fit = _BATCH if deadline == math.inf or self._pace * _BATCH < _STEP else int(_STEP / self._pace)
                some = range(done, min(worlds, done + max(1, fit // len(left))))
                pairs = [(candidate, world + w) for w in some for candidate in left]
                if now() >= deadline or not self._run(pairs, states, weights, labels, seed, deadline):
                    return finished
                finished, done = finished + len(pairs), some.stop
            world, worlds = world + worlds, 2 * worlds
            own = left[0]
            best = max(left, key=lambda candidate: candidate.gain_over(own)[0])
            rivals = [candidate for candidate in left if candidate is best or _may_be_better(candidate, best)]
            # what is to replace the first goes on beside it: a rare loss shows in many worlds only
            if (len(rivals) == 1 and best is own) or now() >= deadline:
                break
            left = [own, *(candidate for candidate in rivals if candidate is not own)]
        return finished

    def _run(
        self,
        pairs: list[tuple[Candidate, int]],
        states: np.ndarray,
        weights: np.ndarray,
        labels: np.ndarray,
        seed: int,
        deadline: float,
    ) -> bool:
        runs, begun = self._runs, now()
        runs.n_runs = len(pairs)
        runs.deadline = deadline - self._pace * len(pairs)
        for r, (candidate, world) in enumerate(pairs):
            runs.kind[r] = FORCED if candidate.route < 0 else SEEK
            runs.world[r], runs.believed[r], runs.sought[r] = world, candidate.cluster, max(0, candidate.route)
            runs.steps[r] = len(candidate.actions)
            runs.forced[r, : len(candidate.actions)] = candidate.actions
        steps = int(roll_out(self.policy, runs, states, weights, labels, self.horizon, seed))
        self._pace = max(0.7 * self._pace, (now() - begun) / max(1, steps) / len(pairs))
        self._price = 0.5 * (self._price or (now() - begun) / len(pairs)) + 0.5 * (now() - begun) / len(pairs)
        if steps < min(self.horizon, SHORTEST, runs.cut):
            return False
        for r, (candidate, _) in enumerate(pairs):
            candidate.returns.append(float(runs.returns[r]))
        return True


Belief = tuple[np.ndarray, np.ndarray, np.ndarray]
"""States, weights and the clusters of the states."""
_label = kernel(find_clusters)


def _may_be_better(candidate: Candidate, best: Candidate) -> bool:
    gain, error = candidate.gain_over(best)
    return gain + SURE * error >= 0.0
