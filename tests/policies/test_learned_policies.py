"""Policies learned from the simulator: repeatable, better than QMDP where looking pays, kept in files without code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Box, Particles, stream
from airoas.bounds import find_bounds, store
from airoas.catalog import find_domain
from airoas.planners import AIROAS, FittedQ
from airoas.policies import learned, rollout
from airoas.policies.belief_mdp import inform, roll_out
from airoas.policies.qmdp import make_policy
from airoas.policies.rollout import Candidate, Rollouts
from airoas.policies.runs import make_runs

MODEL = find_domain("bare-light-dark-1.0")(0)


@pytest.fixture(scope="module")
def known() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learned, "ROUNDS", (1000, 2000))
        return learned.learn(MODEL, 1e6)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    monkeypatch.setattr(learned, "_known", {})


def test_the_same_rounds_give_the_same_digest(known: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "ROUNDS", (1000, 2000))
    again = learned.learn(MODEL, 1e6)
    assert (again.rounds, again.digest, again.returns) == (2, known.digest, known.returns)


def test_it_looks_where_looking_pays(known: Any) -> None:
    """QMDP stops without having looked; the false-alarm rate is that of four standard errors."""
    (mean, error), (qmdp, other) = known.returns["learned"], known.returns["qmdp"]
    assert known.policy == "learned" and mean - qmdp > 4.0 * np.hypot(error, other)


def test_a_file_holds_all_of_it(known: Any, tmp_path: Path) -> None:
    belief, path = Particles.sample(MODEL, 500, stream(1)), tmp_path / "policy.npz"
    with pytest.raises(airoas.OptionError, match=r"nothing was learned of .* Call prepare"):
        FittedQ().save(MODEL, path)
    learned.save(known, MODEL, path)
    FittedQ().load(MODEL, path)
    decision = FittedQ(learn_seconds=0.0).plan(MODEL, belief, stream(2))
    assert decision.stats.notes == {"policy": f"learned, 2 rounds, {known.digest}", "rounds": 2, "digest": known.digest}
    FittedQ().save(MODEL, tmp_path / "again.npz")
    first, second = (dict(np.load(file, allow_pickle=False)) for file in (path, tmp_path / "again.npz"))
    assert all(np.array_equal(first[name], second[name]) for name in first) and first.keys() == second.keys()


@pytest.mark.parametrize(
    ("name", "value"),
    [("child", 10**6), ("first", 99), ("second", -1), ("roots", -3), ("cut", np.nan), ("values", np.inf)],
)
def test_a_file_that_would_be_read_beyond_its_ends_is_refused(known: Any, tmp_path: Path, name: str, value: float) -> None:
    learned.save(known, MODEL, tmp_path / "policy.npz")
    arrays = dict(np.load(tmp_path / "policy.npz", allow_pickle=False))
    arrays[name].reshape(-1)[0] = value
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(airoas.OptionError, match="is damaged, or was learned for another model"):
        FittedQ().load(MODEL, tmp_path / "bad.npz")


def test_files_of_others_are_refused(known: Any, tmp_path: Path) -> None:
    learned.save(known, MODEL, tmp_path / "policy.npz")
    with pytest.raises(airoas.OptionError, match="was learned for BareLightDark with"):
        FittedQ().load(find_domain("leak")(0), tmp_path / "policy.npz")
    (tmp_path / "text.npz").write_text("no arrays")
    with pytest.raises(airoas.OptionError, match="holds no learned policy"):
        FittedQ().load(MODEL, tmp_path / "text.npz")


def test_information_is_where_the_light_is() -> None:
    """The reading is sharp in the light and dull elsewhere: what a step there is expected to tell, in nats, is more."""
    policy = make_policy(MODEL)
    runs = make_runs(MODEL, policy, 8 * MODEL.n_actions, 200)
    runs.world[:] = np.arange(runs.n_runs) // MODEL.n_actions
    allowed, told = np.ones(MODEL.n_actions, np.bool_), []
    for x in (0.0, 5.0):
        states = np.column_stack([x + np.linspace(-2.0, 2.0, 400), np.zeros((400, MODEL.shapes.state.size - 1))])
        information = np.zeros(MODEL.n_actions)
        inform(policy, runs, np.ascontiguousarray(states), np.full(400, 1.0 / 400), allowed, 7, information)
        told.append(information.max())
    assert told[1] > told[0] + 0.5


TWO_SPOTS = np.repeat([[4.5, 0.0], [-4.5, 0.0]], 100, axis=0) + np.array([[0.05, 0.0]]) * np.tile(np.linspace(-1.0, 1.0, 100), 2)[:, None]


def test_a_cluster_that_is_believed_in_decides() -> None:
    """Home is at 0: from the one place the way is down, from the other up."""
    rollouts, labels = Rollouts(MODEL, make_policy(MODEL)), np.repeat([0, 1], 100)
    weights = np.repeat([0.9, 0.1], 100) / 100.0
    names = [MODEL.actions()[rollouts.act_believing(c, TWO_SPOTS, weights, labels, 3)] for c in (0, 1)]
    assert names == ["left", "right"]


def test_what_is_seen_refutes_a_cluster() -> None:
    """By the light a reading tells the two places apart: most runs there cease to believe in the other, none in that of its truth."""
    policy = make_policy(MODEL)
    runs = make_runs(MODEL, policy, 32, 80)
    runs.believed[:] = np.arange(32) % 2
    roll_out(policy, runs, TWO_SPOTS, np.full(200, 1.0 / 200), np.repeat([0, 1], 100), 2, 4)
    truths = runs.labels.reshape(32, 80)[:, 0]
    wrong = np.arange(32) % 2 != truths
    near = truths == 0  # there readings are sharp
    assert (wrong & near).sum() > 3 and (~wrong & near).sum() > 3
    assert (runs.believed[wrong & near] == -1).mean() > 0.7
    assert (runs.believed[~wrong] == truths[~wrong]).all()


class Shift(NamedTuple):
    by: float


class Spot(NamedTuple):
    x: float


@airoas.model
class Dart(NamedTuple):
    """One throw, best straight at the spot, which is seen."""

    discount: float = 0.9
    max_steps: int = 2

    def action_space(self):
        return Shift(Box(-1.0, 1.0))

    def initial(self, rng):
        return Spot(0.2 * rng.uniform())

    def step(self, s, a, rng):
        return Spot(2.0), -100.0 * (s.x - a.by) * (s.x - a.by)

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.x == s.x else -np.inf

    def is_terminal(self, s):
        return s.x > 1.0


@pytest.mark.parametrize("planner", [FittedQ(learn_seconds=0.0), AIROAS(iterations=1, policy="always", learn_seconds=0.0)])
def test_an_action_of_a_space_is_refined(planner: Any) -> None:
    """What stands for the space is 0.083 apart, and the best of it 0.042 beside the middle."""
    model = Dart()
    belief = Particles.sample(model, 500, stream(1))
    actions = [planner.plan(model, belief, stream(seed)).action.by for seed in range(6)]
    assert np.median(np.abs(np.subtract(actions, 0.1))) < 0.025


def test_continuous_actions_without_limits_are_refused() -> None:
    @airoas.model
    class Endless(NamedTuple):
        discount: float = 0.9
        max_steps: int = 2
        initial, step, observe, obs_logpdf, is_terminal = Dart.initial, Dart.step, Dart.observe, Dart.obs_logpdf, Dart.is_terminal

        def sample_action(self, s, rng):
            return Shift(rng.normal())

    with pytest.raises(airoas.OptionError, match=r"needs `actions` or an `action_space`.* Use POMCPOW"):
        FittedQ().prepare(Endless())


@pytest.mark.parametrize("planner", [AIROAS(iterations=20, policy="always", learn_seconds=0.0), FittedQ(learn_seconds=0.0)])
def test_threads_may_share_a_planner(planner: Any) -> None:
    """Each decision has a workspace of its own: eight threads decide as one does."""
    planner.prepare(MODEL)
    belief = Particles.sample(MODEL, 3000, stream(1))

    def decide(seed: int) -> tuple[Any, float]:
        decision = planner.plan(MODEL, belief, stream(seed))
        return decision.action, decision.value

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(decide, range(32))) == [decide(seed) for seed in range(32)]


@pytest.mark.parametrize("name", ["bare-light-dark-1.0", "machine"])
def test_a_rollout_does_not_depend_on_what_runs_beside_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many runs are made in one call follows the pace of the machine; what they earn must not."""
    model = find_domain(name)(0)
    belief = Particles.sample(model, 200, stream(1))
    earned = []
    for most in (64, 7):
        monkeypatch.setattr(rollout, "_BATCH", most)
        candidates = [*(Candidate(np.full((1, 1), float(a))) for a in (0, 1)), Candidate(np.zeros((0, 1)), 1)]
        labels = (np.arange(200) < 50).astype(np.int64)
        Rollouts(model, make_policy(model)).compare(candidates, belief.states, belief.weights, labels, 5, float("inf"), 2)
        earned.append([candidate.returns for candidate in candidates])
    assert earned[0] == earned[1] and len(earned[0][0]) >= 4


def test_few_equal_differences_say_little() -> None:
    """Four worlds in which one candidate earns 1 more each time, of returns that vary by some 10."""
    own, other = Candidate(np.zeros((1, 1))), Candidate(np.ones((1, 1)))
    for lasts, sure in ((4, False), (400, True)):
        returns = np.random.default_rng(0).normal(size=lasts) * 10.0
        own.returns, other.returns = returns.tolist(), (returns + 1.0).tolist()
        gain, error = other.gain_over(own)
        assert gain == pytest.approx(1.0) and (gain > 2.0 * error) == sure


def test_what_others_are_compared_with_stays() -> None:
    """Stopping is the worst candidate here, of the others none is better, and it has a return in every world that any other has one in."""
    model = find_domain("light-dark-1.0")(0)
    belief = Particles(np.array([[-8.0, 0.0], [-8.0, 0.0]]))
    candidates = [Candidate(np.full((1, 1), float(a))) for a in (1, 2, 2)]  # stopping here costs 10
    Rollouts(model, make_policy(model)).compare(candidates, belief.states, belief.weights, np.zeros(2, np.int64), 5, float("inf"), 4)
    most = max(len(candidate.returns) for candidate in candidates)
    assert len(candidates[0].returns) == most > 4
    assert candidates[0].mean < candidates[2].mean


def test_what_was_made_to_run_interpreted_is_not_used_compiled() -> None:
    """It has no compiled functions: to use them there was the end of the process."""
    model, planner = airoas.domains.Tiger(), FittedQ(learn_seconds=0.0)
    belief = Particles.sample(model, 20, stream(1))
    with airoas.running("interpreted"):
        first = planner.plan(model, belief, stream(2)).action
    assert planner.plan(model, belief, stream(2)).action == first


def test_a_policy_corrects_the_values_that_the_planner_was_given() -> None:
    model, own = MODEL, learned.learn(MODEL, 1e-6)
    other = learned.learn(model, 1e-6, values="fitted")
    assert other.digest != own.digest
    assert learned.find_learned(model, "fitted") is None
    kept = learned.prepare(model, 1e-6, "fitted")
    assert (kept.digest, learned.find_learned(model, "fitted")) == (other.digest, kept) and learned.find_learned(model) is None
    advisor = AIROAS(iterations=1, bounds=("auto", "fitted"), policy="always").advisor(model, find_bounds(model))
    assert advisor is not None and advisor.learned is kept and other.digest in advisor.name
    advisor = AIROAS(iterations=1, bounds=("auto", 10.0), policy="always", learn_seconds=0.0).advisor(model, find_bounds(model))
    assert advisor is not None and advisor.learned is None  # a number tells no action from another: QMDP has its usual values
