"""AIROAS: online planning on a bounded belief tree whose leaves move their particles toward the posterior.

Paper: Alg. 1-3, with the annealing of `airoas.belief` (Alg. 4 and 5) at the leaves.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.belief.tempering import ladder, literal
from airoas.belief.tempering.anneal import choose_move, count_draws, make_work
from airoas.belief.tempering.bridge import bridge_by
from airoas.belief.tempering.ladder import BAD_LIKELIHOOD, BAD_STEP, REPEATS, RESAMPLES, SMOOTHS, TARGET, begin, sides
from airoas.bounds import Bounds
from airoas.compiler.kernels import Kernel, Record, kernel
from airoas.compiler.specialise import apart
from airoas.errors import OptionError
from airoas.planners.bounded.enumerated import can_list, keep_likely, list_root
from airoas.planners.bounded.expansion import branch_by, make_branching
from airoas.planners.bounded.leaves import draw_particles, keep_particles, likelihoods, open_by, weigh
from airoas.planners.bounded.session import BoundedPlanner
from airoas.planners.bounded.tree import (
    ANNEALED,
    BAD_MODEL,
    DEADLINE,
    EVALUATIONS,
    MEMORY,
    MOST_DEPTH,
    OK,
    ROWS,
    STAGES,
    UNTIL,
    Tree,
    allowed_gap,
    backup,
    best_action,
    best_child,
    close,
    has_room,
    must_end,
    search_by,
    set_bounds,
    take_actions,
)
from airoas.rng import stream

MODES = ("corrected", "literal", "none")
MOST_PARTICLES = 20_000
"""At a node of the tree: observations are weighed in all of them at once."""
TRIALS = ("excess", "full")


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
    * p-hat is the share of particles that saw the observation, and observations whose weights differ little share a branch;
    * an action is branched when its upper bound makes it the preferred one; until then its bounds come from one step of
      simulation, or from the bound's own values of actions. The tree is the same, without the branches nobody looks at.
    """

    particles: int = 100
    """N, at each node."""
    anneal: str = "corrected"
    """"corrected", "literal" (Alg. 4 and 5 as printed) or "none" (the ablation)."""
    target_inefficiency: float = 5.0
    """r*: N/ESS above which a leaf is annealed (or, without annealing, resampled)."""
    moves: int = 2
    """Sweeps of Metropolis-Hastings at each temperature."""
    delta: float = 0.5
    """Observations share a branch where their weights differ by no more (L1, 0 to 2; at most 0.1 where every possible state is
    listed, see `exact`); negative: never."""
    observations: int | None = None
    """How many of the particles make an observation, hence at most as many branches to an action; None: all."""
    exact: bool = True
    """A node of a finite model that has `reward` holds every possible state, with its probability, where these are no more than
    `particles`; there is nothing to anneal there. It needs bounds with values of actions, as "auto" gives. False: always particles."""
    trial: str = "excess"
    """"excess" (a trial ends where nothing is left to gain) or "full" (it goes on to `max_depth`)."""
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
        if self.moves < 0:
            raise OptionError(f"moves is {self.moves}", "use 0 or more sweeps.")
        if self.literal_weights not in literal.WEIGHTS:
            raise OptionError(f"there is no literal_weights={self.literal_weights!r}", f"use {', '.join(literal.WEIGHTS)}.")

    @classmethod
    def as_printed(cls, seconds: float | None = None, iterations: int | None = None, **options: Any) -> AIROAS:
        """The paper's listing, with its choices where it makes them; `bounds` are the paper's for each domain."""
        printed: dict[str, Any] = {"anneal": "literal", "target_inefficiency": 2.0, "delta": -1.0, "trial": "full", "gap": 0.0}
        return cls(seconds=seconds, iterations=iterations, **(printed | options))

    def particles_at_root(self, model: Any, belief: Particles) -> int:
        return self.particles

    def make_work(self, model: Any, bounds: Bounds) -> Annealing:
        seers = self.observations or self.particles
        branching = make_branching(model, bounds, self.particles, seers, self.delta, self._is_exact(model, bounds))
        return Annealing(
            branching=branching,
            air=self._make_air(model),
            seed=branching.seed,
            allowed=branching.allowed,
            target=float(self.target_inefficiency),
        )

    def _make_air(self, model: Any) -> Record:
        if self.anneal == "literal":
            return literal.make_printed(model, self.particles, self.target_inefficiency, self.literal_weights)
        move = choose_move(model, "auto")
        options = {
            TARGET: self.target_inefficiency,
            ladder.UNTIL: 1.0,
            REPEATS: self.moves,
            RESAMPLES: True,
            SMOOTHS: move == "ancestors",
        }
        draws = 0
        if move == "ancestors" and self.anneal == "corrected":
            some = Particles.sample(model, 64, stream(0, "draws"))
            draws = max(count_draws(model, some, a, stream(0, "draws", a)) for a in range(model.n_actions))
        return make_work(model, self.particles if self.anneal == "corrected" else 1, move, draws, options, np.empty(0))

    def search_kernel(self, model: Any, bounds: Bounds) -> Kernel:
        if self.anneal == "literal":
            mode = "own" if literal.proposes(model, 1.0) else "normal"
        else:
            mode = choose_move(model, "auto") if self.anneal == "corrected" else "none"
        return airoas_by(bounds.evaluate, bounds.by_action, mode, self.trial == "full", self._is_exact(model, bounds))

    def _is_exact(self, model: Any, bounds: Bounds) -> bool:
        """Bounds without values of actions are simulated in every particle, for which a few states are too few."""
        return self.exact and self.anneal != "literal" and bounds.by_action and can_list(model)

    def list_root(self, model: Any, belief: Particles, tree: Tree, work: Annealing) -> bool:
        exact = len(work.branching.slots) > 1
        return exact and bool(list_root(model, belief.states, belief.weights, tree, work.branching))

    def prepare_root(self, model: Any, belief: Particles, tree: Tree, work: Annealing) -> None:
        if len(work.branching.slots) > 1:
            list_root.prepare(model, belief.states, belief.weights, tree, work.branching)


class Annealing(Record):
    """What the search works in."""

    branching: Any
    air: Any
    """Work of the corrected annealing, or of the printed one."""
    seed: Any
    allowed: Any
    target: float


def _carry_over(tree: Tree, b: int, cloud: Any, weights: Any, chosen: Any, rng: Any) -> None:
    """The particles before the action, drawn by weight, into a cloud that is to be annealed."""
    above = tree.above[tree.parent[b]]
    size = tree.size[above]
    for i in range(size):
        weights[i] = tree.weights[tree.place[above] + i]
    choose(weights[:size], SYSTEMATIC, rng, chosen)
    for j in range(len(chosen)):
        row = tree.place[above] + chosen[j]
        for k in range(tree.states.shape[1]):
            cloud.ancestors[j, k] = tree.states[row, k]
        cloud.log_weights[j] = -math.log(len(chosen))


def keep_states(model: Any, tree: Tree, b: int, states: Any, weights: Any, size: int) -> bool:
    """Moved particles, those that have not ended, become the node's own; False where all have."""
    place, total, count = tree.counts[ROWS], 0.0, 0
    for i in range(size):
        if weights[i] > 0.0 and not model.is_terminal(model.read_state(states, i)):
            for k in range(states.shape[1]):
                tree.states[place + count, k] = states[i, k]
            tree.weights[place + count] = weights[i]
            total += weights[i]
            count += 1
    if count == 0:
        return False
    for j in range(count):
        tree.weights[place + j] /= total
    tree.place[b], tree.size[b] = place, count
    tree.counts[ROWS] += count
    return True


def air_by(mode: str) -> Any:
    """`anneal_leaf`: give a leaf particles of its own that follow its observation. NOT_ANNEALED where that is left undone."""
    if mode == "none":

        def leave(model: Any, tree: Tree, work: Annealing, b: int, rng: Any) -> int:
            return NOT_ANNEALED

        return leave
    if mode in ("own", "normal"):
        anneal_as_printed = literal.anneal_own if mode == "own" else literal.anneal_normal

        @apart
        def anneal_literally(model: Any, tree: Tree, work: Annealing, b: int, rng: Any) -> int:
            """Paper: Alg. 1 line 5, on the successors that siblings share."""
            air, ba = work.air, tree.parent[b]
            size, start = tree.followers[ba], tree.successors[ba]
            for i in range(size):
                for k in range(tree.states.shape[1]):
                    air.states[i, k] = tree.states[start + i, k]
                weight = tree.weights[start + i]
                air.logs[i] = math.log(weight) if weight > 0.0 else -math.inf
                air.likelihoods[i] = work.branching.logs[0, i]
            a = int(tree.action[ba])
            o = model.read_observation(tree.observations, b)
            status = anneal_as_printed(model, air, size, a, o, tree.observations[b : b + 1], rng)
            if status == BAD_LIKELIHOOD:
                return BAD_MODEL
            weights = work.branching.weights[0]
            for i in range(size):
                weights[i] = math.exp(air.logs[i])
            if status != 0 or not keep_states(model, tree, b, air.states, weights, size):
                return NOT_ANNEALED
            tree.counts[ANNEALED] += 1
            tree.counts[STAGES] += int(air.numbers[literal.STAGES])
            tree.counts[EVALUATIONS] += int(air.numbers[literal.STAGES]) * size
            return OK

        return anneal_literally

    bridge = bridge_by(mode)

    @apart
    def anneal_corrected(model: Any, tree: Tree, work: Annealing, b: int, rng: Any) -> int:
        """From the particles before the action, where the plain update would leave too few effective."""
        air = work.air
        begin(air)
        _carry_over(tree, b, air.here, work.branching.weights[0], air.chosen, rng)
        model.write_action(air.actions, 0, int(tree.action[tree.parent[b]]))
        for k in range(tree.observations.shape[1]):
            air.observations[0, k] = tree.observations[b, k]
        air.options[ladder.DEADLINE] = tree.limits[UNTIL]
        status = bridge(model, air, 0, 1, rng.bits(62), rng)
        if status == ladder.LATE:
            return DEADLINE
        if status in (BAD_LIKELIHOOD, BAD_STEP):
            return BAD_MODEL
        cloud, _ = sides(air)
        if status == ladder.DEPLETED or not keep_states(model, tree, b, cloud.states, cloud.weights, len(cloud.weights)):
            return NOT_ANNEALED
        tree.counts[ANNEALED] += 1
        tree.counts[STAGES] += int(air.numbers[ladder.STAGE])
        tree.counts[EVALUATIONS] += int(air.numbers[ladder.EVALUATIONS] * len(cloud.weights))
        return OK

    return anneal_corrected


NOT_ANNEALED = 100


@functools.cache
def airoas_by(evaluate: Any, by_action: bool, mode: str, full: bool, exact: bool) -> Kernel:
    """The search as a kernel, for a kind of bounds, of annealing, of trial and of nodes."""
    open_node, branch, anneal_leaf = open_by(evaluate, by_action), branch_by(evaluate, exact), air_by(mode)
    literally = mode in ("own", "normal")

    @apart
    def settle(model: Any, tree: Tree, work: Annealing, b: int, rng: Any) -> int:
        """Give a leaf its particles. Paper: Alg. 1 line 5. Differs: only where the plain weights are too uneven."""
        ba, room = tree.parent[b], work.branching
        size, most = tree.followers[ba], len(room.chosen)
        if not has_room(tree, 0, model.n_actions, most):
            return MEMORY
        rng = rng.local()
        rng.reseed(work.seed[0], tree.key[b], -2)
        likelihoods(model, tree, ba, tree.observations, b, 1, size, room.logs)
        ratio = weigh(tree, ba, size, room.logs[0], room.weights[0])
        if tree.complete[ba]:
            keep_likely(tree, b, size, room.weights[0])
        elif literally or ratio > work.target:
            status = anneal_leaf(model, tree, work, b, rng)
            if status == OK:
                set_bounds(tree, b, -math.inf, math.inf)  # those of the particles before
            if status != NOT_ANNEALED:
                return int(status)
            weigh(tree, ba, size, room.logs[0], room.weights[0])
            draw_particles(tree, b, size, room.weights[0], room.chosen, most, rng)
        else:
            keep_particles(tree, b, size, room.weights[0])
        return OK

    def expand(model: Any, tree: Tree, work: Annealing, b: int, rng: Any) -> int:
        """Particles, action nodes and bounds for a leaf."""
        if b > 0:
            status = settle(model, tree, work, b, rng)
            if status != OK:
                return int(status)
        return int(open_node(model, tree, work.branching, b, rng))

    def trial(model: Any, tree: Tree, work: Annealing, rng: Any) -> int:
        """Paper: Alg. 1 lines 2-12, with Alg. 2 (selection) and Alg. 3 (expansion and backup)."""
        b = 0
        while True:
            if tree.depth[b] >= tree.limits[MOST_DEPTH]:
                close(tree, b, model.discount)
                return OK
            if must_end(tree, b):
                return OK
            fresh = tree.first[b] < 0
            changed = False
            lower, upper = tree.lower[b], tree.upper[b]
            if fresh:
                status = expand(model, tree, work, b, rng)
                if status != OK:
                    return int(status)
            ba = best_action(tree, b)
            while tree.child[ba] < 0:
                status = branch(model, tree, work.branching, ba, rng)
                if status != OK:
                    return int(status)
                take_actions(tree, b)
                ba = best_action(tree, b)
            if backup(tree, b, lower, upper, model.discount):
                changed = True
            allowed = allowed_gap(tree, tree.depth[b], model.discount)
            if not full and fresh and (changed or tree.upper[b] - tree.lower[b] <= allowed):
                return OK
            b = best_child(tree, ba, allowed / model.discount, -math.inf if full else 0.0)
            if b < 0:
                return OK

    search = search_by(trial)

    def plan(model: Any, tree: Tree, work: Annealing, rng: Any) -> int:
        open_node(model, tree, work.branching, 0, rng)
        take_actions(tree, 0)
        return int(search(model, tree, work, rng))

    return kernel(plan)
