"""POMCPOW: its rules by an independent listing, its widening by counting, discrete observations as POMCP, continuous actions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from listings import assert_same, pomcpow
from scripted import Corridor, Point, Slide
from test_pomcp import horizon_value

import airoas
from airoas import Particles, stream
from airoas.domains import LightDark2DContinuous, Tiger
from airoas.errors import ModelError, OptionError
from airoas.planners import POMCPOW, Random
from airoas.planners.pomcpow import PAPER

CORRIDOR, SLIDE = Corridor(), Slide()
BELIEF = Particles.sample(CORRIDOR, 64, stream(0))
NEAR = Particles.sample(SLIDE, 64, stream(0))


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize(
    "given",
    [
        {"k": (4.0, 3.0), "alpha": (0.3, 0.4)},
        {"k": (1.0, 1.0), "alpha": (1.0, 1.0), "widen": False},
        {"k": (2.0, 1.0), "alpha": (0.2, 0.2), "check": False},
    ],
)
def test_tree_of_the_listing(mode: str, given: dict) -> None:
    planner = POMCPOW(
        iterations=400,
        max_depth=5,
        c=3.0,
        estimate="random",
        epsilon=0.0,
        **{f"{name}_{what}": given[name][i] for name in ("k", "alpha") for i, what in enumerate(("observation", "action"))},
        widen_actions=given.get("widen", True),
        check_repeat_observation=given.get("check", True),
    )
    with airoas.running(mode):
        decision = planner.plan(CORRIDOR, BELIEF, stream(5))
    assert_same(decision.tree.root, pomcpow(CORRIDOR, BELIEF, stream(5), 400, 5, 3.0, **given))


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_continuous_tree_of_the_listing(mode: str) -> None:
    options = {"iterations": 300, "max_depth": 6, "c": 3.0, "estimate": "random", "epsilon": 0.0}
    planner = POMCPOW(**options, k_observation=3.0, alpha_observation=0.2, k_action=2.0, alpha_action=0.3)
    with airoas.running(mode):
        decision = planner.plan(SLIDE, NEAR, stream(6))
    assert_same(decision.tree.root, pomcpow(SLIDE, NEAR, stream(6), 300, 6, 3.0, (3.0, 2.0), (0.2, 0.3)))
    assert decision.stats.depth > 2


def widths(k: float, alpha: float, visits: int) -> int:
    """Children after so many visits when each visit with at most k N^alpha of them brings one more."""
    count = 0
    for n in range(visits):
        count += count <= k * n**alpha
    return count


@pytest.mark.parametrize(("k", "alpha"), [(10.0, 0.5), (4.0, 0.03), (1.0, 0.0), (1.0, 1.0), (0.5, 0.9), (2.5, 0.25)])
def test_widening_counts_are_exact(k: float, alpha: float) -> None:
    """On a model where no action and no observation comes twice the numbers of children depend on visits alone."""
    for iterations in (1, 2, 17, 1000):
        planner = POMCPOW(
            iterations=iterations,
            max_depth=4,
            estimate="random",
            k_observation=k,
            alpha_observation=alpha,
            k_action=k,
            alpha_action=alpha,
        )
        root = planner.plan(SLIDE, NEAR, stream(iterations)).tree.root
        histories = [root]
        checked = 0
        while histories:
            node = histories.pop()
            assert len(node.children) == widths(k, alpha, node.visits)
            for child in node.children:
                assert len(child.children) == widths(k, alpha, child.visits)
                histories += child.children
                checked += 1
        assert root.visits == iterations
        assert checked >= 1


def test_without_widening_it_branches_as_pomcp() -> None:
    """Each action is followed by the observations that there are, and the values are those of the exact solution."""
    model, belief = Tiger(), Particles.exact(Tiger())
    options = {"max_depth": 3, "c": 110.0, "estimate": "random", "k_observation": 1.0, "alpha_observation": 1.0, "widen_actions": False}
    decisions = [POMCPOW(iterations=300_000, **options).plan(model, belief, stream(seed)) for seed in range(6)]
    listen = decisions[0].tree.root.children[0]
    assert {node.observation.side for node in listen.children} == {0, 1}
    assert len(listen.children) == 2
    for node in listen.children:
        assert [child.action for child in node.children] == [0, 1, 2]
        assert all(len(child.children) == 2 for child in node.children)
    values = np.array([decision.value for decision in decisions])
    exact = horizon_value(0.5, 3, model)
    noise = 5.0 * values.std(ddof=1) / math.sqrt(6)  # Student's t with 5 degrees of freedom: 1 in 250 seeds
    assert exact - 0.4 - noise < values.mean() < exact + noise


def test_depth_follows_the_discount() -> None:
    planner = POMCPOW(iterations=1)
    assert [planner.horizon(Tiger(discount=d)) for d in (0.9, 0.95, 0.5, 0.001)] == [44, 90, 7, 1]
    assert POMCPOW(iterations=1, max_depth=10).horizon(Tiger()) == 10
    assert POMCPOW(iterations=1, epsilon=0.0, max_depth=200).horizon(Tiger()) == 200


def test_states_are_kept_by_likelihood() -> None:
    """A history that follows the right sight is one in which the prize is where it was seen: its value rises."""
    planner = POMCPOW(
        iterations=30_000, max_depth=4, c=10.0, k_observation=4.0, alpha_observation=0.0, estimate="random", widen_actions=False
    )
    sure = planner.plan(Corridor(noise=0.01), Particles([[2.0, 0.0], [2.0, 1.0]]), stream(0))
    deaf = planner.plan(Corridor(noise=0.5), Particles([[2.0, 0.0], [2.0, 1.0]]), stream(0))
    assert sure.value > 0.5 > deaf.value


def drive(planner: POMCPOW, start: tuple[float, float], seed: int) -> float:
    """The return on light-dark-2d-continuous where the position is known at all times."""
    model = LightDark2DContinuous()
    state = model.from_row("state", np.array([*start, 0.0]))
    total, weight = 0.0, 1.0
    for t in range(20):
        action = planner.plan(model, Particles([list(state)]), stream(seed, "planner", t)).action
        state, reward = model.step(state, action, stream(seed, "world", t))
        total, weight = total + weight * reward, weight * model.discount
        if model.is_terminal(state):
            break
    return total


def test_steers_with_continuous_actions() -> None:
    """From 1.5 away a stride in the right direction, another of the right length and a stop earn 10 x 0.95^2 = 9; random
    actions lose 7."""
    planner = POMCPOW(iterations=3000, c=5.0, k_action=10.0, alpha_action=0.3, k_observation=2.0, alpha_observation=0.1)
    returns = [drive(planner, (1.5 * math.cos(seed), 1.5 * math.sin(seed)), seed) for seed in range(4)]
    assert min(returns) > 6.0


@pytest.mark.law
def test_far_above_random_on_light_dark_2d_continuous() -> None:
    """Twelve worlds, paired: a gain of at least 4, and of five standard errors (Student's t with 11 degrees of freedom: random
    play would pass for 1 in 4000 seeds)."""
    model = LightDark2DContinuous()
    planner = POMCPOW(iterations=2000, c=10.0, k_action=8.0, alpha_action=0.1, k_observation=4.0, alpha_observation=0.03, estimate="random")
    options = {"filter": "annealed", "particles": 300, "max_steps": 30}
    ours, random = (
        np.array([airoas.simulate(model, by, seed=seed, **options).discounted_return for seed in range(12)]) for by in (planner, Random())
    )
    gain = ours - random
    assert gain.mean() > 4.0
    assert gain.mean() > 5.0 * gain.std(ddof=1) / math.sqrt(12)


def test_budgets_memory_and_threads() -> None:
    options = {"c": 3.0, "max_depth": 6, "estimate": "random", "k_action": 3.0}
    timed = POMCPOW(seconds=0.05, **options).plan(SLIDE, NEAR, stream(0))
    assert timed.stats.stop == "deadline"
    again = POMCPOW(iterations=timed.stats.trials, **options).plan(SLIDE, NEAR, stream(0))
    assert (again.action, again.value) == (timed.action, timed.value)
    full = POMCPOW(iterations=1_000_000, memory=1_000_000, **options).plan(SLIDE, NEAR, stream(0)).stats
    assert full.stop == "memory"
    assert 900_000 < full.bytes <= 1_000_000
    planner = POMCPOW(iterations=501, threads=2, **options)
    decision, other = (planner.plan(SLIDE, NEAR, stream(1)) for _ in range(2))
    assert (decision.action, decision.value, str(decision.tree)) == (other.action, other.value, str(other.tree))
    assert decision.stats.notes["trials"] == [251, 250]
    assert decision.tree.root.visits == 501
    assert decision.action in [child.action for child in decision.tree.root.children]


def test_final_action_by_visits() -> None:
    decision = POMCPOW(iterations=500, c=3.0, max_depth=6, estimate="random", final_action="visits").plan(SLIDE, NEAR, stream(0))
    visits = [child.visits for child in decision.tree.root.children]
    chosen = [child for child in decision.tree.root.children if child.action == decision.action]
    assert chosen[-1].visits == max(visits)


def test_nothing_left_to_decide() -> None:
    decision = POMCPOW(iterations=10, estimate="random").plan(CORRIDOR, Particles([[-1.0, 0.0]]), stream(0))
    assert (decision.stats.stop, decision.value) == ("terminal", 0.0)
    model = LightDark2DContinuous()
    decision = POMCPOW(iterations=10).plan(model, Particles([[0.0, 0.0, 1.0]]), stream(0))
    assert decision.stats.stop == "terminal"
    assert len(decision.action) == 3


@airoas.model
class Blind(NamedTuple):
    """A likelihood that is no number."""

    discount: float = 0.9

    def sample_action(self, s, rng):
        return (rng.uniform(),)

    def initial(self, rng):
        return Point(0.0)

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return math.log(s.x - 1.0)


def test_faults_of_a_model_are_named() -> None:
    with pytest.raises(ModelError, match="nan or"):
        POMCPOW(iterations=10).plan(Blind(), Particles([[0.0]]), stream(0))
    with pytest.raises(OptionError, match="widen_actions"):
        POMCPOW(iterations=10, widen_actions=False).plan(SLIDE, NEAR, stream(0))


@pytest.mark.parametrize(
    "options",
    [{"k_observation": 0.0}, {"k_action": math.inf}, {"alpha_observation": 1.5}, {"alpha_action": -0.1}, {"epsilon": 1.0}, {"c": -1.0}],
)
def test_bad_options_are_refused(options: dict) -> None:
    with pytest.raises(OptionError):
        POMCPOW(iterations=10, **options)


def test_settings_of_the_paper() -> None:
    assert {POMCPOW(**options).c for options in PAPER.values()} == {10.0}
    assert POMCPOW(**PAPER["laser-tag"]).final_action == "visits"
    assert POMCPOW(**PAPER["rock-sample"]).alpha_observation == 1.0
