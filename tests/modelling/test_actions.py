"""Action spaces: what they declare, draws, refusals with a remedy, Gymnasium, check, and lists of actions made of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Box, Choice, ModelError, OptionError, Vector
from airoas.bounds import find_bounds
from airoas.domains import LightDark2DContinuous
from airoas.domains.strangers.vdp_tag import VDPTagContinuous
from airoas.modelling.discretised import discretised
from airoas.modelling.spread import idle_choices, spread_actions
from airoas.planners import POMCPOW, Random


class Where(NamedTuple):
    x: float


class Push(NamedTuple):
    mode: int
    force: float
    joints: Vector[2]


@airoas.model
class Mixed(NamedTuple):
    """Every kind of part."""

    strength: float = 2.0
    discount: float = 0.9
    max_steps: int = 5

    def action_space(self):
        return Push(mode=Choice("idle", "push", "pull"), force=Box(-self.strength, self.strength), joints=Box((0.0, -1.0), 1.0))

    def initial(self, rng):
        return Where(rng.normal())

    def step(self, s, a, rng):
        x = s.x + (a.force if a.mode == 1 else -a.force if a.mode == 2 else 0.0) + a.joints[0] - a.joints[1]
        return Where(x), -abs(x)

    def observe(self, s, a, rng):
        return Where(s.x + rng.normal())

    def obs_logpdf(self, o, s, a):
        return -0.5 * (o.x - s.x) * (o.x - s.x) - 0.5 * math.log(2.0 * math.pi)


def test_axes_in_the_order_of_a_row():
    space = Mixed().space
    assert [axis.name for axis in space.axes] == ["mode", "force", "joints[0]", "joints[1]"]
    assert space.low.tolist() == [0.0, -2.0, 0.0, -1.0] and space.high.tolist() == [2.0, 2.0, 1.0, 1.0]
    assert space.boxes.tolist() == [False, True, True, True] and space.n_choices == 3
    assert Mixed().n_actions == 0 and Mixed().shapes.action.size == 4


def test_draws_fill_the_space_and_depend_on_the_parameters():
    for strength in (2.0, 0.5):
        model, rng = Mixed(strength=strength), airoas.stream(0)
        rows = np.array([model.shapes.action.to_row(model.sample_action(Where(0.0), rng)) for _ in range(500)])
        assert all(model.space.problem(row) is None for row in rows)
        assert set(rows[:, 0]) == {0.0, 1.0, 2.0}
        assert rows[:, 1:].min(axis=0) == pytest.approx([-strength, 0.0, -1.0], abs=0.05)
        assert rows[:, 1:].max(axis=0) == pytest.approx([strength, 1.0, 1.0], abs=0.05)


def test_check_finds_nothing_and_the_simplest_planner_plays():
    report = airoas.check(Mixed())
    assert report.diagnostics == (), str(report)
    assert airoas.simulate(Mixed(), Random(), seed=0, particles=50).steps == 5


@pytest.mark.parametrize(
    ("action", "problem", "remedy"),
    [
        (Push(1, 2.5, Vector[2]((0.0, 0.0))), "force is 2.5, outside -2 .. 2", "from -2 to 2"),
        (Push(3, 0.0, Vector[2]((0.0, 0.0))), "mode is 3, which is none of 0, 1, 2", "idle, push, pull"),
        (Push(1, math.nan, Vector[2]((0.0, 0.0))), "force is nan", "from -2 to 2"),
        (Push(1, 0.0, Vector[2]((0.0, -1.5))), r"joints\[1\] is -1.5", "from -1 to 1"),
    ],
)
def test_an_action_outside_its_space_is_refused_with_the_remedy(action, problem, remedy):
    with pytest.raises(OptionError, match=problem) as caught:
        Mixed().row("action", action)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        (5, "not a tuple"),
        ((1.0,), "returns"),
        ((Box(1.0, 1.0),), "offers"),
        ((Box(0.0, math.inf),), "offers"),
        ((Choice(),), "offers"),
        (Push(Choice("a"), Box(0.0, 1.0), Box((0.0, 0.0, 0.0), 1.0)), "shape|numbers"),
    ],
)
def test_spaces_that_are_none(declared, problem):
    @airoas.model
    class Wrong(NamedTuple):
        discount: float = 0.9

        def action_space(self):
            return declared

    with pytest.raises(ModelError, match=problem):
        _ = Wrong().space


def test_draws_outside_the_space_are_said():
    @airoas.model
    class Outside(NamedTuple):
        discount: float = 0.9

        def action_space(self):
            return (Box(0.0, 1.0),)

        def sample_action(self, s, rng):
            return (2.0,)

        def initial(self, rng):
            return Where(0.0)

        def step(self, s, a, rng):
            return s, 0.0

        def observe(self, s, a, rng):
            return Where(0.0)

        def obs_logpdf(self, o, s, a):
            return 0.0

    with pytest.raises(ModelError, match=r"not in `action_space`: number 0 is 2, outside 0 \.\. 1"):
        _ = Outside().shapes


def test_names_for_people():
    assert Mixed().action_text(Push(1, 0.25, Vector[2]((0.5, -1.0)))) == "mode push, force 0.25, joints[0] 0.5, joints[1] -1"


def test_spread_covers_every_choice_and_the_box():
    space = Mixed().space
    rows = space.spread(30)
    assert len(rows) == 30 and all(space.problem(row) is None for row in rows)
    assert len(np.unique(rows, axis=0)) == 30
    for k in (1, 2, 3):
        part = (rows[:10, k] - space.low[k]) / (space.high[k] - space.low[k])
        assert len(set((part * 4).astype(int))) == 4  # every quarter


def test_a_list_of_actions_does_what_they_do():
    model = Mixed(strength=1.0)
    rows = model.space.spread(12)
    finite = discretised(model, rows)
    assert finite.n_actions == 12 and finite.shapes.state == model.shapes.state
    for a, row in enumerate(rows):
        action = model.from_row("action", row)
        assert finite.step(Where(0.3), a, airoas.stream(1)) == model.step(Where(0.3), action, airoas.stream(1))
    assert airoas.check(finite).diagnostics == ()
    assert finite == discretised(Mixed(strength=1.0), rows) and finite != discretised(model, rows[:6])


def test_bounds_of_a_continuous_model_are_estimates_over_its_states():
    model = Mixed()
    bounds = find_bounds(model, (-20.0, 0.0))
    belief = airoas.Particles.sample(model, 10, airoas.stream(0))
    assert bounds.at(model, belief) == pytest.approx((-20.0, 0.0), abs=1e-12)


def test_gymnasium_has_the_same_space():
    gymnasium = pytest.importorskip("gymnasium")
    from airoas.interop.gymnasium import Environment, Policy

    env = Environment(Mixed())
    assert isinstance(env.action_space, gymnasium.spaces.Dict)
    assert env.action_space["mode"].n == 3 and env.action_space["force"].high[0] == 2.0
    env.reset(seed=1)
    env.action_space.seed(0)
    _, reward, _, _, info = env.step(env.action_space.sample())
    assert reward == -abs(info["state"].x)
    with pytest.raises(OptionError, match="force is 3"):
        env.step({"mode": 1, "force": [3.0], "joints[0]": [0.0], "joints[1]": [0.0]})
    with pytest.raises(OptionError, match="no force"):
        env.step({"mode": 1})
    policy = Policy(Mixed(), POMCPOW(iterations=20), seed=0, particles=50)
    assert env.action_space.contains({name: np.asarray(x) if name != "mode" else x for name, x in policy(np.zeros(1)).items()})
    assert isinstance(Environment(VDPTagContinuous()).action_space, gymnasium.spaces.Dict)


def test_where_a_choice_makes_the_other_numbers_mean_nothing_one_action_stands_for_all():
    model = LightDark2DContinuous()
    for n in (12, 24):
        rows = spread_actions(model, n)
        assert rows.shape == (n, 3) and rows[:, 2].sum() == 1.0
        assert len(np.unique(rows[rows[:, 2] == 0.0, 0])) == n - 1


class Doing(NamedTuple):
    kind: int
    by: float


@airoas.model
class Late(NamedTuple):
    """`use` does nothing before step 10, `wait` never does anything."""

    discount: float = 0.9
    max_steps: int = 30

    def action_space(self):
        return Doing(Choice("go", "use", "wait"), Box(0.0, 1.0))

    def initial(self, rng):
        return (0.0, 0.0)

    def step(self, s, a, rng):
        moves = a.kind == 0 or (a.kind == 1 and s[0] >= 10.0)
        return (s[0] + 1.0, s[1] + (a.by if moves else 0.0)), 0.0

    def observe(self, s, a, rng):
        return (s[1],)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o[0] == s[1] else -math.inf


def test_what_an_action_leads_to_is_looked_for_along_walks():
    model = Late()
    assert idle_choices(model, model.space.spread(12)) == {(2.0,)}
    with airoas.running("interpreted"):
        assert idle_choices(model, model.space.spread(12)) == {(2.0,)}
    kinds = spread_actions(model, 13)[:, 0]
    assert [int((kinds == k).sum()) for k in range(3)] == [6, 6, 1]


def test_nothing_is_left_out_where_the_numbers_matter():
    for model in (Mixed(), VDPTagContinuous()):
        assert idle_choices(model, model.space.spread(12)) == frozenset()
        assert np.array_equal(spread_actions(model, 12), model.space.spread(12))
