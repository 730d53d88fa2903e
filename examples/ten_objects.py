"""A search for ten objects, which a state holds as flags: `python examples/ten_objects.py`.

Ten lockers stand in a row, and about half of them hold something. Sensing tells, not quite surely, whether the
locker at hand does.
"""

import argparse
import math
from typing import NamedTuple

import airoas
from airoas import Flags
from airoas.planners import POMCP

LOCKERS = 10
LEFT, RIGHT, SENSE, OPEN, LEAVE = range(5)


class State(NamedTuple):
    locker: int
    filled: Flags[10]  # which lockers hold an object
    opened: Flags[10]
    gone: bool


class Seen(NamedTuple):
    locker: int
    something: bool


@airoas.model
class Search(NamedTuple):
    """Opening a locker costs 3 and pays 8 if an object is in it; steps and sensing cost 0.2; leaving ends it."""

    sure: float = 0.85
    discount: float = 0.98
    max_steps: int = 60

    def actions(self):
        return ("left", "right", "sense", "open", "leave")

    def initial(self, rng):
        filled = Flags[10]()
        for k in range(LOCKERS):
            filled = filled.with_(k, rng.uniform() < 0.5)
        return State(0, filled, Flags[10](), False)

    def step(self, s, a, rng):
        if a == LEAVE:
            return State(s.locker, s.filled, s.opened, True), 0.0
        if a == OPEN:
            reward = 5.0 if s.filled[s.locker] and not s.opened[s.locker] else -3.0
            return State(s.locker, s.filled, s.opened.with_(s.locker, True), False), reward
        locker = max(0, s.locker - 1) if a == LEFT else min(LOCKERS - 1, s.locker + 1) if a == RIGHT else s.locker
        return State(locker, s.filled, s.opened, False), -0.2

    def observe(self, s, a, rng):
        holds = s.filled[s.locker] and not s.opened[s.locker]
        return Seen(s.locker, a == SENSE and holds == (rng.uniform() < self.sure))

    def obs_logpdf(self, o, s, a):
        if o.locker != s.locker:
            return -math.inf
        if a != SENSE:
            return -math.inf if o.something else 0.0
        holds = s.filled[s.locker] and not s.opened[s.locker]
        return math.log(self.sure if o.something == holds else 1.0 - self.sure)

    def is_terminal(self, s):
        return s.gone

    def rollout_action(self, s, rng):
        """Open what is filled, as one would who knew."""
        if s.filled[s.locker] and not s.opened[s.locker]:
            return OPEN
        return RIGHT if s.locker < LOCKERS - 1 else LEAVE


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--iterations", type=int, default=5_000, help="simulations for a decision (default 5000)")
    options.add_argument("--particles", type=int, default=2_000, help="of the belief (default 2000)")
    options = options.parse_args()
    episode = airoas.simulate(Search(), POMCP(iterations=options.iterations, c=10.0), seed=0, particles=options.particles)
    print(episode)
    end = episode.states[-1]
    print(f"{sum(f and o for f, o in zip(end.filled, end.opened, strict=True))} of {sum(end.filled)} objects found")


if __name__ == "__main__":
    main()
