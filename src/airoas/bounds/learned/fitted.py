"""Estimates for a continuous model without hints: values of plans and actions on a grid of states.

Every grid point is stepped with every action a few times; then the fully observable problem is iterated (Q, the upper
values), and so are plans (the lower ones): an action repeated for ever, and one action a number of times, then another for
ever. Nothing here is proved: the grid is coarse and its box ends somewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from airoas.bounds.learned.grid import MOST_AXES, MOST_PLANS, Grid, draws, interpolation, locate, set_point
from airoas.bounds.sides import ILLEGAL
from airoas.compiler.kernels import Record, kernel
from airoas.modelling.batch import Simulator, batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows
from airoas.rng import hash_key, stream

_LONGEST = 20  # steps of the first action of a plan
_WORK = 60_000_000  # steps looked up for plans


class GridSteps(Record):
    """What every action did at every point, in D draws."""

    rewards: Matrix
    """[points, A] means."""
    blocked: np.ndarray
    """[points, A] whether the action is not legal."""
    rows: np.ndarray
    """[points, A, D] the table's row below the successor; -1 for a terminal state."""
    beyond: np.ndarray
    """[points, A, D, 3] how far the successor lies beyond it on each axis."""
    strides: Indices
    """[3] how far apart neighbours on the axes are in a table."""


def step_grid(model: KernelModel, grid: Grid, visited: Rows, progress: Callable[[str], None]) -> GridSteps:
    """Every point of the grid stepped with every action. visited [n, dim]: states on walks."""
    points, n = int(np.prod(grid.size) * np.prod(grid.count)), draws(model, visited)
    stepped = GridSteps(
        rewards=np.zeros((points, model.n_actions)),
        blocked=np.zeros((points, model.n_actions), dtype=np.bool_),
        rows=np.zeros((points, model.n_actions, n), dtype=np.int64),
        beyond=np.zeros((points, model.n_actions, n, MOST_AXES)),
        strides=np.array([grid.size[1] * grid.size[2], grid.size[2], 1], dtype=np.int64),
    )
    progress(f"stepping {points} grid points")
    states = np.repeat(visited[len(visited) // 2 :][:1], points, axis=0)  # one of them, for the components that never vary
    alive, workspace = np.ones(points, np.bool_), (np.zeros_like(states), np.zeros(points), np.zeros(points, np.bool_))
    _set_points(grid, states)
    batch(model).inspect(states, alive, np.zeros(0, np.bool_))
    actions = np.arange(model.n_actions, dtype=np.float64)[:, None].copy()
    _step_all(batch(model).simulator, grid, states, alive, actions, stepped, stream(0, "grid").bits(62), np.arange(points), *workspace)
    return stepped


def _small(stepped: GridSteps) -> float:
    return 1e-4 * max(1e-12, float(np.abs(stepped.rewards).max()))


def estimate_values(model: KernelModel, grid: Grid, visited: Rows, progress: Callable[[str], None]) -> dict[str, np.ndarray]:
    """On the grid: `q` [points, A] of the fully observable problem."""
    stepped = step_grid(model, grid, visited, progress)
    progress("iterating values")
    q = np.zeros(stepped.rewards.shape)
    _iterate(stepped, model.discount, _small(stepped), np.zeros(len(q)), q)
    return {"q": np.where(stepped.blocked, ILLEGAL, q)}


def estimate_plans(model: KernelModel, grid: Grid, visited: Rows, progress: Callable[[str], None]) -> dict[str, np.ndarray]:
    """On the grid: `plans` [points, K] with their `first` actions; `visited` are the states to judge them by."""
    stepped = step_grid(model, grid, visited, progress)
    progress("iterating plans")
    plans, first = _plans(model, grid, visited, stepped, _small(stepped))
    return {"plans": plans, "first": np.array(first)}


def _plans(model: KernelModel, grid: Grid, visited: Rows, stepped: GridSteps, small: float) -> tuple[np.ndarray, tuple[int, ...]]:
    """The values [points, K] of the plans that together are worth most in the states visited, and their first actions."""
    points, discount = len(stepped.rewards), model.discount
    always = [a for a in range(model.n_actions) if not stepped.blocked[:, a].any()]
    if not always:
        return np.full((points, 1), min(0.0, float(stepped.rewards.min())) / (1.0 - discount)), (-1,)
    some = visited[:: max(1, len(visited) // 400)].copy()
    alive = np.ones(len(some), np.bool_)

    def value_at(values: np.ndarray) -> np.ndarray:
        result = np.zeros((len(some), 1))
        interpolation(grid, values[:, None])(some, alive, result, 0)
        return result[:, 0]

    def after(a: int, times: int, values: np.ndarray) -> np.ndarray:
        """The values of `a` so many times and then what has these values."""
        for _ in range(times):
            before, values = values, np.zeros(points)
            _once(stepped, a, discount, before, values)
        return values

    repeated = {a: np.zeros(points) for a in always}
    for a in always:
        _repeat(stepped, a, discount, small, repeated[a])
    candidates = [(a, 0, a) for a in always]
    plan_values = [value_at(repeated[a]) for a in always]
    last = sorted(
        always, key=lambda b: -float(np.maximum(plan_values[always.index(b)], 0.0).sum())
    )  # what pays somewhere comes last in a plan
    pairs = [(a, b) for b in last for a in always if a != b][: max(1, _WORK // (_LONGEST * stepped.rows[:, 0].size))]
    for a, b in pairs:
        values = repeated[b]
        for times in range(1, _LONGEST + 1):
            values = after(a, 1, values)
            candidates.append((a, times, b))
            plan_values.append(value_at(values))
    chosen = [candidates[k] for k in best_set(np.array(plan_values))]
    return np.stack([after(a, times, repeated[b]) for a, times, b in chosen], axis=1), tuple(a for a, _, _ in chosen)


def best_set(plan_values: np.ndarray) -> list[int]:
    """Rows of [candidates, states], the best one first, then whichever raises the sum of the maxima most."""
    chosen = [int(plan_values.sum(axis=1).argmax())]
    best = plan_values[chosen[0]]
    while len(chosen) < min(MOST_PLANS, len(plan_values)):
        gains = np.maximum(plan_values, best).sum(axis=1) - best.sum()
        if gains.max() <= 1e-3 * (1e-12 + abs(best).sum()):
            break
        chosen.append(int(gains.argmax()))
        best = np.maximum(best, plan_values[chosen[-1]])
    return chosen


@kernel
def _set_points(grid: Grid, states: Rows) -> None:
    for point in range(len(states)):
        set_point(grid, point, states, point)


@kernel
def _step_all(
    simulator: Simulator,
    grid: Grid,
    states: Rows,
    alive: Mask,
    actions: Rows,
    stepped: GridSteps,
    seed: int,
    numbers: Indices,
    after: Rows,
    rewards: Reals,
    arrived: Mask,
) -> None:
    """Step every point with every action."""
    n = stepped.rows.shape[2]
    allowed = arrived  # for a moment
    for a in range(len(actions)):
        action = actions[a : a + 1]
        for d in range(n):
            simulator.permits(states, alive, action, allowed)
            if d == 0:
                for point in range(len(states)):
                    stepped.blocked[point, a] = alive[point] and not allowed[point]
            simulator.step(states, allowed, action, hash_key(seed, a, d), numbers, after, rewards, arrived)
            for point in range(len(states)):
                stepped.rewards[point, a] += rewards[point] / n
                stepped.rows[point, a, d] = -1
                if arrived[point]:
                    stepped.rows[point, a, d], f, g, h = locate(grid, after, point)
                    stepped.beyond[point, a, d, 0] = f
                    stepped.beyond[point, a, d, 1] = g
                    stepped.beyond[point, a, d, 2] = h


def _ahead(stepped: GridSteps, discount: float, values: Reals, point: int, a: int) -> float:
    """The mean reward, and the discounted values where the action leads."""
    total = 0.0
    n = stepped.rows.shape[2]
    for d in range(n):
        row = stepped.rows[point, a, d]
        if row < 0:
            continue
        f, g, h = stepped.beyond[point, a, d, 0], stepped.beyond[point, a, d, 1], stepped.beyond[point, a, d, 2]
        for corner in range(8):
            weight = (f if corner & 1 else 1.0 - f) * (g if corner & 2 else 1.0 - g) * (h if corner & 4 else 1.0 - h)
            if weight > 0.0:
                neighbour = row
                for k in range(3):
                    if corner >> k & 1:
                        neighbour += stepped.strides[k]
                total += weight * values[neighbour]
    return float(stepped.rewards[point, a] + discount * total / n)


@kernel
def _iterate(stepped: GridSteps, discount: float, small: float, values: Reals, q: Matrix) -> None:
    """Sweep Q [points, A] in place, forth and back in turn, until the values change by less than `small`, 1000 times at most."""
    for turn in range(1000):
        change = 0.0
        for i in range(len(q)):
            point = i if turn % 2 == 0 else len(q) - 1 - i
            best = -np.inf
            for a in range(q.shape[1]):
                q[point, a] = _ahead(stepped, discount, values, point, a)
                if not stepped.blocked[point, a]:
                    best = max(best, q[point, a])
            change = max(change, abs(best - values[point]))
            values[point] = best
        if change < small:
            break


@kernel
def _repeat(stepped: GridSteps, a: int, discount: float, small: float, values: Reals) -> None:
    """Sweep [points] in place, the value of repeating a."""
    for _ in range(1000):
        change = 0.0
        for point in range(len(values)):
            value = _ahead(stepped, discount, values, point, a)
            change = max(change, abs(value - values[point]))
            values[point] = value
        if change < small:
            break


@kernel
def _once(stepped: GridSteps, a: int, discount: float, values: Reals, result: Reals) -> None:
    for point in range(len(values)):
        result[point] = _ahead(stepped, discount, values, point, a)
