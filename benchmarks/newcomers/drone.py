import math
from typing import NamedTuple

import airoas

ROOFS = ((11.0, 3.0), (13.0, 8.0), (11.0, 13.0))
HOME = (1.5, 8.0)
PLAZA = (8.0, 8.0)


class State(NamedTuple):
    x: float
    y: float
    wind_x: float  # how far the wind carries it in one move
    wind_y: float
    battery: float
    pad: int  # the roof that has the pad
    done: bool


class Seen(NamedTuple):
    fix: bool  # GPS
    gx: float
    gy: float
    battery: float
    sight: int  # 0 nothing, 1 an empty roof, 2 a roof with a pad
    dx: float  # how far off the roof is, zero when none
    dy: float


@airoas.model
class Drone(NamedTuple):
    """A drone in a steady unknown wind brings a parcel to a pad on one of three roofs; GPS works in the open and above a plaza only."""

    stride: float = 1.2
    wind: float = 0.3
    gust: float = 0.1
    gps: float = 0.4
    camera: float = 0.15
    sight: float = 2.5
    gauge: float = 0.3
    full: float = 34.0
    size: float = 1.2
    reward: float = 100.0
    wrong: float = 40.0
    crash: float = 60.0
    undelivered: float = 10.0
    discount: float = 0.98
    max_steps: int = 60

    def actions(self):
        return ("east", "northeast", "north", "northwest", "west", "southwest", "south", "southeast", "look", "land")

    def initial(self, rng):
        x, y = HOME[0] + 0.2 * rng.normal(), HOME[1] + 0.2 * rng.normal()
        return State(x, y, self.wind * rng.normal(), self.wind * rng.normal(), self.full, rng.integer(3), False)

    def nearest(self, x, y):
        best, least = 0, 1e9
        for k in range(3):
            d = math.sqrt((x - ROOFS[k][0]) ** 2 + (y - ROOFS[k][1]) ** 2)
            if d < least:
                best, least = k, d
        return best, least

    def step(self, s, a, rng):
        if a == 9:
            k, d = self.nearest(s.x, s.y)
            if d < self.size:
                return s._replace(done=True), self.reward if k == s.pad else -self.wrong
            home = (s.x - HOME[0]) ** 2 + (s.y - HOME[1]) ** 2 < 1.5 * 1.5
            return s._replace(done=True), -self.undelivered if home else -self.crash
        vx, vy, drain = 0.0, 0.0, 0.7
        if a < 8:
            cx, cy = math.cos(a * math.pi / 4.0), math.sin(a * math.pi / 4.0)
            vx, vy = self.stride * cx, self.stride * cy
            drain = max(0.4, 1.0 - 0.8 * (s.wind_x * cx + s.wind_y * cy))  # against the wind takes more
        battery = s.battery - drain * (1.0 + 0.1 * rng.normal())
        x = s.x + vx + s.wind_x + self.gust * rng.normal()
        y = s.y + vy + s.wind_y + self.gust * rng.normal()
        if battery <= 0.0:
            return State(x, y, s.wind_x, s.wind_y, 0.0, s.pad, True), -self.crash
        return State(x, y, s.wind_x, s.wind_y, battery, s.pad, False), -1.0

    def reception(self, s):
        """How likely the GPS has a fix."""
        plaza = (s.x - PLAZA[0]) ** 2 + (s.y - PLAZA[1]) ** 2 < 1.8 * 1.8
        return 0.95 if s.x < 5.0 or plaza else 0.01

    def told(self, d):
        """How likely the camera is right about the pad."""
        return 0.97 if d < 1.0 else 0.97 - 0.28 * (d - 1.0)

    def observe(self, s, a, rng):
        battery = s.battery + self.gauge * rng.normal()
        fix, gx, gy, sight, dx, dy = False, 0.0, 0.0, 0, 0.0, 0.0
        if rng.uniform() < self.reception(s):
            fix, gx, gy = True, s.x + self.gps * rng.normal(), s.y + self.gps * rng.normal()
        if a == 8:
            k, d = self.nearest(s.x, s.y)
            if d < self.sight and rng.uniform() < 0.95:
                right = rng.uniform() < self.told(d)
                sight = 2 if right == (k == s.pad) else 1
                dx = ROOFS[k][0] - s.x + self.camera * rng.normal()
                dy = ROOFS[k][1] - s.y + self.camera * rng.normal()
        return Seen(fix, gx, gy, battery, sight, dx, dy)

    def normal(self, z, sd):
        return -0.5 * (z / sd) * (z / sd) - math.log(sd * math.sqrt(2.0 * math.pi))

    def obs_logpdf(self, o, s, a):
        total = self.normal(o.battery - s.battery, self.gauge)
        p = self.reception(s)
        if o.fix:
            total += math.log(p) + self.normal(o.gx - s.x, self.gps) + self.normal(o.gy - s.y, self.gps)
        else:
            total += math.log(1.0 - p)
        if a != 8:
            return total if o.sight == 0 else -math.inf
        k, d = self.nearest(s.x, s.y)
        if o.sight == 0:
            return total + (math.log(0.05) if d < self.sight else 0.0)
        if d >= self.sight:
            return -math.inf
        q = self.told(d) if (o.sight == 2) == (k == s.pad) else 1.0 - self.told(d)
        total += math.log(0.95 * q)
        return total + self.normal(o.dx - ROOFS[k][0] + s.x, self.camera) + self.normal(o.dy - ROOFS[k][1] + s.y, self.camera)

    def is_terminal(self, s):
        return s.done
