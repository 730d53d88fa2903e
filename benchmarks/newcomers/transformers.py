import math
from typing import NamedTuple

import airoas
from airoas import Flags


class State(NamedTuple):
    failed: Flags[18]
    spares: int
    isolated: bool
    hour: int


class Seen(NamedTuple):
    alarm: bool
    spares: int
    isolated: bool


@airoas.model
class Transformers(NamedTuple):
    """Eighteen transformers on a ring that fail together; tests of three neighbours at a time, eight spares, one switch that isolates."""

    alone: float = 0.003
    spread: float = 0.10
    spread_isolated: float = 0.01
    hit: float = 0.9
    false: float = 0.05
    works: float = 0.95
    loss: float = 1.0
    test_cost: float = 0.3
    spare_cost: float = 2.0
    isolation_cost: float = 2.0
    hours: int = 30
    discount: float = 0.97
    max_steps: int = 30

    def actions(self):
        return tuple(f"test {k}-{(k + 2) % 18}" for k in range(18)) + tuple(f"replace {k}" for k in range(18)) + ("switch", "wait")

    def initial(self, rng):
        failed = Flags[18]()
        k = rng.integer(18)
        failed = failed.with_(k, True)
        if rng.uniform() < 0.5:
            failed = failed.with_((k + 1) % 18, True)
        if rng.uniform() < 0.5:
            failed = failed.with_(rng.integer(18), True)
        return State(failed, 8, False, 0)

    def legal(self, s, a):
        return a < 18 or a >= 36 or s.spares > 0

    def step(self, s, a, rng):
        old = s.failed
        failed, spares, isolated, reward = s.failed, s.spares, s.isolated, 0.0
        if a < 18:
            reward -= self.test_cost
        elif a < 36:
            reward -= self.spare_cost
            spares -= 1
            if rng.uniform() < self.works:
                failed = failed.with_(a - 18, False)
        elif a == 36:
            isolated = not isolated
        rate = self.spread_isolated if isolated else self.spread
        old = failed
        for k in range(18):
            if not old[k] and k != a - 18:
                p = self.alone
                if old[(k + 1) % 18]:
                    p += rate
                if old[(k + 17) % 18]:
                    p += rate
                if rng.uniform() < p:
                    failed = failed.with_(k, True)
        reward -= self.loss * sum(failed)
        if isolated:
            reward -= self.isolation_cost
        return State(failed, spares, isolated, s.hour + 1), reward

    def chance(self, s, a):
        """How likely a test of a, a + 1 and a + 2 gives an alarm."""
        if a >= 18:
            return 0.0
        n = 0
        for j in range(3):
            if s.failed[(a + j) % 18]:
                n += 1
        if n == 0:
            return self.false
        return 1.0 - (1.0 - self.hit) * 0.5 ** (n - 1)

    def observe(self, s, a, rng):
        return Seen(rng.uniform() < self.chance(s, a), s.spares, s.isolated)

    def obs_logpdf(self, o, s, a):
        if o.spares != s.spares or o.isolated != s.isolated:
            return -math.inf
        p = self.chance(s, a)
        if o.alarm:
            return math.log(p) if p > 0.0 else -math.inf
        return math.log(1.0 - p)

    def is_terminal(self, s):
        return s.hour >= self.hours
