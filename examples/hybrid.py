"""An action with a mode, an angle and a speed: `python examples/hybrid.py`.

A boat in fog looks for its berth. Each minute it sails, at some heading and speed, by a compass and a poor idea of where it is, or it stops
to take a bearing with the radar, which is sharp.
"""

import argparse
import math
from typing import NamedTuple

import airoas
from airoas import Box, Choice
from airoas.planners import AIROAS

SAIL, RADAR = range(2)


class Boat(NamedTuple):
    x: float  # the berth is at (0, 0)
    y: float
    moored: bool


class Order(NamedTuple):
    mode: int
    heading: float
    speed: float


class Fix(NamedTuple):
    x: float
    y: float


@airoas.model
class Harbour(NamedTuple):
    """Within 0.3 of the berth at a speed of at most 0.5: +20. A minute costs 0.5, the radar 1 more, speed its square."""

    drift: float = 0.05
    discount: float = 0.95
    max_steps: int = 40

    def action_space(self):
        return Order(mode=Choice("sail", "radar"), heading=Box(-math.pi, math.pi, wraps=True), speed=Box(0.0, 2.0))

    def initial(self, rng):
        return Boat(6.0 + 1.5 * rng.normal(), -4.0 + 1.5 * rng.normal(), False)

    def step(self, s, a, rng):
        speed = a.speed if a.mode == SAIL else 0.0
        x = s.x + speed * math.cos(a.heading) + self.drift * rng.normal()
        y = s.y + speed * math.sin(a.heading) + self.drift * rng.normal()
        cost = 0.5 + 0.2 * speed * speed + (1.0 if a.mode == RADAR else 0.0)
        moored = a.mode == SAIL and speed <= 0.5 and x * x + y * y < 0.3 * 0.3
        return Boat(x, y, moored), (20.0 if moored else 0.0) - cost

    def observe(self, s, a, rng):
        sd = 0.1 if a.mode == RADAR else 3.0
        return Fix(s.x + sd * rng.normal(), s.y + sd * rng.normal())

    def obs_logpdf(self, o, s, a):
        sd = 0.1 if a.mode == RADAR else 3.0
        dx, dy = (o.x - s.x) / sd, (o.y - s.y) / sd
        return -0.5 * (dx * dx + dy * dy) - math.log(2.0 * math.pi * sd * sd)

    def is_terminal(self, s):
        return s.moored

    def heuristic(self, s):
        """As if the way were known: a unit and a half a minute."""
        minutes = math.sqrt(s.x * s.x + s.y * s.y) / 1.5
        return 20.0 * 0.95**minutes - 1.0 * minutes


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--iterations", type=int, default=500, help="trials for a decision (default 500)")
    options.add_argument("--particles", type=int, default=2_000, help="of the belief (default 2000)")
    options = options.parse_args()

    print(airoas.simulate(Harbour(), AIROAS(iterations=options.iterations), seed=0, particles=options.particles))


if __name__ == "__main__":
    main()
