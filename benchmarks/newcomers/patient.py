import math
from typing import NamedTuple

import airoas

GROWTH = (0.35, 0.25, 0.55, -0.1)  # of the severity in a day, by kind
# how a drug (row) changes the severity in a day, by kind (column), and what its side effects cost
EFFECT = ((-1.3, -0.2, 0.3, 0.0), (0.0, -1.1, 0.4, 0.0), (-0.1, 0.3, -1.5, 0.1), (-0.6, -0.6, -0.7, -0.1))
SIDE = ((1.0, 3.0, 6.0, 4.0), (2.0, 1.0, 5.0, 3.0), (5.0, 6.0, 1.0, 5.0), (5.0, 5.0, 5.0, 6.0))
PRICE = (1.0, 3.0, 6.0, 14.0)
ACCURACY = (0.75, 0.6, 0.92, 0.95)


class State(NamedTuple):
    kind: int
    severity: float  # 0 well, 10 dead
    gone: bool


class Seen(NamedTuple):
    fever: float
    result: int  # 0 no test, else 1 .. 4


@airoas.model
class Patient(NamedTuple):
    """A patient has one of four diseases: tests, drugs that help with one and harm with another, and discharge."""

    fever: float = 0.7
    course: float = 0.15
    suffering: float = 0.8
    biopsy_harm: float = 0.6
    death: float = 150.0
    cured: float = 70.0
    relapse: float = 16.0
    discount: float = 0.97
    max_steps: int = 40

    def actions(self):
        return ("wait", "bloods", "culture", "scan", "biopsy", "drug A", "drug B", "drug C", "broad drug", "discharge")

    def initial(self, rng):
        return State(rng.integer(4), min(max(4.5 + 0.8 * rng.normal(), 2.0), 7.0), False)

    def step(self, s, a, rng):
        if a == 9:
            return s._replace(gone=True), self.cured - (4.0 if s.kind == 3 else self.relapse) * s.severity
        change, cost = GROWTH[s.kind], 0.0
        if 1 <= a <= 4:
            cost = PRICE[a - 1]
            if a == 4:
                change += self.biopsy_harm
        elif a >= 5:
            change += EFFECT[a - 5][s.kind]
            cost = SIDE[a - 5][s.kind]
        severity = max(s.severity + change + self.course * rng.normal(), 0.0)
        if severity >= 10.0:
            return State(s.kind, 10.0, True), -self.death
        return State(s.kind, severity, False), -cost - self.suffering * severity

    def chance(self, kind, test, result):
        """How likely that test gives that result, from 1 on."""
        right = ACCURACY[test]
        if test == 0 or test == 2:
            if result > 2:
                return 0.0
            group = kind // 2 if test == 0 else kind % 2
            return right if result == 1 + group else 1.0 - right
        return right if result == 1 + kind else (1.0 - right) / 3.0

    def observe(self, s, a, rng):
        fever = s.severity + self.fever * rng.normal()
        if a < 1 or a > 4:
            return Seen(fever, 0)
        u = rng.uniform()
        for result in range(1, 4):
            u -= self.chance(s.kind, a - 1, result)
            if u < 0.0:
                return Seen(fever, result)
        return Seen(fever, 4)

    def obs_logpdf(self, o, s, a):
        z = (o.fever - s.severity) / self.fever
        total = -0.5 * z * z - math.log(self.fever * math.sqrt(2.0 * math.pi))
        if a < 1 or a > 4:
            return total if o.result == 0 else -math.inf
        p = self.chance(s.kind, a - 1, o.result) if o.result > 0 else 0.0
        return total + math.log(p) if p > 0.0 else -math.inf

    def is_terminal(self, s):
        return s.gone
