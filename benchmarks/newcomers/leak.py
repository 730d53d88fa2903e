import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    at: int  # along the main, 0 .. 20, 0 is the pumping station
    deep: int  # into a stub, 0 .. 6
    leak: int  # the stub that leaks, 0 .. 7, at 6, 8, .. 20 along the main
    battery: int
    sealed: bool


class Seen(NamedTuple):
    at: int
    deep: int
    battery: int
    heard: int  # 0 nothing, 1 a hiss here, 2 + k: the station's log names stub k


@airoas.model
class Leak(NamedTuple):
    """A crawler in a water main with eight narrow stubs, one of which leaks far inside; the log that says which lies at the other end."""

    slip: float = 0.1
    squeeze: float = 0.5
    log: float = 0.7
    hiss: float = 0.85
    wrong: float = 25.0
    reward: float = 100.0
    battery: int = 90
    discount: float = 0.98
    max_steps: int = 90

    def actions(self):
        return ("back", "ahead", "in", "out", "listen", "seal")

    def initial(self, rng):
        return State(12, 0, rng.integer(8), self.battery, False)

    def step(self, s, a, rng):
        left = s.battery - 1
        at, deep = s.at, s.deep
        if a == 0 and deep == 0 and at > 0 and rng.uniform() > self.slip:
            at -= 1
        elif a == 1 and deep == 0 and at < 20 and rng.uniform() > self.slip:
            at += 1
        elif a == 2 and at >= 6 and at % 2 == 0 and deep < 6 and rng.uniform() < self.squeeze:
            deep += 1
        elif a == 3 and deep > 0 and rng.uniform() < self.squeeze:
            deep -= 1
        elif a == 5:
            if deep == 6 and at == 6 + 2 * s.leak:
                return State(at, deep, s.leak, left, True), self.reward
            return State(at, deep, s.leak, left, False), -self.wrong
        return State(at, deep, s.leak, left, False), -0.5

    def chance(self, s, heard):
        """How likely listening gives that."""
        if s.at == 0:
            if heard < 2:
                return 0.0
            k = heard - 2
            if k == s.leak:
                return self.log
            return (1.0 - self.log) / 7.0
        if heard > 1:
            return 0.0
        p = 0.05
        if s.at == 6 + 2 * s.leak:
            p = self.hiss if s.deep >= 4 else 0.1
        return p if heard == 1 else 1.0 - p

    def observe(self, s, a, rng):
        if a != 4:
            return Seen(s.at, s.deep, s.battery, 0)
        u = rng.uniform()
        for heard in range(9):
            u -= self.chance(s, heard)
            if u < 0.0:
                return Seen(s.at, s.deep, s.battery, heard)
        return Seen(s.at, s.deep, s.battery, 9 if s.at == 0 else 0)

    def obs_logpdf(self, o, s, a):
        if o.at != s.at or o.deep != s.deep or o.battery != s.battery:
            return -math.inf
        if a != 4:
            return 0.0 if o.heard == 0 else -math.inf
        p = self.chance(s, o.heard)
        return math.log(p) if p > 0.0 else -math.inf

    def is_terminal(self, s):
        return s.sealed or s.battery <= 0
