"""The visit-count tree: its lookup, its lists, its selection rule, how it draws states from a belief, and how it looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scripted import Chain, Corridor, Sight

import airoas
from airoas.compiler.kernels import kernel
from airoas.planners import POMCP
from airoas.planners.storage import Block
from airoas.planners.visits.lists import append, clear_list, lists_layout, new_lists, place_above, place_of
from airoas.planners.visits.lookup import EMPTIED, ENTRIES, MOVED, OLD_SIZE, OLD_START, SIZE, START, enter, lookup_layout, new_lookup
from airoas.planners.visits.root import draw_root, gather_root
from airoas.planners.visits.search import choose_final
from airoas.planners.visits.tree import (
    ACTION,
    ACTION_VISITS,
    NODE,
    NODES,
    NONE,
    ROOT,
    VALUE,
    VISITS,
    add_action,
    add_child,
    choose_by_ucb,
    find_child,
    new_tree,
    tree_layout,
)


def grown(n: int = 5000, m: int = 100):
    block = Block(tree_layout(Corridor(), n, m))
    return new_tree(block), block


@kernel
def insert(model, tree, actions, rows, nodes):
    for i in range(len(actions)):
        o = model.read_observation(rows, i)
        found = find_child(model, tree, actions[i], o)
        nodes[i] = add_child(tree, 1) if found == NONE else found


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_lookup_is_a_dictionary(mode: str) -> None:
    rng = np.random.default_rng(0)
    count = 4000 if mode == "compiled" else 800
    actions = rng.integers(0, 5, count)
    rows = np.column_stack([rng.integers(-2, 3, count), rng.choice([0.0, -0.0, 0.5, 1e-300, *rng.normal(size=200)], count)]).astype(float)
    tree, _block = grown()
    nodes = np.empty(count, np.int64)
    with airoas.running(mode):
        insert(Corridor(), tree, actions, rows, nodes)
    known: dict[tuple, int] = {}
    for a, (p, edge), node in zip(actions, rows, nodes, strict=True):
        assert node == known.setdefault((a, p, edge), len(known) + 1)
    assert tree.counts[NODES] == len(known) + 1
    assert len(known) > count / 4
    state = tree.lookup.state
    assert state[ENTRIES] == len(known)
    assert state[SIZE] >= 2 * len(known)  # grown several times, and never more than half full
    assert state[START] > 0


@kernel
def enter_hashes(lookup, hashes):
    for node in range(len(hashes)):
        enter(lookup, hashes[node], node)


def test_growth_is_never_late() -> None:
    """With every number of entries the present table and, until it is moved, the one before it hold each of them once."""
    hashes = np.random.default_rng(0).integers(0, 1 << 31, 40_000)
    for count in (1, 511, 512, 513, 514, 700, 1024, 1025, 1100, 5000, 32_768, 32_769, 40_000):
        block = Block(lookup_layout(40_000))
        block.arrays["slots"][:] = 7  # what an earlier search left
        lookup = new_lookup(block)
        enter_hashes(lookup, hashes[:count])
        state, slots = lookup.state, lookup.slots.reshape(-1, 2)
        present = slots[state[START] : state[START] + state[SIZE], 1]
        moved = state[MOVED] >= state[OLD_SIZE]
        before = slots[state[OLD_START] : state[OLD_START] + (0 if moved else state[OLD_SIZE]), 1]
        found = present[present != NONE]
        assert len(found) == len(set(found))
        assert set(found) | set(before[before != NONE]) == set(range(count))
        assert state[EMPTIED] <= 2 * state[SIZE]


def test_lists_are_lists() -> None:
    rng = np.random.default_rng(1)
    block = Block(lists_layout("some", 7, 6000))
    lists = new_lists("some", block)
    for which in range(7):
        clear_list(lists, which)
    items, upto = np.empty(6000), np.empty(6000)
    mirror: list[list[float]] = [[] for _ in range(7)]
    for _ in range(2000):
        which = int(rng.integers(7) * rng.uniform())
        place = append(lists, which)
        value = float(rng.uniform())
        items[place] = value
        upto[place] = sum(mirror[which]) + value
        mirror[which].append(value)
    assert lists.top[0] <= 2 * 2000
    for which, values in enumerate(mirror):
        assert [items[place_of(lists, which, i)] for i in range(len(values))] == values
        total = np.cumsum(values)
        for target in rng.uniform(0.0, total[-1], 50) if values else ():
            assert place_above(lists, which, upto, target) == place_of(lists, which, int(np.searchsorted(total, target, "right")))
        if values:
            assert place_above(lists, which, upto, math.inf) == place_of(lists, which, len(values) - 1)


def with_actions(visits: list[int], values: list[float]):
    tree, block = grown()
    for a, (n, value) in enumerate(zip(visits, values, strict=True)):
        add_action(_Writer, tree, ROOT, a)
        tree.actions[a * ACTION + ACTION_VISITS], tree.values[a * VALUE] = n, value
    tree.nodes[ROOT * NODE + VISITS] = sum(visits)
    return tree, block


class _Writer:
    @staticmethod
    def write_action(rows, i, a):
        rows[i, 0] = a


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
    root, alive = gather_root(Corridor(), belief)
    live = np.where(states[:, 0] < 0, 0.0, weights)
    assert alive == pytest.approx(live.sum() / weights.sum(), rel=1e-12)
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
        root, _ = gather_root(Corridor(), airoas.Particles(states, [weight, 1.0 / 3.0, 1.0]))
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
    assert all(isinstance(node.observation, Sight) for node in below)
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
