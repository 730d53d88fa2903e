"""What POMCP and POMCPOW share around their search: options, the session of a planner on a model, the answer."""

from __future__ import annotations

import functools
import math
import weakref
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import _checked
from airoas.compiler.clock import now
from airoas.compiler.interrupt import stop_if_interrupted
from airoas.compiler.kernels import Kernel, current_mode
from airoas.errors import ModelError, OptionError
from airoas.modelling.gate import check_discount
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rewards import refuse_reward
from airoas.planners.base import MEMORY, Decision, PreparedPlanner, Start, Stats, check_options
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.answer import FINAL_ACTIONS, choose_final, list_action_nodes, merge_roots
from airoas.planners.visits.root import Root, example_root, root_of
from airoas.planners.visits.search import BAD_LIKELIHOOD, BAD_REWARD, NO_ACTION
from airoas.planners.visits.simulation import ESTIMATES, Simulation
from airoas.planners.visits.tree import ROOT, clear_tree
from airoas.planners.visits.view import HistoryTree
from airoas.rng import Rng

STOPS = ("iterations", "deadline", "memory")
_NO_LIMIT = 1 << 62
DEVIATIONS = 2.0
"""Of the returns seen, for an exploration constant that is not given."""


@dataclass(frozen=True)
class VisitPlanner(PreparedPlanner):
    """The options that POMCP and POMCPOW share, and how they plan."""

    seconds: float | None = None
    """Wall-clock time for a decision; this or `iterations`."""
    iterations: int | None = None
    """Simulations for a decision, those of all threads together."""
    max_depth: int = 20
    """Steps ahead, those of rollouts included."""
    c: float | None = None
    """Exploration: the bonus is c sqrt(ln N(h) / N(ha)). Of the size of the differences between returns; None is two
    standard deviations of the returns seen so far."""
    estimate: str = "rollout"
    """What a new history is worth: "rollout" (the model's `rollout_action`, uniform where it has none), "random" (a rollout of
    uniform legal actions) or "value" (the model's `heuristic`, its `value_bounds`, the fully observable value of a finite model, else that
    which `airoas.bounds.find_bounds` estimates)."""
    final_action: str = "value"
    """The action of largest mean return ("value") or of most visits ("visits")."""
    memory: int = MEMORY
    """Bytes that the tree may take."""
    threads: int = 1
    """Searches side by side, each on streams of its own, whose statistics are added up."""

    def __post_init__(self) -> None:
        check_options(self)
        if self.max_depth < 1:
            raise OptionError(f"max_depth is {self.max_depth}", "look at least 1 step ahead.")
        if self.c is not None and not 0.0 <= self.c < math.inf:
            raise OptionError(f"c is {self.c}", "choose an exploration constant >= 0, of the size of the returns, or None.")
        if self.estimate not in ESTIMATES:
            raise OptionError(f"estimate is {self.estimate!r}", f"use one of {', '.join(ESTIMATES)}.")
        if self.final_action not in FINAL_ACTIONS:
            raise OptionError(f"final_action is {self.final_action!r}", f"use {' or '.join(FINAL_ACTIONS)}.")
        if self.threads < 1:
            raise OptionError(f"threads is {self.threads}", "use at least 1, at most the number of cores.")

    def exploration(self) -> float:
        """As a search takes it: c, or below 0 the standard deviations of returns that it is to be."""
        return -DEVIATIONS if self.c is None else float(self.c)

    def prepare(self, model: KernelModel) -> None:
        """Compile for this model ahead of the first decision. Idempotent."""
        session_of(self, _checked(model)).is_new = False

    def find(self, model: KernelModel) -> tuple[VisitSession, bool]:
        session = session_of(self, model)
        is_new, session.is_new = session.is_new, False
        return session, is_new

    def decide(self, model: KernelModel, prepared: VisitSession, start: Start, rng: Rng) -> Decision:
        """The best action at the root by `final_action`, with the tree."""
        return prepared.decide(start, rng)

    @abstractmethod
    def fits(self, model: KernelModel) -> str | None:
        """Why this planner cannot plan for the model, or None."""

    @abstractmethod
    def kernel(self) -> Kernel:
        """(search, root) -> how it ended, one of ITERATIONS .. BAD_LIKELIHOOD."""

    @abstractmethod
    def layout(self, model: KernelModel, memory: int) -> Layout:
        """The columns of a tree."""

    @abstractmethod
    def make_search(self, model: KernelModel, block: Block) -> Any:
        """The record that a search works with; it has `tree`, `simulation` and `budget`."""

    def clear(self, search: Any) -> None:
        """Forget what an earlier search left."""
        clear_tree(search.tree)


class VisitSession:
    """A planner on a model: the compiled search, and trees that wait to be used again."""

    def __init__(self, planner: VisitPlanner, model: KernelModel) -> None:
        reason = planner.fits(model)
        if reason:
            raise OptionError(f"{type(planner).__name__} does not fit {type(model).__name__}: {reason}", "choose a planner that fits.")
        check_discount(model)
        self.planner, self.model = planner, model
        self.kernel = planner.kernel()
        self.is_new = True
        """Whether no decision was made yet, nor asked for ahead."""
        self._waiting: list[tuple[Any, Block]] = []
        held = search, _ = self._take()
        self.kernel.prepare(search, example_root(model))
        list_action_nodes.prepare(search.tree, ROOT, np.zeros(0, np.int64))
        self._waiting.append(held)

    def _take(self) -> tuple[Any, Block]:
        try:
            return self._waiting.pop()
        except IndexError:
            planner = self.planner
            block = Block(planner.layout(self.model, planner.memory // planner.threads))
            return planner.make_search(self.model, block), block

    def decide(self, start: Start, rng: Rng) -> Decision:
        """The action for a belief."""
        planner, model = self.planner, self.model
        deadline = math.inf if planner.seconds is None else start.begun + planner.seconds
        root = root_of(start.belief, start.states, start.weights, start.allowed)
        seed, held = rng.bits(62), []
        for thread, iterations in enumerate(_split(planner.iterations or _NO_LIMIT, planner.threads)):
            held.append(self._take())
            self._begin(held[-1][0], iterations, deadline, seed, thread)
        searches = [search for search, _ in held]
        ends = self._run(searches, root)
        stop_if_interrupted()
        self._refuse(max(ends), searches[ends.index(max(ends))].simulation)
        for search, block in held:
            block.used[0] = search.budget.n_bytes
        view = HistoryTree(model, [search.tree for search in searches])
        weakref.finalize(view, _wait, self._waiting, held, planner.threads)
        actions, visits, values = merge_roots([search.tree for search in searches])
        chosen = choose_final(visits, values, planner.final_action)
        action, value = model.from_row("action", actions[chosen]), root.alive * float(values[chosen])
        trials = [search.budget.n_trials for search in searches]
        ended = now()
        stats = Stats(
            stop=STOPS[max(ends)],
            seconds=ended - start.begun,
            overshoot=max(0.0, ended - deadline),
            trials=sum(trials),
            nodes=sum(search.tree.n_histories for search in searches),
            depth=max(search.tree.deepest for search in searches),
            bytes=sum(search.budget.n_bytes for search in searches),
            preparation=start.preparation,
            notes={"steps": sum(search.simulation.n_steps for search in searches)} | ({"trials": trials} if len(trials) > 1 else {}),
        )
        return Decision(action, value, stats=stats, tree=view)

    def _begin(self, search: Any, iterations: int, deadline: float, seed: int, thread: int) -> None:
        self.planner.clear(search)
        simulation = search.simulation
        simulation.n_steps, simulation.deadline, simulation.is_late, simulation.is_bad = 0, deadline, False, False
        budget = search.budget
        budget.max_trials, budget.max_bytes, budget.deadline = iterations, self.planner.memory // self.planner.threads, deadline
        budget.seed, budget.thread = seed, thread

    def _run(self, searches: list[Any], root: Root) -> list[int]:
        if len(searches) == 1:
            return [int(self.kernel(searches[0], root))]
        with ThreadPoolExecutor(len(searches)) as pool:
            return [int(end) for end in pool.map(lambda search: self.kernel(search, root), searches)]

    def _refuse(self, end: int, simulation: Simulation) -> None:
        """Say what is wrong with the model where a search had to stop for it."""
        if end == BAD_REWARD:
            state, action = (self.model.from_row(*known) for known in (("state", simulation.state[0]), ("action", simulation.culprit[0])))
            raise refuse_reward(self.model, state, action, simulation.reward)
        if end == NO_ACTION:
            where = location(self.model, "legal")
            raise ModelError("allows no action in a state that was simulated", "leave at least one legal everywhere.", where=where)
        if end == BAD_LIKELIHOOD:
            remedy = "return a finite log density, or -inf."
            raise ModelError("is nan or +inf in a simulation", remedy, where=location(self.model, "obs_logpdf"))


def _wait(waiting: list[tuple[Any, Block]], held: list[tuple[Any, Block]], most: int) -> None:
    """Trees that nobody looks at any more serve the next search; those beyond what one needs keep no memory."""
    for search, block in held:
        block.rest(len(waiting) < most)
        waiting.append((search, block))


def session_of(planner: VisitPlanner, model: KernelModel) -> VisitSession:
    """The session of a planner and a model in the mode in force; those used last are kept."""
    return _session(planner, model, current_mode())


@functools.lru_cache(8)
def _session(planner: VisitPlanner, model: KernelModel, mode: str) -> VisitSession:
    return VisitSession(planner, model)


def _split(iterations: int, threads: int) -> list[int]:
    """Iterations for each thread; a thread without any is not started."""
    if iterations == _NO_LIMIT:
        return [_NO_LIMIT] * threads
    split = [iterations // threads + (i < iterations % threads) for i in range(threads)]
    return [iterations for iterations in split if iterations]
