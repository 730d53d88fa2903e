"""`check`: says in sentences what is missing, inconsistent or cannot be compiled in a model."""

from __future__ import annotations

import dis
import json
import math
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from airoas import content
from airoas.agreement import disagreement
from airoas.compile import interpreted, kernel, running
from airoas.errors import AiroasError, CompileError, ModelError
from airoas.hooks import HOOKS
from airoas.methods import method_problem
from airoas.protocol import Model
from airoas.rng import stream
from airoas.structure import place, structure_problems

_STEPS = 300
_SITES = 4  # (state, action) pairs at which distributions are compared


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (an error) or may surprise (a warning)."""

    level: str
    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.problem}. {self.remedy[:1].upper()}{self.remedy[1:]}"


@dataclass(frozen=True)
class Report:
    """What `check` found. Printing it gives one line for each finding."""

    model: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """No errors; warnings are allowed."""
        return not any(finding.level == "error" for finding in self.findings)

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        count = sum(finding.level == "error" for finding in self.findings)
        lines.append(f"{self.model}: {'no errors' if self.ok else f'{count} error' + 's' * (count > 1)}.")
        return "\n".join(lines)

    def to_json(self) -> str:
        return json.dumps({"model": self.model, "ok": self.ok, "findings": [asdict(finding) for finding in self.findings]})


def check(model: Any) -> Report:
    """Look a model (an instance, or a class whose parameters all have defaults) over from end to end.

    Structure first, then a simulated run in plain Python, then every method compiled alone, then interpreted against
    compiled, then distributions: `observe` against `obs_logpdf`, `step` against `step_logpdf` and `successor`. The
    statistical tests use fixed seeds; a correct model fails one of them with probability below 1e-5.
    """
    kind = model if isinstance(model, type) else type(model)
    name = getattr(kind, "__name__", str(kind))
    findings: list[Finding] = []
    for stage in (_structure, _instance_problems, _simulation, _compilation, _constructs, _distributions):
        try:
            findings.extend(problem if isinstance(problem, Finding) else _finding(problem) for problem in stage(model))
        except AiroasError as error:
            findings.append(_finding(error, name))
        if any(finding.level == "error" for finding in findings):
            break  # what follows would only repeat it in other words
        if stage is _instance_problems and isinstance(model, type):
            model = model()
    return Report(name, tuple(findings))


def _finding(error: AiroasError, where: str = "") -> Finding:
    return Finding("error", error.where or where, error.problem, error.remedy)


def _structure(model: Any) -> Iterator[AiroasError]:
    kind = model if isinstance(model, type) else type(model)
    if not issubclass(kind, Model):
        remedy = "write `@airoas.model` above the class, and `class Name(NamedTuple):`."
        yield ModelError("is not a model", remedy, where=getattr(kind, "__name__", str(kind)))
        return
    yield from structure_problems(kind)


def _instance_problems(model: Any) -> Iterator[AiroasError]:
    name = model.__name__ if isinstance(model, type) else type(model).__name__
    if isinstance(model, type):
        missing = [f for f in model._fields if f not in model._field_defaults]  # type: ignore[attr-defined]
        if missing:
            yield ModelError(
                f"has parameters without default: {', '.join(missing)}", "give them defaults, or check an instance.", where=name
            )
            return
        model = _guard(model, "prepare", lambda: model())
    discount = model.discount
    if not (isinstance(discount, (int, float)) and 0.0 < discount < 1.0):
        yield ModelError(f"discount is {discount}", "choose it between 0 and 1, both excluded; 0.95 is usual.", where=name)
    if not (isinstance(model.max_steps, int) and model.max_steps >= 1):
        yield ModelError(f"max_steps is {model.max_steps}", "choose a whole number of steps, 100 say.", where=name)
    _guard(model, "actions", lambda: model.action_names)
    _guard(model, "initial", lambda: model.shapes)


def _guard(model: Any, name: str, call: Callable[[], Any]) -> Any:
    """The result of a call into the user's code; an exception becomes a finding with the user's own line."""
    try:
        return call()
    except AiroasError as error:
        if not error.where:
            error.where = place(model, name)
        raise
    except Exception as error:
        files = {value.__code__.co_filename for value in vars(_user(model)).values() if isinstance(value, types.FunctionType)}
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        kind = model if isinstance(model, type) else type(model)
        where = (
            f"{kind.__name__}.{frames[-1].name} ({frames[-1].filename}, line {frames[-1].lineno}: `{frames[-1].line}`)"
            if frames
            else place(model, name)
        )
        raise ModelError(
            f"raises {type(error).__name__}: {error}", "mend that line; interpreted mode runs under a debugger.", where=where
        ) from None


def _user(model: Any) -> type:
    kind = model if isinstance(model, type) else type(model)
    return getattr(kind, "_user_class", kind)


class _Asker:
    """Calls a method of the interpreted model; what it raises becomes a finding at the user's own line."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.plain = interpreted(model)

    def __call__(self, name: str, *arguments: Any) -> Any:
        return _guard(self.model, name, lambda: getattr(self.plain, name)(*arguments))


def _simulation(model: Any) -> Iterator[AiroasError]:
    """Walk at random in plain Python and look at every value that comes back; each kind of problem is told once."""
    told = set()
    for name, problem, example, remedy in _walk_problems(model, _Asker(model)):
        if problem not in told:
            told.add(problem)
            yield ModelError(f"{problem}: {example}", remedy, where=place(model, name))


def _walk_problems(model: Any, ask: _Asker) -> Iterator[tuple[str, str, str, str]]:
    rng = stream(0, "check")
    s = ask("initial", rng)
    for _ in range(_STEPS):
        if ask("is_terminal", s):
            for a in range(model.n_actions) if model.n_actions else [ask("sample_action", s, rng)]:
                s2, reward = ask("step", s, a, rng)
                if not ask("is_terminal", s2) or reward != 0.0:
                    yield (
                        "step",
                        "leaves a terminal state",
                        f"from {s!r} action {a} gives {s2!r} and {reward}",
                        "return (s, 0.0) for a terminal s.",
                    )
            s = ask("initial", rng)
            continue
        legal = [a for a in range(model.n_actions) if ask("legal", s, a)]
        if model.n_actions and not legal:
            yield "legal", "allows no action", f"in state {s!r}", "leave at least one action legal in every state that is not terminal."
            return
        a = ask("rollout_action", s, rng)
        if model.n_actions and a not in legal:
            yield (
                "rollout_action",
                "chooses an impossible action",
                f"{a} in state {s!r}",
                f"return a legal index 0 .. {model.n_actions - 1}.",
            )
            a = legal[0]
        before = s
        s, reward = ask("step", before, a, rng)
        if not math.isfinite(reward):
            yield "step", "gives a reward that is not finite", f"{reward} in state {before!r}", "return a finite number."
        if not all(math.isfinite(x) for x in s):
            yield "step", "gives a state that is not finite", f"{s!r} from {before!r}", "return finite numbers."
            return
        o = ask("observe", s, a, rng)
        density = ask("obs_logpdf", o, s, a)
        if math.isnan(density) or density == math.inf:
            yield (
                "obs_logpdf",
                "is not a log density",
                f"{density} for {o!r} in {s!r}",
                "return a finite number, or -inf for what cannot be seen.",
            )
        elif density == -math.inf:
            yield "obs_logpdf", "is -inf for what `observe` just produced", f"{o!r} in {s!r}", "make both the same distribution."
        if model.has("value_bounds"):
            lower, upper = ask("value_bounds", s)
            if not lower <= upper:
                yield "value_bounds", "has lower above upper", f"{lower} > {upper} in {s!r}", "return (lower, upper)."
        if model.is_finite:
            i = ask("index", s)
            if not 0 <= i < model.n_states() or ask("index", ask("state", i)) != i:
                yield "index", "is not undone by `state`", f"{s!r} has index {i}", "make index(state(i)) == i for 0 <= i < n_states."


def _compilation(model: Any) -> Iterator[AiroasError | Finding]:
    """Every method compiled alone, then a whole walk compiled and compared with the interpreted one."""
    with running("compiled"):
        made = model.native().kind("compiled")
        for hook in HOOKS.values():
            if hook.compiled and model.has(hook.name):
                problem = method_problem(model, made, hook)
                if problem is not None:
                    yield problem
                    return
        compiled = _walked(model)
    with running("interpreted"):
        plain = _walked(model)
    if not np.array_equal(compiled, plain, equal_nan=True):
        step = int(np.flatnonzero((compiled != plain).any(axis=1))[0])
        problem_text = f"interpreted and compiled runs part at step {step} of a seeded walk"
        remedy = "look for the constructs named above or below, integer overflow and division by zero; each run is valid on its own."
        yield Finding("warning", type(model).__name__, problem_text, remedy)


def _walked(model: Any) -> np.ndarray:
    shapes = model.shapes
    states, observations = np.zeros((_STEPS, len(shapes.state.kinds))), np.zeros((_STEPS, len(shapes.observation.kinds)))
    numbers = np.zeros((_STEPS, 2))
    walk(model, states, observations, numbers, stream(0, "walk"))
    return np.hstack([states, observations, numbers])


@kernel
def walk(model: Any, states: Any, observations: Any, numbers: Any, rng: Any) -> None:
    """A random walk: each state arrived in, observation, reward and log-likelihood; a new start after a terminal state."""
    s = model.initial(rng)
    for t in range(len(states)):
        if model.is_terminal(s):
            s = model.initial(rng)
        a = model.rollout_action(s, rng)
        s, reward = model.step(s, a, rng)
        o = model.observe(s, a, rng)
        model.write_state(states, t, s)
        model.write_observation(observations, t, o)
        numbers[t, 0] = reward
        numbers[t, 1] = model.obs_logpdf(o, s, a)
        s = model.read_state(states, t)


_INEXACT = {"hypot", "gamma", "lgamma", "expm1", "log1p", "cbrt"}


def _constructs(model: Any) -> Iterator[Finding]:
    """Code whose last bit may differ between interpreted and compiled."""
    made = model.native().made
    user_files = {value.__code__.co_filename for value in vars(_user(model)).values() if isinstance(value, types.FunctionType)}
    said = set()
    for function in [*made.functions.values(), *made.properties.values()]:
        for part in content.reachable(function):
            if part.__code__.co_filename not in user_files:
                continue
            for what, line in _inexact(part):
                if (what, line) not in said:
                    said.add((what, line))
                    where = f"{part.__name__} ({part.__code__.co_filename}, line {line})"
                    yield Finding(
                        "warning",
                        where,
                        f"{what} may differ in the last bit between interpreted and compiled",
                        "write x * x, or functions of `math`.",
                    )


def _inexact(function: types.FunctionType) -> Iterator[tuple[str, int]]:
    for code in content.codes(function.__code__):
        line, constant = code.co_firstlineno, False
        root = ""
        for instruction in dis.get_instructions(code):
            position = instruction.positions
            line = position.lineno if position is not None and position.lineno is not None else line
            if instruction.opname == "BINARY_OP" and instruction.argrepr.startswith("**") and constant:
                yield "a constant power", line
            name = instruction.argval if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""
            if name in _INEXACT or (root == "numpy" and name in ("exp", "log", "power")):
                yield f"`{name}`", line
            constant = instruction.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
            value = function.__globals__.get(instruction.argval) if instruction.opname == "LOAD_GLOBAL" else None
            root = value.__name__ if isinstance(value, types.ModuleType) else ""


def _distributions(model: Any) -> Iterator[AiroasError | Finding]:
    plain = interpreted(model)
    rng = stream(0, "sites")
    for site in range(_SITES):
        s = plain.initial(rng)
        for _ in range(3 * site):
            s2, _ = plain.step(s, plain.rollout_action(s, rng), rng)
            s = s if plain.is_terminal(s2) else s2
        a = plain.rollout_action(s, rng)
        arrived, _ = plain.step(s, a, rng)
        wrong = disagreement(lambda r, s=arrived, a=a: plain.observe(s, a, r), lambda o, s=arrived, a=a: plain.obs_logpdf(o, s, a), site)  # type: ignore[misc]
        if wrong:
            yield ModelError(
                f"does not follow `obs_logpdf` in state {arrived!r} after action {a}: {wrong}",
                "make both the same distribution.",
                where=place(model, "observe"),
            )
            return
        if model.has("step_logpdf"):
            wrong = disagreement(lambda r, s=s, a=a: plain.step(s, a, r)[0], lambda s2, s=s, a=a: plain.step_logpdf(s2, s, a), site)  # type: ignore[misc]
            if wrong:
                yield ModelError(
                    f"does not follow `step_logpdf` from state {s!r} under action {a}: {wrong}",
                    "make both the same distribution.",
                    where=place(model, "step"),
                )
                return
        if model.is_finite:
            problem = _successor_problem(model, plain, s, a, site)
            if problem:
                yield problem
                return


def _successor_problem(model: Any, plain: Any, s: Any, a: int, site: int) -> ModelError | None:
    masses: dict[int, float] = {}
    total = 0.0
    for k in range(int(model.n_states())):
        s2, p = plain.successor(s, a, k)
        if p < 0.0:
            return ModelError(
                f"gives probability {p} for successor {k} of {s!r}", "return probabilities >= 0.", where=place(model, "successor")
            )
        masses[plain.index(s2)] = masses.get(plain.index(s2), 0.0) + p
        total += p
        if total >= 1.0 - 1e-12:
            break
    if abs(total - 1.0) > 1e-9:
        problem = f"has probabilities that sum to {total:.9g}, not 1, from {s!r} under action {a}"
        return ModelError(problem, "let k run over all successors and make them sum to 1.", where=place(model, "successor"))

    def log_mass(index: tuple[int]) -> float:
        mass = masses.get(index[0], 0.0)
        return math.log(mass) if mass > 0.0 else -math.inf

    wrong = disagreement(lambda r: (plain.index(plain.step(s, a, r)[0]),), log_mass, site)
    if wrong:
        problem = f"does not follow `successor` from state {s!r} under action {a}: {wrong}"
        return ModelError(problem, "make both the same distribution.", where=place(model, "step"))
    return None


__all__ = ["CompileError", "Finding", "Report", "check", "walk"]
