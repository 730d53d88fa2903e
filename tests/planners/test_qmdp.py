"""QMDP: the best mean Q of the fully observable problem."""

from __future__ import annotations

import math

import numpy as np
import pytest
from models import Beacon, fork, random_table, tiger, walk

from airoas import Particles, stream
from airoas.bounds import mdp_q_values
from airoas.errors import OptionError
from airoas.planners import QMDP


@pytest.mark.parametrize("model", [tiger(), walk(states=5), random_table(2, 4, 3, 2), fork()], ids=["tiger", "walk", "random", "fork"])
def test_takes_the_best_mean_of_q(model) -> None:
    q = mdp_q_values(model)
    rng = np.random.default_rng(0)
    live = np.flatnonzero(model.ends == 0.0)
    for _ in range(20):
        weights = rng.dirichlet(np.ones(len(live)))
        decision = QMDP().plan(model, Particles(live[:, None].astype(float), weights), stream(0))
        means = weights @ q[live]
        assert decision.value == pytest.approx(means.max(), abs=1e-9)
        assert means[decision.action] == pytest.approx(means.max(), abs=1e-9)
        assert decision.upper == decision.value
        assert math.isnan(decision.lower)
        assert decision.stats.notes == {"bounds": "qmdp", "sound": True}


def test_does_not_look() -> None:
    """It expects to see the state for nothing, and so never pays for it: take is worth 0 and look 4, but waiting to be told 5 - 1."""
    decision = QMDP().plan(fork(), Particles([[0.0], [1.0]], [0.9, 0.1]), stream(0))
    assert decision.action == 1  # 8 at once; look and then take is worth 4 to one who sees, and is all that there is to know


def test_ties_are_settled_at_random() -> None:
    model, belief = fork(), Particles([[0.0], [1.0]])
    model = model._replace(pays=np.array([[-9.0, 1.0, -1.0], [-9.0, -1.0, 1.0], [0.0, 0.0, 0.0]]))
    drawn = {QMDP().plan(model, belief, stream(seed)).action for seed in range(30)}
    assert drawn == {1, 2}  # one of them alone: 2 in a billion seeds


def test_is_prepared_once() -> None:
    model = tiger()
    planner = QMDP()
    planner.prepare(model)
    stats = planner.plan(model, Particles([[0.0]]), stream(0)).stats
    assert stats.stop == "done"
    assert stats.preparation < 0.05  # seconds: nothing is compiled or iterated again


def test_says_what_it_cannot_do() -> None:
    assert QMDP().fits(tiger()) is None
    assert "needs Q-values" in str(QMDP().fits(Beacon()))
    with pytest.raises(OptionError, match="cannot be enumerated"):
        QMDP().plan(Beacon(), Particles([[0.0, 0.0]]), stream(0))
