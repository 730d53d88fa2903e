"""Moves of Metropolis-Hastings that leave a tempered posterior unchanged, one sweep over particles lo .. hi each.

Every sweep has the same signature and counts what it accepts, and values that are no density, in `scales.counts`. It works
in split passes, propose all, weigh all, accept all, which the compiler can turn into vector code; proposals and their log
acceptance ratios stand in the idle cloud. beta > 0. The target of particle i is p(state | its ancestor) L(state)^beta; for
`ancestors_and_noise` it is the smoothed previous belief times p(noise) times L^beta, on ancestors and tapes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from airoas.arithmetic import exp
from airoas.belief.tape import INTEGER, NORMAL, UNIFORM, tape
from airoas.compile import kernel


class Cloud(NamedTuple):
    """Particles in the middle of an update; arrays that Python owns, n numbers to a state."""

    ancestors: Any
    """[N, n] the state before the action."""
    centres: Any
    """[N, n] centre of the smoothing kernel that the ancestor came from; [N, 0] for moves without one."""
    tapes: Any
    """[N, .] the draws that led from ancestor to state; see `tape`."""
    states: Any
    """[N, n] the state after the action."""
    log_weights: Any
    """[N] normalised."""
    weights: Any
    """[N] the same, not as logs."""
    log_likelihoods: Any
    """[N] of the observation in that state."""


class Scales(NamedTuple):
    """How far proposals go. Arrays, so that a sweep can adapt them."""

    continuous: Any
    """[c] which components of a state are floats."""
    axes: Any
    """[c] those of them that are walked on, chosen once; only the first `count` entries count."""
    count: Any
    """[1] how many, d."""
    kernel: Any
    """[c, c] Cholesky factor of the smoothing kernel's covariance (lower triangle), over the axes."""
    walk: Any
    """[c, c] Cholesky factor of the walk's covariance, over the axes."""
    noise: Any
    """[draws] how far a step on each recorded draw goes."""
    factors: Any
    """[2] multipliers of `walk` and of `noise`, adapted to the share accepted."""
    counts: Any
    """[chunks, 5] since the last look: moves accepted, steps on the noise accepted, bad likelihoods, bad step densities, and
    likelihoods evaluated where that differs between particles (`gibbs`)."""
    scratch: Any
    """[chunks, 2, c] for each chunk its own, since chunks run in threads."""


ACCEPTED, NOISE_ACCEPTED, BAD_LIKELIHOODS, BAD_STEPS, EVALUATED = range(5)  # columns of `counts`

CHUNK = 4096
"""Particles with a stream of their own: results do not depend on the number of threads."""


def copy_particle(target: Any, j: int, source: Any, i: int) -> None:
    """Particle i of one cloud into place j of another."""
    for k in range(source.states.shape[1]):
        target.ancestors[j, k] = source.ancestors[i, k]
        target.states[j, k] = source.states[i, k]
    for k in range(source.centres.shape[1]):
        target.centres[j, k] = source.centres[i, k]
    if source.tapes.shape[1] > 1:
        for k in range(source.tapes.shape[1]):
            target.tapes[j, k] = source.tapes[i, k]
    target.log_likelihoods[j] = source.log_likelihoods[i]


def accept(cloud: Cloud, spare: Cloud, lo: int, hi: int, whole: bool, scales: Scales, what: int, rng: Any) -> None:
    """Take over each proposal in `spare` with the chance that its log ratio in `spare.log_weights` gives; nan is refused.

    whole: ancestors and tapes were proposed too, not only states.
    """
    ratios, chances = spare.log_weights, spare.weights
    for i in range(lo, hi):
        chances[i] = exp(ratios[i] if ratios[i] < 0.0 else (0.0 if ratios[i] >= 0.0 else -math.inf))
    accepted = 0
    if whole:
        for i in range(lo, hi):
            if rng.uniform() < chances[i]:
                accepted += 1
                copy_particle(cloud, i, spare, i)
    else:  # choices instead of branches, which nobody could predict
        states, proposed = cloud.states, spare.states
        old, new = cloud.log_likelihoods, spare.log_likelihoods
        for i in range(lo, hi):
            taken = rng.uniform() < chances[i]
            accepted += int(taken)
            stay, go = old[i], new[i]
            old[i] = go if taken else stay
            for k in range(states.shape[1]):
                stay, go = states[i, k], proposed[i, k]
                states[i, k] = go if taken else stay
    scales.counts[lo // CHUNK, what] += accepted


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


def weigh_states(model: Any, cloud: Cloud, spare: Cloud, lo: int, hi: int, a: Any, o: Any, beta: float, scales: Scales) -> None:
    """Add the gain in likelihood and in the transition's density to the log ratios of proposed states."""
    bad = bad_steps = 0
    for i in range(lo, hi):
        parent = model.read_state(cloud.ancestors, i)
        proposed = model.read_state(spare.states, i)
        likelihood = model.obs_logpdf(o, proposed, a)
        after = model.step_logpdf(proposed, parent, a)
        before = model.step_logpdf(model.read_state(cloud.states, i), parent, a)
        bad += no_density(likelihood)
        bad_steps += no_density(after) + no_density(before)
        spare.log_likelihoods[i] = likelihood
        spare.log_weights[i] += beta * (likelihood - cloud.log_likelihoods[i]) + (after - before)
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
    for i in range(lo, hi):
        for k in range(spare.states.shape[1]):
            spare.states[i, k] = cloud.states[i, k]
        spare.log_weights[i] = 0.0
    _add_normals(spare.states, lo, hi, scales, scales.walk, scales.factors[0], rng)
    weigh_states(model, cloud, spare, lo, hi, a, o, beta, scales)
    accept(cloud, spare, lo, hi, False, scales, ACCEPTED, rng)


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
        _add_normals(spare.ancestors, lo, hi, scales, scales.walk, scales.factors[0], rng)
        for i in range(lo, hi):
            spare.log_weights[i] = _kernel_log_density(spare, i, scales) - _kernel_log_density(cloud, i, scales)
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
        if model.is_terminal(ancestor):
            spare.log_weights[i] = -math.inf
            continue
        s, _ = model.step(ancestor, a, tape(rng, spare.tapes, i))
        model.write_state(spare.states, i, s)
        spare.log_likelihoods[i] = likelihood_of(model, o, s, a, scales, i)
        spare.log_weights[i] += beta * (spare.log_likelihoods[i] - cloud.log_likelihoods[i])


def _add_normals(rows: Any, lo: int, hi: int, scales: Scales, factor: Any, scale: float, rng: Any) -> None:
    """Add scale * factor z to the components that are walked on, z standard normal and new in each row."""
    if scales.count[0] == 1:
        axis = scales.axes[0]
        step = scale * factor[0, 0]
        for i in range(lo, hi):
            rows[i, axis] += step * rng.normal()
        return
    z = scales.scratch[lo // CHUNK, 0]
    for i in range(lo, hi):
        for k in range(scales.count[0]):
            z[k] = rng.normal()
            total = 0.0
            for j in range(k + 1):
                total += factor[k, j] * z[j]
            rows[i, scales.axes[k]] += scale * total


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


@kernel
def choose_axes(rows: Any, weights: Any, scales: Scales) -> None:
    """Take the continuous components that are spread out as axes."""
    scales.count[0] = 0
    for k in range(len(scales.continuous)):
        average, variance = _moments(rows, weights, scales.continuous[k])
        if _is_spread(average, variance):
            scales.axes[scales.count[0]] = scales.continuous[k]
            scales.count[0] += 1


def _moments(rows: Any, weights: Any, axis: int) -> tuple[float, float]:
    """Mean and variance of a column, by weights that sum to 1."""
    average = 0.0
    for i in range(len(rows)):
        average += weights[i] * rows[i, axis]
    variance = 0.0
    for i in range(len(rows)):
        variance += weights[i] * (rows[i, axis] - average) * (rows[i, axis] - average)
    return average, variance


def _is_spread(average: float, variance: float) -> bool:
    return variance > 1e-24 * (1.0 + average * average)


@kernel
def fit(rows: Any, weights: Any, scales: Scales, factor: Any, size: float) -> None:
    """`factor` becomes `size` times the Cholesky factor of the weighted covariance over the axes.

    The means over the axes stay in `scratch[0, 0]`. Where the particles have become copies of one on some axis the factor
    stays as it was: a walk of no length would never part them.
    """
    mean = scales.scratch[0, 0]
    for k in range(scales.count[0]):
        mean[k], variance = _moments(rows, weights, scales.axes[k])
        if not _is_spread(mean[k], variance):
            return
    for k in range(scales.count[0]):
        for j in range(k + 1):
            total = 0.0
            for i in range(len(rows)):
                total += weights[i] * (rows[i, scales.axes[k]] - mean[k]) * (rows[i, scales.axes[j]] - mean[j])
            factor[k, j] = total
    for k in range(scales.count[0]):
        least = 1e-12 * factor[k, k]  # components that hang together exactly keep a sliver of their own
        for j in range(k + 1):
            total = factor[k, j]
            for m in range(j):
                total -= factor[k, m] * factor[j, m]
            factor[k, j] = math.sqrt(max(total, least)) if j == k else total / factor[j, j]
    for k in range(scales.count[0]):
        for j in range(k + 1):
            factor[k, j] *= size


@kernel
def smooth(cloud: Cloud, scales: Scales, rng: Any) -> None:
    """Spread the previous belief by a shrunk normal kernel over the axes (Liu and West).

    Mean and covariance stay what they were; centres are c = a s + (1 - a) mean with a = sqrt(1 - h^2), the kernel's
    covariance is h^2 times the belief's. Components that are whole numbers stay as they are.
    """
    n, d = len(cloud.ancestors), scales.count[0]
    squares = 0.0
    for i in range(n):
        squares += cloud.weights[i] * cloud.weights[i]
    width = min(1.0, math.pow(4.0 / (d + 2.0), 1.0 / (d + 4.0)) * math.pow(squares, 1.0 / (d + 4.0)))
    fit(cloud.ancestors, cloud.weights, scales, scales.kernel, width)
    shrink = math.sqrt(max(0.0, 1.0 - width * width))
    mean = scales.scratch[0, 0]
    for i in range(n):
        for k in range(cloud.centres.shape[1]):
            cloud.centres[i, k] = cloud.ancestors[i, k]
    for k in range(d):
        axis = scales.axes[k]
        for i in range(n):
            cloud.centres[i, axis] = shrink * cloud.ancestors[i, axis] + (1.0 - shrink) * mean[k]
            cloud.ancestors[i, axis] = cloud.centres[i, axis]
    _add_normals(cloud.ancestors, 0, n, scales, scales.kernel, 1.0, rng)


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


@kernel
def fit_noise(tapes: Any, scales: Scales, size: float) -> None:
    """Steps on the noise become `size` times the spread of each draw over the particles that took it."""
    for place in range(len(scales.noise)):
        count = 0
        total = squares = 0.0
        for i in range(len(tapes)):
            if tapes[i, 0] > place:
                count += 1
                total += tapes[i, 2 + 2 * place]
        average = total / max(1, count)
        for i in range(len(tapes)):
            if tapes[i, 0] > place:
                x = tapes[i, 2 + 2 * place] - average
                squares += x * x
        if count > 0 and _is_spread(average, squares / count):
            scales.noise[place] = size * math.sqrt(squares / count)
