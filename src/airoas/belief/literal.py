"""Annealed importance resampling as the paper prints it, for comparison. It does not reach the posterior.

Paper: Alg. 4 and 5, line by line. The threshold r* only ever rises and the first of the 100 temperatures is 0.0068, so the
loop ends after one or two of them; the acceptance ratio has no transition prior; leaf weights that contain the likelihood
count it more than once. The tests measure what each costs; `airoas.belief.anneal` is the corrected form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.belief.annealed import Annealed, sigmoid_temperatures
from airoas.belief.bridge import BAD_LIKELIHOOD, DEPLETED
from airoas.belief.moves import no_density
from airoas.belief.particles import Particles
from airoas.belief.resample import SYSTEMATIC, choose
from airoas.belief.temper import inefficiency, tempered_sums
from airoas.compile import Kernel, kernel
from airoas.errors import BeliefDepleted, ModelError, OptionError
from airoas.rng import Rng
from airoas.structure import place

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
    continuous = np.flatnonzero(np.array(model.shapes.state.kinds) == "float")
    own = model.has("mutate_literal") and constant == 1.0
    if not own and len(continuous) != len(model.shapes.observation.kinds):
        remedy = "give the model `mutate_literal` (and leave literal_constant at 1), or use mode='corrected'."
        raise OptionError("the printed proposal needs an observation in the space of states", remedy)
    n, width = belief.states.shape
    states, spare = np.array(belief.states), np.empty((n, width))
    logs = np.array(belief.log_weights)
    likelihoods, chosen = np.empty(n), np.empty(n, np.int64)
    betas, acceptance = np.zeros(101), np.zeros(100)
    betas[1:] = sigmoid_temperatures()
    numbers = np.array([target, 0.0, 0.0, 0.0, 0.0])
    run = _OWN if own else _NORMAL
    rows = (model.row("action", action), model.row("observation", observation))
    status = int(
        run(
            model,
            states,
            spare,
            logs,
            likelihoods,
            chosen,
            *rows,
            betas,
            acceptance,
            numbers,
            WEIGHTS.index(weights),
            constant,
            continuous,
            rng,
        )
    )
    if status == BAD_LIKELIHOOD:
        raise ModelError(
            f"is nan or +inf for observation {observation!r}", "return a finite log density, or -inf.", where=place(model, "obs_logpdf")
        )
    if status == DEPLETED:
        raise BeliefDepleted(belief, action, observation)
    stages = int(numbers[1])
    return Annealed(
        belief=Particles(states, log_weights=logs),
        log_evidence=float(numbers[2]),
        betas=betas[: stages + 1],
        acceptance=acceptance[: max(0, stages - 1)],
        inefficiency=(float(numbers[3]), float(numbers[4])),
        move="literal",
        evaluations=stages,
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


def _printed(propose: Any) -> Kernel:
    """Algorithms 4 and 5 around a proposal."""

    def anneal_as_printed(  # type: ignore[no-untyped-def]
        model,
        states,
        spare,
        logs,
        likelihoods,
        chosen,
        actions,
        observations,
        betas,
        acceptance,
        numbers,
        weights,
        constant,
        continuous,
        rng,
    ):
        n = len(states)
        a = model.read_action(actions, 0)
        o = model.read_observation(observations, 0)
        for i in range(n):
            s = model.read_state(states, i)
            if logs[i] == -math.inf or model.is_terminal(s):
                logs[i] = likelihoods[i] = -math.inf
                continue
            s, _ = model.step(s, a, rng)
            likelihoods[i] = model.obs_logpdf(o, s, a)
            if no_density(likelihoods[i]):
                return BAD_LIKELIHOOD
            model.write_state(states, i, s)
        numbers[3] = inefficiency(logs, likelihoods, 1.0)
        if numbers[3] == math.inf:
            return DEPLETED
        for i in range(n):
            if logs[i] > -math.inf:
                logs[i] = (logs[i] if weights == 1 else -math.log(n)) + (0.0 if weights == 2 else likelihoods[i])
        if weights != 2:
            peak, total, _ = tempered_sums(logs, logs, 0.0)
            numbers[2] = peak + math.log(total)
            for i in range(n):
                logs[i] -= numbers[2]
        ratio = numbers[0]
        for k in range(1, len(betas)):
            numbers[1] = k
            peak, total, _ = tempered_sums(logs, likelihoods, betas[k] - betas[k - 1])
            numbers[2] += peak + math.log(total)
            for i in range(n):  # line 5
                dead = likelihoods[i] == -math.inf
                logs[i] = -math.inf if dead else logs[i] + (betas[k] - betas[k - 1]) * likelihoods[i] - peak - math.log(total)
            reached = inefficiency(logs, logs, 0.0)
            if reached <= ratio:  # lines 6, 7
                break
            ratio = reached  # line 9
            for i in range(n):
                likelihoods[i] = math.exp(logs[i])
            choose(likelihoods, SYSTEMATIC, rng, chosen)  # line 11
            for i in range(n):
                for c in range(states.shape[1]):
                    spare[i, c] = states[chosen[i], c]
            accepted = 0
            for i in range(n):
                for c in range(states.shape[1]):
                    states[i, c] = spare[i, c]
                logs[i] = -math.log(n)
                likelihoods[i] = model.obs_logpdf(o, model.read_state(states, i), a)
                propose(model, states, i, a, o, observations, continuous, constant, spare, rng)  # line 12, Alg. 5
                s = model.read_state(spare, i)
                likelihood = model.obs_logpdf(o, s, a)
                if no_density(likelihood):
                    return BAD_LIKELIHOOD
                gain = betas[k] * (likelihood - likelihoods[i])
                if gain >= 0.0 or rng.uniform() < math.exp(gain):
                    accepted += 1
                    model.write_state(states, i, s)
                    likelihoods[i] = likelihood
            acceptance[k - 1] = accepted / n
        numbers[4] = inefficiency(logs, logs, 0.0)
        return 0

    return kernel(anneal_as_printed)


_OWN, _NORMAL = _printed(propose_own), _printed(propose_normal)
