"""What the bounded-tree planners share around their search: options, the session of a planner on a model, the answer."""

from __future__ import annotations

import math
import threading
import time
import warnings
import weakref
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.bounds import Bounds, find_bounds
from airoas.bounds.find import bounds_named
from airoas.compiler.clock import read_clock
from airoas.compiler.interrupt import stop_if_interrupted
from airoas.compiler.kernels import Kernel, current_mode, interpreted
from airoas.errors import ModelError, OptionError
from airoas.modelling.batch import batch
from airoas.modelling.gate import check_discount
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rewards import MOST_REWARD, refuse_reward
from airoas.planners.base import MEMORY, Decision, PreparedPlanner, Start, Stats, check_options
from airoas.planners.bounded import recheck
from airoas.planners.bounded.advice import Advice, Advisor
from airoas.planners.bounded.cells import candidate_rows, max_root_actions
from airoas.planners.bounded.enumerated import enumerate_root, number_states
from airoas.planners.bounded.search import draw_root
from airoas.planners.bounded.tree import BAD_MODEL, BAD_REWARD, NO_ACTION, STOPS, Capacity, Tree, best_of, make_tree, row_bytes, used_bytes
from airoas.planners.bounded.view import BeliefTree
from airoas.planners.storage import Block
from airoas.rng import Rng, stream

if TYPE_CHECKING:
    from airoas.planners.many import Decided

_RESERVE = 2e-4  # seconds before the deadline at which a search ends: what Python needs to hand the answer over
_SEARCHED = 0.25  # of the time for a decision, where a policy is asked as well; the rest is for its rollouts
_AT_ROOT = 0.1  # of the time for a decision, which the root's actions may take: a trial expands some nodes as large
_PILOT = 16  # times fewer particles tell what the root's actions take
_CROSSED = 0.25  # of the root's first gap: a lower bound this far above an upper one is no matter of chance


class UnsoundBoundsWarning(RuntimeWarning):
    """A search proved a value above an upper bound."""


@dataclass(frozen=True)
class BoundedPlanner(PreparedPlanner):
    """Options of every bounded-tree planner."""

    seconds: float | None = None
    """Time for one decision; the deadline is kept. Give this or `iterations`."""
    iterations: int | None = None
    """Trials for one decision, instead of a time: the same seed then gives the same decision."""
    bounds: Any = "auto"
    """See `airoas.bounds.find_bounds`."""
    max_depth: int = 90
    """Of the tree."""
    gap_ratio: float = 0.95
    """xi: a node whose bounds are closer than this fraction of the root's gap (undiscounted) needs no further search."""
    gap: float = 1e-3
    """The search ends when the root's bounds are this close (epsilon_0)."""
    memory: int = MEMORY
    """Bytes that the tree may take."""

    def __post_init__(self) -> None:
        check_options(self)
        if self.max_depth < 1:
            raise OptionError(f"max_depth is {self.max_depth}", "use at least 1; 90 is the default.")
        if not 0.0 <= self.gap_ratio < 1.0:
            raise OptionError(f"gap_ratio is {self.gap_ratio}", "choose it at 0 or above and below 1; 0.95 is the default.")
        if not self.gap >= 0.0:
            raise OptionError(f"gap is {self.gap}", "choose 0 or more.")
        if isinstance(self.bounds, list):  # as files have them; options are hashed
            object.__setattr__(self, "bounds", tuple(self.bounds))
        bounds_named(self.bounds)

    def fits(self, model: KernelModel) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        if model.n_actions or (model.space is not None and not model.has("legal")):
            return None
        own = f"{type(self).__name__} needs `actions` or an `action_space`"
        return f"{own} without `legal`" if model.space is not None else f"{own}; POMCPOW takes continuous actions without limits"

    def prepare(self, model: KernelModel) -> None:
        """Compile and find bounds now, so that no decision has to. Idempotent."""
        session_of(self, _checked(model)).is_new = False

    def find(self, model: KernelModel) -> tuple[Session, bool]:
        session = session_of(self, model)
        is_new, session.is_new = session.is_new, False
        return session, is_new

    def decide(self, model: KernelModel, prepared: Session, start: Start, rng: Rng) -> Decision:
        """The action of the largest lower bound when time is up, with the tree."""
        return prepared.decide(start, rng)

    def plan_many(self, model: Any, beliefs: Sequence[Particles], rngs: Sequence[Rng]) -> Decided:
        """What `plan` decides for each belief with its stream, all at once on a GPU, where a thread grows a tree. The budget is
        `iterations`, and no policy is asked. See docs/gpu.md."""
        from airoas.compiler.device import device
        from airoas.planners.bounded.many import plan_many

        return plan_many(device(), self, model, beliefs, rngs)

    @abstractmethod
    def particles_at_root(self, model: KernelModel, belief: Particles) -> int:
        """How many particles the root has."""

    def mixes(self) -> bool:
        """Whether nodes that observations share have the mixture of their posteriors."""
        return False

    def follows_time(self) -> tuple[int, int] | None:
        """Where the number of particles follows the time for a decision: the fewest, and by which power of them the time for the root's
        actions grows."""
        return None

    def limit_particles(self, search: Any, most: int | None) -> None:
        """Have no node more particles than a root that time has limited; None where it has not."""

    @abstractmethod
    def make_search(self, model: KernelModel, bounds: Bounds) -> Any:
        """The record that the search works with besides the tree; it has `seed`, `allowed` and `enumerates`."""

    @abstractmethod
    def kernel(self) -> Kernel:
        """The search: (tree, search) -> how it ended."""

    def advisor(self, model: KernelModel, bounds: Bounds) -> Advisor | None:
        """A policy that is asked at the root before the search; None for none."""
        return None

    def view(self, model: KernelModel, tree: Tree) -> BeliefTree:
        """The tree for people."""
        return BeliefTree(model, tree)

    def notes(self, model: KernelModel) -> dict[str, Any]:
        """What is particular to this planner."""
        return {}


class Session:
    """A planner on a model: bounds, compiled search, and trees that wait to be used again."""

    def __init__(self, planner: BoundedPlanner, model: KernelModel) -> None:
        reason = planner.fits(model)
        if reason:
            raise OptionError(reason, "choose a planner that fits.")
        check_discount(model)
        self.planner, self.model = planner, model
        self.bounds = find_bounds(model, planner.bounds)
        first = planner.advisor(model, self.bounds)
        self._advisors = [] if first is None else [first]
        self.is_advised = first is not None
        self.kernel = planner.kernel()
        self._waiting: list[tuple[Tree, Block, Any]] = []
        self.is_new = True
        self.capacity: Capacity | None = None
        """That most trees of many need."""
        held = tree, _, search = self._take()
        self.kernel.prepare(tree, search)
        rows, reals = np.zeros((1, tree.states.shape[1])), np.zeros(1)
        batch(model).inspect(rows, np.zeros(1, np.bool_), np.zeros(0, np.bool_))
        draw_root.prepare(tree, rows, reals, np.zeros(1, np.int64), stream(0))
        if search.enumerates:
            number_states.prepare(model, rows, reals, np.zeros(1, np.int64))
            enumerate_root.prepare(tree, search.search, rows, reals, np.zeros(1, np.int64))
        planner.particles_at_root(model, Particles(rows))
        if max_root_actions(model) > 0:
            recheck.prepare(tree, search.search)
        self.enumerates = bool(search.enumerates)
        self._waiting.append(held)

    def _take(self) -> tuple[Tree, Block, Any]:
        try:
            return self._waiting.pop()
        except IndexError:
            tree, block = make_tree(*self.tree_sizes())
            return tree, block, self.planner.make_search(self.model, self.bounds)

    def tree_sizes(self) -> tuple[int, int, int, int, int, int, bool]:
        """What `make_tree` takes."""
        planner, layouts = self.planner, self.model.shapes
        widths = layouts.observation.size, layouts.action.size if layouts.action else 1, layouts.state.size
        return *widths, len(candidate_rows(self.model)), planner.memory, planner.max_depth, planner.mixes()

    def _take_advisor(self) -> Advisor | None:
        """Of those that wait, or a new one: it holds a workspace, and threads share a session."""
        if not self.is_advised:
            return None
        try:
            return self._advisors.pop()
        except IndexError:
            return self.planner.advisor(self.model, self.bounds)

    def decide(self, start: Start, rng: Rng) -> Decision:
        """The action for a belief."""
        planner, model, begun = self.planner, self.model, start.begun
        states, weights, allowed = start.states, start.weights, start.allowed
        tree, block, search = held = self._take()
        search.allowed[:] = allowed if model.n_actions else True
        search.seed = rng.bits(62)
        deadline = self._deadline(begun)
        advisor = self._take_advisor()
        until = deadline if advisor is None else begun + _SEARCHED * (deadline - begun)
        self._set_limits(tree, begun + (1.0 - recheck.PART) * (until - begun) if max_root_actions(model) else until)
        wanted = planner.particles_at_root(model, start.belief)
        _check_memory(planner.memory, wanted, len(search.allowed), tree)
        n_particles = self._affordable(tree, search, states, weights, wanted, deadline)
        tree.root_enumerated = search.enumerates and self._enumerate_root(tree, search, states, weights)
        if not tree.root_enumerated:
            draw_root(tree, states, weights, np.empty(n_particles, np.int64), rng)
        outlook = advisor.assess(states, weights, allowed, search.seed) if advisor is not None else None
        status = int(self.kernel(tree, search))
        stop_if_interrupted()
        self._refuse(status, tree, search)
        block.used[0] = used_bytes(tree)
        view = planner.view(model, tree)
        weakref.finalize(view, _wait, self._waiting, held)
        first, count = int(tree.first_action[0]), int(tree.n_actions[0])
        ties = stream(search.seed, "ties")
        chosen = first + best_of(tree.action_lower[first : first + count], tree.action_upper[first : first + count], ties)
        if tree.max_root_actions > 0:
            chosen = recheck.best_in_many(tree, search.search, states, weights, until)
        value, lower, upper = float(tree.action_lower[chosen]), float(tree.lower[0]), float(tree.upper[0])
        action = model.from_row("action", tree.actions[chosen])
        notes = self._notes(tree)
        if n_particles < wanted:
            notes["particles"] = n_particles
        advice = None
        if advisor is not None and outlook is not None:
            advice = advisor.advise(outlook, np.array(tree.actions[chosen]), deadline)
            stop_if_interrupted()
            self._advisors.append(advisor)
            notes |= {"policy": advisor.name, "searched": action, "rollouts": advice.runs, "improved": advice.improved}
            if advisor.learned and advisor.learned.began:
                notes["began"] = advisor.learned.began
            action, value = model.from_row("action", advice.action), advice.value
        if not self.bounds.sound and STOPS[status] != "gap":
            notes |= _root_notes(tree, advice)
        seconds = read_clock() - begun
        stats = Stats(
            stop=STOPS[status],
            seconds=seconds,
            overshoot=max(0.0, seconds - planner.seconds) if planner.seconds is not None else 0.0,
            trials=tree.n_trials,
            nodes=tree.n_nodes,
            depth=tree.deepest,
            bytes=int(block.used[0]),
            preparation=start.preparation,
            notes=notes,
        )
        return Decision(action, value if value > -np.inf else lower, lower, upper, stats, view)

    def _affordable(self, tree: Tree, search: Any, states: np.ndarray, weights: np.ndarray, wanted: int, deadline: float) -> int:
        """As many particles as leave time for a search, by the CPU time that the root's actions take with fewer."""
        fewest, power = self.planner.follows_time() or (wanted, 1)
        few = max(fewest, wanted // _PILOT)
        self.planner.limit_particles(search, None)
        if wanted <= 2 * few or deadline == math.inf:
            return wanted
        begun = time.thread_time()
        tree.max_trials = 0
        draw_root(tree, states, weights, np.empty(few, np.int64), stream(search.seed, "few"))
        self.kernel(tree, search)
        times = _AT_ROOT * max(0.0, deadline - read_clock()) / max(1e-9, time.thread_time() - begun)
        self._set_limits(tree, deadline)
        affordable = max(fewest, int(few * times ** (1.0 / power)))
        if affordable >= wanted:
            return wanted
        self.planner.limit_particles(search, affordable)
        return affordable

    def _deadline(self, begun: float) -> float:
        seconds = self.planner.seconds
        return math.inf if seconds is None else begun + seconds - min(_RESERVE, 0.5 * seconds)

    def _set_limits(self, tree: Tree, deadline: float) -> None:
        planner = self.planner
        tree.deadline = deadline
        tree.max_trials = np.inf if planner.iterations is None else planner.iterations
        tree.max_bytes, tree.max_depth = planner.memory, planner.max_depth
        tree.gap, tree.gap_ratio, tree.crossing = planner.gap, planner.gap_ratio, 0.0
        tree.max_root_actions = max_root_actions(self.model)
        for name in ("n_nodes", "n_action_nodes", "n_rows", "n_trials", "n_expansions", "deepest", "n_undo", "n_cut"):
            setattr(tree, name, 0)
        tree.n_annealed = tree.n_stages = tree.n_evaluations = 0

    def _enumerate_root(self, tree: Tree, search: Any, states: np.ndarray, weights: np.ndarray) -> bool:
        numbers = np.zeros(len(weights), np.int64)
        number_states(self.model, states, weights, numbers)
        return bool(enumerate_root(tree, search.search, states, weights, numbers))

    def _refuse(self, status: int, tree: Tree, search: Any) -> None:
        """Raise what a search found wrong with the model."""
        if status == BAD_REWARD:
            raise self._bad_reward(tree, search)
        if status == BAD_MODEL:
            problem = "excludes an observation that `observe` gave for the same state and action, or is nan"
            raise ModelError(problem, "run airoas.check(model) to see where.", where=location(self.model, "obs_logpdf"))
        if status == NO_ACTION:
            problem = "no action is legal in every state that one history of the search tree holds possible"
            raise ModelError(problem, "make one action legal everywhere.", where=type(self.model).__name__)

    def _bad_reward(self, tree: Tree, search: Any) -> ModelError:
        """The first step from a node's particles, by the action at fault, whose reward is none; or its expected reward."""
        b, a, model = tree.bad_node, self.model.from_row("action", tree.bad_action), self.model
        rows = np.array(tree.states[tree.first_particle[b] : tree.first_particle[b] + tree.n_particles[b]])
        alive, rewards, plain = np.ones(len(rows), np.bool_), np.zeros(len(rows)), interpreted(model)
        for seed in range(100):
            batch(model).step(rows, alive, model.row("action", a), seed, np.arange(len(rows)), rows.copy(), rewards, alive.copy())
            states = [model.from_row("state", row) for row in rows]
            given = [*zip(states, rewards.tolist(), strict=True)]
            given += [(s, float(plain.reward(s, a))) for s in states] if model.has("reward") else []
            for state, reward in given:
                if not abs(reward) <= MOST_REWARD:
                    return refuse_reward(model, state, a, reward)
        return refuse_reward(model, states[0], a, float("nan"))

    def _notes(self, tree: Tree) -> dict[str, Any]:
        bounds, planner = self.bounds, self.planner
        notes: dict[str, Any] = {"bounds": f"{bounds.lower}, {bounds.upper}", "sound": bounds.sound, "expansions": tree.n_expansions}
        if tree.n_annealed:
            notes |= {"annealed": tree.n_annealed, "stages": tree.n_stages, "evaluations": tree.n_evaluations}
        notes |= planner.notes(self.model)
        if tree.crossing > max(_CROSSED * tree.first_gap, 1e-6):
            if any(map(_is_number, (bounds.lower, bounds.upper))):
                notes["unsound"] = tree.crossing
                self._warn_of_unsound(tree.crossing, notes["bounds"])
            elif not bounds.sound:
                notes["contradicted"] = tree.crossing
        return notes

    def _warn_of_unsound(self, crossing: float, bounds: str) -> None:
        """Once, of a value proved far above an upper bound that is a number, taken at its word. Proved bounds cross by a little
        where one of them rests on other particles than the other, and estimated ones are labelled so."""
        said = (type(self.model).__name__, str(self.planner.bounds))
        if said not in _said:
            _said.add(said)
            warnings.warn(
                f"the bounds {bounds} of {said[0]} are not sound: a value was proved {crossing:.3g} above an upper bound. "
                "The upper bound yields there. Use bounds='auto', or a larger upper bound.",
                UnsoundBoundsWarning,
                stacklevel=5,
            )


def _wait(waiting: list[Any], held: tuple[Tree, Block, Any]) -> None:
    """A tree that nobody looks at any more serves the next search; a second one keeps no memory."""
    held[1].rest(not waiting)
    waiting.append(held)


def _root_notes(tree: Tree, advice: Advice | None) -> dict[str, Any]:
    """What share of the root's actions was looked at, in a branch or in rollouts; and whether the search told none of them from another."""
    own = slice(int(tree.first_action[0]), int(tree.first_action[0]) + int(tree.n_actions[0]))
    opened, lower = tree.first_child[own] >= 0, tree.action_lower[own]
    for tried in advice.tried if advice is not None else ():
        opened |= (tree.actions[own] == tried).all(axis=1)
    return {"opened": float(opened.mean()), "tied": bool(len(lower) > 1 and lower.min() == lower.max())}


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


_said: set[tuple[str, str]] = set()
_sessions: OrderedDict[tuple[BoundedPlanner, Any, str], Session] = OrderedDict()
_lock = threading.RLock()
_KEPT = 8


def session_of(planner: BoundedPlanner, model: KernelModel) -> Session:
    """The session of a planner and a model in the mode in force; those used last are kept."""
    with _lock:
        key = (planner, model, current_mode())
        if key not in _sessions:
            _sessions[key] = Session(planner, model)
            while len(_sessions) > _KEPT:
                _sessions.popitem(last=False)
        _sessions.move_to_end(key)
        return _sessions[key]


def forget_session(planner: BoundedPlanner, model: KernelModel) -> None:
    """What it knew of the model is out of date."""
    with _lock:
        _sessions.pop((planner, model, current_mode()), None)


def _check_memory(memory: int, count: int, actions: int, tree: Tree) -> None:
    """Refuse a memory in which not even the root can be expanded."""
    widths = tree.observations.shape[1], tree.actions.shape[1], tree.states.shape[1]
    least = row_bytes(count * actions, actions, count * (actions + 1), *widths)
    if memory < least:
        raise OptionError(f"memory is {memory} bytes, too little for {count} particles at the root", f"allow {least}, or use fewer.")
