"""AdaOPS: its rules by an independent listing, KLD sizes, packing, trees by hand, brute force and exact values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from bounded_listings import assert_same, fully_expanded, listing, nodes
from models import Beacon, coin, fork, random_table, tiger, tiger_value, walk
from test_airoas import assert_packed

import airoas
from airoas import Particles, stream
from airoas.domains import Tiger
from airoas.planners import AdaOPS
from airoas.planners.adaops import kld_size

MODELS = {"tiger": tiger(more=1.0), "walk": walk(states=6), "random": random_table(5, 5, 3, 4), "coin": coin()}
SEARCHES = {
    "small delta": AdaOPS(iterations=1, min_particles=5, max_particles=40, max_depth=5),
    "large delta": AdaOPS(iterations=1, min_particles=8, max_particles=25, bounds=("blind", "qmdp"), delta=0.8, gap_ratio=0.5),
}


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", MODELS)
def test_tree_of_the_listing(name: str, search: str, mode: str) -> None:
    """Interpreted from bounds that are soon found: that those of "auto" are the same in both modes is tested in tests/bounds."""
    model, planner = MODELS[name], SEARCHES[search]
    if mode == "interpreted" and search == "small delta":
        planner = replace(planner, bounds=("blind", "fib"))
    most = 0
    for seed in range(3) if mode == "compiled" else (2,):
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


@pytest.mark.parametrize(
    ("least", "sizes"),
    [(10, (10, 16, 26, 46, 81, 104, 260)), (30, (30, 48, 76, 136, 242, 312, 780)), (100, (100, 159, 253, 452, 805, 1038, 2599))],
)
def test_kld_sizes(least: int, sizes: tuple[int, ...]) -> None:
    assert tuple(kld_size(cells, least, 10_000) for cells in (2, 3, 5, 10, 20, 27, 77)) == sizes
    assert kld_size(1, least, 10_000) == least
    assert kld_size(77, least, 200) == 200


def test_size_of_the_root_follows_its_spread() -> None:
    model = Beacon()
    planner = AdaOPS(iterations=1, min_particles=10)
    states = np.column_stack([np.linspace(0.5, 19.5, 20), np.zeros(20)])
    for cells in (1, 2, 5, 20):
        root = planner.plan(model, Particles(states[:cells]), stream(0)).tree.root
        assert len(root.particles) == kld_size(cells, 10, 1000)
    ended = np.column_stack([np.linspace(0.5, 19.5, 20), np.arange(20) > 4])
    assert len(planner.plan(model, Particles(ended), stream(0)).tree.root.particles) == kld_size(5, 10, 1000)


def test_says_whether_there_is_a_grid() -> None:
    with_grid = AdaOPS(iterations=1).plan(tiger(), Particles([[0.0], [1.0]]), stream(0))
    assert with_grid.stats.notes["grid"] == "cell"
    decision = AdaOPS(iterations=30, min_particles=12).plan(Tiger(), Particles.exact(Tiger()), stream(0))
    assert "no `cell`" in decision.stats.notes["grid"]
    assert {len(node.particles) for node in decision.tree if not node.is_leaf} <= set(range(1, 13))
    assert len(decision.tree.root.particles) == 12


@pytest.mark.parametrize("delta", [0.0, 0.1, 1.0])
def test_packing(delta: float) -> None:
    model = Beacon()
    planner = AdaOPS(iterations=10, min_particles=20, max_particles=100, delta=delta)
    tree = planner.plan(model, Particles.sample(model, 500, stream(0)), stream(1)).tree
    branches = [branch for node in tree for branch in node.branches]
    assert all(branch.children for branch in branches if branch.name != "stop")
    for branch in branches:
        if branch.name == "stop":
            assert not branch.children  # the episode is over
        else:
            assert_packed(tree, branch, delta)


def test_golden_tree() -> None:
    """All three actions are branched at once, which settles it: both states are worth 10 when seen, look -1 + 10/2, take 0."""
    planner = AdaOPS(iterations=10, min_particles=4, bounds=("blind", "mdp"))
    decision = planner.plan(fork(), Particles([[0.0], [1.0]]), stream(0))
    assert (decision.action, decision.stats.stop, decision.stats.trials, decision.stats.nodes) == (0, "gap", 0, 3)
    sense, first, second = decision.tree.root.branches
    assert [decision.value, decision.lower, decision.upper, sense.lower, sense.upper, sense.reward] == pytest.approx([4, 4, 4, 4, 4, -1])
    assert [(child.probability, child.depth, child.observation.number) for child in sense.children] == [(0.5, 1, 0), (0.5, 1, 1)]
    for branch in (first, second):
        assert not branch.children
        assert [branch.lower, branch.upper, branch.reward] == pytest.approx([0.0] * 3, abs=1e-9)


def test_golden_trial() -> None:
    """Coin with lower bound 0 and upper bound 2. An expanded node has 1 .. 2, so that the root's gap is 1 / 2^d when depth d has been
    expanded, of which 0.95 is allowed there: the trial goes on to the limit, 4. There the leaf is given up at 0, the node above
    has 1 either way (flip, then nothing; or rest, then the 2 of a leaf that nobody looked at), and the root 1 + 1/2 + 1/4 + 1/8."""
    decision = AdaOPS(iterations=9, min_particles=3, bounds=("fixed:a0", "mdp"), max_depth=4).plan(coin(), Particles([[0.0]]), stream(0))
    assert (decision.stats.trials, decision.stats.stop, decision.stats.depth) == (1, "gap", 4)
    assert decision.stats.notes["expansions"] == 8  # two actions at each of four nodes
    assert [decision.lower, decision.upper] == pytest.approx([1.875, 1.875])
    node = decision.tree.root
    for depth in range(4):
        assert [node.lower, node.upper] == pytest.approx([2.0 - 0.5 ** (3 - depth)] * 2)
        rest, flip = node.branches
        assert [rest.reward, rest.upper, flip.reward] == pytest.approx([0.0, 1.0, 1.0])
        (node,) = flip.children
    assert node.lower == node.upper == pytest.approx(0.0)


@pytest.mark.parametrize(("left", "steps"), [(0.5, 3), (0.85, 2)])
def test_bounds_bracket_brute_force_on_the_same_particles(left: float, steps: int) -> None:
    """Tiger's bounds -20 (listen for ever) and 200 (open the right door for ever) hold on any tree, not just on average."""
    model, belief = tiger(), Particles([[0.0], [1.0]], [left, 1.0 - left])
    planner = AdaOPS(iterations=1, bounds=("blind", "mdp"), min_particles=20, max_depth=steps, gap=0.0)
    for seed in range(5):
        search = listing(planner, model, belief, stream(seed))
        brute = fully_expanded(search, search.root, steps, -20.0)
        bounds = []
        for iterations in (1, 2, 4, 8, 16, 64, 4000):
            decision = replace(planner, iterations=iterations).plan(model, belief, stream(seed))
            assert decision.lower - 1e-6 <= brute <= decision.upper + 1e-6
            bounds.append((decision.lower, decision.upper))
        lower, upper = np.array(bounds).T
        assert (np.diff(lower) >= 0.0).all()
        assert (np.diff(upper) <= 0.0).all()
        assert lower[0] < upper[0] - 1.0
        assert [lower[-1], upper[-1]] == pytest.approx([brute, brute], abs=1e-6)


def test_root_value_approaches_the_exact_one() -> None:
    """Within four standard errors (Student's t with 39 degrees of freedom: 3 in 10,000 seeds), and closer with more particles."""
    model, belief = tiger(), Particles([[0.0], [1.0]])
    exact = tiger_value(0.5, 3, -20.0, model)
    spreads = []
    for particles in (50, 1000):
        planner = AdaOPS(iterations=5000, bounds=("blind", "mdp"), min_particles=particles, max_depth=3, gap=1e-6, delta=0.0)
        decisions = [planner.plan(model, belief, stream(seed)) for seed in range(40)]
        assert {decision.stats.stop for decision in decisions} == {"gap"}
        values = np.array([decision.value for decision in decisions])
        assert abs(values.mean() - exact) < 4.0 * values.std(ddof=1) / math.sqrt(40)
        spreads.append(values.std(ddof=1))
    assert spreads[1] < spreads[0] / 2.5  # sqrt(20) is expected; the ratio of two such spreads strays by 16 %


def test_no_time_at_all_answers_by_the_bounds() -> None:
    belief = Particles([[0.0], [1.0]], [0.02, 0.98])
    decision = AdaOPS(seconds=1e-9).plan(tiger(), belief, stream(0))
    assert decision.stats.stop == "deadline"
    assert (decision.stats.nodes, decision.stats.trials) == (1, 0)
    assert math.isfinite(decision.value)
    assert decision.lower <= decision.upper < math.inf
