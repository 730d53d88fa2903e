"""The batch functions that tempering asks of a model, besides those of `airoas.modelling.batch`.

Each loops over particles and gives how many values were no density, which the caller refuses. The target of particle i at
temperature beta > 0 is p(state | its ancestor) L(state)^beta. A state in which the episode would have ended has likelihood 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.tempering.noise_record import recorded
from airoas.compiler.kernels import Bound, Record, kernel
from airoas.compiler.lanes import lanes
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Mask, Reals, Rows
from airoas.modelling.successors import has_more
from airoas.rng import new_stream


def is_no_density(log_value: float) -> bool:
    """Whether this is not the logarithm of a density: nan and +inf."""
    return not log_value < math.inf


def is_finite(rows: Rows, i: int) -> bool:
    """Whether all numbers of row i are."""
    for k in range(rows.shape[1]):  # noqa: SIM110
        if not abs(rows[i, k]) < math.inf:
            return False
    return True


@kernel
def replay(
    model: KernelModel,
    ancestors: Rows,
    alive: Mask,
    records: Rows,
    actions: Rows,
    observations: Rows,
    seed: int,
    states: Rows,
    log_likelihoods: Reals,
) -> int:
    """Step every live ancestor with the draws on its record, those that are missing drawn anew, and weigh the observation.

    A state that is not finite has likelihood 0: an ancestor far out may be one from which a step overflows.
    """
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    own = new_stream()
    bad = 0
    for i in lanes(len(ancestors)):
        log_likelihoods[i] = -math.inf
        if alive[i]:
            before = model.read_state(ancestors, i)
            if not model.is_terminal(before):
                own.reseed(seed, 0, i)
                s, _ = model.step(before, a, recorded(own, records, i))
                model.write_state(states, i, s)
                if not model.is_terminal(s):
                    value = model.obs_logpdf(o, s, a)
                    if is_no_density(value):
                        bad += int(is_finite(states, i))
                    else:
                        log_likelihoods[i] = value
    return bad


@kernel
def count_draws(model: KernelModel, states: Rows, log_weights: Reals, actions: Rows, records: Rows) -> int:
    """How many random draws a step takes, at most, over 64 of the states or more. records [1, 1]: room."""
    a = model.read_action(actions, 0)
    own = new_stream()
    most = 0
    for i in range(0, len(states), max(1, len(states) // 64)):
        if log_weights[i] > -math.inf:
            s = model.read_state(states, i)
            if not model.is_terminal(s):
                own.reseed(0, 0, i)
                model.step(s, a, recorded(own, records, 0))
                most = max(most, int(records[0, 0]))
    return most


@kernel
def own_move(
    model: KernelModel,
    ancestors: Rows,
    states: Rows,
    log_likelihoods: Reals,
    actions: Rows,
    observations: Rows,
    beta: float,
    seed: int,
) -> tuple[int, int, int]:
    """A sweep of the model's own `move`, over the particles of positive likelihood; how many values were no density, how many
    particles moved, and how many likelihoods were evaluated."""
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    own = new_stream()
    bad = moved = evaluated = 0
    for i in lanes(len(states)):
        evaluated += 1
        if log_likelihoods[i] == -math.inf:
            continue
        own.reseed(seed, 0, i)
        before = model.read_state(states, i)
        s = model.move(before, model.read_state(ancestors, i), o, a, beta, own)
        if s != before:
            moved += 1
            model.write_state(states, i, s)
            value = -math.inf if model.is_terminal(s) else model.obs_logpdf(o, s, a)
            bad += is_no_density(value)
            log_likelihoods[i] = -math.inf if is_no_density(value) else value
    return bad, moved, evaluated


@kernel
def gibbs(
    model: KernelModel,
    ancestors: Rows,
    states: Rows,
    log_likelihoods: Reals,
    actions: Rows,
    observations: Rows,
    beta: float,
    seed: int,
) -> tuple[int, int, int]:
    """A sweep of draws among the successors of each ancestor, in proportion to p L^beta; the same counts."""
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    own = new_stream()
    bad = moved = evaluated = 0
    for i in lanes(len(states)):
        if log_likelihoods[i] == -math.inf:
            continue
        own.reseed(seed, 0, i)
        parent = model.read_state(ancestors, i)
        before = model.read_state(states, i)
        chosen, likelihood = before, log_likelihoods[i]
        peak, total, probability, k = -math.inf, 0.0, 0.0, 0
        while has_more(probability, k, model.n_states()):
            s, p = model.successor(parent, a, k)
            if p > 0.0 and not model.is_terminal(s):
                value = model.obs_logpdf(o, s, a)
                bad += is_no_density(value)
                v = math.log(p) + beta * value
                if v > peak:  # the total is kept in units of the largest so far
                    total *= math.exp(peak - v)
                    peak = v
                weight = math.exp(v - peak) if v > -math.inf else 0.0
                total += weight
                if weight > 0.0 and own.uniform() * total < weight:  # keeps each with its share of the total so far
                    chosen, likelihood = s, value
            probability += p
            k += 1
        evaluated += k
        if chosen != before:
            moved += 1
            model.write_state(states, i, chosen)
            log_likelihoods[i] = likelihood
    return bad, moved, evaluated


@kernel
def mutate(
    model: KernelModel, states: Rows, log_likelihoods: Reals, actions: Rows, observations: Rows, seed: int, proposed: Rows, ratios: Reals
) -> None:
    """The model's `mutate` of the states of positive likelihood, and its log q(s | s2) - log q(s2 | s); -inf where the episode would
    have ended."""
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    own = new_stream()
    for i in lanes(len(states)):
        ratios[i] = -math.inf
        if log_likelihoods[i] > -math.inf:
            own.reseed(seed, 0, i)
            s = model.read_state(states, i)
            s2 = model.mutate(s, o, a, own)
            model.write_state(proposed, i, s2)
            if not model.is_terminal(s2):
                ratios[i] = model.mutate_logratio(s2, s, o, a)


@kernel
def weigh_transitions(
    model: KernelModel,
    ancestors: Rows,
    states: Rows,
    proposed: Rows,
    actions: Rows,
    observations: Rows,
    beta: float,
    old: Reals,
    new: Reals,
    ratios: Reals,
) -> tuple[int, int]:
    """Add the gain in likelihood and in the transition's density to the log ratios of proposed states; how many of each kind are
    no density."""
    a = model.read_action(actions, 0)
    o = model.read_observation(observations, 0)
    bad = bad_steps = 0
    for i in lanes(len(old)):
        if ratios[i] == -math.inf:
            continue
        parent, s2 = model.read_state(ancestors, i), model.read_state(proposed, i)
        if model.is_terminal(s2):
            ratios[i] = -math.inf
            continue
        likelihood = model.obs_logpdf(o, s2, a)
        after = model.step_logpdf(s2, parent, a)
        before = model.step_logpdf(model.read_state(states, i), parent, a)
        bad += is_no_density(likelihood)
        bad_steps += is_no_density(after) + is_no_density(before)
        new[i] = likelihood
        ratios[i] += beta * (likelihood - old[i]) + (after - before)
    return bad, bad_steps


# --- instead of those that a move does not need: the record of a tempering has the same fields for every move ---


class _Nothing(Record):
    pass


@kernel
def _no_replay(
    owner: Any, ancestors: Rows, alive: Mask, records: Rows, actions: Rows, observations: Rows, seed: int, states: Rows, out: Reals
) -> int:
    return 0


@kernel
def _no_sweep(
    owner: Any, ancestors: Rows, states: Rows, out: Reals, actions: Rows, observations: Rows, beta: float, seed: int
) -> tuple[int, int, int]:
    return 0, 0, 0


@kernel
def _no_mutate(owner: Any, states: Rows, out: Reals, actions: Rows, observations: Rows, seed: int, proposed: Rows, ratios: Reals) -> None:
    pass


@kernel
def _no_transitions(
    owner: Any,
    ancestors: Rows,
    states: Rows,
    proposed: Rows,
    actions: Rows,
    observations: Rows,
    beta: float,
    old: Reals,
    new: Reals,
    ratios: Reals,
) -> tuple[int, int]:
    return 0, 0


def bind_functions(model: KernelModel, move: str) -> dict[str, Bound]:
    """The functions that a move asks of a model, by their names in `Tempering`."""
    rows, reals, flags = np.zeros((1, 1)), np.zeros(1), np.zeros(1, np.bool_)
    takes = {
        "replay": (rows, flags, rows, rows, rows, 0, rows, reals),
        "sweep": (rows, rows, reals, rows, rows, 0.0, 0),
        "mutate": (rows, reals, rows, rows, 0, rows, reals),
        "weigh_transitions": (rows, rows, rows, rows, rows, 0.0, reals, reals, reals),
    }
    asked = {
        "ancestors": {"replay": replay},
        "move": {"sweep": own_move},
        "gibbs": {"sweep": gibbs},
        "mutate": {"mutate": mutate, "weigh_transitions": weigh_transitions},
        "walk": {"weigh_transitions": weigh_transitions},
    }.get(move, {})
    others = {"replay": _no_replay, "sweep": _no_sweep, "mutate": _no_mutate, "weigh_transitions": _no_transitions}
    nothing = _Nothing()
    return {
        name: asked[name].bind(model, *examples) if name in asked else others[name].bind(nothing, *examples)
        for name, examples in takes.items()
    }
