"""LaserTag: beams, readings and maps; its steps are tested with those of Tag.

Statistical tests have fixed seeds. Each comparison has a false-alarm rate of about one in a million and a test makes at
most thirty-two: another seed would pass too.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from airoas.compiler.kernels import kernel
from airoas.domains.grid import EAST, NORTH, State
from airoas.domains.laser_tag import BEAMS, MAP_1, MAP_2, RANGES, LaserTag, Readings, random_obstacles
from airoas.errors import OptionError
from airoas.rng import stream

FLOOR = [(x, y) for x in range(1, 12) for y in range(1, 8)]


def at(model, robot, opponent, tagged=0):
    number = {(int(x), int(y)): i for i, (x, y) in enumerate(model.cells)}
    return State(number[robot], number[opponent], tagged)


def true_ranges(model, robot, opponent):
    s = at(model, robot, opponent)
    return [RANGES[i] for i in model.beams[s.robot, s.opponent]]


def test_sizes():
    assert LaserTag().describe() == (4762, 5, "~1.5e6")
    assert LaserTag(julia_prior=True).describe() == (5930, 5, "~1.5e6")
    assert LaserTag(()).n_cells == 77
    assert LaserTag(MAP_2).n_cells == 69


@pytest.mark.parametrize(
    ("robot", "readings", "likelihood"),
    [
        ((1, 2), (4, 9, 0, 0, 6, 2, 0, 0), 0.00258604),
        ((2, 2), (1, 8, 0, 0, 2, 0, 1, 1), 0.000232729),
        ((3, 2), (5, 8, 0, 0, 7, 1, 1, 0), 0.000177984),
        ((7, 5), (1, 2, 4, 4, 2, 6, 0, 0), 0.000288588),
        ((10, 7), (0, 0, 1, 2, 1, 0, 9, 0), 0.000897613),
    ],
)
def test_likelihood_vectors(robot, readings, likelihood):
    # the published figures differ from the formula by up to 4.4e-6 of themselves
    model = LaserTag(MAP_1)
    assert math.exp(model.obs_logpdf(Readings(*readings), at(model, robot, (11, 7)), 0)) == pytest.approx(likelihood, rel=5e-6)


def test_beams_by_hand():
    # the robot at (7, 5): north two free cells, then the edge; west (6, 5) .. (1, 5), then the edge; south-west (6, 4) is an obstacle
    root = math.sqrt(2.0)
    free = [3.0, 3.0, 5.0, 7.0, 3 * root, 5 * root, root, root]
    assert true_ranges(LaserTag(MAP_1), (7, 5), (11, 7)) == pytest.approx(free)
    # an opponent in the way shortens exactly one beam
    assert true_ranges(LaserTag(MAP_1), (7, 5), (7, 3)) == pytest.approx([*free[:2], 2.0, *free[3:]])
    assert true_ranges(LaserTag(MAP_1), (7, 5), (9, 3)) == pytest.approx([*free[:5], 2 * root, *free[6:]])
    # no obstacle: a diagonal between touching corners, and the longest beams there are
    assert true_ranges(LaserTag(((1, 2), (2, 1))), (1, 1), (11, 7)) == pytest.approx([1, 1, 1, 1, 7 * root, root, root, root])
    assert true_ranges(LaserTag(()), (1, 1), (2, 3)) == pytest.approx([7, 11, 1, 1, 7 * root, root, root, root])


@pytest.mark.parametrize("obstacles", [MAP_1, MAP_2, random_obstacles(0)])
def test_beams_by_walking(obstacles):
    model = LaserTag(obstacles)
    rng = stream(0, "walk")
    for _ in range(300):
        s = model.initial(rng)
        if s.robot == s.opponent:
            continue
        (x, y), opponent = model.cells[s.robot], tuple(model.cells[s.opponent])
        opaque = {*obstacles, opponent}
        for beam, (dx, dy) in enumerate(BEAMS):
            c = 0
            while (cell := (x + (c + 1) * dx, y + (c + 1) * dy)) in FLOOR and cell not in opaque:
                c += 1
            assert RANGES[model.beams[s.robot, s.opponent, beam]] == pytest.approx((c + 1) * math.sqrt(dx * dx + dy * dy))


def test_marginals():
    model = LaserTag()
    mass = np.exp(model.reading_log_mass)
    assert np.allclose(mass.sum(1), 1.0, atol=1e-12)
    for distance, probabilities in (
        (1.0, [1.0]),
        (2.0, [0.6892, 0.3108]),
        (math.sqrt(2.0), [0.8684, 0.1316]),
        (2.0 * math.sqrt(2.0), [0.4646, 0.2758, 0.2596]),
        (5.0, [0.1096, 0.1205, 0.1936, 0.2654, 0.3108]),
    ):
        row = mass[int(np.argmin(np.abs(np.array(RANGES) - distance)))]
        assert row == pytest.approx([*probabilities, *[0.0] * (11 - len(probabilities))], abs=5.1e-5)
    phi = lambda x: 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))  # noqa: E731
    for i, d in enumerate(RANGES):
        for z in range(11):
            low = 0.0 if z == 0 else phi((z - d) / 2.5)
            assert mass[i, z] == pytest.approx(2.0 * (phi((min(d, z + 1.0) - d) / 2.5) - low) if z < d else 0.0, abs=1e-12)


@kernel
def count_readings(model, s, times, rng, counts):
    for _ in range(times):
        o = model.observe(s, 0, rng)
        for beam in range(8):
            counts[beam, o[beam]] += 1


def test_sampled_readings_follow_the_marginals():
    model = LaserTag(MAP_1)
    for robot, opponent in (((1, 2), (11, 7)), ((7, 5), (7, 3)), ((11, 1), (1, 1)), ((4, 4), (5, 5))):
        s, counts, times = at(model, robot, opponent), np.zeros((8, 11), np.int64), 1_000_000  # 60 or more of the rarest reading
        count_readings(model, s, times, stream(9, "readings", s.robot), counts)
        for beam in range(8):
            expected = times * np.exp(model.reading_log_mass[model.beams[s.robot, s.opponent, beam]])
            possible = expected > 0.0
            assert counts[beam, ~possible].sum() == 0
            degrees = int(possible.sum()) - 1
            if degrees:
                statistic = float(((counts[beam] - expected)[possible] ** 2 / expected[possible]).sum())
                # 1 - 1e-6 quantiles of chi-square with 1 .. 10 degrees, rounded up
                assert statistic < (24.0, 27.7, 30.7, 33.4, 35.9, 38.3, 40.6, 42.8, 45.0, 47.0)[degrees - 1]


def test_beams_are_independent():
    # correlation of two beams over 50,000 readings: sd 1/sqrt(50,000) = 0.0045; 28 pairs within 5.7 sd of 0
    model, rng = LaserTag(()), stream(4)
    s = at(model, (6, 4), (1, 1))
    rows = np.array([model.observe(s, 0, rng) for _ in range(50_000)], float)
    correlation = np.corrcoef(rows.T)
    assert np.abs(correlation[~np.eye(8, dtype=bool)]).max() < 5.7 / math.sqrt(50_000)


def test_the_same_cell_has_its_own_reading():
    model, rng = LaserTag(), stream(0)
    same = Readings(*[-1] * 8)
    distant, coincident = at(model, (4, 4), (5, 5)), at(model, (4, 4), (4, 4))
    for s in (coincident, coincident._replace(tagged=1)):
        assert model.observe(s, 0, rng) == same
        assert model.obs_logpdf(same, s, 0) == 0.0
        assert model.obs_logpdf(Readings(*[0] * 8), s, 0) == -math.inf
        assert model.obs_logpdf(same._replace(west=0), s, 0) == -math.inf
    assert model.obs_logpdf(same, distant, 0) == -math.inf
    assert model.obs_logpdf(Readings(*[0] * 8), distant, 0) > -math.inf
    assert model.obs_logpdf(Readings(0, 0, 0, 0, 2, 0, 0, 0), distant, 0) == -math.inf  # the opponent is sqrt(2) away
    for impossible in (11, 12, 10**9, -2):
        assert model.obs_logpdf(Readings(impossible, 0, 0, 0, 0, 0, 0, 0), distant, 0) == -math.inf


def test_julia_prior_starts_inside_obstacles_and_leaves_them():
    model = LaserTag(MAP_1, julia_prior=True)
    assert model.n_cells == 77 and {tuple(c) for c in model.cells[69:]} == set(MAP_1)
    s = at(model, (10, 4), (10, 5))  # two obstacles, one above the other
    assert model.step(s, EAST, stream(0))[0].robot == at(model, (11, 4), (1, 1)).robot
    assert model.step(s, NORTH, stream(0))[0].robot == s.robot
    assert not np.any(model.neighbour[:69] >= 69)
    going = {tuple(int(v) for v in model.cells[s2.opponent]): p for k in range(5) for s2, p in [model.successor(s, NORTH, k)] if p > 0}
    assert going == pytest.approx({(10, 6): 0.4, (9, 5): 0.2, (11, 5): 0.2, (10, 5): 0.2})
    assert model.mutate(s, None, 0, stream(0)) == s
    rng = stream(1)
    inside = np.mean([max(x.robot, x.opponent) >= 69 for x in (model.initial(rng) for _ in range(20_000))])
    assert inside == pytest.approx(0.197, abs=0.014)  # 1 - (69/77)**2, five standard deviations of 0.0028


def test_bins():
    model, swapped = LaserTag(), LaserTag(swapped_bins=True)
    assert len({model.cell(State(0, t, 0)) for t in range(69)}) == 69
    bins = {swapped.cell(State(0, t, 0)) for t in range(69)}
    assert len(bins) <= 49
    east = [swapped.cell(at(swapped, (1, 1), (x, 1))) for x in range(5, 12)]
    assert len(set(east)) == 3 and len(set(east[2:])) == 1


def test_random_obstacless():
    maps = [random_obstacles(seed) for seed in range(200)]
    assert maps[0] == random_obstacles(0) and len(set(maps)) == 200
    assert all(len(set(cells)) == 8 and set(cells) <= set(FLOOR) for cells in maps)
    counts = np.array([sum(cell in cells for cells in maps) for cell in FLOOR])
    expected = 200 * 8 / 77
    # 76 degrees; drawing without replacement makes the statistic smaller than chi-square, whose 1 - 1e-6 quantile is 150
    assert ((counts - expected) ** 2 / expected).sum() < 150
    assert all(LaserTag(cells).n_cells == 69 for cells in maps[:5])


def test_arrays_and_tuples_are_the_same_map():
    assert LaserTag(np.array(MAP_2)) == LaserTag(MAP_2) != LaserTag(MAP_1)


@pytest.mark.parametrize(
    ("obstacles", "said"),
    [
        (((0, 1),), "outside the floor"),
        (((12, 1),), "x = 1..11 and y = 1..7"),
        (((7, 8),), "outside the floor"),
        (((3, 3), (4, 4), (3, 3)), "twice"),
        (((1.5, 2),), "pairs of integers"),
        (((math.nan, 2),), "pairs of integers"),
        (((1, 2, 3),), "pairs of integers"),
        ((1, 2), "pairs of integers"),
        (tuple(FLOOR), "leave one"),
    ],
)
def test_bad_obstacles_are_refused_with_what_is_allowed(obstacles, said):
    with pytest.raises(OptionError) as caught:
        LaserTag(obstacles)
    assert said in str(caught.value).replace("Leave", "leave")


def test_a_single_free_cell_is_enough():
    model, rng = LaserTag(tuple(FLOOR[1:])), stream(0)
    assert model.n_states() == 2
    assert model.step(State(0, 0, 0), NORTH, rng) == (State(0, 0, 0), -1.0)
