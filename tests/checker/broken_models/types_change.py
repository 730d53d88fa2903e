# expect: Broken.step | the float 0.5 for number 0 of a state, which is an int in `initial`
import math
from typing import NamedTuple

import airoas


@airoas.model
class Broken(NamedTuple):
    discount: float = 0.9

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return (0, 0)

    def step(self, s, a, rng):  # <- here
        if s[1] == 3:
            return (s[0] + 0.5, 0), 0.0
        return (s[0], s[1] + 1), -1.0

    def observe(self, s, a, rng):
        return (rng.normal(),)

    def obs_logpdf(self, o, s, a):
        return -0.5 * o[0] * o[0] - 0.5 * math.log(2.0 * math.pi)
