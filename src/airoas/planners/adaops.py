"""AdaOPS: adaptive online packing-guided search (Wu et al., 2021).

A node is resampled to a number of particles that follows its spread over a grid (KLD-sampling: Fox, 2003), every action is branched when
a node is expanded, and observations that lead to nearly the same weights share a branch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.bounds import Bounds
from airoas.compiler.kernels import Bound, Kernel, Record, kernel
from airoas.compiler.lanes import lanes
from airoas.compiler.specialise import noinline
from airoas.errors import OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Rows
from airoas.planners.bounded.expansion import branch
from airoas.planners.bounded.leaves import (
    TOO_LATE,
    draw_particles,
    find_legal,
    keep_particles,
    mark_positive,
    open_node,
    successors,
    weigh_leaf,
    widen,
)
from airoas.planners.bounded.search import Search, make_search
from airoas.planners.bounded.session import BoundedPlanner
from airoas.planners.bounded.tree import (
    BAD_REWARD,
    DEADLINE,
    MEMORY,
    NO_ACTION,
    OK,
    Tree,
    add_action,
    allowed_gap,
    backup,
    best_action,
    best_child,
    end_at_depth,
    has_capacity,
    must_end,
    refresh_bounds,
    search_by,
    set_actions,
)
from airoas.rng import hash_key, new_stream

_Z = 1.6448536269514722  # the normal quantile of 1 - eta, eta = 0.05
_MOST = 1000


@dataclass(frozen=True)
class AdaOPS(BoundedPlanner):
    """AdaOPS as its authors' implementation has it. Differs: at the depth limit the upper bound becomes the lower one (there
    both become 0, which bounds nothing); that an episode has ended is seen; upper bounds only fall."""

    min_particles: int = 30
    """m_min: particles of a node that fills at most two cells of the grid, and of every node where the model has no `cell`."""
    max_particles: int | None = None
    """No node has more. None: 1000, or fewer where the root's actions would take more than a tenth of the `seconds`; the notes then say
    how many."""
    delta: float = 0.1
    """Observations share a branch where their weights differ by no more (L1)."""
    target_inefficiency: float = 2.0
    """N/ESS above which a node is resampled (the design effect)."""

    LIMITED_BY_TIME = "max_particles"
    SEARCH_SPACE = {"min_particles": ("int", 5, 200, "log"), "delta": ("float", 0.0, 1.5), "gap_ratio": ("float", 0.3, 0.99)}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.min_particles <= self._most():
            problem = f"min_particles is {self.min_particles} and max_particles {self.max_particles}"
            raise OptionError(problem, "use 1 <= min_particles <= max_particles; 30 and None are the defaults.")
        if math.isnan(self.delta):
            raise OptionError("delta is nan", "use 0 to 2, or a negative number for no sharing; 0.1 is the default.")
        if not self.target_inefficiency >= 1.0:
            raise OptionError(f"target_inefficiency is {self.target_inefficiency}", "choose it at 1 or above; 2 is the default.")

    def _most(self) -> int:
        return max(_MOST, self.min_particles) if self.max_particles is None else self.max_particles

    def follows_time(self) -> tuple[int, int] | None:
        return (self.min_particles, 2) if self.max_particles is None else None

    def limit_particles(self, search: Any, most: int | None) -> None:
        search.most = len(search.cells) if most is None else most

    def particles_at_root(self, model: KernelModel, belief: Particles) -> int:
        if not model.has("cell"):
            return self.min_particles
        states, cells = np.array(belief.states), np.zeros(len(belief), np.int64)
        cells_of(model)(states, belief.weights > 0.0, cells)
        return kld_size(len(np.unique(cells[belief.weights > 0.0])), self.min_particles, self._most())

    def make_search(self, model: KernelModel, bounds: Bounds) -> GridSearch:
        most = self._most() if model.has("cell") else self.min_particles
        search = make_search(model, bounds, most, most, self.delta, False)
        return GridSearch(
            search=search,
            find_cells=cells_of(model),
            has_grid=bool(model.has("cell")),
            cells=np.zeros(most, np.int64),
            occupied=np.zeros(most, np.int64),
            least=self.min_particles,
            most=most,
            target=float(self.target_inefficiency),
            allowed=search.allowed,
            seed=0,
            enumerates=False,
        )

    def kernel(self) -> Kernel:
        return plan

    def notes(self, model: KernelModel) -> dict[str, Any]:
        return {"grid": "cell" if model.has("cell") else f"none: the model has no `cell`, every node has {self.min_particles} particles"}


class GridSearch(Record):
    """What the search works with."""

    search: Search
    find_cells: Bound
    has_grid: bool
    cells: Indices
    """[N] the cell of each particle."""
    occupied: Indices
    """[N] those that have one."""
    least: int
    most: int
    target: float
    allowed: Mask
    seed: int
    enumerates: bool


@kernel
def _find_cells(model: KernelModel, states: Rows, alive: Mask, cells: Indices) -> None:
    for i in lanes(len(states)):
        if alive[i]:
            s = model.read_state(states, i)
            if not model.is_terminal(s):
                cells[i] = model.cell(s)


class _NoGrid(Record):
    pass


@kernel
def _no_cells(owner: Any, states: Rows, alive: Mask, cells: Indices) -> None:
    pass


def cells_of(model: KernelModel) -> Bound:
    """(states, alive, cells) -> the model's `cell` of each live row."""
    examples = np.zeros((1, 1)), np.zeros(1, np.bool_), np.zeros(1, np.int64)
    return _find_cells.bind(model, *examples) if model.has("cell") else _no_cells.bind(_NoGrid(), *examples)


def kld_size(cells: int, least: int, most: int) -> int:
    """How many particles a set over so many cells of the grid needs: `least` for two cells (Fox's KLD-sampling)."""
    zeta = _size(2, 1.0) / least
    return int(min(most, max(least, math.ceil(_size(cells, zeta) - 1e-9))))


def _size(cells: int, zeta: float) -> float:
    half = 0.5 * (max(2, cells) - 1)
    spread = 1.0 / (9.0 * half)
    root = 1.0 - spread + math.sqrt(spread) * _Z
    return half / zeta * root * root * root


def add_cell(cells: Indices, count: int, cell: int) -> int:
    """How many cells are occupied, this one included."""
    for k in range(count):
        if cells[k] == cell:
            return count
    cells[count] = cell
    return count + 1


@noinline
def needed_particles(tree: Tree, search: GridSearch, ba: int) -> int:
    """How many particles the spread of an action's successors over the grid asks for."""
    if not search.has_grid:
        return int(search.least)
    size, workspace = tree.n_successors[ba], search.search
    states, before = successors(tree, ba, size)
    mark_positive(before, workspace.arrived, size)
    search.find_cells(states, workspace.arrived[:size], search.cells)
    count = 0
    for i in range(size):
        if workspace.arrived[i]:
            count = add_cell(search.occupied, count, search.cells[i])
    return kld_size(count, search.least, search.most)


@noinline
def update_leaf(tree: Tree, search: GridSearch, b: int) -> int:
    """A leaf's own particles: those of its parent's action by its weights, resampled where these are too uneven."""
    ba, workspace = tree.parent[b], search.search
    size = tree.n_successors[ba]
    if not has_capacity(tree, 0, len(workspace.legal) + workspace.cells.capacity, 2 * search.most):
        return MEMORY
    if weigh_leaf(tree, workspace, b) <= search.target:
        keep_particles(tree, b, size, workspace.weights[0], workspace.chosen)
    else:
        own = new_stream()
        own.reseed(hash_key(workspace.seed, tree.key[b], -1), 1, 0)
        draw_particles(tree, b, size, workspace.weights[0], workspace.chosen[: needed_particles(tree, search, ba)], own)
    return OK


@noinline
def expand(tree: Tree, search: GridSearch, b: int) -> int:
    """Branch every action of a leaf."""
    status = update_leaf(tree, search, b)
    if status != OK:
        return int(status)
    workspace, first = search.search, tree.n_action_nodes
    find_legal(tree, workspace, b)
    for a in range(len(workspace.legal)):
        if workspace.legal[a]:
            add_action(tree, b, workspace.candidates, a, -math.inf, math.inf)
    count = tree.n_action_nodes - first
    set_actions(tree, b, first, count)
    tree.n_action_nodes += workspace.cells.capacity
    return int(branch_all(tree, search, b)) if count > 0 else NO_ACTION


def branch_all(tree: Tree, search: GridSearch, b: int) -> int:
    for ba in range(tree.first_action[b], tree.first_action[b] + tree.n_actions[b]):
        status = branch(tree, search.search, ba)
        if status != OK:
            return int(status)
    refresh_bounds(tree, b)
    return OK


def widen_and_branch(tree: Tree, search: GridSearch, b: int) -> int:
    """One more action for a node that was visited often enough, where actions are no list."""
    ba = widen(tree, search.search, b)
    if ba < 0:
        return OK if ba > TOO_LATE else DEADLINE if ba == TOO_LATE else BAD_REWARD
    lower, upper = tree.lower[b], tree.upper[b]
    status = branch(tree, search.search, ba)
    if status == OK:
        refresh_bounds(tree, b)
        backup(tree, b, lower, upper, search.search.discount)
    return int(status)


def trial(tree: Tree, search: GridSearch) -> int:
    b, discount = 0, search.search.discount
    while tree.depth[b] < tree.max_depth:
        if must_end(tree, b):
            return OK
        allowed = allowed_gap(tree, tree.depth[b], discount)
        if tree.first_action[b] < 0:
            lower, upper = tree.lower[b], tree.upper[b]
            status = expand(tree, search, b)
            if status != OK:
                return int(status)
            changed = backup(tree, b, lower, upper, discount)
            allowed = allowed_gap(tree, tree.depth[b], discount)
            if changed or tree.upper[b] - tree.lower[b] <= allowed:
                return OK
        else:
            status = widen_and_branch(tree, search, b)
            if status != OK:
                return int(status)
        b = best_child(tree, best_action(tree, b), allowed / discount, -math.inf)
        if b < 0:
            return OK
    end_at_depth(tree, b, discount)
    return OK


run = search_by(trial)


@kernel
def plan(tree: Tree, search: GridSearch) -> int:
    """The search; why it ended."""
    search.search.seed = search.seed
    status = open_node(tree, search.search, 0)  # bounds to answer by where there is no time to branch
    if status != OK:
        return int(status)
    refresh_bounds(tree, 0)
    status = branch_all(tree, search, 0)
    return int(run(tree, search)) if status == OK else int(status)
