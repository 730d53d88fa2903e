"""Belief nodes that hold every possible state: against the exact filter, against the exact value, and where they are too many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from models import random_table, tiger, tiger_value

import airoas
from airoas import Particles, stream
from airoas.domains.tag import Tag
from airoas.planners import AIROAS

SEARCH = AIROAS(iterations=60, bounds=("blind", "fib"), delta=-1.0, gap=0.0)
MODELS = {"random": random_table(5, 5, 3, 4), "tag": Tag(), "tag-modified": Tag(opponent="modified")}


def beginning(model) -> Particles:
    if not isinstance(model, Tag):
        return Particles([[float(i)] for i in range(5)], [0.4, 0.3, 0.2, 0.05, 0.05])
    states, weights = model.exact_initial()
    return Particles(states[states[:, 0] == 3.0], weights[states[:, 0] == 3.0])


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize("name", MODELS)
def test_nodes_hold_the_posterior(name: str, mode: str) -> None:
    """At every node, to within the states that were next to impossible there or above."""
    model, belief = MODELS[name], beginning(MODELS[name])
    planner = SEARCH if mode == "compiled" else replace(SEARCH, iterations=4, bounds=("blind", "qmdp"))  # which are quick
    with airoas.running(mode):
        tree = planner.plan(model, belief, stream(1)).tree
    compared = check(model, tree.root, belief)
    assert compared > (20 if mode == "compiled" else 4)


def check(model, node, belief: Particles) -> int:
    if node.is_leaf:
        return 0
    result, wanted = np.zeros(model.n_states()), np.zeros(model.n_states())
    for into, states, weights in ((result, node.particles.states, node.particles.weights), (wanted, belief.states, belief.weights)):
        for row, weight in zip(states, weights, strict=True):
            into[model.index(model.from_row("state", row))] += weight
    assert result == pytest.approx(wanted, abs=1e-3)
    compared = 1
    for branch in node.branches:
        for child in branch.children:
            compared += check(model, child, airoas.update(model, belief, branch.action, child.observation, stream(0), "exact"))
    return compared


def test_probabilities_are_those_of_what_is_seen() -> None:
    """Tag's observations are certain: probabilities are exact, whatever the number of draws."""
    model, belief = MODELS["tag"], beginning(MODELS["tag"])
    tree = SEARCH.plan(model, belief, stream(0)).tree
    branched = [branch for branch in tree.root.branches if branch.children]
    assert branched
    for branch in branched:
        expected = {}
        for row, weight in zip(belief.states, belief.weights, strict=True):
            for k in range(5):
                s, p = model.successor(model.from_row("state", row), branch.action, k)
                if p > 0.0 and not s.tagged:
                    o = model.observe(s, branch.action, stream(0))
                    expected[o] = expected.get(o, 0.0) + weight * p
        assert {child.observation: child.probability for child in branch.children} == pytest.approx(expected)


def test_value_of_tiger() -> None:
    """Nothing is drawn but what there is to see: bounds that meet are the value itself, from every seed."""
    model, belief = tiger(), Particles([[0.0], [1.0]])
    planner = AIROAS(iterations=5000, delta=-1.0, bounds=("blind", "qmdp"), particles=200, max_depth=3, gap=1e-9)
    wanted = tiger_value(0.5, 3, -20.0, model)
    assert [planner.plan(model, belief, stream(seed)).value for seed in range(5)] == pytest.approx([wanted] * 5, abs=1e-6)


def test_too_many_states_are_drawn() -> None:
    model, belief = MODELS["tag"], beginning(MODELS["tag"])
    tree = replace(SEARCH, particles=10).plan(model, belief, stream(0)).tree
    assert len(tree.root.particles) == 10
    assert tree.root.particles.weights == pytest.approx([0.1] * 10)
    some = replace(SEARCH, particles=29).plan(model, belief, stream(0)).tree
    assert len(some.root.particles) == len(belief)


def test_particles_by_wish() -> None:
    model, belief = MODELS["tag"], beginning(MODELS["tag"])
    assert len(replace(SEARCH, enumerates=False).plan(model, belief, stream(0)).tree.root.particles) == 100
    assert len(replace(SEARCH, bounds=("blind", "mdp")).plan(model, belief, stream(0)).tree.root.particles) == 100


def test_equal_states_of_a_belief_count_together() -> None:
    model = MODELS["random"]
    belief = Particles([[0.0], [1.0], [0.0], [2.0]], [0.1, 0.2, 0.3, 0.4])
    root = SEARCH.plan(model, belief, stream(0)).tree.root.particles
    assert root.states.tolist() == [[0.0], [1.0], [2.0]]
    assert root.weights == pytest.approx([0.4, 0.2, 0.4])
