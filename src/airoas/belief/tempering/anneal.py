"""Annealed importance resampling: the belief moved to an observation in small steps, proven right in the tests.

Annealed importance sampling is of Neal (2001). Paper: Alg. 4 and 5. Differs: the printed algorithm (mode "literal", in
`literal.py`) does not reach the posterior; the corrected one here carries weights, counts the likelihood once, chooses each
temperature so that N/ESS equals `target_inefficiency`, ends exactly at 1, and moves particles by kernels that keep their target.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from airoas.belief.particles import Particles, _checked, admit
from airoas.belief.tempering.functions import count_draws
from airoas.belief.tempering.literal import anneal_literal
from airoas.belief.tempering.moves import BAD_LIKELIHOOD, BAD_STATE, BAD_STEP, MOVES
from airoas.belief.tempering.result import Annealed, sigmoid_temperatures
from airoas.belief.tempering.system import System
from airoas.belief.tempering.temper import DEPRIVED, LATE, PLAIN, in_use, make_tempering, temper
from airoas.compiler.clock import now
from airoas.compiler.interrupt import listen, stop_if_interrupted
from airoas.compiler.kernels import Bound, current_mode
from airoas.errors import ModelError, OptionError, ParticleDeprivationError
from airoas.modelling.batch import batch
from airoas.modelling.gate import as_numbers, check_stream, gate_of
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Rows
from airoas.options import typed
from airoas.rng import Rng

MODES = ("corrected", "literal", "none")
DEVICES = ("cpu", "cuda")
_LONG = 5000  # particles times sweeps, from which on Ctrl-C is listened for; less is over at once


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
    seconds: float | None = None,
    literal_weights: str = "likelihood",
    literal_constant: float = 1.0,
    device: str = "cpu",
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
    seconds: wall-clock time after which it stops at the temperature it has come to, and weighs by the rest.
    literal_weights, literal_constant: choices that the printed algorithm leaves open; see `airoas.belief.tempering.literal`.
    device: "cuda" does it on a GPU, where the belief then stays until it is looked at.
    """
    way = _way(mode, target_inefficiency, schedule, moves, move, resample, until, scale, seconds is not None)
    if seconds is not None and not typed("seconds", seconds, float) > 0.0:
        raise OptionError(f"seconds is {seconds}", "give seconds above 0, or None for no limit.")
    admit(_checked(model), belief)
    check_stream(rng)
    check_device(device)
    if mode == "literal":
        if device != "cpu":
            raise OptionError("the printed algorithm runs on the CPU alone", "leave device out, or use mode='corrected'.")
        return anneal_literal(model, belief, action, observation, rng, target_inefficiency, literal_weights, literal_constant)
    name = choose_move(model, move) if mode == "corrected" else "resimulate"
    waiting = _waiting(model, device)
    actions, observations = waiting.actions.row(action), waiting.observations.row(observation)
    draws = waiting.draws(belief, actions) if name == "ancestors" else 0
    kind = len(belief), name, draws, way.key
    work = waiting.take(kind) or waiting.make(len(belief), name, draws, way.temperatures, scale, way.options)
    try:
        waiting.load(work, belief)
        work.actions[:] = actions
        work.observations[:] = observations
        if seconds is not None:
            work.deadline = now() + seconds
        if len(belief) * moves > _LONG:
            listen()
        status = waiting.run(work, rng.bits(62))
        if seconds is not None:
            stop_if_interrupted()
        if status == LATE:  # there is no other deadline
            raise KeyboardInterrupt
        if status == BAD_LIKELIHOOD:
            problem = f"is nan or +inf for observation {observation!r}"
            raise ModelError(problem, "return a finite log density, or -inf.", where=location(model, "obs_logpdf"))
        if status == BAD_STATE:
            raise _bad_state(model, waiting.copied(work.first), action)
        if status == BAD_STEP:
            raise ModelError("is nan or +inf", "return a finite log density, or -inf.", where=location(model, "step_logpdf"))
        if status == DEPRIVED:
            raise ParticleDeprivationError(belief, action, observation, _reason(model, waiting.copied(in_use(work))))
        result = waiting.belief(work.first if status == PLAIN else in_use(work))
        return _plain_result(result, work) if status == PLAIN else _result(result, work)
    finally:
        waiting.give(kind, work)


class Waiting:
    """The temperings of a model in one mode that wait to be used again, in whatever thread: to make one takes longer than to temper
    100 particles."""

    most_kinds, most_kept = 8, 200_000
    """How many kinds of temperings wait, and of how many particles: more take much memory (some 100 bytes each for plain updates). To make
    one anew takes longer than a plain update with it."""

    def __init__(self, model: KernelModel) -> None:
        self._model = model
        self.actions, self.observations = gate_of(model, "action"), gate_of(model, "observation")
        self._temperings: dict[Any, list[Any]] = {}

    def make(self, n: int, move: str, draws: int, schedule: np.ndarray, scale: float | None, options: dict[str, Any]) -> Any:
        return make_tempering(self._model, n, move, draws, schedule, scale, **options)

    def load(self, work: Any, belief: Particles) -> None:
        """Put the belief before the action where a tempering begins."""
        work.first.ancestors[:] = belief.states
        work.first.log_weights[:] = belief.log_weights

    def run(self, work: Any, seed: int) -> int:
        return int(temper(work, seed))

    def copied(self, system: Any) -> System:
        """Particles to look at."""
        result: System = system
        return result

    def belief(self, system: Any) -> Particles:
        return Particles._own(system.states.copy(), system.log_weights.copy(), self._model)

    def take(self, kind: tuple[Any, ...]) -> Any:
        """One that nobody else has."""
        try:
            return self._temperings[kind].pop()
        except (KeyError, IndexError):
            return None

    def give(self, kind: tuple[Any, ...], work: Any) -> None:
        if len(work.chosen) <= self.most_kept:
            if len(self._temperings) >= self.most_kinds and kind not in self._temperings:
                self._temperings.clear()
            self._temperings.setdefault(kind, []).append(work)

    @functools.cached_property
    def _count_draws(self) -> Bound:
        rows, reals = np.zeros((1, self._model.shapes.state.size)), np.zeros(1)
        rows.flags.writeable = reals.flags.writeable = False  # as those of a belief
        return count_draws.bind(self._model, rows, reals, np.zeros((1, 1)), np.zeros((1, 1)))

    def draws(self, belief: Particles, actions: Rows) -> int:
        """How many random draws a step takes, at most, over some particles."""
        return int(self._count_draws(belief.states, belief.log_weights, actions, np.zeros((1, 1))))


WAITING: dict[str, type[Waiting]] = {"cpu": Waiting}
"""By device."""


def check_device(device: str) -> None:
    if not isinstance(device, str) or device not in DEVICES:
        raise OptionError(f"there is no device {device!r}", f"use {' or '.join(map(repr, DEVICES))}.")


def _waiting(model: KernelModel, device: str = "cpu") -> Waiting:
    held: dict[str, Waiting] = model.__dict__.setdefault("_temperings", {})
    mode = current_mode() if device == "cpu" else device
    if mode not in held:
        if device not in WAITING:
            importlib.import_module("airoas.belief.device")  # it stands on this file, and enters what it has
        held[mode] = WAITING[device](model)
    return held[mode]


def draws_of(model: KernelModel, belief: Particles, action: Any) -> int:
    """How many random draws a step takes, at most, over some particles."""
    return _waiting(model).draws(belief, model.row("action", action))


def _reason(model: KernelModel, system: System) -> str:
    """Why no particle is left: see `ParticleDeprivationError`."""
    if not system.alive.any():
        return "over"
    going_on = batch(model).inspect(system.states, system.alive, np.zeros(0, np.bool_))
    return "observation" if going_on else "ended"


def _bad_state(model: KernelModel, system: System, action: Any) -> ModelError:
    """What to say of a step that led to a state which is not finite."""
    i = int(np.flatnonzero(system.alive & ~np.isfinite(system.states).all(axis=1))[0])
    problem = f"leads from state {model.from_row('state', system.ancestors[i])!r} by action {action!r} to one that is not finite"
    return ModelError(problem, "keep states finite.", where=location(model, "step"))


def _plain_result(belief: Particles, work: Any) -> Annealed:
    """What came of a tempering that had nothing to do."""
    ratio = work.before
    return Annealed(belief, work.log_evidence, _ALL_AT_ONCE, _NO_SWEEPS, (ratio, ratio), "", 1)


_ALL_AT_ONCE, _NO_SWEEPS = np.array([0.0, 1.0]), np.empty(0)
_ALL_AT_ONCE.flags.writeable = _NO_SWEEPS.flags.writeable = False


def _result(belief: Particles, work: Any) -> Annealed:
    """What came of a tempering."""
    stages = work.stage
    betas = work.betas[: stages + 1].copy()
    return Annealed(
        belief=belief,
        log_evidence=work.log_evidence,
        betas=betas if betas[-1] == 1.0 else np.append(betas, 1.0),
        acceptance=work.acceptance[:stages].copy(),
        inefficiency=(work.before, work.after),
        move=MOVES[work.move],
        evaluations=int(work.evaluations),
    )


def choose_move(model: KernelModel, name: str) -> str:
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
    missing = [method for method in needs.get(name, ()) if not model.has(method)]
    if missing or (name == "gibbs" and not model.is_finite):
        raise OptionError(
            f"move {name!r} needs {', '.join(missing) or 'the enumeration group'}",
            f"give {type(model).__name__} these methods, or use move='auto'.",
        )
    return name


def check_moves(target_inefficiency: float, moves: int, move: str) -> None:
    """Refuse options of annealing that filters have, too."""
    if not typed("target_inefficiency", target_inefficiency, float) > 1.0:
        raise OptionError(f"target_inefficiency is {target_inefficiency}", "choose it above 1; 2 keeps half the particles effective.")
    if typed("moves", moves, int) < 0:
        raise OptionError(f"moves is {moves}", "use 0 or more sweeps.")
    if typed("move", move, str) not in ("auto", *MOVES):
        raise OptionError(f"there is no move {move!r}", f"use auto, {', '.join(MOVES)}.")


class _Way(NamedTuple):
    """Options that are in order, as a tempering takes them."""

    temperatures: np.ndarray
    options: dict[str, Any]
    key: tuple[Any, ...]


def _way(mode: str, target: float, schedule: Any, moves: int, move: str, resample: bool, until: float, scale: Any, timed: bool) -> _Way:
    """Refuses options, or tells what they come to; of those that came before that is known, which updates of few particles feel."""
    if isinstance(schedule, str):
        try:
            return _known_way(mode, target, schedule, moves, move, resample, until, scale, timed)
        except TypeError:  # one is a list, say, and will be refused
            pass
    return _new_way(mode, target, schedule, moves, move, resample, until, scale, timed)


def _new_way(mode: str, target: float, schedule: Any, moves: int, move: str, resample: bool, until: float, scale: Any, timed: bool) -> _Way:
    check_moves(target, moves, move)
    _check_options(mode, schedule, resample, until, scale)
    fixed = _temperatures(schedule, until)
    temperatures = np.empty(0) if fixed is None else fixed
    temperatures.flags.writeable = False
    options = {
        "target": target,
        "until": until,
        "repeats": moves,
        "resamples": resample,
        "fixed": fixed is not None,
        "plain_only": mode == "none",
        "is_anytime": timed,
    }
    return _Way(temperatures, options, (temperatures.tobytes(), scale, *options.values()))


_known_way = functools.lru_cache(64, typed=True)(_new_way)


def _check_options(mode: str, schedule: Any, resample: bool, until: float, scale: float | None) -> None:
    if typed("mode", mode, str) not in MODES:
        raise OptionError(f"there is no mode {mode!r}", f"use {', '.join(MODES)}.")
    if isinstance(schedule, str) and schedule not in ("adaptive", "sigmoid"):
        raise OptionError(f"there is no schedule {schedule!r}", "use 'adaptive', 'sigmoid' or rising temperatures up to 1.")
    if not 0.0 <= typed("until", until, float) <= 1.0:
        raise OptionError(f"until is {until}", "choose it between 0 and 1.")
    if not typed("resample", resample, bool) and isinstance(schedule, str) and schedule == "adaptive":
        problem = "the adaptive schedule rests on the resampling that resample=False leaves out"
        raise OptionError(problem, "use schedule='sigmoid' or temperatures of your own.")
    if scale is not None and not 0.0 < typed("scale", scale, float) < math.inf:
        raise OptionError(f"scale is {scale}", "it is a standard deviation: above 0 and finite.")


def _temperatures(schedule: str | Sequence[float], until: float) -> np.ndarray | None:
    """The temperatures above 0 and up to `until` of a fixed schedule; None where they are to be found."""
    if isinstance(schedule, str):
        if schedule == "adaptive":
            return None
        betas = sigmoid_temperatures()
        fixed = (betas - betas[0]) / (betas[-1] - betas[0])
    else:
        fixed = as_numbers(schedule, "temperatures")
        if fixed.ndim != 1 or len(fixed) == 0 or not ((np.diff(fixed, prepend=0.0) >= 0.0).all() and fixed[-1] <= 1.0):
            raise OptionError(f"the schedule {schedule!r} does not rise from 0 to 1", "give temperatures in order, (0.1, 0.5, 1.0) say.")
    kept: np.ndarray = fixed[(fixed > 0.0) & (fixed <= until)]
    return kept
