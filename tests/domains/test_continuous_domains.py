"""Pushbox2D, Parking2D and SensorPlacement-8 against cases worked out from their definitions."""

from __future__ import annotations

import math

import pytest

import airoas
from airoas.compiler.arrays import Vector
from airoas.domains import parking, pushbox, sensor_placement
from airoas.rng import stream


class Scripted:
    """Draws of a fixed value."""

    def __init__(self, normal: float = 0.0) -> None:
        self._normal = normal

    def normal(self) -> float:
        return self._normal

    def uniform(self) -> float:
        return 0.5


def push(state, action):
    model = pushbox.Pushbox()
    s, reward = model.step(pushbox.State(*state, False), pushbox.Action(*action), Scripted())
    return model, s, reward


@pytest.mark.parametrize(
    ("state", "action", "robot", "puck", "touched", "reward"),
    [
        ((5.5, 9.5, 5.5, 5.5), (0.0, -1.0), (5.5, 8.5), (5.5, 5.5), False, -10.0),
        ((5.5, 7.0, 5.5, 5.5), (0.0, -1.0), (5.5, 6.0), (5.5, 0.5), True, -1010.0),
        ((5.0, 6.0, 6.2, 6.4), (0.8, 0.2), (5.8, 6.2), (10.0657963081, 7.7768147676), True, -10.0),
        ((6.1, 8.1, 7.0, 8.6), (0.34, 0.2), (6.44, 8.3), (8.7242503138, 9.5562744665), True, 990.0),
    ],
)
def test_pushes(state, action, robot, puck, touched, reward):
    model, s, got = push(state, action)
    assert (s.x, s.y) == pytest.approx(robot, abs=1e-9)
    assert (s.puck_x, s.puck_y) == pytest.approx(puck, abs=1e-6)
    assert s.touched == touched and got == pytest.approx(reward, abs=1e-9)
    assert model.is_terminal(s) == (reward != -10.0)


def test_discs_that_overlap_already_do_not_push_and_may_end_it():
    model, s, reward = push((5.0, 5.0, 5.5, 5.0), (0.2, 0.0))
    assert not s.touched and reward == -10.0 and not model.is_terminal(s)
    assert pushbox.Pushbox(overlap_ends=True).is_terminal(s)


def test_bearings_of_the_puck():
    assert [pushbox.sector_probability(k, 270.0) for k in (7, 8, 9)] == pytest.approx([0.0, 0.5, 0.5], abs=1e-12)
    s = pushbox.State(5.5, 9.5, 7.0, 5.5, False)
    assert pushbox.bearing(s) == pytest.approx(290.556, abs=1e-3)
    assert [pushbox.sector_probability(k, pushbox.bearing(s)) for k in (9, 10)] == pytest.approx([0.979744, 0.020256], abs=1e-6)
    for angle in (0.0, 5.0, 29.0, 183.0, 359.5):
        assert sum(pushbox.sector_probability(k, angle) for k in range(12)) == pytest.approx(1.0, abs=1e-12)


def test_pushbox_heuristic():
    s = pushbox.State(5.5, 9.5, 5.5, 5.5, False)
    way = 5.0 + math.hypot(5.5 - 4.9, 9.5 - 4.7)
    left = 0.95**way
    assert pushbox.Pushbox().heuristic(s) == pytest.approx(1000.0 * left - 10.0 * (left - 1.0) / math.log(0.95), abs=1e-9)


@pytest.mark.parametrize(
    ("state", "action", "after"),
    [
        ((-1.0, 0.0, 0.0, 0.0), (3.0, 0.0), (0.0, 0.0, 0.0, 3.0)),
        ((-1.0, -3.0, 0.0, 0.0), (8.0, 1.57), (0.65962442, -1.01663131, 1.57, 8.0)),
        ((2.0, 0.1, 0.0, 3.0), (-1.0, -0.3), (4.64672215, -0.14326141, -0.3, 2.0)),
    ],
)
def test_driving(state, action, after):
    assert tuple(parking.drive(parking.State(*state), *action)) == pytest.approx(after, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "yaw", "hit"),
    [
        (4.6, 0.5, 0.0, True),
        (6.0, 0.3, 0.0, False),
        (6.0, 0.36, 0.0, True),
        (6.0, 0.0, 1.2, False),
        (9.9, 0.0, 0.0, False),
        (9.96, 0.0, 0.0, True),
    ],
)
def test_obstacles(x, y, yaw, hit):
    assert parking.collides(parking.State(x, y, yaw, 0.0)) == hit


def test_goal_and_obstacle_at_once():
    s, reward = parking.Parking().step(parking.State(9.96, 0.0, 0.0, 0.0), parking.Action(0.0, 0.0), stream(0))
    assert parking.at_goal(s) and parking.collides(s) and reward == -1.0
    assert parking.at_goal(parking.State(9.9, 0.0, 0.0, 0.0))


def test_tiles_tell_the_lane():
    assert [parking.tile_at(3.0, y) for y in (3.0, 2.0, 0.0, -2.0, -3.0)] == [1, 1, 2, 2, 3]
    assert parking.tile_at(0.0, 0.0) == 0
    s, exact, noisy = parking.State(3.0, 0.0, 0.0, 0.0), parking.Parking(), parking.Parking(accuracy=0.7)
    a = parking.Action(0.0, 0.0)
    assert exact.obs_logpdf(parking.Tile(2), s, a) == 0.0 and exact.obs_logpdf(parking.Tile(1), s, a) == -math.inf
    assert [math.exp(noisy.obs_logpdf(parking.Tile(k), s, a)) for k in (0, 1, 2, 3)] == pytest.approx([0.0, 0.15, 0.7, 0.15])


@pytest.mark.parametrize(
    ("joints", "where", "touch"),
    [
        ((0.0,) * 8, (8.0625, 0.0, 0.0), 0),
        (sensor_placement.START, (7.06329633, 0.0, 0.99999968), 0),
        ((0.1, -1.4, 1.3, 0.2, -0.3, 0.1, 0.2, -0.1), (7.13678064, 0.81692115, 1.28399122), 4),
        ((0.0, -1.32, 1.32, 0.0, 0.0, 0.0, 0.0, 0.0), (7.31067545, 0.0, 0.9687151), 4),
    ],
)
def test_arm(joints, where, touch):
    position = sensor_placement.sensor(Vector[8](joints))
    assert position == pytest.approx(where, abs=1e-6)
    s = sensor_placement.State(Vector[8](joints), *position)
    assert sensor_placement.touch(s) == touch
    assert sensor_placement.SensorPlacement().is_terminal(s) == (position[0] > 7.325)


def test_way_to_the_goal():
    s = sensor_placement.State(Vector[8](sensor_placement.START), *sensor_placement.sensor(Vector[8](sensor_placement.START)))
    assert sensor_placement.way(s) == pytest.approx(0.52549824, abs=1e-6)


@pytest.mark.parametrize("model", [pushbox.Pushbox(), parking.Parking(), parking.Parking(accuracy=0.7), sensor_placement.SensorPlacement()])
def test_models_are_sound(model):
    report = airoas.check(model)
    assert report.diagnostics == (), str(report)
