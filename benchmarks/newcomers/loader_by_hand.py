"""Reference: how many measurements pay, by a Gaussian idea of gain and bias; each where it tells most; then the best command."""

import math
from dataclasses import dataclass

import numpy as np
from loader import Order

from airoas.planners import Decision

STILL = {
    "measure": lambda m, s, rng: Order(1, 3.0),
    "as if gain 1, bias 0": lambda m, s, rng: Order(0, m.targets[s.job]),
}


@dataclass(frozen=True)
class Reference:
    n: int = 1000
    most: int = 5
    margin: float = 0.0

    def plan(self, model, belief, rng):
        S = belief.draw(self.n, rng).states
        gain, bias, job = S[:, 0], S[:, 1], int(S[0, 3])
        counts = self.worth(model, gain, bias, job)
        k = int(np.argmax([v - (self.margin if i else 0.0) for i, (v, _) in enumerate(counts)]))
        if k > 0:
            return Decision(Order(1, counts[k][1]), value=counts[k][0])
        u = np.linspace(0.0, 7.0, 281)
        off = np.abs(u[:, None] * gain + bias - model.targets[job])
        sd = np.hypot(model.scatter, model.wear * gain.mean() * u)[:, None]
        hit = 0.5 * (1.0 + np.tanh((model.tolerance - off) / sd * 0.8)).mean(1)
        return Decision(Order(0, float(u[hit.argmax()])), value=counts[0][0])

    def worth(self, model, gain, bias, job):
        """For 0, 1, .. measurements from now on: the value, and the command of the first."""
        mean, cov = np.array([gain.mean(), bias.mean()]), np.cov(np.stack([gain, bias]))
        u = np.clip((np.array(model.targets[job:]) - mean[1]) / mean[0], 0.0, 7.0)
        X = np.stack([u, np.ones_like(u)], 1)
        grade = model.discount ** np.arange(len(u))
        options, first, paid = [], 0.0, 0.0
        for k in range(self.most + 1):
            drift = (model.wear * mean[0] * u) ** 2 * (1 + 0.5 * np.arange(len(u)))
            sd = np.sqrt(np.einsum("ij,jk,ik->i", X, cov, X) + model.scatter**2 + drift)
            hit = np.array([math.erf(model.tolerance / (v * math.sqrt(2.0))) for v in sd])
            value = model.discount**k * float(grade @ ((model.placed + model.spilt) * hit - model.spilt)) - paid
            options.append((value, first))
            best = None
            for c in np.linspace(0.0, 7.0, 29):
                x = np.array([c, 1.0])
                noise = model.noise**2 + model.scatter**2 + (model.wear * mean[0] * c) ** 2
                after = cov - np.outer(cov @ x, cov @ x) / (x @ cov @ x + noise)
                spread = float(grade @ np.sqrt(np.einsum("ij,jk,ik->i", X, after, X)))
                if best is None or spread < best[0]:
                    best = (spread, c, after)
            paid += model.discount**k * model.cost
            if k == 0:
                first = float(best[1])
            cov = best[2]
        return options
