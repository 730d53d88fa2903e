"""The loop that POMCP and POMCPOW share: simulations, each on a stream of its own, until the budget is spent."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from airoas.compiler.clock import now
from airoas.compiler.kernels import Kernel, Record, kernel
from airoas.planners.visits.root import Root, draw_root
from airoas.planners.visits.simulation import STEPS_PER_CLOCK_READ, Functions, Simulation
from airoas.planners.visits.tree import NONE, ROOT, VisitTree, add_action_node, backup_path
from airoas.rng import Rng, new_stream

ITERATIONS, DEADLINE, MEMORY, NO_ACTION, BAD_LIKELIHOOD, BAD_REWARD = range(6)
"""How a search ends."""
FINE = 0
"""How a simulation ends, or DEADLINE or what is wrong with the model."""


class Budget(Record):
    """When a search ends, and how far it has come."""

    max_trials: int
    max_bytes: int
    deadline: float
    seed: int
    """Of the decision."""
    thread: int
    """Of several searches side by side."""
    n_trials: int
    n_bytes: int


def make_budget() -> Budget:
    return Budget(max_trials=0, max_bytes=0, deadline=0.0, seed=0, thread=0, n_trials=0, n_bytes=0)


@functools.cache
def search_by(run_simulation: Callable[..., int], bytes_used: Callable[[Any], int]) -> Kernel:
    """The loop over simulations as a kernel: (search, root) -> how it ended."""

    def search(search: Any, root: Root) -> int:
        budget, simulation = search.budget, search.simulation
        max_trials, max_bytes, deadline, seed, thread = budget.max_trials, budget.max_bytes, budget.deadline, budget.seed, budget.thread
        rng = new_stream()
        trial, next_read, end = 0, 0, ITERATIONS
        used, growth = bytes_used(search), 0  # a simulation takes as much as the largest before it, or twice that where a list doubles
        while trial < max_trials:
            if simulation.n_steps >= next_read and trial > 0:
                if now() >= deadline:
                    end = DEADLINE
                    break
                next_read = simulation.n_steps + STEPS_PER_CLOCK_READ
            if used + 2 * growth > max_bytes:
                end = MEMORY
                break
            rng.reseed(seed, thread, trial)
            problem = run_simulation(search, root, rng)
            if problem != FINE:
                end = problem
                break
            before, used = used, bytes_used(search)
            growth = max(growth, used - before)
            trial += 1
        budget.n_trials = trial
        budget.n_bytes = bytes_used(search)
        return end

    return kernel(search)


# --- inside kernels ---


def start(root: Root, simulation: Simulation, rng: Rng) -> None:
    """Begin a simulation in a state of the belief."""
    i = draw_root(root, rng)
    for k in range(root.states.shape[1]):
        simulation.state[0, k] = root.states[i, k]


def finish(tree: VisitTree, simulation: Simulation, depth: int, value: float, discount: float) -> int:
    """Back a simulation up; one that the deadline cut leaves no trace, unless it is the first: there is always an answer."""
    simulation.n_steps += depth
    if simulation.is_bad:
        return BAD_REWARD
    if not simulation.is_late or tree.histories[ROOT].visits == 0:
        backup_path(tree, depth, value, discount)
    return DEADLINE if simulation.is_late else FINE


def is_late(simulation: Simulation, depth: int) -> bool:
    """Whether the deadline has passed, looked at now and then on the way down a deep tree."""
    if depth & (STEPS_PER_CLOCK_READ - 1) == 0 and now() >= simulation.deadline:
        simulation.is_late = True
    return bool(simulation.is_late)


def add_legal_actions(tree: VisitTree, history: int, root: Root, functions: Functions, simulation: Simulation) -> bool:
    """Give a history every action that is legal in the state at hand (the root those of the belief); whether there is any."""
    if history == ROOT:
        for i in range(len(root.actions)):
            tree.actions[tree.n_action_nodes, 0] = root.actions[i]
            add_action_node(tree, history)
    else:
        legal = functions.legal
        if functions.is_restricted:
            for a in range(len(legal)):
                legal[a] = True
            functions.inspect(simulation.state, functions.alive, legal)
        for a in range(len(legal)):
            if legal[a]:
                tree.actions[tree.n_action_nodes, 0] = a
                add_action_node(tree, history)
    return bool(tree.histories[history].newest != NONE)
