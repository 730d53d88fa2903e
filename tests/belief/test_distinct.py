"""Beliefs over whole numbers and flags are resampled without chance: equal particles merge, and no state is lost."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import AdaptiveFilter, BootstrapFilter, Flags, Particles
from airoas.belief.distinct import are_few, diversity, merged, split, unseen
from airoas.domains import Tag
from airoas.domains.rock_sample import standard


class Lamps(NamedTuple):
    works: Flags[8]


class Lit(NamedTuple):
    lit: int


@airoas.model
class Panel(NamedTuple):
    """Which of eight lamps work? Nothing changes; a test of one is right seven times in ten."""

    right: float = 0.7
    discount: float = 0.9

    def actions(self):
        return tuple(f"test-{k}" for k in range(8))

    def initial(self, rng):
        works = [False] * 8
        for k in range(8):
            works[k] = rng.uniform() < 0.5
        return Lamps(works)

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        return Lit(1 if (rng.uniform() < self.right) == s.works[a] else 0)

    def obs_logpdf(self, o, s, a):
        return math.log(self.right if (o.lit == 1) == s.works[a] else 1.0 - self.right)


@airoas.model
class Suspects(NamedTuple):
    """One of 100; 0 is rare. A look tells the remainder by three of the others, a question whether it is 0."""

    discount: float = 0.9

    def actions(self):
        return ("look", "ask")

    def initial(self, rng):
        return (rng.integer(100),)

    def step(self, s, a, rng):
        return s, 0.0

    def observe(self, s, a, rng):
        return Lit(rng.integer(3))

    def obs_logpdf(self, o, s, a):
        if a == 1:
            return math.log(0.999 if (o.lit == 1) == (s[0] == 0) else 0.001)
        if s[0] == 0:
            return math.log(1.0 / 3.0)
        return math.log(0.9 if s[0] % 3 == o.lit else 0.05)


class Dealt(NamedTuple):
    theirs: int
    mine: int


@airoas.model
class Deal(NamedTuple):
    """Nothing is unknown until cards are dealt, of which one's own is seen; that is 0 one time in 500, else 1 to 20."""

    discount: float = 0.9

    def actions(self):
        return ("deal",)

    def initial(self, rng):
        return Dealt(0, 0)

    def step(self, s, a, rng):
        return Dealt(1 + rng.integer(10), 0 if rng.uniform() < 0.002 else 1 + rng.integer(20)), 0.0

    def observe(self, s, a, rng):
        return Lit(s.mine)

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.lit == s.mine else -math.inf


class Drawn(AdaptiveFilter):
    """Resamples by drawing, as where states have reals."""

    def _merges(self, model: Any) -> bool:
        return False


def of_distinct(belief: Particles) -> dict[tuple[float, ...], float]:
    """State -> weight."""
    distinct = merged(belief, len(belief))
    assert distinct is not None
    return {tuple(row): weight for row, weight in zip(distinct.states.tolist(), distinct.weights.tolist(), strict=True)}


def variation(a: Particles, b: Particles) -> float:
    """Total variation."""
    one, other = of_distinct(a), of_distinct(b)
    return 0.5 * sum(abs(one.get(row, 0.0) - other.get(row, 0.0)) for row in one.keys() | other.keys())


def posterior(model: Any, belief: Particles, steps: list[tuple[int, Any]]) -> np.ndarray:
    """Of a model that stands still: the weights times all likelihoods."""
    likelihoods = {}
    for row in np.unique(belief.states, axis=0):
        state = model.from_row("state", row)
        likelihoods[tuple(row)] = sum(model.obs_logpdf(o, state, a) for a, o in steps)
    logs = belief.log_weights + [likelihoods[tuple(row)] for row in belief.states]
    weights: np.ndarray = np.exp(logs - np.logaddexp.reduce(logs))
    return weights


def test_merged_are_the_distinct_states_with_the_sums_of_their_weights() -> None:
    rng = np.random.default_rng(0)
    states, weights = rng.integers(-3, 4, size=(5000, 3)).astype(float), rng.random(5000) * (rng.random(5000) < 0.9)
    belief = Particles(states, weights)
    after = merged(belief, 343)
    assert after is not None and len(after) == 343 == len(np.unique(after.states, axis=0))
    for row, weight in zip(after.states, after.weights, strict=True):
        assert weight == pytest.approx(belief.weights[(belief.states == row).all(axis=1)].sum(), abs=1e-12)
    assert math.fsum(after.weights) == pytest.approx(1.0, abs=1e-12)
    assert merged(belief, 342) is None
    assert are_few(states, 343) and not are_few(states, 342)


def test_merging_is_the_same_interpreted() -> None:
    belief = Particles(np.random.default_rng(1).integers(-2, 3, size=(300, 5)).astype(float))
    compiled = merged(belief, 300)
    with airoas.running("interpreted"):
        plain = merged(belief, 300)
    assert compiled is not None and plain is not None
    assert (compiled.states == plain.states).all() and (compiled.log_weights == plain.log_weights).all()


def test_merging_lets_go_of_what_is_negligible_alone() -> None:
    after = merged(Particles([[0.0], [1.0], [2.0], [3.0]], log_weights=[0.0, -29.9, -30.1, -math.inf]), 4)
    assert after is not None and after.states[:, 0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("n", (40, 41, 1000, 12_500))
def test_split_keeps_every_weight(n: int) -> None:
    belief = Particles(np.arange(20.0)[:, None], np.random.default_rng(2).random(20) ** 20 + 1e-13)
    after = split(belief, n)
    assert len(after) == n and math.fsum(after.weights) == pytest.approx(1.0, abs=1e-12)
    assert of_distinct(after) == pytest.approx(of_distinct(belief), rel=1e-12)
    copies = np.bincount(after.states[:, 0].astype(int))
    assert (np.abs(copies - 1.0 - belief.weights * (n - 20)) < 1.01).all()  # in proportion, beside the one of each


def test_diversity_counts_equally_likely_states() -> None:
    assert diversity(Particles(np.arange(7.0)[:, None])) == pytest.approx(7.0)
    assert diversity(Particles([[0.0], [1.0]], [1.0, 0.0])) == pytest.approx(1.0)


def test_a_belief_that_stands_still_is_the_exact_posterior() -> None:
    model, filter, rng = Panel(), AdaptiveFilter(500), np.random.default_rng(3)
    belief = filter.start(model, airoas.stream(0))
    start, steps, sizes = Particles(belief.states, belief.weights), [], []
    for t in range(40):
        steps.append((int(rng.integers(8)), Lit(int(rng.integers(2)))))
        belief = filter.update(model, belief, *steps[-1], airoas.stream(1, t)).belief
        sizes.append(len(belief))
        assert belief.weights.sum() == pytest.approx(1.0, abs=1e-9)
    states = merged(start, 256)
    assert states is not None and len(states) == 256, "all were drawn"
    expected = Particles(states.states, posterior(model, states, steps))
    assert of_distinct(belief) == pytest.approx(of_distinct(expected), abs=1e-9)
    assert len(merged(belief, 256) or ()) == 256
    assert set(sizes) <= {10_000, 5000, 2500, 1250, 625}


def test_a_rare_truth_is_not_lost() -> None:
    """Ten looks leave it at 1e-4 or so while others wax and wane; then two answers speak for it. 1,000 particles; systematic resampling
    keeps one of that weight one time in ten."""
    model = Suspects()
    start = split(Particles(np.arange(100.0)[:, None], [1e-4] + [(1.0 - 1e-4) / 99] * 99), 1000)
    steps = [(0, Lit(o)) for o in (1, 1, 0, 1, 1, 2, 1, 1, 0, 1)] + [(1, Lit(1))] * 2
    rare = [posterior(model, start, steps[:t])[start.states[:, 0] == 0.0].sum() for t in range(11)]
    assert 1e-5 < min(rare) < max(rare) < 1e-3
    expected = posterior(model, start, steps)[start.states[:, 0] == 0.0].sum()
    assert expected > 0.9
    kept = []
    for seed in range(50):
        for filter in (AdaptiveFilter(50), BootstrapFilter(1000)):
            belief = start
            for t, (action, observation) in enumerate(steps):
                belief = filter.update(model, belief, action, observation, airoas.stream(seed, t)).belief
            kept.append(float(belief.weights[belief.states[:, 0] == 0.0].sum()))
    assert kept[::2] == pytest.approx([expected] * 50, abs=1e-9)
    assert sum(weight == 0.0 for weight in kept[1::2]) > 10


@pytest.mark.parametrize("mine", (0, 7))
def test_where_few_states_lead_to_is_drawn_until_it_is_known(mine: int) -> None:
    """500 particles are enough of one state, and too few of its successors: 24 have the common card, one the rare. More are drawn until
    100 explain it; these miss a card of theirs 10 exp(-10) times, so that one choice of five seeds in 400 fails."""
    model, known = Deal(), split(Particles([[0.0, 0.0]]), 500)
    for seed in range(5):
        updated = AdaptiveFilter(500).update(model, known, 0, Lit(mine), airoas.stream(seed))
        weights = of_distinct(updated.belief)
        assert sorted(weights) == [(float(theirs), float(mine)) for theirs in range(1, 11)] and not updated.recovery
        assert sum(weights.values()) == pytest.approx(1.0, abs=1e-9)
        assert updated.log_evidence == pytest.approx(math.log(0.002 if mine == 0 else 0.998 / 20), abs=0.8)


def test_what_is_unseen_is_told_by_what_was_drawn_once() -> None:
    assert unseen(Particles([[0.0], [1.0], [0.0], [2.0], [3.0]], [0.2, 0.3, 0.2, 0.3, 0.0])) == pytest.approx(0.6)
    assert unseen(Particles([[0.0], [0.0]])) == 0.0


def test_a_limit_of_time_loses_no_state() -> None:
    """500 particles, which are always taken, hold all 100 states."""
    model = Suspects()
    belief = split(Particles(np.arange(100.0)[:, None], [1e-6] + [(1.0 - 1e-6) / 99] * 99), 200_000)
    after = AdaptiveFilter(update_seconds=1e-5).update(model, belief, 0, Lit(1), airoas.stream(0)).belief
    weights = posterior(model, belief, [(0, Lit(1))])
    assert len(of_distinct(after)) == 100
    assert of_distinct(after) == pytest.approx(of_distinct(Particles(belief.states, weights)), abs=1e-9)


@pytest.mark.parametrize("name", ("tag", "rock-sample"))
def test_it_is_no_farther_from_the_exact_belief_than_drawing(name: str) -> None:
    """Paired, on the same observations. Where steps are random the errors are those of the steps and about equal: over other seeds the
    ratio is 1.01 on Tag with a standard deviation of 0.02, 0.87 on RockSample, so that one seed in 10,000 fails."""
    model, total, uneven = (Tag() if name == "tag" else standard(7, 8)), np.zeros(2), 0
    filters = AdaptiveFilter(500), Drawn(500)
    for seed in range(16):
        rng, state = np.random.default_rng(seed), model.initial(airoas.stream(seed, "world"))
        exact, beliefs = Particles.exact(model), [filter.start(model, airoas.stream(seed, "filter")) for filter in filters]
        for t in range(15):
            action = int(rng.choice([a for a in range(model.n_actions) if not model.has("legal") or model.legal(state, a)]))
            after, _ = model.step(state, action, airoas.stream(seed, "step", t))
            if model.is_terminal(after):
                continue
            state, seen = after, model.observe(after, action, airoas.stream(seed, "seen", t))
            exact = airoas.update(model, exact, action, seen, airoas.stream(0), "exact")
            stream = [airoas.stream(seed, "filter", t) for _ in filters]
            beliefs = [f.update(model, b, action, seen, r).belief for f, b, r in zip(filters, beliefs, stream, strict=True)]
            uneven += len(merged(beliefs[0], 10_000) or ()) < len(beliefs[0])
            assert beliefs[0].weights.sum() == pytest.approx(1.0, abs=1e-9)
            total += [variation(exact, belief) for belief in beliefs]
    assert uneven > 100
    assert total[0] < 1.1 * total[1]
