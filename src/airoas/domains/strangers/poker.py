"""Cards against players of three kinds: one bets high cards, one low ones, one both; a card is shown only to who has paid for it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.modelling.decorator import model
from airoas.rng import Rng

FOLD, CALL, RAISE = range(3)
KINDS = (0.6, 0.25, 0.15)
"""How many players are rocks, bluffers and tricksters."""
BETS = ((0.0, 0.0, 0.2, 1.0), (1.0, 0.2, 0.0, 0.0), (0.6, 0.0, 0.0, 0.6))
"""How likely each kind bets with cards 1 to 4: three times in ten all told, whoever it is."""
FOLDS = ((1.0, 1.0, 0.5, 0.0), (0.5, 0.5, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))
"""How likely each kind, with each card, gives in to a raise."""
LEAVES = 0.03
"""How likely another player, of any kind, takes the place of the present one after a hand."""


class State(NamedTuple):
    mine: int
    """2 or 3."""
    his: int
    """1 .. 4, unseen."""
    has_bet: int
    kind: int
    """Unseen."""
    shown: int
    """The card that was shown in the hand before; 0 for none."""


class Table(NamedTuple):
    mine: int
    has_bet: int
    shown: int


@model
class Poker(NamedTuple):
    """After a bet: fold for -1, call so that the higher card wins 5, or raise: he gives in for +5, or it wins 13. No bet, no win."""

    discount: float = 0.97
    max_steps: int = 100

    def prepare(self) -> dict[str, Any]:
        return {"bets": np.array(BETS), "folds": np.array(FOLDS)}

    def actions(self) -> tuple[str, ...]:
        return "fold", "call", "raise"

    def legal(self, s: State, a: int) -> bool:
        return a == FOLD or s.has_bet > 0

    def initial(self, rng: Rng) -> State:
        """A void hand: nothing has been seen yet."""
        return State(2 + rng.integer(2), 1 + rng.integer(4), 0, _kind(rng), 0)

    def step(self: Any, s: State, a: int, rng: Rng) -> tuple[State, float]:
        shown = 0
        reward = -1.0 if s.has_bet else 0.0
        if a != FOLD and s.has_bet:
            if a == RAISE and rng.uniform() < self.folds[s.kind, s.his - 1]:
                reward = 5.0
            else:
                shown = s.his
                stake = 13.0 if a == RAISE else 5.0
                reward = stake if s.mine > s.his else -stake if s.mine < s.his else 0.0
        kind = _kind(rng) if rng.uniform() < LEAVES else s.kind
        his = 1 + rng.integer(4)
        return State(2 + rng.integer(2), his, 1 if rng.uniform() < self.bets[kind, his - 1] else 0, kind, shown), reward

    def observe(self, s: State, a: int, rng: Rng) -> Table:
        return Table(s.mine, s.has_bet, s.shown)

    def obs_logpdf(self, o: Table, s: State, a: int) -> float:
        return 0.0 if o.mine == s.mine and o.has_bet == s.has_bet and o.shown == s.shown else -math.inf


def _kind(rng: Rng) -> int:
    u = rng.uniform()
    return 0 if u < KINDS[0] else 1 if u < KINDS[0] + KINDS[1] else 2
