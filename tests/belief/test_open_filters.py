"""Filters of one's own: those of docs/filters.md against the exact posterior, and wherever a filter may stand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airoas
from airoas import Agent, Particles, simulate, stream
from airoas.catalog import load_class
from airoas.cli import main
from airoas.domains.rock_sample import CHECK, EAST, SAMPLE, Seen, standard
from airoas.errors import BeliefError
from airoas.experiments.rows.store import latest
from airoas.interop.gymnasium import Environment, Policy
from airoas.planners import AIROAS, ARDESPOT, PBVI, POMCP, POMCPOW, QMDP, AdaOPS, Random

EXAMPLES = Path(__file__).parents[2] / "examples"
Trolley, Kalman = (load_class(str(EXAMPLES / "kalman.py"), name) for name in ("Trolley", "Kalman"))
Factored = load_class(str(EXAMPLES / "factored.py"), "Factored")
TROLLEY, ROCKS = Trolley(), standard(5, 5)
CASES = {"kalman": (TROLLEY, Kalman()), "factored": (ROCKS, Factored())}
PLANNERS = {
    "airoas": AIROAS(iterations=10),
    "adaops": AdaOPS(iterations=5),
    "ardespot": ARDESPOT(iterations=10, scenarios=50),
    "pomcp": POMCP(iterations=100),
    "pomcpow": POMCPOW(iterations=100),
    "qmdp": QMDP(),
    "pbvi": PBVI(),
    "random": Random(),
}


def followed(model: Any, filter: Any, steps: list[tuple[int, Any]]) -> tuple[Any, float]:
    """The belief after actions and observations, and the log evidence of them all."""
    belief, evidence = filter.start(model, stream(0)), 0.0
    for t, (action, observation) in enumerate(steps):
        updated = filter.update(model, belief, action, observation, stream(0, t))
        belief, evidence = updated.belief, evidence + updated.log_evidence
    return belief, evidence


def test_the_kalman_filter_is_the_exact_posterior() -> None:
    """The whole history in one piece: states and readings are linear in the first state and the jolts, jointly Gaussian."""
    rng, count = np.random.default_rng(0), 12
    actions = rng.integers(3, size=count)
    readings = rng.normal(size=count).cumsum()
    columns = 2 + count  # position and speed at first, then a jolt for each step
    state, push, rows, offsets = np.eye(2, columns), np.zeros(2), [], []
    for t in range(count):
        state = np.array([state[0] + state[1], state[1] + TROLLEY.jolt * np.eye(1, columns, 2 + t)[0]])
        push = np.array([push[0] + push[1], push[1] + 0.3 * (actions[t] - 1)])
        rows.append(state[0])
        offsets.append(push[0])
    prior = np.diag([4.0, 0.25] + [1.0] * count)
    seen = np.array(rows)
    spread = seen @ prior @ seen.T + TROLLEY.noise**2 * np.eye(count)
    gain = state @ prior @ seen.T @ np.linalg.inv(spread)
    left = readings - offsets
    mean, covariance = push + gain @ left, state @ prior @ state.T - gain @ seen @ prior @ state.T
    evidence = -0.5 * (left @ np.linalg.solve(spread, left) + np.linalg.slogdet(2.0 * math.pi * spread)[1])

    belief, result = followed(TROLLEY, Kalman(), [(int(a), (float(o),)) for a, o in zip(actions, readings, strict=True)])
    assert belief.mean == pytest.approx(mean, abs=1e-9)
    assert belief.covariance == pytest.approx(covariance, abs=1e-9)
    assert result == pytest.approx(evidence, abs=1e-9)


def test_the_kalman_filter_is_of_the_model() -> None:
    """Beside a bootstrap filter, which knows the model only. 40,000 particles: 5 standard errors of a mean, resampling included."""
    steps = [(2, (0.5,)), (1, (1.0,)), (0, (1.2,))]
    belief, evidence = followed(TROLLEY, Kalman(), steps)
    drawn, estimate = followed(TROLLEY, airoas.BootstrapFilter(40_000), steps)
    sd = np.sqrt(np.diag(belief.covariance))
    assert (np.abs(drawn.mean() - belief.mean) < 0.05 * sd).all()
    assert drawn.std() == pytest.approx(sd, rel=0.05)
    assert estimate == pytest.approx(evidence, abs=0.05)


def test_its_particles_are_of_that_mean_and_covariance() -> None:
    belief, _ = followed(TROLLEY, Kalman(), [(2, (0.5,)), (1, (1.0,))])
    drawn = belief.particles(20_000, stream(1))
    assert len(drawn) == 20_000
    assert drawn.mean() == pytest.approx(belief.mean, abs=0.03)  # 5 standard errors and more
    assert np.cov(drawn.states.T) == pytest.approx(belief.covariance, abs=0.05)
    assert (drawn.states == belief.particles(20_000, stream(1)).states).all()


def test_the_factored_filter_is_the_exact_one() -> None:
    """A wander with checks, samples and moves: the product of the probabilities is the weight of every combination of rocks."""
    model, rng = standard(7, 8), np.random.default_rng(3)
    factored, exact = Factored().start(model, stream(0)), Particles.exact(model)
    state, log_evidence, expected = model.initial(stream(5)), 0.0, 0.0
    for t in range(60):
        legal = [a for a in range(model.n_actions) if model.legal(state, a) and not (a == EAST and state.x == model.size - 1)]
        action = int(rng.choice(legal))
        state, _ = model.step(state, action, stream(5, t))
        seen = model.observe(state, action, stream(6, t))
        updated = Factored().update(model, factored, action, seen, stream(7))
        factored, log_evidence = updated.belief, log_evidence + updated.log_evidence
        if action >= CHECK:
            likely = [math.exp(model.obs_logpdf(seen, model.from_row("state", row), action)) for row in exact.states]
            expected += math.log(exact.weights @ likely)
        exact = airoas.update(model, exact, action, seen, stream(0), "exact")
    assert (factored.x, factored.y) == (state.x, state.y)
    rocks = exact.states[:, 2].astype(int)[:, None] >> np.arange(8) & 1
    assert exact.weights @ rocks == pytest.approx(factored.good, abs=1e-12)
    assert np.where(rocks, factored.good, 1.0 - factored.good).prod(axis=1) == pytest.approx(exact.weights, abs=1e-12)
    assert log_evidence == pytest.approx(expected, abs=1e-9)
    assert ((factored.good > 0.0) & (factored.good < 1.0)).any(), "it must not all be known, or little was tested"


def test_the_factored_filter_takes_the_end_and_what_cannot_be_for_what_they_are() -> None:
    belief = Factored().start(ROCKS, stream(0))._replace(x=ROCKS.size - 1)
    with pytest.raises(BeliefError, match="after east cannot be"):
        Factored().update(ROCKS, belief, EAST, Seen(2), stream(0))
    on_rock = belief._replace(x=ROCKS.rocks[0][0], y=ROCKS.rocks[0][1])
    bad = Factored().update(ROCKS, on_rock, SAMPLE, Seen(2), stream(0)).belief
    assert bad.good[0] == 0.0
    with pytest.raises(BeliefError, match="cannot be"):  # at no distance a check is never wrong
        Factored().update(ROCKS, bad, CHECK, Seen(1), stream(0))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", PLANNERS)
def test_every_planner_that_fits_plans_with_them(case: str, name: str) -> None:
    (model, filter), planner = CASES[case], PLANNERS[name]
    unfit = planner.fits(model) if hasattr(planner, "fits") else None
    assert bool(unfit) == ((case, name) in {("kalman", "qmdp"), ("kalman", "pbvi"), ("factored", "pbvi")})
    if unfit:
        return
    episode = simulate(model, planner, seed=1, filter=filter, particles=100, max_steps=4)
    assert episode.filter_name == type(filter).__name__
    assert all(math.isfinite(step.log_evidence) for step in episode.trace[: episode.steps - episode.terminated])
    again = simulate(model, planner, seed=1, filter=filter, particles=100, max_steps=4)
    assert [step.action for step in episode.trace] == [step.action for step in again.trace]
    assert [step.mean.tolist() for step in episode.trace] == [step.mean.tolist() for step in again.trace]


@pytest.mark.parametrize("case", CASES)
def test_agent_simulate_and_gymnasium_keep_the_same_beliefs(case: str) -> None:
    model, filter = CASES[case]
    options = {"filter": filter, "particles": 50}
    episode = simulate(model, Random(), seed=2, max_steps=5, **options)
    agent = Agent(model, Random(), seed=2, **options)
    environment, policy = Environment(model, max_steps=5), Policy(model, Random(), seed=2, **options)
    observation, _ = environment.reset(seed=2)
    beliefs = list(episode.beliefs())
    for t, step in enumerate(episode.trace):
        assert (beliefs[t].states == agent.particles.states).all()
        assert len(agent.particles) == 50
        action = policy(observation)
        observation, reward, *_ = environment.step(action)
        assert (action, tuple(observation), reward) == (step.action, tuple(map(float, step.observation)), step.reward)
        assert agent.act().action == action
        if t + 1 < episode.steps:
            agent.observe(step.observation)
            assert agent.updated.log_evidence == step.log_evidence


def test_update_takes_a_filter() -> None:
    start = Kalman().start(TROLLEY, stream(0))
    after = airoas.update(TROLLEY, start, 1, (0.5,), stream(0), filter=Kalman())
    assert after.mean.tolist() == Kalman().update(TROLLEY, start, 1, (0.5,), stream(0)).belief.mean.tolist()


def test_experiments_take_a_filter_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("kalman.py", "factored.py"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text())
    file = tmp_path / "mine.toml"
    file.write_text(
        "episodes = 2\nparticles = 60\nmax_steps = 4\n[planners.random]\n"
        "[[parts]]\nname = 'rail'\ndomains = ['kalman.py:Trolley']\nfilter = 'kalman.py:Kalman'\n"
        "[[parts]]\nname = 'rocks'\ndomains = ['rock-sample-7-8']\nfilter = 'factored.py:Factored'\n"
    )
    assert main(["bench", str(file), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 0, capsys.readouterr().err
    rows = latest(tmp_path / "out").values()
    assert sorted(row["used_filter"] for row in rows) == ["Factored", "Factored", "Kalman", "Kalman"]
    for row in rows:
        model, filter = (TROLLEY, Kalman()) if row["used_filter"] == "Kalman" else (standard(7, 8), Factored())
        episode = simulate(model, Random(), row["seed"], filter, particles=60, max_steps=4)
        assert row["discounted_return"] == episode.discounted_return
