"""Reference: marginals of failure; replaces the likeliest failed one that pays, tests where most is told, isolates when many are failed."""

from dataclasses import dataclass

import numpy as np

from airoas.planners import Decision

STILL = {"wait": lambda m, s, rng: 37, "switch once": lambda m, s, rng: 37 if s.isolated else 36}
BITS = 1 << np.arange(18, dtype=np.int64)


OPTIONS = {"particles": 2000}


@dataclass(frozen=True)
class Reference:
    replace_at: float = 0.4
    on: float = 1.2
    off: float = 0.6
    horizon: float = 12.0
    test_at: float = 0.25

    def plan(self, model, belief, rng):
        return Decision(self.choose(model, belief, rng), value=float("nan"))

    def choose(self, model, belief, rng):
        S, w = belief.states, belief.weights
        if len(S) > 2500:
            S = belief.draw(2500, rng).states
            w = np.full(len(S), 1 / len(S))
        F = (S[:, 0].astype(np.int64)[:, None] & BITS[None, :]) > 0
        spares, isolated, hour = int(S[w.argmax(), 1]), bool(S[w.argmax(), 2]), int(S[w.argmax(), 3])
        left = model.hours - hour
        p = w @ F
        # what a failed one costs until the end: its own loss, and that of those it takes along
        g, rate = model.discount, model.spread_isolated if isolated else model.spread
        n = np.arange(left)
        own = ((g**n) * 1.0).sum()
        infect = 2 * rate * (1 - g**left) / (1 - g) * left * 0.25
        gain = own + infect
        nb = np.roll(p, 1) + np.roll(p, -1)
        hot = float((nb * (1 - p)).sum()) * (model.spread - model.spread_isolated) * min(own, self.horizon)
        if left > 4 and not isolated and hot > self.on * model.isolation_cost:
            return 36
        if isolated and hot < self.off * model.isolation_cost:
            return 36
        if spares > 0:
            # when spares run short keep them for the surest
            score = p * model.works * gain - model.spare_cost
            k = int(score.argmax())
            need = self.replace_at if left > 6 else 0.5
            if p[k] > need and score[k] > 0.3:
                return 18 + k
        if left <= 3:
            return 37
        # testing: information about single transformers, in gain of replacing
        if spares > 0 and left > 4:
            best, most = 37, 0.0
            h0 = self.value(p, gain, model)
            for a in range(18):
                m = F[:, [a, (a + 1) % 18, (a + 2) % 18]].sum(1)
                c = np.where(m == 0, model.false, 1 - (1 - model.hit) * 0.5 ** (m - 1.0))
                pa = float(w @ c)
                up = (w * c) @ F / max(pa, 1e-9)
                dn = (w * (1 - c)) @ F / max(1 - pa, 1e-9)
                info = self.entropy(p) - pa * self.entropy(up) - (1 - pa) * self.entropy(dn)
                info2 = pa * self.value(up, gain, model) + (1 - pa) * self.value(dn, gain, model) - h0
                v = info + 0.3 * info2
                if v > most:
                    best, most = a, v
            if most > 0.03:
                return best
        return 37

    def entropy(self, p):
        q = np.clip(p, 1e-9, 1 - 1e-9)
        return float(-(q * np.log(q) + (1 - q) * np.log(1 - q)).sum())

    def value(self, p, gain, model):
        return float(np.maximum(p * model.works * gain - model.spare_cost - (1 - p) * 4, 0).max())
