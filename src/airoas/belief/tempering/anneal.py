"""Annealed importance resampling: the belief bridged to an observation in small steps, proven right in the tests.

Paper: Alg. 4 and 5. Differs: the printed algorithm (mode "literal", in `literal.py`) does not reach the posterior; the
corrected one here carries weights, counts the likelihood once, chooses each temperature so that N/ESS equals
`target_inefficiency`, ends exactly at 1, and moves particles by kernels that keep their target.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.belief.tempering.bridge import APART, MOVES, bridge_by
from airoas.belief.tempering.cloud import CHUNK, Cloud, Scales
from airoas.belief.tempering.ladder import (
    AFTER,
    BAD_LIKELIHOOD,
    BAD_STEP,
    BEFORE,
    DEADLINE,
    DEPLETED,
    EVALUATIONS,
    FIXED,
    FROZEN,
    LATE,
    LOG_EVIDENCE,
    NUMBERS,
    OPTIONS,
    PHASE,
    PLAIN,
    PLAIN_ONLY,
    REPEATS,
    RESAMPLES,
    SMOOTHS,
    STAGE,
    START,
    TARGET,
    UNTIL,
    Work,
    sides,
)
from airoas.belief.tempering.literal import anneal_literal
from airoas.belief.tempering.noise_record import size, tape
from airoas.belief.tempering.result import Annealed, sigmoid_temperatures
from airoas.belief.tempering.temper import SEARCH
from airoas.compiler.kernels import kernel, mode
from airoas.errors import BeliefDepleted, ModelError, OptionError
from airoas.modelling.introspection import place
from airoas.rng import Rng, stream

MODES = ("corrected", "literal", "none")
MOST_STAGES = 256
MOST_DRAWS = 64  # of one simulated step that a tape remembers; later ones are drawn afresh
THREADED = 10_000  # particles from which threads are worth their start


def anneal(
    model: Any,
    belief: Particles,
    action: Any,
    observation: Any,
    rng: Rng,
    mode: str = "corrected",
    target_inefficiency: float = 2.0,
    schedule: str | Sequence[float] = "adaptive",
    moves: int = 2,
    *,
    move: str = "auto",
    resample: bool = True,
    until: float = 1.0,
    scale: float | None = None,
    threads: int | None = None,
    literal_weights: str = "likelihood",
    literal_constant: float = 1.0,
) -> Annealed:
    """The belief after `action` and `observation`, from the belief before them.

    target_inefficiency: N/ESS (r*) that one step of temperature may cause; a plain update below it is returned as it is.
    schedule: "adaptive", "sigmoid" (the paper's 100 temperatures, rescaled to [0, 1]) or rising temperatures of your own.
    moves: sweeps over the particles at each temperature.
    move: "auto" takes the model's own `move`, Gibbs over `successor`, `mutate` with `step_logpdf`, ancestors and noise
        for continuous states, else re-simulation; or one of "move", "gibbs", "mutate", "ancestors", "walk" (random walk
        by `step_logpdf`) and "resimulate".
    resample: False is annealed importance *sampling*: weights only, on a fixed schedule.
    until: stop at this temperature and weigh by the rest; the answer stays right for any value.
    scale: a fixed standard deviation of the proposals in every continuous component (of the state for "walk", of the
        ancestor for "ancestors") and every recorded draw (there at most 1), instead of one that follows the cloud. With a
        fixed schedule the evidence is then unbiased, for "ancestors" that of the smoothed belief.
    threads: for 10,000 particles or more; default all cores. The result does not depend on it.
    literal_weights, literal_constant: choices that the printed algorithm leaves open; see `airoas.belief.tempering.literal`.
    """
    _check_options(mode, target_inefficiency, schedule, moves, resample, until, scale, threads)
    width = len(_checked(model).shapes.state.kinds)
    if belief.states.shape[1] != width:
        problem = f"the belief's states have {belief.states.shape[1]} numbers, those of {type(model).__name__} {width}"
        raise OptionError(problem, "make it with Particles.sample(model, n, rng).")
    if mode == "literal":
        return anneal_literal(model, belief, action, observation, rng, target_inefficiency, literal_weights, literal_constant)
    name = choose_move(model, move) if mode == "corrected" else "resimulate"
    fixed = _temperatures(schedule, until)
    options = {
        TARGET: target_inefficiency,
        UNTIL: until,
        REPEATS: moves,
        FIXED: fixed is not None,
        RESAMPLES: resample,
        FROZEN: scale is not None,
        PLAIN_ONLY: mode == "none",
        SMOOTHS: name == "ancestors",
    }
    draws = count_draws(model, belief, action, rng) if name == "ancestors" else 0
    work = prepare_work(model, belief, action, observation, name, draws, options, np.empty(0) if fixed is None else fixed, scale)
    status = _run(model, work, name, threads, rng)
    if status == BAD_LIKELIHOOD:
        problem = f"is nan or +inf for observation {observation!r}"
        raise ModelError(problem, "return a finite log density, or -inf.", where=place(model, "obs_logpdf"))
    if status == BAD_STEP:
        raise ModelError("is nan or +inf", "return a finite log density, or -inf.", where=place(model, "step_logpdf"))
    if status == DEPLETED:
        raise BeliefDepleted(belief, action, observation)
    return _result(work, status, name)


def choose_move(model: Any, name: str) -> str:
    """The move behind a name, refused where the model lacks what it needs."""
    continuous = "float" in model.shapes.state.kinds
    needs = {"move": ("move",), "gibbs": ("successor",), "mutate": ("mutate", "step_logpdf"), "walk": ("step_logpdf",)}
    if name == "auto":
        if model.has("move"):
            return "move"
        if model.is_finite:
            return "gibbs"
        if model.has("mutate") and model.has("step_logpdf") and continuous:
            return "mutate"
        return "ancestors" if continuous else "resimulate"
    if name not in MOVES:
        raise OptionError(f"there is no move {name!r}", f"use auto, {', '.join(MOVES)}.")
    missing = [method for method in needs.get(name, ()) if not model.has(method)]
    if missing or (name == "gibbs" and not model.is_finite):
        raise OptionError(
            f"move {name!r} needs {', '.join(missing) or 'the enumeration group'}",
            f"give {type(model).__name__} these methods, or use move='auto'.",
        )
    return name


def _check_options(
    mode: str, target: float, schedule: Any, moves: int, resample: bool, until: float, scale: float | None, threads: int | None
) -> None:
    if mode not in MODES:
        raise OptionError(f"there is no mode {mode!r}", f"use {', '.join(MODES)}.")
    if not target > 1.0:
        raise OptionError(f"target_inefficiency is {target}", "choose it above 1; 2 keeps half the particles effective.")
    if isinstance(schedule, str) and schedule not in ("adaptive", "sigmoid"):
        raise OptionError(f"there is no schedule {schedule!r}", "use 'adaptive', 'sigmoid' or rising temperatures up to 1.")
    if moves < 0:
        raise OptionError(f"moves is {moves}", "use 0 or more sweeps.")
    if not 0.0 <= until <= 1.0:
        raise OptionError(f"until is {until}", "choose it between 0 and 1.")
    if not resample and isinstance(schedule, str) and schedule == "adaptive":
        problem = "the adaptive schedule rests on the resampling that resample=False leaves out"
        raise OptionError(problem, "use schedule='sigmoid' or temperatures of your own.")
    if scale is not None and not 0.0 < scale < math.inf:
        raise OptionError(f"scale is {scale}", "it is a standard deviation: above 0 and finite.")
    if threads is not None and threads < 1:
        raise OptionError(f"threads is {threads}", "use at least 1.")


def _temperatures(schedule: str | Sequence[float], until: float) -> np.ndarray | None:
    """The temperatures above 0 and up to `until` of a fixed schedule; None where they are to be found."""
    if isinstance(schedule, str):
        if schedule == "adaptive":
            return None
        betas = sigmoid_temperatures()
        fixed = (betas - betas[0]) / (betas[-1] - betas[0])
    else:
        try:
            fixed = np.array(schedule, dtype=np.float64)
        except (TypeError, ValueError):
            fixed = np.empty(0)
        if fixed.ndim != 1 or len(fixed) == 0 or not ((np.diff(fixed, prepend=0.0) >= 0.0).all() and fixed[-1] <= 1.0):
            raise OptionError(f"the schedule {schedule!r} does not rise from 0 to 1", "give temperatures in order, (0.1, 0.5, 1.0) say.")
    kept: np.ndarray = fixed[(fixed > 0.0) & (fixed <= until)]
    return kept


def prepare_work(
    model: Any,
    belief: Particles,
    action: Any,
    observation: Any,
    move: str,
    draws: int,
    options: dict[int, float],
    schedule: np.ndarray,
    scale: float | None,
) -> Work:
    """The arrays for one annealing of this belief."""
    work = make_work(model, len(belief), move, draws, options, schedule, scale)
    work.here.ancestors[:] = belief.states
    work.here.log_weights[:] = belief.log_weights
    work.actions[:] = model.row("action", action)
    work.observations[:] = model.row("observation", observation)
    return work


def make_work(
    model: Any, n: int, move: str, draws: int, options: dict[int, float], schedule: np.ndarray, scale: float | None = None
) -> Work:
    """Arrays for annealing n particles at a time."""
    width = len(model.shapes.state.kinds)
    continuous = np.flatnonzero(np.array(model.shapes.state.kinds) == "float")
    c, chunks = len(continuous), -(-n // CHUNK)
    tape_size = size(min(draws, MOST_DRAWS))
    here, there = (
        Cloud(
            ancestors=np.empty((n, width)),
            centres=np.empty((n, width if move == "ancestors" else 0)),
            tapes=np.zeros((n, tape_size)),
            states=np.empty((n, width)),
            log_weights=np.empty(n),
            weights=np.empty(n),
            log_likelihoods=np.empty(n),
        )
        for _ in range(2)
    )
    scales = Scales(
        continuous=continuous,
        axes=continuous.copy(),
        count=np.array([c]),
        kernel=np.zeros((c, c)),
        box=np.zeros((2, c)),
        walk=np.eye(c) * (scale or 1.0),
        noise=np.full((tape_size - 1) // 2, scale or 1.0),
        factors=np.ones(2),
        counts=np.zeros((chunks, 5), np.int64),
        scratch=np.zeros((chunks, 2, max(c, 1))),
    )
    chosen_options = np.zeros(OPTIONS)
    chosen_options[DEADLINE] = math.inf
    for where, value in options.items():
        chosen_options[where] = value
    stages = len(schedule) or MOST_STAGES
    work = Work(
        here=here,
        there=there,
        scales=scales,
        chosen=np.empty(n, np.int64),
        sums=np.zeros((chunks, 3)),
        turns=np.full(APART * chunks, -1),
        search=np.zeros(SEARCH),
        schedule=schedule,
        betas=np.zeros(stages + 1),
        acceptance=np.zeros(stages),
        actions=np.zeros((1, len(model.shapes.action.kinds) if model.shapes.action else 1)),
        observations=np.zeros((1, len(model.shapes.observation.kinds))),
        options=chosen_options,
        numbers=np.zeros(NUMBERS),
    )
    work.numbers[PHASE] = START
    return work


def _run(model: Any, work: Work, move: str, threads: int | None, rng: Rng) -> int:
    """How the bridge ended; in threads where there are enough particles."""
    bridge, seed = bridge_by(move), rng.bits(62)
    count = min(threads or os.cpu_count() or 1, len(work.sums))
    if count == 1 or len(work.chosen) < THREADED or mode() == "interpreted":
        return int(bridge(model, work, 0, 1, seed, rng))
    with ThreadPoolExecutor(count - 1) as pool:
        try:
            others = [pool.submit(bridge, model, work, k, count, seed, stream(0)) for k in range(1, count)]
            while (work.turns[APART : APART * count : APART] < 0).any():  # whoever leads before all follow may wait for ever
                for other in others:
                    if other.done():
                        other.result()
                time.sleep(0.0)
        except BaseException:
            work.numbers[PHASE] = LATE
            work.turns[0] = 1
            raise
        return int(bridge(model, work, 0, count, seed, rng))


def _result(work: Work, status: int, move: str) -> Annealed:
    cloud, numbers = sides(work)[0], work.numbers
    stages, plain = int(numbers[STAGE]), status == PLAIN
    betas = np.array([0.0, 1.0]) if plain else work.betas[: stages + 1]
    return Annealed(
        belief=Particles(cloud.states, log_weights=cloud.log_weights),
        log_evidence=float(numbers[LOG_EVIDENCE]),
        betas=betas if betas[-1] == 1.0 else np.append(betas, 1.0),
        acceptance=np.empty(0) if plain else work.acceptance[:stages],
        inefficiency=(float(numbers[BEFORE]), float(numbers[AFTER])),
        move="" if plain else move,
        evaluations=int(numbers[EVALUATIONS]),
    )


@kernel
def _most_draws(model: Any, states: Any, log_weights: Any, actions: Any, tapes: Any, rng: Any) -> int:
    a = model.read_action(actions, 0)
    most = 0
    for i in range(len(states)):
        s = model.read_state(states, i)
        if log_weights[i] > -math.inf and not model.is_terminal(s):
            model.step(s, a, tape(rng, tapes, 0))
            most = max(most, int(tapes[0, 0]))
    return most


def count_draws(model: Any, belief: Particles, action: Any, rng: Rng) -> int:
    """How many random draws a step takes, at most, over some particles."""
    some = np.linspace(0, len(belief) - 1, min(len(belief), 64)).astype(np.int64)
    actions = model.row("action", action)
    return int(_most_draws(model, belief.states[some], belief.log_weights[some], actions, np.zeros((1, size(0))), rng))
