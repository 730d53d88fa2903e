"""Small models with known answers, for the tests of annealing."""

import math
from typing import NamedTuple

import airoas

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
PLAIN, GATED, NAN_RIGHT, INF_RIGHT, NAN_ALWAYS, NEVER = range(6)


class Position(NamedTuple):
    x: float
    over: int


class Seen(NamedTuple):
    y: float
    kind: int
    """How the likelihood behaves; PLAIN is a normal density."""


@airoas.model
class Line(NamedTuple):
    """x moves by a normal step and is seen with normal noise: everything is conjugate."""

    sd: float = 0.01
    spread: float = 1.0
    """Standard deviation of the step; 0 for certain dynamics."""
    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return Position(0.0, 0)

    def step(self, s, a, rng):
        return Position(s.x + self.spread * rng.normal(), s.over), 0.0

    def observe(self, s, a, rng):
        return Seen(s.x + self.sd * rng.normal(), PLAIN)

    def obs_logpdf(self, o, s, a):
        if o.kind == NEVER or (o.kind == GATED and abs(o.y - s.x) > self.sd):
            return -math.inf
        if o.kind == NAN_ALWAYS or (o.kind == NAN_RIGHT and s.x > o.y):
            return math.nan
        if o.kind == INF_RIGHT and s.x > o.y:
            return math.inf
        z = (o.y - s.x) / self.sd
        return -0.5 * z * z - math.log(self.sd) - LOG_SQRT_2PI

    def is_terminal(self, s):
        return s.over > 0

    def step_logpdf(self, s2, s, a):
        z = (s2.x - s.x) / self.spread
        return -0.5 * z * z - math.log(self.spread) - LOG_SQRT_2PI

    def mutate(self, s, o, a, rng):
        """The distance to the reading times a random factor, to either side of it: far from symmetric."""
        side = 1.0 if rng.uniform() < 0.5 else -1.0
        return Position(o.y + side * (s.x - o.y) * math.exp(0.7 * rng.normal()), s.over)

    def mutate_logratio(self, s2, s, o, a):
        before, after = abs(s.x - o.y), abs(s2.x - o.y)
        return math.log(after) - math.log(before) if before > 0.0 and after > 0.0 else 0.0

    def mutate_literal(self, s, o, a, rng):
        return Position(s.x + math.sqrt(abs(s.x - o.y)) * rng.normal(), s.over)

    def move(self, s, parent, o, a, beta, rng):
        """A draw from pi_beta itself."""
        precision = 1.0 / (self.spread * self.spread) + beta / (self.sd * self.sd)
        mean = (parent.x / (self.spread * self.spread) + beta * o.y / (self.sd * self.sd)) / precision
        return Position(mean + rng.normal() / math.sqrt(precision), s.over)


class Answer(NamedTuple):
    mean: float
    sd: float
    log_evidence: float


def answer(sd, y, prior_sd=1.0):
    """The posterior of a prior N(0, prior_sd^2) after y was seen with noise sd, and the evidence."""
    precision = 1.0 / prior_sd**2 + 1.0 / sd**2
    total = prior_sd**2 + sd**2
    return Answer(y / sd**2 / precision, precision**-0.5, -0.5 * y * y / total - 0.5 * math.log(2.0 * math.pi * total))


class Seat(NamedTuple):
    number: int


class Bit(NamedTuple):
    code: int


@airoas.model
class Ring(NamedTuple):
    """Six seats in a ring: stay, or step right or left, with probabilities 0.5, 0.3 and 0.2. A sensor tells which third."""

    blind: float = 0.1
    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return Seat(rng.integer(6))

    def step(self, s, a, rng):
        u = rng.uniform()
        shift = 0 if u < 0.5 else (1 if u < 0.8 else 5)
        return Seat((s.number + shift) % 6), 0.0

    def observe(self, s, a, rng):
        return Bit(s.number // 2 if rng.uniform() >= self.blind else rng.integer(3))

    def obs_logpdf(self, o, s, a):
        p = self.blind / 3.0 + (1.0 - self.blind if o.code == s.number // 2 else 0.0)
        return math.log(p) if p > 0.0 else -math.inf

    def n_states(self):
        return 6

    def index(self, s):
        return s.number

    def state(self, i):
        return Seat(i)

    def successor(self, s, a, k):
        shift = 0 if k == 0 else (1 if k == 1 else 5)
        return Seat((s.number + shift) % 6), 0.5 if k == 0 else (0.3 if k == 1 else 0.2)

    def exact_initial(self):
        return [[float(i)] for i in range(6)], [1.0 / 6.0] * 6
