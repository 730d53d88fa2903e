"""Eight sonar beams as one observation: `python examples/sonar.py`.

A robot wakes up somewhere in a room with a pillar, measures how far it is to what stands around it, and drives to its dock.
"""

import argparse
import math
from typing import NamedTuple

import airoas
from airoas import Vector
from airoas.planners import AIROAS

WIDTH, DEPTH = 8.0, 5.0
PILLAR_X, PILLAR_Y, RADIUS = 2.5, 3.0, 0.5
DOCK_X, DOCK_Y, NEAR = 7.0, 1.0, 0.7


class Pose(NamedTuple):
    x: float
    y: float


class State(NamedTuple):
    pose: Pose
    docked: bool


class Sonar(NamedTuple):
    beams: Vector[8]  # how far it is to the east, north-east, north, and so on


def distance(pose, beam):
    """From a place along a beam to the wall, or to the pillar where that stands in the way."""
    dx, dy = math.cos(beam * math.pi / 4.0), math.sin(beam * math.pi / 4.0)
    nearest = 100.0
    if abs(dx) > 1e-9:
        nearest = min(nearest, ((WIDTH if dx > 0.0 else 0.0) - pose.x) / dx)
    if abs(dy) > 1e-9:
        nearest = min(nearest, ((DEPTH if dy > 0.0 else 0.0) - pose.y) / dy)
    along = (PILLAR_X - pose.x) * dx + (PILLAR_Y - pose.y) * dy
    beside = (PILLAR_X - pose.x) * dy - (PILLAR_Y - pose.y) * dx
    if along > 0.0 and abs(beside) < RADIUS:
        nearest = min(nearest, along - math.sqrt(RADIUS * RADIUS - beside * beside))
    return max(0.0, nearest)


@airoas.model
class Docking(NamedTuple):
    """A step costs 1. Docking within reach of the dock pays 20 and ends it, elsewhere it costs 10."""

    noise: float = 0.2
    discount: float = 0.95
    max_steps: int = 40

    def actions(self):
        return ("east", "north", "west", "south", "dock")

    def initial(self, rng):
        return State(Pose(WIDTH * rng.uniform(), DEPTH * rng.uniform()), False)

    def step(self, s, a, rng):
        x, y = s.pose
        if a == 4:
            near = (x - DOCK_X) * (x - DOCK_X) + (y - DOCK_Y) * (y - DOCK_Y) < NEAR * NEAR
            return State(s.pose, near), 20.0 if near else -10.0
        x += 0.8 * math.cos(a * math.pi / 2.0) + 0.05 * rng.normal()
        y += 0.8 * math.sin(a * math.pi / 2.0) + 0.05 * rng.normal()
        return State(Pose(max(0.0, min(WIDTH, x)), max(0.0, min(DEPTH, y))), False), -1.0

    def observe(self, s, a, rng):
        return Sonar([distance(s.pose, k) + self.noise * rng.normal() for k in range(8)])

    def obs_logpdf(self, o, s, a):
        total = -8.0 * math.log(self.noise * math.sqrt(2.0 * math.pi))
        for k, seen in enumerate(o.beams):
            z = (seen - distance(s.pose, k)) / self.noise
            total -= 0.5 * z * z
        return total

    def is_terminal(self, s):
        return s.docked

    def value_bounds(self, s):
        return -20.0, 20.0  # to drive about for ever, and to be there


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--iterations", type=int, default=100, help="trials for a decision (default 100)")
    options.add_argument("--particles", type=int, default=5_000, help="of the belief (default 5000)")
    options = options.parse_args()
    print(airoas.simulate(Docking(), AIROAS(iterations=options.iterations), seed=0, particles=options.particles))


if __name__ == "__main__":
    main()
