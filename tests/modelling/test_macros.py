"""Macro-actions: what a model may offer, how they are followed, and that they find a lamp far away."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Box, ModelError, Particles, stream
from airoas.modelling.discretised import action_rows
from airoas.modelling.macros import own_macros
from airoas.planners import AIROAS
from airoas.policies.belief_mdp import roll_out
from airoas.policies.qmdp import make_policy
from airoas.policies.runs import FORCED, make_runs

LAMP = 8
EAST, WEST, STOP = range(3)


class Position(NamedTuple):
    x: int
    stopped: bool


class Reading(NamedTuple):
    x: int


@airoas.model
class Corridor(NamedTuple):
    """Stop at 0, after a look from under the lamp, eight steps to the east: nothing is seen anywhere else."""

    offered: int = 0
    discount: float = 0.98
    max_steps: int = 40

    def actions(self):
        return ("east", "west", "stop")

    def initial(self, rng):
        return Position(rng.integer(7) - 3, False)

    def step(self, s, a, rng):
        if a == STOP:
            return Position(s.x, True), 10.0 if s.x == 0 else -10.0
        return Position(min(s.x + 1, 12) if a == EAST else max(s.x - 1, -12), False), 0.0

    def observe(self, s, a, rng):
        return Reading(s.x if s.x >= LAMP else -99)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.x == (s.x if s.x >= LAMP else -99) else -math.inf

    def is_terminal(self, s):
        return s.stopped


@airoas.model
class Offering(NamedTuple):
    """A corridor with macro-actions of its own."""

    offered: int = 0
    discount: float = 0.98
    max_steps: int = 40

    actions, initial, step, observe = Corridor.actions, Corridor.initial, Corridor.step, Corridor.observe
    obs_logpdf, is_terminal = Corridor.obs_logpdf, Corridor.is_terminal

    def macros(self):
        return (((EAST,) * 16, (WEST, WEST, STOP)), ((0,) * 17,), ((5,),), (3,), ((WEST,),))[self.offered]


class Push(NamedTuple):
    force: float


@airoas.model
class Track(NamedTuple):
    discount: float = 0.9
    max_steps: int = 5

    def action_space(self):
        return Push(Box(-1.0, 1.0))

    def macros(self):
        return ((Push(0.123), Push(0.5)), (Push(-1.0),))

    def initial(self, rng):
        return Reading(0)

    def step(self, s, a, rng):
        return s, a.force

    def observe(self, s, a, rng):
        return Reading(0)

    def obs_logpdf(self, o, s, a):
        return 0.0


def test_a_model_offers_sequences_of_actions() -> None:
    assert own_macros(Corridor()) == []
    assert [macro[:, 0].tolist() for macro in own_macros(Offering())] == [[0.0] * 16, [1.0, 1.0, 2.0]]


def test_what_they_begin_with_is_among_the_actions_that_stand_for_a_space() -> None:
    rows = action_rows(Track())[:, 0].tolist()
    assert {0.123, -1.0} < set(rows) and 0.5 not in rows and len(rows) == len(set(rows)) == 26


@pytest.mark.parametrize(
    ("offered", "said"),
    [(1, "a sequence of 17 actions.*no more than 16"), (2, "no action: there is no action 5"), (3, r"returns \(3,\)")],
)
def test_what_is_none_is_refused(offered: int, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        own_macros(Offering(offered))


def test_runs_follow_what_they_are_given_until_something_is_seen() -> None:
    """Told to go east for 16 steps, a run stops where an observation tells one of two places at least: under the lamp, from where it
    is as far home as the lamp is, or a step before it for who begins farthest to the west, and now knows that from seeing nothing. Where
    by its particles that was likely it tells less, and the run goes on to the wall."""
    model = Corridor()
    policy, belief = make_policy(model), Particles.sample(model, 700, stream(0))
    runs = make_runs(model, policy, 40, 200)
    runs.kind[:], runs.steps[:] = FORCED, 16
    roll_out(policy, runs, belief.states, belief.weights, np.zeros(len(belief), np.int64), 40, 3)
    steps = set(np.round(np.log(runs.returns / 10.0) / math.log(0.98)).tolist())
    assert {2.0 * LAMP - x for x in range(4)} <= steps <= {2.0 * LAMP - x for x in range(-2, 4)} | {16.0 + 12.0}


def test_the_long_way_to_the_lamp_is_found() -> None:
    """QMDP never looks; where a way to the lamp is offered, or found by repeating an action, rollouts show that it pays."""
    planner = AIROAS(iterations=3, policy="always", learn_seconds=0.0)
    decisions = [planner.plan(model, Particles.sample(model, 700, stream(0)), stream(1)) for model in (Corridor(), Offering(), Offering(4))]
    assert decisions[0].action == decisions[1].action == EAST
    assert min(decisions[0].value, decisions[1].value) > 6.0 > decisions[2].value


def test_they_can_be_turned_off() -> None:
    """Then it does not matter what a model offers, and nothing is promised that only the way to the lamp earns."""
    planner = AIROAS(iterations=3, policy="always", learn_seconds=0.0, macros=False)
    decisions = [planner.plan(model, Particles.sample(model, 700, stream(0)), stream(1)) for model in (Corridor(), Offering())]
    assert len({(decision.action, decision.value, decision.stats.notes["rollouts"]) for decision in decisions}) == 1
    assert decisions[0].value < 6.0
