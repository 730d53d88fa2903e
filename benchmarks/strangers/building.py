"""`Building` with the adaptive filter: drive as if the pose were seen from the next step on (QMDP), and where that leaves much open, try by
runs whether it is better to act for a while as if one of a few likely poses were the true one.

Values of seen poses are those of a grid, a quarter of a cell wide and with 32 headings, whose poses stand for all poses near them.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import airoas
from airoas.compiler.kernels import kernel
from airoas.domains.strangers.building import CHARGER, NEAR, STRIDE, TURN, distance
from airoas.planners import Decision

WIDTH, HEADINGS = 120, 32
_DRAWS = 12  # of a step, for each pose of the grid and action
PARTICLES = 150  # of a run
STEPS = 60  # of a run at most
RUNS, HYPOTHESES = 48, 8
LEADS = (1, 6, 15)  # steps of acting as if a hypothesis were true
UNSURE = 3.0
"""Runs are made where seeing the pose would be worth more."""
SEEN = 2000  # particles that QMDP looks at


@kernel
def _draw_steps(model: Any, successors: Any, rewards: Any, rng: Any) -> None:
    """successors [pose, action, draw]: numbers of poses, -1 for the end; from anywhere within each pose's place of the grid."""
    for pose in range(len(successors)):
        for a in range(4):
            for k in range(successors.shape[2]):
                x = (pose // HEADINGS % WIDTH + rng.uniform()) * 30.0 / WIDTH
                y = (pose // HEADINGS // WIDTH + rng.uniform()) * 30.0 / WIDTH
                if model.walls[math.floor(y), math.floor(x)]:
                    continue
                heading = (pose % HEADINGS + rng.uniform()) * 2.0 * math.pi / HEADINGS
                states = np.array([[x, y, heading, 0.0]])
                s, reward = model.step(model.read_state(states, 0), a, rng)
                rewards[pose, a] += reward / successors.shape[2]
                successors[pose, a, k] = -1 if s.docked else _pose(s.x, s.y, s.heading)


def _pose(x: float, y: float, heading: float) -> int:
    """The number of the pose of the grid that stands for this one."""
    turn = math.floor(heading / (2.0 * math.pi) * HEADINGS) % HEADINGS
    return (math.floor(y * WIDTH / 30.0) * WIDTH + math.floor(x * WIDTH / 30.0)) * HEADINGS + turn


@functools.cache
def values(model: Any) -> np.ndarray:
    """[pose] of seen poses."""
    poses = WIDTH * WIDTH * HEADINGS
    successors, rewards = np.zeros((poses, 4, _DRAWS), np.int32), np.zeros((poses, 4))
    _draw_steps(model, successors, rewards, airoas.stream(0, "grid"))
    value = np.zeros(poses + 1)  # the last is the end, which -1 means
    while True:
        better = (rewards + model.discount * value[successors].mean(axis=2)).max(axis=1)
        change = np.abs(better - value[:-1]).max()
        value[:-1] = better
        if change < 1e-3:
            return value


def q_value(model: Any, x: float, y: float, heading: float, a: int, value: Any) -> float:
    """Of an action in a seen pose, without noise: the step itself is not that of the grid."""
    if a == 3:
        dx, dy = x - CHARGER[0], y - CHARGER[1]
        return 100.0 if dx * dx + dy * dy <= NEAR * NEAR else -50.0 + model.discount * value[_pose(x, y, heading)]
    if a == 0:
        if distance(model.walls, x, y, heading, STRIDE) < STRIDE:
            return -6.0 + model.discount * value[_pose(x, y, heading)]
        x, y = x + STRIDE * math.cos(heading), y + STRIDE * math.sin(heading)
    else:
        heading += TURN if a == 1 else -TURN
    return -1.0 + model.discount * value[_pose(x, y, heading)]


def best_action(model: Any, x: float, y: float, heading: float, value: Any) -> int:
    best, most = 0, -1e9
    for a in range(4):
        q = q_value(model, x, y, heading, a, value)
        if q > most:
            best, most = a, q
    return best


@kernel
def qmdp(model: Any, states: Any, value: Any, out: Any) -> float:
    """Mean Q [4] over live particles, and how much more it would be to see the pose first."""
    live, best = 0, 0.0
    out[:] = 0.0
    for i in range(len(states)):
        if states[i, 3] == 0.0:
            live += 1
            most = -1e9
            for a in range(4):
                q = q_value(model, states[i, 0], states[i, 1], states[i, 2], a, value)
                out[a] += q
                most = max(most, q)
            best += most
    out /= max(1, live)
    return best / max(1, live) - out.max()


@kernel
def _runs(model: Any, states: Any, hypothesis: Any, lead: int, value: Any, returns: Any, seed: int, rng: Any) -> None:
    """Returns [runs] of acting `lead` steps as if `hypothesis` [1, 4] were the pose, then by QMDP. Run k draws the same particles, and the
    same noise, for every hypothesis, so that differences of returns have little noise."""
    particles, weights, drawn = np.zeros((PARTICLES, 4)), np.zeros(PARTICLES), np.zeros((PARTICLES, 4))
    guess, q = np.zeros((1, 4)), np.zeros(4)
    for run in range(len(returns)):
        rng.reseed(seed, run, -1)
        for i in range(PARTICLES):
            particles[i] = states[rng.integer(len(states))]
        guess[0] = hypothesis[0]
        total, factor = 0.0, 1.0
        for t in range(STEPS):
            rng.reseed(seed, run, t)
            if t < lead and guess[0, 3] == 0.0:
                a = best_action(model, guess[0, 0], guess[0, 1], guess[0, 2], value)
            else:
                qmdp(model, particles, value, q)
                a = np.argmax(q)
            truth, reward = model.step(model.read_state(particles, 0), a, rng)
            total += factor * reward
            factor *= model.discount
            if model.is_terminal(truth):
                factor = 0.0
                break
            o = model.observe(truth, a, rng)
            model.write_state(particles, 0, truth)
            highest = -np.inf
            for i in range(PARTICLES):
                s = truth
                if i > 0:
                    s, _ = model.step(model.read_state(particles, i), a, rng)
                    model.write_state(particles, i, s)
                weights[i] = -np.inf if model.is_terminal(s) else model.obs_logpdf(o, s, a)
                highest = max(highest, weights[i])
            if t < lead and guess[0, 3] == 0.0:
                imagined, _ = model.step(model.read_state(guess, 0), a, rng)
                model.write_state(guess, 0, imagined)
            sum_of_weights = 0.0
            for i in range(PARTICLES):
                weights[i] = math.exp(weights[i] - highest)
                sum_of_weights += weights[i]
            source, reached = 0, weights[0]
            for i in range(1, PARTICLES):
                while reached < (i - 0.5) / PARTICLES * sum_of_weights and source < PARTICLES - 1:
                    source += 1
                    reached += weights[source]
                drawn[i] = particles[source]
            drawn[0] = particles[0]
            particles[:] = drawn
        if factor > 0.0:
            qmdp(model, particles, value, q)
            total += factor * min(q.max(), 0.0)
        returns[run] = total


@dataclass(frozen=True)
class Reference:
    def plan(self, model: Any, belief: airoas.Particles, rng: airoas.Rng) -> Decision:
        weights = belief.weights * (belief.states[:, 3] == 0)
        chosen = np.searchsorted(np.cumsum(weights), (np.arange(SEEN) + rng.uniform()) / SEEN * weights.sum())
        states, value, q = belief.states[np.minimum(chosen, len(weights) - 1)].copy(), values(model), np.zeros(4)
        unknown = qmdp(model, states, value, q)
        best, most = int(q.argmax()), 0.0
        if unknown < UNSURE:
            return Decision(best, float(q.max()))
        seed = rng.integer(2**31 - 1)
        base, returns = np.zeros(RUNS), np.zeros(RUNS)
        _runs(model, states, states[:1], 0, value, base, seed, rng)
        for k in range(HYPOTHESES):
            guess = states[(SEEN * k + seed % SEEN) // HYPOTHESES % SEEN][None].copy()
            for lead in LEADS:
                _runs(model, states, guess, lead, value, returns, seed, rng)
                gain = returns - base
                sure = gain.mean() - gain.std() / math.sqrt(RUNS)
                if sure > most:
                    best, most = _best_action(model, guess, value), sure
        return Decision(best, math.nan)


@kernel
def _best_action(model: Any, states: Any, value: Any) -> int:
    return best_action(model, states[0, 0], states[0, 1], states[0, 2], value)
