"""Moves of Metropolis-Hastings (Hastings, 1970) that leave a tempered posterior unchanged: one sweep over the particles each.

They work in split passes, propose all, weigh all, accept all, which the compiler can turn into vector code; proposals and their
log acceptance ratios stand in the idle system of the two. For `ANCESTORS` the target is the smoothed previous belief times
p(noise) times L^beta, on ancestors and noise records; else see `functions`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from airoas.belief.tempering.functions import is_finite
from airoas.belief.tempering.noise_record import INTEGER, NORMAL, UNIFORM
from airoas.belief.tempering.smoothing import is_within, kernel_log_density
from airoas.belief.tempering.system import Proposals, System, add_normals, copy_particle
from airoas.compiler.lanes import lanes
from airoas.compiler.specialise import noinline
from airoas.compiler.vector_exp import exp
from airoas.modelling.rows import Reals, Rows
from airoas.rng import Rng, hash_key, new_stream

MOVES = ("move", "gibbs", "mutate", "ancestors", "walk", "resimulate")
"""The model's own; Gibbs over successors; the model's proposal; a walk of the ancestor and of the noise (preconditioned
Crank-Nicolson: Cotter et al., 2013); a random walk of the state; a fresh simulated step."""
OWN, GIBBS, MUTATE, ANCESTORS, WALK, RESIMULATE = range(6)

OK, BAD_LIKELIHOOD, BAD_STEP, BAD_STATE = range(4)


class Swept(NamedTuple):
    """Counts of one sweep."""

    bad: int
    """Likelihoods that are no density."""
    bad_steps: int
    """Densities of the transition that are none."""
    accepted: int
    noise_accepted: int
    evaluated: int
    """Likelihoods."""


@noinline
def sweep(work: Any, system: System, idle: System, beta: float, seed: int) -> Swept:
    """One sweep of the move that was chosen."""
    if work.move <= GIBBS:
        rows = system.ancestors, system.states, system.log_likelihoods
        bad, moved, evaluated = work.sweep(*rows, work.actions, work.observations, beta, seed)
        return Swept(bad, 0, moved, 0, evaluated)
    if work.move == ANCESTORS:
        swept: Swept = move_ancestors(work, system, idle, beta, seed)
    elif work.move == RESIMULATE:
        swept = resimulate(work, system, idle, beta, seed)
    else:
        swept = move_states(work, system, idle, beta, seed)
    return swept


@noinline
def accept(system: System, idle: System, whole: bool, seed: int) -> int:
    """Take over each proposal in `idle` with the probability that its log ratio in `idle.log_weights` gives, nan never; how many.

    whole: ancestors and records were proposed too, not only states.
    """
    ratios, probabilities = idle.log_weights, idle.weights
    for i in lanes(len(ratios)):
        probabilities[i] = exp(ratios[i] if ratios[i] < 0.0 else (0.0 if ratios[i] >= 0.0 else -math.inf))
    draws, own = ratios, new_stream()  # the ratios have served
    own.reseed(seed, 1, 0)
    for i in lanes(len(draws)):  # particle i has number i of the stream, whoever comes first
        draws[i] = own.uniform_at(i)
    accepted = 0
    for i in lanes(len(draws)):
        accepted += int(draws[i] < probabilities[i])
    if whole:
        for i in lanes(len(draws)):
            if draws[i] < probabilities[i]:
                copy_particle(system, i, idle, i)
        return accepted
    _choose_new(system.log_likelihoods, idle.log_likelihoods, draws, probabilities)
    states, proposed = system.states, idle.states
    for i in lanes(len(draws)):
        for k in range(states.shape[1]):
            stay, go = states[i, k], proposed[i, k]
            states[i, k] = go if draws[i] < probabilities[i] else stay
    return accepted


def _choose_new(old: Reals, new: Reals, draws: Reals, probabilities: Reals) -> None:
    """Choices instead of branches, which nobody could predict."""
    for i in lanes(len(old)):
        stay, go = old[i], new[i]
        old[i] = go if draws[i] < probabilities[i] else stay


@noinline
def move_states(work: Any, system: System, idle: System, beta: float, seed: int) -> Swept:
    """The model's `mutate`, or a random walk of the state with its ancestor fixed, by the transition's density."""
    if work.move == MUTATE:
        where = work.actions, work.observations
        work.mutate(system.states, system.log_likelihoods, *where, seed, idle.states, idle.log_weights)
    else:
        proposals, own = work.proposals, new_stream()
        for i in lanes(len(idle.log_weights)):
            for k in range(system.states.shape[1]):
                idle.states[i, k] = system.states[i, k]
            idle.log_weights[i] = 0.0 if system.log_likelihoods[i] > -math.inf else -math.inf
            own.reseed(seed, 0, i)
            add_normals(idle.states, i, proposals, proposals.walks, 0, proposals.walk_scale, own)
    bad, bad_steps = work.weigh_transitions(
        system.ancestors,
        system.states,
        idle.states,
        work.actions,
        work.observations,
        beta,
        system.log_likelihoods,
        idle.log_likelihoods,
        idle.log_weights,
    )
    return Swept(bad, bad_steps, accept(system, idle, False, seed), 0, count_lanes(len(idle.log_weights)))


@noinline
def resimulate(work: Any, system: System, idle: System, beta: float, seed: int) -> Swept:
    """A fresh simulated step from the same ancestor: needs nothing but the simulator."""
    n = len(idle.log_weights)
    rewards, numbers = idle.weights, work.numbers
    work.step(system.ancestors, system.alive, work.actions, seed, numbers, idle.states, rewards, idle.alive)
    work.log_likelihoods(idle.states, idle.alive, work.observations, work.actions, work.row)
    bad = 0
    for i in lanes(n):
        value = work.row[0, i]
        bad += int(not value < math.inf)
        idle.log_likelihoods[i] = value
        idle.log_weights[i] = beta * (value - system.log_likelihoods[i]) if system.log_likelihoods[i] > -math.inf else -math.inf
    return Swept(bad, 0, accept(system, idle, False, seed), 0, count_lanes(n))


@noinline
def move_ancestors(work: Any, system: System, idle: System, beta: float, seed: int) -> Swept:
    """A walk of the ancestor with its noise replayed, then a step of the noise with the ancestor kept.

    Needs the simulator and `obs_logpdf` only, and moves deterministic dynamics too. With the record read as endless, the
    target is kernel(ancestor) p(draws) L^beta: the walk keeps the draws, the step on the noise keeps p(draws) by itself, so
    that neither needs another term however many draws a step takes. Draws that the last run did not take come anew.
    """
    proposals, own = work.proposals, new_stream()
    n = len(idle.log_weights)
    bad = accepted = noise_accepted = evaluated = 0
    if proposals.n_axes > 0:
        for i in lanes(n):
            copy_particle(idle, i, system, i)
            own.reseed(seed, 2, i)
            c = system.labels[i]
            add_normals(idle.ancestors, i, proposals, proposals.walks, c, proposals.walk_scale, own)
            gain = kernel_log_density(idle, i, proposals, c) - kernel_log_density(system, i, proposals, c)
            idle.log_weights[i] = gain if is_within(idle.ancestors, i, proposals, c) else -math.inf
        bad += replay_proposals(work, system, idle, beta, hash_key(seed, 3, 0))
        accepted += accept(system, idle, True, seed)
        evaluated += count_lanes(n)
    if len(proposals.noise) > 0:
        for i in lanes(n):
            copy_particle(idle, i, system, i)
            own.reseed(seed, 4, i)
            step_noise(idle.records, i, proposals, own)
            idle.log_weights[i] = 0.0
        bad += replay_proposals(work, system, idle, beta, hash_key(seed, 5, 0))
        noise_accepted += accept(system, idle, True, hash_key(seed, 6, 0))
        evaluated += count_lanes(n)
    return Swept(bad, 0, accepted, noise_accepted, evaluated)


def count_lanes(n: int) -> int:
    """How many of n turns the thread at hand takes."""
    count = 0
    for _ in lanes(n):
        count += 1
    return count


def replay_proposals(work: Any, system: System, idle: System, beta: float, seed: int) -> int:
    """Run the simulator on proposed ancestors and records and add the gain in likelihood to their log ratios; how many were
    no densities. A proposal from which a step overflows is not accepted."""
    for i in lanes(len(idle.log_weights)):
        idle.alive[i] = idle.log_weights[i] > -math.inf and system.log_likelihoods[i] > -math.inf
    bad = work.replay(
        *(idle.ancestors, idle.alive, idle.records, work.actions, work.observations),
        *(seed, idle.states, idle.log_likelihoods),
    )
    for i in lanes(len(idle.log_weights)):
        if idle.alive[i] and is_finite(idle.states, i):
            idle.log_weights[i] += beta * (idle.log_likelihoods[i] - system.log_likelihoods[i])
        else:
            idle.log_weights[i] = -math.inf
            idle.alive[i] = system.alive[i]
    return int(bad)


def step_noise(records: Rows, i: int, proposals: Proposals, rng: Rng) -> None:
    """Move the draws that row i took, each by a step that keeps its own distribution.

    A normal moves to sqrt(1 - rho^2) u + rho z (preconditioned Crank-Nicolson), a uniform walks around the unit circle, an
    integer is redrawn now and then. How far depends on the position in the record alone, never on the row: the way back must be as
    likely.
    """
    for draw in range(min(len(proposals.noise), int(records[i, 0]))):
        kind = int(records[i, 1 + 2 * draw])
        at = 2 + 2 * draw
        rho = min(1.0, proposals.noise_scale * proposals.noise[draw])
        if kind == NORMAL:
            records[i, at] = math.sqrt(1.0 - rho * rho) * records[i, at] + rho * rng.normal()
        elif kind == UNIFORM:
            x = records[i, at] + rho * rng.normal()
            x -= math.floor(x)
            records[i, at] = x if x < 1.0 else 0.0
        elif kind > INTEGER and rng.uniform() < min(1.0, 0.5 * proposals.noise_scale):
            records[i, at] = rng.integer(kind - INTEGER)
