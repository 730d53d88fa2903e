"""Many decisions of POMCP at once: on a GPU each thread grows the tree of one, by the same search and streams as a CPU would."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.compiler.device import Device
from airoas.compiler.fleet import Fleet, image_of
from airoas.compiler.kernels import Kernel, kernel
from airoas.compiler.lanes import each
from airoas.compiler.native import at_address
from airoas.errors import BeliefError, ModelError, OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Matrix
from airoas.planners.many import Decided, Typed, check_many, waves
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.answer import choose_final
from airoas.planners.visits.lookup import lookup_layout
from airoas.planners.visits.root import make_root
from airoas.planners.visits.search import ITERATIONS
from airoas.planners.visits.session import VisitPlanner
from airoas.planners.visits.tree import ACTION_NODE, HISTORY, PASSED, ROOT, longest_path
from airoas.rng import Rng


def plan_many(device: Device, planner: VisitPlanner, model: KernelModel, beliefs: Sequence[Particles], rngs: Sequence[Rng]) -> Decided:
    """See `POMCP.plan_many`. Trees that do not fit the memory together are grown in waves."""
    check_many(planner, model, beliefs, rngs)
    if planner.iterations is None or planner.threads > 1:
        raise OptionError(f"{planner!r} does not plan on a GPU", "use POMCP(iterations=...), with one thread.")
    block = Block(_layout(model, planner.iterations, planner.max_depth))
    search = planner.make_search(model, block)
    budget = search.budget
    budget.max_trials, budget.max_bytes, budget.deadline = planner.iterations, 1 << 62, float("inf")
    parts = [
        _plan_wave(device, planner, model, search, block, [beliefs[k] for k in some], [rngs[k] for k in some])
        for some in waves(device, Fleet.bytes_of(search), np.arange(len(beliefs)))
    ]
    return Decided(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _layout(model: KernelModel, iterations: int, max_depth: int) -> Layout:
    """A simulation adds one history at most, which has every action at most."""
    n = iterations + 2
    m = n * model.n_actions + 1
    return (
        ("histories", HISTORY, (n,)),
        ("observations", "float64", (n, model.shapes.observation.size)),
        *lookup_layout(n),
        ("action_nodes", ACTION_NODE, (m,)),
        ("actions", "float64", (m, 1)),
        ("path", PASSED, (longest_path(n, max_depth),)),
    )


def _plan_wave(device: Device, planner: VisitPlanner, model: KernelModel, search: Any, block: Block, beliefs: Any, rngs: Any) -> Decided:
    mode = device.mode_alone
    fleet, count = Fleet(device, search, len(beliefs), mode, list(block.arrays.values())), len(beliefs)
    roots: dict[int, Any] = {}
    for belief, rng in zip(beliefs, rngs, strict=True):
        if id(belief) not in roots:
            roots[id(belief)] = len(roots), make_root(model, belief, rng)
    if not all(root.alive > 0.0 for _, root in roots.values()):
        raise BeliefError("the episode has ended in every particle of a belief", "ask for decisions of those that go on.")
    _, addresses = held = image_of(device, [root for _, root in roots.values()])
    where = device.array(addresses.get()[[roots[id(belief)][0] for belief in beliefs]])
    fleet.set(search.budget, "seed", np.array([rng.bits(62) for rng in rngs]))
    first = Typed(next(iter(roots.values()))[1]._numba_type_, (held[0].address,))
    ends = device.allocate((count,), np.int64)
    device.launch(_many(planner.kernel()), count, fleet, first, fleet.addresses, where, ends, mode=mode)
    visits, values = device.allocate((count, model.n_actions), zeros=True), device.allocate((count, model.n_actions), zeros=True)
    device.launch(_read_roots, count, fleet, fleet.addresses, visits, values, mode=mode)
    bad = np.flatnonzero(ends.get() != ITERATIONS)
    if len(bad):
        raise ModelError(f"stopped {len(bad)} of {count} searches", "plan on the CPU, which says where.", where=type(model).__name__)
    visited, valued = visits.get(), values.get()
    alive = np.array([roots[id(belief)][1].alive for belief in beliefs])
    chosen = np.array([choose_final(n, v, planner.final_action) for n, v in zip(visited, valued, strict=True)])
    unknown = np.full(count, math.nan)
    values, nodes = alive * valued[np.arange(count), chosen], fleet.get(search.tree, "n_histories")
    return Decided(chosen, values, unknown, unknown, nodes, np.full(count, planner.iterations), np.full(count, "iterations"))


@functools.cache
def _many(search: Kernel) -> Kernel:
    def search_many(first: Any, root: Any, searches: Indices, roots: Indices, ends: Indices) -> None:
        for k in each(len(ends)):
            ends[k] = search(at_address(first, searches[k]), at_address(root, roots[k]))

    return kernel(search_many)


@kernel
def _read_roots(first: Any, searches: Indices, visits: Matrix, values: Matrix) -> None:
    """N and V of the actions of each root, by action."""
    for k in each(len(searches)):
        tree = at_address(first, searches[k]).tree
        node = tree.histories[ROOT].newest
        while node >= 0:
            a = int(tree.actions[node, 0])
            visits[k, a] = tree.action_nodes[node].visits
            values[k, a] = tree.action_nodes[node].value
            node = tree.action_nodes[node].older
