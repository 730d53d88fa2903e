import math
from typing import NamedTuple

import airoas


@airoas.model
class MyModel(NamedTuple):
    """Land a drone beside a beacon in a corridor; the radio tells how far off it is, not on which side."""

    length: float = 10.0
    noise: float = 0.3
    discount: float = 0.95

    def actions(self):
        return ("back", "forward", "land")

    def initial(self, rng):
        return 0.5 * self.length, self.length * rng.uniform(), 0  # where the drone is, where the beacon is, landed?

    def step(self, s, a, rng):
        drone, beacon, _ = s
        if a == 2:
            return (drone, beacon, 1), 10.0 if abs(beacon - drone) < 0.5 else -10.0
        return (drone + 2.0 * a - 1.0, beacon, 0), -1.0

    def observe(self, s, a, rng):
        return (abs(s[1] - s[0]) + self.noise * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        z = (o[0] - abs(s[1] - s[0])) / self.noise
        return -0.5 * z * z - math.log(self.noise * math.sqrt(2.0 * math.pi))

    def is_terminal(self, s):
        return s[2] > 0
