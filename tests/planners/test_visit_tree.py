"""The visit-count tree: its lookup, its lists, its selection rule, how it draws states from a belief, and how it looks."""

from __future__ import annotations

import math
import re
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import event
from scripted import Chain, Cliff, Corridor, Reading, Slide

import airoas
from airoas.compiler.kernels import Kernel, kernel
from airoas.planners import POMCP, POMCPOW, pomcp, pomcpow
from airoas.planners.storage import Block
from airoas.planners.visits import answer, lists, lookup, root, search, tree, widening
from airoas.planners.visits.answer import choose_final
from airoas.planners.visits.lists import append, clear_list, lists_layout, make_lists, row_above, row_of
from airoas.planners.visits.lookup import NONE, enter, lookup_layout, make_lookup
from airoas.planners.visits.root import draw_root, make_root
from airoas.planners.visits.tree import (
    ROOT,
    add_action_node,
    add_child,
    backup_path,
    choose_by_ucb,
    find_child,
    make_tree,
    pass_through,
    tree_layout,
)


def grown(actions: int = 0):
    """A tree whose root has this many actions, and the block that it is in."""
    model = Corridor()
    block = Block(tree_layout(model, 1_000_000, 20))
    tree = make_tree(model, block)
    for a in range(actions):
        tree.actions[tree.n_action_nodes, 0] = a
        add_action_node(tree, ROOT)
    return tree, block


@kernel
def insert(tree, actions, rows, nodes):
    for i in range(len(actions)):
        for k in range(rows.shape[1]):
            tree.observations[tree.n_histories, k] = rows[i, k]
        result = find_child(tree, actions[i])
        nodes[i] = add_child(tree, 1) if result == NONE else result


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_lookup_is_a_dictionary(mode: str) -> None:
    rng = np.random.default_rng(0)
    count = 4000 if mode == "compiled" else 800
    actions = rng.integers(0, 5, count)
    rows = np.column_stack([rng.integers(-2, 3, count), rng.choice([0.0, -0.0, 0.5, 1e-300, *rng.normal(size=200)], count)]).astype(float)
    tree, _block = grown(5)
    nodes = np.empty(count, np.int64)
    with airoas.running(mode):
        insert(tree, actions, rows, nodes)
    known: dict[tuple, int] = {}
    for a, (p, edge), node in zip(actions, rows, nodes, strict=True):
        assert node == known.setdefault((a, p, edge), len(known) + 1)
    assert tree.n_histories == len(known) + 1
    assert len(known) > count / 4
    lookup = tree.lookup
    assert lookup.n_entries == len(known)
    assert lookup.size >= 2 * len(known)  # grown several times, and never more than half full
    assert lookup.start > 0


@kernel
def enter_hashes(lookup, hashes):
    for node in range(len(hashes)):
        enter(lookup, hashes[node], node)


def test_growth_is_never_late() -> None:
    """With every number of entries the present table and, until it is moved, the one before it hold each of them once."""
    hashes = np.random.default_rng(0).integers(0, 1 << 31, 40_000)
    for count in (1, 511, 512, 513, 514, 700, 1024, 1025, 1100, 5000, 32_768, 32_769, 40_000):
        block = Block(lookup_layout(40_000))
        block.arrays["slots"].history[:] = block.arrays["slots"].hash[:] = 7  # what an earlier search left
        lookup = make_lookup(block.arrays["slots"])
        enter_hashes(lookup, hashes[:count])
        held = lookup.slots.history
        present = held[lookup.start : lookup.start + lookup.size]
        moved = lookup.n_moved >= lookup.old_size
        before = held[lookup.old_start : lookup.old_start + (0 if moved else lookup.old_size)]
        result = present[present != NONE]
        assert len(result) == len(set(result))
        assert set(result) | set(before[before != NONE]) == set(range(count))
        assert lookup.n_emptied <= 2 * lookup.size


def test_lists_are_lists() -> None:
    rng = np.random.default_rng(1)
    block = Block(lists_layout("some", 7, 6000))
    lists = make_lists("some", block)
    for which in range(7):
        clear_list(lists, which)
    items, cumulative = np.empty(6000), np.empty(6000)
    mirror: list[list[float]] = [[] for _ in range(7)]
    for _ in range(2000):
        which = int(rng.integers(7) * rng.uniform())
        row = append(lists, which)
        value = float(rng.uniform())
        items[row] = value
        cumulative[row] = sum(mirror[which]) + value
        mirror[which].append(value)
    assert lists.n_rows <= 2 * 2000
    for which, values in enumerate(mirror):
        assert [items[row_of(lists, which, i)] for i in range(len(values))] == values
        total = np.cumsum(values)
        for target in rng.uniform(0.0, total[-1], 50) if values else ():
            assert row_above(lists, which, cumulative, target) == row_of(lists, which, int(np.searchsorted(total, target, "right")))
        if values:
            assert row_above(lists, which, cumulative, math.inf) == row_of(lists, which, len(values) - 1)


def with_actions(visits: list[int], values: list[float]):
    tree, block = grown(len(visits))
    for node, n, value in zip(tree.action_nodes, visits, values, strict=False):
        node.visits, node.value, node.bonus = n, value, n**-0.5 if n else 0.0
    tree.histories[ROOT].visits = sum(visits)
    return tree, block


def test_ucb_takes_the_largest_score() -> None:
    tree, _block = with_actions([10, 2, 5], [1.0, 0.0, 0.9])
    scores = [v + 2.0 * math.sqrt(math.log(17) / n) for n, v in ((10, 1.0), (2, 0.0), (5, 0.9))]
    assert choose_by_ucb(tree, ROOT, 2.0, math.inf, airoas.stream(0)) == np.argmax(scores)
    assert choose_by_ucb(tree, ROOT, 0.0, math.inf, airoas.stream(0)) == 0


def test_ucb_breaks_ties_uniformly() -> None:
    tree, _block = with_actions([0, 3, 0, 0], [0.0, 9.0, 0.0, 0.0])
    rng = airoas.stream(0)
    drawn = np.bincount([choose_by_ucb(tree, ROOT, 1.0, math.inf, rng) for _ in range(9000)], minlength=4)
    assert drawn[1] == 0
    assert (abs(drawn[[0, 2, 3]] - 3000) < 4.5 * math.sqrt(9000 * 2 / 9)).all()  # 4.5 sd: fails for 2 in 100,000 seeds
    assert choose_by_ucb(tree, ROOT, 1.0, 0.0, rng) == 1


def test_minus_infinity_can_be_chosen() -> None:
    tree, _block = with_actions([1, 1], [-math.inf, -math.inf])
    assert choose_by_ucb(tree, ROOT, 1.0, math.inf, airoas.stream(0)) in (0, 1)


def test_returns_are_averaged_from_the_end_of_the_path() -> None:
    """Two simulations of two steps: the returns 1 + 2 / 2 + 8 / 4 and 1 + 4 / 2, seen from the root."""
    tree, _block = grown(1)
    child = add_child(tree, 1)
    add_action_node(tree, child)
    for reward, value in ((2.0, 8.0), (4.0, 0.0)):
        pass_through(tree, 0, ROOT, 0, 1.0)
        pass_through(tree, 1, child, 1, reward)
        backup_path(tree, 2, value, 0.5)
    first, second = tree.action_nodes[:2]
    assert (first.visits, first.value, first.bonus) == (2, 3.5, 1.0 / math.sqrt(2.0))
    assert (second.visits, second.value) == (2, 5.0)
    assert [history.visits for history in tree.histories[:2]] == [2, 2]


def test_final_action() -> None:
    visits, values = np.array([3, 0, 2, 2]), np.array([-1.0, 0.0, -0.5, -0.5])
    assert choose_final(visits, values, "value") == 3  # ties go to the later, the untried has no value
    assert choose_final(visits, values, "visits") == 0


def test_root_states_follow_their_weights() -> None:
    rng = np.random.default_rng(2)
    weights = rng.uniform(size=400) ** 6
    weights[[0, 7, 399]] = 0.0
    states = np.column_stack([rng.integers(0, 4, 400), np.arange(400)]).astype(float)
    states[100:150, 0] = -1  # terminal
    belief = airoas.Particles(states, weights)
    root = make_root(Corridor(), belief, airoas.stream(0))
    live = np.where(states[:, 0] < 0, 0.0, weights)
    assert root.alive == pytest.approx(live.sum() / weights.sum(), rel=1e-12)
    stream = airoas.stream(3)
    draws = 40_000
    counts = np.bincount([draw_root(root, stream) for _ in range(draws)], minlength=400)
    expected = draws * live / live.sum()
    assert not counts[expected == 0.0].any()
    often = expected > 5.0
    statistic = ((counts[often] - expected[often]) ** 2 / expected[often]).sum()
    assert abs(statistic - often.sum()) < 5.0 * math.sqrt(2 * often.sum())  # 5 sd: fails for about 1 in a million seeds


def test_last_point_of_the_total_is_a_live_state() -> None:
    class Top:
        def uniform(self):
            return 1.0 - 2.0**-53

    states = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]])
    for weight in (0.1, 0.3, 0.7):
        root = make_root(Corridor(), airoas.Particles(states, [weight, 1.0 / 3.0, 1.0]), airoas.stream(0))
        assert draw_root(root, Top()) == 1


def test_tree_is_printed_and_walked() -> None:
    model = Corridor()
    tree = POMCP(iterations=500, c=5.0).plan(model, airoas.Particles.sample(model, 50, airoas.stream(0)), airoas.stream(1)).tree
    text = str(tree).splitlines()
    assert text[0].split() == ["visits", "value"]
    assert text[1].split()[:2] == ["root", "500"]
    assert any(line.startswith("  grab") for line in text)
    assert any(line.startswith("    sees ") for line in text)
    assert len(str(tree.show(depth=1)).splitlines()) < len(text)
    root = tree.root
    assert root.observation is None
    assert root.visits == 500 == sum(child.visits for child in root.children)
    assert root.value == max(child.value for child in root.children)
    below = [node for child in root.children for node in child.children]
    assert all(isinstance(node.observation, Reading) for node in below)
    for child in root.children:  # each visit but the one that made a history goes on in it, or ends there
        assert sum(node.visits for node in child.children) <= child.visits - len(child.children)


def test_golden_chain() -> None:
    """One action: every simulation goes one deeper, and every return is known."""
    model = Chain()
    decision = POMCP(iterations=4, max_depth=3).plan(model, airoas.Particles([[0.0]]), airoas.stream(0))
    assert decision.value == 1.75  # 1 + 1/2 + 1/4, whether by tree or by rollout
    node, seen = decision.tree.root, []
    while node.children:
        (child,) = node.children
        seen.append((node.visits, child.visits, child.value, len(child.children)))
        (node,) = child.children
    assert seen == [(4, 4, 1.75, 1), (3, 3, 1.5, 1), (2, 2, 1.0, 1)]
    assert decision.stats.nodes == 4
    assert decision.stats.depth == 3


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize("estimate", ["rollout", "random", "value"])
@pytest.mark.parametrize("planner", [POMCP, POMCPOW])
def test_no_method_is_called_in_a_terminal_state(planner: type, estimate: str, mode: str) -> None:
    """They all raise there; see `Cliff`. Whether the world ends there is told by the reward alone."""
    belief = airoas.Particles([[0.0, 0.0], [2.0, 0.0], [7.0, 0.0]])
    with airoas.running(mode):
        decision = planner(iterations=300, c=5.0, max_depth=5, estimate=estimate).plan(Cliff(), belief, airoas.stream(0))
    assert decision.stats.trials == 300
    assert decision.stats.depth > 1
    (on,) = (child for child in decision.tree.root.children if child.action == 0)
    went_on = sum(node.visits + 1 for node in on.children)
    assert 0.5 * on.visits < went_on < 0.8 * on.visits  # two thirds: 0.5 and 0.8 are 5 standard deviations off


def compiled_while(action) -> list[str]:
    """The functions that numba compiles meanwhile, by the names that they have in the source."""
    with event.install_recorder("numba:compile") as recorder:
        action()
    names = [result.data["dispatcher"].py_func.__name__ for _, result in recorder.buffer if result.is_start]
    return [re.sub("_[0-9a-f]{16}$", "", name) for name in names]


def new_model(salt: float):
    """A model that nothing has been compiled for."""

    @airoas.model
    class New(NamedTuple):
        discount: float = 0.9

        def actions(self):
            return ("on", "back")

        def initial(self, rng):
            return rng.normal(), 0

        def legal(self, s, a):
            return a == 0 or s[1] > 0

        def step(self, s, a, rng):
            return (s[0] + salt, s[1] + 1 - 2 * a), -abs(s[0])

        def observe(self, s, a, rng):
            return (s[0] + rng.normal(),)

        def obs_logpdf(self, o, s, a):
            return -0.5 * (o[0] - s[0]) ** 2

    return New()


@pytest.mark.parametrize(("planner", "salt"), [(POMCP(iterations=1), 0.25), (POMCPOW(iterations=1), 0.5)])
def test_a_model_compiles_nothing_of_the_search(planner: POMCP | POMCPOW, salt: float) -> None:
    """All that it brings are its own methods and the few functions that call them, whether other models forbade actions, had a
    policy of their own, or continuous actions."""
    for other in (Chain(), Cliff(), *([Slide()] if isinstance(planner, POMCPOW) else [])):
        planner.prepare(other)
    result = compiled_while(lambda: planner.prepare(new_model(salt)))
    assert {"_step", "rollout"} <= set(result)
    parts = answer, lists, lookup, root, search, tree, widening, pomcp, pomcpow
    shared = {name for part in parts for name, value in vars(part).items() if isinstance(value, FunctionType | Kernel)}
    assert not set(result) & (shared | {"search"})
    assert len(result) < 40


def test_a_tree_that_is_looked_at_is_left_alone() -> None:
    model, planner = Slide(), POMCPOW(iterations=200, c=3.0, max_depth=6)
    belief = airoas.Particles.sample(model, 50, airoas.stream(0))
    first = planner.plan(model, belief, airoas.stream(1))
    before, addresses = str(first.tree.show(depth=4)), set()
    for seed in range(3):
        other = planner.plan(model, belief, airoas.stream(seed + 2))
        addresses.add(other.tree._trees[0].columns.histories.ctypes.data)
        del other
    assert str(first.tree.show(depth=4)) == before
    assert len(addresses) == 1  # one that nobody looks at serves again
    assert first.tree._trees[0].columns.histories.ctypes.data not in addresses
    assert str(planner.plan(model, belief, airoas.stream(1)).tree.show(depth=4)) == before
