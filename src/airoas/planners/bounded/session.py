"""What the bounded-tree planners share around their search: options, preparation, the root, the deadline, the answer."""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from abc import ABC, abstractmethod
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.bounds import Bounds, find_bounds
from airoas.bounds.find import _pair
from airoas.compiler.kernels import Kernel, kernel
from airoas.errors import ModelError, OptionError
from airoas.modelling.introspection import place
from airoas.planners.base import MEMORY, Decision, Stats, check_budget, legal_actions, prepare
from airoas.planners.bounded.tree import (
    ANNEALED,
    BAD_MODEL,
    CLOSE,
    DEEPEST,
    EVALUATIONS,
    EXCESS,
    EXPANSIONS,
    FIRST_GAP,
    LISTED,
    MOST_BYTES,
    MOST_DEPTH,
    MOST_TRIALS,
    NO_ACTION,
    NODES,
    RATIO,
    STAGES,
    STOPS,
    TRIALS,
    UNTIL,
    Tree,
    make_tree,
    row_bytes,
    set_root,
    used_bytes,
)
from airoas.planners.bounded.view import BeliefTree
from airoas.planners.storage import Block
from airoas.rng import Rng, stream

_RESERVE = 2e-4  # seconds before the deadline at which a search ends: what Python needs to hand the answer over
_CROSSED = 0.25  # of the root's first gap: a lower bound this far above an upper one is no matter of chance


class UnsoundBoundsWarning(RuntimeWarning):
    """A search proved a value above an upper bound."""


@dataclass(frozen=True)
class BoundedPlanner(ABC):
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
    """xi: a node whose bounds are closer than this share of the root's gap (undiscounted) needs no further search."""
    gap: float = 1e-3
    """The search ends when the root's bounds are this close (epsilon_0)."""
    memory: int = MEMORY
    """Bytes that the tree may take."""

    def __post_init__(self) -> None:
        check_budget(self.seconds, self.iterations, self.memory)
        if self.max_depth < 1:
            raise OptionError(f"max_depth is {self.max_depth}", "use at least 1; 90 is the default.")
        if not 0.0 <= self.gap_ratio < 1.0:
            raise OptionError(f"gap_ratio is {self.gap_ratio}", "choose it at 0 or above and below 1; 0.95 is the default.")
        if not self.gap >= 0.0:
            raise OptionError(f"gap is {self.gap}", "choose 0 or more.")
        if isinstance(self.bounds, list):  # as files have them; options are hashed
            object.__setattr__(self, "bounds", tuple(self.bounds))
        _pair(self.bounds)

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        return None if model.n_actions else f"{type(self).__name__} needs a finite set of actions; POMCPOW plans with continuous ones"

    def prepare(self, model: Any) -> None:
        """Compile and find bounds now, so that no decision has to. Idempotent."""
        _session(self, _checked(model)).is_new()

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        """The action for a belief: the one of the largest lower bound when time is up."""
        begun = time.perf_counter()
        session = _session(self, _checked(model))
        preparation = time.perf_counter() - begun if session.is_new() else 0.0
        begun = begun + preparation
        if belief.states.shape[1] != len(model.shapes.state.kinds):
            remedy = "make it with Particles.sample(model, n, rng)."
            raise OptionError(f"the belief's states have {belief.states.shape[1]} numbers, not {len(model.shapes.state.kinds)}", remedy)
        actions, alive = legal_actions(model, belief)
        if not alive:
            action = int(actions[rng.integer(len(actions))])
            return Decision(action, 0.0, 0.0, 0.0, Stats("terminal", time.perf_counter() - begun, preparation=preparation))
        until = np.inf if self.seconds is None else begun + self.seconds - min(_RESERVE, 0.5 * self.seconds)
        return session.decide(self, model, belief, actions, rng, begun, until, preparation)

    @abstractmethod
    def particles_at_root(self, model: Any, belief: Particles) -> int:
        """How many particles the root has."""

    def list_root(self, model: Any, belief: Particles, tree: Tree, work: Any) -> bool:
        """Whether the root was given every state of the belief; else it is drawn."""
        return False

    def prepare_root(self, model: Any, belief: Particles, tree: Tree, work: Any) -> None:  # noqa: B027 (most have nothing to compile)
        """Compile what `particles_at_root` and `list_root` need."""

    @abstractmethod
    def make_work(self, model: Any, bounds: Bounds) -> Any:
        """The record that the search works in besides the tree; it has `seed` [1] and `allowed` [actions]."""

    @abstractmethod
    def search_kernel(self, model: Any, bounds: Bounds) -> Kernel:
        """The search: (model, tree, work, rng) -> how it ended."""

    def view(self, model: Any, tree: Tree) -> BeliefTree:
        """The tree for people."""
        return BeliefTree(model, tree)

    def notes(self, model: Any) -> dict[str, Any]:
        """What is particular to this planner."""
        return {}


class _Session:
    """A planner on a model: bounds, compiled search, and trees that wait to be used again."""

    def __init__(self, planner: BoundedPlanner, model: Any) -> None:
        reason = planner.fits(model)
        if reason:
            raise OptionError(reason, "choose a planner that fits.")
        self.bounds = find_bounds(model, planner.bounds)
        self.kernel = planner.search_kernel(model, self.bounds)
        self._waiting: list[tuple[Tree, Block, Any]] = []
        self._new = True
        tree, block, work = self._take(planner, model)
        self.kernel.prepare(model, tree, work, stream(0))
        belief = Particles(np.zeros((1, tree.states.shape[1])))
        prepare(model, belief)
        planner.prepare_root(model, belief, tree, work)
        _draw_root.prepare(model, belief.states, belief.weights, np.zeros(1), tree, np.zeros(1, np.int64), stream(0))
        self._waiting.append((tree, block, work))

    def is_new(self) -> bool:
        """True for whoever asks first."""
        new, self._new = self._new, False
        return new

    def _take(self, planner: BoundedPlanner, model: Any) -> tuple[Tree, Block, Any]:
        try:
            return self._waiting.pop()
        except IndexError:
            widths = len(model.shapes.state.kinds), len(model.shapes.observation.kinds)
            tree, block = make_tree(*widths, model.n_actions, planner.memory, planner.max_depth)
            return tree, block, planner.make_work(model, self.bounds)

    def decide(
        self,
        planner: BoundedPlanner,
        model: Any,
        belief: Particles,
        actions: np.ndarray,
        rng: Rng,
        begun: float,
        until: float,
        preparation: float,
    ) -> Decision:
        tree, block, work = held = self._take(planner, model)
        tree.counts[:] = 0
        limits = tree.limits
        limits[UNTIL], limits[MOST_TRIALS] = until, np.inf if planner.iterations is None else planner.iterations
        limits[MOST_BYTES], limits[CLOSE], limits[RATIO] = planner.memory, planner.gap, planner.gap_ratio
        limits[MOST_DEPTH], limits[EXCESS] = planner.max_depth, 0.0
        work.seed[0] = rng.bits(62)
        work.allowed[:] = False
        work.allowed[actions] = True
        count = planner.particles_at_root(model, belief)
        _check_room(planner.memory, count, model.n_actions, tree)
        limits[LISTED] = planner.list_root(model, belief, tree, work)
        if not limits[LISTED]:
            _draw_root(model, belief.states, belief.weights, np.empty(len(belief)), tree, np.empty(count, np.int64), rng)
        status = int(self.kernel(model, tree, work, rng))
        if status == BAD_MODEL:
            problem = "excludes an observation that `observe` gave for the same state and action, or is nan"
            raise ModelError(problem, "run airoas.check(model) to see where.", where=place(model, "obs_logpdf"))
        if status == NO_ACTION:
            problem = "no action is legal in every state that one history of the search tree holds possible"
            raise ModelError(problem, "make one action legal everywhere.", where=type(model).__name__)
        block.used[0] = used_bytes(tree)
        view = planner.view(model, tree)
        weakref.finalize(view, _wait, self._waiting, held)
        lower, upper = float(tree.lower[0]), float(tree.upper[0])
        found = slice(tree.first[0], tree.first[0] + tree.width[0])
        ties = stream(int(work.seed[0]), "ties")  # of its own: how far `rng` has come depends on the trial that the deadline cut
        chosen = int(tree.first[0]) + _best(tree.action_lower[found], tree.action_upper[found], ties)
        value = float(tree.action_lower[chosen])
        counts = tree.counts
        notes = {"bounds": f"{self.bounds.lower}, {self.bounds.upper}", "sound": self.bounds.sound, "expansions": int(counts[EXPANSIONS])}
        if counts[ANNEALED]:
            notes |= {"annealed": int(counts[ANNEALED]), "stages": int(counts[STAGES]), "evaluations": int(counts[EVALUATIONS])}
        notes |= planner.notes(model)
        self._look_for_unsound(model, planner, tree, notes)
        seconds = time.perf_counter() - begun
        stats = Stats(
            stop=STOPS[status],
            seconds=seconds,
            overshoot=max(0.0, seconds - planner.seconds) if planner.seconds is not None else 0.0,
            trials=int(counts[TRIALS]),
            nodes=int(counts[NODES]),
            depth=int(counts[DEEPEST]),
            bytes=int(block.used[0]),
            preparation=preparation,
            notes=notes,
        )
        return Decision(int(tree.action[chosen]), value if value > -np.inf else lower, lower, upper, stats, view)

    def _look_for_unsound(self, model: Any, planner: BoundedPlanner, tree: Tree, notes: dict[str, Any]) -> None:
        """Report, once, a value proved far above an upper bound that is a number, taken at its word. Proved bounds cross by a
        little where one of them rests on other particles than the other, and estimated ones are labelled so."""
        excess = float(tree.limits[EXCESS])
        if not any(map(_is_number, (self.bounds.lower, self.bounds.upper))):
            return
        if excess > max(_CROSSED * tree.limits[FIRST_GAP], 1e-6):
            notes["unsound"] = excess
            said = (type(model).__name__, str(planner.bounds))
            if said not in _said:
                _said.add(said)
                warnings.warn(
                    f"the bounds {notes['bounds']} of {said[0]} are not sound: a value was proved {excess:.3g} above an upper bound. "
                    "The upper bound yields there. Use bounds='auto', or a larger upper bound.",
                    UnsoundBoundsWarning,
                    stacklevel=4,
                )


def _wait(waiting: list[Any], held: tuple[Tree, Block, Any]) -> None:
    """A tree that nobody looks at any more serves the next search."""
    held[1].trim()
    waiting.append(held)


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


_said: set[tuple[str, str]] = set()
_sessions: OrderedDict[tuple[BoundedPlanner, Any], _Session] = OrderedDict()
_lock = threading.RLock()
_KEPT = 8


def _session(planner: BoundedPlanner, model: Any) -> _Session:
    """The session of a planner and a model; those used last are kept."""
    with _lock:
        key = (planner, model)
        if key not in _sessions:
            _sessions[key] = _Session(planner, model)
            while len(_sessions) > _KEPT:
                _sessions.popitem(last=False)
        _sessions.move_to_end(key)
        return _sessions[key]


def _best(lower: np.ndarray, upper: np.ndarray, rng: Rng) -> int:
    """The place of the largest lower bound; of several, that of the largest upper one, which decides where no plan of the bounds
    begins with an action and none was branched; of several, a random one."""
    best = np.flatnonzero(lower == lower.max())
    best = best[upper[best] == upper[best].max()]
    return int(best[rng.integer(len(best))])


def _check_room(memory: int, count: int, actions: int, tree: Tree) -> None:
    """Refuse a memory in which not even the root can be expanded."""
    least = row_bytes(count * actions, actions, count * (actions + 1), tree.observations.shape[1], tree.states.shape[1])
    if memory < least:
        raise OptionError(f"memory is {memory} bytes, too little for {count} particles at the root", f"allow {least}, or use fewer.")


@kernel
def _draw_root(model: Any, states: Any, weights: Any, live: Any, tree: Tree, chosen: Any, rng: Any) -> None:
    """The root, with draws from the live part of a belief as its particles. Always drawn anew, each as likely as its weight:
    a state that stands for many is simulated as often."""
    for i in range(len(states)):
        live[i] = 0.0 if model.is_terminal(model.read_state(states, i)) else weights[i]
    choose(live, SYSTEMATIC, rng, chosen)
    for j in range(len(chosen)):
        for k in range(states.shape[1]):
            tree.states[j, k] = states[chosen[j], k]
        tree.weights[j] = 1.0 / len(chosen)
    set_root(tree, len(chosen))
