"""Reference: of all boards that agree with the hits and misses (the belief), the cell that most of them have; of equal ones that
which splits best with the next. Goes on to the end, for what is left is worth more than the shots for it."""

from dataclasses import dataclass

import numpy as np

from airoas.planners import Decision

STILL = {
    "stop": lambda m, s, rng: 49,
    "row by row": lambda m, s, rng: next(k for k in [*range(49), 49] if k == 49 or not s.shot[k]),
    "every third, then the rest": lambda m, s, rng: next(
        k for k in [*(k for k in range(49) if (k // 7 + k % 7) % 3 == 0), *range(49)] if not s.shot[k]
    ),
}
BIT = np.int64(1) << np.arange(49, dtype=np.int64)


def boards():
    def masks(n):
        out = []
        for along in range(8 - n):
            for across in range(7):
                out.append(sum(1 << (7 * (along + j) + across) for j in range(n)))
                out.append(sum(1 << (7 * across + along + j) for j in range(n)))
        return np.array(out, dtype=np.int64)

    three, two = masks(3), masks(2)
    i, j = np.triu_indices(len(three), 1)
    ok = (three[i] & three[j]) == 0
    both = three[i][ok] | three[j][ok]
    ok = (both[:, None] & two[None, :]) == 0
    every = (both[:, None] | two[None, :])[ok]
    return np.unique(every, return_counts=True)


BOARDS, TIMES = boards()


@dataclass(frozen=True)
class Reference:
    ahead: float = 0.3  # how much the likeliest cell after this one counts

    def plan(self, model, belief, rng):
        column = model.shapes.state.column
        k = belief.weights.argmax()
        row = belief.states[k : k + 1]
        shot = np.asarray(column(row, "shot"))[0].astype(bool)
        ships = np.asarray(column(row, "ships"))[0].astype(bool)
        fired, hits = BIT[shot].sum(), BIT[shot & ships].sum()
        agree = (BOARDS & fired) == hits
        B = (BOARDS[agree][:, None] & BIT[None, :]) != 0
        t = TIMES[agree] / TIMES[agree].sum()
        p = t @ B
        p[shot] = -1.0
        best, most = 49, 0.02
        for a in np.argsort(-p)[:8]:
            if p[a] < p.max() - 0.12:
                continue
            v = p[a]
            for side in (B[:, a], ~B[:, a]):
                w = t[side]
                if len(w):
                    q = w @ B[side]
                    q[shot] = 0.0
                    q[a] = 0.0
                    v += self.ahead * q.max()
            if v > most:
                best, most = int(a), v
        return Decision(best, value=float("nan"))
