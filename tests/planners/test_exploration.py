"""Exploration that follows the returns seen: a planner that needs no secret about the size of rewards."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Particles, stream
from airoas.planners import POMCP, POMCPOW
from airoas.planners.storage import Block
from airoas.planners.visits.tree import add_action_node, backup_path, exploration, make_tree, pass_through, tree_layout


class Where(NamedTuple):
    x: int


@airoas.model
class Lane(NamedTuple):
    """Go left or right, or look; the prize is at +2 or at -2."""

    unit: float = 1.0
    offset: float = 0.0
    discount: float = 0.5

    def actions(self):
        return ("left", "right", "look")

    def initial(self, rng):
        return Where(rng.integer(3) - 1)

    def step(self, s, a, rng):
        x = s.x if a == 2 else s.x + 2 * a - 1 + rng.integer(2)
        return Where(max(-3, min(3, x))), self.unit * (1.0 if abs(x) == 2 else -0.25) + self.offset

    def observe(self, s, a, rng):
        return (s.x if rng.uniform() < 0.75 else 0,)

    def obs_logpdf(self, o, s, a):
        right = 1.0 if s.x == 0 else 0.75
        return math.log(right if o[0] == s.x else 1.0 - right) if o[0] in (s.x, 0) else -math.inf


BELIEF = Particles([[-1.0], [0.0], [1.0]])


@pytest.mark.parametrize("kind", [POMCP, POMCPOW])
def test_the_unit_of_rewards_changes_nothing(kind):
    """Powers of two, so that every number is the same but for its exponent."""
    small, large = (kind(iterations=300, max_depth=6).plan(Lane(unit=unit), BELIEF, stream(0)) for unit in (1.0, 1024.0))
    assert small.action == large.action
    assert small.value == large.value / 1024.0
    assert (small.stats.nodes, small.stats.depth) == (large.stats.nodes, large.stats.depth)


@pytest.mark.parametrize("kind", [POMCP, POMCPOW])
def test_a_constant_of_another_size_is_worse_than_none(kind):
    """With rewards of a million c = 1 explores next to nothing, and with rewards of a millionth it does nothing else."""
    tries = {}
    for unit in (1e-6, 1e6):
        for c in (None, 1.0):
            tree = kind(iterations=2000, max_depth=6, c=c).plan(Lane(unit=unit), BELIEF, stream(0)).tree
            visits = np.array([node.visits for node in tree.root.children])
            tries[unit, c] = visits.max() / visits.sum()
    assert tries[1e-6, None] == pytest.approx(tries[1e6, None], abs=0.05)
    assert tries[1e-6, 1.0] < tries[1e-6, None] < tries[1e6, 1.0]
    assert tries[1e-6, 1.0] == pytest.approx(1.0 / 3.0, abs=0.01)


def test_it_is_the_standard_deviation_of_the_returns():
    model = Lane()
    tree = make_tree(model, Block(tree_layout(model, 100_000, 5)))
    add_action_node(tree, 0)
    returns = np.random.default_rng(0).normal(5.0, 3.0, 50)
    for value in returns:
        pass_through(tree, 0, 0, 0, value)
        backup_path(tree, 1, 0.0, 0.5)
    assert exploration(tree, -1.0) == pytest.approx(returns.std())
    assert exploration(tree, -2.0) == pytest.approx(2.0 * returns.std())
    assert exploration(tree, 7.0) == 7.0
