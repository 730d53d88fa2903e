import math
from typing import NamedTuple

import airoas
from airoas import Box, Choice


class State(NamedTuple):
    gain: float
    bias: float
    landed: float  # where the last stroke ended
    job: int


class Order(NamedTuple):
    kind: int
    command: float


class Seen(NamedTuple):
    job: int
    report: int  # of a load: -1 too short, 0 in place, 1 too far
    reading: float  # of a measurement, zero otherwise


@airoas.model
class Loader(NamedTuple):
    """A loader whose boom has an unknown, wearing gain and an unknown bias puts eight loads down; strokes may be measured, at a price."""

    targets: tuple = (2.0, 3.4, 1.2, 4.0, 2.6, 0.8, 3.0, 3.8)
    tolerance: float = 0.25
    scatter: float = 0.06
    wear: float = 0.012
    noise: float = 0.2
    honest: float = 0.9
    cost: float = 2.0
    placed: float = 10.0
    spilt: float = 6.0
    discount: float = 0.97
    max_steps: int = 40

    def action_space(self):
        return Order(Choice("place", "measure"), Box(0.0, 7.0))

    def initial(self, rng):
        return State(0.65 + 0.7 * rng.uniform(), 0.3 * rng.normal(), 0.0, 0)

    def step(self, s, a, rng):
        gain = s.gain * (1.0 + self.wear * rng.normal())
        landed = gain * a.command + s.bias + self.scatter * rng.normal()
        if a.kind == 1:
            return State(gain, s.bias, landed, s.job), -self.cost
        hit = abs(landed - self.targets[s.job]) < self.tolerance
        return State(gain, s.bias, landed, s.job + 1), self.placed if hit else -self.spilt

    def truth(self, s):
        """What an honest report of the load that was put down last says."""
        off = s.landed - self.targets[s.job - 1]
        return 0 if abs(off) < self.tolerance else 1 if off > 0.0 else -1

    def observe(self, s, a, rng):
        if a.kind == 1:
            return Seen(s.job, 0, s.landed + self.noise * rng.normal())
        return Seen(s.job, self.truth(s) if rng.uniform() < self.honest else rng.integer(3) - 1, 0.0)

    def obs_logpdf(self, o, s, a):
        if o.job != s.job:
            return -math.inf
        if a.kind == 1:
            z = (o.reading - s.landed) / self.noise
            return -0.5 * z * z - math.log(self.noise * math.sqrt(2.0 * math.pi))
        lie = (1.0 - self.honest) / 3.0
        return math.log(self.honest + lie if o.report == self.truth(s) else lie)

    def is_terminal(self, s):
        return s.job >= 8
