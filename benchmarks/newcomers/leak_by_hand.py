"""Reference: back to the pumping station, listen there until sure, then into the stub that the log names; listen inside if doubtful."""

from dataclasses import dataclass

import numpy as np

from airoas.planners import Decision

STILL = {"listen": lambda m, s, rng: 4}


@dataclass(frozen=True)
class Reference:
    sure: float = 0.93
    station: bool = True

    def plan(self, model, belief, rng):
        S, w = belief.states, belief.weights
        p = np.bincount(S[:, 2].astype(int), weights=w, minlength=8)
        return Decision(self.choose(S[w.argmax()], p / p.sum()), value=float("nan"))

    def choose(self, s, p):
        at, deep, battery = int(s[0]), int(s[1]), int(s[3])
        k = int(p.argmax())
        if deep == 6 and at == 6 + 2 * k:
            if p[k] > 0.7 or battery < 4:
                return 5 if p[k] > 0.35 else 4
            return 4
        if deep > 0:
            if at == 6 + 2 * k:
                return 4 if deep >= 4 and p[k] < 0.8 else 2
            return 3
        if p[k] < self.sure and at == 0:
            return 4
        if self.station and p[k] < 0.3:
            return 0 if battery > 45 else 4
        goal = 6 + 2 * k
        return 2 if at == goal else 1 if at < goal else 0
