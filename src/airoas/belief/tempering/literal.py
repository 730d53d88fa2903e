"""Annealed importance resampling as the paper prints it, for comparison. It does not reach the posterior.

Paper: Alg. 4 and 5, line by line. The threshold r* only ever rises and the first of the 100 temperatures is 0.0068, so the
loop ends after one or two of them; the acceptance ratio has no transition prior; leaf weights that contain the likelihood
count it more than once. The tests measure what each costs; `airoas.belief.tempering.anneal` is the corrected form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.belief.tempering.ladder import BAD_LIKELIHOOD, DEPLETED
from airoas.belief.tempering.moves import no_density
from airoas.belief.tempering.result import Annealed, sigmoid_temperatures
from airoas.belief.tempering.temper import inefficiency, temper
from airoas.compiler.kernels import Kernel, Record, kernel
from airoas.errors import BeliefDepleted, ModelError, OptionError
from airoas.modelling.introspection import place
from airoas.rng import Rng

WEIGHTS = ("likelihood", "kept", "one")


def anneal_literal(
    model: Any, belief: Particles, action: Any, observation: Any, rng: Rng, target: float, weights: str, constant: float
) -> Annealed:
    """The printed algorithm.

    weights: what a leaf's particles weigh before annealing. "likelihood": Alg. 3 line 14, parent weights dropped (line 8);
        "kept": the parent's weight times the likelihood; "one": 1.
    constant: c in sigma^2 = c |s - o|_1, for models whose observation lies in the space of their continuous components; a
        model's own `mutate_literal` is used where c = 1.
    """
    if weights not in WEIGHTS:
        raise OptionError(f"there is no choice literal_weights={weights!r}", f"use {', '.join(WEIGHTS)}.")
    if not constant > 0.0:
        raise OptionError(f"literal_constant is {constant}", "choose it above 0.")
    n = len(belief)
    work = make_printed(model, n, target, weights, constant)
    work.states[:] = belief.states
    work.logs[:] = belief.log_weights
    run = _OWN if proposes(model, constant) else _NORMAL
    status = int(run(model, work, model.row("action", action), model.row("observation", observation), rng))
    if status == BAD_LIKELIHOOD:
        raise ModelError(
            f"is nan or +inf for observation {observation!r}", "return a finite log density, or -inf.", where=place(model, "obs_logpdf")
        )
    if status == DEPLETED:
        raise BeliefDepleted(belief, action, observation)
    stages = int(work.numbers[STAGES])
    return Annealed(
        belief=Particles(work.states, log_weights=work.logs),
        log_evidence=float(work.numbers[LOG_EVIDENCE]),
        betas=work.betas[: stages + 1],
        acceptance=work.acceptance[: max(0, stages - 1)],
        inefficiency=(float(work.numbers[BEFORE]), float(work.numbers[AFTER])),
        move="literal",
        evaluations=stages,
    )


class Printed(Record):
    """What the printed algorithm works on, for up to N particles."""

    states: Any
    """[N, .] after the action."""
    spare: Any
    """[N, .] proposals."""
    logs: Any
    """[N] log weights: before, those of the previous belief; afterwards those of the new one."""
    likelihoods: Any
    """[N] log p(o | s, a)."""
    values: Any
    """[N] weights, for a moment."""
    chosen: Any
    """[N]"""
    betas: Any
    """[101]"""
    acceptance: Any
    """[100]"""
    numbers: Any
    continuous: Any
    """[c] which components of a state are floats."""
    target: float
    """r*, as it stands at first."""
    weights: int
    """Place in WEIGHTS."""
    constant: float


STAGES, LOG_EVIDENCE, BEFORE, AFTER, NUMBERS = range(5)  # places in `numbers`


def proposes(model: Any, constant: float) -> bool:
    """Whether the model's own `mutate_literal` makes the proposals; refused where there is no way to make any."""
    own = bool(model.has("mutate_literal")) and constant == 1.0
    floats = sum(kind == "float" for kind in model.shapes.state.kinds)
    if not own and floats != len(model.shapes.observation.kinds):
        remedy = "give the model `mutate_literal` (and leave literal_constant at 1), or use mode='corrected'."
        raise OptionError("the printed proposal needs an observation in the space of states", remedy)
    return own


def make_printed(model: Any, n: int, target: float, weights: str = "likelihood", constant: float = 1.0) -> Printed:
    """Arrays for annealing n particles at a time."""
    width = len(model.shapes.state.kinds)
    betas = np.zeros(101)
    betas[1:] = sigmoid_temperatures()
    return Printed(
        states=np.empty((n, width)),
        spare=np.empty((n, width)),
        logs=np.empty(n),
        likelihoods=np.empty(n),
        values=np.empty(n),
        chosen=np.empty(n, np.int64),
        betas=betas,
        acceptance=np.zeros(100),
        numbers=np.zeros(NUMBERS),
        continuous=np.flatnonzero(np.array(model.shapes.state.kinds) == "float"),
        target=float(target),
        weights=WEIGHTS.index(weights),
        constant=float(constant),
    )


def propose_own(
    model: Any, states: Any, i: int, a: Any, o: Any, observations: Any, continuous: Any, constant: float, spare: Any, rng: Any
) -> None:
    """The model's `mutate_literal`."""
    model.write_state(spare, i, model.mutate_literal(model.read_state(states, i), o, a, rng))


def propose_normal(
    model: Any, states: Any, i: int, a: Any, o: Any, observations: Any, continuous: Any, constant: float, spare: Any, rng: Any
) -> None:
    """Paper: Alg. 5, a normal step of variance c |s - o|_1 in each continuous component."""
    distance = 0.0
    for k in range(spare.shape[1]):
        spare[i, k] = states[i, k]
    for k in range(len(continuous)):
        distance += abs(states[i, continuous[k]] - observations[0, k])
    for k in range(len(continuous)):
        spare[i, continuous[k]] += math.sqrt(constant * distance) * rng.normal()


def printed_by(propose: Any) -> Any:
    """Algorithms 4 and 5 around a proposal, for kernels; they begin with n predicted states and their likelihoods."""

    def anneal_as_printed(model: Any, work: Printed, n: int, a: Any, o: Any, observations: Any, rng: Any) -> int:
        states, spare, logs, likelihoods, betas = work.states, work.spare, work.logs, work.likelihoods, work.betas
        numbers, values = work.numbers, work.values[:n]
        for k in range(NUMBERS):
            numbers[k] = 0.0
        numbers[BEFORE] = inefficiency(logs[:n], likelihoods[:n], 1.0, values)
        if numbers[BEFORE] == math.inf:
            return DEPLETED
        for i in range(n):
            if logs[i] > -math.inf:
                logs[i] = (logs[i] if work.weights == 1 else -math.log(n)) + (0.0 if work.weights == 2 else likelihoods[i])
        if work.weights != 2:
            peak, total, _ = temper(logs[:n], logs[:n], 0.0, values)
            numbers[LOG_EVIDENCE] = peak + math.log(total)
            for i in range(n):
                logs[i] -= numbers[LOG_EVIDENCE]
        ratio = work.target
        for k in range(1, len(betas)):
            numbers[STAGES] = k
            peak, total, _ = temper(logs[:n], likelihoods[:n], betas[k] - betas[k - 1], values)
            numbers[LOG_EVIDENCE] += peak + math.log(total)
            for i in range(n):  # line 5
                dead = likelihoods[i] == -math.inf
                logs[i] = -math.inf if dead else logs[i] + (betas[k] - betas[k - 1]) * likelihoods[i] - peak - math.log(total)
            reached = inefficiency(logs[:n], logs[:n], 0.0, values)
            if reached <= ratio:  # lines 6, 7
                break
            ratio = reached  # line 9
            for i in range(n):
                values[i] = math.exp(logs[i])
            choose(values, SYSTEMATIC, rng, work.chosen[:n])  # line 11
            for i in range(n):
                for c in range(states.shape[1]):
                    spare[i, c] = states[work.chosen[i], c]
            accepted = 0
            for i in range(n):
                for c in range(states.shape[1]):
                    states[i, c] = spare[i, c]
                logs[i] = -math.log(n)
                likelihoods[i] = model.obs_logpdf(o, model.read_state(states, i), a)
                propose(model, states, i, a, o, observations, work.continuous, work.constant, spare, rng)  # line 12, Alg. 5
                s = model.read_state(spare, i)
                likelihood = model.obs_logpdf(o, s, a)
                if no_density(likelihood):
                    return BAD_LIKELIHOOD
                gain = betas[k] * (likelihood - likelihoods[i])
                if gain >= 0.0 or rng.uniform() < math.exp(gain):
                    accepted += 1
                    model.write_state(states, i, s)
                    likelihoods[i] = likelihood
            work.acceptance[k - 1] = accepted / n
        numbers[AFTER] = inefficiency(logs[:n], logs[:n], 0.0, values)
        return 0

    return anneal_as_printed


anneal_own, anneal_normal = printed_by(propose_own), printed_by(propose_normal)


def _update_by(anneal_as_printed: Any) -> Kernel:
    """Predict, then anneal."""

    def update(model: Any, work: Printed, actions: Any, observations: Any, rng: Any) -> int:
        a = model.read_action(actions, 0)
        o = model.read_observation(observations, 0)
        for i in range(len(work.logs)):
            s = model.read_state(work.states, i)
            if work.logs[i] == -math.inf or model.is_terminal(s):
                work.logs[i] = work.likelihoods[i] = -math.inf
                continue
            s, _ = model.step(s, a, rng)
            work.likelihoods[i] = model.obs_logpdf(o, s, a)
            if no_density(work.likelihoods[i]):
                return BAD_LIKELIHOOD
            model.write_state(work.states, i, s)
        return int(anneal_as_printed(model, work, len(work.logs), a, o, observations, rng))

    return kernel(update)


_OWN, _NORMAL = _update_by(anneal_own), _update_by(anneal_normal)
