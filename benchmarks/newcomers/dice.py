import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    mine: int  # two dice 1 .. 6 as 10 * low + high, 0 between rounds
    theirs: int
    bid: int  # 0 none yet, else 1 .. 24: 1 + 6 * (count - 1) + (face - 1)
    kind: int  # 0 honest, 1 mixed, 2 bluffer, 3 coward, who doubts late and bids low
    rounds: int  # still to play
    paid: int  # what the round that has ended paid


class Seen(NamedTuple):
    mine: int
    bid: int
    rounds: int
    paid: int


BLUFF = (0.05, 0.35, 0.8, 0.1)
TRUST = (0.25, 0.35, 0.45, 0.08)  # below that chance of a bid being true they doubt it


def count(dice, face):
    return (1 if dice // 10 == face else 0) + (1 if dice % 10 == face else 0)


@airoas.model
class Dice(NamedTuple):
    """Twelve rounds of liar's dice, two dice each, against a player of unknown temper; the stake is what the last bid counts."""

    match: int = 12
    whim: float = 0.1
    mood: float = 0.03  # their temper may change between rounds
    discount: float = 0.98
    max_steps: int = 100

    def actions(self):
        return (*tuple(f"{1 + k // 6} x {1 + k % 6}" for k in range(24)), "doubt", "roll")

    def initial(self, rng):
        return State(0, 0, 0, rng.integer(4), self.match, 0)

    def legal(self, s, a):
        if s.mine == 0:
            return a == 25
        if a == 25:
            return False
        if a == 24:
            return s.bid > 0
        return a + 1 > s.bid

    def roll(self, rng):
        one, two = 1 + rng.integer(6), 1 + rng.integer(6)
        return 10 * min(one, two) + max(one, two)

    def likely(self, dice, bid):
        """How likely a bid is true for one who sees these dice only."""
        need = 1 + (bid - 1) // 6 - count(dice, 1 + (bid - 1) % 6)
        if need <= 0:
            return 1.0
        if need == 1:
            return 11.0 / 36.0
        return 1.0 / 36.0 if need == 2 else 0.0

    def answer(self, dice, bid, kind, rng):
        """What they bid over this bid; 0: they doubt."""
        if rng.uniform() < self.whim:
            j = rng.integer(9)
            if bid + j > 24 or (bid > 0 and j == 0):
                return 0
            return max(bid + j, 1)
        if bid > 0:
            trust = TRUST[kind] + 0.15 * (rng.uniform() - 0.5)
            if self.likely(dice, bid) < trust or bid == 24:
                return 0
        if rng.uniform() < BLUFF[kind]:
            higher = bid + 1 + rng.integer(8)
            if higher <= 18:
                return higher
        # the bids above that their own dice carry best, the lowest of these
        best, most = 0, -1.0
        for k in range(bid + 1, min(bid + 13, 25)):
            p = self.likely(dice, k) + 0.05 * rng.uniform() - 0.01 * (k - bid)
            if p > most:
                best, most = k, p
        if bid > 0 and most < 0.2:
            return 0
        return best

    def step(self, s, a, rng):
        if a == 25:
            mine, theirs = self.roll(rng), self.roll(rng)
            bid, kind = 0, s.kind
            if rng.uniform() < self.mood:
                kind = rng.integer(4)
            if s.rounds % 2 == 0:
                bid = self.answer(theirs, 0, kind, rng)
            return State(mine, theirs, bid, kind, s.rounds, 0), 0.0
        if a == 24:
            face, need = 1 + (s.bid - 1) % 6, 1 + (s.bid - 1) // 6
            true = count(s.mine, face) + count(s.theirs, face) >= need
            paid = -need if true else need
            return State(0, 0, 0, s.kind, s.rounds - 1, paid), float(paid)
        bid = a + 1
        reply = self.answer(s.theirs, bid, s.kind, rng)
        if reply > 0:
            return s._replace(bid=reply), 0.0
        face, need = 1 + (bid - 1) % 6, 1 + (bid - 1) // 6
        true = count(s.mine, face) + count(s.theirs, face) >= need
        paid = need if true else -need
        return State(0, 0, 0, s.kind, s.rounds - 1, paid), float(paid)

    def observe(self, s, a, rng):
        return Seen(s.mine, s.bid, s.rounds, s.paid)

    def obs_logpdf(self, o, s, a):
        same = o.mine == s.mine and o.bid == s.bid and o.rounds == s.rounds and o.paid == s.paid
        return 0.0 if same else -math.inf

    def is_terminal(self, s):
        return s.rounds <= 0
