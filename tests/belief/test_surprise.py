"""A belief that knows when it is lost, and finds itself again."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Agent, Particles, running, stream
from airoas.belief.ranking import rank
from airoas.belief.relocation import REMEMBERED, Relocation, doubtful, injected, reachable
from airoas.belief.surprise import RANKS, LostWarning, Surprise
from airoas.domains import Tiger
from airoas.errors import OptionError, ParticleDeprivationError
from airoas.modelling.batch import batch
from airoas.planners import Random

NOISE = 0.3


class Spot(NamedTuple):
    x: float
    out: int


class Reading(NamedTuple):
    height: float


@airoas.model
class Hills(NamedTuple):
    """A walk over hills on a round of 20 m, whose height is seen; the exit at 0 may be taken from anywhere and hardly ever fails."""

    fails: float = 0.0
    discount: float = 0.9
    max_steps: int = 30

    def actions(self):
        return ("walk", "leave")

    def initial(self, rng):
        return Spot(20.0 * rng.uniform(), 0)

    def step(self, s, a, rng):
        if a == 1:
            return Spot(s.x, 0 if rng.uniform() < self.fails else 1), 0.0
        return Spot((s.x + 1.0 + 0.1 * rng.normal()) % 20.0, 0), 0.0

    def observe(self, s, a, rng):
        return Reading(height(s.x) + NOISE * rng.normal())

    def obs_logpdf(self, o, s, a):
        z = (o.height - height(s.x)) / NOISE
        return -0.5 * z * z - math.log(NOISE * math.sqrt(2.0 * math.pi))

    def is_terminal(self, s):
        return s.out > 0


def height(x):
    return 3.0 * math.sin(0.1 * math.pi * x) + math.cos(0.2 * math.pi * x)


def sure(x: float, n: int = 500) -> Particles:
    states = np.zeros((n, 2))
    states[:, 0] = (x + np.random.default_rng(0).normal(scale=0.1, size=n)) % 20.0
    return Particles(states)


def live(agent: Agent, x: float, steps: int, stride: float = 1.0) -> list[bool]:
    """A walker's life from x on; at which steps the agent was lost."""
    rng, lost = np.random.default_rng(1), []
    for _ in range(steps):
        x = (x + stride) % 20.0
        agent.observe((height(x) + NOISE * rng.normal(),), action=0)
        lost.append(agent.lost)
    return lost


def ranks(model: Any, belief: Particles, n: int) -> list[int]:
    """Of observations that follow from states of the belief, as they do where all is right."""
    functions, numbers, action = batch(model), np.arange(n), np.zeros((1, 1))
    states = belief.states[np.random.default_rng(0).choice(len(belief), size=n, p=belief.weights)]
    functions.step(states, np.ones(n, np.bool_), action, 1, numbers, states, np.empty(n), np.empty(n, np.bool_))
    seen = np.empty((n, model.shapes.observation.size))
    functions.observe(states, numbers, action, 2, numbers, seen)
    return [rank(model, belief, 0, model.from_row("observation", row), stream(i)) for i, row in enumerate(seen)]


@pytest.mark.parametrize(
    ("model", "belief"),
    [
        (Tiger(), Particles([[0.0], [1.0]], [0.9, 0.1])),  # two observations: ties are broken by chance
        (Hills(), sure(3.0)),
        (Hills(), Particles.sample(Hills(), 3000, stream(0))),
    ],
    ids=("tiger", "sure", "anywhere"),
)
def test_every_rank_is_equally_likely_where_all_is_right(model: Any, belief: Particles) -> None:
    counts = np.bincount(ranks(model, belief, 250 * RANKS), minlength=RANKS + 1)[1:]
    assert ((counts - 250.0) ** 2 / 250.0).sum() < 103.4  # chi-square with 63 degrees of freedom, 0.1 %


def test_a_rank_among_few_leaves_ranks_of_doubtful_observations_alone() -> None:
    """One that a belief holds for unlikely is compared with all."""
    model, belief, o = Hills(), sure(3.0), (height(4.0) + 2.2 * NOISE,)
    positions = np.array([rank(model, belief, 0, o, stream(i)) for i in range(2000)])
    assert np.median(positions) <= 4  # some 2 in 64 are less likely, by the 2.2 standard deviations
    assert (positions > 12).mean() < 0.03  # where two of the first seven were, in 1 or 2 of 100


def test_interpreted_is_the_same() -> None:
    model, belief = Hills(fails=0.5), Particles.sample(Hills(), 100, stream(0))
    for action in (0, 1):
        compiled = [rank(model, belief, action, (0.5,), stream(i)) for i in range(10)]
        with running("interpreted"):
            assert compiled == [rank(model, belief, action, (0.5,), stream(i)) for i in range(10)]
        assert len(set(compiled)) > 1


def test_that_it_goes_on_may_be_the_surprise() -> None:
    belief = sure(3.0)
    seen = (height(3.0),)
    assert all(rank(Hills(fails=0.0), belief, 1, seen, stream(i)) == 1 for i in range(20))
    assert np.mean([rank(Hills(fails=0.99), belief, 1, seen, stream(i)) for i in range(20)]) > RANKS / 2


def test_what_cannot_be_is_the_least_likely() -> None:
    assert all(rank(Hills(), sure(3.0), 0, (50.0,), stream(i)) == 1 for i in range(20))


@pytest.mark.parametrize("rate", [0.01, 0.001])
def test_false_alarms_are_as_rare_as_was_asked(rate: float) -> None:
    numbers, surprise, alarms = np.random.default_rng(0), Surprise(), 0
    for position in numbers.integers(1, RANKS + 1, size=200_000):
        surprise = surprise.after(int(position), rate)
        if surprise.lost:
            alarms, surprise = alarms + 1, Surprise()
    assert alarms <= 200_000 * rate


def test_lost_until_the_evidence_is_gone() -> None:
    surprise = Surprise()
    levels = []
    for _ in range(5):
        surprise = surprise.after(1, 1e-4)
        levels.append(surprise.level)
    assert levels == sorted(levels)
    assert surprise.level == 1.0
    assert surprise.lost
    surprise = surprise.after(RANKS, 1e-4)
    assert surprise.lost  # one good reading is not enough
    while surprise.level >= 0.5:
        surprise = surprise.after(RANKS, 1e-4)
    assert not surprise.lost


@pytest.mark.parametrize("stride", [1.0, 0.4], ids=("elsewhere", "slipping"))
def test_an_agent_notices(stride: float) -> None:
    agent = Agent(Hills(), Random(), seed=0, filter="bootstrap", belief=sure(2.0 if stride < 1.0 else 12.0))
    with pytest.warns(LostWarning, match="lost at step") as caught:
        lost = live(agent, 2.0, 15, stride)
    assert len(caught) == 1
    assert any(lost)
    assert agent.surprise > 0.5


def test_an_agent_that_is_right_stays_calm() -> None:
    agent = Agent(Hills(), Random(), seed=0, filter="bootstrap", belief=sure(2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(live(agent, 2.0, 200))


def test_nothing_is_watched_where_nobody_wants_it() -> None:
    agent = Agent(Hills(), Random(), seed=0, filter="bootstrap", belief=sure(12.0), false_alarms=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(live(agent, 2.0, 15))
    assert agent.surprise == 0.0


def test_watching_changes_no_belief() -> None:
    beliefs = []
    for rate in (0.0, 1e-4):
        agent = Agent(Hills(), Random(), seed=0, particles=200, false_alarms=rate)
        live(agent, 2.0, 5)
        beliefs.append(agent.belief.states)
    assert np.array_equal(*beliefs)


def test_an_agent_finds_itself_again() -> None:
    weights = {}
    for recover in (False, True):
        agent = Agent(Hills(), Random(), seed=0, filter="bootstrap", belief=sure(12.0), particles=500, recover=recover)
        agent.prepare()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LostWarning)  # it may be back before it knows that it was lost
            live(agent, 2.0, 30)
        gaps = np.abs((agent.belief.states[:, 0] - 12.0 + 10.0) % 20.0 - 10.0)  # it started at 2 and walked 30
        weights[recover] = agent.belief.weights[gaps < 1.0].sum()
    assert weights[True] > 0.9
    assert weights[False] < 0.1


def test_a_belief_that_is_lost_says_so_and_calms_down() -> None:
    agent = Agent(Hills(), Random(), seed=0, filter="bootstrap", belief=sure(12.0), particles=500, recover=True)
    agent._surprise = Surprise(0.9)
    with pytest.warns(LostWarning):
        agent.observe((height(3.0),), action=0)
    assert "explain what is seen" in agent.recovery
    assert agent.surprise == 0.0
    assert len(agent.belief) == 1500
    assert agent.belief.weights[:500].sum() == pytest.approx(1.0 / 3.0)


def test_a_belief_that_doubts_gets_little_company_and_stays_surprised() -> None:
    agent = Agent(Hills(), Random(), seed=0, filter="bootstrap", belief=sure(12.0), particles=500, recover=True)
    agent.observe((height(3.0),), action=0)
    assert 0.0 < agent.surprise < 1.0
    assert not agent.recovery
    assert agent.belief.weights[500:].sum() == pytest.approx(0.1 * agent.surprise)
    assert (np.abs(agent.belief.states[500:, 0] - 3.0) < 1.0).any()  # where it is; it would be at 13
    assert not math.isnan(agent.updated.log_evidence)  # of the update
    many = len(agent.belief)
    agent._surprise = Surprise(0.3)
    agent.observe((height(14.0),), action=0)  # as predicted: nothing to doubt
    assert agent.surprise < 0.3
    assert len(agent.belief) == many


@pytest.mark.parametrize(
    ("before", "now", "weight"),
    [(0.2, 0.4, 0.04), (0.4, 0.4, 0.0), (0.6, 0.4, 0.0), (0.9, 1.0, 2.0 / 3.0)],
)
def test_places_are_injected_where_the_surprise_grows(before: float, now: float, weight: float) -> None:
    assert injected(Surprise(before), Surprise(now, now >= 1.0)) == pytest.approx(weight)


def test_what_was_done_long_ago_is_not_doubted() -> None:
    agent = Agent(Hills(), Random(), seed=0, filter="bootstrap", belief=sure(2.0), particles=100, recover=True)
    x = 2.0
    for _ in range(REMEMBERED + 20):
        agent._surprise = Surprise(0.5)  # it never calms down
        x += 1.0
        agent.observe((height(x),), action=0)
        assert len(agent._since) <= REMEMBERED
    assert len(agent._since) == 19


def test_a_belief_does_not_grow_without_end() -> None:
    relocation, belief = Relocation(Hills(), 500), sure(12.0, 1400)
    wider = relocation.find(belief, 2.0 / 3.0, belief, [(0, (height(3.0),))], stream(0))
    assert wider is not None
    assert len(wider) == 1500


def test_recovery_where_no_particle_is_left() -> None:
    """All of them had left, and yet it goes on."""
    for recover in (False, True):
        agent = Agent(Hills(), Random(), seed=0, filter="bootstrap", belief=sure(2.0), particles=500, recover=recover)
        if recover:
            agent.observe((height(3.0),), action=1)
            assert agent.belief.states[:, 1].max() == 0
            assert len(agent.belief) == 1000
        else:
            with pytest.raises(ParticleDeprivationError):
                agent.observe((height(3.0),), action=1)


def test_places_are_where_actions_lead_and_no_end() -> None:
    model = Tiger()
    assert set(reachable(model, 100, stream(0))[:, 0]) == {0.0, 1.0}
    states = reachable(Hills(), 2000, stream(0))
    assert len(states) == 2000
    assert not states[:, 1].any()
    assert np.histogram(states[:, 0], bins=10, range=(0.0, 20.0))[0].min() > 100


def test_actions_that_failed_or_were_done_twice() -> None:
    for stride, steps in ((0.0, 3), (2.0, 2)):
        seen = [(0, (height(17.0 + stride * t),)) for t in range(1, 1 + steps)]
        states = doubtful(Hills(), sure(17.0), seen, 3000, stream(0))
        assert states is not None
        assert (np.abs(states.states[:, 0] - (17.0 + stride * steps) % 20.0) < 0.5).mean() > 0.7
    assert doubtful(Hills(), sure(2.0), [(1, (height(2.0),))], 300, stream(0)) is not None  # it did not leave
    assert doubtful(Tiger(accuracy=1.0), Particles([[0.0]]), [(0, (1,))], 100, stream(0)) is None


def test_nothing_explains_what_cannot_be() -> None:
    relocation, left = Relocation(Tiger(accuracy=1.0), 10), Particles([[0.0]])
    other = relocation.find(None, 1.0, left, [(0, (1,))], stream(0))
    assert other is not None
    assert other.states.tolist() == [[1.0]] * 10
    both = relocation.find(left, 0.3, left, [(0, (1,))], stream(0))
    assert both is not None
    assert both.weights[0] == pytest.approx(0.7)
    with pytest.raises(OptionError, match="is no observation of Tiger"):
        relocation.find(None, 1.0, left, [(0, (7,))], stream(0))


def test_refuses() -> None:
    with pytest.raises(OptionError, match="false_alarms is 1"):
        Agent(Hills(), Random(), seed=0, false_alarms=1.0)
    with pytest.raises(OptionError, match="of another kind"):
        Agent(Tiger(), Random(), seed=0, recover=True)
