"""The actions that stand for a space in a policy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Box, Choice
from airoas.domains.light_dark_2d import LightDark2DContinuous
from airoas.domains.strangers.vdp_tag import VDPTagContinuous
from airoas.domains.tiger import Tiger
from airoas.policies.action_list import POINTS, action_list
from airoas.policies.qmdp import make_policy


class Shot(NamedTuple):
    kind: int
    x: float
    y: float


@airoas.model
class Targets(NamedTuple):
    """A shot is worth most near a target, which lies somewhere in a twentieth of the space."""

    discount: float = 0.9
    max_steps: int = 5

    def action_space(self):
        return Shot(Choice("shoot", "look"), Box(0.0, 1.0), Box(0.0, 1.0))

    def macros(self):
        return ((Shot(0, 0.123, 0.456),) * 2,)

    def initial(self, rng):
        return (0.6 + 0.2 * rng.uniform(), 0.3 + 0.25 * rng.uniform())

    def step(self, s, a, rng):
        return s, -math.hypot(s[0] - a.x, s[1] - a.y) if a.kind == 0 else -0.1

    def observe(self, s, a, rng):
        return (s[0],)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o[0] == s[0] else -math.inf


@airoas.model
class Watched(NamedTuple):
    """The target is anywhere. Where one looks matters, and no look is as good as a shot."""

    discount: float = 0.9
    max_steps: int = 5

    action_space, observe, obs_logpdf = Targets.action_space, Targets.observe, Targets.obs_logpdf

    def initial(self, rng):
        return rng.uniform(), rng.uniform()

    def step(self, s, a, rng):
        return s, -math.hypot(s[0] - a.x, s[1] - a.y) - (0.0 if a.kind == 0 else 2.0)


def test_full_strides_in_all_directions_where_these_pay():
    """A stride short of the full one costs time, and only near the goal is one worth more."""
    rows = action_list(LightDark2DContinuous())
    go = rows[rows[:, 2] == 0.0]
    assert len(rows) == POINTS + 1 and len(go) == POINTS
    full = np.sort(go[go[:, 1] == 1.0, 0])
    assert len(full) >= 8
    assert np.diff(np.append(full, full[0] + 2.0 * math.pi)).max() < 0.5 * math.pi


def test_what_is_in_the_middle_where_that_pays():
    rows = action_list(Targets())
    shots, others = (rows[rows[:, 0] == k] for k in range(2))
    assert len(others) == 1  # where one looks changes nothing
    assert np.array_equal(shots[-1], (0.0, 0.123, 0.456))  # what a macro-action begins with is kept
    inside = (np.abs(shots[:-1, 1] - 0.7) < 0.15) & (np.abs(shots[:-1, 2] - 0.425) < 0.175)
    assert len(shots) == POINTS + 1 and inside.mean() >= 0.75  # 0.1 by chance


@pytest.mark.parametrize(("model", "kind"), [(Watched(), 0), pytest.param(VDPTagContinuous(), 1, marks=pytest.mark.law)])
def test_every_combination_of_choices_is_there_with_as_many(model: Any, kind: int):
    """A look brings nothing where the state is seen; it is not left out for that."""
    rows = action_list(model)
    assert [int((rows[:, kind] == choice).sum()) for choice in (0.0, 1.0)] == [POINTS, POINTS]
    assert np.array_equal(make_policy(model).actions, rows)


def test_a_list_stays_as_it_is():
    assert action_list(Tiger())[:, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
def test_the_same_in_every_mode_and_nobody_changes_it(mode: str):
    with airoas.running(mode):
        rows = action_list(Targets())
        rows[:] = 0.0
        assert action_list(Targets()).any()
    assert np.array_equal(action_list(Targets()), make_policy(Targets()).actions)
