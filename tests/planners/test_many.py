"""Many decisions at once, on a GPU or the thread that stands in for one: each is what `plan` decides."""

import numpy as np
import pytest

import airoas
import airoas.compiler.device
from airoas import Particles, stream
from airoas.catalog import DOMAINS
from airoas.domains import Tag
from airoas.planners import AIROAS, ARDESPOT, POMCP, AdaOPS
from airoas.planners.bounded import many as bounded
from tools.host_device import HostDevice


@pytest.fixture(scope="module", autouse=True)
def gpu():
    try:
        yield airoas.compiler.device.device()
        return
    except airoas.OptionError:
        stand_in = HostDevice()
    patch = pytest.MonkeyPatch()
    patch.setattr(airoas.compiler.device, "device", lambda: stand_in)
    yield stand_in
    patch.undo()


def decisions(planner, model):
    """Four decisions for three beliefs: at once, and one by one, with their streams."""
    beliefs = [Particles.sample(model, 50, stream(k)) for k in range(3)]
    beliefs.append(beliefs[0])
    rngs, others = ([stream(9, k) for k in range(4)] for _ in range(2))
    many = planner.plan_many(model, beliefs, rngs)
    alone = [planner.plan(model, belief, rng) for belief, rng in zip(beliefs, others, strict=True)]
    return many, alone, rngs, others


@pytest.mark.parametrize("name", ["tag", "rock-sample-7-8"])
def test_each_decision_is_the_cpus(name):
    many, alone, _, _ = decisions(POMCP(iterations=100), DOMAINS[name](0))
    assert [(d.action, d.stats.nodes, d.stats.trials) for d in alone] == [*zip(many.actions, many.nodes, many.trials, strict=True)]
    assert many.values == pytest.approx([d.value for d in alone], abs=1e-9)


@pytest.mark.parametrize(
    ("name", "planner", "kind"),
    [
        ("light-dark-1.0", AIROAS(iterations=20, target_inefficiency=1.5), "annealed"),
        ("light-dark-1.0", AdaOPS(iterations=10), "expansions"),
        pytest.param("tag", AIROAS(iterations=20, policy="none"), "expansions", marks=pytest.mark.law),
        ("tag", ARDESPOT(iterations=10, scenarios=50), "expansions"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "iterations") else value,
)
def test_each_decision_of_a_bounded_tree_is_the_cpus(name, planner, kind):
    """kind: what must have happened for this to say anything."""
    many, alone, rngs, others = decisions(planner, DOMAINS[name](0))
    assert all(d.stats.notes[kind] > 0 for d in alone)
    assert len({d.stats.nodes for d in alone}) > 1, "the trees are different ones"
    assert [(d.action, d.stats.nodes, d.stats.trials) for d in alone] == [*zip(many.actions, many.nodes, many.trials, strict=True)]
    for ours, theirs in ((many.values, "value"), (many.lower, "lower"), (many.upper, "upper")):
        assert ours == pytest.approx([getattr(d, theirs) for d in alone], abs=1e-9)
    assert [rng.uniform() for rng in rngs] == [rng.uniform() for rng in others]


def test_trees_that_do_not_fit_together_grow_in_waves(gpu, monkeypatch):
    model, planner = Tag(), POMCP(iterations=100)
    belief = Particles.sample(model, 50, stream(0))
    whole = planner.plan_many(model, [belief] * 4, [stream(9, k) for k in range(4)])
    monkeypatch.setattr(type(gpu), "memory", property(lambda self: (300_000, 300_000)))
    waves = planner.plan_many(model, [belief] * 4, [stream(9, k) for k in range(4)])
    assert (waves.actions == whole.actions).all()
    assert (waves.values == whole.values).all()


@pytest.mark.parametrize(("more", "log"), [(0.0, 1 << 20), (4.0, -700)], ids=["rows", "log"])
def test_a_tree_that_outgrows_its_room_is_grown_again(monkeypatch, more, log):
    model, planner = DOMAINS["light-dark-1.0"](0), AdaOPS(iterations=60)
    belief = Particles.sample(model, 50, stream(0))
    rooms, grow = [], bounded._Searches.grow

    def counted(self, capacity, which, is_full):
        rooms.append(len(which))
        return grow(self, capacity, which, is_full)

    monkeypatch.setattr(bounded._Searches, "grow", counted)
    wanted = planner.plan_many(model, [belief] * 4, [stream(9, k) for k in range(4)])
    assert rooms == [4]
    monkeypatch.setattr(bounded, "_MORE", more)
    monkeypatch.setattr(bounded, "_LOG", log)
    planner.find(model)[0].capacity = None
    again = planner.plan_many(model, [belief] * 4, [stream(9, k) for k in range(4)])
    assert len(rooms) > 2
    for ours, theirs in zip(again, wanted, strict=True):
        assert np.array_equal(ours, theirs)


def test_memory_ends_a_search_where_it_does_on_the_cpu():
    model, planner = DOMAINS["light-dark-1.0"](0), AdaOPS(iterations=1000, memory=1_000_000)
    belief = Particles.sample(model, 50, stream(0))
    many, alone = planner.plan_many(model, [belief], [stream(9)]), planner.plan(model, belief, stream(9))
    assert alone.stats.stop == "memory"
    assert (many.nodes[0], many.trials[0]) == (alone.stats.nodes, alone.stats.trials)


class Advised(AdaOPS):
    """Asks a policy, as AIROAS does where it has learned one."""

    def advisor(self, model, bounds):
        return object()


def test_what_it_cannot_do_is_refused():
    model = Tag()
    belief = Particles.sample(model, 50, stream(0))
    for kind in (POMCP, AdaOPS):
        with pytest.raises(airoas.OptionError, match="iterations"):
            kind(seconds=1.0).plan_many(model, [belief], [stream(0)])
    with pytest.raises(airoas.OptionError, match="a stream for each"):
        POMCP(iterations=10).plan_many(model, [belief], [])
    with pytest.raises(airoas.OptionError, match="policy='none'"):
        Advised(iterations=10).plan_many(model, [belief], [stream(0)])
    parking = DOMAINS["parking"](0)
    with pytest.raises(airoas.OptionError, match="list"):
        AdaOPS(iterations=10).plan_many(parking, [Particles.sample(parking, 50, stream(0))], [stream(0)])
