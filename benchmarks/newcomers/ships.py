import math
from typing import NamedTuple

import airoas
from airoas import Flags


class State(NamedTuple):
    ships: Flags[49]  # row by row
    shot: Flags[49]
    left: int  # parts that were not hit yet
    over: bool


class Seen(NamedTuple):
    hit: bool


@airoas.model
class Ships(NamedTuple):
    """Find and sink two ships of length three and one of two on a board of 7 x 7, or stop before."""

    hit: float = 4.0
    cost: float = 1.0
    bonus: float = 6.0
    discount: float = 0.99
    max_steps: int = 60

    def actions(self):
        return (*tuple(f"{'ABCDEFG'[k // 7]}{1 + k % 7}" for k in range(49)), "stop")

    def initial(self, rng):
        ships = Flags[49]()
        while sum(ships) < 8:  # again where two overlap
            ships = Flags[49]()
            for length in (3, 3, 2):
                along, across, down = rng.integer(8 - length), rng.integer(7), rng.integer(2)
                for j in range(length):
                    k = 7 * (along + j) + across if down == 1 else 7 * across + along + j
                    ships = ships.with_(k, True)
        return State(ships, Flags[49](), 8, False)

    def legal(self, s, a):
        return a == 49 or not s.shot[a]

    def step(self, s, a, rng):
        if a == 49:
            return s._replace(over=True), 0.0
        shot = s.shot.with_(a, True)
        if not s.ships[a]:
            return s._replace(shot=shot), -self.cost
        left = s.left - 1
        return s._replace(shot=shot, left=left), self.hit - self.cost + (self.bonus if left == 0 else 0.0)

    def observe(self, s, a, rng):
        return Seen(s.ships[a])

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.hit == s.ships[a] else -math.inf

    def is_terminal(self, s):
        return s.over or s.left == 0
