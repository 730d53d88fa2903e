"""Continuous and hybrid actions in the bounded tree, and Voronoi widening in POMCPOW."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Box, Choice, OptionError, Particles
from airoas.bounds import find_bounds
from airoas.planners import AIROAS, ARDESPOT, POMCPOW, AdaOPS
from airoas.planners.bounded.cells import candidate_rows
from airoas.planners.spaces import distance, draw_anywhere, draw_near, make_space

BEST = 0.37


class Position(NamedTuple):
    x: float


class Aim(NamedTuple):
    kind: int
    angle: float


@airoas.model
class Target(NamedTuple):
    """One step pays most at an angle of 0.37, for the second kind only; the state says nothing and is always seen."""

    discount: float = 0.5
    max_steps: int = 3

    def action_space(self):
        return Aim(kind=Choice("bad", "good"), angle=Box(0.0, 1.0))

    def initial(self, rng):
        return Position(rng.uniform())

    def step(self, s, a, rng):
        gap = a.angle - BEST
        return Position(rng.uniform()), (10.0 if a.kind == 1 else 0.0) - 100.0 * gap * gap

    def observe(self, s, a, rng):
        return Position(math.floor(4.0 * s.x))

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.x == math.floor(4.0 * s.x) else -math.inf

    def heuristic(self, s):
        return 20.0 + s.x


PLANNERS = [AIROAS(iterations=150, max_depth=3), AdaOPS(iterations=80, max_depth=3)]


def decide(planner, seed=0):
    model = Target()
    return planner.plan(model, Particles.sample(model, 200, airoas.stream(seed)), airoas.stream(seed, "plan"))


@pytest.mark.parametrize("planner", PLANNERS, ids=lambda planner: type(planner).__name__)
def test_the_best_action_is_approached_between_those_that_a_node_begins_with(planner):
    first = min(abs(row[1] - BEST) for row in candidate_rows(Target()) if row[0] == 1.0)
    gaps = [abs(decide(planner, seed).action.angle - BEST) for seed in range(4)]
    assert all(decide(planner, seed).action.kind == 1 for seed in range(4))
    assert max(gaps) < first  # 0.037
    assert float(np.median(gaps)) < 0.4 * first


@pytest.mark.parametrize("planner", PLANNERS, ids=lambda planner: type(planner).__name__)
def test_a_decision_repeats(planner):
    assert decide(planner).action == decide(planner).action


def test_interpreted_and_compiled_agree():
    planner = AIROAS(iterations=12, max_depth=3, particles=10)
    compiled = decide(planner)
    with airoas.running("interpreted"):
        interpreted = decide(planner)
    assert compiled.action == interpreted.action and compiled.value == interpreted.value and len(compiled.tree) == len(interpreted.tree)


def test_the_tree_shows_actions_by_their_numbers():
    decision = decide(PLANNERS[0])
    root = decision.tree.root
    assert len(root.branches) > len(candidate_rows(Target()))
    assert root.branches[0].name.startswith("kind ") and f"angle {decision.action.angle:.4g}" in str(decision)
    for branch in root.branches:
        assert Target().space.problem(Target().shapes.action.to_row(branch.action)) is None
    assert root.lower == pytest.approx(max(branch.lower for branch in root.branches))


def test_a_deadline_is_kept_and_the_trial_that_it_cuts_is_undone():
    decision = decide(AIROAS(seconds=0.02, max_depth=5))
    assert decision.stats.stop == "deadline"
    root = decision.tree.root
    assert root.upper == pytest.approx(max(branch.upper for branch in root.branches))
    for node in decision.tree:
        for branch in node.branches:
            if branch.children:
                expected = branch.reward + 0.5 * sum(child.probability * child.lower for child in branch.children)
                assert branch.lower == pytest.approx(expected, abs=1e-6)


class Ground(NamedTuple):
    is_weak: bool
    is_over: bool


class Load(NamedTuple):
    by: float


@airoas.model
class Ledge(NamedTuple):
    """More than half a load is worth more, but for one ground in fifty, which nothing shows."""

    discount: float = 0.5
    max_steps: int = 1

    def action_space(self):
        return Load(Box(0.0, 1.0))

    def initial(self, rng):
        return Ground(rng.uniform() < 0.02, False)

    def step(self, s, a, rng):
        return Ground(s.is_weak, True), a.by - (200.0 if s.is_weak and a.by > 0.5 else 0.0)

    def observe(self, s, a, rng):
        return (0.0,)

    def obs_logpdf(self, o, s, a):
        return 0.0

    def is_terminal(self, s):
        return s.is_over

    def heuristic(self, s):
        return 0.0


@pytest.mark.parametrize("planner", [AIROAS(iterations=100), AdaOPS(iterations=100, max_particles=50)], ids=["AIROAS", "AdaOPS"])
def test_a_danger_that_few_particles_do_not_show_is_avoided(planner):
    model = Ledge()
    belief = Particles.sample(model, 10_000, airoas.stream(0))
    loads = [planner.plan(model, belief, airoas.stream(seed)).action.by for seed in range(12)]
    assert min(loads) > 0.3 and max(loads) <= 0.5


def test_what_cannot_be_planned_for_says_why():
    @airoas.model
    class Unlimited(NamedTuple):
        discount: float = 0.5

        def sample_action(self, s, rng):
            return (rng.normal(),)

        def initial(self, rng):
            return Position(0.0)

        def step(self, s, a, rng):
            return s, -abs(a[0])

        def observe(self, s, a, rng):
            return Position(0.0)

        def obs_logpdf(self, o, s, a):
            return 0.0

    belief = Particles.sample(Unlimited(), 10, airoas.stream(0))
    with pytest.raises(OptionError, match="finite set of actions"):
        ARDESPOT(iterations=1).plan(Target(), belief, airoas.stream(0))
    for planner in (AIROAS(iterations=1), AdaOPS(iterations=1)):
        with pytest.raises(OptionError, match="action_space"):
            planner.plan(Unlimited(), belief, airoas.stream(0))
    with pytest.raises(OptionError, match="action_space"):
        find_bounds(Unlimited())
    with pytest.raises(OptionError, match="action_space"):
        POMCPOW(iterations=1, widening="voronoi").plan(Unlimited(), belief, airoas.stream(0))


def test_draws_stay_in_the_space_and_distances_wrap():
    @airoas.model
    class Round(NamedTuple):
        discount: float = 0.5

        def action_space(self):
            return (Box(0.0, 2.0, wraps=True), Box(-1.0, 1.0), Choice("a", "b", "c"))

    space, rng = make_space(Round()), airoas.stream(3)
    actions = np.array([[0.05, 0.9, 1.0], [1.95, 0.9, 1.0], [1.0, 0.9, 2.0]])
    rows = []
    for _ in range(300):
        draw_near(space, actions, 0, 0.1, rng)
        rows.append(space.row[0].copy())
        assert Round().space.problem(space.row[0]) is None
    assert max(row[0] for row in rows) > 1.8  # around the end
    assert 0.6 < np.mean([row[2] == 1.0 for row in rows]) < 1.0
    for _ in range(100):
        draw_anywhere(space, rng)
        assert Round().space.problem(space.row[0]) is None
    space.row[0] = actions[0]
    assert distance(space, actions, 0) == 0.0
    assert distance(space, actions, 1) == pytest.approx(0.05 * 0.05)
    assert distance(space, actions, 2) == pytest.approx(0.475 * 0.475 + 1.0)


def test_voronoi_widening_finds_a_better_action_than_random_widening():
    options = {"iterations": 400, "c": 1.0, "max_depth": 1, "k_action": 4.0, "alpha_action": 0.4, "estimate": "value"}
    random, voronoi = (
        [abs(decide(POMCPOW(**options, widening=widening), seed).action.angle - BEST) for seed in range(12)]
        for widening in ("random", "voronoi")
    )
    assert np.mean(voronoi) < 0.7 * np.mean(random)


def test_options_of_voronoi_widening_are_checked():
    for wrong in ({"widening": "circle"}, {"random_actions": 1.5}, {"cell_width": 0.0}):
        with pytest.raises(OptionError):
            POMCPOW(iterations=1, **wrong)
