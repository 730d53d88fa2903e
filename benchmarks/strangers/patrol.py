"""`Patrol` with the exact filter: a rule with six numbers, tuned, and rollouts of that rule from the present belief, which improve on it.

The rule attacks where the submarine is likely enough in reach, pings where it might be in too many cells but not too far away, and
otherwise moves as would be best if the submarine were seen from the next step on (QMDP).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import airoas
from airoas.compiler.kernels import kernel
from airoas.domains.strangers.patrol import ATTACK, FALSE_ALARM, PING, RANGE, SIZE, STRIDE, heard, moved
from airoas.planners import Decision

DRIFT = (0.6, 0.1, 0.1, 0.2)
"""How likely the submarine goes along its course, to its right, to its left, and nowhere."""
HIT = (0.9, 0.6)
"""How likely an attack hits a submarine in reach that is not alarmed, and one that is."""
SURE = (0.632, 0.706)
"""The rule attacks where the submarine is likelier than this to be in reach; this and the next two tuned, not alarmed and alarmed."""
CELLS, FAR = (15.8, 5.47), (9.87, 6.98)
"""It pings where the submarine may be in more cells (the exponential of the entropy) and is nearer, on average."""
RUNS, STEPS = 200, 40


class Filter:
    def start(self, model: Any, rng: airoas.Rng) -> airoas.Particles:
        start = np.zeros((SIZE, SIZE, 4))
        start[:, :4, 0] = start[:4, :, 1] = start[:, -4:, 2] = start[-4:, :, 3] = 1.0
        return _particles(SIZE // 2, SIZE // 2, start, 0)

    def update(self, model: Any, belief: Any, action: Any, observation: Any, rng: airoas.Rng) -> airoas.Updated:
        x, y, alarmed = (int(belief.states[0, k]) for k in (0, 1, 5))
        x2, y2 = clipped(*moved(x, y, action, STRIDE if action < PING else 0))
        after = np.zeros((SIZE, SIZE, 4))
        posterior(_masses(belief), x, y, alarmed, action, x2, y2, np.array(observation), after)
        return airoas.Updated(_particles(x2, y2, after, 1 if alarmed or action >= PING else 0))


def _particles(x: int, y: int, belief: np.ndarray, alarmed: int) -> airoas.Particles:
    """Of a belief about the submarine [sub_x, sub_y, course]."""
    submarines = np.argwhere(belief > 0.0)
    frigate, flags = np.broadcast_to((x, y), (len(submarines), 2)), np.broadcast_to((alarmed, 0), (len(submarines), 2))
    return airoas.Particles(np.hstack((frigate, submarines, flags)), belief[belief > 0.0])


def _masses(belief: airoas.Particles) -> np.ndarray:
    """[sub_x, sub_y, course]"""
    masses = np.zeros((SIZE, SIZE, 4))
    sub_x, sub_y, course = belief.states[:, 2:5].astype(int).T
    np.add.at(masses, (sub_x, sub_y, course), belief.weights)
    return masses


def clipped(x: int, y: int) -> tuple[int, int]:
    return min(SIZE - 1, max(0, x)), min(SIZE - 1, max(0, y))


def sector(x: int, y: int, sub_x: int, sub_y: int) -> int:
    bearing = math.atan2(float(sub_y - y), float(sub_x - x))
    return math.floor((bearing + 2.0 * math.pi) / (0.25 * math.pi) + 1e-9) % 8


def drifted(sub_x: int, sub_y: int, course: int, alarmed: int, k: int) -> tuple[int, int, bool]:
    """Where the submarine gets to by way k of DRIFT, and whether that is within the strait."""
    way = course if k == 0 else (course + 1) % 4 if k == 1 else (course + 3) % 4
    x, y = moved(sub_x, sub_y, way, 0 if k == 3 else 2 if alarmed else 1)
    return x, y, 0 <= x < SIZE and 0 <= y < SIZE


@kernel
def posterior(belief: Any, x: int, y: int, alarmed: int, a: int, x2: int, y2: int, beams: Any, after: Any) -> None:
    """after: the belief about the submarine [sub_x, sub_y, course] after an action that did not end it and what was heard from (x2, y2)."""
    after[:] = 0.0
    for sub_x in range(SIZE):
        for sub_y in range(SIZE):
            escaped = 1.0 - HIT[alarmed] if a == ATTACK and max(abs(sub_x - x), abs(sub_y - y)) <= RANGE else 1.0
            for course in range(4):
                mass = escaped * belief[sub_x, sub_y, course]
                if mass > 0.0:
                    for k in range(4):
                        u, v, inside = drifted(sub_x, sub_y, course, alarmed, k)
                        if inside:
                            after[u, v, course] += DRIFT[k] * mass
    for sub_x in range(SIZE):
        for sub_y in range(SIZE):
            if after[sub_x, sub_y].sum() > 0.0:
                far, beam = max(abs(sub_x - x2), abs(sub_y - y2)), sector(x2, y2, sub_x, sub_y)
                likelihood = 1.0
                for k in range(8):
                    if a == PING:
                        likelihood *= beams[k] == (far + 1 if k == beam else 0)
                    else:
                        probability = heard(far) if k == beam else FALSE_ALARM
                        likelihood *= probability if beams[k] else 1.0 - probability
                after[sub_x, sub_y] *= likelihood
    after /= after.sum()


@functools.cache
def q_values(discount: float) -> np.ndarray:
    """[x, y, sub_x, sub_y, course, alarmed, action] of the fully observable problem."""
    q = np.zeros((SIZE, SIZE, SIZE, SIZE, 4, 2, 6), np.float32)
    _iterate(discount, np.zeros(q.shape[:-1]), q)
    return q


@kernel
def _iterate(discount: float, value: Any, q: Any) -> None:
    change = 1.0
    while change > 1e-3:
        change = 0.0
        for x, y, sub_x, sub_y, course, alarmed in np.ndindex(value.shape):
            reach = max(abs(sub_x - x), abs(sub_y - y)) <= RANGE
            best = -np.inf
            for a in range(6):
                hit = HIT[alarmed] if a == ATTACK and reach else 0.0
                x2, y2 = clipped(*moved(x, y, a, STRIDE if a < PING else 0))
                later = 0.0
                for k in range(4):
                    u, v, inside = drifted(sub_x, sub_y, course, alarmed, k)
                    if inside:
                        later += DRIFT[k] * value[x2, y2, u, v, course, 1 if alarmed or a >= PING else 0]
                action_value = 100.0 * hit - (15.0 if a == ATTACK else 0.0) + (1.0 - hit) * discount * later
                q[x, y, sub_x, sub_y, course, alarmed, a] = action_value
                best = max(best, action_value)
            change = max(change, abs(best - value[x, y, sub_x, sub_y, course, alarmed]))
            value[x, y, sub_x, sub_y, course, alarmed] = best


def qmdp(belief: Any, x: int, y: int, alarmed: int, q: Any) -> Any:
    """[action]"""
    total = np.zeros(6)
    for sub_x in range(SIZE):
        for sub_y in range(SIZE):
            for course in range(4):
                if belief[sub_x, sub_y, course] > 1e-6:
                    for a in range(6):
                        total[a] += belief[sub_x, sub_y, course] * q[x, y, sub_x, sub_y, course, alarmed, a]
    return total


def rule(belief: Any, x: int, y: int, alarmed: int, q: Any) -> int:
    reach = far = entropy = 0.0
    for sub_x in range(SIZE):
        for sub_y in range(SIZE):
            probability = belief[sub_x, sub_y].sum()
            if probability > 0.0:
                distance = max(abs(sub_x - x), abs(sub_y - y))
                reach += probability if distance <= RANGE else 0.0
                far += probability * distance
                entropy -= probability * math.log(probability)
    if reach >= SURE[alarmed]:
        return ATTACK
    if math.exp(entropy) > CELLS[alarmed] and far < FAR[alarmed]:
        return PING
    return np.argmax(qmdp(belief, x, y, alarmed, q)[:4])


def run(
    belief: Any, x: int, y: int, sub_x: int, sub_y: int, course: int, alarmed: int, first: int, q: Any, discount: float, rng: Any
) -> float:
    """The return of an action and then the rule, from a true state and a belief."""
    beams, before, after = np.zeros(8, np.int64), belief.copy(), np.zeros_like(belief)
    total, weight = 0.0, 1.0
    for t in range(STEPS):
        a = first if t == 0 else rule(before, x, y, alarmed, q)
        if a == ATTACK:
            total -= 15.0 * weight
            if max(abs(sub_x - x), abs(sub_y - y)) <= RANGE and rng.uniform() < HIT[alarmed]:
                return total + 100.0 * weight
        x2, y2 = clipped(*moved(x, y, a, STRIDE if a < PING else 0))
        u = rng.uniform()
        k = 0 if u < 0.6 else 1 if u < 0.7 else 2 if u < 0.8 else 3
        sub_x, sub_y, inside = drifted(sub_x, sub_y, course, alarmed, k)
        if not inside:
            return total
        far, beam = max(abs(sub_x - x2), abs(sub_y - y2)), sector(x2, y2, sub_x, sub_y)
        for k in range(8):
            probability = heard(far) if k == beam else FALSE_ALARM
            beams[k] = (far + 1 if k == beam else 0) if a == PING else 1 if rng.uniform() < probability else 0
        posterior(before, x, y, alarmed, a, x2, y2, beams, after)
        before, after = after, before
        x, y, alarmed = x2, y2, 1 if alarmed or a >= PING else 0
        weight *= discount
    return total


@kernel
def improved(belief: Any, x: int, y: int, alarmed: int, q: Any, discount: float, rng: Any) -> int:
    """The action whose runs are better than the rule's own by most beyond their error; the rule's where none is."""
    base = rule(belief, x, y, alarmed, q)
    returns = np.zeros((6, RUNS))
    cumulative = np.cumsum(belief.ravel())
    for i in range(RUNS):
        start = min(np.searchsorted(cumulative, rng.uniform() * cumulative[-1]), len(cumulative) - 1)
        for a in range(6):
            returns[a, i] = run(belief, x, y, start // (4 * SIZE), start // 4 % SIZE, start % 4, alarmed, a, q, discount, rng)
    best, most = base, 0.0
    for a in range(6):
        gain = returns[a] - returns[base]
        sure = gain.mean() - gain.std() / math.sqrt(RUNS)
        if sure > most:
            best, most = a, sure
    return best


@dataclass(frozen=True)
class Reference:
    def plan(self, model: Any, belief: airoas.Particles, rng: airoas.Rng) -> Decision:
        x, y, alarmed = (int(belief.states[0, k]) for k in (0, 1, 5))
        return Decision(improved(_masses(belief), x, y, alarmed, q_values(model.discount), model.discount, rng), math.nan)
