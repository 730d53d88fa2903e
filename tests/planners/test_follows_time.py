"""Scenarios and particles that follow the time for a decision, so that every decision has a search."""

import math
from typing import NamedTuple

import pytest

import airoas
from airoas import Particles, stream
from airoas.compiler.clock import deadlines_in
from airoas.planners import ARDESPOT, AdaOPS


class Spot(NamedTuple):
    x: float


@airoas.model
class Slow(NamedTuple):
    """Walk to the middle; a step takes a tenth of a millisecond or so."""

    work: int = 10_000
    discount: float = 0.9

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return Spot(20.0 * rng.uniform() - 10.0)

    def step(self, s, a, rng):
        total = 0.0
        for k in range(self.work):
            total += math.sin(s.x + k)
        return Spot(s.x + 2.0 * a - 1.0 + 1e-12 * total), -abs(s.x)

    def observe(self, s, a, rng):
        return (1 if rng.uniform() < 0.5 + 0.04 * max(-10.0, min(10.0, s.x)) else 0,)

    def obs_logpdf(self, o, s, a):
        right = 0.5 + 0.04 * max(-10.0, min(10.0, s.x))
        return math.log(right if o[0] == 1 else 1.0 - right)

    def cell(self, s):
        return math.floor(s.x)


MODEL = Slow()
BELIEF = Particles.sample(MODEL, 1000, stream(0))
BOUNDS = (-1000.0, 0.0)


@pytest.mark.parametrize("kind", [ARDESPOT, AdaOPS])
def test_a_search_has_its_time(kind):
    planner = kind(seconds=0.1, bounds=BOUNDS)
    planner.prepare(MODEL)
    with deadlines_in("cpu"):
        decisions = [planner.plan(MODEL, BELIEF, stream(seed)) for seed in range(10)]
    for decision in decisions:
        assert 20 <= decision.stats.notes["particles"] < 200
        assert len(decision.tree.root.particles) == decision.stats.notes["particles"]
        assert decision.stats.trials > 0


def test_more_time_more_scenarios():
    with deadlines_in("cpu"):
        few, more = (ARDESPOT(seconds=seconds, bounds=BOUNDS).plan(MODEL, BELIEF, stream(0)) for seconds in (0.05, 0.5))
    assert few.stats.notes["particles"] < more.stats.notes["particles"]
    enough = ARDESPOT(seconds=0.5, bounds=BOUNDS).plan(Slow(work=10), BELIEF, stream(0))
    assert "particles" not in enough.stats.notes
    assert len(enough.tree.root.particles) == 500


def test_what_is_given_is_kept():
    decision = ARDESPOT(seconds=0.02, scenarios=300, bounds=BOUNDS).plan(MODEL, BELIEF, stream(0))
    assert len(decision.tree.root.particles) == 300
    assert decision.stats.trials == 0  # which is what the default is for
    decision = ARDESPOT(iterations=1, bounds=BOUNDS).plan(MODEL, BELIEF, stream(0))
    assert len(decision.tree.root.particles) == 500


def test_a_decision_repeats_by_its_scenarios_and_trials():
    with deadlines_in("cpu"):
        timed = ARDESPOT(seconds=0.1, bounds=BOUNDS).plan(MODEL, BELIEF, stream(3))
    again = ARDESPOT(iterations=timed.stats.trials, scenarios=timed.stats.notes["particles"], bounds=BOUNDS).plan(MODEL, BELIEF, stream(3))
    assert (again.action, again.value, again.stats.nodes) == (timed.action, timed.value, timed.stats.nodes)
