"""Exact filters against bootstrap filters of 100,000 particles, over 20 random action-observation sequences per domain.

Two independent bootstrap filters A and B run beside the exact one E. Posterior means of every component (each rock's bit in
RockSample) are compared in units of the exact posterior's standard deviation. If E is right, A - E is as large as
(A - B) / sqrt(2) on the whole: the root mean squares over all sequences, steps and components must agree within a
factor of 1.5. Their ratio is near 1 with a spread of about 0.1 (the values of one sequence hang together), so a false alarm
has a chance below 1e-3, and a bias of E the size of the Monte Carlo error, about a hundredth of a standard deviation, is seen.
"""

import numpy as np
import pytest

import airoas
from airoas import Particles, update
from airoas.catalog import find_domain

SEQUENCES, STEPS, PARTICLES = 20, 8, 100_000
ENDING = {"stop"}


def features(model, belief):
    """[N, f] whose means are compared."""
    if type(model).__name__ == "RockSample":
        bits = belief.states[:, 2].astype(np.int64)
        return np.column_stack([belief.states[:, :2], *[(bits >> k) & 1 for k in range(model.n_actions - 5)]])
    return belief.states


def moments(model, belief):
    values, weights = features(model, belief), belief.weights
    mean = weights @ values
    return mean, np.sqrt(weights @ np.square(values - mean))


@pytest.mark.law
@pytest.mark.parametrize(
    "name", ["tiger", "light-dark-0.5", "light-dark-1.0", "tag", "tag-modified", "laser-tag", "rock-sample-7-8", "rock-sample-11-11"]
)
def test_exact_agrees_with_bootstrap(name):
    model = find_domain(name)(0)
    against_exact, against_each_other = [], []
    for sequence in range(SEQUENCES):
        world = airoas.stream(sequence, "law", name)
        s = model.initial(world)
        exact = Particles.exact(model)
        pair = [Particles.sample(model, PARTICLES, airoas.stream(sequence, "law", which)) for which in ("A", "B")]
        for step in range(STEPS):
            legal = [a for a in range(model.n_actions) if model.legal(s, a) and model.action_names[a] not in ENDING]
            a = legal[world.integer(len(legal))]
            s, _ = model.step(s, a, world)
            if model.is_terminal(s):
                break
            o = model.observe(s, a, world)
            exact = update(model, exact, a, o, airoas.stream(0), "exact")
            pair = [
                update(model, belief, a, o, airoas.stream(sequence, which, step), "bootstrap")
                for belief, which in zip(pair, ("A", "B"), strict=True)
            ]
            (mean, spread), (mean_a, _), (mean_b, _) = (moments(model, belief) for belief in (exact, *pair))
            known = spread < 1e-9
            assert np.allclose(mean_a[known], mean[known], atol=1e-6)
            against_exact.append((mean_a - mean)[~known] / spread[~known])
            against_each_other.append((mean_a - mean_b)[~known] / np.sqrt(2.0) / spread[~known])
    ours, theirs = (float(np.sqrt(np.square(np.concatenate(errors)).mean())) for errors in (against_exact, against_each_other))
    print(f"{name}: rms (A - E) {ours:.5f} sd, rms (A - B) / sqrt 2 {theirs:.5f} sd, ratio {ours / theirs:.2f}")
    assert ours < 1.5 * theirs + 1e-9
