"""Beliefs on a GPU: the CPU's numbers, and the exact posteriors. Without a GPU a stand-in does the same by one thread."""

import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from conjugate import GATED, NAN_ALWAYS, NEVER, PLAIN, Bit, Line, Ring, Seen, answer

import airoas
import airoas.belief.device
import airoas.compiler.device
from airoas import Particles, anneal
from airoas.belief.device import DeviceParticles
from airoas.belief.resampling import indices
from airoas.compiler.device import Device
from airoas.domains import LaserTag, LightDark2D
from airoas.planners import QMDP
from tools.host_device import HostDevice

SHARP = Seen(1.5, PLAIN)


@pytest.fixture(scope="module")
def gpu():
    """The GPU at hand, or one thread that stands in for it."""
    try:
        yield airoas.compiler.device.device()
        return
    except airoas.OptionError:
        stand_in = HostDevice()
    patch = pytest.MonkeyPatch()
    for module in (airoas.compiler.device, airoas.belief.device):
        patch.setattr(module, "device", lambda: stand_in)
    yield stand_in
    patch.undo()


def line_belief(n):
    return Particles(np.zeros((n, 2)))


# --- the CPU's numbers ---


def test_a_plain_update_is_the_cpus(gpu):
    model = LightDark2D()
    world = airoas.stream(1)
    state = model.initial(world)
    local = Particles.sample(model, 2000, airoas.stream(2))
    remote = DeviceParticles.sample_on(gpu, model, 2000, airoas.stream(2))
    assert np.allclose(remote.states, local.states, rtol=1e-12, atol=1e-12)
    for step in range(3):
        state, _ = model.step(state, 0, world)
        o = model.observe(state, 0, world)
        one = anneal(model, local, 0, o, airoas.stream(3, step), mode="none")
        other = anneal(model, remote, 0, o, airoas.stream(3, step), mode="none", device="cuda")
        assert other.log_evidence == pytest.approx(one.log_evidence, abs=1e-9)
        assert other.inefficiency[1] == pytest.approx(one.inefficiency[1], rel=1e-9)
        local, remote = one.belief, other.belief
        assert np.allclose(remote.states, local.states, rtol=1e-9, atol=1e-9)
        assert np.allclose(remote.weights, local.weights, rtol=1e-9, atol=1e-12)


def test_annealing_goes_the_cpus_way(gpu):
    """The same streams: but for last digits, which tip the odd decision, the same temperatures and particles."""
    model = Line()
    one = anneal(model, line_belief(4000), 0, SHARP, airoas.stream(4))
    other = anneal(model, line_belief(4000), 0, SHARP, airoas.stream(4), device="cuda")
    assert other.move == one.move
    assert len(other.betas) == len(one.betas)
    assert np.allclose(other.betas, one.betas, rtol=0.02)
    assert other.evaluations == one.evaluations
    assert np.allclose(other.acceptance, one.acceptance, atol=0.02)
    if isinstance(gpu, HostDevice):
        assert np.array_equal(other.belief.states, one.belief.states)


def test_draws_are_the_cpus(gpu):
    rng = np.random.default_rng(0)
    states, weights = rng.normal(size=(1000, 3)), rng.random(1000)
    weights[::3] = 0.0
    local = Particles(states, weights)
    for n in (1, 10, 999, 5000):
        drawn = DeviceParticles.on(gpu, local).draw(n, airoas.stream(n))
        wanted = local.draw(n, airoas.stream(n))
        assert np.mean(drawn.states == wanted.states) > 0.998
        assert not np.isin(drawn.states[:, 0], states[::3, 0]).any()
        assert np.allclose(drawn.weights, 1.0 / n)


def test_a_draw_from_one_particle_and_from_the_last(gpu):
    states = np.arange(300.0)[:, None]
    for k in (0, 128, 299):
        weights = np.zeros(300)
        weights[k] = 1e-200
        drawn = DeviceParticles.on(gpu, Particles(states, weights)).draw(500, airoas.stream(k))
        assert (drawn.states == k).all()
    assert len(indices(np.ones(3), 2, airoas.stream(0))) == 2


# --- the exact posteriors ---


@pytest.mark.parametrize("move", ["walk", "ancestors", "resimulate", "mutate", "move"])
def test_every_move_finds_the_conjugate_posterior(gpu, move):
    """A run of N = 10,000: tolerances of 5 standard errors, a tenth of those for N = 100 in test_anneal."""
    truth = answer(0.01, 1.5)
    sweeps = 8 if move == "mutate" else 2
    result = anneal(Line(), line_belief(10_000), 0, SHARP, airoas.stream(5, move), move=move, moves=sweeps, device="cuda")
    slack = 5.0 if move == "resimulate" else 1.0
    assert result.move == move
    assert abs(result.belief.mean()[0] - truth.mean) / truth.sd < 0.06 * slack
    assert result.belief.std()[0] / truth.sd == pytest.approx(1.0, abs=0.06 * slack)
    assert result.log_evidence == pytest.approx(truth.log_evidence, abs=0.2 * slack)


def test_a_belief_in_two_clusters_is_smoothed_as_one(gpu):
    """Whose kernel is so wide that the reading alone says where in the cluster one is; the CPU knows better, see test_clusters."""
    x = np.repeat([-10.0, 10.0], 2000) + 0.1 * np.random.default_rng(0).normal(size=4000)
    belief, model = Particles(np.column_stack([x, np.zeros(4000)])), Line(sd=0.05, spread=1e-6)
    result = anneal(model, belief, 0, Seen(10.2, PLAIN), airoas.stream(0), move="ancestors", device="cuda")
    assert result.move == "ancestors"
    assert result.belief.mean()[0] == pytest.approx(10.2, abs=0.02)
    assert result.belief.std()[0] == pytest.approx(0.05, rel=0.2)


def test_gibbs_is_the_exact_update_of_a_finite_model(gpu):
    model = Ring(blind=0.0)
    prior = np.array([5.0, 1.0, 1.0, 1.0, 1.0, 9.0]) / 18.0
    belief = Particles(np.repeat(np.arange(6.0), 2000)[:, None], weights=np.repeat(prior, 2000))
    exact = airoas.update(model, Particles(np.arange(6.0)[:, None], weights=prior), 0, Bit(1), airoas.stream(0), "exact")
    result = anneal(model, belief, 0, Bit(1), airoas.stream(0), device="cuda")
    assert result.move == "gibbs"
    for state, p in zip(exact.states[:, 0], exact.weights, strict=True):
        fraction = result.belief.weights[result.belief.states[:, 0] == state].sum()
        assert abs(fraction - p) < 5.0 * math.sqrt(p * (1.0 - p) / 2000)


# --- beliefs ---


def test_a_belief_stays_until_it_is_looked_at(gpu):
    model = LightDark2D()
    belief = DeviceParticles.sample_on(gpu, model, 500, airoas.stream(0))
    seen = model.observe(model.initial(airoas.stream(1)), 0, airoas.stream(2))
    after = airoas.update(model, belief, 0, seen, airoas.stream(3), "bootstrap", device="cuda")
    assert isinstance(after, DeviceParticles)
    assert after._states is None
    assert len(after) == 500
    assert after.states.shape == belief.states.shape
    again = pickle.loads(pickle.dumps(after))
    assert type(again) is Particles
    assert np.array_equal(again.states, after.states)


def test_an_agent_with_its_belief_there(gpu):
    model = LaserTag()
    agent = airoas.Agent(model, QMDP(), seed=1, filter="bootstrap", particles=400, device="cuda")
    world = airoas.stream(0, "world")
    state = model.initial(world)
    for _ in range(3):
        action = agent.act().action
        state, _ = model.step(state, action, world)
        if model.is_terminal(state):
            break
        assert isinstance(agent.observe(model.observe(state, action, world)), DeviceParticles)
    assert agent.steps


def test_the_example_of_the_page(gpu, capsys):
    page = (Path(airoas.__file__).parents[2] / "docs" / "gpu.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    exec(code if not isinstance(gpu, HostDevice) else code.replace("1_000_000", "2_000"), {})
    assert capsys.readouterr().out.startswith("Particles(N=")


# --- what goes wrong ---


def test_failures_are_the_cpus(gpu):
    model = Line()
    with pytest.raises(airoas.ModelError, match="nan"):
        anneal(model, line_belief(100), 0, Seen(1.0, NAN_ALWAYS), airoas.stream(0), device="cuda")
    with pytest.raises(airoas.ParticleDeprivationError):
        anneal(model, line_belief(100), 0, Seen(1.0, NEVER), airoas.stream(0), device="cuda")
    ended = Particles(np.column_stack([np.zeros(50), np.ones(50)]))
    with pytest.raises(airoas.ParticleDeprivationError):
        anneal(model, ended, 0, SHARP, airoas.stream(0), device="cuda")
    gated = anneal(model, line_belief(5000), 0, Seen(1.5, GATED), airoas.stream(0), move="walk", device="cuda")
    assert np.abs(gated.belief.states[gated.belief.weights > 0.0, 0] - 1.5).max() <= model.sd


def test_what_a_device_cannot_do_is_refused(gpu):
    model = Line()
    with pytest.raises(airoas.OptionError, match="'cpu' or 'cuda'"):
        airoas.update(model, line_belief(10), 0, SHARP, airoas.stream(0), device="tpu")
    with pytest.raises(airoas.OptionError, match="printed algorithm"):
        anneal(model, line_belief(10), 0, SHARP, airoas.stream(0), mode="literal", device="cuda")
    with pytest.raises(airoas.OptionError, match="update_seconds"):
        airoas.AdaptiveFilter(100, device="cuda", update_seconds=0.1)
    with pytest.raises(airoas.OptionError, match="exact update"):
        airoas.update(model, line_belief(10), 0, SHARP, airoas.stream(0), filter="exact", device="cuda")
    with pytest.raises(airoas.OptionError, match="itself"):
        airoas.update(model, line_belief(10), 0, SHARP, airoas.stream(0), filter=airoas.BootstrapFilter(), device="cuda")


def test_without_the_extra_or_a_gpu_one_sentence_says_so(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(airoas.OptionError, match="pip install") as refusal:
        Device()
    assert str(refusal.value).count("\n") == 0
