"""A nearly optimal policy of `Poker`: value iteration over a grid of beliefs about the kind of player, which is all that lasts.

Values between grid points are interpolated, which makes them upper bounds; the policy looks one hand ahead.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import airoas
from airoas.domains.strangers.poker import BETS, CALL, FOLD, FOLDS, KINDS, LEAVES, RAISE
from airoas.planners import Decision

GRID = 60
_BETS, _FOLDS, _PRIOR = np.array(BETS), np.array(FOLDS), np.array(KINDS)
_STAY = (1.0 - LEAVES) * np.eye(3) + LEAVES * _PRIOR


class Filter:
    def start(self, model: Any, rng: airoas.Rng) -> airoas.Particles:
        states = np.array([(mine, his, 0, kind, 0) for mine, his, kind in itertools.product((2, 3), (1, 2, 3, 4), range(3))], float)
        return airoas.Particles(states, _PRIOR[states[:, 3].astype(int)])

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: airoas.Rng) -> airoas.Updated:
        """What was shown, or not, tells of the kind; then another player may come, and bet or not."""
        mine, bet, shown = observation
        his, has_bet, kind = belief.states[:, 1].astype(int), belief.states[:, 2] > 0, belief.states[:, 3].astype(int)
        gives_in = np.where(has_bet, {FOLD: 1.0, CALL: 0.0, RAISE: _FOLDS[kind, his - 1]}[action], 1.0)  # no card is shown
        weights = belief.weights * (gives_in if shown == 0 else (1.0 - gives_in) * (his == shown))
        kinds = np.bincount(kind, weights, 3) @ _STAY
        states = np.array([(mine, card, bet, kind, shown) for card, kind in itertools.product((1, 2, 3, 4), range(3))], float)
        card, kind = states[:, 1].astype(int) - 1, states[:, 3].astype(int)
        return airoas.Updated(airoas.Particles(states, kinds[kind] * (_BETS[kind, card] if bet else 1.0 - _BETS[kind, card])))


class Hand(NamedTuple):
    """What can come of an action against a bet, for many beliefs about the kind [B, 3]: rewards, probabilities and beliefs afterwards."""

    reward: np.ndarray
    probabilities: list[np.ndarray]
    """[B] each, summing to 1."""
    after: list[np.ndarray]
    """[B, 3] each, about the next player."""


def _hands(cards: np.ndarray, mine: int) -> list[Hand]:
    """For fold, call and raise; cards [B, 3, 4] the joint distribution of kind and card, given the bet."""
    sign = np.sign(mine - np.arange(1, 5))
    given_in, shown = cards * _FOLDS, cards * (1.0 - _FOLDS)
    reward = 5.0 * given_in.sum(axis=(1, 2)) + 13.0 * (shown.sum(axis=1) @ sign)
    return [
        Hand(np.full(len(cards), -1.0), *_posteriors([cards.sum(axis=2)])),
        Hand(5.0 * (cards.sum(axis=1) @ sign), *_posteriors([cards[:, :, c] for c in range(4)])),
        Hand(reward, *_posteriors([given_in.sum(axis=2), *(shown[:, :, c] for c in range(4))])),
    ]


def _posteriors(parts: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    probabilities = [part.sum(axis=1) for part in parts]
    return probabilities, [part / np.maximum(p, 1e-300)[:, None] @ _STAY for part, p in zip(parts, probabilities, strict=True)]


def _bet(beliefs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The probability of a bet [B], the cards given one [B, 3, 4], and the kinds given none [B, 3], for beliefs before the deal."""
    joint = beliefs[:, :, None] * _BETS / 4.0
    probability = joint.sum(axis=(1, 2))
    none = beliefs * (1.0 - _BETS.mean(axis=1))
    return probability, joint / np.maximum(probability, 1e-300)[:, None, None], none / none.sum(axis=1)[:, None]


@functools.cache
def _points() -> tuple[np.ndarray, np.ndarray]:
    """Beliefs of the grid [P, 3], and their numbers by the first two coordinates."""
    points = np.array([(i, j, GRID - i - j) for i in range(GRID + 1) for j in range(GRID + 1 - i)])
    number = np.zeros((GRID + 2, GRID + 2), int)
    number[points[:, 0], points[:, 1]] = np.arange(len(points))
    return points / GRID, number


def _triangles(beliefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners [B, 3] of the triangle that each belief lies in, and their weights."""
    _, number = _points()
    x, y = GRID * beliefs[:, 0], GRID * beliefs[:, 1]
    i, j = np.minimum(x.astype(int), GRID), np.minimum(y.astype(int), GRID)
    u, v = x - i, y - j
    upper = u + v > 1.0
    corners = np.stack(
        (number[i + upper, j + upper], number[np.minimum(i + 1, GRID + 1), j], number[i, np.minimum(j + 1, GRID + 1)]), axis=1
    )
    weights = np.stack((np.where(upper, u + v - 1.0, 1.0 - u - v), np.where(upper, 1.0 - v, u), np.where(upper, 1.0 - u, v)), axis=1)
    weights = np.clip(weights, 0.0, None)
    return corners, weights / weights.sum(axis=1)[:, None]


@functools.cache
def solved(discount: float) -> np.ndarray:
    """[P] the value of each belief before the cards are dealt."""
    beliefs, _ = _points()
    probability, cards, none = _bet(beliefs)
    void = _triangles(none @ _STAY)
    hands = {mine: [(hand, [_triangles(after) for after in hand.after]) for hand in _hands(cards, mine)] for mine in (2, 3)}
    values = np.zeros(len(beliefs))

    def at(triangle: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        return (values[triangle[0]] * triangle[1]).sum(axis=1)

    while True:
        better = (1.0 - probability) * discount * at(void)
        for options in hands.values():
            q = [
                h.reward + discount * sum(p * at(triangle) for p, triangle in zip(h.probabilities, triangles, strict=True))
                for h, triangles in options
            ]
            better += 0.5 * probability * np.max(q, axis=0)
        if np.abs(better - values).max() < 1e-7:
            return better
        values = better


def _value(beliefs: np.ndarray, discount: float) -> np.ndarray:
    corners, weights = _triangles(beliefs)
    return (solved(discount)[corners] * weights).sum(axis=1)


def bound(discount: float) -> float:
    """An upper bound of the value of the initial belief, whose first hand is void."""
    return discount * float(_value(_PRIOR[None] @ _STAY, discount)[0])


@dataclass(frozen=True)
class Reference:
    def plan(self, model: Any, belief: airoas.Particles, rng: airoas.Rng) -> Decision:
        states, weights = belief.states, belief.weights
        if not states[weights.argmax(), 2]:
            return Decision(FOLD, float("nan"))
        cards = np.zeros((1, 3, 4))
        np.add.at(cards[0], (states[:, 3].astype(int), states[:, 1].astype(int) - 1), weights)
        q = []
        for hand in _hands(cards, int(states[0, 0])):
            later = sum(p[0] * _value(b, model.discount)[0] for p, b in zip(hand.probabilities, hand.after, strict=True) if p[0] > 0.0)
            q.append(float(hand.reward[0]) + model.discount * float(later))
        return Decision(int(np.argmax(q)), max(q))
