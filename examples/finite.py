"""A finite model with everything that enumeration unlocks: `python examples/finite.py`.

A machine wears out of sight. Running it earns money, an inspection tells how worn it is, a repair costs.
"""

import argparse
import math
from typing import NamedTuple

import numpy as np

import airoas
from airoas.bounds import find_bounds
from airoas.planners import AIROAS, QMDP

RUN, INSPECT, REPAIR = 0, 1, 2


class Machine(NamedTuple):
    wear: int  # 0 is new, `levels` - 1 is broken


class Report(NamedTuple):
    wear: int


@airoas.model
class Maintain(NamedTuple):
    """A new machine earns 1 an hour, a worn one less, a broken one costs 2. Inspecting (0.3) may err, repairing costs 3."""

    levels: int = 4
    wears: float = 0.2
    errs: float = 0.15
    discount: float = 0.95

    def prepare(self):
        if self.levels < 2:
            raise airoas.OptionError(f"levels is {self.levels}", "use at least 2: new and broken.")
        return {}

    def actions(self):
        return ("run", "inspect", "repair")

    def initial(self, rng):
        return Machine(0)

    def step(self, s, a, rng):
        if a == REPAIR:
            return Machine(0), self.reward(s, a)
        worn = a == RUN and s.wear < self.levels - 1 and rng.uniform() < self.wears
        return Machine(s.wear + worn), self.reward(s, a)

    def reward(self, s, a):
        if a == REPAIR:
            return -3.0
        if a == INSPECT:
            return -0.3
        return 1.0 - 3.0 * s.wear / (self.levels - 1)

    def observe(self, s, a, rng):
        if a != INSPECT:
            return Report(0)  # nothing is learned
        if rng.uniform() >= self.errs:
            return Report(s.wear)
        return Report(rng.integer(self.levels))

    def obs_logpdf(self, o, s, a):
        if a != INSPECT:
            return 0.0 if o.wear == 0 else -math.inf
        probability = self.errs / self.levels + (1.0 - self.errs if o.wear == s.wear else 0.0)
        return math.log(probability)

    # The enumeration group: with it come the exact filter and bounds that are proved.
    def n_states(self):
        return self.levels

    def index(self, s):
        return s.wear

    def state(self, i):
        return Machine(i)

    def successor(self, s, a, k):
        """Successor number k and its probability; k counts up until the probabilities sum to 1."""
        if a == REPAIR:
            return Machine(0), 1.0
        if a == INSPECT or s.wear == self.levels - 1:
            return s, 1.0
        return (Machine(s.wear + 1), self.wears) if k == 0 else (s, 1.0 - self.wears)

    def exact_initial(self):
        """The initial belief as weighted states, which the exact filter starts from."""
        return np.array([[0.0]]), np.array([1.0])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--iterations", type=int, default=300, help="trials for a decision (default 300)")
    options.add_argument("--steps", type=int, default=20, help="hours (default 20)")
    options = options.parse_args()

    model = Maintain()
    bounds = find_bounds(model)
    print(f"bounds: {bounds.lower} and {bounds.upper}, {'proved' if bounds.sound else 'estimated'}")
    planner = AIROAS(iterations=options.iterations)
    print(airoas.simulate(model, planner, seed=0, max_steps=options.steps))
    blind = airoas.simulate(model, QMDP(), seed=0, max_steps=options.steps)
    print(f"QMDP, which never pays for information, earns {blind.discounted_return:.3f} in the same world")


if __name__ == "__main__":
    main()
