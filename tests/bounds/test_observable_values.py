"""Fully observable values against exact answers and against themselves."""

from typing import NamedTuple

import numpy as np
import pytest
from bound_models import Ladder

import airoas
from airoas.bounds import enumerate_model, find_bounds, mdp_q_values, mdp_values
from airoas.bounds.learned import reached
from airoas.domains import LightDark, Tag, Tiger


@pytest.mark.parametrize(("opponent", "mean", "least"), [("classic", 2.15, -3.29), ("modified", -1.37, -5.78)])
def test_tag_values_are_those_of_the_specification(opponent, mean, least):
    values = mdp_values(Tag(opponent=opponent))
    assert values[:-1].mean() == pytest.approx(mean, abs=0.005)
    assert values.min() == pytest.approx(least, abs=0.005)
    assert values.max() == pytest.approx(10.0)
    assert values[-1] == 0.0  # the tagged state


def test_tiger_seen_is_ten_every_step():
    assert mdp_values(Tiger()) == pytest.approx([200.0, 200.0])


def test_values_satisfy_bellmans_equation_and_bound_it_from_above():
    model = Tag()
    table, q = enumerate_model(model), mdp_q_values(model, 1e-9)
    values = q.max(axis=1)
    expected = table.rewards + model.discount * (table.probabilities * values[table.successors]).sum(axis=2)
    residual = np.where(table.terminal[:, None], 0.0, expected) - q
    assert np.abs(residual).max() < 1e-9
    assert (q >= mdp_q_values(model, 1e-12) - 1e-12).all()


def test_illegal_actions_and_simulated_rewards():
    assert airoas.check(Ladder).ok
    q = mdp_q_values(Ladder())
    assert q[0].tolist() == pytest.approx([0.5, -np.inf])  # climb, climb, jump: 0.25 * 2
    assert q[2].tolist() == pytest.approx([1.0, 2.0])
    assert q[3].tolist() == [0.0, 0.0]


def test_a_model_that_is_not_finite_is_refused():
    with pytest.raises(airoas.OptionError, match="enumerated"):
        mdp_values(LightDark())


@airoas.model
class Hidden(NamedTuple):
    """Is a number that never changes even or odd? One may wait."""

    most: int = 1_000_000
    discount: float = 0.9
    max_steps: int = 20

    def actions(self):
        return ("wait", "even", "odd")

    def initial(self, rng):
        return rng.integer(self.most), 0

    def step(self, s, a, rng):
        if a == 0:
            return s, -1.0
        return (s[0], 1), 10.0 if s[0] % 2 == a - 1 else -10.0

    def observe(self, s, a, rng):
        return (0,)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o[0] == 0 else -np.inf

    def is_terminal(self, s):
        return s[1] == 1


@pytest.mark.parametrize(("most", "is_enumerated"), [(1000, True), (100_000_000, False)])
def test_states_are_listed_only_where_walks_leave_out_few(most, is_enumerated):
    """Of a hundred million numbers two walks never meet the same one: what a list says of it would be a guess."""
    model = Hidden(most)
    table = reached.reach(model)
    assert (table is not None) == is_enumerated
    assert find_bounds(model, (0.0, "auto")).upper == ("reached qmdp" if is_enumerated else "simulated mdp")
    if table is not None:
        assert len(table[0]) == most
