"""AdaOPS: adaptive online packing-guided search (Wu et al., 2021).

A node is resampled to a number of particles that follows its spread over a grid (KLD-sampling), every action is branched when
a node is expanded, and observations that lead to nearly the same weights share a branch.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.bounds import Bounds
from airoas.compiler.kernels import Kernel, Record, kernel
from airoas.compiler.specialise import apart
from airoas.errors import OptionError
from airoas.planners.bounded.expansion import branch_by, make_branching
from airoas.planners.bounded.leaves import draw_particles, is_legal, keep_particles, likelihoods, open_by, weigh
from airoas.planners.bounded.session import BoundedPlanner
from airoas.planners.bounded.tree import (
    BRANCHES,
    MEMORY,
    MOST_DEPTH,
    NO_ACTION,
    OK,
    Tree,
    add_action,
    allowed_gap,
    backup,
    best_action,
    best_child,
    close,
    has_room,
    must_end,
    search_by,
    set_first,
    take_actions,
)

_Z = 1.6448536269514722  # the normal quantile of 1 - eta, eta = 0.05


@dataclass(frozen=True)
class AdaOPS(BoundedPlanner):
    """AdaOPS as its authors' implementation has it. Differs: at the depth limit the upper bound becomes the lower one (there
    both become 0, which bounds nothing); that an episode has ended is seen; upper bounds only fall."""

    min_particles: int = 30
    """m_min: particles of a node that fills at most two cells of the grid, and of every node where the model has no `cell`."""
    max_particles: int = 1000
    """No node has more."""
    delta: float = 0.1
    """Observations share a branch where their weights differ by no more (L1)."""
    target_inefficiency: float = 2.0
    """N/ESS above which a node is resampled (the design effect)."""

    SEARCH_SPACE = {"min_particles": ("int", 5, 200, "log"), "delta": ("float", 0.0, 1.5), "gap_ratio": ("float", 0.3, 0.99)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.min_particles <= self.max_particles:
            problem = f"min_particles is {self.min_particles} and max_particles {self.max_particles}"
            raise OptionError(problem, "use 1 <= min_particles <= max_particles; 30 and 1000 are the defaults.")
        if not self.target_inefficiency >= 1.0:
            raise OptionError(f"target_inefficiency is {self.target_inefficiency}", "choose it at 1 or above; 2 is the default.")

    def particles_at_root(self, model: Any, belief: Particles) -> int:
        if not model.has("cell"):
            return self.min_particles
        cells = np.empty(len(belief), np.int64)
        return kld_size(int(_count_cells(model, belief.states, cells)), self.min_particles, self.max_particles)

    def make_work(self, model: Any, bounds: Bounds) -> Packing:
        most = self.max_particles if model.has("cell") else self.min_particles
        branching = make_branching(model, bounds, most, most, self.delta, False)
        return Packing(
            branching=branching,
            cells=np.zeros(most, np.int64),
            seed=branching.seed,
            allowed=branching.allowed,
            least=self.min_particles,
            most=most,
            target=float(self.target_inefficiency),
        )

    def search_kernel(self, model: Any, bounds: Bounds) -> Kernel:
        return adaops_by(bounds.evaluate, bounds.by_action, model.has("cell"))

    def prepare_root(self, model: Any, belief: Particles, tree: Tree, work: Any) -> None:
        if model.has("cell"):
            _count_cells.prepare(model, belief.states, np.zeros(1, np.int64))

    def notes(self, model: Any) -> dict[str, Any]:
        return {"grid": "cell" if model.has("cell") else f"none: the model has no `cell`, every node has {self.min_particles} particles"}


class Packing(Record):
    """What the search works in."""

    branching: Any
    cells: Any
    """[N] those that are occupied."""
    seed: Any
    allowed: Any
    least: int
    most: int
    target: float


def kld_size(cells: int, least: int, most: int) -> int:
    """How many particles a set over so many cells of the grid needs: `least` for two cells (Fox's KLD-sampling)."""
    zeta = _size(2, 1.0) / least
    return int(min(most, max(least, math.ceil(_size(cells, zeta) - 1e-9))))


def _size(cells: int, zeta: float) -> float:
    half = 0.5 * (max(2, cells) - 1)
    spread = 1.0 / (9.0 * half)
    root = 1.0 - spread + math.sqrt(spread) * _Z
    return half / zeta * root * root * root


def add_cell(cells: Any, count: int, cell: int) -> int:
    """How many cells are occupied, this one included."""
    for k in range(count):
        if cells[k] == cell:
            return count
    cells[count] = cell
    return count + 1


@kernel
def _count_cells(model: Any, states: Any, cells: Any) -> int:
    count = 0
    for i in range(len(states)):
        s = model.read_state(states, i)
        if not model.is_terminal(s):
            count = add_cell(cells, count, model.cell(s))
    return count


@functools.cache
def adaops_by(evaluate: Any, by_action: bool, grid: bool) -> Kernel:
    """The search as a kernel, for a kind of bounds, with or without a grid."""
    open_node, branch = open_by(evaluate, by_action), branch_by(evaluate, False)

    def size_over_grid(model: Any, tree: Tree, work: Packing, start: int, size: int) -> int:
        count = 0
        for i in range(start, start + size):
            count = add_cell(work.cells, count, model.cell(model.read_state(tree.states, i)))
        return kld_size(count, work.least, work.most)

    def size_without_grid(model: Any, tree: Tree, work: Packing, start: int, size: int) -> int:
        return int(work.least)

    needed = size_over_grid if grid else size_without_grid

    @apart
    def resample(model: Any, tree: Tree, work: Packing, b: int, rng: Any) -> int:
        """A leaf's own particles: those of its parent's action by its weights, resampled where these are too uneven."""
        ba, room = tree.parent[b], work.branching
        size = tree.followers[ba]
        if not has_room(tree, 0, model.n_actions, work.most):
            return MEMORY
        likelihoods(model, tree, ba, tree.observations, b, 1, size, room.logs)
        if weigh(tree, ba, size, room.logs[0], room.weights[0]) <= work.target:
            keep_particles(tree, b, size, room.weights[0])
        else:
            rng = rng.local()
            rng.reseed(work.seed[0], tree.key[b], -2)
            count = needed(model, tree, work, tree.successors[ba], size)
            draw_particles(tree, b, size, room.weights[0], room.chosen, count, rng)
        return OK

    @apart
    def expand(model: Any, tree: Tree, work: Packing, b: int, rng: Any) -> int:
        """Branch every action of a leaf."""
        status = resample(model, tree, work, b, rng)
        if status != OK:
            return int(status)
        first, count = tree.counts[BRANCHES], 0
        for a in range(model.n_actions):
            if is_legal(model, tree, work.allowed, b, a):
                add_action(tree, b, a, -math.inf, math.inf)
                count += 1
        set_first(tree, b, first, count)
        return int(branch_all(model, tree, work, b, rng)) if count > 0 else NO_ACTION

    def branch_all(model: Any, tree: Tree, work: Packing, b: int, rng: Any) -> int:
        for ba in range(tree.first[b], tree.first[b] + tree.width[b]):
            status = branch(model, tree, work.branching, ba, rng)
            if status != OK:
                return int(status)
        take_actions(tree, b)
        return OK

    def trial(model: Any, tree: Tree, work: Packing, rng: Any) -> int:
        b = 0
        while tree.depth[b] < tree.limits[MOST_DEPTH]:
            if must_end(tree, b):
                return OK
            allowed = allowed_gap(tree, tree.depth[b], model.discount)
            if tree.first[b] < 0:
                lower, upper = tree.lower[b], tree.upper[b]
                status = expand(model, tree, work, b, rng)
                if status != OK:
                    return int(status)
                changed = backup(tree, b, lower, upper, model.discount)
                allowed = allowed_gap(tree, tree.depth[b], model.discount)
                if changed or tree.upper[b] - tree.lower[b] <= allowed:
                    return OK
            b = best_child(tree, best_action(tree, b), allowed / model.discount, -math.inf)
            if b < 0:
                return OK
        close(tree, b, model.discount)
        return OK

    search = search_by(trial)

    def plan(model: Any, tree: Tree, work: Packing, rng: Any) -> int:
        open_node(model, tree, work.branching, 0, rng)  # bounds to answer by where there is no time to branch
        take_actions(tree, 0)
        status = branch_all(model, tree, work, 0, rng)
        return int(search(model, tree, work, rng)) if status == OK else int(status)

    return kernel(plan)
