"""Clusters of particles, and the smoothing that keeps to them."""

from types import SimpleNamespace

import numpy as np
import pytest
from conjugate import PLAIN, Line, Seen

import airoas
from airoas import Particles, anneal
from airoas.belief.tempering.clusters import find_clusters, find_cut, make_clusters, most_clusters
from airoas.belief.tempering.smoothing import find_ends
from airoas.compiler.specialise import specialise


def clusters_of(rows, weights=None):
    """[N] the label of each particle, over all columns."""
    n, d = rows.shape
    labels, order = np.full((2, n), -1)
    weights = np.full(n, 1.0 / n) if weights is None else weights
    find_clusters(make_clusters(most_clusters(n)), rows, weights, np.arange(d), d, order, labels)
    return labels


@pytest.mark.parametrize("centres", [[(0, 0), (50, 0)], [(0, 0), (20, 0), (40, 0)], [(0, 0), (0, 30), (30, 0), (30, 30), (60, 10)]])
def test_clusters_are_told_apart(centres):
    numbers = np.random.default_rng(0)
    centre = numbers.integers(len(centres), size=200 * len(centres))
    labels = clusters_of(np.array(centres, float)[centre] + numbers.normal(size=(len(centre), 2)))
    for label in range(labels.max() + 1):
        assert len(set(centre[labels == label])) == 1  # no cluster has particles of two
    assert labels.max() + 1 == len(centres)


@pytest.mark.parametrize("seed", range(5))
def test_a_normal_belief_is_one_cluster(seed):
    covariance = [[4.0, 1.9], [1.9, 1.0]]
    assert clusters_of(np.random.default_rng(seed).multivariate_normal([3.0, -1.0], covariance, 2000)).max() == 0


def test_a_ring_is_cut_into_arcs():
    """Its own covariance is as wide as the ring; a sixth of it and less is in each direction narrower than the ring is."""
    angles = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, 4000)
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    labels = clusters_of(rows)
    assert labels.max() >= 8
    for label in range(labels.max() + 1):
        assert rows[labels == label].std(axis=0).max() < 0.35


def test_a_cluster_has_particles_that_differ_on_every_axis():
    numbers = np.random.default_rng(0)
    rows = np.column_stack([numbers.integers(2, size=600) * 10.0, numbers.normal(size=600)])  # two points on one axis
    assert clusters_of(rows).max() == 0
    few = np.column_stack([np.repeat([0.0, 9.0], [590, 10]) + 0.1 * numbers.normal(size=600), numbers.normal(size=600)])
    assert clusters_of(few).max() == 0  # ten are too few


def test_particles_without_weight_are_in_no_cluster_of_their_own():
    numbers = np.random.default_rng(0)
    rows = np.concatenate([numbers.normal(size=(300, 2)), 100.0 + numbers.normal(size=(300, 2))])
    weights = np.repeat([1.0 / 300.0, 0.0], 300)
    assert clusters_of(rows, weights).max() == 0


def two_clusters(n, seed):
    """Half at -10, half at 10, each with a standard deviation of 0.1."""
    x = np.repeat([-10.0, 10.0], n // 2) + 0.1 * np.random.default_rng(seed).normal(size=n)
    return Particles(np.column_stack([x, np.zeros(n)]))


def errors(runs=20, n=600):
    """Of mean and spread, over the posterior's: the prior's cluster N(10, 0.1) times a reading of 10.2 with noise 0.05."""
    precision = 1.0 / 0.1**2 + 1.0 / 0.05**2
    mean, sd = (10.0 / 0.1**2 + 10.2 / 0.05**2) / precision, precision**-0.5
    model = Line(sd=0.05, spread=1e-6)
    beliefs = [anneal(model, two_clusters(n, k), 0, Seen(10.2, PLAIN), airoas.stream(k), move="ancestors").belief for k in range(runs)]
    return np.mean([b.mean()[0] - mean for b in beliefs]) / sd, np.mean([b.std()[0] for b in beliefs]) / sd


def test_smoothing_keeps_to_the_cluster():
    """The standard error of the mean over 20 runs is below 0.04 posterior deviations."""
    off, ratio = errors()
    assert abs(off) < 0.15
    assert abs(ratio - 1.0) < 0.1


def test_a_cluster_of_few_ends_where_the_belief_does():
    """A thousand between walls at 0 and 1, and eight of a cluster of their own, of which the fifth is far from either."""
    rows = np.concatenate([np.random.default_rng(0).uniform(size=1000), [0.1, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95]])[:, None]
    system = SimpleNamespace(ancestors=rows, weights=np.full(1008, 1.0 / 1008.0), labels=np.repeat([0, 1], [1000, 8]))
    clusters = SimpleNamespace(count=2, sums=np.zeros((3, 2)))
    proposals = SimpleNamespace(axes=[0], clusters=clusters, boxes=np.zeros((2, 2, 1)))
    for side in range(2):
        find_ends(system, proposals, 0, side)
    (low, high), (few_low, few_high) = proposals.boxes[:, :, 0]
    assert -0.02 < low < 0.0 < rows.min() and rows.max() < high < 1.02
    assert (few_low, few_high) == (low, high)  # alone they would end at -0.6 and 1.25


def test_one_kernel_for_two_clusters_would_forget_the_cluster(monkeypatch):
    """What the clusters are for: as wide a kernel as both of them leaves the reading alone, 0.9 posterior deviations off."""
    with airoas.running("interpreted"):
        monkeypatch.setitem(specialise(find_cut, "interpreted").__globals__, "_LEFT", 0.0)
        assert errors(3, 200)[0] > 0.6
