"""`check`: says in sentences what is missing, inconsistent or cannot be compiled in a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.checker.compiled_draws import MODE
from airoas.checker.diagnostics import Diagnoses, Diagnostic, Progress, Report, diagnostic
from airoas.checker.dynamic import distributions, enumeration, simulation
from airoas.checker.hidden import hidden
from airoas.compiler.diagnose import COMPILER_ERRORS, explain
from airoas.compiler.kernels import kernel, running
from airoas.errors import AiroasError, ModelError, OptionError
from airoas.modelling.checked_call import PAIRS, guard, is_pair
from airoas.modelling.compiled import as_written, method_problem
from airoas.modelling.decorator import Model
from airoas.modelling.interface import HOOKS
from airoas.modelling.introspection import class_location, constructs, functions_in, location, structure_problems
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.layout import Shape, is_number
from airoas.modelling.macros import own_macros
from airoas.policies.learned import MOST_ACTIONS
from airoas.rng import stream
from airoas.viz.pictures import SIZE, new_figure

__all__ = ["Diagnostic", "Report", "check", "walk"]

_STEPS = 300


def check(model: Any, progress: Progress | None = None) -> Report:
    """Look a model (an instance, or a class whose parameters all have defaults) over from end to end.

    Structure first, then a simulated run in plain Python, then distributions (`observe` against `obs_logpdf`, `step` against
    `step_logpdf` and `successor`), then every method compiled alone, then interpreted against compiled, then pictures. The first
    stage that finds an error is the last. The statistical tests use fixed seeds; a correct model fails one of them with
    probability below 1e-6 (`airoas.checker.density_test`). `progress` is called with what is being done.
    """
    progress = progress or (lambda doing: None)
    kind = model if isinstance(model, type) else type(model)
    diagnostics: list[Diagnostic] = []
    for stage in (_structure, _parameters, simulation, enumeration, distributions, _constructs, _learning, hidden, _compilation, _pictures):
        try:
            for item in stage(model, progress):  # one by one: what came before an exception counts
                diagnostics += [item if isinstance(item, Diagnostic) else diagnostic(item, kind)]
        except AiroasError as error:
            diagnostics.append(diagnostic(error, kind))
        if any(item.level == "error" for item in diagnostics):
            break  # what follows would only repeat it in other words
        if stage is _parameters and isinstance(model, type):
            model = model()
    return Report(kind.__name__, tuple(diagnostics))


def _structure(model: Any, progress: Progress) -> Diagnoses:
    progress("reading the class")
    kind = model if isinstance(model, type) else type(model)
    if issubclass(kind, Model):
        yield from structure_problems(kind)
    elif hasattr(kind, "_fields"):
        yield ModelError("is not decorated", "write `@airoas.model` above the class.", where=class_location(kind))
    else:
        yield ModelError("is not a model", "write `@airoas.model` and `class Name(NamedTuple):` below it.", where=class_location(kind))


def _parameters(model: Any, progress: Progress) -> Diagnoses:
    progress("making an instance")
    kind: Any = model if isinstance(model, type) else type(model)
    if isinstance(model, type):
        missing = [name for name in kind._fields if name not in kind._field_defaults]
        if missing:
            for name in missing:
                remedy = f"write `{name}: float = 1.0`, say, or check an instance in Python."
                yield ModelError("has no default, so that no model can be made to look at", remedy, where=class_location(kind, name))
            return
        model = guard(model, "prepare", lambda: model())
    discount = model.discount
    if not (is_number(discount) and 0.0 < discount < 1.0):
        yield ModelError(
            f"is {discount!r}", "choose it between 0 and 1, both excluded; 0.95 is usual.", where=class_location(kind, "discount")
        )
    steps = model.max_steps
    if not (isinstance(steps, int) and steps >= 1):
        yield ModelError(f"is {steps!r}", "choose a whole number of steps, 100 say.", where=class_location(kind, "max_steps"))
    guard(model, "actions", lambda: model.action_names)
    guard(model, "action_space", lambda: model.space)
    guard(model, "step", lambda: _first_step(model))
    guard(model, "initial", lambda: model.shapes)
    guard(model, "macros", lambda: own_macros(model))


def _first_step(model: KernelModel) -> None:
    """Raises where `step` returns no pair, which a state of two numbers could be taken for."""
    rng, model = stream(0, "shapes"), as_written(model)
    s = model.initial(rng)
    try:
        Shape.of(s, "")
    except ModelError:
        return  # `shapes` says what is wrong with it
    if model.is_terminal(s):
        return
    pair = model.step(s, 0 if model.n_actions else model.sample_action(s, rng), rng)
    if not is_pair(pair):
        raise ModelError(f"returns {pair!r}, not a pair", f"return {PAIRS['step']}.", where=location(model, "step"))


def _constructs(model: KernelModel, progress: Progress) -> Iterator[Diagnostic]:
    native_class = model.native().native_class
    written = functions_in(type(model))
    for construct in constructs(
        type(model), [written[name] for name in (*native_class.functions, *native_class.properties) if name in written]
    ):
        yield Diagnostic(construct.level, construct.where, construct.problem, construct.remedy)


def _learning(model: KernelModel, progress: Progress) -> Iterator[Diagnostic]:
    """What many actions cost."""
    if model.n_actions > MOST_ACTIONS:
        problem = f"names {model.n_actions} actions, and policies are learned up to {MOST_ACTIONS}: one that needs no learning leads"
        remedy = (
            "of cells of a board, and others that are alike, say in a `rollout_action` which is good in a state, or give `value_bounds` "
        )
        remedy += "(docs/bounds.md); where actions stand for numbers write an `action_space` (docs/actions.md)."
        yield Diagnostic("note", location(model, "actions"), problem, remedy)


def _compilation(model: KernelModel, progress: Progress) -> Diagnoses:
    """Every method compiled alone, then a whole walk compiled and compared with the interpreted one."""
    with running(MODE):
        model_type = model.native().view(MODE)._numba_type_.model
        for hook in HOOKS.values():
            if hook.compiled and model.has(hook.name):
                progress(f"compiling `{hook.name}`")
                try:
                    problem = method_problem(model, model_type, hook)
                except COMPILER_ERRORS as error:
                    problem = explain(error, location(model, hook.name), type(model), functions_in(type(model)))
                if problem is not None:
                    yield problem
                    return
        progress("comparing interpreted with compiled")
        compiled = guard(model, "step", lambda: _walked(model))
    with running("interpreted"):
        plain = guard(model, "step", lambda: _walked(model))
    if not np.array_equal(compiled, plain, equal_nan=True):
        step = int(np.flatnonzero((compiled != plain).any(axis=1))[0])
        what = f"interpreted and compiled runs part at step {step} of a seeded walk"
        remedy = "look for the constructs named above, whole numbers beyond 2**63 and division by zero; each mode is right on its own."
        yield Diagnostic("warning", class_location(type(model)), what, remedy)


def _pictures(model: KernelModel, progress: Progress) -> Diagnoses:
    """`draw` and `text`, with a belief and without one."""
    if not (model.has("draw") or model.has("text")):
        return
    progress("drawing")
    with running("interpreted"):
        belief = Particles.sample(model, 100, stream(0, "pictures"))
    s = model.from_row("state", belief.states[0])
    calls = {"draw": lambda given: model.draw(new_figure(*SIZE).subplots(), s, given), "text": lambda given: model.text(s, given)}
    for given, remedy in ((belief, ""), (None, "the belief is None where it is not known: ask `if belief is not None` first.")):
        for name in filter(model.has, calls):
            try:
                returned = guard(model, name, lambda given=given, call=calls[name]: call(given))  # type: ignore[misc]
            except OptionError as error:
                yield Diagnostic("warning", location(model, name), f"was not tried: {error.problem}", error.remedy)
            except ModelError as error:
                yield ModelError(error.problem, remedy or error.remedy, where=error.where)
                return
            else:
                if name == "text" and not isinstance(returned, str):
                    yield ModelError(f"returns {type(returned).__name__}, not text", "return a str.", where=location(model, name))
                    return


def _walked(model: KernelModel) -> np.ndarray:
    shapes = model.shapes
    states, observations = np.zeros((_STEPS, len(shapes.state.kinds))), np.zeros((_STEPS, len(shapes.observation.kinds)))
    numbers = np.zeros((_STEPS, 2))
    walk(model, states, observations, numbers, stream(0, "walk"))
    return np.hstack([states, observations, numbers])


@kernel
def walk(model: KernelModel, states: Any, observations: Any, numbers: Any, rng: Any) -> None:
    """A random walk: each state arrived in, observation, reward and log-likelihood; a new start after a terminal state."""
    s = model.initial(rng)
    for t in range(len(states)):
        if model.is_terminal(s):
            s = model.initial(rng)
            if model.is_terminal(s):
                continue
        a = model.rollout_action(s, rng)
        s, reward = model.step(s, a, rng)
        model.write_state(states, t, s)
        numbers[t, 0] = reward
        if not model.is_terminal(s):
            o = model.observe(s, a, rng)
            model.write_observation(observations, t, o)
            numbers[t, 1] = model.obs_logpdf(o, s, a)
        s = model.read_state(states, t)
