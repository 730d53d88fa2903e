"""Many decisions of POMCP at once, on a GPU or the thread that stands in for one: each is what `plan` decides."""

import pytest

import airoas
import airoas.compiler.device
from airoas import Particles, stream
from airoas.catalog import DOMAINS
from airoas.domains import Tag
from airoas.planners import POMCP
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


@pytest.mark.parametrize("name", ["tag", "rock-sample-7-8"])
def test_each_decision_is_the_cpus(name):
    model, planner = DOMAINS[name](0), POMCP(iterations=100)
    beliefs = [Particles.sample(model, 50, stream(k)) for k in range(3)]
    beliefs.append(beliefs[0])
    many = planner.plan_many(model, beliefs, [stream(9, k) for k in range(4)])
    for k, belief in enumerate(beliefs):
        alone = planner.plan(model, belief, stream(9, k))
        assert (many.actions[k], many.histories[k]) == (alone.action, alone.stats.nodes)
        assert many.values[k] == pytest.approx(alone.value, abs=1e-9)


def test_trees_that_do_not_fit_together_grow_in_waves(gpu, monkeypatch):
    model, planner = Tag(), POMCP(iterations=100)
    belief = Particles.sample(model, 50, stream(0))
    whole = planner.plan_many(model, [belief] * 4, [stream(9, k) for k in range(4)])
    monkeypatch.setattr(type(gpu), "memory", property(lambda self: (300_000, 300_000)))
    waves = planner.plan_many(model, [belief] * 4, [stream(9, k) for k in range(4)])
    assert (waves.actions == whole.actions).all()
    assert (waves.values == whole.values).all()


def test_what_it_cannot_do_is_refused():
    model = Tag()
    belief = Particles.sample(model, 50, stream(0))
    with pytest.raises(airoas.OptionError, match="iterations"):
        POMCP(seconds=1.0).plan_many(model, [belief], [stream(0)])
    with pytest.raises(airoas.OptionError, match="a stream for each"):
        POMCP(iterations=10).plan_many(model, [belief], [])
