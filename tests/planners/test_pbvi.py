"""PBVI: the best of the plans that were worked out beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from models import Beacon, fork, random_table, table, tiger, walk

from airoas import Particles, stream
from airoas.bounds.find import find_plans
from airoas.errors import OptionError
from airoas.planners import PBVI


@pytest.mark.parametrize("model", [tiger(), walk(states=5), random_table(2, 4, 3, 2), fork()], ids=["tiger", "walk", "random", "fork"])
def test_takes_the_first_action_of_the_best_plan(model) -> None:
    result = find_plans(model)
    rng = np.random.default_rng(0)
    live = np.flatnonzero(model.ends == 0.0)
    for _ in range(20):
        weights = rng.dirichlet(np.ones(len(live)))
        decision = PBVI().plan(model, Particles(live[:, None].astype(float), weights), stream(0))
        value = weights @ result["values"][live]
        assert decision.value == pytest.approx(value.max(), abs=1e-9)
        assert value[result["first"] == decision.action].max() == pytest.approx(value.max(), abs=1e-9)
        assert decision.lower == decision.value
        assert math.isnan(decision.upper)
        assert decision.stats.notes == {"plans": len(value), "sound": True}


def test_looks_where_that_pays() -> None:
    """Look for 1 and then take the right one: -1 + 10 / 2, which QMDP never does."""
    decision = PBVI().plan(fork(), Particles([[0.0], [1.0]]), stream(0))
    assert (decision.action, decision.value) == (0, pytest.approx(4.0))


def test_no_action_is_legal_everywhere() -> None:
    """In each of two states only one action is legal, and it is seen which state it is."""
    moves, sees = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    moves[:, :] = [[0.0, 1.0], [1.0, 0.0]]
    sees[0, :, 0] = sees[1, :, 1] = 1.0
    model = table(moves, sees, [[1.0, 0.0], [0.0, 3.0]], allows=[[1, 0], [0, 1]], discount=0.5)
    decisions = [PBVI().plan(model, Particles([[float(s)]]), stream(0)) for s in range(2)]
    assert [decision.action for decision in decisions] == [0, 1]
    assert decisions[0].value <= (1.0 + 0.5 * 3.0) / 0.75 + 1e-9


def test_is_prepared_once() -> None:
    model = tiger()
    planner = PBVI()
    planner.prepare(model)
    stats = planner.plan(model, Particles([[0.0]]), stream(0)).stats
    assert stats.stop == "done"
    assert stats.preparation == 0.0


def test_says_what_it_cannot_do() -> None:
    assert PBVI().fits(tiger()) is None
    assert "needs a small finite model" in str(PBVI().fits(Beacon()))
    with pytest.raises(OptionError, match="cannot be enumerated"):
        PBVI().plan(Beacon(), Particles([[0.0, 0.0]]), stream(0))
