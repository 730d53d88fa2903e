"""Rewards that nothing can go on with: whoever counts them stops at the first, and names it."""

from __future__ import annotations

import math
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import ModelError, Particles, stream
from airoas.belief.filters.update import make_filter
from airoas.bounds import find_bounds
from airoas.modelling.batch import batch
from airoas.modelling.rewards import RewardError
from airoas.planners import AIROAS, PBVI, QMDP, FittedQ

TOLD = r"Corridor\.step .*reward -inf for the action go in state Cell\(x=4\)"


class Cell(NamedTuple):
    x: int


class Push(NamedTuple):
    by: float


@airoas.model
class Corridor(NamedTuple):
    """A finite walk to the right; going on from 4 pays what a parameter says, and so does stopping where that is not legal."""

    pays: float = -math.inf
    stopping: float = 0.0
    discount: float = 0.9
    max_steps: int = 20

    def actions(self):
        return ("stay", "go", "stop")

    def initial(self, rng):
        return Cell(0)

    def legal(self, s, a):
        return a < 2 or s.x == 0

    def step(self, s, a, rng):
        paid = self.pays if s.x == 4 and a == 1 else self.stopping if a == 2 and s.x > 0 else float(a)
        return Cell(min(s.x + a % 2, 9)), paid

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.x == s.x else -math.inf


@airoas.model
class Enumerated(NamedTuple):
    """The same with its states enumerated."""

    pays: float = -math.inf
    discount: float = 0.9
    max_steps: int = 20

    actions, initial = Corridor.actions, Corridor.initial
    observe, obs_logpdf = Corridor.observe, Corridor.obs_logpdf

    def step(self, s, a, rng):
        return Cell(min(s.x + a % 2, 9)), self.pays if s.x == 4 and a == 1 else float(a)

    def n_states(self):
        return 10

    def index(self, s):
        return s.x

    def state(self, i):
        return Cell(i)

    def successor(self, s, a, k):
        return Cell(min(s.x + a % 2, 9)), 1.0


@airoas.model
class Slide(NamedTuple):
    """Actions are numbers; beyond 2 nothing is paid."""

    discount: float = 0.9
    max_steps: int = 20

    def action_space(self):
        return Push(airoas.Box(-1.0, 1.0))

    def initial(self, rng):
        return Push(rng.normal())

    def step(self, s, a, rng):
        return Push(s.by + a.by), math.nan if s.by > 2.0 else a.by

    def observe(self, s, a, rng):
        return Push(s.by + 0.1 * rng.normal())

    def obs_logpdf(self, o, s, a):
        return -50.0 * (o.by - s.by) * (o.by - s.by)


@pytest.mark.parametrize("pays", [math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("planner", [QMDP(), PBVI(), AIROAS(iterations=10)], ids=lambda planner: type(planner).__name__)
def test_finite_models_are_looked_at_state_by_state(planner: Any, pays: float) -> None:
    told = rf"Enumerated\.step .*reward {pays:g} for the action go in state Cell\(x=4\)".replace("+", r"\+")
    with pytest.raises(ModelError, match=told):
        planner.plan(Enumerated(pays), Particles([[0.0]]), stream(0))


@pytest.mark.parametrize("mode", airoas.compiler.specialise.MODES)
def test_bounds_and_policies_name_the_reward_in_every_mode(mode: str) -> None:
    with airoas.running(mode), pytest.raises(ModelError, match=TOLD):
        FittedQ(learn_seconds=0.0).plan(Corridor(), Particles([[0.0]]), stream(0))


@pytest.mark.parametrize("side", ["grid", "simulated", "rollout"])
def test_every_estimate_names_it(side: str) -> None:
    with pytest.raises(ModelError, match=TOLD):
        find_bounds(Corridor(), (side, 0.0) if side == "rollout" else (side, side))


def test_what_an_illegal_action_would_earn_counts_nowhere() -> None:
    model, rewards = Corridor(1.0, math.nan), np.zeros(2)
    decision = FittedQ(learn_seconds=0.0).plan(model, Particles([[0.0], [1.0]]), stream(0))
    assert decision.action in (0, 1) and math.isfinite(decision.value)
    rows, flags = np.array([[0.0], [1.0]]), np.ones(2, np.bool_)
    batch(model).earn(rows, flags, model.row("action", 2), 0, np.arange(2), rows.copy(), rewards, flags.copy())
    assert rewards[0] == 2.0 and math.isnan(rewards[1])


def test_continuous_actions_are_named_by_their_numbers() -> None:
    with pytest.raises(ModelError, match=r"Slide\.step .*reward nan for the action \(-?[\d.e-]+\) in state Push\(by=[\d.]+\)"):
        AIROAS(iterations=10, learn_seconds=0.0).plan(Slide(), Particles([[0.0]]), stream(0))


def test_the_last_of_several_models_is_named() -> None:
    rows, flags, numbers = np.array([[4.0]]), np.ones(1, np.bool_), np.zeros(1, np.int64)
    told = []
    for pays in (-math.inf, math.nan, 1e30, math.nan):
        model = Corridor(pays)
        with pytest.raises(RewardError) as caught:
            batch(model).earn(rows, flags, model.row("action", 1), 0, numbers, rows.copy(), np.zeros(1), flags.copy())
        told.append(str(caught.value))
        assert str(pickle.loads(pickle.dumps(caught.value))) == told[-1]
    assert [f"reward {pays}" in text for pays, text in zip(("-inf", "nan", "1e+30", "nan"), told, strict=True)] == [True] * 4


def test_filters_count_no_rewards() -> None:
    belief = Particles([[4.0], [3.0]])
    after = make_filter("bootstrap", Corridor()).update(Corridor(), belief, 1, Cell(5), stream(0)).belief
    assert set(np.array(after.states)[after.weights > 0.0, 0]) == {5.0}
