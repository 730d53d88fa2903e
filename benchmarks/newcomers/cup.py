import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    x: float
    y: float
    cup_x: float
    cup_y: float
    held: bool
    done: bool


class Seen(NamedTuple):
    x: float
    y: float
    held: bool
    found: bool  # the camera reports a cup
    fx: float  # where, zero when none
    fy: float


def room_of(x, y):
    """0 is the hall, 1 to 4 are the rooms."""
    if y < 4.0:
        return 1 if x < 6.0 else 2
    if y > 8.0:
        return 3 if x < 6.0 else 4
    return 0


@airoas.model
class Cup(NamedTuple):
    """A robot fetches a cup from one of four rooms, two south and two north of a hall, and puts it on the table in the hall."""

    stride: float = 1.0
    drift: float = 0.08
    odometry: float = 0.1
    reach: float = 0.5
    false_alarm: float = 0.02
    sight: float = 0.15
    reward: float = 100.0
    discount: float = 0.98
    max_steps: int = 100

    def actions(self):
        return ("east", "northeast", "north", "northwest", "west", "southwest", "south", "southeast", "look", "grasp", "put down")

    def initial(self, rng):
        k = rng.integer(4)
        cx = 0.5 + 5.0 * rng.uniform() + (6.0 if k % 2 == 1 else 0.0)
        cy = 0.5 + 3.0 * rng.uniform() + (8.0 if k >= 2 else 0.0)
        return State(6.0 + 0.1 * rng.normal(), 6.0 + 0.1 * rng.normal(), cx, cy, False, False)

    def free(self, x, y, x2, y2):
        if x2 < 0.0 or x2 > 12.0 or y2 < 0.0 or y2 > 12.0:
            return False
        here, there = room_of(x, y), room_of(x2, y2)
        if here == there:
            return True
        if here != 0 and there != 0:
            return False
        wall = 4.0 if min(y, y2) < 4.0 else 8.0
        across = x + (x2 - x) * (wall - y) / (y2 - y)
        return abs(across - 3.0) < 0.8 or abs(across - 9.0) < 0.8

    def step(self, s, a, rng):
        if a < 8:
            way = a * math.pi / 4.0
            x = s.x + self.stride * math.cos(way) + self.drift * rng.normal()
            y = s.y + self.stride * math.sin(way) + self.drift * rng.normal()
            if not self.free(s.x, s.y, x, y):
                return s, -1.0
            if s.held:
                return s._replace(x=x, y=y, cup_x=x, cup_y=y), -0.5
            return s._replace(x=x, y=y), -0.5
        if a == 8:
            return s, -0.5
        if a == 9:
            dx, dy = s.x - s.cup_x, s.y - s.cup_y
            if not s.held and dx * dx + dy * dy < self.reach * self.reach and rng.uniform() < 0.95:
                return s._replace(held=True, cup_x=s.x, cup_y=s.y), -0.5
            return s, -4.0
        if not s.held:
            return s, -4.0
        dx, dy = s.x - 1.0, s.y - 6.0
        if dx * dx + dy * dy < 1.0:
            return s._replace(held=False, done=True), self.reward
        return s._replace(held=False), -4.0

    def detection(self, s):
        """How likely a look reports the cup where it is."""
        if s.held:
            return 0.0
        here, there = room_of(s.x, s.y), room_of(s.cup_x, s.cup_y)
        dx, dy = s.x - s.cup_x, s.y - s.cup_y
        d2 = dx * dx + dy * dy
        if here != there:
            door_x = 3.0 if s.cup_x < 6.0 else 9.0
            door_y = 4.0 if s.cup_y < 6.0 else 8.0
            ddx, ddy = s.x - door_x, s.y - door_y
            if here != 0 or there == 0 or ddx * ddx + ddy * ddy > 1.0:
                return 0.0
        return 0.95 * math.exp(-d2 / 16.0)

    def observe(self, s, a, rng):
        x, y = s.x + self.odometry * rng.normal(), s.y + self.odometry * rng.normal()
        if a != 8:
            return Seen(x, y, s.held, False, 0.0, 0.0)
        u = rng.uniform()
        p = self.detection(s) * (1.0 - self.false_alarm)
        if u < p:
            return Seen(x, y, s.held, True, s.cup_x + self.sight * rng.normal(), s.cup_y + self.sight * rng.normal())
        if u < p + self.false_alarm:
            return Seen(x, y, s.held, True, 12.0 * rng.uniform(), 12.0 * rng.uniform())
        return Seen(x, y, s.held, False, 0.0, 0.0)

    def obs_logpdf(self, o, s, a):
        if o.held != s.held:
            return -math.inf
        zx, zy = (o.x - s.x) / self.odometry, (o.y - s.y) / self.odometry
        total = -0.5 * (zx * zx + zy * zy) - math.log(2.0 * math.pi * self.odometry * self.odometry)
        if a != 8:
            return total if not o.found else -math.inf
        p = self.detection(s) * (1.0 - self.false_alarm)
        if not o.found:
            return total + math.log(1.0 - p - self.false_alarm)
        ux, uy = (o.fx - s.cup_x) / self.sight, (o.fy - s.cup_y) / self.sight
        density = p * math.exp(-0.5 * (ux * ux + uy * uy)) / (2.0 * math.pi * self.sight * self.sight)
        if 0.0 <= o.fx <= 12.0 and 0.0 <= o.fy <= 12.0:
            density += self.false_alarm / 144.0
        return total + (math.log(density) if density > 0.0 else -math.inf)

    def is_terminal(self, s):
        return s.done
