"""A model with continuous states, actions and observations: `python examples/continuous.py`.

A boat drifts toward a quay. Choose how hard to run the motor; the range finder gets better near the quay.
"""

import argparse
import math
from typing import NamedTuple

import airoas
from airoas.planners import POMCPOW


class Boat(NamedTuple):
    distance: float  # to the quay
    speed: float  # toward it
    landed: bool


class Thrust(NamedTuple):
    power: float  # above 0 pushes toward the quay, below 0 brakes


class Range(NamedTuple):
    distance: float


@airoas.model
class Docking(NamedTuple):
    """Touch the quay slowly: +10, less 20 for every unit of speed. Time and the motor cost a little."""

    wind: float = 0.05
    noise: float = 0.2
    discount: float = 0.97
    max_steps: int = 40

    def sample_action(self, s, rng):
        return Thrust(2.0 * rng.uniform() - 1.0)

    def rollout_action(self, s, rng):
        """Aim at a speed that suits the distance, as a helmsman would who saw everything."""
        wanted = 0.1 + 0.25 * s.distance
        return Thrust(max(-1.0, min(1.0, 2.0 * (wanted - s.speed))))

    def initial(self, rng):
        return Boat(5.0 + rng.normal(), 0.5 * rng.uniform(), False)

    def step(self, s, a, rng):
        power = max(-1.0, min(1.0, a.power))
        speed = s.speed + 0.4 * power + self.wind * rng.normal()
        distance = s.distance - speed
        cost = 0.2 + 0.1 * abs(power)
        if distance <= 0.0:
            return Boat(0.0, speed, True), 10.0 - 20.0 * abs(speed) - cost
        return Boat(distance, speed, False), -cost

    def sd(self, distance):
        return self.noise * (0.2 + distance)

    def observe(self, s, a, rng):
        return Range(s.distance + self.sd(s.distance) * rng.normal())

    def obs_logpdf(self, o, s, a):
        sd = self.sd(s.distance)
        z = (o.distance - s.distance) / sd
        return -0.5 * z * z - math.log(sd * math.sqrt(2.0 * math.pi))

    def is_terminal(self, s):
        return s.landed


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--iterations", type=int, default=20_000, help="simulations for a decision (default 20000)")
    options.add_argument("--particles", type=int, default=2_000, help="of the belief (default 2000)")
    options = options.parse_args()

    model = Docking()
    planner = POMCPOW(iterations=options.iterations, c=5.0, k_action=4.0, alpha_action=0.3)
    print(airoas.simulate(model, planner, seed=0, particles=options.particles))


if __name__ == "__main__":
    main()
