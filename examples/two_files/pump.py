"""Run a pump that wears out of sight, and repair it before it breaks: `airoas check examples/two_files/pump.py:Maintain`."""

from typing import NamedTuple

import wear
from wear import Pump

import airoas

RUN, REPAIR = 0, 1


@airoas.model
class Maintain(NamedTuple):
    """An hour of running pays 1 and wears the pump by up to `rate`; at wear 1 it breaks. You only feel how it shakes."""

    rate: float = 0.2
    discount: float = 0.95

    def actions(self):
        return ("run", "repair")

    def initial(self, rng):
        return Pump(0.5 * rng.uniform(), False)

    def step(self, s, a, rng):
        if a == REPAIR:
            return Pump(0.0, False), -wear.REPAIR_COST
        worn = s.wear + self.rate * rng.uniform()
        if worn >= 1.0:
            return Pump(worn, True), -wear.BREAKDOWN_COST
        return Pump(worn, False), 1.0

    def observe(self, s, a, rng):
        return (wear.shaking(s) + wear.SHAKE_SD * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        return wear.normal_logpdf(o[0], wear.shaking(s), wear.SHAKE_SD)

    def is_terminal(self, s):
        return s.broken
