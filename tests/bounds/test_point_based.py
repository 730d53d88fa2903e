"""Point-based value iteration against values of two-state models, which are known to any precision, and by its own promises."""

import numpy as np
import pytest
from bound_models import Ladder, random_model

import airoas
from airoas import Particles
from airoas.bounds import ILLEGAL, blind_values, enumerate_model, find_bounds
from airoas.bounds.find import find_plans
from airoas.bounds.finite import point_based
from airoas.domains import LaserTag, LightDark, Tag, Tiger

SEEDS = range(8)
GRID = np.linspace(0.0, 1.0, 2001)
BELIEFS = np.stack((1.0 - GRID, GRID), axis=1)


def value_from_above(problem) -> np.ndarray:
    """The optimal value on GRID, from above: value iteration on values that are linear between neighbours, as the convex ones
    are below their chords."""
    discount = problem.discount[0]
    values = np.full(len(GRID), problem.rewards.max() / (1.0 - discount))
    steps = []
    for a in range(problem.rewards.shape[1]):
        moves = np.zeros((2, 2))
        for s in range(2):
            np.add.at(moves[s], problem.successors[s, a], problem.probabilities[s, a])
        joint = np.einsum("bs,st,to->bot", BELIEFS, moves, problem.likelihoods[:, a])  # belief, seen, state arrived in
        probability = joint.sum(axis=2)
        steps.append((BELIEFS @ problem.rewards[:, a], probability, joint[:, :, 1] / np.where(probability > 0.0, probability, 1.0)))
    for _ in range(600):
        values = np.max([r + discount * (p * np.interp(then, GRID, values)).sum(axis=1) for r, p, then in steps], axis=0)
    return values


@pytest.mark.parametrize("model", [*(random_model(seed, 2, 3, 3) for seed in SEEDS), Tiger()], ids=[*map(str, SEEDS), "tiger"])
def test_no_plan_is_above_the_optimal_value_and_the_best_is_near_it(model):
    result, best = find_plans(model), value_from_above(point_based.write_out(model))
    for plans in (result["values"], result["few"]):
        assert (BELIEFS @ plans <= best[:, None] + 1e-9).all()
        assert ((BELIEFS @ plans).max(axis=1) >= (BELIEFS @ blind_values(model)).max(axis=1) - 1e-9).all()
    spread = np.ptp(model.rewards) if hasattr(model, "rewards") else 110.0
    start = BELIEFS[1000] @ result["values"]
    assert start.max() >= best[1000] - 2e-3 * spread  # 1e-5 of the spread at each step, at a discount of .95 at most: 2e-4


def test_tigers_value():
    result = find_plans(Tiger())
    assert result["values"].mean(axis=0).max() == pytest.approx(19.371, abs=0.02)
    assert find_bounds(Tiger(), ("pbvi", "fib")).at(Tiger(), Particles.exact(Tiger()))[0] > 19.35


def test_the_policy_earns_what_it_promises():
    """Tiger, 20,000 beliefs followed at once for 200 steps; what comes after is within .004 of nothing. False alarms: 1 in 1000."""
    result, draw, runs = find_plans(Tiger()), np.random.default_rng(0), 20_000
    left, earned, discount = np.full(runs, 0.5), np.zeros(runs), 1.0
    for _ in range(200):
        beliefs = np.stack((left, 1.0 - left), axis=1)
        actions = result["first"][(beliefs @ result["values"]).argmax(axis=1)]
        earned += discount * np.choose(actions, (np.full(runs, -1.0), 10.0 - 110.0 * left, 110.0 * left - 100.0))
        heard = draw.random(runs) < 0.85 * left + 0.15 * (1.0 - left)
        right, wrong = np.where(heard, 0.85, 0.15), np.where(heard, 0.15, 0.85)
        left = np.where(actions == 0, left * right / (left * right + (1.0 - left) * wrong), 0.5)
        discount *= 0.95
    error = earned.std() / np.sqrt(runs)
    assert error < 0.1
    assert earned.mean() > result["values"].mean(axis=0).max() - 3.1 * error - 0.004


@pytest.mark.parametrize(("opponent", "least"), [("classic", -6.3), ("modified", -11.0)])
def test_tag_from_the_start(opponent, least):
    """Proved, since the vectors are lower bounds; SARSOP's policies earn -6.07 and -10.76."""
    model = Tag(opponent=opponent)
    result, q = find_plans(model), find_bounds(model, ("blind", "fib"))
    start = Particles.exact(model)
    assert least < (find_bounds(model, ("pbvi", "fib")).at(model, start))[0] < q.at(model, start)[1]
    live = ~enumerate_model(model).terminal
    assert least < result["values"][live].mean(axis=0).max()
    assert not result["values"][~live].any()
    few = point_based.FEW + 5
    assert len(result["few_first"]) <= few < len(result["first"])
    assert set(result["few_first"]) == set(range(5))


def test_the_same_numbers_every_time_and_interpreted(monkeypatch):
    monkeypatch.setattr(point_based, "ROUNDS", 2)
    monkeypatch.setattr(point_based, "NEW_BELIEF_POINTS", 60)
    monkeypatch.setattr(point_based, "FEW", 2)
    model = Tiger()
    table, repeated = enumerate_model(model), blind_values(model)
    result = []
    for mode in ("compiled", "compiled", "interpreted"):
        with airoas.running(mode):
            result.append(point_based.solve(model, table, repeated, np.arange(3)))
    assert len(result[0]["first"]) > len(result[0]["few_first"]) == 5
    for other in result[1:]:
        assert all(np.array_equal(result[0][name], other[name]) for name in result[0])


def test_illegal_plans_are_far_below():
    """Jumping pays the height, half of it a step later: from the ground, up to 1 or 2 and off is worth 1/2."""
    result = find_plans(Ladder())
    assert result["values"][0].max() == pytest.approx(0.5)
    jumps = result["values"][:, result["first"] == 1]
    assert (jumps[0] == ILLEGAL).all() and (jumps[2] == 2.0).any()
    assert (result["values"][[0, 2]].mean(axis=0)).max() <= 0.5 * (0.5 + 1.0)  # not known where: climb first


@pytest.mark.parametrize(("met", "value"), [(1, 19.371), (0, -20.0)])
def test_observations_never_met_are_one_more(met, value, monkeypatch):
    """Of two, one alone is told apart from none; without both there is nothing but to listen for ever."""
    every = point_based.observation_probabilities
    monkeypatch.setattr(point_based, "observation_probabilities", lambda *them: np.ascontiguousarray(every(*them)[:, :, :met]))
    model = Tiger()
    problem = point_based.write_out(model)
    assert problem.likelihoods.shape[2] == met + 1 and problem.likelihoods.sum(axis=2) == pytest.approx(1.0)
    result = point_based.solve(model, enumerate_model(model), blind_values(model), np.arange(3))
    assert result["values"].mean(axis=0).max() == pytest.approx(value, abs=0.02)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LaserTag(), 'needs few observations, all of whole numbers. Choose lower="blind"'),
        (LightDark(), "cannot be enumerated"),
        (Tag(discount=1.0), "discount is 1"),
    ],
)
def test_what_is_refused_is_named_with_a_remedy(model, words):
    with pytest.raises(airoas.OptionError) as error:
        find_bounds(model, ("pbvi", "qmdp"))
    assert words in str(error.value)


def test_a_large_model_is_refused(monkeypatch):
    monkeypatch.setattr(point_based, "MOST_LIKELIHOODS", 11)
    with pytest.raises(airoas.OptionError, match=r"too large.*2 states, 3 actions and 2 observations"):
        point_based.write_out(Tiger())


def test_progress_is_told():
    told = []
    model = Tiger(accuracy=0.8)
    find_plans(model, told.append)
    assert told[:2] == ["enumerating states", "values of repeated actions"]
    assert told[2].startswith("point-based value iteration, round 1 of")
    assert told[-1] == "choosing plans for a search"
