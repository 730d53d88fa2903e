"""Simulators against densities: what agrees passes, what differs by little is found, and the false-alarm rate is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from airoas.checker import density_test
from airoas.checker.density_test import Claim, disagreement
from airoas.rng import Rng, stream

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def log_normal(x: float, mean: float = 0.0, sd: float = 1.0) -> float:
    z = (x - mean) / sd
    return -0.5 * z * z - math.log(sd) - LOG_SQRT_2PI


def log_uniform(x: float, low: float = 0.0, high: float = 1.0) -> float:
    return -math.log(high - low) if low <= x < high else -math.inf


def poisson(rng: Rng, mean: float) -> int:
    k, p, u = 0, math.exp(-mean), rng.uniform()
    while u > p and k < 1000:
        u -= p
        k += 1
        p *= mean / k
    return k


def log_poisson(k: int, mean: float) -> float:
    return -mean + k * math.log(mean) - math.lgamma(k + 1)


def two_peaks(rng: Rng) -> tuple[float]:
    return ((10.0 if rng.uniform() < 0.3 else -10.0) + 0.1 * rng.normal(),)


def log_two_peaks(x: float, weight: float = 0.3, sd: float = 0.1) -> float:
    return math.log(weight) + log_normal(x, 10.0, sd) if x > 0.0 else math.log(1.0 - weight) + log_normal(x, -10.0, sd)


def lost_or_seen(rng: Rng, lost: float = 0.4, sd: float = 0.5) -> tuple[int, float]:
    return (0, 0.0) if rng.uniform() < lost else (1, 2.0 + sd * rng.normal())


def log_lost_or_seen(o: tuple[int, float], lost: float = 0.4, sd: float = 0.5) -> float:
    return math.log(lost) if o == (0, 0.0) else math.log(1.0 - lost) + log_normal(o[1], 2.0, sd)


def correlated(rng: Rng) -> tuple[float, float]:
    x = rng.normal()
    return x, 0.9 * x + math.sqrt(1.0 - 0.81) * rng.normal()


def log_correlated(o: tuple[float, float], r: float = 0.9) -> float:
    return log_normal(o[0]) + log_normal(o[1], r * o[0], math.sqrt(1.0 - r * r))


def ring(rng: Rng) -> tuple[int, int]:
    a = rng.integer(5)
    return a, (a + rng.integer(2)) % 5


def normal(rng: Rng) -> tuple[float]:
    return (rng.normal(),)


def uniform(rng: Rng) -> tuple[float]:
    return (rng.uniform(),)


def exponential(rng: Rng) -> tuple[float]:
    return (-math.log(1.0 - rng.uniform()),)


def coin(rng: Rng) -> tuple[int]:
    return (int(rng.uniform() < 0.85),)


def ten_normals(rng: Rng) -> tuple[float, ...]:
    return tuple(rng.normal() for _ in range(10))


AGREE: dict[str, tuple[Callable, Callable]] = {
    "normal": (normal, lambda o: log_normal(o[0])),
    "uniform": (uniform, lambda o: log_uniform(o[0])),
    "exponential": (exponential, lambda o: -o[0] if o[0] >= 0.0 else -math.inf),
    "exponential, density of negative numbers undefined": (exponential, lambda o: -o[0]),
    "cauchy": (lambda r: (math.tan(math.pi * (r.uniform() - 0.5)),), lambda o: -math.log(math.pi * (1.0 + o[0] * o[0]))),
    "two peaks": (two_peaks, lambda o: log_two_peaks(o[0])),
    "coin": (coin, lambda o: math.log(0.85 if o[0] else 0.15)),
    "certain": (lambda r: (3, 0.5), lambda o: 0.0 if o == (3, 0.5) else -math.inf),
    "poisson": (lambda r: (poisson(r, 4.0),), lambda o: log_poisson(o[0], 4.0)),
    "a million values": (lambda r: (r.integer(1_000_000),), lambda o: -math.log(1e6) if 0 <= o[0] < 1_000_000 else -math.inf),
    "2000 values": (lambda r: (r.integer(2000),), lambda o: -math.log(2000)),
    "a grid of floats": (lambda r: (0.1 * r.integer(300),), lambda o: -math.log(300)),
    "cut at zero": (lambda r: (max(0.0, r.normal()),), lambda o: math.log(0.5) if o[0] == 0.0 else log_normal(o[0])),
    "lost or seen": (lost_or_seen, log_lost_or_seen),
    "hardly ever seen, then sharply": (lambda r: lost_or_seen(r, 0.99, 0.05), lambda o: log_lost_or_seen(o, 0.99, 0.05)),
    "correlated": (correlated, log_correlated),
    "ten normals": (ten_normals, lambda o: sum(map(log_normal, o))),
    "eight uniforms": (lambda r: tuple(r.uniform() for _ in range(8)), lambda o: sum(map(log_uniform, o))),
    "ring": (ring, lambda o: -math.log(10) if (o[1] - o[0]) % 5 < 2 else -math.inf),
    "scales apart": (
        lambda r: (1e6 + 1e-3 * r.normal(), 1e5 * r.normal()),
        lambda o: log_normal(o[0], 1e6, 1e-3) + log_normal(o[1], 0.0, 1e5),
    ),
}

DISAGREE: dict[str, tuple[Callable, Callable, str]] = {
    "sd 10 % too large": (normal, lambda o: log_normal(o[0], 0.0, 1.1), "standard deviation"),
    "sd 10 % too small": (normal, lambda o: log_normal(o[0], 0.0, 0.9), "standard deviation"),
    "mean off by 0.1 sd": (normal, lambda o: log_normal(o[0], 0.1), "mean"),
    "5 % too small": (normal, lambda o: log_normal(o[0]) - 0.05, "adds up to about 0.95"),
    "not normalised": (normal, lambda o: -0.5 * o[0] * o[0], "adds up to about 2.5"),
    "rate 10 % too large": (exponential, lambda o: math.log(1.1) - 1.1 * o[0] if o[0] >= 0.0 else -math.inf, "mean"),
    "support too wide": (uniform, lambda o: log_uniform(o[0], -0.05, 1.05), "adds up to about 0.9"),
    "support too narrow": (uniform, lambda o: log_uniform(o[0], 0.0, 0.99), "is drawn, but its log density is -inf"),
    "coin off by 5 %": (coin, lambda o: math.log(0.8 if o[0] else 0.2), "frequency"),
    "coin upside down": (coin, lambda o: math.log(0.15 if o[0] else 0.85), "frequency"),
    "masses above 1": (lambda r: (r.integer(5),), lambda o: math.log(0.24), "sum to 1.2, more than 1"),
    "poisson mean": (lambda r: (poisson(r, 4.0),), lambda o: log_poisson(o[0], 4.3), "number 0"),
    "peaks of other weights": (two_peaks, lambda o: log_two_peaks(o[0], 0.35), "mean"),
    "peaks too wide": (two_peaks, lambda o: log_two_peaks(o[0], 0.3, 0.12), ""),
    "correlation": (correlated, lambda o: log_correlated(o, 0.85), "correlation"),
    "one of ten normals": (ten_normals, lambda o: sum(map(log_normal, o[:9])) + log_normal(o[9], 0.0, 1.15), "number 9"),
    "ten normals, 20 % too large": (ten_normals, lambda o: sum(map(log_normal, o)) + math.log(1.2), "adds up to about 1.2"),
    "lost too often": (lost_or_seen, lambda o: log_lost_or_seen(o, 0.45), "number 0"),
    "seen too widely": (lost_or_seen, lambda o: log_lost_or_seen(o, 0.4, 0.6), ""),
    "an atom taken for a density": (lambda r: (max(0.0, r.normal()),), lambda o: log_normal(o[0]), "frequency"),
    "huge": (coin, lambda o: 1000.0, "more than 1"),
    "nan": (normal, lambda o: math.nan if o[0] > 1.0 else log_normal(o[0]), "its log density is nan"),
}


@pytest.fixture
def seed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def set_seed(k: int) -> None:
        monkeypatch.setattr(density_test, "stream", lambda site, key: stream(1000 * k + site, key))

    return set_seed


@pytest.mark.parametrize("name", AGREE)
def test_a_simulator_follows_its_own_density(name: str, seed: Callable[[int], None]) -> None:
    draw, density = AGREE[name]
    for k in range(3):
        seed(k)
        assert disagreement([Claim(draw, density)] * 2) is None


@pytest.mark.parametrize("name", DISAGREE)
def test_small_mistakes_are_found_and_told(name: str) -> None:
    draw, density, words = DISAGREE[name]
    result = disagreement([Claim(draw, density)] * 4)
    assert result is not None
    assert words in result[1]


def test_the_place_that_disagrees_is_named() -> None:
    good, bad = Claim(normal, lambda o: log_normal(o[0])), Claim(normal, lambda o: log_normal(o[0], 0.5))
    assert disagreement([good, good, bad, good], ["y"]) is not None
    site, words = disagreement([good, good, bad, good], ["y"]) or (0, "")
    assert site == 2
    assert words.startswith("`y` has mean ")


def test_a_density_that_ignores_its_support_is_found_where_other_places_draw() -> None:
    """Uniform about the place, but the density says 1 everywhere: a filter would learn nothing."""
    claims = [Claim(lambda r, k=k: (k + r.uniform(),), lambda o: 0.0) for k in range(3)]
    result = disagreement(claims)
    assert result is not None
    assert "adds up to about" in result[1]


def test_components_that_determine_one_another_are_left_alone() -> None:
    def draw(rng: Rng) -> tuple[float, float]:
        x = rng.normal()
        return x, 2.0 * x

    assert disagreement([Claim(draw, lambda o: log_normal(o[0]) if o[1] == 2.0 * o[0] else -math.inf)]) is None


def scores(draw: Callable, density: Callable, seeds: range, seed: Callable[[int], None]) -> Iterator[float]:
    for k in seeds:
        seed(k)
        side = density_test._Side(Claim(draw, density), 0, ())
        side.compare(side.fitted_to.min(axis=0), side.fitted_to.max(axis=0))
        yield from (gap.value / math.sqrt(gap.variance) for gap in side.gaps.values() if gap.variance > 1e-16)


def test_errors_are_as_large_as_stated(seed: Callable[[int], None]) -> None:
    result = np.array(list(scores(*AGREE["two peaks"], range(30), seed)) + list(scores(*AGREE["poisson"], range(15), seed)))
    assert 0.8 < result.std() < 1.2
    assert abs(result).max() < 5.0


@pytest.mark.law
@pytest.mark.parametrize("name", [name for name in AGREE if name != "certain"])
def test_errors_are_as_large_as_stated_everywhere(name: str, seed: Callable[[int], None]) -> None:
    result = np.array(list(scores(*AGREE[name], range(100, 150), seed)))
    assert 0.75 < result.std() < 1.3  # rare values make some of them skewed


@pytest.mark.law
def test_false_alarms_are_no_more_than_stated(monkeypatch: pytest.MonkeyPatch, seed: Callable[[int], None]) -> None:
    """At a level that can be measured: 5 % over 20 seeds of each of the distributions."""
    monkeypatch.setattr(density_test, "FALSE_ALARM", 0.05)
    alarms = total = 0
    for draw, density in AGREE.values():
        for k in range(20):
            seed(500 + k)
            alarms += disagreement([Claim(draw, density)]) is not None
            total += 1
    assert alarms <= 0.05 * total
