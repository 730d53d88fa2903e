"""The bounded tree: trials that are cut leave no trace, bounds follow from those below, the undo log has room, and how it looks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from models import Beacon, coin, table, tiger, walk

import airoas
from airoas import Particles, stream
from airoas.compiler import clock
from airoas.errors import ModelError, OptionError
from airoas.planners import AIROAS, ARDESPOT, AdaOPS
from airoas.planners.bounded.session import UnsoundBoundsWarning

BEACON = Beacon(noise=0.1)
BELIEF = Particles.sample(BEACON, 1000, stream(0))
PLANNERS = {
    "airoas": AIROAS(iterations=1, anneal="none", particles=30, delta=0.5, packing="mixture"),
    "annealed": AIROAS(iterations=1, particles=30, delta=0.2, packing="first"),
    "as printed": AIROAS.as_printed(iterations=1, particles=20, max_depth=6),
    "adaops": AdaOPS(iterations=1, min_particles=15, max_particles=60),
    "ardespot": ARDESPOT(iterations=1, scenarios=500, regularisation=0.0),
}


COUNTS = (
    *("n_nodes", "n_action_nodes", "n_rows", "n_mixed", "n_trials", "n_expansions", "deepest"),
    *("n_annealed", "n_stages", "n_evaluations"),
)


def columns_of(tree) -> dict[str, np.ndarray]:
    """Every column, as far as it is in use, by name."""
    columns = tree.columns
    nodes, actions, rows = (slice(0, n) for n in (columns.n_nodes, columns.n_action_nodes, columns.n_rows))
    inner, branched = columns.first_action[nodes] >= 0, columns.first_child[actions] >= 0
    of_nodes = ("parent", "depth", "probability", "lower", "upper", "first_action", "n_actions")
    of_actions = ("node", "actions", "reward", "action_lower", "action_upper", "first_child", "n_children")
    result = {name: getattr(columns, name)[nodes] for name in of_nodes} | {name: getattr(columns, name)[actions] for name in of_actions}
    result |= {"observations": columns.observations[1 : columns.n_nodes], "states": columns.states[rows], "weights": columns.weights[rows]}
    result |= {"mixture": columns.mixture[1 : columns.n_nodes], "mixtures": columns.mixtures[: columns.n_mixed]}
    result |= {name: getattr(columns, name)[nodes][inner] for name in ("first_particle", "n_particles")}
    if tree.weighted:
        result |= {"key": columns.key[nodes], "first_successor": columns.first_successor[actions][branched]}
    else:
        result |= {name: getattr(columns, name)[nodes] for name in ("default", "unregularised")}
        result |= {"action_unregularised": columns.action_unregularised[actions]}
    result |= {"counts": np.array([getattr(columns, name) for name in COUNTS]), "crossing": np.array([columns.crossing])}
    return {name: np.array(column) for name, column in result.items()}


def assert_no_trace(cut, whole) -> None:
    """A decision that was cut short is the one of its finished trials, in every column."""
    assert cut.stats.trials == whole.stats.trials
    before, after = columns_of(whole.tree), columns_of(cut.tree)
    for name, column in before.items():
        assert np.array_equal(column, after[name], equal_nan=column.dtype.kind == "f"), name
    assert (cut.action, cut.value, cut.lower, cut.upper) == (whole.action, whole.value, whole.lower, whole.upper)
    assert cut.stats.notes == whole.stats.notes


@pytest.mark.parametrize("name", PLANNERS)
def test_a_trial_cut_by_memory_leaves_no_trace(name: str) -> None:
    for memory in range(1_000_000, 1_060_000, 7001):
        cut = replace(PLANNERS[name], iterations=100_000, memory=memory).plan(BEACON, BELIEF, stream(5))
        assert cut.stats.stop == "memory"
        assert cut.stats.bytes <= memory
        whole = replace(PLANNERS[name], iterations=cut.stats.trials).plan(BEACON, BELIEF, stream(5))
        assert whole.stats.stop == "iterations"
        assert_no_trace(cut, whole)
        assert cut.stats.trials > 3


@pytest.mark.parametrize("name", PLANNERS)
def test_a_trial_cut_by_the_deadline_leaves_no_trace(name: str) -> None:
    PLANNERS[name].prepare(BEACON)
    for seed in range(12):
        timed = replace(PLANNERS[name], iterations=None, seconds=0.004 + 0.0005 * seed)
        timed.prepare(BEACON)
        cut = timed.plan(BEACON, BELIEF, stream(seed))
        assert cut.stats.stop == "deadline"
        if cut.stats.trials > 0:  # a busy machine may leave time for none
            assert_no_trace(cut, replace(PLANNERS[name], iterations=cut.stats.trials).plan(BEACON, BELIEF, stream(seed)))


@pytest.mark.parametrize("name", PLANNERS)
def test_a_trial_cut_at_any_look_at_the_clock_leaves_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreted, with a clock that jumps past the deadline at its n-th look, for every n."""
    few = {"airoas": {"particles": 6}, "annealed": {"particles": 6}, "as printed": {"particles": 6, "max_depth": 3}}
    few |= {"adaops": {"min_particles": 4, "max_particles": 8, "max_depth": 4}, "ardespot": {"scenarios": 40, "max_depth": 4}}
    planner = replace(PLANNERS[name], iterations=8, **few[name])
    reads, jump = 0, 0

    def read_clock() -> float:
        nonlocal reads
        reads += 1
        return math.inf if reads == jump else 0.0

    monkeypatch.setattr(clock, "read_clock", read_clock)  # as `now` reads it, not whoever measures
    cuts = 0
    with airoas.running("interpreted"):
        wholes = [replace(planner, iterations=n).plan(BEACON, BELIEF, stream(3)) for n in range(1, 9)]
        assert wholes[-1].stats.stop == "iterations"
        reads = 0
        planner.plan(BEACON, BELIEF, stream(3))
        for read in range(1, reads + 1):
            reads, jump = 0, read
            cut = planner.plan(BEACON, BELIEF, stream(3))
            assert cut.stats.stop == "deadline"
            if cut.stats.trials > 0:
                assert_no_trace(cut, wholes[cut.stats.trials - 1])
                cuts += 1
    assert cuts > 10


@pytest.mark.parametrize("name", ["airoas", "annealed", "as printed", "adaops"])
def test_bounds_of_actions_are_those_below_them(name: str) -> None:
    """reward + discount * sum of probability * bound, for every action that was branched; backups are incremental."""
    tree = replace(PLANNERS[name], iterations=60).plan(BEACON, BELIEF, stream(1)).tree
    branched = 0
    for node in tree:
        for branch in node.branches:
            if not math.isnan(branch.reward):
                branched += 1
                for side in ("lower", "upper"):
                    below = sum(child.probability * getattr(child, side) for child in branch.children)
                    assert getattr(branch, side) == pytest.approx(branch.reward + BEACON.discount * below, abs=1e-9)
        if not node.is_leaf:
            assert node.lower >= max(branch.lower for branch in node.branches) - 1e-12
            assert node.lower <= node.upper
            assert node.upper <= max(node.lower, max(branch.upper for branch in node.branches)) + 1e-12
    assert branched > 30


@pytest.mark.parametrize("name", ["airoas", "adaops"])
def test_bounds_of_nodes_are_those_of_their_actions(name: str) -> None:
    """Where bounds hold on every tree (tiger: -20 and 200) they are the best of the actions', up to the rounding of the bounds."""
    model = tiger()
    tree = replace(PLANNERS[name], iterations=60, bounds=("blind", "mdp")).plan(model, Particles([[0.0], [1.0]]), stream(1)).tree
    inner = [node for node in tree if not node.is_leaf]
    assert len(inner) > 30
    for node in inner:
        assert node.lower == pytest.approx(max(branch.lower for branch in node.branches), abs=1e-6)
        assert node.upper == pytest.approx(max(branch.upper for branch in node.branches), abs=1e-6)


def test_the_undo_log_has_room_for_many_actions() -> None:
    """A trial logs what it changes in every action of a node; 1500 of them on one level once overran the room."""
    model = walk(actions=1500)
    for planner in (
        AdaOPS(iterations=3, max_depth=1),
        ARDESPOT(iterations=3, max_depth=1),
        AIROAS(iterations=3, max_depth=1, anneal="none"),
    ):
        planner = replace(planner, bounds=("blind", "mdp"))
        decision = planner.plan(model, Particles([[0.0]]), stream(0))
        assert decision.action == 0
        columns = decision.tree.columns
        assert columns.n_undo < len(columns.undo_column)


@pytest.mark.parametrize(
    "planner", [AIROAS(iterations=9, anneal="none"), AdaOPS(iterations=9), ARDESPOT(iterations=9)], ids=lambda p: type(p).__name__
)
def test_a_belief_in_the_tree_without_a_legal_action(planner) -> None:
    """From the first state either action leads to the others at random, unseen; of these one forbids what the other allows."""
    moves = np.zeros((3, 2, 3))
    moves[0, :, 1:] = 0.5
    moves[1:, :, 0] = 1.0
    pays = [[0.0, 0.5], [1.0, -3.0], [-2.0, 5.0]]
    model = table(moves, np.ones((3, 2, 1)), pays, allows=[[1, 1], [1, 0], [0, 1]])
    planner = replace(planner, bounds=("blind", "mdp"))
    with pytest.raises(ModelError, match=r"no action is legal.*one action legal everywhere"):
        planner.plan(model, Particles([[0.0]]), stream(0))


def test_a_root_that_does_not_fit_is_refused() -> None:
    model, belief = tiger(), Particles([[0.0], [1.0]])
    for planner in (ARDESPOT(iterations=3, scenarios=100_000), AdaOPS(iterations=3, min_particles=5000, max_particles=5000)):
        with pytest.raises(OptionError, match=r"too little for .* particles") as refused:
            replace(planner, memory=1_000_000).plan(model, belief, stream(0))
        enough = int(str(refused.value).split("Allow ")[1].split(",")[0])
        decision = replace(planner, memory=enough).plan(model, belief, stream(0))
        assert decision.stats.notes["expansions"] >= 3
        assert decision.stats.bytes <= enough


def test_unsound_bounds_are_reported_once_and_the_upper_one_yields() -> None:
    """Flipping for ever is worth 2, not 0.1."""
    planner = AdaOPS(iterations=30, bounds=(-1.0, 0.1))
    with pytest.warns(UnsoundBoundsWarning, match=r"not sound.*larger upper bound"):
        decision = planner.plan(coin(), Particles([[0.0]]), stream(0))
    again = planner.plan(coin(), Particles([[0.0]]), stream(0))  # warnings are errors here
    for each in (decision, again):
        assert each.stats.notes["unsound"] > 0.25
        assert all(node.lower <= node.upper for node in each.tree)


def test_tree_is_walked_and_printed() -> None:
    decision = replace(PLANNERS["airoas"], iterations=30).plan(BEACON, BELIEF, stream(2))
    tree, root = decision.tree, decision.tree.root
    assert len(tree) == decision.stats.nodes == len(list(tree))
    assert max(node.depth for node in tree) == decision.stats.depth
    assert root.observation is None
    assert (root.depth, root.probability, root.is_leaf) == (0, 1.0, False)
    assert (root.lower, root.upper) == (decision.lower, decision.upper)
    assert [branch.name for branch in root.branches] == ["left", "stop", "right"]
    assert decision.value == max(branch.lower for branch in root.branches)
    walked, waiting = 0, [root]
    while waiting:
        node = waiting.pop()
        walked += 1
        below = [child for branch in node.branches for child in branch.children]
        assert all(child.depth == node.depth + 1 for child in below)
        assert (node.particles is None) == node.is_leaf
        if not node.is_leaf:
            assert node.particles.weights.sum() == pytest.approx(1.0)
        waiting += below
    assert walked == len(tree)
    text = str(tree)
    assert f"{len(tree)} belief nodes" in text
    assert all(word in text for word in ("root", "left", "stop", "right", "probability", "lower", "upper"))
    assert len(tree.text(levels=1).splitlines()) < len(text.splitlines())
    assert "lower=" in repr(root)
    assert "children=" in repr(root.branches[0])


def test_a_tree_outlives_later_decisions() -> None:
    planner = replace(PLANNERS["airoas"], iterations=20)
    first = planner.plan(BEACON, BELIEF, stream(1))
    before = columns_of(first.tree)
    others = [planner.plan(BEACON, BELIEF, stream(seed)) for seed in range(2, 6)]
    after = columns_of(first.tree)
    assert all(np.array_equal(before[name], after[name], equal_nan=before[name].dtype.kind == "f") for name in before)
    assert len({id(other.tree.columns) for other in others}) == 4
    assert first.tree.columns.n_trials == 20
