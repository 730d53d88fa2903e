"""A continuous model of five components that offers nothing: searched out of the box, in time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

import airoas
from airoas import Particles, stream
from airoas.compiler.clock import deadlines_in
from airoas.planners import AIROAS, ARDESPOT, AdaOPS


class Flight(NamedTuple):
    x: float
    y: float
    bx: float
    by: float
    landed: int


@airoas.model
class Rescue(NamedTuple):
    """Fly over a square field by steps of 2 in wind, hear how far the beacon is, and land within 1.5 of it: 50, elsewhere -50."""

    size: float = 12.0
    discount: float = 0.97

    def actions(self):
        return ("east", "north", "west", "south", "land")

    def initial(self, rng):
        return Flight(0.0, 0.0, self.size * rng.uniform(), self.size * rng.uniform(), 0)

    def distance(self, s):
        return math.sqrt((s.x - s.bx) * (s.x - s.bx) + (s.y - s.by) * (s.y - s.by))

    def step(self, s, a, rng):
        if s.landed:
            return s, 0.0
        if a == 4:
            return Flight(s.x, s.y, s.bx, s.by, 1), 50.0 if self.distance(s) < 1.5 else -50.0
        x = s.x + (2.0 if a == 0 else -2.0 if a == 2 else 0.0) + 0.15 * rng.normal()
        y = s.y + (2.0 if a == 1 else -2.0 if a == 3 else 0.0) + 0.15 * rng.normal()
        return Flight(min(max(x, 0.0), self.size), min(max(y, 0.0), self.size), s.bx, s.by, 0), -1.0

    def observe(self, s, a, rng):
        return (self.distance(s) + 0.5 * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        z = 2.0 * (o[0] - self.distance(s))
        return -0.5 * z * z - math.log(0.5 * math.sqrt(2.0 * math.pi))

    def is_terminal(self, s):
        return s.landed > 0


MODEL = Rescue()
BELIEF = Particles.sample(MODEL, 1000, stream(0))
KINDS: dict[str, Any] = {"airoas": AIROAS, "adaops": AdaOPS, "ardespot": ARDESPOT}


@pytest.mark.parametrize("name", KINDS)
def test_it_is_searched(name: str) -> None:
    """No plan of the bounds pays before the beacon is found, and an upper value is at most what landing pays."""
    decision = KINDS[name](iterations=25).plan(MODEL, BELIEF, stream(1))
    assert decision.stats.trials == 25
    assert (decision.stats.notes["bounds"], decision.stats.notes["sound"]) == ("simulated plans, simulated mdp", False)
    assert -50.0 < decision.lower < decision.upper < 50.0
    near = Particles([[6.0, 6.0, 6.5, 6.2, 0.0], [6.0, 6.0, 5.8, 6.1, 0.0]])
    assert KINDS[name](iterations=25).plan(MODEL, near, stream(1)).action == 4


@pytest.mark.parametrize("name", KINDS)
def test_the_deadline_is_kept_and_leaves_time_to_search(name: str) -> None:
    """In CPU time: a busy machine stops the process for milliseconds at most decisions."""
    planner = KINDS[name](seconds=0.1, **({"policy": "none"} if name == "airoas" else {}))  # a policy takes three quarters of the time
    planner.prepare(MODEL)
    with deadlines_in("cpu"):
        decisions = [planner.plan(MODEL, BELIEF, stream(seed)) for seed in range(10)]
    assert {decision.stats.stop for decision in decisions} == {"deadline"}
    assert sorted(decision.stats.overshoot for decision in decisions)[4] < 0.002
    assert sorted(decision.stats.trials for decision in decisions)[5] > 20


def test_the_deadline_is_kept_with_rollouts() -> None:
    planner = AIROAS(seconds=0.1, policy="always", learn_seconds=0.0)
    planner.prepare(MODEL)
    with deadlines_in("cpu"):
        decisions = [planner.plan(MODEL, BELIEF, stream(seed)) for seed in range(10)]
    assert sorted(decision.stats.overshoot for decision in decisions)[4] < 0.002
    assert all(decision.stats.notes["rollouts"] > 0 and decision.stats.trials > 0 for decision in decisions)


def test_interpreted_it_ends_in_time() -> None:
    """Bounds are learned from compiled runs, and a look-up is cheap in plain Python too. Ten times the time is allowed."""
    with airoas.running("interpreted"):
        planner = AIROAS(seconds=0.1, particles=30)
        planner.prepare(MODEL)
        decision = planner.plan(MODEL, BELIEF, stream(2))
    assert decision.stats.stop == "deadline"
    assert decision.stats.seconds < 1.0
