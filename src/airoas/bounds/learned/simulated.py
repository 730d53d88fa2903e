"""Estimates for any model that can be simulated: values learned once at states where random actions lead.

Upper: fitted value iteration of the fully observable problem (Gordon, 1995; with trees Ernst et al., 2005). Every state is
stepped with every action, so that rewards count as they are and only the values after them are learned. Lower: returns of
plans, an action a number of times and then another for ever. What the forest gets wrong on states that it has not learned from
is taken off the lower values and added to the upper ones. Nothing here is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from airoas.bounds.learned.explore import explore
from airoas.bounds.learned.fitted import best_set
from airoas.bounds.learned.forest import TREES, zero
from airoas.bounds.learned.grid import draws
from airoas.bounds.learned.regression import Regression, features_of, regress
from airoas.bounds.learned.walks import horizon, walk
from airoas.bounds.sides import ILLEGAL, Side
from airoas.compiler.kernels import Bound, Record, current_mode, kernel
from airoas.modelling.batch import Simulator, batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows
from airoas.rng import Rng, hash_key, new_stream, stream

POLICY = -1
"""Instead of an action: those of `rollout_action`."""
_MOST_STATES, _MOST_PAIRS = 80_000, 1_600_000  # of a state and an action
_DRAWS = 4  # of a step that is random, for its reward and whether it ends; one tells where it leads
_ROLLED_OUT, _FEWEST = 20_000, 500  # states
_KEPT = 5  # states of a walk
_WAYS = 50  # one in so many at most is on a way to a high reward
_TESTED = 1000  # states to judge the forest by
_LEAVES = 6, 30, 150  # fewest states in one, of returns: more where they are a matter of chance
_SMALL_LEAF = 2  # of values
_RUNS = 8  # from each
_ROUNDS, _MOST_ROUNDS, _PATIENCE = 5, 15, 2  # at least, and at most: until following the values has earned no more in so many
_SWEEPS, _LOOKUPS = 150, 600_000_000  # of a round, at most; a round begins with the values of the one before
_WALKERS = 1500  # that follow the values learned so far, for states to learn from in the next round
_WANDERING = 0.2  # of their steps are random
_TIMES = (1, 2, 3, 4, 6, 8, 12, 16)  # of the first action of a plan
_MOST_PLANS = 8
_WORK = 6_000_000  # simulated steps of plans, when choosing and when learning


def estimate(model: KernelModel, progress: Callable[[str], None]) -> dict[str, np.ndarray]:
    """Forests of the values of plans, "plans ..", with their `first` actions, and of the fully observable problem, "values .."."""
    progress("looking where random actions lead")
    states = sample(model, min(_MOST_STATES, _MOST_PAIRS // model.n_actions))
    progress("simulating plans")
    plans = _choose(model, states)
    below = _learn_returns(model, states, plans)
    progress("values of the fully observable problem")
    above = _learn_values(model, states)
    return {
        "first": np.array([a if times else b for a, times, b in plans]),
        "raised_by": np.array(_excess(model, above)),
        **below.arrays("plans "),
        **above.arrays("values "),
    }


def parts(model: KernelModel, arrays: dict[str, np.ndarray]) -> tuple[Side, Side]:
    """The lower and the upper bound that `estimate` found."""
    first = tuple(int(a) for a in arrays["first"])
    below, above = (Regression.of(arrays, f"{side} ").lookup() for side in ("plans", "values"))
    by = float(arrays["raised_by"])
    return Side("simulated plans", below, len(first), first, False), Side("simulated mdp", above, 1, (), False, by)


def estimate_values(model: KernelModel) -> dict[str, np.ndarray]:
    """A forest of the values of the fully observable problem, as they are fitted where random actions lead."""
    return _learn_values(model, sample(model, min(_MOST_STATES, _MOST_PAIRS // model.n_actions)), follows=False).arrays()


def values(arrays: dict[str, np.ndarray]) -> Side:
    """The upper bound that `estimate_values` found."""
    return Side("fitted mdp", Regression.of(arrays).lookup(), 1, (), False)


def estimate_rollouts(model: KernelModel) -> dict[str, np.ndarray]:
    """A forest of the returns of `rollout_action`. It may look at the state, which a plan must not."""
    return _learn_returns(model, sample(model, _ROLLED_OUT), [(POLICY, 0, POLICY)]).arrays()


def rollouts(model: KernelModel, arrays: dict[str, np.ndarray]) -> Side:
    """The lower bound that `estimate_rollouts` found."""
    return Side("rollout", Regression.of(arrays).lookup(), 1, (-1,), sound=False)


def sample(model: KernelModel, most: int, key: str = "learned") -> np.ndarray:
    """States [n, dim] before the end, a few of each of many walks: the first ones, where random actions lead, and ways to high
    rewards."""
    wanted = min(most, max(_FEWEST, most // _thrift()))
    keep = _KEPT / horizon(model)
    walks = math.ceil(wanted / max(1.0, _KEPT))
    return _some(np.concatenate((walk(model, walks, 4, min(1.0, keep), stream(0, key)), _some(explore(model), wanted // _WAYS))), wanted)


def _some(states: Rows, most: int) -> np.ndarray:
    """As many, spread evenly."""
    return states[np.linspace(0, len(states) - 1, min(most, len(states))).astype(np.int64)] if len(states) else states


def _thrift() -> int:
    """By how much less is simulated where that is slow. (A model that compiles is learned from compiled; see `store.learned`.)"""
    return 100 if current_mode() == "interpreted" else 1


# --- the fully observable problem ---


class SampledSteps(Record):
    """What every action did in every state. One successor stands for all: neighbours have others, and more states are worth more than more
    draws at each."""

    rewards: Matrix
    """[n, A] means over some draws; ILLEGAL where the action is not legal."""
    after: Rows
    """[n * A, dim] the successor in the first of them that does not end."""
    goes_on: Matrix
    """[n, A] the part of them that does not end."""
    draws: int


def _learn_values(model: KernelModel, states: Rows, follows: bool = True) -> Regression:
    """follows: learn from what is met where the values are followed as well, as long as that earns more."""
    n, actions, kinds = len(states), model.n_actions, model.shapes.state.kinds
    stepped = SampledSteps(
        rewards=np.zeros((n, actions)),
        after=np.zeros((n * actions, states.shape[1])),
        goes_on=np.zeros((n, actions)),
        draws=min(_DRAWS, draws(model, states)),
    )
    workspace = np.zeros_like(states), np.zeros(n), np.zeros(n, np.bool_)
    known = Regression(features_of(states, kinds), zero(1))
    values, best, most, since = np.zeros((n, 1)), known, -math.inf, 0
    sweeps = min(_SWEEPS, _LOOKUPS // max(1, len(stepped.after) * TREES))
    for round_ in range(_MOST_ROUNDS if follows else _ROUNDS):
        # the values tell where to split and which states to learn from, and both what the values are
        stepped.rewards[:] = stepped.goes_on[:] = 0.0
        _step_all(batch(model).simulator, states, np.ones(n, np.bool_), action_rows(model), stepped, 0, np.arange(n), *workspace)
        small = 1e-3 * float(np.abs(stepped.rewards[stepped.rewards > ILLEGAL]).max(initial=1e-12))
        _backup(stepped, model.discount, known.forest.values, known.leaves(stepped.after), values)
        known = regress(states, kinds, values, _SMALL_LEAF, stream(round_, "trees"))
        own, later = known.leaves(states), known.leaves(stepped.after)
        for _ in range(sweeps):
            known.learn(own, values)
            if _backup(stepped, model.discount, known.forest.values, later, values) < small:
                break
        if follows:
            met, earned = _meet(model, known.lookup(), n // 2, stream(round_ + 1, "met"))
            since += 1
            if earned.mean() > most + float(earned.std()) / math.sqrt(len(earned)):
                best, most, since = known, float(earned.mean()), 0
            if round_ + 1 >= _ROUNDS and since >= _PATIENCE:
                break
            states = np.concatenate((met, states[len(met) :]))
    return best if follows else known


def _excess(model: KernelModel, known: Regression) -> float:
    """What is earned where values are followed, beyond what they say: the root of the mean square."""
    most = _WORK // 10 // _thrift() // (_RUNS * _steps(model) * model.n_actions)
    tested = sample(model, min(_TESTED, max(20, most)), "tested")
    estimates = np.zeros((len(tested), 1))
    known.lookup()(tested, np.ones(len(tested), np.bool_), estimates, 0)
    earned = follow_greedily(model, known.lookup(), tested)
    return math.sqrt(_mean(np.maximum(0.0, earned - estimates[:, 0]) ** 2))


def _meet(model: KernelModel, value: Bound, most: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """States [n, dim], so many at most, that are met on the way where mostly the best action by a value of states is taken; and what each
    walker earned."""
    walkers = max(1, min(_WALKERS, most))
    states, alive = np.zeros((walkers, model.shapes.state.size)), np.zeros(walkers, np.bool_)
    batch(model).initial(states, alive, rng.bits(62))
    work = _greedy(model, value, states, walkers * horizon(model))
    work.alive[:] = alive
    work.wandering = _WANDERING
    _follow(work, horizon(model), rng.bits(62))
    met: np.ndarray = work.kept[: work.n_kept]
    _, first = np.unique(met, axis=0, return_index=True)  # a walker that stands still tells nothing more
    return _some(met[np.sort(first)], most), work.earned


def follow_greedily(model: KernelModel, value: Bound, states: Rows) -> np.ndarray:
    """[n] what the best action by a value of states earns from states, the mean of some runs: a value that is too low shows here."""
    work = _greedy(model, value, np.repeat(states, _RUNS, axis=0))
    _follow(work, _steps(model), stream(0, "greedy").bits(62))
    earned: Reals = work.earned.reshape(len(states), _RUNS).mean(axis=1)
    return earned


def _greedy(model: KernelModel, value: Bound, rows: Rows, most: int = 0) -> Greedy:
    n, width = rows.shape
    return Greedy(
        value=value,
        simulator=batch(model).simulator,
        actions=action_rows(model),
        states=rows,
        after=np.zeros((n, width)),
        alive=np.ones(n, np.bool_),
        arrived=np.zeros(n, np.bool_),
        allowed=np.zeros(n, np.bool_),
        rewards=np.zeros(n),
        values=np.zeros((n, 1)),
        best=np.zeros((n, 1)),
        most=np.zeros(n),
        numbers=np.arange(n),
        earned=np.zeros(n),
        wandering=0.0,
        kept=np.zeros((most, width)),
        n_kept=0,
    )


def action_rows(model: KernelModel) -> np.ndarray:
    """[A, 1] every action."""
    return np.arange(model.n_actions, dtype=np.float64)[:, None].copy()


class Greedy(Record):
    """n states that follow a value side by side."""

    value: Bound
    simulator: Simulator
    actions: Rows
    states: Rows
    after: Rows
    alive: Mask
    arrived: Mask
    allowed: Mask
    rewards: Reals
    values: Matrix
    best: Rows
    most: Reals
    numbers: Indices
    earned: Reals
    wandering: float
    """How often a random action is taken."""
    kept: Rows
    """[m, dim] states that were met, as far as there is room."""
    n_kept: int


@kernel
def _follow(work: Greedy, steps: int, seed: int) -> None:
    simulator, states, alive, own = work.simulator, work.states, work.alive, new_stream()
    factor = 1.0
    for t in range(steps):
        for i in range(len(states)):
            work.most[i] = -math.inf
            if alive[i] and work.n_kept < len(work.kept):
                for k in range(states.shape[1]):
                    work.kept[work.n_kept, k] = states[i, k]
                work.n_kept += 1
        for a in range(len(work.actions)):
            action = work.actions[a : a + 1]
            simulator.permits(states, alive, action, work.allowed)
            simulator.step(states, work.allowed, action, hash_key(seed, t, a), work.numbers, work.after, work.rewards, work.arrived)
            work.value(work.after, work.arrived, work.values, 0)
            for i in range(len(states)):
                value = work.rewards[i] + (simulator.discount * work.values[i, 0] if work.arrived[i] else 0.0)
                if work.wandering > 0.0:
                    own.reseed(hash_key(seed, t, -2), i, 0)
                    if own.uniform() < work.wandering:  # the first of the actions in an order of its own
                        own.reseed(hash_key(seed, t, -2), i, 1 + a)
                        value = own.uniform()
                if work.allowed[i] and value > work.most[i]:
                    work.most[i], work.best[i, 0] = value, a
        for i in range(len(states)):
            alive[i] = alive[i] and work.most[i] > -math.inf
        simulator.step(states, alive, work.best, hash_key(seed, t, -1), work.numbers, work.after, work.rewards, alive)
        for i in range(len(states)):
            work.earned[i] += factor * work.rewards[i]
            if alive[i]:
                for k in range(states.shape[1]):
                    states[i, k] = work.after[i, k]
        factor *= simulator.discount


@kernel
def _step_all(
    simulator: Simulator,
    states: Rows,
    alive: Mask,
    actions: Rows,
    stepped: SampledSteps,
    seed: int,
    numbers: Indices,
    after: Rows,
    rewards: Reals,
    arrived: Mask,
) -> None:
    n = len(states)
    for a in range(len(actions)):
        action = actions[a : a + 1]
        for d in range(stepped.draws):
            allowed = arrived  # for a moment
            simulator.permits(states, alive, action, allowed)
            for i in range(n):
                if not allowed[i]:
                    stepped.rewards[i, a] = ILLEGAL
            simulator.step(states, allowed, action, hash_key(seed, a, d), numbers, after, rewards, arrived)
            for i in range(n):
                stepped.rewards[i, a] += rewards[i] / stepped.draws
                if arrived[i]:
                    if stepped.goes_on[i, a] == 0.0:
                        for k in range(states.shape[1]):
                            stepped.after[i * len(actions) + a, k] = after[i, k]
                    stepped.goes_on[i, a] += 1.0 / stepped.draws


@kernel
def _backup(stepped: SampledSteps, discount: float, leaf_values: Matrix, leaves: np.ndarray, values: Matrix) -> float:
    """values [n, 1] = max_a of the reward and the discounted values of the leaves after it; the largest change."""
    n, actions = stepped.goes_on.shape
    change = 0.0
    for i in range(n):
        best = ILLEGAL
        for a in range(actions):
            later = 0.0
            if stepped.goes_on[i, a] > 0.0:
                for tree in range(leaves.shape[1]):
                    later += leaf_values[leaves[i * actions + a, tree], 0]
            best = max(best, stepped.rewards[i, a] + discount * stepped.goes_on[i, a] * later)
        best = best if best > 0.5 * ILLEGAL else 0.0
        change = max(change, abs(best - values[i, 0]))
        values[i, 0] = best
    return change


# --- plans ---

Plan = tuple[int, int, int]
"""An action, how many times, and another for ever."""


def _choose(model: KernelModel, states: Rows) -> list[Plan]:
    """The plans that together are worth most in some of the states; of many pairs of actions those that end with what pays."""
    some = states[:: max(1, len(states) // 200)].copy()
    repeated = [(a, 0, a) for a in range(model.n_actions)]
    if not len(some):
        return repeated[:1]
    plan_values = _returns(model, some, repeated, stream(0, "repeated"))
    last = sorted(range(model.n_actions), key=lambda b: -float(np.maximum(plan_values[:, b], 0.0).sum()))  # what pays somewhere comes last
    pairs = [(a, times, b) for b in last for a in range(model.n_actions) if a != b for times in _TIMES]
    pairs = pairs[: max(1, _WORK // _thrift() // (len(some) * _steps(model)))]
    candidates = repeated + pairs
    plan_values = np.hstack((plan_values, _returns(model, some, pairs, stream(0, "pairs"))))
    return [candidates[k] for k in best_set(plan_values.T)[:_MOST_PLANS]]


def _learn_returns(model: KernelModel, states: Rows, plans: list[Plan]) -> Regression:
    """A regression of the returns of plans, as far as the steps go that may be simulated."""
    states = states[: max(_FEWEST, _WORK // _thrift() // (len(plans) * _steps(model)))]
    returns = _returns(model, states, plans, stream(0, "plans"))
    tested = sample(model, _TESTED, "tested")
    some = [_returns(model, tested, plans, stream(run, "tested")) for run in range(_RUNS)]
    half, other = np.mean(some[::2], axis=0), np.mean(some[1::2], axis=0)
    grown = []
    for fewest in _LEAVES:
        known = regress(states, model.shapes.state.kinds, returns, fewest, stream(0, "trees"))
        known.learn(known.leaves(states), returns)
        estimates = np.zeros_like(half)
        known.lookup()(tested, np.ones(len(tested), np.bool_), estimates, 0)
        # squares over two sets of runs: what chance adds to each is not the regression's error
        grown.append((np.array([_mean(column) for column in ((estimates - half) * (estimates - other)).T]), known))
    errors, known = min(grown, key=lambda pair: float(pair[0].sum()))
    known.forest.values[:] -= np.sqrt(np.maximum(0.0, errors)) / TREES
    return known


def _mean(numbers: np.ndarray) -> float:
    return float(numbers.mean()) if numbers.size else 0.0


def _steps(model: KernelModel) -> int:
    return min(500, max(1, math.ceil(math.log(0.01) / math.log(model.discount))))


def _returns(model: KernelModel, states: Rows, plans: list[Plan], rng: Rng) -> np.ndarray:
    """[n, K] what each plan earned from each state, in one run."""
    n, width, functions = len(states), states.shape[1], batch(model)
    returns, table = np.zeros((n, len(plans))), np.array(plans, dtype=np.int64).reshape(-1, 3)
    rows = np.zeros((n, width)), np.zeros((n, width)), np.zeros((n, 1))
    flags = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    _run_plans(functions.simulator, states, table, _steps(model), returns, rng.bits(62), *rows, *flags, np.zeros(n), np.arange(n))
    return returns


@kernel
def _run_plans(
    simulator: Simulator,
    states: Rows,
    plans: np.ndarray,
    steps: int,
    returns: Matrix,
    seed: int,
    current: Rows,
    after: Rows,
    actions: Rows,
    alive: Mask,
    allowed: Mask,
    rewards: Reals,
    numbers: Indices,
) -> None:
    """Follow every plan from every state; an action that is not legal is replaced by one of `rollout_action`."""
    for k in range(len(plans)):
        for i in range(len(states)):
            alive[i] = True
            for c in range(states.shape[1]):
                current[i, c] = states[i, c]
        factor = 1.0
        for t in range(steps):
            a = plans[k, 0] if t < plans[k, 1] else plans[k, 2]
            key = hash_key(seed, k, t)
            for i in range(len(states)):
                allowed[i] = alive[i] and a == POLICY
                actions[i, 0] = a
            if a != POLICY:
                simulator.permits(current, alive, actions, allowed)
                for i in range(len(states)):
                    allowed[i] = alive[i] and not allowed[i]  # for a moment: which are not
            simulator.default_actions(current, allowed, key, numbers, actions)
            simulator.step(current, alive, actions, key, numbers, after, rewards, alive)
            for i in range(len(states)):
                returns[i, k] += factor * rewards[i]
                if alive[i]:
                    for c in range(states.shape[1]):
                        current[i, c] = after[i, c]
            factor *= simulator.discount
