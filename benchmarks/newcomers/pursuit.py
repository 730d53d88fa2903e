import math
from typing import NamedTuple

import airoas

PILLAR_X = (3.5, 8.5, 3.0, 9.0)
PILLAR_Y = (3.5, 4.0, 8.5, 9.0)
RADIUS = 1.0


class State(NamedTuple):
    x: float  # the pursuer, who knows where it is
    y: float
    ax: float
    ay: float
    a_way: float
    bx: float
    by: float
    b_way: float
    prize: int  # 0: a is worth much, 1: b
    done: bool


class Seen(NamedTuple):
    a_seen: bool
    a_bearing: float
    b_seen: bool
    b_bearing: float
    label: int  # 0 nothing told, 1 a is the prize, 2 b is


@airoas.model
class Pursuit(NamedTuple):
    """One net and two evaders among pillars: bearings alone, and which of the two is worth 60 and which 8 is told within 2 m of one."""

    size: float = 12.0
    bearing: float = 0.12
    detect: float = 0.9
    clutter: float = 0.02
    label: float = 0.85
    reach: float = 0.9
    prize: float = 60.0
    decoy: float = 8.0
    miss: float = 3.0
    discount: float = 0.97
    max_steps: int = 80

    def actions(self):
        return ("e", "ne", "n", "nw", "w", "sw", "s", "se", "stay", "tag")

    def free(self, x, y):
        if x < 0.0 or x > self.size or y < 0.0 or y > self.size:
            return False
        for k in range(4):
            ex, ey = x - PILLAR_X[k], y - PILLAR_Y[k]
            if ex * ex + ey * ey < RADIUS * RADIUS:
                return False
        return True

    def visible(self, x, y, x2, y2):
        dx, dy = x2 - x, y2 - y
        length = max(dx * dx + dy * dy, 1e-9)
        for k in range(4):
            t = min(max(((PILLAR_X[k] - x) * dx + (PILLAR_Y[k] - y) * dy) / length, 0.0), 1.0)
            ex, ey = x + t * dx - PILLAR_X[k], y + t * dy - PILLAR_Y[k]
            if ex * ex + ey * ey < 0.9 * RADIUS * RADIUS:
                return False
        return True

    def somewhere(self, rng):
        x, y = self.size * rng.uniform(), 4.0 + 8.0 * rng.uniform()
        while not self.free(x, y):
            x, y = self.size * rng.uniform(), 4.0 + 8.0 * rng.uniform()
        return x, y, 2.0 * math.pi * rng.uniform() - math.pi

    def initial(self, rng):
        ax, ay, a_way = self.somewhere(rng)
        bx, by, b_way = self.somewhere(rng)
        return State(6.0, 1.0, ax, ay, a_way, bx, by, b_way, rng.integer(2), False)

    def flee(self, x, y, way, px, py, rng):
        dx, dy = x - px, y - py
        if dx * dx + dy * dy < 9.0 and self.visible(px, py, x, y):
            way, pace = math.atan2(dy, dx) + 0.5 * rng.normal(), 0.7
        else:
            way, pace = way + 0.4 * rng.normal(), 0.45
        way = (way + math.pi) % (2.0 * math.pi) - math.pi
        x2, y2 = x + pace * math.cos(way), y + pace * math.sin(way)
        if self.free(x2, y2):
            return x2, y2, way
        return x, y, 2.0 * math.pi * rng.uniform() - math.pi

    def step(self, s, a, rng):
        x, y = s.x, s.y
        if a == 9:
            da = math.sqrt((s.ax - x) * (s.ax - x) + (s.ay - y) * (s.ay - y))
            db = math.sqrt((s.bx - x) * (s.bx - x) + (s.by - y) * (s.by - y))
            if min(da, db) < self.reach:
                return s._replace(done=True), self.prize if (db < da) == (s.prize == 1) else self.decoy
        elif a < 8:
            x, y = s.x + math.cos(0.25 * a * math.pi), s.y + math.sin(0.25 * a * math.pi)
            if not self.free(x, y):
                x, y = s.x, s.y
        ax, ay, a_way = self.flee(s.ax, s.ay, s.a_way, x, y, rng)
        bx, by, b_way = self.flee(s.bx, s.by, s.b_way, x, y, rng)
        return State(x, y, ax, ay, a_way, bx, by, b_way, s.prize, False), -0.5 - (self.miss if a == 9 else 0.0)

    def near(self, s, x, y):
        return (x - s.x) * (x - s.x) + (y - s.y) * (y - s.y) < 4.0 and self.visible(s.x, s.y, x, y)

    def sight(self, s, x, y, rng):
        if self.visible(s.x, s.y, x, y):
            if rng.uniform() < self.detect:
                way = math.atan2(y - s.y, x - s.x) + self.bearing * rng.normal()
                return True, (way + math.pi) % (2.0 * math.pi) - math.pi
        elif rng.uniform() < self.clutter:
            return True, 2.0 * math.pi * rng.uniform() - math.pi
        return False, 0.0

    def observe(self, s, a, rng):
        a_seen, a_bearing = self.sight(s, s.ax, s.ay, rng)
        b_seen, b_bearing = self.sight(s, s.bx, s.by, rng)
        told = 0
        if self.near(s, s.ax, s.ay) or self.near(s, s.bx, s.by):
            told = 1 + (s.prize if rng.uniform() < self.label else 1 - s.prize)
        return Seen(a_seen, a_bearing, b_seen, b_bearing, told)

    def sight_logpdf(self, s, x, y, seen, bearing):
        if not self.visible(s.x, s.y, x, y):
            return math.log(self.clutter / (2.0 * math.pi)) if seen else math.log(1.0 - self.clutter)
        if not seen:
            return math.log(1.0 - self.detect)
        d = (bearing - math.atan2(y - s.y, x - s.x) + math.pi) % (2.0 * math.pi) - math.pi
        z = d / self.bearing
        return math.log(self.detect / (self.bearing * math.sqrt(2.0 * math.pi))) - 0.5 * z * z

    def obs_logpdf(self, o, s, a):
        close = self.near(s, s.ax, s.ay) or self.near(s, s.bx, s.by)
        if close != (o.label > 0):
            return -math.inf
        total = self.sight_logpdf(s, s.ax, s.ay, o.a_seen, o.a_bearing) + self.sight_logpdf(s, s.bx, s.by, o.b_seen, o.b_bearing)
        if close:
            total += math.log(self.label if o.label == 1 + s.prize else 1.0 - self.label)
        return total

    def is_terminal(self, s):
        return s.done
