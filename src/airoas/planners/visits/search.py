"""The search that POMCP and POMCPOW share: simulations from the belief until the budget is spent, in one thread or several."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.compiler.clock import now
from airoas.compiler.kernels import Kernel, Record, kernel, mode
from airoas.errors import ModelError, OptionError
from airoas.modelling.introspection import place
from airoas.planners.base import MEMORY, Decision, Stats, check_budget, live_particles
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.node import Tree
from airoas.planners.visits.rollout import ESTIMATES
from airoas.planners.visits.root import Root, draw_root, example_root, gather_root
from airoas.planners.visits.tree import (
    ACTION,
    ACTION_NEXT,
    ACTION_VISITS,
    ACTIONS,
    BYTES,
    DEPTH,
    FIRST,
    NODE,
    NODES,
    NONE,
    ROOT,
    STEPS,
    TRIALS,
    VALUE,
    VisitTree,
)
from airoas.rng import Rng, stream

ITERATIONS, DEADLINE, FULL, NO_ACTION, BAD_LIKELIHOOD = range(5)  # how a search ends
FINE = 0  # how a simulation ends, or NO_ACTION or BAD_LIKELIHOOD
STOPS = ("iterations", "deadline", "memory")
FINAL_ACTIONS = ("value", "visits")
_STEPS_PER_LOOK = 64  # simulated steps after which the clock is read: some microseconds of work
_NO_LIMIT = 1 << 62


class Limits(Record):
    """When a search ends."""

    iterations: int
    deadline: float
    memory: int


@dataclass(frozen=True)
class VisitPlanner(ABC):
    """The options that POMCP and POMCPOW share, and how they plan."""

    seconds: float | None = None
    """Wall-clock time for a decision; this or `iterations`."""
    iterations: int | None = None
    """Simulations for a decision, those of all threads together."""
    max_depth: int = 20
    """Steps ahead, those of rollouts included."""
    c: float = 1.0
    """Exploration: the bonus is c sqrt(ln N(h) / N(ha)). Choose it of the size of the differences between returns."""
    estimate: str = "rollout"
    """What a new history is worth: "rollout" (the model's `rollout_action`, uniform where it has none), "random" (a rollout of
    uniform legal actions) or "value" (the model's upper bound, or the fully observable value of a finite model)."""
    final_action: str = "value"
    """The action of largest mean return ("value") or of most visits ("visits")."""
    memory: int = MEMORY
    """Bytes that the tree may take."""
    threads: int = 1
    """Searches side by side, each on a stream of its own, whose statistics are added up."""

    def __post_init__(self) -> None:
        check_budget(self.seconds, self.iterations, self.memory)
        if self.max_depth < 1:
            raise OptionError(f"max_depth is {self.max_depth}", "look at least 1 step ahead.")
        if not 0.0 <= self.c < math.inf:
            raise OptionError(f"c is {self.c}", "choose an exploration constant >= 0, of the size of the returns.")
        if self.estimate not in ESTIMATES:
            raise OptionError(f"estimate is {self.estimate!r}", f"use one of {', '.join(ESTIMATES)}.")
        if self.final_action not in FINAL_ACTIONS:
            raise OptionError(f"final_action is {self.final_action!r}", f"use {' or '.join(FINAL_ACTIONS)}.")
        if self.threads < 1:
            raise OptionError(f"threads is {self.threads}", "use at least 1, at most the number of cores.")

    def prepare(self, model: Any) -> None:
        """Compile for this model ahead of the first decision."""
        prepare(self, model)

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        """The best action at the root by `final_action`, with the tree."""
        return plan(self, model, belief, rng)

    @abstractmethod
    def search(self, model: Any) -> Kernel:
        """(model, work, rng) -> why it ended, one of ITERATIONS .. BAD_LIKELIHOOD."""

    @abstractmethod
    def layout(self, model: Any, memory: int) -> Layout:
        """The columns of a tree."""

    @abstractmethod
    def open(self, model: Any, root: Root, limits: Limits, block: Block) -> Any:
        """The work of a search: a record with at least `tree`, `root` and `limits`."""


@functools.cache
def search_by(simulate: Callable[..., int], bytes_used: Callable[[Any], int]) -> Kernel:
    """The loop over simulations as a kernel."""

    def search(model: Any, work: Any, rng: Any) -> int:
        rng = rng.local()
        counts, root, limits = work.tree.counts, work.root, work.limits
        look = 0
        while counts[TRIALS] < limits.iterations:
            if counts[STEPS] >= look and counts[TRIALS] > 0:
                if now() >= limits.deadline:
                    return DEADLINE
                look = counts[STEPS] + _STEPS_PER_LOOK
            counts[BYTES] = bytes_used(work)
            if counts[BYTES] > limits.memory:
                return FULL
            problem = simulate(model, work, model.read_state(root.states, draw_root(root, rng)), rng)
            if problem != FINE:
                return problem
            counts[TRIALS] += 1
        counts[BYTES] = bytes_used(work)
        return ITERATIONS

    return kernel(search)


_prepared: set[tuple[Any, ...]] = set()


def prepare(planner: VisitPlanner, model: Any) -> float:
    """Compile for this model; the seconds that took, 0 where it is done already."""
    search = planner.search(model)
    key = (search, model.native().made.digest, model.content, mode())
    if key in _prepared:
        return 0.0
    begun = now()
    root = example_root(model)
    work = planner.open(model, root, Limits(iterations=0, deadline=0.0, memory=0), Block(planner.layout(model, planner.memory)))
    search.prepare(model, work, stream(0))
    _list_actions.prepare(work.tree, ROOT, np.zeros(0, np.int64))
    _prepared.add(key)
    return now() - begun


def plan(planner: VisitPlanner, model: Any, belief: Particles, rng: Rng) -> Decision:
    """Search and answer. The clock starts once everything is compiled."""
    preparation = prepare(planner, model)
    search = planner.search(model)
    begun = now()
    deadline = math.inf if planner.seconds is None else begun + planner.seconds
    root, alive = gather_root(model, belief)
    if alive == 0.0:
        return _nothing_to_decide(model, belief, rng, Stats("terminal", now() - begun, preparation=preparation))
    seed, works, blocks = rng.bits(62), [], []
    memory = planner.memory // planner.threads
    for share in _shares(planner.iterations or _NO_LIMIT, planner.threads):
        blocks.append(Block(planner.layout(model, memory)))
        works.append(planner.open(model, root, Limits(iterations=share, deadline=deadline, memory=memory), blocks[-1]))
    streams = [stream(seed, i) for i in range(len(works))]
    if len(works) == 1:
        ends = [search(model, works[0], streams[0])]
    else:
        with ThreadPoolExecutor(len(works)) as pool:
            ends = list(pool.map(lambda work, own: search(model, work, own), works, streams))
    _refuse(model, max(ends))
    labels, visits, values = merge_roots([work.tree for work in works])
    if np.isnan(values).any():
        raise ModelError("gives a reward that is not a number in a simulation", "return finite rewards.", where=place(model, "step"))
    chosen = choose_final(visits, values, planner.final_action)
    counts = [work.tree.counts for work in works]
    for block, count in zip(blocks, counts, strict=True):
        block.used[0] = count[BYTES]
    trials = [int(count[TRIALS]) for count in counts]
    notes: dict[str, Any] = {"steps": sum(int(count[STEPS]) for count in counts)}
    if len(works) > 1:
        notes["trials"] = trials
    ended = now()
    stats = Stats(
        stop=STOPS[max(ends)],
        seconds=ended - begun,
        overshoot=max(0.0, ended - deadline),
        trials=sum(trials),
        nodes=sum(int(count[NODES]) for count in counts),
        depth=max(int(count[DEPTH]) for count in counts),
        bytes=sum(int(count[BYTES]) for count in counts),
        preparation=preparation,
        notes=notes,
    )
    tree = Tree(model, [work.tree for work in works], blocks)
    return Decision(model.from_row("action", labels[chosen]), alive * float(values[chosen]), stats=stats, tree=tree)


def _refuse(model: Any, end: int) -> None:
    """Say what is wrong with the model where a search had to stop for it."""
    if end == NO_ACTION:
        where = place(model, "legal")
        raise ModelError("allows no action in a state that was simulated", "leave at least one legal everywhere.", where=where)
    if end == BAD_LIKELIHOOD:
        raise ModelError("is nan or +inf in a simulation", "return a finite log density, or -inf.", where=place(model, "obs_logpdf"))


def _shares(iterations: int, threads: int) -> list[int]:
    """Iterations for each thread; a thread without any is not started."""
    if iterations == _NO_LIMIT:
        return [_NO_LIMIT] * threads
    shares = [iterations // threads + (i < iterations % threads) for i in range(threads)]
    return [share for share in shares if share]


@kernel
def _list_actions(tree: Any, node: int, found: Any) -> int:
    """Fill `found` with the actions of a history, the newest first; how many there are."""
    count = 0
    action = tree.nodes[node * NODE + FIRST]
    while action != NONE:
        found[count] = action
        count += 1
        action = tree.actions[action * ACTION + ACTION_NEXT]
    return count


def merge_roots(trees: list[VisitTree]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The actions of the root over all trees in the order in which they were added: labels [k, .], visits [k] and values [k]."""
    labels, visits, values = [], [], []
    for tree in trees:
        found = np.empty(tree.counts[ACTIONS], np.int64)
        found = found[: _list_actions(tree, ROOT, found)][::-1]
        labels.append(tree.labels[found])
        visits.append(tree.actions[found * ACTION + ACTION_VISITS])
        values.append(tree.values[found * VALUE])
    if len(trees) == 1:
        return labels[0], visits[0], values[0]
    rows, n = np.concatenate(labels), np.concatenate(visits)
    _, first, same = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    total = np.bincount(same.ravel(), n)
    mean = np.bincount(same.ravel(), n * np.concatenate(values)) / np.maximum(total, 1)
    return rows[first[order]], total[order].astype(np.int64), mean[order]


def choose_final(visits: np.ndarray, values: np.ndarray, by: str) -> int:
    """Which action has the largest value, or the most visits; ties go to the later one.

    Differs: an action that was never tried is not chosen; its V of 0 is no estimate.
    """
    scores = np.where(visits > 0, values if by == "value" else visits, -np.inf)
    tried = np.flatnonzero((visits > 0) & (scores == scores.max()))
    return int(tried[-1])


def _nothing_to_decide(model: Any, belief: Particles, rng: Rng, stats: Stats) -> Decision:
    if model.n_actions:
        return Decision(int(np.flatnonzero(live_particles(model, belief)[2])[0]), 0.0, stats=stats)
    return Decision(model.sample_action(model.from_row("state", belief.states[0]), rng), 0.0, stats=stats)
