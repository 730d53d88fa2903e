"""SensorPlacement (Hoerger, Kurniawati, Kroese and Ye 2023): an arm of eight joints puts a sensor on a wall.

It feels whether it touches the wall, and on which side of the goal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from airoas.compiler.arrays import Vector
from airoas.modelling.actions import Box
from airoas.modelling.decorator import model
from airoas.rng import Rng

if TYPE_CHECKING:
    Joints = Any
else:
    Joints = Vector[8]
JOINTS = 8
ABOUT_Y = (False, True, True, False, False, True, False, False)
"""The joints that turn about their own y axis; the others turn about z."""
LENGTH, LAST = 1.0, 1.0625
START = (0.0, -1.57, 1.57, 0.0, 0.0, 0.0, 0.0, 0.0)
WALL, GOAL_Z, RADIUS = 7.225, 1.5, 0.15
"""x of the wall, height of the goal on it, and how near is there."""
BEYOND = 7.325
"""x from which on the arm has run into the wall."""
_LOG_DECAY = math.log(0.001)


class State(NamedTuple):
    joints: Joints
    x: float
    """Of the sensor."""
    y: float
    z: float


class Action(NamedTuple):
    rotations: Joints


class Touch(NamedTuple):
    quadrant: int
    """1 .. 4 about the goal; 0 where nothing is touched."""


@model
class SensorPlacement(NamedTuple):
    """Sensor within 0.15 of the goal +1000, through the wall -500, each of which ends it; a step -1.

    The defaults are those of the authors' program; their paper has jitter = 0.1 and turn_sd = 0.0316.
    """

    jitter: float = 0.075
    """Of each joint at the start, uniform."""
    turn_sd: float = 0.0
    """Of each turn."""
    discount: float = 0.95
    max_steps: int = 50

    def action_space(self) -> Action:
        return Action(rotations=Box(-0.5, 0.5))

    def initial(self, rng: Rng) -> State:
        joints = Joints(0.0)
        for k in range(JOINTS):
            joints = joints.with_(k, START[k] + self.jitter * (2.0 * rng.uniform() - 1.0))
        x, y, z = sensor(joints)
        return State(joints, x, y, z)

    def step(self, s: State, a: Action, rng: Rng) -> tuple[State, float]:
        joints = s.joints
        for k in range(JOINTS):
            joints = joints.with_(k, joints[k] + a.rotations[k] + (self.turn_sd * rng.normal() if self.turn_sd > 0.0 else 0.0))
        x, y, z = sensor(joints)
        s2 = State(joints, x, y, z)
        return s2, -1.0 + (-500.0 if s2.x > BEYOND else 1000.0 if way(s2) < RADIUS else 0.0)

    def is_terminal(self, s: State) -> bool:
        return s.x > BEYOND or way(s) < RADIUS

    def observe(self, s: State, a: Action, rng: Rng) -> Touch:
        return Touch(touch(s))

    def obs_logpdf(self, o: Touch, s: State, a: Action) -> float:
        return 0.0 if o.quadrant == touch(s) else -math.inf

    def heuristic(self, s: State) -> float:
        """The authors': falls a thousandfold with every unit of the way."""
        left = math.exp(_LOG_DECAY * way(s))
        return 1000.0 * left - (left - 1.0) / _LOG_DECAY


def sensor(joints: Joints) -> tuple[float, float, float]:
    """Where the sensor is: each joint rotations what comes after it about its own y or z axis."""
    ax, ay, az = 1.0, 0.0, 0.0  # the axes of the present link
    bx, by, bz = 0.0, 1.0, 0.0
    cx, cy, cz = 0.0, 0.0, 1.0
    x, y, z = 0.0, 0.0, 0.0
    for k in range(JOINTS):
        c, s = math.cos(joints[k]), math.sin(joints[k])
        if ABOUT_Y[k]:
            ax, ay, az, cx, cy, cz = c * ax - s * cx, c * ay - s * cy, c * az - s * cz, s * ax + c * cx, s * ay + c * cy, s * az + c * cz
        else:
            ax, ay, az, bx, by, bz = c * ax + s * bx, c * ay + s * by, c * az + s * bz, c * bx - s * ax, c * by - s * ay, c * bz - s * az
        length = LAST if k == JOINTS - 1 else LENGTH
        x += length * ax
        y += length * ay
        z += length * az
    return x, y, z


def way(s: State) -> float:
    """To the goal."""
    dx, dz = s.x - WALL, s.z - GOAL_Z
    return math.sqrt(dx * dx + s.y * s.y + dz * dz)


def touch(s: State) -> int:
    if abs(WALL - s.x) >= RADIUS:
        return 0
    return (1 if s.y < 0.0 else 3) + (0 if s.z > GOAL_Z else 1)
