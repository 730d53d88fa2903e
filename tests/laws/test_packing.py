"""Delta-packing by mixtures: on the same draws no lower bound is higher for it, and an action's children average to what it leads to.

Observations drawn from the successors average the posteriors, whatever the successors, to the weights before: sum_o p(o) p(s | o) = p(s).
Mixtures leave that sum as it is. The first part is exact, for each seed; the second is a matter of chance, over 1,000 seeds: a z-score
of 4.5 is reached by 7 in a million choices of them.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "planners"))

from models import Beacon, random_table, table

from airoas import Particles, stream
from airoas.catalog import find_domain
from airoas.compiler.kernels import kernel
from airoas.planners import AIROAS
from airoas.planners.bounded import session as bounded
from airoas.planners.bounded.expansion import branch
from airoas.planners.bounded.leaves import open_node, weigh_leaf
from airoas.planners.bounded.search import draw_root
from airoas.planners.bounded.tree import OK, refresh_bounds

pytestmark = pytest.mark.law
PLAN = {"iterations": 1, "particles": 60, "policy": "none", "delta": 0.8}
PLANNERS = {
    "mixture": AIROAS(packing="mixture", **PLAN),
    "first": AIROAS(packing="first", **PLAN),
    "unpacked": AIROAS(**(PLAN | {"delta": -1.0})),
    "mixture, none annealed": AIROAS(packing="mixture", anneal="none", **PLAN),
}


def alike() -> Any:
    """A table of 40 states whose observations come in ten kinds nearly alike, for enumerated states share a branch within 0.1 only."""
    coarse, draw = random_table(3, 40, 3, 6), np.random.default_rng(4)
    sees = np.repeat(coarse.sees, 10, axis=2) * draw.uniform(0.95, 1.05, (40, 3, 60))
    return table(coarse.moves, sees / sees.sum(axis=2, keepdims=True), coarse.pays, discount=coarse.discount)


TABLE = alike()
MODELS = {
    "light-dark-0.5": (find_domain("light-dark-0.5")(0), False),
    "drawn": (TABLE, False),
    "enumerated": (TABLE, True),
}


@kernel
def branch_root(tree, search):
    """Branch every action of the root."""
    status = open_node(tree, search, 0)
    for ba in range(tree.first_action[0], tree.first_action[0] + tree.n_actions[0]):
        if status == OK:
            status = branch(tree, search, ba)
    refresh_bounds(tree, 0)
    return status


@kernel
def average_children(tree, search, ba, out):
    """out [n]: the sum of the children's weights, each as likely as it is."""
    for c in range(tree.first_child[ba], tree.first_child[ba] + tree.n_children[ba]):
        weigh_leaf(tree, search, c)
        for i in range(len(out)):
            out[i] += tree.probability[c] * search.weights[0, i]


class Expansion:
    """The root of a search after one expansion of it, all actions branched."""

    def __init__(self, planner: AIROAS, model: Any, belief: Particles, seed: int, enumerated: bool) -> None:
        session = bounded.session_of(planner, model)
        tree, _, search = held = session._take()
        session._set_limits(tree, math.inf)
        search.allowed[:] = True
        search.search.seed = seed
        states, weights = np.array(belief.states), belief.weights
        tree.root_enumerated = enumerated and session._enumerate_root(tree, search, states, weights)
        if not enumerated:
            draw_root(tree, states, weights, np.empty(planner.particles, np.int64), stream(seed))
        assert tree.root_enumerated == enumerated
        assert branch_root(tree, search.search) == OK
        actions = slice(tree.first_action[0], tree.first_action[0] + tree.n_actions[0])
        self.lower = np.array([tree.lower[0], *tree.action_lower[actions]])
        self.shared = int((tree.mixture[1 : tree.n_nodes] >= 0).sum())
        self.children = int(tree.n_children[actions].sum())
        self.states, self.before, self.after = [], [], []
        for ba in range(actions.start, actions.stop):
            rows = slice(tree.first_successor[ba], tree.first_successor[ba] + tree.n_successors[ba])
            total = np.zeros(rows.stop - rows.start)
            average_children(tree, search.search, ba, total)
            self.states.append(tree.states[rows].copy())
            self.before.append(tree.weights[rows].copy())
            self.after.append(total)
        session._waiting.append(held)


def expansions(name: str, seeds: int, *planners: str) -> Any:
    """Of each seed those of the planners, on the same draws, from a belief in order: what comes first is no matter of chance there."""
    model, enumerated = MODELS[name]
    states = np.array(Particles.sample(model, 500, stream(0)).states)
    belief = Particles(np.unique(states, axis=0) if enumerated else states[np.argsort(states[:, 0], kind="stable")])
    for seed in range(seeds):
        yield [Expansion(PLANNERS[planner], model, belief, seed, enumerated) for planner in planners]


@pytest.mark.parametrize("name", MODELS)
def test_no_lower_bound_is_higher_for_packing(name: str) -> None:
    """Exact but for rounding. With the posterior of the first observation it does not hold: that is how one knows that it could fail."""
    shared, rises = 0, []
    for mixture, loose, first, unpacked in expansions(name, 200, "mixture", "mixture, none annealed", "first", "unpacked"):
        assert (mixture.lower <= unpacked.lower + 1e-12).all()
        assert (loose.lower <= unpacked.lower + 1e-12).all()
        assert loose.children <= mixture.children <= unpacked.children
        shared += mixture.shared
        rises.append((first.lower - unpacked.lower).max())
    print(f"{name}: {shared} shared branches, the first's posterior claims up to {max(rises):.3g} more")
    assert shared > 100
    assert max(rises) > 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_packing_leaves_the_average_of_the_children(name: str) -> None:
    """Exact but for rounding, for each of 1,000 seeds."""
    for mixture, unpacked in expansions(name, 1000, "mixture", "unpacked"):
        for packed, plain in zip(mixture.after, unpacked.after, strict=True):
            assert packed == pytest.approx(plain, rel=0.0, abs=1e-12)


def z_scores(name: str, planner: str) -> np.ndarray:
    """[actions, 2] of the mean and the square of a state's first number: as the children have it, less the prediction."""
    strays = []
    for (each,) in expansions(name, 1000, planner):
        pairs = zip(each.states, each.before, each.after, strict=True)
        strays.append([[(after - before) @ states[:, 0] ** k for k in (1, 2)] for states, before, after in pairs])
    differences = np.array(strays)
    return differences.mean(axis=0) / np.maximum(differences.std(axis=0, ddof=1), 1e-300) * math.sqrt(len(differences))


@pytest.mark.parametrize("name", ["light-dark-0.5", "drawn", "beacon"])
def test_children_average_to_the_prediction(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over 1,000 seeds. Children of the first's posterior do not where the state is a place."""
    monkeypatch.setitem(MODELS, "beacon", (Beacon(noise=1.0), False))
    scores = z_scores(name, "mixture")
    first = z_scores(name, "first")
    print(f"{name}: z {np.abs(scores).max():.2f}, of the first's posteriors {np.abs(first).max():.2f}")
    assert np.abs(scores).max() < 4.5
    if name != "drawn":
        assert np.abs(first).max() > 10.0
