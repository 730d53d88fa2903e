"""Estimates for any model that can be simulated: values learned once at states where random actions lead.

Upper: fitted value iteration of the fully observable problem (Gordon, 1995; with trees Ernst et al., 2005). Every state is
stepped with every action, so that rewards count as they are and only the values after them are learned. Lower: returns of
plans, an action a number of times and then another for ever. What the forest gets wrong on states that it has not learned from
is taken off the lower values and added to the upper ones. Nothing here is proved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.bounds.learned.fitted import best_together
from airoas.bounds.learned.forest import TREES, Forest, find_leaves, grow, learn, lookup
from airoas.bounds.learned.grid import draws
from airoas.bounds.part import ILLEGAL, Part, over_states
from airoas.compiler.kernels import Kernel, Record, kernel, mode
from airoas.rng import stream

POLICY = -1
"""Instead of an action: those of `rollout_action`."""
_MOST_STATES, _MOST_PAIRS = 20_000, 100_000  # of a state and an action
_DRAWS = 4  # of a step that is random
_FEWEST = 500  # states
_KEPT = 5  # states of a walk
_TESTED = 200  # states to judge the forest by
_LEAVES = 6, 30, 150  # fewest states in one: more where returns are a matter of chance
_RUNS = 8  # from each
_ROUNDS, _SWEEPS = 3, 150
_TIMES = (1, 2, 3, 4, 6, 8, 12, 16)  # of the first action of a plan
_MOST_PLANS = 8
_WORK = 6_000_000  # simulated steps of plans, when choosing and when learning


def estimate(model: Any, tell: Callable[[str], None]) -> dict[str, np.ndarray]:
    """Forests of the values of plans, "plans ..", with their `first` actions, and of the fully observable problem, "values .."."""
    tell("looking where random actions lead")
    states = sample(model, min(_MOST_STATES, _MOST_PAIRS // model.n_actions))
    tell("simulating plans")
    plans = _choose(model, states)
    below = _learn_returns(model, states, plans)
    tell("values of the fully observable problem")
    above = _learn_values(model, states)
    return {
        "first": np.array([a if times else b for a, times, b in plans]),
        **{f"plans {name}": array for name, array in below.items()},
        **{f"values {name}": array for name, array in above.items()},
    }


def parts(model: Any, arrays: dict[str, np.ndarray]) -> tuple[Part, Part]:
    """The lower and the upper bound that `estimate` found."""
    look_up, first = lookup(len(model.shapes.state.kinds)), tuple(int(a) for a in arrays["first"])
    below, above = (_forest(arrays, f"{side} ") for side in ("plans", "values"))
    return Part("simulated plans", look_up, below, len(first), first, False), Part("simulated mdp", look_up, above, 1, (), False)


def estimate_rollouts(model: Any) -> dict[str, np.ndarray]:
    """A forest of the returns of `rollout_action`. It may look at the state, which a plan must not."""
    return _learn_returns(model, sample(model, _MOST_STATES), [(POLICY, 0, POLICY)])


def rollouts(model: Any, arrays: dict[str, np.ndarray]) -> Part:
    """The lower bound that `estimate_rollouts` found."""
    return Part("rollout", lookup(len(model.shapes.state.kinds)), _forest(arrays, ""), 1, (-1,), sound=False)


def _forest(arrays: dict[str, np.ndarray], prefix: str) -> Forest:
    return Forest(**{name: arrays[prefix + name] for name in Forest.__annotations__})


def sample(model: Any, most: int, key: str = "learned") -> np.ndarray:
    """States [n, dim] before the end, a few of each of many walks: the first ones, and where random actions lead."""
    steps = min(int(model.max_steps), math.ceil(math.log(0.05) / math.log(model.discount)))
    states = np.zeros((min(most, max(_FEWEST, most // _thrift())), len(model.shapes.state.kinds)))
    return states[: _walk(model, states, steps, _KEPT / steps, stream(0, key))]


def _thrift() -> int:
    """By how much less is simulated where that is slow. (A model that compiles is learned from compiled; see `store.learned`.)"""
    return 100 if mode() == "interpreted" else 1


@kernel
def _walk(model: Any, states: Any, steps: int, share: float, rng: Any) -> int:
    """Walk until the rows are full: how many are. An action is repeated for a while, which leads farther."""
    count, a, again = 0, 0, 0
    for _ in range(len(states)):
        s = model.initial(rng)
        for t in range(steps):
            if model.is_terminal(s):
                break
            if t == 0 or rng.uniform() < share:
                model.write_state(states, count, s)
                count += 1
                if count == len(states):
                    return count
            if again == 0:
                a, again = rng.integer(model.n_actions), 1 + rng.integer(4)
            again -= 1
            if model.legal(s, a):
                s2, _ = model.step(s, a, rng)
                if not model.is_terminal(s2):  # an early end would hide where other actions lead
                    s = s2
    return count


# --- the fully observable problem ---


class Stepped(Record):
    """What every action did in every state, in D draws."""

    rewards: Any
    """[n, A] means; ILLEGAL where the action is not legal."""
    after: Any
    """[n * A * D, dim] successors."""
    ended: Any
    """[n, A, D]"""


def _learn_values(model: Any, states: np.ndarray) -> dict[str, np.ndarray]:
    n, actions, dim = len(states), model.n_actions, states.shape[1]
    d = min(_DRAWS, draws(model, states))
    stepped = Stepped(rewards=np.zeros((n, actions)), after=np.zeros((n * actions * d, dim)), ended=np.zeros((n, actions, d), np.bool_))
    _step_all(model, states, stepped, stream(0, "steps"))
    small = 1e-3 * float(np.abs(stepped.rewards[stepped.rewards > ILLEGAL]).max(initial=1e-12))
    values = np.zeros((n, 1))
    _backup(stepped, model.discount, np.zeros((1, 1)), np.zeros((n * actions * d, 1), np.int64), values)
    for round_ in range(_ROUNDS):  # the values tell where to split, the splits what the values are
        forest = grow(states, values, _LEAVES[0], stream(round_, "trees"))
        own, later = np.zeros((n, TREES), np.int64), np.zeros((n * actions * d, TREES), np.int64)
        find_leaves(forest, states, own)
        find_leaves(forest, stepped.after, later)
        for _ in range(_SWEEPS):
            learn(forest, own, values, np.zeros(len(forest.cut)))
            if _backup(stepped, model.discount, forest.values, later, values) < small:
                break
    most = _WORK // 10 // _thrift() // (_RUNS * _steps(model) * actions)
    tested = sample(model, min(_TESTED, max(20, most)), "tested")
    earned, found = np.zeros(len(tested)), np.zeros(len(tested))
    _follow_by(lookup(dim))(model, forest, tested, _steps(model), earned, np.zeros(1), stream(0, "greedy"))
    over_states(lookup(dim))(model, forest, tested, found, stream(0))
    return _shifted(forest, math.sqrt(_mean(np.maximum(0.0, earned - found) ** 2)))


@functools.cache
def _follow_by(look_up: Any) -> Kernel:
    """What the best action by the forest earns from states, again and again: a value that is too low shows here."""

    def follow(model: Any, forest: Forest, states: Any, steps: int, earned: Any, ahead: Any, rng: Any) -> None:
        for i in range(len(states)):
            for _ in range(_RUNS):
                s = model.read_state(states, i)
                factor = 1.0
                for _ in range(steps):
                    if model.is_terminal(s):
                        break
                    best, most = -1, -math.inf
                    for a in range(model.n_actions):
                        if model.legal(s, a):
                            s2, value = model.step(s, a, rng)
                            if not model.is_terminal(s2):
                                look_up(model, forest, s2, rng, ahead, 0)
                                value += model.discount * ahead[0]
                            if value > most:
                                best, most = a, value
                    if best < 0:
                        break
                    s, reward = model.step(s, best, rng)
                    earned[i] += factor * reward / _RUNS
                    factor *= model.discount

    return kernel(follow)


@kernel
def _step_all(model: Any, states: Any, stepped: Stepped, rng: Any) -> None:
    n, actions, draws = stepped.ended.shape
    for i in range(n):
        s = model.read_state(states, i)
        for a in range(actions):
            if not model.legal(s, a):
                stepped.rewards[i, a] = ILLEGAL
                continue
            for d in range(draws):
                s2, reward = model.step(s, a, rng)
                stepped.rewards[i, a] += reward / draws
                stepped.ended[i, a, d] = model.is_terminal(s2)
                model.write_state(stepped.after, (i * actions + a) * draws + d, s2)


@kernel
def _backup(stepped: Stepped, discount: float, leaf_values: Any, leaves: Any, values: Any) -> float:
    """values [n, 1] = max_a of the reward and the discounted values of the leaves after it; the largest change."""
    n, actions, draws = stepped.ended.shape
    change = 0.0
    for i in range(n):
        best = ILLEGAL
        for a in range(actions):
            total = 0.0
            for d in range(draws):
                if not stepped.ended[i, a, d]:
                    for tree in range(leaves.shape[1]):
                        total += leaf_values[leaves[(i * actions + a) * draws + d, tree], 0]
            best = max(best, stepped.rewards[i, a] + discount * total / draws)
        best = best if best > 0.5 * ILLEGAL else 0.0
        change = max(change, abs(best - values[i, 0]))
        values[i, 0] = best
    return change


# --- plans ---

Plan = tuple[int, int, int]
"""An action, how many times, and another for ever."""


def _choose(model: Any, states: np.ndarray) -> list[Plan]:
    """The plans that together are worth most in some of the states; of many pairs of actions those that end with what pays."""
    some = states[:: max(1, len(states) // 200)].copy()
    repeated = [(a, 0, a) for a in range(model.n_actions)]
    if not len(some):
        return repeated[:1]
    worths = _returns(model, some, repeated, stream(0, "repeated"))
    last = sorted(range(model.n_actions), key=lambda b: -float(np.maximum(worths[:, b], 0.0).sum()))  # what pays somewhere comes last
    pairs = [(a, times, b) for b in last for a in range(model.n_actions) if a != b for times in _TIMES]
    pairs = pairs[: max(1, _WORK // _thrift() // (len(some) * _steps(model)))]
    candidates = repeated + pairs
    worths = np.hstack((worths, _returns(model, some, pairs, stream(0, "pairs"))))
    return [candidates[k] for k in best_together(worths.T)[:_MOST_PLANS]]


def _learn_returns(model: Any, states: np.ndarray, plans: list[Plan]) -> dict[str, np.ndarray]:
    """A forest of the returns of plans, as far as the steps go that may be simulated."""
    states = states[: max(_FEWEST, _WORK // _thrift() // (len(plans) * _steps(model)))]
    returns = _returns(model, states, plans, stream(0, "plans"))
    tested = sample(model, _TESTED, "tested")
    some = [_returns(model, tested, plans, stream(run, "tested")) for run in range(_RUNS)]
    half, other = np.mean(some[::2], axis=0), np.mean(some[1::2], axis=0)
    grown = []
    for fewest in _LEAVES:
        forest = grow(states, returns, fewest, stream(0, "trees"))
        own = np.zeros((len(states), TREES), np.int64)
        find_leaves(forest, states, own)
        learn(forest, own, returns, np.zeros(len(forest.cut)))
        found = np.zeros_like(half)
        over_states(lookup(states.shape[1]))(model, forest, tested, found.reshape(-1), stream(0))
        # squares over two sets of runs: what chance adds to each is not the forest's error
        grown.append((np.array([_mean(column) for column in ((found - half) * (found - other)).T]), forest))
    errors, forest = min(grown, key=lambda pair: float(pair[0].sum()))
    return _shifted(forest, -np.sqrt(np.maximum(0.0, errors)))


def _mean(numbers: np.ndarray) -> float:
    return float(numbers.mean()) if numbers.size else 0.0


def _shifted(forest: Forest, by: Any) -> dict[str, np.ndarray]:
    """The arrays of a forest whose values are so much higher."""
    arrays = {name: getattr(forest, name) for name in Forest.__annotations__}
    return arrays | {"values": forest.values + by / TREES}


def _steps(model: Any) -> int:
    return min(500, max(1, math.ceil(math.log(0.01) / math.log(model.discount))))


def _returns(model: Any, states: np.ndarray, plans: list[Plan], rng: Any) -> np.ndarray:
    """[n, K] what each plan earned from each state, in one run."""
    found = np.zeros((len(states), len(plans)))
    _run_plans(model, states, np.array(plans, dtype=np.int64).reshape(-1, 3), _steps(model), found, rng)
    return found


@kernel
def _run_plans(model: Any, states: Any, plans: Any, steps: int, found: Any, rng: Any) -> None:
    """Follow every plan from every state; an action that is not legal is replaced by one of `rollout_action`."""
    for i in range(len(states)):
        for k in range(len(plans)):
            s = model.read_state(states, i)
            factor = 1.0
            for t in range(steps):
                if model.is_terminal(s):
                    break
                a = plans[k, 0] if t < plans[k, 1] else plans[k, 2]
                if a == POLICY or not model.legal(s, a):
                    a = model.rollout_action(s, rng)
                s, reward = model.step(s, a, rng)
                found[i, k] += factor * reward
                factor *= model.discount
