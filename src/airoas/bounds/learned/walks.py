"""Where random actions lead: states to learn from."""

from __future__ import annotations

import math

import numpy as np

from airoas.compiler.kernels import kernel
from airoas.modelling.batch import Simulator, batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Reals, Rows
from airoas.rng import Rng, hash_key, new_stream

_CHECKED = 200  # states in which it is tried out whether steps are random


def horizon(model: KernelModel) -> int:
    """How many steps of a walk count."""
    return min(int(model.max_steps), math.ceil(math.log(0.05) / math.log(model.discount)))


def walk(model: KernelModel, walks: int, longest: int, keep: float, rng: Rng) -> np.ndarray:
    """States [n, dim] before the end: the first one of each walk, and each later one with probability `keep`.

    An action is repeated for up to `longest` steps, which leads farther.
    """
    steps, functions, width = horizon(model), batch(model), model.shapes.state.size
    states, alive = np.zeros((walks, width)), np.zeros(walks, np.bool_)
    functions.initial(states, alive, rng.bits(62))
    kept = np.zeros((walks * steps if keep == 1.0 else walks * (2 + int(1.5 * keep * steps)), width))
    rows, flags = (np.zeros((walks, width)), np.zeros((walks, 1))), (np.zeros(walks, np.bool_), np.zeros(walks, np.bool_))
    workspace = *rows, np.zeros(walks), *flags, np.arange(walks), np.zeros(walks, np.int64)
    return kept[: _walk(functions.simulator, states, alive, steps, longest, keep, kept, rng.bits(62), *workspace)]


@kernel
def _walk(
    simulator: Simulator,
    states: Rows,
    alive: Mask,
    steps: int,
    longest: int,
    keep: float,
    kept: Rows,
    seed: int,
    after: Rows,
    actions: Rows,
    rewards: Reals,
    allowed: Mask,
    arrived: Mask,
    numbers: Indices,
    again: Indices,
) -> int:
    """Walk side by side; how many states were kept. A step to the end is undone: it would hide where other actions lead."""
    count, own = 0, new_stream()
    for t in range(steps):
        for i in range(len(states)):
            own.reseed(seed, t, i)
            if alive[i] and count < len(kept) and (t == 0 or keep == 1.0 or own.uniform() < keep):
                for k in range(states.shape[1]):
                    kept[count, k] = states[i, k]
                count += 1
            if again[i] == 0:
                actions[i, 0] = own.integer(simulator.n_actions)
                again[i] = 1 + own.integer(longest)
            again[i] -= 1
        simulator.permits(states, alive, actions, allowed)
        simulator.step(states, allowed, actions, hash_key(seed, t, -1), numbers, after, rewards, arrived)
        for i in range(len(states)):
            if arrived[i]:
                for k in range(states.shape[1]):
                    states[i, k] = after[i, k]
    return count


def is_random(model: KernelModel, states: Rows) -> bool:
    """Whether steps from these states are random, as far as trying shows."""
    some = states[:: max(1, len(states) // _CHECKED)].copy()
    n, functions = len(some), batch(model)
    alive, allowed, arrived = np.ones(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for a in range(model.n_actions):
        action, result = model.row("action", a), []
        functions.permits(some, alive, action, allowed)
        for draw in range(2):
            after, rewards = some.copy(), np.zeros(n)
            functions.step(some, allowed, action, draw, np.arange(n), after, rewards, arrived)
            result.append((after, rewards))
        if any(not np.array_equal(first, second) for first, second in zip(*result, strict=True)):
            return True
    return False


def typical_steps(model: KernelModel, states: Rows) -> np.ndarray:
    """[dim] how far a step goes along each component, the median over those that change it; 0 where none does."""
    some = states[:: max(1, len(states) // _CHECKED)].copy()
    n, functions = len(some), batch(model)
    alive, allowed, arrived = np.ones(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    moved: list[np.ndarray] = []
    for a in range(model.n_actions):
        after, action = some.copy(), model.row("action", a)
        functions.permits(some, alive, action, allowed)
        functions.step(some, allowed, action, a, np.arange(n), after, np.zeros(n), arrived)
        moved.append(np.abs(after - some))
    changes = np.concatenate(moved)
    return np.array([np.median(column[column > 1e-9]) if (column > 1e-9).any() else 0.0 for column in changes.T])
