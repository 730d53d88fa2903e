"""AIROAS: online planning on a bounded belief tree whose leaves move their particles toward the posterior.

Paper: Zhang, Luo, Mukhopadhyay and Dubey (2025), Alg. 1-3, with the annealing of `airoas.belief` (Alg. 4 and 5) at the leaves.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.belief.tempering import literal
from airoas.belief.tempering.anneal import choose_move, draws_of
from airoas.belief.tempering.moves import BAD_LIKELIHOOD, BAD_STEP
from airoas.belief.tempering.temper import DEPRIVED, LATE, Tempering, begin, in_use, make_tempering, next_seed, predict, temper_prediction
from airoas.bounds import Bounds, find_bounds
from airoas.bounds.find import bounds_named
from airoas.bounds.store import alone, digest_of_sources, keep, stored
from airoas.compiler.clock import now
from airoas.compiler.kernels import Kernel, Record, current_mode, kernel
from airoas.compiler.notice import QUIET
from airoas.compiler.specialise import noinline
from airoas.errors import OptionError
from airoas.planners.bounded.advice import Advisor
from airoas.planners.bounded.cells import candidate_rows
from airoas.planners.bounded.enumerated import can_enumerate, keep_likely
from airoas.planners.bounded.expansion import branch
from airoas.planners.bounded.lead import Lead, compare
from airoas.planners.bounded.leaves import TOO_LATE, draw_particles, keep_particles, open_node, own_particles, successors, weigh_leaf, widen
from airoas.planners.bounded.search import Search, make_search
from airoas.planners.bounded.session import BoundedPlanner, forget_session
from airoas.planners.bounded.tree import (
    BAD_MODEL,
    BAD_REWARD,
    DEADLINE,
    MEMORY,
    OK,
    Tree,
    allowed_gap,
    backup,
    best_action,
    best_child,
    end_at_depth,
    has_capacity,
    must_end,
    refresh_bounds,
    search_by,
    set_bounds,
)
from airoas.policies import learned
from airoas.rng import hash_key, new_stream, stream

MODES = ("corrected", "literal", "none")
MOST_PARTICLES = 20_000
"""At a node of the tree: observations are weighed in all of them at once."""
PACKINGS = ("mixture", "first")
TRIALS = ("excess", "full")
POLICIES = ("auto", "always", "none")
_log = logging.getLogger("airoas")
_STEPS, _FEWEST = 1200, 20  # particles times actions at a node, about, and particles at least, without hints
_IN_BOXES = 50  # particles where actions are no list


@dataclass(frozen=True)
class AIROAS(BoundedPlanner):
    """Annealed Importance Resampling Observation Adaptive Search. `AIROAS(seconds=0.1)` is all that is needed.

    `AIROAS.as_printed()` is the paper's listing. The defaults differ from it, each where the print is silent or was measured
    to be worse:

    * annealing is the corrected one, and runs where N/ESS of the plain update exceeds `target_inefficiency`;
    * weights are carried from a node to its children (Alg. 3 line 8 sets them to 1), and the likelihood counts once;
    * a trial ends where the excess uncertainty is gone or the preferred action has changed (Alg. 1 goes on to the depth limit);
    * at the depth limit the new bound is backed up;
    * the root is drawn from the belief and not annealed: it has no observation;
    * bounds of an annealed node are those of its new particles;
    * p-hat is the fraction of particles that saw the observation, and observations whose weights differ little share a branch;
    * an action is branched when its upper bound makes it the preferred one; until then its bounds come from one step of
      simulation, or from the bound's own values of actions. The tree is the same, without the branches nobody looks at.
    """

    particles: int = 100
    """N, at each node; fewer where actions are many and the bounds are estimates."""
    anneal: str = "corrected"
    """"corrected", "literal" (Alg. 4 and 5 as printed) or "none" (the ablation)."""
    target_inefficiency: float = 5.0
    """r*: N/ESS above which a leaf is annealed (or, without annealing, resampled)."""
    moves: int = 2
    """Sweeps of Metropolis-Hastings at each temperature."""
    delta: float = 0.5
    """Observations share a branch where their weights differ by no more (L1, 0 to 2; at most 0.1 where every possible state is
    enumerated, see `enumerates`); negative: never."""
    packing: str = "first"
    """What a branch that observations share has: "mixture" (of their posteriors; none is shared where it would be annealed) or "first"
    (the posterior of the first, as in AdaOPS; always so in literal mode, which anneals every branch)."""
    observations: int | None = None
    """How many of the particles make an observation, hence at most as many branches to an action; None: all."""
    enumerates: bool = True
    """A node of a finite model that has `reward` holds every possible state, with its probability, where these are no more than
    `particles`; there is nothing to anneal there. It needs bounds with values of actions, as "auto" gives. False: always particles."""
    trial: str = "excess"
    """"excess" (a trial ends where nothing is left to gain) or "full" (it goes on to `max_depth`)."""
    policy: str = "auto"
    """A policy found from the simulator leads, improved by rollouts: "auto" where the bounds are estimates, and the model's own only if
    its actions are a list, unless the search earned more when both played, in `prepare`; "always" or "none"."""
    learn_seconds: float = 30.0
    """For learning that policy, in `prepare`; 0 for QMDP without learning."""
    macros: bool = True
    """Its rollouts try macro-actions: the model's own (`macros()`), or repeated ones where `prepare` measured that these gain;
    and to go to where much is told, where that gains."""
    open_root: bool = True
    """Where the bounds are estimates every action of the root is branched first, while half of the time for the search lasts."""
    literal_weights: str = "likelihood"
    """Literal mode: what a leaf's particles weigh before annealing; see `airoas.belief.tempering.literal`."""

    SEARCH_SPACE = {
        "particles": ("int", 20, 500, "log"),
        "delta": ("float", 0.0, 1.5),
        "target_inefficiency": ("float", 1.2, 20.0, "log"),
        "gap_ratio": ("float", 0.3, 0.99),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.particles <= MOST_PARTICLES:
            raise OptionError(f"particles is {self.particles}", f"use 1 to {MOST_PARTICLES}; 100 is the default.")
        if self.anneal not in MODES:
            raise OptionError(f"there is no anneal={self.anneal!r}", f"use {', '.join(MODES)}.")
        if self.trial not in TRIALS:
            raise OptionError(f"there is no trial={self.trial!r}", f"use {' or '.join(TRIALS)}.")
        if not self.target_inefficiency > 1.0:
            raise OptionError(f"target_inefficiency is {self.target_inefficiency}", "choose it above 1; 5 is the default.")
        if self.observations is not None and self.observations < 1:
            raise OptionError(f"observations is {self.observations}", "use at least 1, or None for one to a particle.")
        if math.isnan(self.delta):
            raise OptionError("delta is nan", "use 0 to 2, or a negative number for no sharing; 0.5 is the default.")
        if self.packing not in PACKINGS:
            raise OptionError(f"there is no packing={self.packing!r}", f"use {' or '.join(PACKINGS)}.")
        if self.moves < 0:
            raise OptionError(f"moves is {self.moves}", "use 0 or more sweeps.")
        if self.policy not in POLICIES:
            raise OptionError(f"there is no policy={self.policy!r}", f"use {', '.join(POLICIES)}.")
        if not 0.0 <= self.learn_seconds < math.inf:
            raise OptionError(f"learn_seconds is {self.learn_seconds}", "give seconds, 0 for no learning; 30 is the default.")
        if self.literal_weights not in literal.WEIGHTS:
            raise OptionError(f"there is no literal_weights={self.literal_weights!r}", f"use {', '.join(literal.WEIGHTS)}.")

    @classmethod
    def as_printed(cls, seconds: float | None = None, iterations: int | None = None, **options: Any) -> AIROAS:
        """The paper's listing, with its choices where it makes them; `bounds` are the paper's for each domain."""
        printed: dict[str, Any] = {"anneal": "literal", "target_inefficiency": 2.0, "delta": -1.0, "trial": "full", "gap": 0.0}
        return cls(seconds=seconds, iterations=iterations, **(printed | options))

    def prepare(self, model: Any) -> None:
        """Compile, find bounds and learn a policy where one is wanted, so that no decision has to. Idempotent."""
        learns = self.learn_seconds > 0.0 and current_mode() == "compiled"  # elsewhere it would take hours
        if learns and self._wants_policy(model, find_bounds(model, self.bounds)):
            before = self._learned(model)
            if learned.prepare(model, learned.PART * self.learn_seconds, self._values()) is not before:
                forget_session(self, model)
            if self.policy == "auto":
                self._find_lead(model)
        super().prepare(model)

    def _find_lead(self, model: Any) -> Lead:
        """Whether search or policy leads, by playing; kept on disk."""
        what = self._lead_name(model)
        if stored(model, what) is not None:
            return self._known_lead(model)
        with alone(model, what):  # two processes play once
            if stored(model, what) is not None:
                return self._known_lead(model)
            budget = {"seconds": 0.25 * self.seconds} if self.seconds else {"iterations": max(1, (self.iterations or 1) // 4)}
            options: dict[str, Any] = {"seconds": None, "iterations": None} | budget
            search, policy = (replace(self, policy=policy, **options) for policy in ("none", "always"))
            search.prepare(model)
            policy.prepare(model)
            seconds = (1.0 - learned.PART) * self.learn_seconds
            if seconds > QUIET:
                _log.warning("%s: search and policy play, up to %.0f s, to see which of them leads", type(model).__name__, seconds)
            lead = compare(model, search, policy, seconds)
            keep(model, what, {name: np.array(getattr(lead, name)) for name in ("gain", "error", "pairs")})
            return lead

    def _known_lead(self, model: Any) -> Lead:
        """What was found out in an earlier process; nothing where none is kept."""
        arrays = stored(model, self._lead_name(model))
        return Lead(float(arrays["gain"]), float(arrays["error"]), int(arrays["pairs"])) if arrays else Lead(0.0, math.inf, 0)

    def _wants_policy(self, model: Any, bounds: Bounds) -> bool:
        estimated = model.n_actions or not (model.has("heuristic") or model.has("value_bounds"))
        return self.policy == "always" or (self.policy == "auto" and estimated and self.anneal != "literal" and not bounds.sound)

    def advisor(self, model: Any, bounds: Bounds) -> Advisor | None:
        if not self._wants_policy(model, bounds) or (self.policy == "auto" and self._search_leads(model)):
            return None
        known = self._learned(model) if self.learn_seconds > 0.0 else None
        if known is None and self.learn_seconds > 0.0 and current_mode() == "compiled":
            _warn_of_nothing_learned(model, self.learn_seconds)
        return Advisor(model, known, self.macros, self._values())

    def _values(self) -> str:
        """Of QMDP, which the policy corrects: the upper bound that was asked for, unless it is a number, the same everywhere."""
        upper = bounds_named(self.bounds)[1]
        return upper if isinstance(upper, str) else "auto"

    def _learned(self, model: Any) -> learned.Learned | None:
        return learned.find_learned(model, self._values())

    def _lead_name(self, model: Any) -> str:
        """Of the policy that played: another one must play anew."""
        known = self._learned(model)
        return f"lead {digest_of_sources(Path(__file__).parent)} {self} {known.digest if known else ''}"

    def _search_leads(self, model: Any) -> bool:
        """As far as it was found out."""
        return self._known_lead(model).is_the_searchs

    def particles_at_root(self, model: Any, belief: Particles) -> int:
        return self._n_particles(model, find_bounds(model, self.bounds))

    def _n_particles(self, model: Any, bounds: Bounds) -> int:
        """N; fewer where actions are many and nothing tells beforehand which of them are worth a look."""
        if bounds.sound or self.anneal == "literal":
            return self.particles
        return min(self.particles, max(_FEWEST, _STEPS // model.n_actions) if model.n_actions else _IN_BOXES)

    def mixes(self) -> bool:
        return self.packing == "mixture" and self.anneal != "literal"

    def make_search(self, model: Any, bounds: Bounds) -> AnnealedSearch:
        # bounds without values of actions are simulated in every particle, for which a few states are too few
        enumerates = self.enumerates and self.anneal != "literal" and bounds.by_action and can_enumerate(model)
        n = self._n_particles(model, bounds)
        is_literal = self.anneal == "literal"
        mixes = self.mixes()
        target = self.target_inefficiency if mixes and self.anneal == "corrected" else math.inf
        search = make_search(model, bounds, n, self.observations or n, self.delta, enumerates, mixes=mixes, target=target)
        printed = literal.make_printed(model, self.particles, self.target_inefficiency, self.literal_weights) if is_literal else None
        return AnnealedSearch(
            search=search,
            tempering=self._make_tempering(model, n),
            printed=printed or literal.make_unused(),
            anneal=MODES.index(self.anneal),
            target=float(self.target_inefficiency),
            full=self.trial == "full",
            allowed=search.allowed,
            seed=0,
            enumerates=enumerates,
            opens=self.open_root and bool(model.n_actions) and not is_literal and not bounds.sound,
        )

    def _make_tempering(self, model: Any, n: int) -> Tempering:
        if self.anneal != "corrected":
            return make_tempering(model, 1, "resimulate", 0, np.empty(0), None)
        move, draws = choose_move(model, "auto"), 0
        if move == "ancestors":
            some = Particles.sample(model, 64, stream(0, "draws"))
            draws = max(draws_of(model, some, model.from_row("action", row)) for row in candidate_rows(model))
        options = {"target": self.target_inefficiency, "repeats": self.moves}
        return make_tempering(model, n, move, draws, np.empty(0), None, **options)

    def kernel(self) -> Kernel:
        return plan


def _warn_of_nothing_learned(model: Any, seconds: float) -> None:
    """Once: a plan does not wait for it."""
    if model.fingerprint not in _warned:
        _warned.add(model.fingerprint)
        _log.warning(
            "No policy has been learned for %s: AIROAS plans without, and may be much weaker. planner.prepare(model) learns one, once, "
            "in up to %.0f s; learn_seconds=0 says that none is wanted.",
            type(model).__name__,
            seconds,
        )


_warned: set[str] = set()


class AnnealedSearch(Record):
    """What the search works with."""

    search: Search
    tempering: Tempering
    printed: Any
    """The printed annealing."""
    anneal: int
    """Place in MODES."""
    target: float
    full: bool
    """Whether a trial goes on to the depth limit."""
    allowed: Any
    seed: int
    enumerates: bool
    opens: bool
    """Whether every action of the root is branched before the first trial."""


CORRECTED, LITERAL, NONE = range(3)
NOT_ANNEALED = 100


def own_states(tree: Tree, b: int, states: Any, weights: Any, alive: Any) -> bool:
    """Moved particles, those that are alive, become the node's own; False where there are none."""
    first, total, count = tree.n_rows, 0.0, 0
    for i in range(len(weights)):
        if weights[i] > 0.0 and alive[i]:
            for k in range(states.shape[1]):
                tree.states[first + count, k] = states[i, k]
            tree.weights[first + count] = weights[i]
            total += weights[i]
            count += 1
    if count == 0:
        return False
    for j in range(count):
        tree.weights[first + j] /= total
    tree.first_particle[b], tree.n_particles[b] = first, count
    tree.n_rows = first + count
    return True


@noinline
def anneal_literally(tree: Tree, search: AnnealedSearch, b: int, seed: int) -> int:
    """Paper: Alg. 1 line 5, on the successors that siblings share."""
    printed, ba = search.printed, tree.parent[b]
    size = tree.n_successors[ba]
    states, before = successors(tree, ba, size)
    for i in range(size):
        for k in range(states.shape[1]):
            printed.states[i, k] = states[i, k]
        printed.logs[i] = math.log(before[i]) if before[i] > 0.0 else -math.inf
        printed.likelihoods[0, i] = search.search.logs[0, i]
    status = literal.anneal_as_printed(printed, size, tree.actions[ba : ba + 1], tree.observations[b : b + 1], seed)
    if status == BAD_LIKELIHOOD:
        return BAD_MODEL
    weights, alive = search.search.weights[0], search.search.arrived
    for i in range(size):
        weights[i] = math.exp(printed.logs[i])
        alive[i] = printed.likelihoods[0, i] > -math.inf
    if status != OK or not own_states(tree, b, printed.states, weights[:size], alive):
        return NOT_ANNEALED
    tree.n_annealed += 1
    tree.n_stages += printed.stages
    tree.n_evaluations += printed.stages * size
    return OK


@noinline
def anneal_corrected(tree: Tree, search: AnnealedSearch, b: int, seed: int) -> int:
    """From the particles before the action, where the plain update would leave too few effective."""
    work, above = search.tempering, tree.node[tree.parent[b]]
    begin(work)
    draw_ancestors(tree, search, above, work, hash_key(seed, 0, 0))
    for k in range(tree.actions.shape[1]):
        work.actions[0, k] = tree.actions[tree.parent[b], k]
    for k in range(tree.observations.shape[1]):
        work.observations[0, k] = tree.observations[b, k]
    work.deadline = tree.deadline
    status = predict(work, next_seed(work, seed))
    if status == OK:
        status = temper_prediction(work, seed)
    if status == LATE:
        return DEADLINE
    if status in (BAD_LIKELIHOOD, BAD_STEP):
        return BAD_MODEL
    system = in_use(work)
    for i in range(len(system.weights)):
        system.alive[i] = system.log_likelihoods[i] > -math.inf
    if status == DEPRIVED or not own_states(tree, b, system.states, system.weights, system.alive):
        return NOT_ANNEALED
    tree.n_annealed += 1
    tree.n_stages += work.stage
    tree.n_evaluations += int(work.evaluations * len(system.weights))
    return OK


def draw_ancestors(tree: Tree, search: AnnealedSearch, above: int, work: Tempering, seed: int) -> None:
    """The particles before the action, drawn by weight, into the particle system that is to be annealed."""
    system, n = work.first, len(work.chosen)
    states, weights = own_particles(tree, above)
    own = new_stream()
    own.reseed(seed, 0, 0)
    choose(weights, SYSTEMATIC, own, work.chosen)
    for j in range(n):
        for k in range(states.shape[1]):
            system.ancestors[j, k] = states[work.chosen[j], k]
        system.alive[j] = True
        system.log_weights[j] = -math.log(n)


@noinline
def update_leaf(tree: Tree, search: AnnealedSearch, b: int) -> int:
    """Give a leaf its particles. Paper: Alg. 1 line 5. Differs: only where the plain weights are too uneven."""
    ba, workspace = tree.parent[b], search.search
    size, most = tree.n_successors[ba], len(workspace.chosen)
    if not has_capacity(tree, 0, len(workspace.legal) + workspace.cells.capacity, 2 * most):
        return MEMORY
    seed = hash_key(workspace.seed, tree.key[b], -1)
    inefficiency = weigh_leaf(tree, workspace, b)
    if tree.enumerated[ba]:
        keep_likely(tree, b, size, workspace.weights[0])
    elif search.anneal == LITERAL or inefficiency > search.target:
        status = NOT_ANNEALED
        if search.anneal == CORRECTED and tree.mixture[b] < 0:
            status = anneal_corrected(tree, search, b, seed)
        elif search.anneal == LITERAL:
            status = anneal_literally(tree, search, b, seed)
        if status == OK:
            set_bounds(tree, b, -math.inf, math.inf)  # those of the particles before
        if status != NOT_ANNEALED:
            return int(status)
        weigh_leaf(tree, workspace, b)
        own = new_stream()
        own.reseed(seed, 1, 0)
        draw_particles(tree, b, size, workspace.weights[0], workspace.chosen, own)
    else:
        keep_particles(tree, b, size, workspace.weights[0], workspace.chosen)
    return OK


def expand(tree: Tree, search: AnnealedSearch, b: int) -> int:
    """Particles, action nodes and bounds for a leaf."""
    if b > 0:
        status = update_leaf(tree, search, b)
        if status != OK:
            return int(status)
    return int(open_node(tree, search.search, b))


def trial(tree: Tree, search: AnnealedSearch) -> int:
    """Paper: Alg. 1 lines 2-12, with Alg. 2 (selection) and Alg. 3 (expansion and backup)."""
    b, discount = 0, search.search.discount
    while True:
        if tree.depth[b] >= tree.max_depth:
            end_at_depth(tree, b, discount)
            return OK
        if must_end(tree, b):
            return OK
        fresh = tree.first_action[b] < 0
        changed = False
        lower, upper = tree.lower[b], tree.upper[b]
        if fresh:
            status = expand(tree, search, b)
            if status != OK:
                return int(status)
        else:
            status = widen(tree, search.search, b)
            if status <= TOO_LATE:
                return DEADLINE if status == TOO_LATE else BAD_REWARD
        ba = best_action(tree, b)
        while tree.first_child[ba] < 0:
            status = branch(tree, search.search, ba)
            if status != OK:
                return int(status)
            refresh_bounds(tree, b)
            ba = best_action(tree, b)
        if backup(tree, b, lower, upper, discount):
            changed = True
        allowed = allowed_gap(tree, tree.depth[b], discount)
        if not search.full and fresh and (changed or tree.upper[b] - tree.lower[b] <= allowed):
            return OK
        b = best_child(tree, ba, allowed / discount, -math.inf if search.full else 0.0)
        if b < 0:
            return OK


def open_actions(tree: Tree, search: AnnealedSearch) -> int:
    """Branch every action of the root, those of the largest upper bounds first, while the first half of the time lasts: what is
    observed after a look tells what it is worth, and no bound of the fully observable problem does."""
    half, first = 0.5 * (now() + tree.deadline), tree.first_action[0]
    for _ in range(tree.n_actions[0]):
        best = -1
        for ba in range(first, first + tree.n_actions[0]):
            if tree.first_child[ba] < 0 and (best < 0 or tree.action_upper[ba] > tree.action_upper[best]):
                best = ba
        if best < 0 or now() >= half:
            return OK
        status = branch(tree, search.search, best)
        if status != OK:
            return OK if status in (DEADLINE, MEMORY) else int(status)
    return OK


run = search_by(trial)


@kernel
def plan(tree: Tree, search: AnnealedSearch) -> int:
    """The search; why it ended."""
    search.search.seed = search.seed
    status = open_node(tree, search.search, 0)
    if status != OK:
        return int(status)
    if search.opens:
        status = open_actions(tree, search)
        if status != OK:
            return int(status)
    refresh_bounds(tree, 0)
    return int(run(tree, search))
