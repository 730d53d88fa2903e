"""What a decision notes of its root where the bounds are estimates: the actions that were looked at, ties, bounds that do not hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from airoas import Particles, stream
from airoas.catalog import find_domain
from airoas.domains import Tiger
from airoas.planners import AIROAS, AdaOPS
from airoas.planners.bounded.session import session_of

BARE = find_domain("bare-light-dark-1.0")(0)


@pytest.mark.parametrize("policy", ["none", "always"])
@pytest.mark.parametrize("iterations", [1, 50])
def test_the_share_of_actions_looked_at_is_noted(policy: str, iterations: int) -> None:
    """With a policy rollouts try every action where there are few."""
    belief = Particles.sample(BARE, 200, stream(1))
    for seed in range(3):
        decision = AIROAS(iterations=iterations, policy=policy, learn_seconds=0.0).plan(BARE, belief, stream(seed))
        tree, notes = decision.tree.columns, decision.stats.notes
        first, count = int(tree.first_action[0]), int(tree.n_actions[0])
        looked_at = {int(tree.actions[i, 0]) for i in range(first, first + count) if tree.first_child[i] >= 0}
        lower = np.array(tree.action_lower[first : first + count])
        if policy == "always":
            assert notes["rollouts"] > 0
            looked_at = set(range(BARE.n_actions))
        assert notes["opened"] == len(looked_at) / count > 0.0
        assert notes["tied"] == bool(lower.min() == lower.max())


@pytest.mark.parametrize(
    ("model", "planner", "noted"),
    [
        (BARE, AIROAS(iterations=5, policy="none"), "contradicted"),
        (BARE, AdaOPS(iterations=5), "contradicted"),
        (Tiger(), AIROAS(iterations=5), None),  # proved: what crosses there are particles
    ],
)
def test_estimates_that_the_search_contradicts_are_noted(model: Any, planner: Any, noted: str | None) -> None:
    """By more than a quarter of what there was to find out; without a warning, since they are called estimates."""
    session = session_of(planner, model)
    held = tree, _, _ = session._take()
    tree.first_gap = 4.0
    for crossing, said in ((0.9, None), (1.1, noted)):
        tree.crossing = crossing
        result = {name: value for name, value in session._notes(tree).items() if name in ("contradicted", "unsound")}
        assert result == ({said: crossing} if said else {})
    session._waiting.append(held)
