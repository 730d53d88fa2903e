"""Progressive widening (Couëtoux et al., 2011): what POMCPOW adds to the tree. A history
keeps particles, an action node which histories it was followed by."""

from __future__ import annotations

import math

from airoas.belief.tempering.functions import is_no_density
from airoas.compiler.kernels import Record
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Reals, Rows, Weights, are_equal
from airoas.planners.spaces import MOST_DRAWS, Space, distance, draw_near
from airoas.planners.storage import Block, Layout
from airoas.planners.visits.lists import LIST_BYTES, ROW_BYTES, Lists, append, clear_list, lists_layout, make_lists, row_above, row_of
from airoas.planners.visits.simulation import Simulation
from airoas.planners.visits.tree import (
    NONE,
    VisitTree,
    add_action_node,
    add_child,
    add_history,
    find_child,
    longest_path,
    set_key,
    tree_size,
)
from airoas.rng import Rng


class Widening(Record):
    """For n histories and m action nodes."""

    particles: Lists
    """For each history the states that led to it."""
    states: Rows
    """[rows of particles, .]"""
    rewards: Reals
    """[rows of particles] paid on the way there."""
    cumulative: Weights
    """[rows of particles] weights, summed up along the list."""
    unit: Reals
    """[n] the log-likelihood that counts as weight 1."""
    followed: Lists
    """For each action node the histories that were observed after it, one item for each time (`generated` in POMCPOW.jl)."""
    children: Indices
    """[rows of followed] the history."""
    particle_bytes: int
    """Of each row of particles."""


def widening_layout(model: KernelModel, memory: int, max_depth: int) -> Layout:
    """Beside a tree of `tree_layout`. A simulation can double what its lists have been given: so do these the memory."""
    n, m = tree_size(model, memory, max_depth)
    particles, followed = (2 * (memory // size) + 2 * longest_path(n, max_depth) + 2 for size in (_particle_bytes(model), _FOLLOWED_BYTES))
    return (
        *lists_layout("particles", n, particles),
        ("states", "float64", (particles, model.shapes.state.size)),
        ("rewards", "float64", (particles,)),
        ("cumulative", "float64", (particles,)),
        ("unit", "float64", (n,)),
        *lists_layout("followed", m, followed),
        ("children", "int32", (followed,)),
    )


def make_widening(model: KernelModel, block: Block) -> Widening:
    columns = block.arrays
    return Widening(
        particles=make_lists("particles", block),
        states=columns["states"],
        rewards=columns["rewards"],
        cumulative=columns["cumulative"],
        unit=columns["unit"],
        followed=make_lists("followed", block),
        children=columns["children"],
        particle_bytes=_particle_bytes(model),
    )


def clear_widening(widening: Widening) -> None:
    """Nothing is kept; the lists of nodes begin empty when these are made."""
    widening.particles.n_rows = widening.followed.n_rows = 0


_FOLLOWED_BYTES = ROW_BYTES + 4


def _particle_bytes(model: KernelModel) -> int:
    return ROW_BYTES + 16 + 8 * int(model.shapes.state.size)


def widening_bytes(widening: Widening, tree: VisitTree) -> int:
    """In use beside the tree."""
    nodes = tree.n_histories * (LIST_BYTES + 8) + tree.n_action_nodes * LIST_BYTES
    return nodes + widening.particles.n_rows * widening.particle_bytes + widening.followed.n_rows * _FOLLOWED_BYTES


# --- inside kernels ---


def is_narrow(count: int, k: float, visits: int, alpha: float) -> bool:
    """Whether there may be one child more."""
    return bool(count <= k * float(visits) ** alpha)


def add_unless_known(tree: VisitTree, history: int, check: bool) -> None:
    """Add the action that stands in the next row; if `check`, only where the history does not have it."""
    action = tree.histories[history].newest if check else NONE
    while action >= 0 and not are_equal(tree.actions, action, tree.actions, tree.n_action_nodes):
        action = tree.action_nodes[action].older
    if action == NONE:
        add_action_node(tree, history)


def split_best_cell(tree: VisitTree, space: Space, history: int, width: float, rng: Rng) -> None:
    """Write to the next row a draw about a history's action of the largest value, such that no other one is nearer (of some draws
    the last, where all of them left the cell)."""
    best = action = tree.histories[history].newest
    while action >= 0:
        node = tree.action_nodes[action]
        if node.visits > 0 and (tree.action_nodes[best].visits == 0 or node.value > tree.action_nodes[best].value):
            best = action
        action = node.older
    for _ in range(MOST_DRAWS):
        draw_near(space, tree.actions, best, width, rng)
        own, action = distance(space, tree.actions, best), tree.histories[history].newest
        while action >= 0 and (action == best or distance(space, tree.actions, action) >= own):
            action = tree.action_nodes[action].older
        if action < 0:
            break
    for k in range(space.row.shape[1]):
        tree.actions[tree.n_action_nodes, k] = space.row[0, k]


def follow(tree: VisitTree, widening: Widening, action: int, check: bool, depth: int) -> tuple[int, bool]:
    """The history that the observation in the next row leads to, and whether it is new: any is unless `check`."""
    child = NONE
    if check:
        child = find_child(tree, action)
    else:
        set_key(tree, action)
    new = child == NONE
    if new:
        child = add_child(tree, depth) if check else add_history(tree, depth)
        if tree.action_nodes[action].n_children == 0:
            clear_list(widening.followed, action)
        tree.action_nodes[action].n_children += 1
        clear_list(widening.particles, child)
    widening.children[append(widening.followed, action)] = child
    return child, new


def draw_child(widening: Widening, action: int, rng: Rng) -> int:
    """One of the histories of an action node, in proportion to how often each was observed."""
    followed = widening.followed
    child: int = widening.children[row_of(followed, action, rng.integer(followed.size[action]))]
    return child


def add_particle(widening: Widening, simulation: Simulation, history: int, log_likelihood: float) -> bool:
    """Add the state at hand to those of a history, weighted by the likelihood of its observation; whether that is one.

    Differs: likelihoods count relative to the first state's, so that no sharp sensor makes all of them 0 or infinite.
    """
    if is_no_density(log_likelihood):
        return False
    particles = widening.particles
    count = particles.size[history]
    if count == 0:
        widening.unit[history] = log_likelihood if log_likelihood > -math.inf else 0.0
    total = widening.cumulative[row_of(particles, history, count - 1)] if count > 0 else 0.0
    row = append(particles, history)
    for k in range(widening.states.shape[1]):
        widening.states[row, k] = simulation.state[0, k]
    widening.rewards[row] = simulation.reward
    widening.cumulative[row] = total + math.exp(min(log_likelihood - widening.unit[history], 600.0))
    return True


def draw_particle(widening: Widening, simulation: Simulation, history: int, rng: Rng) -> None:
    """Go on from one of a history's states, drawn by weight, with its reward; from the last where all weights are 0."""
    particles, cumulative = widening.particles, widening.cumulative
    row = row_of(particles, history, particles.size[history] - 1)
    total = cumulative[row]
    if total > 0.0:
        row = row_above(particles, history, cumulative, rng.uniform() * total)
    for k in range(widening.states.shape[1]):
        simulation.state[0, k] = widening.states[row, k]
    simulation.reward = widening.rewards[row]
