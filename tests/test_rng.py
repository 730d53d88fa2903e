"""Random streams: the reference generator, the right distributions, unrelated neighbours, the same numbers compiled.

Seeds are fixed, so no test fails by chance; the stated rates are how rarely a correct generator would fail at a new seed.
"""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from airoas import rng as rng_module
from airoas.compiler.kernels import kernel, running
from airoas.errors import OptionError
from airoas.rng import TAIL, Rng, hash_key, new_stream, stream, streams

DRAWS = 200_000


@kernel
def fill(out, what, n, rng):
    for i in range(len(out)):
        if what == 0:
            out[i] = rng.uniform()
        elif what == 1:
            out[i] = rng.normal()
        else:
            out[i] = rng.integer(n)


def drawn(what: str, rng: Rng, size: int = DRAWS, n: int = 1) -> np.ndarray:
    out = np.empty(size)
    fill(out, ("uniform", "normal", "integer").index(what), n, rng)
    return out


def normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def chi_square_is_plausible(counts: np.ndarray, expected: np.ndarray) -> bool:
    """Pearson's statistic within 5 standard deviations (Wilson-Hilferty): a false alarm in 3e-7."""
    assert expected.min() >= 5.0
    freedom = len(counts) - 1
    statistic = float(((counts - expected) ** 2 / expected).sum())
    z = ((statistic / freedom) ** (1.0 / 3.0) - (1.0 - 2.0 / (9.0 * freedom))) / math.sqrt(2.0 / (9.0 * freedom))
    return abs(z) < 5.0


def kolmogorov_smirnov_is_plausible(draws: np.ndarray, cdf: Callable[[float], float]) -> bool:
    """sqrt(N) sup |F_N - F| below 2.8: a false alarm in 2 exp(-2 * 2.8^2) = 3e-7."""
    theirs = np.array([cdf(x) for x in np.sort(draws)])
    n = len(draws)
    gap = max((np.arange(1, n + 1) / n - theirs).max(), (theirs - np.arange(n) / n).max())
    return math.sqrt(n) * gap < 2.8


# --- the generator and its seeding ---

REFERENCE = {  # SplitMix64 from these words: the first outputs as published
    1234567: (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821),
    0: (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC),
}


def splitmix64(x: int):
    """As its authors print it, on numbers of 64 bits."""
    while True:
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        z = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        yield z ^ (z >> 31)


@kernel
def words(out, rng):
    for i in range(len(out)):
        out[i] = rng.bits(63)


@pytest.mark.parametrize("mode", ["compiled", "interpreted"])
@pytest.mark.parametrize("word", [*REFERENCE, 2**64 - 1, 0x0123456789ABCDEF])
def test_reference_words(word: int, mode: str) -> None:
    wanted = list(itertools.islice(splitmix64(word), 1000))
    assert tuple(wanted[: len(REFERENCE.get(word, ()))]) == REFERENCE.get(word, ())
    out = np.empty(len(wanted), np.int64)
    with running(mode):
        words(out, Rng(word))
    assert out.tolist() == [x >> 1 for x in wanted]


def test_mix64_is_the_finaliser() -> None:
    state, words = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        words.append(rng_module.mix64(state))
    assert tuple(words) == REFERENCE[1234567][:3]


GOLDEN = {  # a change here changes every published result
    (0,): (2512082016185872631, 0.824690659197459, 1.053557504178423, 91),
    (0, "world", 7): (4669018642634619934, 0.18241488812991036, 0.1925309670369268, 745),
}


@pytest.mark.parametrize("key", GOLDEN)
def test_seeding_never_changes(key: tuple) -> None:
    rng = stream(*key)
    assert (rng.bits(63), rng.uniform(), rng.normal(), rng.integer(1000)) == GOLDEN[key]


def test_equal_keys_give_equal_numbers() -> None:
    assert repr(stream(3, "a", 1)) == repr(stream(np.int64(3), "a", np.uint8(1)))
    assert repr(stream(-1)) == repr(stream(2**64 - 1))


@pytest.mark.parametrize("key", [(1.0,), (None,), (0, 2.5), (0, b"x"), (0, ("a",)), (2**64,), (0, -(2**63) - 1)])
def test_bad_keys_are_refused(key: tuple) -> None:
    with pytest.raises(OptionError):
        stream(*key)


@kernel
def reseeded(out, seed, rng):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            rng.reseed(seed, i - 1, j)
            out[i, j] = rng.uniform()


@pytest.mark.parametrize("seed", [0, 5, -3, 2**63 + 11])
def test_reseed_is_stream(seed: int) -> None:
    signed = (seed + 2**63) % 2**64 - 2**63  # what a kernel can take
    wanted = [[stream(seed, i - 1, j).uniform() for j in range(4)] for i in range(5)]
    for mode in ("compiled", "interpreted"):
        out = np.empty((5, 4))
        with running(mode):
            reseeded(out, signed, stream(9))
        assert out.tolist() == wanted, mode
    rng = stream(1)
    rng.reseed(np.int64(7), np.int32(-1), np.uint8(3))
    assert repr(rng) == repr(stream(7, -1, 3))
    assert list(map(repr, streams(seed, -1, 40))) == [repr(stream(seed, -1, j)) for j in range(40)]


@kernel
def keys(out, seed, rng):
    own = new_stream()
    for i in range(len(out)):
        out[i, 0] = hash_key(seed, i, -i)
        own.reseed(out[i, 0], 1, i)
        out[i, 1] = own.bits(62)


def test_a_hashed_key_is_a_seed() -> None:
    """62 bits of the stream's own word: what hangs together by it is as unrelated to the rest as other streams are."""
    results = []
    for mode in ("compiled", "interpreted"):
        out = np.empty((500, 2), np.int64)
        with running(mode):
            keys(out, 17, stream(0))
        results.append(out.tolist())
    assert results[0] == results[1]
    for i, (key, drawn_from_it) in enumerate(results[0]):
        assert key == int(repr(stream(17, i, -i))[4:-1], 16) >> 2
        assert drawn_from_it == stream(key, 1, i).bits(62)
    assert len({key for key, _ in results[0]}) == 500


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda rng: pickle.loads(pickle.dumps(rng))])
def test_a_copy_has_its_own_state(duplicate: Callable[[Rng], Rng]) -> None:
    original = stream(4)
    other = duplicate(original)
    before = repr(original)
    compiled = drawn("normal", other, 10)  # compiled code goes by the address
    assert repr(original) == before
    assert compiled.tolist() == [original.normal() for _ in range(10)]


# --- distributions ---


def test_uniform() -> None:
    draws = drawn("uniform", stream(1, "uniform"))
    assert draws.min() >= 0.0 and draws.max() < 1.0
    assert (draws * 2.0**53 == np.floor(draws * 2.0**53)).all()
    assert kolmogorov_smirnov_is_plausible(draws[:50_000], lambda x: x)
    assert chi_square_is_plausible(np.bincount((draws * 256).astype(int), minlength=256), np.full(256, DRAWS / 256))
    low = (draws * 2.0**53).astype(np.int64) & 255  # the last bits too
    assert chi_square_is_plausible(np.bincount(low, minlength=256), np.full(256, DRAWS / 256))


def test_normal_moments() -> None:
    """Each within 5 standard errors: a false alarm in 6e-7."""
    draws = drawn("normal", stream(2, "normal"), 1_000_000)
    for power, mean, variance in ((1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0), (6, 15.0, 10170.0)):
        assert abs((draws**power).mean() - mean) < 5.0 * math.sqrt(variance / len(draws)), power


BINS = 256
FINE = 1000


@kernel
def histograms(inside, beyond, draws, rng):
    """Counts of normals in BINS equal bins of [-TAIL, TAIL], and of those beyond (left, right) by how far, in 1/FINE."""
    for _ in range(draws):
        x = rng.normal()
        if -TAIL <= x < TAIL:
            inside[int((x / TAIL + 1.0) * (BINS / 2))] += 1
        else:
            far = int((abs(x) - TAIL) * FINE)
            beyond[int(x > 0.0), min(far, beyond.shape[1] - 1)] += 1


def test_normal_by_bins() -> None:
    """The whole line in bins over enough draws to see an error in the ziggurat's wedges or in its tails."""
    draws = 40_000_000
    inside, beyond = np.zeros(BINS), np.zeros((2, 3 * FINE))
    histograms(inside, beyond, draws, stream(3, "normal"))
    edges = np.linspace(-TAIL, TAIL, BINS + 1)
    probabilities = np.diff([normal_cdf(x) for x in edges])
    counts = np.concatenate((inside, beyond.sum(axis=1)))
    assert chi_square_is_plausible(counts, np.concatenate((probabilities, [normal_cdf(-TAIL)] * 2)) * draws)
    for side in beyond:
        assert side[:4].sum() > 0  # no gap at TAIL: 70 expected
        # 5000 draws each, in bins of 0.02 up to 0.8 beyond
        bins = np.append(side[: 8 * FINE // 10].reshape(-1, FINE // 50).sum(axis=1), side[8 * FINE // 10 :].sum())
        edges = TAIL + np.arange(len(bins)) / 50
        probabilities = np.diff([1.0 - normal_cdf(-x) / normal_cdf(-TAIL) for x in edges] + [1.0])
        assert chi_square_is_plausible(bins, probabilities * side.sum())
        assert abs((side * (np.arange(len(side)) + 0.5)).sum() / side.sum() / FINE - TAIL_MEAN) < 5.0 * TAIL_MEAN / math.sqrt(side.sum())


TAIL_MEAN = math.exp(-0.5 * TAIL * TAIL) / math.sqrt(2.0 * math.pi) / normal_cdf(-TAIL) - TAIL
"""By how far a normal beyond TAIL exceeds it, on average; the deviation is somewhat smaller than that."""


def test_normal_follows_its_distribution() -> None:
    assert kolmogorov_smirnov_is_plausible(drawn("normal", stream(4, "normal"), 50_000), normal_cdf)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100, 2**31 - 1])
def test_integer(n: int) -> None:
    draws = drawn("integer", stream(5, "integer", n), n=n)
    assert draws.min() >= 0 and draws.max() < n
    cells = min(n, 128)
    bins = (draws * cells / n).astype(int)
    expected = np.diff([-(-k * n // cells) for k in range(cells + 1)]) / n * DRAWS
    assert n == 1 or chi_square_is_plausible(np.bincount(bins, minlength=cells), expected)


def test_integer_is_unbiased() -> None:
    """For n = 3 * 2**29 a word's top bits alone would give every third value twice the chance of the others."""
    draws = drawn("integer", stream(6, "integer"), n=3 * 2**29)
    assert chi_square_is_plausible(np.bincount(draws.astype(np.int64) % 3, minlength=3), np.full(3, DRAWS / 3))


@pytest.mark.parametrize("n", [0, -1, 2**31])
def test_integer_refuses(n: int) -> None:
    for mode in ("compiled", "interpreted"):
        with running(mode), pytest.raises(ValueError, match=r"rng\.integer"):
            drawn("integer", stream(0), 1, n)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
def test_integer_takes_any_width(kind: type) -> None:
    assert [stream(0).integer(kind(100)) for _ in range(3)] == [stream(0).integer(100) for _ in range(3)]


# --- neighbouring keys ---

KEYS: dict[str, Callable[[int], tuple]] = {
    "seed": lambda k: (k,),
    "last": lambda k: (0, 3, k),
    "middle": lambda k: (0, k, 3),
    "bit": lambda k: (1 << (k % 64), k // 64),
    "text": lambda k: (0, f"worker-{k}"),
    "length": lambda k: (0,) * (k + 1),
    "negative": lambda k: (-k,),
}


@pytest.mark.parametrize("family", KEYS)
def test_neighbouring_keys_are_unrelated(family: str) -> None:
    """First draws over 1000 neighbours are themselves uniform, and no two neighbours' streams correlate.

    The largest of 999 correlations over 256 draws has |r| sqrt(256) < 5.5: a false alarm in 4e-5 for each family.
    """
    rngs = [stream(*KEYS[family](k)) for k in range(1000 if family != "length" else 300)]
    assert len({rng.bits(63) for rng in map(copy.copy, rngs)}) == len(rngs)
    rows = np.array([[rng.uniform() for _ in range(256)] for rng in rngs])
    assert len(np.unique(rows)) == rows.size  # no stream runs into another: equal draws by chance in 4e-6
    assert kolmogorov_smirnov_is_plausible(rows[:, 0], lambda x: x)
    assert kolmogorov_smirnov_is_plausible(rows[:, 1], lambda x: x)
    centred = (rows - 0.5) * math.sqrt(12.0)
    for lag in (0, 1):
        correlations = (centred[1:, lag:] * centred[:-1, : 256 - lag]).sum(axis=1) / math.sqrt(256)
        assert np.abs(correlations).max() < 5.5
        assert abs(correlations.mean()) * math.sqrt(len(correlations)) < 5.5
    across = (centred[1:] * centred[:-1]).sum(axis=0) / math.sqrt(len(rngs))  # draw t of a stream against draw t of the next
    assert np.abs(across).max() < 5.5


def test_different_kinds_of_key_differ() -> None:
    keys = [(0,), (0, 0), (0, "0"), (0, 0, 0), (0, "a"), (0, "b"), (0, "a", "b"), (0, "ab"), (1, 0), (0, 1), (0, ""), (0, "", "")]
    assert len({repr(stream(*key)) for key in keys}) == len(keys)


# --- compiled and interpreted ---


@kernel
def mixed(out, rng):
    for i in range(0, len(out), 4):
        out[i] = rng.uniform()
        out[i + 1] = rng.normal()
        out[i + 2] = rng.integer(1 + i % 1000)
        out[i + 3] = rng.bits(1 + i % 63)


def test_compiled_is_interpreted() -> None:
    results = []
    for mode in ("compiled", "debug", "interpreted"):
        out, rng = np.empty(100_000), stream(8, "mixed")
        with running(mode):
            mixed(out, rng)
        results.append((out.tobytes(), repr(rng)))
    assert results[0] == results[1] == results[2]


@kernel
def draw_locally(out, rng):
    own = rng.local()
    for i in range(len(out)):
        out[i] = own.uniform()


def test_a_local_copy_goes_on_from_the_same_place() -> None:
    out, rng = np.empty(100), stream(3)
    draw_locally(out, rng)
    assert (out == drawn("uniform", stream(3), 100)).all()
    assert rng.uniform() == out[0]  # the stream itself has not moved


def test_compiled_is_interpreted_in_the_tails() -> None:
    """A normal in 3900 lies beyond TAIL: find such places by compiled draws and repeat them in Python."""
    rng, tails = stream(10, "tails"), 0
    while tails < 20:
        before = copy.copy(rng)
        block = drawn("normal", rng, 1)
        if abs(block[0]) > TAIL:
            assert before.normal() == block[0]
            tails += 1
