"""The algorithm as printed: what it does, asserted as a documented fact, so that nobody mistakes it for a filter."""

import math

import numpy as np
import pytest
from conjugate import PLAIN, Line, Seen, answer

import airoas
from airoas import Particles, anneal
from airoas.domains import LightDark, Tag, Tiger

FIRST, SECOND = 0.00675966, 0.00747201  # the first two of its temperatures


def literal(model, belief, seen, seed, **options):
    return anneal(model, belief, 0, seen, airoas.stream(seed), mode="literal", **options)


@pytest.mark.parametrize("sd", [0.01, 0.1, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("target", [2.0, 10.0])
@pytest.mark.parametrize("weights", ["likelihood", "kept", "one"])
def test_it_stops_after_one_or_two_of_its_hundred_temperatures(sd, target, weights):
    for seed in range(20):
        result = literal(
            Line(sd=sd), Particles(np.zeros((200, 2))), Seen(1.5, PLAIN), seed, target_inefficiency=target, literal_weights=weights
        )
        assert len(result.betas) in (2, 3)
        assert result.betas[-1] == pytest.approx((FIRST, SECOND)[len(result.betas) - 2], abs=1e-8)
        assert result.move == "literal"


@pytest.mark.parametrize(("weights", "low", "high"), [("likelihood", 5.5, 8.5), ("one", 10.0, 13.5)])
def test_a_sharp_reading_leaves_the_belief_many_times_too_wide(weights, low, high):
    """6 to 8 times with leaf weights of L, 10 to 12 times with weights of 1, as an independent study in numpy found (N = 500)."""
    truth = answer(0.01, 1.5)
    belief = Particles(np.zeros((500, 2)))
    runs = [literal(Line(), belief, Seen(1.5, PLAIN), seed, literal_weights=weights) for seed in range(40)]
    assert low < np.median([r.belief.std()[0] for r in runs]) / truth.sd < high
    assert all(r.belief.inefficiency < 1.05 for r in runs)  # and yet the effective sample size looks healthy


def test_weights_of_one_ignore_a_mild_reading():
    """Posterior sd 0.71; what comes back is the prior, sd 1."""
    belief = Particles(np.zeros((2000, 2)))
    spread = np.median([literal(Line(sd=1.0), belief, Seen(1.0, PLAIN), k, literal_weights="one").belief.std()[0] for k in range(10)])
    assert spread == pytest.approx(1.0, abs=0.05)


def test_parent_weights_are_dropped_unless_kept():
    """Two parents far apart, one with almost all the weight: the print gives both the same say (Alg. 3, line 8)."""
    n = 1000
    states = np.column_stack([np.r_[np.full(n, -3.0), np.full(n, 3.0)], np.zeros(2 * n)])
    belief = Particles(states, weights=np.r_[np.full(n, 0.99), np.full(n, 0.01)])
    right = {
        weights: float((result.belief.weights * (result.belief.states[:, 0] > 0.0)).sum())
        for weights in ("likelihood", "kept")
        for result in [literal(Line(sd=100.0), belief, Seen(0.0, PLAIN), 1, literal_weights=weights, target_inefficiency=50.0)]
    }
    assert right["likelihood"] == pytest.approx(0.5, abs=0.02)
    assert right["kept"] == pytest.approx(0.01, abs=0.005)


def test_the_constant_of_the_step_needs_a_reading_in_the_space_of_states():
    with pytest.raises(airoas.OptionError, match="space of states"):
        literal(Line(), Particles(np.zeros((5, 2))), Seen(1.5, PLAIN), 0, literal_constant=0.01)
    with pytest.raises(airoas.OptionError, match="space of states"):
        literal(Tiger(), Particles.exact(Tiger()), Tiger().observe(Tiger().state(0), 0, airoas.stream(0)), 0)


def test_the_constant_sets_the_width_of_the_step():
    model, belief = LightDark(), Particles.sample(LightDark(), 300, airoas.stream(0))
    reading = model.observe(model.from_row("state", np.array([5.0, 0.0])), 0, airoas.stream(1))
    spread = [np.median([literal(model, belief, reading, k, literal_constant=c).belief.std()[0] for k in range(10)]) for c in (0.01, 4.0)]
    assert spread[0] < spread[1]


def test_on_tag_it_moves_the_opponent_only_where_particles_died():
    """Likelihoods of 0 and 1: In_eff is N over the number alive, at most r* = 2 as a rule, and the loop ends at once."""
    model = Tag()
    states = np.column_stack([np.full(290, 3.0), np.tile(np.arange(29.0), 10), np.zeros(290)])
    seen = model.observe(model.from_row("state", np.array([3.0, 20.0, 0.0])), 4, airoas.stream(0))
    result = anneal(model, Particles(states), 4, seen, airoas.stream(0), mode="literal")
    assert len(result.betas) == 2
    assert result.inefficiency[0] == pytest.approx(290 / np.count_nonzero(result.belief.weights))
    assert math.isfinite(result.log_evidence)
