"""Tag, and the laws of every pursuit on a grid (Tag and LaserTag share their steps).

Statistical tests have fixed seeds. Each comparison of counts has a false-alarm rate of about one in a million and a test
makes at most fifty: another seed would pass too.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from airoas.compiler.kernels import kernel, running
from airoas.domains.grid import ACTIONS, EAST, NORTH, SOUTH, TAG, WEST, State
from airoas.domains.laser_tag import LaserTag, random_obstacles
from airoas.domains.tag import CELLS, SAME, Seen, Tag
from airoas.errors import OptionError
from airoas.rng import stream

PURSUITS = [Tag(), Tag("modified"), LaserTag(), LaserTag(random_obstacles(3), julia_prior=True)]
pursuits = pytest.mark.parametrize("model", PURSUITS, ids=["tag", "tag-modified", "laser-tag", "laser-tag-julia"])


def chi_square_limit(degrees: int) -> float:
    """The 1 - 1e-6 quantile of the chi-square law, by Wilson and Hilferty: 15 % too high for 1 degree, 2 % for 10."""
    part = 2.0 / (9.0 * degrees)
    return degrees * (1.0 - part + 4.7534 * math.sqrt(part)) ** 3


def assert_counts_follow(counts, probabilities, where=""):
    """Pearson's test of counts [k] against chances [k]; what has no chance must not occur."""
    counts, probabilities = np.asarray(counts, float), np.asarray(probabilities, float)
    assert np.all(counts[probabilities == 0.0] == 0.0), where
    classes = [[0.0, 0.0]]
    for p, count in sorted(zip(probabilities, counts, strict=True)):
        if classes[-1][0] >= 50.0:  # rarer ones are pooled: the statistic's tail is chi-square's only where many are expected
            classes.append([0.0, 0.0])
        classes[-1][0] += p * counts.sum()
        classes[-1][1] += count
    if len(classes) > 1:
        statistic = sum((count - expected) ** 2 / expected for expected, count in classes)
        assert statistic < chi_square_limit(len(classes) - 1), where


def opponent_probabilities(model):
    """[robot, opponent, cell]: where the opponent goes, from `successor`."""
    n = model.n_cells
    probabilities = np.zeros((n, n, n))
    for r, t in np.ndindex(n, n):
        for k in range(5):
            s2, p = model.successor(State(r, t, 0), NORTH, k)
            probabilities[r, t, s2.opponent] += p
    return probabilities


def some_states(model, count=40):
    rng = stream(5, "some states")
    drawn = [model.initial(rng) for _ in range(count)]
    return [*drawn, State(3, 3, 0), State(3, 3, 1), State(model.n_cells - 1, 0, 0)]


# --- Tag ---


def test_map_and_sizes():
    model = Tag()
    assert len(CELLS) == 29 and CELLS[0] == (5, 4) and CELLS[9] == (0, 1) and CELLS[28] == (9, 0)
    assert model.describe() == (842, 5, 30)
    assert model.n_states() == 842
    assert model.action_names == ACTIONS
    assert model.discount == 0.95 and model.max_steps == 100


def test_robot_moves_and_bumps():
    model, rng = Tag(), stream(0)
    assert model.step(State(14, 0, 0), NORTH, rng)[0].robot == 6
    assert model.step(State(9, 0, 0), NORTH, rng)[0].robot == 9
    assert model.step(State(9, 0, 0), EAST, rng)[0].robot == 10
    assert model.step(State(9, 0, 0), SOUTH, rng)[0].robot == 19
    assert model.step(State(9, 0, 0), WEST, rng)[0].robot == 9


def test_opponent_of_both_variants_as_enumerated_in_the_specification():
    classic, modified = opponent_probabilities(Tag()), opponent_probabilities(Tag("modified"))
    cells = np.arange(29)
    for probabilities, stay in ((classic, 0.512), (modified, 0.280)):
        assert np.allclose(probabilities.sum(2), 1.0, atol=1e-12)
        staying = probabilities[:, cells, cells]
        assert staying.mean() == pytest.approx(stay, abs=5e-4)
        assert (staying > 1.0 - 1e-12).mean() == pytest.approx(0.100, abs=5e-4)
    distance = 0.5 * np.abs(classic - modified).sum(2)
    assert (distance > 1e-12).sum() == 590
    assert distance.mean() == pytest.approx(0.240, abs=5e-4)
    assert distance.max() == pytest.approx(0.60)


def test_classic_opponent_by_hand():
    probabilities = opponent_probabilities(Tag())
    # robot in the west corner of the bottom row, opponent at (5, 0): east 0.4; level, so north 0.2 and south blocked
    assert {j: round(p, 12) for j, p in enumerate(probabilities[19, 24]) if p > 0} == {25: 0.4, 14: 0.2, 24: 0.4}
    assert {j: round(p, 12) for j, p in enumerate(probabilities[15, 15]) if p > 0} == {7: 0.2, 14: 0.2, 16: 0.2, 25: 0.2, 15: 0.2}


@pytest.mark.parametrize(("opponent", "mean", "least"), [("classic", 2.15, -3.29), ("modified", -1.37, -5.78)])
def test_fully_observable_values(opponent, mean, least):
    model = Tag(opponent)
    n = model.n_states()
    following, probability, reward = np.zeros((n, 5, 5), int), np.zeros((n, 5, 5)), np.zeros((n, 5))
    assert [i for i in range(n) if model.is_terminal(model.state(i))] == [n - 1]
    for i, a in np.ndindex(n - 1, 5):
        reward[i, a] = model.reward(model.state(i), a)
        for k in range(5):
            s2, probability[i, a, k] = model.successor(model.state(i), a, k)
            following[i, a, k] = model.index(s2)
    value = np.zeros(n)
    for _ in range(300):
        value = (reward + 0.95 * (probability * value[following]).sum(2)).max(1)
    assert value[:-1].mean() == pytest.approx(mean, abs=5e-3)
    assert value.min() == pytest.approx(least, abs=5e-3)
    assert value.max() == pytest.approx(10.0) and value[-1] == 0.0


def test_observation_names_the_robot_cell_or_the_meeting():
    model, rng = Tag(), stream(0)
    for s, seen in ((State(4, 7, 0), 4), (State(4, 4, 0), SAME)):
        assert model.observe(s, NORTH, rng) == Seen(seen)
        assert [model.obs_logpdf(Seen(o), s, NORTH) for o in range(30)] == [0.0 if o == seen else -math.inf for o in range(30)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"opponent": "orig"}, "one of classic, modified"),
        ({"opponent": 3}, "one of classic, modified"),
        ({"flee": 1.2}, "from 0 to 1"),
        ({"flee": -0.1}, "from 0 to 1"),
        ({"flee": math.nan}, "from 0 to 1"),
    ],
)
def test_bad_parameters_are_refused_with_what_is_allowed(options, said):
    with pytest.raises(OptionError) as caught:
        Tag(**options)
    assert said in str(caught.value)


@pytest.mark.parametrize("flee", [0.0, 1.0])
def test_extreme_flight(flee):
    probabilities = opponent_probabilities(Tag("modified", flee=flee))
    staying = probabilities[:, np.arange(29), np.arange(29)]
    assert np.all((staying < 1e-12) | (staying > 1.0 - 1e-12))
    assert staying.mean() == pytest.approx(1.0 if flee == 0.0 else 0.100, abs=5e-4)


# --- every pursuit ---


def trace(model, rng, out):
    """Everything that a pursuit computes, a row per step."""
    s = model.initial(rng)
    for row in range(out.shape[0]):
        a = model.rollout_action(s, rng) if row % 3 else rng.integer(model.n_actions)
        s2, r = model.step(s, a, rng)
        o = model.observe(s2, a, rng)
        beta = 0.25 * (row % 5)
        moved = model.move(s2, s, o, a, beta, rng)
        near = model.mutate(s2, o, a, rng)
        literal = model.mutate_literal(s2, o, a, rng)
        following, p = model.successor(s, a, row % 5)
        rebuilt = model.state(model.index(s2))
        out[row, 0], out[row, 1], out[row, 2] = s2.robot, s2.opponent, s2.tagged
        out[row, 3], out[row, 4], out[row, 5] = r, o[0], model.obs_logpdf(o, moved, a)
        out[row, 6], out[row, 7], out[row, 8] = moved.opponent, near.opponent, literal.opponent
        out[row, 9], out[row, 10] = model.step_logpdf(s2, s, a), model.step_logpdf(near, s, a)
        out[row, 11], out[row, 12], out[row, 13] = following.opponent, p, model.reward(s, a)
        out[row, 14], out[row, 15] = rebuilt.opponent, model.cell(s2)
        s = model.initial(rng) if model.is_terminal(s2) and row % 2 else s2


traced = kernel(trace)


@pursuits
def test_interpreted_is_compiled_bit_for_bit(model):
    rows = {}
    for mode in ("interpreted", "compiled"):
        rows[mode] = np.zeros((1000, 16))
        with running(mode):
            traced(model, stream(11, "trace"), rows[mode])
    assert rows["interpreted"].tobytes() == rows["compiled"].tobytes()
    assert rows["compiled"][:, 2].any() and not rows["compiled"][:, 2].all()


@pursuits
def test_initial_belief_is_uniform(model):
    states, weights = model.exact_initial()
    assert states.shape == (model.n_cells**2, 3) and states.dtype == np.float64
    assert weights.sum() == pytest.approx(1.0) and np.ptp(weights) == 0.0
    assert [model.index(State(*map(int, s))) for s in states] == list(range(model.n_states() - 1))
    counts, rng = np.zeros((2, model.n_cells)), stream(1, "initial")
    for _ in range(20_000):
        s = model.initial(rng)
        counts[0, s.robot] += 1
        counts[1, s.opponent] += 1
    for row in counts:
        assert_counts_follow(row, np.full(model.n_cells, 1.0 / model.n_cells))


@pursuits
def test_index_and_state_are_inverse_and_the_end_is_one_state(model):
    last = model.n_states() - 1
    assert all(model.index(model.state(i)) == i for i in range(last + 1))
    assert model.index(State(2, 2, 1)) == model.index(State(0, 0, 1)) == last
    assert model.state(last).tagged and model.is_terminal(model.state(last))


@kernel
def count_steps(model, s, a, times, rng, counts):
    for _ in range(times):
        s2, _r = model.step(s, a, rng)
        counts[model.index(s2)] += 1


@pursuits
def test_successor_step_logpdf_and_step_agree(model):
    for number, s in enumerate(some_states(model, 17)):
        a = (NORTH, EAST, SOUTH, WEST, TAG)[number % 5]
        probabilities = np.zeros(model.n_states())
        for k in range(5):
            s2, p = model.successor(s, a, k)
            probabilities[model.index(s2)] += p
        assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
        for j in range(model.n_states() - 1):
            assert math.exp(model.step_logpdf(model.state(j), s, a)) == pytest.approx(probabilities[j], abs=1e-12)
        assert math.exp(model.step_logpdf(State(s.robot, s.opponent, 1), s, a)) == pytest.approx(probabilities[-1], abs=1e-12)
        counts = np.zeros(model.n_states(), np.int64)
        count_steps(model, s, a, 4000, stream(7, "steps", number), counts)
        assert_counts_follow(counts, probabilities, f"{s} {a}")
        assert model.step(s, a, stream(0))[1] == model.reward(s, a)


@pursuits
def test_tagging(model):
    rng = stream(0)
    assert model.step(State(3, 3, 0), TAG, rng) == (State(3, 3, 1), 10.0)
    s2, reward = model.step(State(3, 7, 0), TAG, rng)
    assert (s2.robot, s2.tagged, reward) == (3, 0, -10.0)
    assert model.step(State(3, 3, 0), NORTH, rng)[1] == -1.0
    assert model.reward(State(3, 3, 0), TAG) == 10.0
    assert model.successor(State(3, 3, 0), TAG, 0) == (State(3, 3, 1), 1.0)
    assert model.is_terminal(State(3, 3, 1)) and not model.is_terminal(State(3, 3, 0))


@kernel
def count_moves(model, s, parent, o, a, beta, times, rng, counts):
    for _ in range(times):
        s = model.move(s, parent, o, a, beta, rng)
        counts[model.index(s)] += 1


@pursuits
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_move_draws_from_its_target(model, beta):
    for number, parent in enumerate(some_states(model, 12)):
        a, rng = number % 5, stream(3, "moves", number)
        start, _ = model.step(parent, a, rng)
        # what is seen elsewhere contradicts most successors: at beta 0 they must still count
        o = model.observe(start if number % 2 else model.step(start, NORTH, rng)[0], a, rng)
        target = np.zeros(model.n_states())
        for k in range(5):
            s2, p = model.successor(parent, a, k)
            if p > 0.0:
                target[model.index(s2)] += p * (math.exp(beta * model.obs_logpdf(o, s2, a)) if beta > 0.0 else 1.0)
        if target.sum() == 0.0:
            assert model.move(start, parent, o, a, beta, rng) == start
            continue
        counts = np.zeros(model.n_states(), np.int64)
        count_moves(model, start, parent, o, a, beta, 4000, rng, counts)
        assert_counts_follow(counts, target / target.sum(), f"{parent} {a}")


@pursuits
def test_mutation_is_symmetric_and_reaches_every_successor(model):
    n = model.n_cells
    ways = np.zeros((n, n), int)
    for i in range(n):
        np.add.at(ways[i], model.nearby[i], 1)
    assert np.array_equal(ways, ways.T)
    for s in some_states(model):
        possible = [model.successor(s, NORTH, k) for k in range(5)]
        cells = [s2.opponent for s2, p in possible if p > 0.0 and s2.opponent < (model.floor >= 0).sum()]
        assert all(ways[i, j] or i == j for i in cells for j in cells)
    rng, seen = stream(2), set()
    for _ in range(300):
        s2 = model.mutate(State(1, 7, 0), model.observe(State(1, 7, 0), 0, rng), 0, rng)
        assert s2.robot == 1 and not s2.tagged
        seen.add(s2.opponent)
    assert seen == set(np.flatnonzero(ways[7]))  # each is missed with chance (11/12)**300 < 1e-11


@pursuits
def test_literal_mutation_is_a_rounded_gaussian(model):
    def band(offset):
        return 0.5 * (math.erf((offset + 0.5) / math.sqrt(2.0)) - math.erf((offset - 0.5) / math.sqrt(2.0)))

    at = model.n_cells // 2
    probabilities = np.zeros(model.n_cells)
    for x, y in zip(*np.nonzero(model.floor >= 0), strict=True):
        probabilities[model.floor[x, y]] = band(x - model.cells[at, 0]) * band(y - model.cells[at, 1])
    probabilities[at] += 1.0 - probabilities.sum()
    counts, rng = np.zeros(model.n_cells), stream(8)
    for _ in range(20_000):
        counts[model.mutate_literal(State(0, at, 0), None, 0, rng).opponent] += 1
    assert_counts_follow(counts, probabilities)


@pursuits
def test_rollout_steps_toward_the_opponent(model):
    rng = stream(0)
    for r, t in np.ndindex(model.n_cells, model.n_cells):
        a = model.rollout_action(State(r, t, 0), rng)
        dx, dy = model.cells[t] - model.cells[r]
        assert (a == TAG) == (r == t)
        if a != TAG:
            assert {NORTH: dy, EAST: dx, SOUTH: -dy, WEST: -dx}[a] > 0
            blocked = model.neighbour[r, (NORTH if dy > 0 else SOUTH) if abs(dy) >= abs(dx) else (EAST if dx > 0 else WEST)] == r
            assert blocked or (a in (NORTH, SOUTH)) == (abs(dy) >= abs(dx))


@pursuits
def test_pictures(model):
    figure = pytest.importorskip("matplotlib.figure")
    states, weights = model.exact_initial()
    belief = SimpleNamespace(states=states, weights=weights)
    for s in (None, State(3, 9, 0), State(3, 3, 1)):
        for b in (None, belief):
            axis = figure.Figure().add_subplot()
            model.draw(axis, s, b)
            names = [entry.get_text() for entry in axis.get_legend().get_texts()] if axis.get_legend() else []
            assert names == ["belief: opponent", "belief: robot"] * (b is not None) + ["opponent", "robot"] * (s is not None)
            rows = model.text(s, b).splitlines()[: model.size[1]]
            assert {len(row) for row in rows} == {5 * model.size[0]}
            assert ("X" in "".join(rows)) == (s is not None and s.robot == s.opponent)
    assert model == type(model)(*model) and hash(model) == hash(type(model)(*model))
