"""Annealed importance resampling: the belief moved to an observation in small steps, proven right in the tests.

Paper: Alg. 4 and 5. Differs: the printed algorithm (mode "literal", in `literal.py`) does not reach the posterior; the
corrected one here carries weights, counts the likelihood once, chooses each temperature so that N/ESS equals
`target_inefficiency`, ends exactly at 1, and moves particles by kernels that keep their target.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.belief.tempering.functions import count_draws
from airoas.belief.tempering.literal import anneal_literal
from airoas.belief.tempering.moves import BAD_LIKELIHOOD, BAD_STEP, MOVES
from airoas.belief.tempering.result import Annealed, sigmoid_temperatures
from airoas.belief.tempering.system import System
from airoas.belief.tempering.temper import DEPRIVED, PLAIN, Tempering, in_use, make_tempering, set_options, temper
from airoas.compiler.kernels import mode as running_mode
from airoas.errors import ModelError, OptionError, ParticleDeprivationError
from airoas.modelling.batch import batch
from airoas.modelling.introspection import place
from airoas.rng import Rng

MODES = ("corrected", "literal", "none")
_KEPT, _MOST_KEPT = 8, 20_000
"""How many kinds of temperings of a model wait to be used again, and of how many particles: to make one of more costs little beside
its use, and much memory."""


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
        ancestor for "ancestors") and every recorded draw (there at most 1), instead of one that follows the particles. With a
        fixed schedule the evidence is then unbiased, for "ancestors" that of the smoothed belief.
    literal_weights, literal_constant: choices that the printed algorithm leaves open; see `airoas.belief.tempering.literal`.
    """
    _check_options(mode, target_inefficiency, schedule, moves, resample, until, scale)
    width = _checked(model).shapes.state.size
    if belief.states.shape[1] != width:
        problem = f"the belief's states have {belief.states.shape[1]} numbers, those of {type(model).__name__} {width}"
        raise OptionError(problem, "make it with Particles.sample(model, n, rng).")
    if mode == "literal":
        return anneal_literal(model, belief, action, observation, rng, target_inefficiency, literal_weights, literal_constant)
    name = choose_move(model, move) if mode == "corrected" else "resimulate"
    fixed = _temperatures(schedule, until)
    options = {"target": target_inefficiency, "until": until, "repeats": moves, "resamples": resample, "plain_only": mode == "none"}
    draws = draws_of(model, belief, action) if name == "ancestors" else 0
    temperatures = np.empty(0) if fixed is None else fixed
    with _tempering(model, len(belief), name, draws, temperatures, scale, fixed=fixed is not None, **options) as work:
        work.first.ancestors[:] = belief.states
        work.first.log_weights[:] = belief.log_weights
        work.actions[:] = model.row("action", action)
        work.observations[:] = model.row("observation", observation)
        status = int(temper(work, rng.bits(62)))
        if status == BAD_LIKELIHOOD:
            problem = f"is nan or +inf for observation {observation!r}"
            raise ModelError(problem, "return a finite log density, or -inf.", where=place(model, "obs_logpdf"))
        if status == BAD_STEP:
            raise ModelError("is nan or +inf", "return a finite log density, or -inf.", where=place(model, "step_logpdf"))
        if status == DEPRIVED:
            raise ParticleDeprivationError(belief, action, observation, _reason(model, in_use(work)))
        return _result(work, status == PLAIN)


@contextmanager
def _tempering(model: Any, n: int, move: str, draws: int, schedule: np.ndarray, scale: float | None, **options: Any) -> Iterator[Tempering]:
    """One for this many particles: of the model's that wait to be used again, or a new one."""
    waiting: dict[Any, list[Tempering]] = model.__dict__.setdefault("_temperings", {})
    key = running_mode(), n, move, draws, len(schedule)
    try:
        work = waiting[key].pop()
        set_options(work, schedule, scale, **options)
    except (KeyError, IndexError):
        work = make_tempering(model, n, move, draws, schedule, scale, **options)
    try:
        yield work
    finally:
        if n <= _MOST_KEPT:
            if len(waiting) >= _KEPT and key not in waiting:
                waiting.clear()
            waiting.setdefault(key, []).append(work)


def _reason(model: Any, system: System) -> str:
    """Why no particle is left: see `ParticleDeprivationError`."""
    if not system.alive.any():
        return "over"
    going_on = batch(model).inspect(system.states, system.alive, np.zeros(0, np.bool_))
    return "observation" if going_on else "ended"


def _result(work: Tempering, plain: bool) -> Annealed:
    """What came of a tempering."""
    system, stages = in_use(work), work.stage
    betas = np.array([0.0, 1.0]) if plain else work.betas[: stages + 1].copy()
    return Annealed(
        belief=Particles(system.states, log_weights=system.log_weights),
        log_evidence=work.log_evidence,
        betas=betas if betas[-1] == 1.0 else np.append(betas, 1.0),
        acceptance=np.empty(0) if plain else work.acceptance[:stages].copy(),
        inefficiency=(work.before, work.after),
        move="" if plain else MOVES[work.move],
        evaluations=int(work.evaluations),
    )


def draws_of(model: Any, belief: Particles, action: Any) -> int:
    """How many random draws a step takes, at most, over some particles."""
    some = np.linspace(0, len(belief) - 1, min(len(belief), 64)).astype(np.int64)
    states, alive = belief.states[some], belief.log_weights[some] > -np.inf
    batch(model).inspect(states, alive, np.zeros(0, np.bool_))
    return int(count_draws(model, states, alive, model.row("action", action), np.zeros((1, 1))))


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


def _check_options(mode: str, target: float, schedule: Any, moves: int, resample: bool, until: float, scale: float | None) -> None:
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
