"""Many decisions of a bounded-tree planner at once: on a GPU each thread grows the tree of one, by the same search and streams as a CPU.

How large a tree becomes is not known beforehand. One that is grown on the CPU tells how much room to give; those that need more are grown
again, with twice as much, so that each ends as it would on a CPU.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.compiler.device import Device
from airoas.compiler.fleet import Fleet, image_of, stream_at
from airoas.compiler.kernels import Kernel, Record, kernel
from airoas.compiler.lanes import each
from airoas.compiler.native import at_address
from airoas.compiler.specialise import noinline
from airoas.errors import BeliefError, ModelError, OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Rows, Weights
from airoas.planners.base import live_particles
from airoas.planners.bounded.enumerated import enumerate_root, number_states
from airoas.planners.bounded.search import draw_root
from airoas.planners.bounded.tree import MEMORY, STOPS, Capacity, Tree, best_of, full_capacity, make_tree
from airoas.planners.many import Decided, Typed, check_many, waves
from airoas.rng import Rng, stream

MODE = "mode_warp"
"""Of the device's."""
_MORE = 1.5
"""Room, as a multiple of what the tree took that was grown on the CPU."""
_LOG = 4096
"""Entries of the undo log, besides those for one more level."""


class RootBelief(Record):
    """A belief that trees begin with."""

    states: Rows
    weights: Weights
    numbers: Indices
    """[N] of the states, where the model numbers them and nodes may hold every state; else [0]."""
    allowed: Mask
    """[A] which actions may come first."""
    particles: int
    """That the root has."""


class Growth(Record):
    """What one tree is grown with."""

    tree: Tree
    search: Any
    chosen: Indices
    """[n] room for what is drawn for the root."""


def plan_many(device: Device, planner: Any, model: KernelModel, beliefs: Sequence[Particles], rngs: Sequence[Rng]) -> Decided:
    """See `BoundedPlanner.plan_many`."""
    check_many(planner, model, beliefs, rngs)
    if not model.n_actions:
        raise OptionError(f"{type(planner).__name__} plans on a GPU where actions are a list alone", "use plan(...).")
    session, _ = planner.find(model)
    if session.is_advised:
        problem = f"{type(planner).__name__} would ask a policy, whose rollouts run on the CPU"
        raise OptionError(problem, "use policy='none', or plan(...).")
    starts = {id(belief): (belief, rng) for belief, rng in zip(beliefs, rngs, strict=True)}
    begun = {name: _start(session, belief, rng) for name, (belief, rng) in starts.items()}
    fleet = _Searches(device, session, [begun[id(belief)] for belief in beliefs], np.array([rng._word[0] for rng in rngs], np.uint64))
    full = full_capacity(*session.tree_sizes())
    capacity = session.capacity = session.capacity or _first_capacity(session, beliefs[0], Rng(rngs[0]._word[0]))
    waiting = np.arange(len(beliefs))
    while len(waiting):
        count, waiting = len(waiting), fleet.grow(capacity, waiting, capacity == full)
        if len(waiting) <= len(beliefs) // 2 < count:  # enough for most, here and at the next decisions
            session.capacity = capacity
        capacity = Capacity(*(min(2 * most, limit) for most, limit in zip(capacity, full, strict=True)))
    for rng, word in zip(rngs, fleet.words.tolist(), strict=True):
        rng._word[0] = word
    return fleet.decided()


def _start(session: Any, belief: Particles, rng: Rng) -> RootBelief:
    planner, model = session.planner, session.model
    states, weights, allowed = live_particles(model, belief, rng)
    if not weights.any():
        raise BeliefError("the episode has ended in every particle of a belief", "ask for decisions of those that go on.")
    numbers = np.zeros(len(weights) if session.enumerates else 0, np.int64)
    if session.enumerates:
        number_states(model, states, weights, numbers)
    particles = planner.particles_at_root(model, belief)
    return RootBelief(states=states, weights=weights, numbers=numbers, allowed=allowed, particles=particles)


def _first_capacity(session: Any, belief: Particles, rng: Rng) -> Capacity:
    """By a tree that is grown here; for the root and all that its actions lead to at least."""
    planner, model = session.planner, session.model
    tree = planner.plan(model, belief, rng).tree.columns
    search = planner.make_search(model, session.bounds).search
    actions, groups, particles = model.n_actions, len(search.mass), len(search.alive)
    least = 1 + actions * groups, 2 * actions, (actions + 3) * particles, 0
    counts = tree.n_nodes, tree.n_action_nodes, tree.n_rows, tree.n_mixed
    wanted = [int(_MORE * count) + more for count, more in zip(counts, least, strict=True)]
    log = _LOG + 8 * (planner.max_depth + actions + 4)
    return Capacity(*(max(1, min(pair)) for pair in zip((*wanted, log), full_capacity(*session.tree_sizes()), strict=True)))


class _Searches:
    """Searches for decisions, and what came out of those that have ended."""

    def __init__(self, device: Device, session: Any, starts: list[RootBelief], words: np.ndarray) -> None:
        self._device, self._session, self._starts = device, session, starts
        self.words = words
        """[K] of the streams."""
        count, actions = len(starts), session.model.n_actions
        self._lower, self._upper = np.full((count, actions), math.nan), np.full((count, actions), math.nan)
        self._root = np.zeros((count, 2))
        self._numbers = {name: np.zeros(count, np.int64) for name in ("n_nodes", "n_trials", "seed", "stop")}

    def grow(self, capacity: Capacity, which: np.ndarray, is_full: bool) -> np.ndarray:
        """Grow trees with so much room; those of them for which that is too little, unless there can be no more."""
        session = self._session
        sizes: tuple[int, int, int, int, int, int, bool] = session.tree_sizes()
        tree, block = make_tree(*sizes, capacity)
        session._set_limits(tree, math.inf)
        chosen = np.zeros(max(start.particles for start in self._starts), np.int64)
        growth = Growth(tree=tree, search=session.planner.make_search(session.model, session.bounds), chosen=chosen)
        some = waves(self._device, Fleet.bytes_of(growth), which)
        return np.concatenate([self._grow_wave(growth, list(block.arrays.values()), wave, is_full) for wave in some])

    def _grow_wave(self, growth: Growth, workspace: list[np.ndarray], some: np.ndarray, is_full: bool) -> np.ndarray:
        device, session, count = self._device, self._session, len(some)
        mode = getattr(device, MODE)
        fleet = Fleet(device, growth, count, mode, workspace)
        different = list({id(self._starts[k]): self._starts[k] for k in some}.values())
        held, addresses = image_of(device, different)
        at = dict(zip(map(id, different), addresses.get().tolist(), strict=True))
        where = device.array(np.array([at[id(self._starts[k])] for k in some]))
        words, ends = device.array(self.words[some]), device.allocate((count,), np.int64)
        first = Typed(different[0]._numba_type_, (held.address,))
        device.launch(_many(session.kernel), count, fleet, first, fleet.addresses, where, words.address, ends, mode=mode)
        status = ends.get()
        bad = ~np.isin(status, list(STOPS))
        if bad.any():
            problem = f"stopped {bad.sum()} of {count} searches"
            raise ModelError(problem, "plan on the CPU, which says where.", where=type(session.model).__name__)
        is_short = ((status == MEMORY) | (fleet.get(growth.tree, "n_cut") > 0)) & (not is_full)
        fine = ~is_short
        self.words[some[fine]] = words.get()[fine]
        lower, upper, root = (device.array(x[some]) for x in (self._lower, self._upper, self._root))
        device.launch(_read_roots, count, fleet, fleet.addresses, lower, upper, root, mode=mode)
        for mine, theirs in ((self._lower, lower), (self._upper, upper), (self._root, root)):
            mine[some[fine]] = theirs.get()[fine]
        for name, numbers in self._numbers.items():
            values = status if name == "stop" else fleet.get(growth.search if name == "seed" else growth.tree, name)
            numbers[some[fine]] = values[fine]
        left: np.ndarray = some[is_short]
        return left

    def decided(self) -> Decided:
        """The action of the largest lower bound of each."""
        lower, upper, seeds = self._lower, self._upper, self._numbers["seed"].tolist()
        best = lower == np.nanmax(lower, axis=1, keepdims=True)
        best &= upper == np.max(upper, axis=1, keepdims=True, where=best, initial=-math.inf)
        actions = best.argmax(axis=1)
        for k in np.flatnonzero(best.sum(axis=1) > 1):
            known = np.flatnonzero(upper[k] == upper[k])
            actions[k] = known[best_of(lower[k, known], upper[k, known], stream(seeds[k], "ties"))]
        values, (below, above) = lower[np.arange(len(seeds)), actions], self._root.T
        values = np.where(values > -math.inf, values, below)
        stops = np.array([STOPS[stop] for stop in self._numbers["stop"].tolist()])
        return Decided(actions, values, below, above, self._numbers["n_nodes"], self._numbers["n_trials"], stops)


@functools.cache
def _many(search: Kernel) -> Kernel:
    def search_many(first: Growth, begun: RootBelief, growths: Indices, starts: Indices, words: int, ends: Indices) -> None:
        for k in each(len(ends)):
            growth, start, rng = at_address(first, growths[k]), at_address(begun, starts[k]), stream_at(words + 8 * k)
            take_start(growth, start, rng)
            ends[k] = search(growth.tree, growth.search)

    return kernel(search_many)


@noinline
def take_start(growth: Growth, start: RootBelief, rng: Rng) -> None:
    """The root of a tree: draws from a belief, or every state of it."""
    tree, search = growth.tree, growth.search
    for a in range(len(start.allowed)):
        search.allowed[a] = start.allowed[a]
    search.seed = rng.bits(62)
    rows = start.states, start.weights
    tree.root_enumerated = search.enumerates and enumerate_root(tree, search.search, *rows, start.numbers)
    if not tree.root_enumerated:
        draw_root(tree, *rows, growth.chosen[: start.particles], rng)


@kernel
def _read_roots(first: Growth, growths: Indices, lower: Matrix, upper: Matrix, root: Matrix) -> None:
    """Bounds of the actions of each root, by action, and its own."""
    for k in each(len(growths)):
        tree = at_address(first, growths[k]).tree
        for ba in range(tree.first_action[0], tree.first_action[0] + tree.n_actions[0]):
            lower[k, tree.number[ba]] = tree.action_lower[ba]
            upper[k, tree.number[ba]] = tree.action_upper[ba]
        root[k, 0], root[k, 1] = tree.lower[0], tree.upper[0]
