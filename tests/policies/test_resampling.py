"""Beliefs in simulated runs: as sure as the exact posterior, and no surer where readings are many and numbers stand still."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas.policies.belief_mdp import roll_out
from airoas.policies.qmdp import make_policy
from airoas.policies.runs import make_runs
from airoas.rng import stream

RUNS, PARTICLES, STEPS = 128, 600, 20
EFFECTIVE = 10.0


@airoas.model
class Still(NamedTuple):
    """Four normal numbers that nothing moves, each read again and again; a fifth beside the first, and one of two kinds."""

    noise: float = 0.5
    read: int = 1
    exact: int = 0
    edge: float = 100.0
    discount: float = 0.95
    max_steps: int = 100

    def actions(self):
        return ("wait", "go")

    def initial(self, rng):
        first = min(rng.normal(), self.edge - 0.001)
        return first, first + 1.0, rng.integer(2), rng.normal(), rng.normal(), rng.normal()

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        if self.exact:
            return s[0], 0.0, 0.0, 0.0
        read = s[0] + self.noise * rng.normal(), s[3] + self.noise * rng.normal()
        return *read, s[4] + self.noise * rng.normal(), s[5] + self.noise * rng.normal()

    def obs_logpdf(self, o, s, a):
        if self.exact:
            return 0.0 if o[0] == s[0] else -math.inf
        z = ((o[0] - s[0]) ** 2 + (0.0 if self.read == 1 else (o[1] - s[3]) ** 2 + (o[2] - s[4]) ** 2 + (o[3] - s[5]) ** 2)) / self.noise**2
        return -0.5 * z

    def is_terminal(self, s):
        return s[0] > self.edge


def after_readings(model: Any, effective: float) -> np.ndarray:
    """[RUNS, PARTICLES, .] the truth and particles of each run after some readings."""
    policy = make_policy(model)
    states = np.array(airoas.Particles.sample(model, 20_000, stream(0)).states)
    runs = make_runs(model, policy, RUNS, PARTICLES)
    runs.effective = effective
    roll_out(policy, runs, states, np.full(len(states), 1.0 / len(states)), np.zeros(len(states), np.int64), STEPS, 1)
    return np.array(runs.states).reshape(RUNS, PARTICLES, -1)


def exact_deviation(noise: float) -> float:
    return 1.0 / math.sqrt(1.0 + STEPS / noise**2)


@pytest.mark.parametrize("noise", [0.5, 0.1])
def test_a_belief_is_as_wide_as_the_posterior_and_holds_the_truth(noise: float) -> None:
    rows = after_readings(Still(noise=noise), EFFECTIVE)
    deviations, off = rows[:, 1:, 0].std(axis=1), rows[:, 0, 0] - rows[:, 1:, 0].mean(axis=1)
    assert deviations.mean() == pytest.approx(exact_deviation(noise), rel=0.1)
    assert np.mean((off / deviations) ** 2) == pytest.approx(1.0, abs=4.0 * math.sqrt(2.0 / RUNS))  # of a normal number; one in 10,000


def test_of_many_numbers_doubt_stays_where_copies_alone_would_lose_it() -> None:
    model, exact = Still(read=4), exact_deviation(0.5)
    spread, copies = (after_readings(model, effective)[:, 1:, 0].std(axis=1).mean() / exact for effective in (EFFECTIVE, 0.0))
    assert copies < 0.25 < 0.45 < spread < 1.1


def test_what_is_linear_or_counted_stays_so() -> None:
    rows = after_readings(Still(read=4), EFFECTIVE)
    assert np.abs(rows[..., 1] - rows[..., 0] - 1.0).max() < 1e-12
    assert set(np.unique(rows[..., 2])) == {0.0, 1.0}
    assert len(np.unique(rows[0, 1:, 0])) > 50  # copies have moved


def test_nothing_moves_into_an_end() -> None:
    model = Still(read=4, edge=0.2)
    rows = after_readings(model, EFFECTIVE)
    assert rows[..., 0].max() <= model.edge


def test_where_nothing_else_explains_a_reading_the_truth_is_all_that_is_left() -> None:
    rows = after_readings(Still(exact=1), EFFECTIVE)
    assert (rows == rows[:, :1]).all()
