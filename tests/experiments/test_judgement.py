"""Best, tied or worse: by hand, and how often it is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest

from airoas.experiments.analysis.judgement import ALPHA, Gap, Judgement, gap, judge
from airoas.experiments.analysis.statistics import estimate, holm, holm_sequences, one_sided_p

BEST, RANDOM = 10.0, 0.0
"""What the best rival and random actions earn in the laws below: 5 % are 0.5."""


def test_a_sequence_of_one_claim_is_holms_procedure() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        p = (0.05 * rng.uniform(size=6) ** 2).tolist()
        shown, _ = holm_sequences([[one] for one in p], 0.05)
        assert [bool(k) for k in shown] == [adjusted <= 0.05 for adjusted in holm(p)]


def test_sequences_by_hand() -> None:
    """0.05 for three: the first has one claim shown at 0.05 / 3; the second both, and leaves its part; then the third one at 0.05 / 2."""
    assert holm_sequences([[0.016, 0.03], [0.01, 0.0166], [0.02, 0.3]], 0.05) == ([1, 2, 1], [2, 3, 2])
    assert holm_sequences([[0.017, 0.0], [0.017, 0.0]], 0.03) == ([0, 0], [2, 2])  # what comes after is not looked at
    assert holm_sequences([[math.nan, 0.0], [0.02, 0.02]], 0.05) == ([0, 2], [1, 2])  # one that was not run takes its part all the same
    assert holm_sequences([], 0.05) == ([], [])


def test_one_sided_p() -> None:
    known = estimate([1.0, 2.0, 4.0, 5.0])
    assert one_sided_p(known) == pytest.approx(0.5 * known.p)
    assert one_sided_p(known, 3.0) == 0.5
    assert one_sided_p(known, 6.0) == pytest.approx(1.0 - one_sided_p(known, 0.0))
    assert one_sided_p(estimate([2.0])) == 1.0
    assert [one_sided_p(estimate([2.0, 2.0]), bar) for bar in (1.0, 2.0, 3.0)] == [0.0, 1.0, 1.0]


def gaps(*differences: float, sem: float = 0.01, margin: float = 0.5) -> list[Gap]:
    """To rivals, of which each is 20 margins above random; all with one standard error, of 30 degrees of freedom."""
    values = np.tile([-1.0, 1.0], 16)[:31]
    values = sem * (values - values.mean()) / estimate(values.tolist()).sem
    return [Gap(estimate((values + one).tolist()), estimate((values + one + margin).tolist())) for one in differences]


@pytest.mark.parametrize(
    ("differences", "verdict", "decisive"),
    [
        ((1.0, 3.0), "best", 0),
        ((0.01, 3.0), "tied", 0),  # a little above, and not shown to be
        ((-0.4, 3.0), "tied", 0),  # below, and shown to be, but by less than the margin
        ((3.0, -0.6), "worse", 1),
        ((3.0, -0.6, -0.7), "worse", 2),
        ((3.0, -0.5), "worse", 1),
    ],
)
def test_words(differences: tuple[float, ...], verdict: str, decisive: int) -> None:
    (judgement,) = judge([gaps(*differences)])
    assert (judgement.verdict, judgement.decisive) == (verdict, decisive)
    assert (judgement.low > 0.0) == (verdict == "best")
    assert (judgement.eased_low > 0.0) == (verdict in ("best", "tied"))


def test_wide_errors_leave_it_open_and_limits_are_students() -> None:
    (judgement,) = judge([gaps(-0.3, 2.0, sem=1.0)])
    assert judgement.verdict == "open"
    assert judgement.low == pytest.approx(-0.3 - 2.0423, abs=1e-4)  # 97.5 % of Student's with 30 degrees of freedom
    assert judgement.eased_low == pytest.approx(judgement.low + 0.5)
    assert judgement.high == pytest.approx(-0.3 + 2.3596, abs=1e-4)  # half of that for each of two rivals
    assert judge([[], gaps(1.0)])[0] == judge([[]])[0]
    nothing = judge([[]])[0]
    assert (nothing.verdict, nothing.decisive) == ("open", -1)
    assert math.isnan(nothing.low)
    assert judge([[Gap(estimate([1.0]), estimate([1.0]))]])[0].verdict == "open"  # one world shows nothing


def test_domains_that_were_not_run_count() -> None:
    """A gap that is shown among two domains is not shown among twenty."""
    close = gaps(2.5, sem=1.0, margin=0.0)
    assert judge([close, []])[0].verdict == "best"
    assert judge([close, *[[]] * 19])[0].verdict == "open"


def test_the_margin_is_taken_world_by_world() -> None:
    """Random actions that earn what the worlds decide add no error."""
    rng = np.random.default_rng(2)
    world, noise = rng.normal(0.0, 5.0, 40), rng.normal(0.0, 0.1, 40)
    known = gap(world + 10.0 + noise, world + 10.0, world)
    assert known.eased.mean == pytest.approx(known.difference.mean + 0.5)
    assert known.eased.sem == pytest.approx(known.difference.sem)


# --- how often it is wrong ---


def simulate(rng: np.random.Generator, behind: list[float], n: int = 30, sd: float = 1.0) -> list[Judgement]:
    """A domain for each: the planner is `behind` the better of two rivals."""
    domains = []
    for much in behind:
        ours = BEST - much + rng.normal(0.0, sd, n)
        others = [BEST + rng.normal(0.0, sd, n), BEST - 5.0 + rng.normal(0.0, sd, n)]
        random = RANDOM + rng.normal(0.0, sd, n)
        domains.append([gap(ours, theirs, random) for theirs in others])
    return judge(domains)


def errors(behind: list[float], repetitions: int, seed: int) -> int:
    """In how many experiments something false is said of any domain."""
    rng = np.random.default_rng(seed)
    false = 0
    for _ in range(repetitions):
        said = [one.verdict for one in simulate(rng, behind)]
        wrong = {
            "best": lambda much: much >= 0.0,
            "tied": lambda much: much >= 0.05 * (BEST - RANDOM),
            "worse": lambda much: much <= 0.0,
            "open": lambda much: False,
        }
        false += any(wrong[word](much) for word, much in zip(said, behind, strict=True))
    return false


MIXED = [0.5, 0.5, 0.0, 0.0, -0.8, 0.25, 5.0]
CASES = {"on the margin": [0.5] * 6, "level": [0.0] * 6, "of all kinds": MIXED}


@pytest.mark.parametrize("case", CASES)
def test_false_words_are_rare(case: str) -> None:
    repetitions = 400
    assert errors(CASES[case], repetitions, 3) <= 0.05 * repetitions + 3 * math.sqrt(repetitions * 0.05 * 0.95)


@pytest.mark.law
@pytest.mark.parametrize("case", CASES)
def test_one_false_word_in_an_experiment_is_as_rare_as_promised(case: str) -> None:
    """At most 5 %, by the upper limit of a binomial count; and on the margin, where claims in favour alone can be false, at most 2.5 %."""
    repetitions, level = 8000, ALPHA if case == "on the margin" else 2.0 * ALPHA
    false = errors(CASES[case], repetitions, 4)
    assert false <= level * repetitions + 3.0 * math.sqrt(repetitions * level * (1.0 - level))
    assert false >= 0.2 * level * repetitions  # it is no promise that is kept by saying nothing


@pytest.mark.parametrize(("much", "verdict"), [(-1.5, "best"), (-0.7, "tied"), (2.0, "worse")])
def test_a_true_gap_is_found(much: float, verdict: str) -> None:
    """Of six domains with thirty worlds each; the error of a difference is 0.26."""
    rng = np.random.default_rng(5)
    said = [one.verdict for _ in range(50) for one in simulate(rng, [much] * 6)]
    right = {"best": {"best"}, "tied": {"tied", "best"}, "worse": {"worse"}}[verdict]
    assert sum(word in right for word in said) > 0.9 * len(said)
