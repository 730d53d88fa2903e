import math
from typing import NamedTuple

import airoas
from airoas import Flags


class State(NamedTuple):
    good: Flags[6]
    turned: Flags[6]  # its face is to the right
    gone: Flags[6]  # picked, or fallen off the end of the belt
    time: int
    done: bool


class Seen(NamedTuple):
    gone: Flags[6]
    fine: bool  # looks good
    sharp: bool  # the picture is sharp, as mostly of a face


@airoas.model
class Sorter(NamedTuple):
    """A manipulator sorts six objects before the belt carries them off; a camera sees them well from one side, not known which."""

    face: float = 0.92
    back: float = 0.6
    slip: float = 0.08
    look_cost: float = 0.3
    wrong: float = 30.0
    discount: float = 0.98
    max_steps: int = 40

    def actions(self):
        return (*tuple(f"{what} {k}" for k in range(6) for what in ("left", "right", "good", "bad")), "done")

    def initial(self, rng):
        good, turned = Flags[6](), Flags[6]()
        rate = 0.75 if rng.uniform() < 0.5 else 0.4
        side = rng.uniform() < 0.5
        for k in range(6):
            if rng.uniform() < 0.25:  # a neighbour mostly lies the same way
                side = not side
            good = good.with_(k, rng.uniform() < rate)
            turned = turned.with_(k, side)
        return State(good, turned, Flags[6](), 0, False)

    def legal(self, s, a):
        return a == 24 or not s.gone[a // 4]

    def step(self, s, a, rng):
        if a == 24:
            return s._replace(done=True), -2.0 * (6 - sum(s.gone))
        k, gone, turned, reward = a // 4, s.gone, s.turned, -0.1
        if a % 4 < 2:
            reward -= self.look_cost
        elif rng.uniform() < self.slip:
            turned = turned.with_(k, rng.uniform() < 0.5)
        else:
            gone = gone.with_(k, True)
            if a % 4 == 2:
                reward += 10.0 if s.good[k] else -self.wrong
            else:
                reward += -5.0 if s.good[k] else 3.0
        time = s.time + 1
        for j in range(6):
            if not gone[j] and time >= 5 + 4 * j:
                gone = gone.with_(j, True)
                reward -= 2.0
        return State(s.good, turned, gone, time, False), reward

    def chances(self, s, a):
        """How likely the picture looks good, and is sharp."""
        facing = (a % 4 == 1) == s.turned[a // 4]
        right = self.face if facing else self.back
        return right if s.good[a // 4] else 1.0 - right, 0.8 if facing else 0.3

    def observe(self, s, a, rng):
        if a == 24 or a % 4 >= 2 or s.gone[a // 4]:
            return Seen(s.gone, False, False)
        fine, sharp = self.chances(s, a)
        return Seen(s.gone, rng.uniform() < fine, rng.uniform() < sharp)

    def obs_logpdf(self, o, s, a):
        if o.gone != s.gone:
            return -math.inf
        if a == 24 or a % 4 >= 2 or s.gone[a // 4]:
            return -math.inf if o.fine or o.sharp else 0.0
        fine, sharp = self.chances(s, a)
        return math.log(fine if o.fine else 1.0 - fine) + math.log(sharp if o.sharp else 1.0 - sharp)

    def is_terminal(self, s):
        return s.done or all(s.gone)
