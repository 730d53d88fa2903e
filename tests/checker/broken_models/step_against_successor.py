# expect: Broken.step | does not follow `successor`
import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    cell: int


@airoas.model
class Broken(NamedTuple):
    slip: float = 0.2
    discount: float = 0.9

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return State(rng.integer(4))

    def step(self, s, a, rng):  # <- here
        if rng.uniform() < 0.5 * self.slip:
            return s, -1.0
        return State((s.cell + 2 * a - 1) % 4), -1.0

    def observe(self, s, a, rng):
        return (1 if rng.uniform() < 0.8 else 0,)

    def obs_logpdf(self, o, s, a):
        return math.log(0.8) if o[0] == 1 else math.log(0.2)

    def n_states(self):
        return 4

    def index(self, s):
        return s.cell

    def state(self, i):
        return State(i)

    def successor(self, s, a, k):
        if k == 0:
            return s, self.slip
        return State((s.cell + 2 * a - 1) % 4), 1.0 - self.slip
