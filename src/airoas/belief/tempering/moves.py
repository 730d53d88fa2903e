"""Moves of Metropolis-Hastings that leave a tempered posterior unchanged, one sweep over particles lo .. hi each.

Every sweep has the same signature and counts what it accepts, and values that are no density, in `scales.counts`. It works
in split passes, propose all, weigh all, accept all, which the compiler can turn into vector code; proposals and their log
acceptance ratios stand in the idle cloud. beta > 0. The target of particle i is p(state | its ancestor) L(state)^beta; for
`ancestors_and_noise` it is the smoothed previous belief times p(noise) times L^beta, on ancestors and tapes.
"""

from __future__ import annotations

import math
from typing import Any

from airoas.belief.tempering.cloud import (
    ACCEPTED,
    BAD_LIKELIHOODS,
    BAD_STEPS,
    CHUNK,
    EVALUATED,
    NOISE_ACCEPTED,
    Cloud,
    Scales,
    add_normals,
    copy_particle,
    is_within,
)
from airoas.belief.tempering.noise_record import INTEGER, NORMAL, UNIFORM, tape
from airoas.compiler.specialise import apart
from airoas.compiler.vector_exp import exp


def accept(cloud: Cloud, spare: Cloud, lo: int, hi: int, whole: bool, scales: Scales, what: int, rng: Any) -> None:
    """Take over each proposal in `spare` with the chance that its log ratio in `spare.log_weights` gives; nan is refused.

    whole: ancestors and tapes were proposed too, not only states.
    """
    _chances(spare.log_weights[lo:hi], spare.weights[lo:hi])
    draws = spare.log_weights[lo:hi]  # the ratios have served
    for i in range(len(draws)):
        draws[i] = rng.uniform()
    scales.counts[lo // CHUNK, what] += _take_over(cloud, spare, lo, hi, whole)


@apart
def _chances(ratios: Any, chances: Any) -> None:
    for i in range(len(ratios)):
        chances[i] = exp(ratios[i] if ratios[i] < 0.0 else (0.0 if ratios[i] >= 0.0 else -math.inf))


@apart
def _take_over(cloud: Cloud, spare: Cloud, lo: int, hi: int, whole: bool) -> int:
    """How many proposals were accepted: those whose draw is below their chance."""
    draws, chances = spare.log_weights[lo:hi], spare.weights[lo:hi]
    accepted = 0
    for i in range(len(draws)):
        accepted += int(draws[i] < chances[i])
    if whole:
        for i in range(len(draws)):
            if draws[i] < chances[i]:
                copy_particle(cloud, lo + i, spare, lo + i)
        return accepted
    choose_new(cloud.log_likelihoods[lo:hi], spare.log_likelihoods[lo:hi], draws, chances)
    states, proposed = cloud.states[lo:hi], spare.states[lo:hi]
    for i in range(len(draws)):
        for k in range(states.shape[1]):
            stay, go = states[i, k], proposed[i, k]
            states[i, k] = go if draws[i] < chances[i] else stay
    return accepted


def choose_new(old: Any, new: Any, draws: Any, chances: Any) -> None:
    """Choices instead of branches, which nobody could predict."""
    for i in range(len(old)):
        stay, go = old[i], new[i]
        old[i] = go if draws[i] < chances[i] else stay


def no_density(log_value: float) -> int:
    """1 for what is not the logarithm of a density: nan and +inf."""
    return 0 if log_value < math.inf else 1


def likelihood_of(model: Any, o: Any, s: Any, a: Any, scales: Scales, i: int) -> float:
    """log p(o | s, a); what is no density is counted and taken as 0, the caller raises."""
    value: float = model.obs_logpdf(o, s, a)
    if no_density(value) == 0:
        return value
    scales.counts[i // CHUNK, BAD_LIKELIHOODS] += 1
    return -math.inf


def own_move(model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales, rng: Any) -> None:
    """The model's own `move`."""
    for i in range(lo, hi):
        before = model.read_state(cloud.states, i)
        s = model.move(before, model.read_state(cloud.ancestors, i), o, a, beta, rng)
        if s != before:
            scales.counts[i // CHUNK, ACCEPTED] += 1
            model.write_state(cloud.states, i, s)
            cloud.log_likelihoods[i] = likelihood_of(model, o, s, a, scales, i)


def gibbs(model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales, rng: Any) -> None:
    """A draw among the successors of the ancestor, in proportion to p L^beta."""
    for i in range(lo, hi):
        parent = model.read_state(cloud.ancestors, i)
        before = model.read_state(cloud.states, i)
        chosen = before
        likelihood = cloud.log_likelihoods[i]
        peak = -math.inf
        total = 0.0
        left = 1.0
        k = 0
        while left > 1e-12 and k < model.n_states():
            s, p = model.successor(parent, a, k)
            if p > 0.0:
                value = likelihood_of(model, o, s, a, scales, i)
                v = math.log(p) + beta * value
                if v > peak:  # the total is kept in units of the largest so far
                    total *= math.exp(peak - v)
                    peak = v
                share = math.exp(v - peak) if v > -math.inf else 0.0
                total += share
                if share > 0.0 and rng.uniform() * total < share:  # keeps each with its share of the total so far
                    chosen, likelihood = s, value
            left -= p
            k += 1
        scales.counts[i // CHUNK, EVALUATED] += k
        if chosen != before:
            scales.counts[i // CHUNK, ACCEPTED] += 1
            model.write_state(cloud.states, i, chosen)
            cloud.log_likelihoods[i] = likelihood


@apart
def weigh_states(model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales) -> None:
    """Add the gain in likelihood and in the transition's density to the log ratios of proposed states."""
    bad = bad_steps = 0
    ancestors, states, old = cloud.ancestors[lo:hi], cloud.states[lo:hi], cloud.log_likelihoods[lo:hi]
    proposals, new, ratios = spare.states[lo:hi], spare.log_likelihoods[lo:hi], spare.log_weights[lo:hi]
    for i in range(len(old)):  # over slices: an index that starts at 0 is never negative, which the compiler need not look for
        parent = model.read_state(ancestors, i)
        proposed = model.read_state(proposals, i)
        likelihood = model.obs_logpdf(o, proposed, a)
        after = model.step_logpdf(proposed, parent, a)
        before = model.step_logpdf(model.read_state(states, i), parent, a)
        bad += no_density(likelihood)
        bad_steps += no_density(after) + no_density(before)
        new[i] = likelihood
        ratios[i] += beta * (likelihood - old[i]) + (after - before)
    scales.counts[lo // CHUNK, BAD_LIKELIHOODS] += bad
    scales.counts[lo // CHUNK, BAD_STEPS] += bad_steps


def mutation(model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales, rng: Any) -> None:
    """The model's `mutate` with its own ratio and the transition's."""
    for i in range(lo, hi):
        s = model.read_state(cloud.states, i)
        proposed = model.mutate(s, o, a, rng)
        model.write_state(spare.states, i, proposed)
        spare.log_weights[i] = model.mutate_logratio(proposed, s, o, a)
    weigh_states(model, cloud, spare, lo, hi, a, o, beta, scales)
    accept(cloud, spare, lo, hi, False, scales, ACCEPTED, rng)


def walk(model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales, rng: Any) -> None:
    """A random walk of the state with its ancestor fixed, by the transition's density."""
    _copy_states(cloud, spare, lo, hi)
    add_normals(spare.states, lo, hi, scales, scales.walk, scales.factors[0], rng)
    weigh_states(model, cloud, spare, lo, hi, a, o, beta, scales)
    accept(cloud, spare, lo, hi, False, scales, ACCEPTED, rng)


@apart
def _copy_states(cloud: Cloud, spare: Cloud, lo: int, hi: int) -> None:
    source, target, ratios = cloud.states[lo:hi], spare.states[lo:hi], spare.log_weights[lo:hi]
    for i in range(len(ratios)):
        for k in range(source.shape[1]):
            target[i, k] = source[i, k]
        ratios[i] = 0.0


def resimulation(model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales, rng: Any) -> None:
    """A fresh simulated step from the same ancestor: needs nothing but the simulator."""
    for i in range(lo, hi):
        s, _ = model.step(model.read_state(cloud.ancestors, i), a, rng)
        model.write_state(spare.states, i, s)
        spare.log_likelihoods[i] = likelihood_of(model, o, s, a, scales, i)
        spare.log_weights[i] = beta * (spare.log_likelihoods[i] - cloud.log_likelihoods[i])
    accept(cloud, spare, lo, hi, False, scales, ACCEPTED, rng)


def ancestors_and_noise(
    model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales, rng: Any
) -> None:
    """A walk of the ancestor with its noise replayed, then a step of the noise with the ancestor kept.

    Needs the simulator and `obs_logpdf` only, and moves deterministic dynamics too. With the tape read as endless, the
    target is kernel(ancestor) p(draws) L^beta: the walk keeps the draws, the step on the noise keeps p(draws) by itself, so
    that neither needs another term however many draws a step takes. Draws that the last run did not take come anew.
    """
    if scales.count[0] > 0:
        for i in range(lo, hi):
            copy_particle(spare, i, cloud, i)
        add_normals(spare.ancestors, lo, hi, scales, scales.walk, scales.factors[0], rng)
        for i in range(lo, hi):
            gain = _kernel_log_density(spare, i, scales) - _kernel_log_density(cloud, i, scales)
            spare.log_weights[i] = gain if is_within(spare.ancestors, i, scales) else -math.inf
        _run_again(model, cloud, spare, lo, hi, a, o, beta, scales, rng)
        accept(cloud, spare, lo, hi, True, scales, ACCEPTED, rng)
    if len(scales.noise) > 0:
        for i in range(lo, hi):
            copy_particle(spare, i, cloud, i)
            spare.log_weights[i] = 0.0
            _step_noise(spare.tapes, i, scales, rng)
        _run_again(model, cloud, spare, lo, hi, a, o, beta, scales, rng)
        accept(cloud, spare, lo, hi, True, scales, NOISE_ACCEPTED, rng)


def _run_again(model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales, rng: Any) -> None:
    """Run the simulator on proposed ancestors and tapes and add the gain in likelihood to their log ratios."""
    for i in range(lo, hi):
        ancestor = model.read_state(spare.ancestors, i)
        if spare.log_weights[i] == -math.inf or model.is_terminal(ancestor):
            spare.log_weights[i] = -math.inf
            continue
        s, _ = model.step(ancestor, a, tape(rng, spare.tapes, i))
        model.write_state(spare.states, i, s)
        spare.log_likelihoods[i] = likelihood_of(model, o, s, a, scales, i)
        spare.log_weights[i] += beta * (spare.log_likelihoods[i] - cloud.log_likelihoods[i])


def _kernel_log_density(cloud: Cloud, i: int, scales: Scales) -> float:
    """-1/2 (s - c)' (K K')^-1 (s - c) of the ancestor under its smoothing kernel."""
    y = scales.scratch[i // CHUNK, 1]
    total = 0.0
    for k in range(scales.count[0]):
        x = cloud.ancestors[i, scales.axes[k]] - cloud.centres[i, scales.axes[k]]
        for j in range(k):
            x -= scales.kernel[k, j] * y[j]
        y[k] = x / scales.kernel[k, k]
        total += y[k] * y[k]
    return -0.5 * total


def _step_noise(tapes: Any, i: int, scales: Scales, rng: Any) -> None:
    """Move the draws that row i took, each by a step that keeps its own distribution.

    A normal moves to sqrt(1 - rho^2) u + rho z, a uniform walks around the unit circle, an integer is redrawn now and then.
    How far depends on the place alone, never on the row: the way back must be as likely.
    """
    for place in range(min(len(scales.noise), int(tapes[i, 0]))):
        kind = int(tapes[i, 1 + 2 * place])
        at = 2 + 2 * place
        rho = min(1.0, scales.factors[1] * scales.noise[place])
        if kind == NORMAL:
            tapes[i, at] = math.sqrt(1.0 - rho * rho) * tapes[i, at] + rho * rng.normal()
        elif kind == UNIFORM:
            x = tapes[i, at] + rho * rng.normal()
            x -= math.floor(x)
            tapes[i, at] = x if x < 1.0 else 0.0
        elif kind > INTEGER and rng.uniform() < min(1.0, 0.5 * scales.factors[1]):
            tapes[i, at] = rng.integer(kind - INTEGER)
