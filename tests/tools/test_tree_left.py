"""How much of a tree is below what was done and seen."""

import pytest

from airoas import Particles, stream
from airoas.domains import Tiger
from airoas.planners import AIROAS, POMCP
from tools.tree_left import left

LISTEN = 0


def branched(node) -> int:
    """Beliefs that were looked into, from this one on."""
    return (not node.is_leaf) + sum(branched(child) for branch in node.branches for child in branch.children)


def test_of_beliefs() -> None:
    model = Tiger()
    root = (tree := AIROAS(iterations=60).plan(model, Particles.exact(model), stream(0)).tree).root
    [listen] = [branch for branch in root.branches if branch.action == LISTEN]
    fractions = {child.observation: branched(child) / branched(root) for child in listen.children}
    assert len(fractions) == 2
    for observation, fraction in fractions.items():
        assert left(model, tree, LISTEN, observation) == (pytest.approx(fraction), pytest.approx(max(fractions.values())))


def test_of_simulations() -> None:
    model = Tiger()
    tree = POMCP(iterations=500).plan(model, Particles.exact(model), stream(0)).tree
    both = [left(model, tree, LISTEN, (side,))[0] for side in (0, 1)]
    [listen] = [branch for branch in tree.root.children if branch.action == LISTEN]
    assert 0.0 < sum(both) <= listen.visits / tree.root.visits
    assert left(model, tree, LISTEN, (2,)) == (0.0, max(both))
