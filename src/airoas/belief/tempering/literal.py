"""Annealed importance resampling as the paper prints it, for comparison. It does not reach the posterior.

Paper: Alg. 4 and 5, line by line. The threshold r* only ever rises and the first of the 100 temperatures is 0.0068, so the loop
ends after one or two of them, seldom after three; the acceptance ratio has no transition prior; leaf weights that contain the
likelihood count it more than once. The tests measure what each costs; `airoas.belief.tempering.anneal` is the corrected form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.belief.tempering.functions import is_no_density
from airoas.belief.tempering.moves import BAD_LIKELIHOOD
from airoas.belief.tempering.result import Annealed, sigmoid_temperatures
from airoas.belief.tempering.schedule import inefficiency, reweigh
from airoas.belief.tempering.temper import DEPRIVED
from airoas.compiler.kernels import Bound, Record, kernel
from airoas.errors import ModelError, OptionError, ParticleDeprivationError
from airoas.modelling.batch import batch
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows, Weights
from airoas.options import typed
from airoas.rng import Rng, hash_key, new_stream

WEIGHTS = ("likelihood", "kept", "one")


def anneal_literal(
    model: KernelModel, belief: Particles, action: Any, observation: Any, rng: Rng, target: float, weights: str, constant: float
) -> Annealed:
    """The printed algorithm.

    weights: what a leaf's particles weigh before annealing. "likelihood": Alg. 3 line 14, parent weights dropped (line 8);
        "kept": the parent's weight times the likelihood; "one": 1.
    constant: c in sigma^2 = c |s - o|_1, for models whose observation lies in the space of their continuous components; a
        model's own `mutate_literal` is used where c = 1.
    """
    if typed("literal_weights", weights, str) not in WEIGHTS:
        raise OptionError(f"there is no choice literal_weights={weights!r}", f"use {', '.join(WEIGHTS)}.")
    if not 0.0 < typed("literal_constant", constant, float) < math.inf:
        raise OptionError(f"literal_constant is {constant}", "choose it above 0.")
    n, functions = len(belief), batch(model)
    work = make_printed(model, n, target, weights, constant)
    actions, observations = model.row("action", action), model.row("observation", observation)
    before, alive, rewards = np.array(belief.states), belief.log_weights > -np.inf, np.empty(n)
    work.states[:] = before
    going_on = functions.inspect(before, alive, work.no_actions)
    functions.step(before, alive, actions, rng.bits(62), np.arange(n), work.states, rewards, alive)
    functions.log_likelihoods(work.states, alive, observations, actions, work.likelihoods)
    work.logs[:] = np.where(alive, belief.log_weights, -np.inf)
    status = int(_anneal_as_printed(work, actions, observations, rng.bits(62)))
    if status == BAD_LIKELIHOOD:
        raise ModelError(
            f"is nan or +inf for observation {observation!r}",
            "return a finite log density, or -inf.",
            where=location(model, "obs_logpdf"),
        )
    if status == DEPRIVED:
        reason = "over" if not going_on else "observation" if alive.any() else "ended"
        raise ParticleDeprivationError(belief, action, observation, reason)
    return Annealed(
        belief=Particles(work.states, log_weights=work.logs)._of(model),
        log_evidence=work.log_evidence,
        betas=work.betas[: work.stages + 1],
        acceptance=work.acceptance[: max(0, work.stages - 1)],
        inefficiency=(work.before, work.after),
        move="literal",
        evaluations=work.stages,
    )


class Printed(Record):
    """What the printed algorithm works with, for up to N particles."""

    inspect: Bound
    propose: Bound
    log_likelihoods: Bound
    states: Rows
    """[N, .] after the action."""
    proposed: Rows
    """[N, .]"""
    alive: Mask
    """[N] which of them have not ended."""
    no_actions: Mask
    """[0] for `inspect`, which need not look at actions."""
    logs: Reals
    """[N] log weights: before, those of the previous belief; afterwards those of the new one."""
    likelihoods: Matrix
    """[1, N] log p(o | s, a)."""
    proposed_likelihoods: Matrix
    """[1, N]"""
    values: Weights
    """[N] weights, for a moment."""
    chosen: Indices
    """[N]"""
    betas: Reals
    """[101]"""
    acceptance: Reals
    """[100]"""
    target: float
    """r*, as it stands at first."""
    weights: int
    """Index into WEIGHTS."""
    stages: int
    log_evidence: float
    before: float
    after: float


class Normal(Record):
    """The proposal of Alg. 5 for observations in the space of the states' continuous components."""

    continuous: Indices
    """[c] which components those are."""
    constant: float


def proposes(model: KernelModel, constant: float) -> bool:
    """Whether the model's own `mutate_literal` makes the proposals; refused where there is no way to make any."""
    own = bool(model.has("mutate_literal")) and constant == 1.0
    floats = sum(kind == "float" for kind in model.shapes.state.kinds)
    if not own and floats != model.shapes.observation.size:
        remedy = "give the model `mutate_literal` (and leave literal_constant at 1), or use mode='corrected'."
        raise OptionError("the printed proposal needs an observation in the space of states", remedy)
    return own


def make_printed(model: KernelModel, n: int, target: float, weights: str = "likelihood", constant: float = 1.0) -> Printed:
    """Arrays for annealing n particles at a time."""
    width = model.shapes.state.size
    rows, flags = np.zeros((1, 1)), np.zeros(1, np.bool_)
    normal = Normal(continuous=np.flatnonzero(np.array(model.shapes.state.kinds) == "float"), constant=float(constant))
    kind, owner = (_propose_own, model) if proposes(model, constant) else (_propose_normal, normal)
    propose = kind.bind(owner, rows, flags, rows, rows, 0, rows)
    functions = batch(model)
    return _printed(functions.inspect, propose, functions.log_likelihoods, n, width, target, WEIGHTS.index(weights))


def _printed(inspect: Bound, propose: Bound, log_likelihoods: Bound, n: int, width: int, target: float, weights: int) -> Printed:
    betas = np.zeros(101)
    betas[1:] = sigmoid_temperatures()
    return Printed(
        inspect=inspect,
        propose=propose,
        log_likelihoods=log_likelihoods,
        states=np.zeros((n, width)),
        proposed=np.zeros((n, width)),
        alive=np.zeros(n, np.bool_),
        no_actions=np.zeros(0, np.bool_),
        logs=np.zeros(n),
        likelihoods=np.zeros((1, n)),
        proposed_likelihoods=np.zeros((1, n)),
        values=np.zeros(n),
        chosen=np.zeros(n, np.int64),
        betas=betas,
        acceptance=np.zeros(100),
        target=float(target),
        weights=weights,
        stages=0,
        log_evidence=0.0,
        before=0.0,
        after=0.0,
    )


def make_unused() -> Printed:
    """Instead of one that is not needed."""
    rows, flags, number = np.zeros((1, 1)), np.zeros(1, np.bool_), Normal(continuous=np.zeros(0, np.int64), constant=1.0)
    inspect = _no_inspect.bind(number, rows, flags, flags)
    propose = _propose_normal.bind(number, rows, flags, rows, rows, 0, rows)
    likelihoods = _no_likelihoods.bind(number, rows, flags, rows, rows, rows)
    return _printed(inspect, propose, likelihoods, 1, 1, 2.0, 0)


@kernel
def _no_inspect(owner: Any, states: Rows, alive: Mask, allowed: Mask) -> int:
    return 0


@kernel
def _no_likelihoods(owner: Any, states: Rows, alive: Mask, observations: Rows, actions: Rows, out: Matrix) -> None:
    pass


@kernel
def _propose_own(model: KernelModel, states: Rows, alive: Mask, actions: Rows, observations: Rows, seed: int, proposed: Rows) -> None:
    """The model's `mutate_literal`."""
    a, o = model.read_action(actions, 0), model.read_observation(observations, 0)
    own = new_stream()
    for i in range(len(states)):
        if alive[i]:
            own.reseed(seed, 0, i)
            model.write_state(proposed, i, model.mutate_literal(model.read_state(states, i), o, a, own))


@kernel
def _propose_normal(normal: Normal, states: Rows, alive: Mask, actions: Rows, observations: Rows, seed: int, proposed: Rows) -> None:
    """Paper: Alg. 5, a normal step of variance c |s - o|_1 in each continuous component."""
    own = new_stream()
    for i in range(len(states)):
        own.reseed(seed, 0, i)
        distance = 0.0
        for k in range(states.shape[1]):
            proposed[i, k] = states[i, k]
        for k in range(len(normal.continuous)):
            distance += abs(states[i, normal.continuous[k]] - observations[0, k])
        for k in range(len(normal.continuous)):
            proposed[i, normal.continuous[k]] += math.sqrt(normal.constant * distance) * own.normal()


def anneal_as_printed(work: Printed, n: int, actions: Rows, observations: Rows, seed: int) -> int:
    """Algorithms 4 and 5, from n predicted states and their likelihoods."""
    states, proposed, logs = work.states[:n], work.proposed[:n], work.logs[:n]
    likelihoods, betas, values, alive = work.likelihoods[0][:n], work.betas, work.values[:n], work.alive[:n]
    work.stages, work.log_evidence, work.after = 0, 0.0, 0.0
    work.before = inefficiency(logs, likelihoods, 1.0, values)
    if work.before == math.inf:
        return DEPRIVED
    for i in range(n):
        if logs[i] > -math.inf:
            logs[i] = (logs[i] if work.weights == 1 else -math.log(n)) + (0.0 if work.weights == 2 else likelihoods[i])
    if work.weights != 2:
        peak, total, _ = reweigh(logs, logs, 0.0, values)
        work.log_evidence = peak + math.log(total)
        for i in range(n):
            logs[i] -= work.log_evidence
    ratio = work.target
    own = new_stream()
    for k in range(1, len(betas)):
        work.stages = k
        peak, total, _ = reweigh(logs, likelihoods, betas[k] - betas[k - 1], values)
        work.log_evidence += peak + math.log(total)
        for i in range(n):  # line 5
            dead = likelihoods[i] == -math.inf
            logs[i] = -math.inf if dead else logs[i] + (betas[k] - betas[k - 1]) * likelihoods[i] - peak - math.log(total)
        reached = inefficiency(logs, logs, 0.0, values)
        if reached <= ratio:  # lines 6, 7
            break
        ratio = reached  # line 9
        for i in range(n):
            values[i] = math.exp(logs[i])
        own.reseed(seed, 2 * k, 0)
        choose(values, SYSTEMATIC, own, work.chosen[:n])  # line 11
        for i in range(n):
            values[i] = likelihoods[work.chosen[i]]
            alive[i] = values[i] > -math.inf
            logs[i] = -math.log(n)
            for c in range(states.shape[1]):
                proposed[i, c] = states[work.chosen[i], c]
        for i in range(n):
            likelihoods[i] = values[i]
            for c in range(states.shape[1]):
                states[i, c] = proposed[i, c]
        work.propose(states, alive, actions, observations, hash_key(seed, 2 * k, 1), proposed)  # line 12, Alg. 5
        work.inspect(proposed, alive, work.no_actions)
        work.log_likelihoods(proposed, alive, observations, actions, work.proposed_likelihoods)
        accepted = 0
        for i in range(n):
            likelihood = work.proposed_likelihoods[0, i]
            if is_no_density(likelihood):
                return BAD_LIKELIHOOD
            gain = betas[k] * (likelihood - likelihoods[i])
            own.reseed(seed, 2 * k + 1, i)
            if gain >= 0.0 or own.uniform() < math.exp(gain):
                accepted += 1
                for c in range(states.shape[1]):
                    states[i, c] = proposed[i, c]
                likelihoods[i] = likelihood
        work.acceptance[k - 1] = accepted / n
    work.after = inefficiency(logs, logs, 0.0, values)
    return 0


@kernel
def _anneal_as_printed(work: Printed, actions: Rows, observations: Rows, seed: int) -> int:
    for i in range(len(work.logs)):
        if is_no_density(work.likelihoods[0, i]):
            return BAD_LIKELIHOOD
    return anneal_as_printed(work, len(work.logs), actions, observations, seed)
