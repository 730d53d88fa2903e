# expect: Broken.step | not a pair
import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    y: float
    n: int


class Reading(NamedTuple):
    y: float


@airoas.model
class Broken(NamedTuple):
    sd: float = 1.0
    discount: float = 0.9

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return State(rng.normal(), 0)

    def step(self, s, a, rng):  # <- here
        if s.n == 3:
            return s
        return State(s.y + a - 0.5, s.n + 1), -1.0

    def observe(self, s, a, rng):
        return Reading(s.y + self.sd * rng.normal())

    def obs_logpdf(self, o, s, a):
        z = (o.y - s.y) / self.sd
        return -0.5 * z * z - math.log(self.sd) - 0.5 * math.log(2.0 * math.pi)

    def is_terminal(self, s):
        return s.n >= 5
