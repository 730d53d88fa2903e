"""How long rollouts run: squared errors of known biases and variances, and the length that they advise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from airoas import stream
from airoas.belief.particles import Particles
from airoas.catalog import find_domain
from airoas.policies import cut
from airoas.policies.cut import LENGTHS, best_length, find_cut, squared_errors
from airoas.policies.qmdp import make_policy
from airoas.policies.rollout import CUT, Candidate


class Scripted:
    """Two candidates; what the second gains is off by a bias in runs of each length, and varies by chance that grows with the length."""

    def __init__(self, biases: tuple[float, ...]) -> None:
        self.policy = SimpleNamespace(actions=np.zeros((2, 1)))
        self.biases, self.rng = dict(zip(LENGTHS, biases, strict=True)), np.random.default_rng(0)

    def act(self, *belief: Any) -> tuple[int, float, float]:
        self.steps = self.rng.normal(size=(CUT, cut.WORLDS))  # of every step
        return 0, 1.0, 0.0

    def legal(self) -> np.ndarray:
        return np.ones(2, np.bool_)

    def promising(self, *belief: Any) -> list[int]:
        return [0, 1]

    def returns(self, candidates: list[Candidate], belief: Any, worlds: int, length: int, seed: int) -> np.ndarray:
        return np.stack([np.zeros(worlds), 2.0 + self.biases[length] + self.steps[:length].sum(axis=0)])


def measured(biases: tuple[float, ...], beliefs: int) -> np.ndarray:
    rollouts: Any = Scripted(biases)
    return np.array([squared_errors(rollouts, np.zeros((2, 1)), np.full(2, 0.5), 0) for _ in range(beliefs)])


def test_squared_errors_are_unbiased() -> None:
    """Within four standard errors each, a false alarm of 6e-5."""
    biases = (1.5, 0.5, 0.0)
    errors = measured(biases, 4000)
    for i, (length, bias) in enumerate(zip(LENGTHS, biases, strict=True)):
        right = bias * bias + length * length / (CUT * cut._RUNS)
        assert abs(errors[:, i].mean() - right) < 4.0 * errors[:, i].std() / np.sqrt(len(errors)) + 1e-12


@pytest.mark.parametrize(("biases", "length"), [((0.0, 0.0, 0.0), 6), ((3.0, 0.0, 0.0), 12), ((5.0, 5.0, 0.0), CUT)])
def test_a_run_is_as_short_as_what_was_learned_allows(biases: tuple[float, ...], length: int) -> None:
    assert best_length(measured(biases, 3000)) == length


def test_what_is_clearly_worse_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third candidate with wild returns far below would ask for short runs, and hide that they are off."""
    plain = Scripted.returns
    biases = (5.0, 5.0, 0.0)
    alone = measured(biases, 200).mean(axis=0)

    def with_another(self: Scripted, candidates: list[Candidate], belief: Any, worlds: int, length: int, seed: int) -> np.ndarray:
        wild = np.random.default_rng(1).normal(-1e3, 100.0, worlds)
        return np.concatenate([plain(self, candidates, belief, worlds, length, seed), wild[None]])

    monkeypatch.setattr(Scripted, "returns", with_another)
    assert measured(biases, 200).mean(axis=0) == pytest.approx(alone, rel=1e-12)


def test_the_longest_stays_where_little_is_known() -> None:
    assert best_length(measured((0.0, 0.0, 0.0), cut.FEWEST - 1)) == CUT
    wild = np.zeros((30, len(LENGTHS)))
    wild[:, :-1] = 10.0 * np.random.default_rng(0).normal(size=(30, 2)) - 1.0  # better on average, by less than its error
    assert best_length(wild) == CUT


def test_nothing_is_cut_where_nothing_was_learned() -> None:
    model = find_domain("bare-light-dark-1.0")(0)
    belief = Particles.sample(model, 100, stream(1))
    assert find_cut(model, make_policy(model), [(belief.states, belief.weights)], 1e6) == CUT
