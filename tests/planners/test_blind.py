"""One action for ever, by its name, its index or its numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from models import table

import airoas
from airoas import Particles, stream
from airoas.catalog import make_planner
from airoas.domains import Parking, Tiger
from airoas.errors import OptionError
from airoas.planners import Blind


@airoas.model
class Doors(NamedTuple):
    """Actions whose names are numbers, and not their indices."""

    discount: float = 0.9

    def actions(self):
        return ("3", "2", "1")

    def initial(self, rng):
        return (0,)

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return 0.0


@pytest.mark.parametrize(("action", "index"), [(0, 0), (2, 2), ("open-right", 2), ("1", 1)])
def test_takes_its_action_whatever_is_seen(action: int | str, index: int) -> None:
    for planner in (Blind(action), make_planner("blind", {"action": action})):
        episode = airoas.simulate(Tiger(), planner, seed=0, max_steps=5)
        assert {step.action for step in episode.trace} == {index}
        assert {step.decision.stats.stop for step in episode.trace} == {"done"}


def test_a_name_goes_before_an_index() -> None:
    chosen = [Blind(action).plan(Doors(), Particles([[0.0]]), stream(0)).action for action in ("3", "2", "1", 1)]
    assert chosen == [0, 1, 2, 2]


def test_where_it_is_not_legal_a_legal_one_is_taken() -> None:
    moves = np.full((2, 3, 2), 0.5)
    model = table(moves, np.ones((2, 3, 1)), np.zeros((2, 3)), allows=[[0, 1, 1], [1, 1, 1]], discount=0.5)
    known, unknown = Particles([[1.0]]), Particles([[0.0], [1.0]])
    assert Blind(0).plan(model, known, stream(0)).action == 0
    decisions = [Blind(0).plan(model, unknown, stream(seed)) for seed in range(30)]
    assert {decision.action for decision in decisions} == {1, 2}  # one of them alone: 2 in a billion seeds
    assert all(decision.stats.notes == {"illegal": True} for decision in decisions)


def test_of_a_space_it_takes_numbers() -> None:
    model = Parking()
    assert Blind().fits(model) is not None
    action = model.space.shape
    text = ", ".join(["0.5"] * action.size)
    assert Blind(text).fits(model) is None
    episode = airoas.simulate(model, Blind(text), seed=0, particles=100, max_steps=3)
    assert {tuple(action.to_row(step.action)) for step in episode.trace} == {(0.5,) * action.size}
    assert Blind(", ".join(["1e9"] * action.size)).fits(model) is not None


def test_what_is_no_action_is_refused_with_those_that_there_are() -> None:
    assert Blind(0).fits(Tiger()) is None
    for wrong in (3, -1, "3", "open-lift"):
        told = Blind(wrong).fits(Tiger())
        assert told is not None and "0 .. 2 of listen, open-left, open-right" in told
    assert "id you mean `open-left`" in str(Blind("open-lift").fits(Tiger()))
    with pytest.raises(OptionError):
        Blind(1.5)  # type: ignore[arg-type]
