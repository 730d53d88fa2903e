import math
from typing import NamedTuple

import airoas
from airoas import Flags

# a ring of eight with two chords, 0 - 4 and 2 - 6; 0 and 4 are servers
WORTH = (3.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0)
DOWNTIME = (5.0, 2.0, 2.0, 2.0, 5.0, 2.0, 2.0, 2.0)
CHORD = (4, -1, 6, -1, 0, -1, 2, -1)


class State(NamedTuple):
    bad: Flags[8]
    fast: bool  # what kind of intruder it is


class Seen(NamedTuple):
    alarm: bool
    traffic: float


@airoas.model
class Guard(NamedTuple):
    """Eight computers and an intruder who spreads: scan one, measure the traffic of all, or set one up anew, which is down meanwhile."""

    outside: float = 0.006
    slow: float = 0.04
    quick: float = 0.14
    hit: float = 0.85
    false: float = 0.1
    works: float = 0.95
    scan_cost: float = 0.3
    traffic_cost: float = 0.1
    noise: float = 0.8
    discount: float = 0.95
    max_steps: int = 40

    def actions(self):
        return tuple(f"scan {k}" for k in range(8)) + tuple(f"re-image {k}" for k in range(8)) + ("traffic", "wait")

    def initial(self, rng):
        bad = Flags[8]()
        if rng.uniform() < 0.7:
            bad = bad.with_(rng.integer(8), True)
        if rng.uniform() < 0.3:
            bad = bad.with_(rng.integer(8), True)
        return State(bad, rng.uniform() < 0.5)

    def step(self, s, a, rng):
        reward, bad, anew = 0.0, s.bad, -1
        if a < 8:
            reward -= self.scan_cost
        elif a < 16:
            anew = a - 8
            reward -= DOWNTIME[anew]
            if rng.uniform() < self.works:
                bad = bad.with_(anew, False)
        elif a == 16:
            reward -= self.traffic_cost
        rate = self.quick if s.fast else self.slow
        after = bad
        for k in range(8):
            if not bad[k] and k != anew:
                p = 1.0 - self.outside
                if bad[(k + 1) % 8]:
                    p *= 1.0 - rate
                if bad[(k + 7) % 8]:
                    p *= 1.0 - rate
                if CHORD[k] >= 0 and bad[CHORD[k]]:
                    p *= 1.0 - rate
                if rng.uniform() > p:
                    after = after.with_(k, True)
        for k in range(8):
            if after[k]:
                reward -= WORTH[k]
        return State(after, s.fast), reward

    def chance(self, s, a):
        """How likely a scan gives an alarm."""
        if a >= 8:
            return 0.0
        return self.hit if s.bad[a] else self.false

    def observe(self, s, a, rng):
        traffic = sum(s.bad) + self.noise * rng.normal() if a == 16 else 0.0
        return Seen(rng.uniform() < self.chance(s, a), traffic)

    def obs_logpdf(self, o, s, a):
        if a == 16:
            z = (o.traffic - sum(s.bad)) / self.noise
            return -math.inf if o.alarm else -0.5 * z * z - math.log(self.noise * math.sqrt(2.0 * math.pi))
        p = self.chance(s, a) if o.alarm else 1.0 - self.chance(s, a)
        return math.log(p) if p > 0.0 else -math.inf
