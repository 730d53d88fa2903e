"""AR-DESPOT: its rules by an independent listing, blockers and regularisation by hand, brute force and exact values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from bounded_listings import assert_same, fully_expanded, listing, nodes
from models import coin, fork, random_table, tiger, tiger_value, walk

import airoas
from airoas import Particles, stream
from airoas.bounds import find_bounds, store
from airoas.planners import ARDESPOT

MODELS = {"tiger": tiger(more=1.0), "walk": walk(states=6), "random": random_table(5, 5, 3, 4), "coin": coin()}
SEARCHES = {  # a gap above 0: where bounds meet but for rounding, the order of additions would decide
    "default": ARDESPOT(iterations=1, scenarios=25, gap=1e-3),
    "regularised": ARDESPOT(iterations=1, scenarios=30, bounds=("fixed:a0", "mdp"), regularisation=0.3, max_depth=4, gap=1e-3),
    "free": ARDESPOT(iterations=1, scenarios=30, bounds=("fixed:a0", "qmdp"), regularisation=0.0, gap_ratio=0.5, gap=1e-3),
}


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", MODELS)
def test_tree_of_the_listing(name: str, search: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, planner = MODELS[name], SEARCHES[search]
    monkeypatch.setattr(store, "LEAST_SECONDS", 0.0)  # the search finds its bounds kept: to interpret how they are found takes long
    find_bounds(model, planner.bounds)
    most = 0
    for seed in range(3 if mode == "compiled" else 1):
        belief = Particles.sample(model, 50, stream(seed))
        for iterations in (1, 2, 5, 25) if mode == "compiled" else (3,):
            planner = replace(planner, iterations=iterations)
            with airoas.running(mode):
                decision = planner.plan(model, belief, stream(seed, "plan"))
            root = listing(planner, model, belief, stream(seed, "plan")).run(iterations)
            assert_same(decision.tree.root, root)
            assert len(decision.tree) == len(nodes(root))
            most = max(most, len(nodes(root)))
    if name in ("tiger", "random"):
        assert most > 15


def test_golden_tree() -> None:
    """Both states are worth 10 when seen; as the root sees them, 10 * (share 1/2) * (discount 1/2). The root may follow a blind
    plan worth 0; look costs lambda as every action node does."""
    for price in (0.0, 0.1):
        planner = ARDESPOT(iterations=10, scenarios=4, bounds=("blind", "mdp"), regularisation=price)
        decision = planner.plan(fork(), Particles([[0.0], [1.0]]), stream(0))
        sense, first, second = decision.tree.root.branches
        assert (decision.action, decision.stats.stop, decision.stats.trials, decision.stats.nodes) == (0, "gap", 0, 3)
        assert [decision.value, decision.lower, decision.upper, sense.lower, sense.upper] == pytest.approx([4.0 - price] * 5)
        assert sense.reward == -1.0
        assert [(child.probability, child.depth, child.observation.number) for child in sense.children] == [(0.5, 1, 0), (0.5, 1, 1)]
        assert [bound for child in sense.children for bound in (child.lower, child.upper)] == pytest.approx([2.5] * 4)
        for branch in (first, second):
            assert not branch.children
            assert [branch.lower, branch.upper, branch.reward] == pytest.approx([-price, -price, 0.0])


def test_regularisation_by_hand() -> None:
    """Coin, lower bound 0, upper bound 2, lambda 0.1. Before the root is expanded mu = 2 - 0.1. A leaf at depth d has l = l0 = 0
    and mu = 2 / 2^d - 0.1; action 1 there rho = 1 / 2^d - 0.1."""
    price = 0.1
    planner = ARDESPOT(iterations=1, scenarios=7, bounds=("fixed:a0", "mdp"), regularisation=price)
    tree = planner.plan(coin(), Particles([[0.0]]), stream(0)).tree
    rest, flip = tree.root.branches
    assert [rest.lower, rest.upper] == pytest.approx([-price, 1.0 - 2 * price])
    (node,) = flip.children
    # the trial expands depth 1: EU there is 0.9 - 0.95 (1.8 - 0.9) > 0 and nothing blocks it; then depth 2, if EU > 0
    depth, lower, upper = 1, [], []
    while not node.is_leaf:
        lower.append(node.lower)
        upper.append(node.upper)
        (node,) = node.branches[1].children
        depth += 1
    assert [node.lower, node.upper] == pytest.approx([0.0, max(0.0, 2.0 * 0.5**depth - price)])
    proved, hoped = node.lower, node.upper
    for d in range(depth - 1, 0, -1):
        proved, hoped = max(0.0, 0.5**d - price + proved), max(0.0, 0.5**d - price + hoped)
        assert [lower[d - 1], upper[d - 1]] == pytest.approx([proved, hoped])
    assert [tree.root.lower, tree.root.upper] == pytest.approx([1.0 - price + proved, 1.0 - price + hoped])


@pytest.mark.parametrize(("price", "shallowest"), [(2.5, 5), (2.0, 6), (1.6, 7)])
def test_blockers_by_hand(price: float, shallowest: int) -> None:
    """Coin of discount 0.9 has U = 10 and l0 = 0 at every node, so that a node at depth j blocks one at depth d where
    10 * 0.9^j <= lambda (d - j): first of all the one at depth 1, which has 9.
    lambda 2.5 blocks depth 5 (10.0) and not 4 (7.5), 2.0 depth 6 (10.0) and not 5 (8.0), 1.6 depth 7 (9.6) and not 6 (8.0)."""
    planner = ARDESPOT(iterations=50, scenarios=5, bounds=("fixed:a0", "mdp"), regularisation=price, gap=1e-3)
    model, belief = coin(0.9), Particles([[0.0]])
    decision = planner.plan(model, belief, stream(0))
    search = listing(planner, model, belief, stream(0))
    assert_same(decision.tree.root, search.run(50))
    assert {node["depth"] for node in search.pruned} == {shallowest}
    assert decision.stats.depth == shallowest
    assert all(node.is_leaf for node in decision.tree if node.depth == shallowest)  # what is blocked is not expanded
    assert [decision.lower, decision.upper] == pytest.approx([0.0, 0.0], abs=1e-9)  # no flip pays for its node


def test_policy_that_pays_for_its_nodes() -> None:
    """Coin of discount 1/2 with lambda 0.3: flip twice (1 - 0.3, 0.5 - 0.3), then follow the default policy."""
    planner = ARDESPOT(iterations=50, scenarios=5, bounds=("fixed:a0", "mdp"), regularisation=0.3, gap=1e-3)
    decision = planner.plan(coin(), Particles([[0.0]]), stream(0))
    assert decision.stats.stop == "gap"
    assert [decision.lower, decision.upper] == pytest.approx([0.9, 0.9])
    assert decision.action == 1


@pytest.mark.parametrize("name", ["tiger", "random"])
def test_pruned_tree_of_the_listing(name: str) -> None:
    model = MODELS["tiger"] if name == "tiger" else random_table(5, 5, 3, 4, 0.95)
    price = 5.0 if name == "tiger" else 1.0
    planner = ARDESPOT(iterations=40, scenarios=20, bounds=("fixed:a0", "mdp"), regularisation=price, gap=1e-3)
    pruned = 0
    for seed in range(3):
        belief = Particles.sample(model, 50, stream(seed))
        search = listing(planner, model, belief, stream(seed, "plan"))
        assert_same(planner.plan(model, belief, stream(seed, "plan")).tree.root, search.run(40))
        pruned += len(search.pruned)
    assert pruned > 5


@pytest.mark.parametrize(("left", "steps"), [(0.5, 3), (0.85, 2)])
def test_bounds_bracket_brute_force_on_the_same_scenarios(left: float, steps: int) -> None:
    """Tiger's bounds -20 (listen for ever) and 200 (open the right door for ever) hold on any tree, not just on average."""
    model, belief = tiger(), Particles([[0.0], [1.0]], [left, 1.0 - left])
    planner = ARDESPOT(iterations=1, bounds=("blind", "mdp"), scenarios=30, regularisation=0.0, max_depth=steps - 1)
    for seed in range(5):
        search = listing(planner, model, belief, stream(seed))
        brute = fully_expanded(search, search.root, steps, -20.0)
        bounds = []
        for iterations in (1, 2, 4, 8, 16, 64, 4000):
            decision = replace(planner, iterations=iterations).plan(model, belief, stream(seed))
            assert decision.lower - 1e-6 <= brute <= decision.upper + 1e-6
            bounds.append((decision.lower, decision.upper))
        lower, upper = np.array(bounds).T
        assert (np.diff(lower) >= -1e-9).all()
        assert (np.diff(upper) <= 1e-9).all()
        assert lower[0] < upper[0] - 1.0
        assert [lower[-1], upper[-1]] == pytest.approx([brute, brute], abs=1e-6)


def test_root_value_approaches_the_exact_one() -> None:
    """The best of many policies on the same scenarios is too good by chance, the less the more scenarios there are. Within four
    standard errors (Student's t with 39 degrees of freedom: 3 in 10,000 seeds) with 2000 of them."""
    model, belief = tiger(), Particles([[0.0], [1.0]])
    exact = tiger_value(0.5, 3, -20.0, model)
    means, spreads = [], []
    for scenarios in (25, 2000):
        planner = ARDESPOT(iterations=5000, bounds=("blind", "mdp"), scenarios=scenarios, regularisation=0.0, max_depth=2, gap=1e-6)
        decisions = [planner.plan(model, belief, stream(seed)) for seed in range(40)]
        assert {decision.stats.stop for decision in decisions} == {"gap"}
        values = np.array([decision.value for decision in decisions])
        means.append(values.mean())
        spreads.append(values.std(ddof=1))
    assert abs(means[1] - exact) < 4.0 * spreads[1] / math.sqrt(40)
    assert abs(means[1] - exact) < abs(means[0] - exact)
    assert spreads[1] < spreads[0] / 4.0  # sqrt(80) is expected


def test_scenarios_see_the_same_chance_whatever_is_tried() -> None:
    """Opening either door places the tiger anew by the same draw: the states after both are the same, scenario by scenario."""
    model, belief = tiger(), Particles([[0.0], [1.0]])
    columns = ARDESPOT(iterations=1, scenarios=40).plan(model, belief, stream(3)).tree.columns
    after = []
    for ba in (1, 2):
        states = {}
        for c in range(columns.first_child[ba], columns.first_child[ba] + columns.n_children[ba]):
            for row in range(columns.first_particle[c], columns.first_particle[c] + columns.n_particles[c]):
                states[int(columns.weights[row])] = columns.states[row, 0]
        after.append(states)
    assert after[0] == after[1]
    assert len(after[0]) == 40
    assert 5 < sum(after[0].values()) < 35


def test_unsound_bounds_are_noticed() -> None:
    from airoas.planners.bounded.session import UnsoundBoundsWarning

    with pytest.warns(UnsoundBoundsWarning, match="not sound"):
        decision = ARDESPOT(iterations=20, scenarios=10, bounds=(-5.0, 0.1)).plan(coin(), Particles([[0.0]]), stream(0))
    assert decision.stats.notes["unsound"] > 0.1
