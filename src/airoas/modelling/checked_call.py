"""Calls into a user's methods in plain Python: what they raise and what they return, judged at the user's own lines."""

from __future__ import annotations

import itertools
import traceback
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.compiler.arrays import FixedArray
from airoas.compiler.kernels import interpreted
from airoas.compiler.native import Native
from airoas.compiler.specialise import specialise
from airoas.errors import AiroasError, ModelError, suggest
from airoas.modelling.interface import HOOKS, Hook
from airoas.modelling.introspection import files_of, functions_in, location, written_in
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.layout import Shape, is_number
from airoas.rng import Rng


def guard(model: Any, name: str, call: Callable[[], Any]) -> Any:
    """The result of a call into the user's code; what it raises becomes a ModelError with the user's own line."""
    try:
        return call()
    except AiroasError as error:
        if error.where:
            raise
        field, value, declared = _refused_field(error)
        where = _line_of(error, model, name) or location(model, name)
        if field:
            remedy = f"annotate `{field}: {'float' if isinstance(value, float) else type(value).__name__}`, or write {declared}(...) here."
            raise ModelError(f"gives {value!r} for `{field}`, which is declared {declared}", remedy, where=where) from None
        error.where = where
        raise
    except Exception as error:
        problem, remedy = _raised(error)
        raise ModelError(problem, remedy, where=_line_of(error, model, name) or location(model, name)) from None


def _raised(error: Exception) -> tuple[str, str]:
    if isinstance(error, RecursionError):
        return "calls itself without end", "give the recursion an end, or write a loop."
    problem = f"raises {type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"
    if isinstance(error, AttributeError) and error.name is not None:
        return problem, _attribute_remedy(error.name, error.obj)
    return problem, next((remedy for kind, remedy in _REMEDIES if isinstance(error, kind)), "mend that line.")


def _attribute_remedy(name: str, owner: Any) -> str:
    if isinstance(owner, Rng):
        return "the stream has `rng.uniform()`, `rng.normal()` and `rng.integer(n)`."
    if isinstance(owner, FixedArray):
        return "it has [i], `with_(i, value)`, `copy()` and `shape`."
    if isinstance(owner, Native):
        known = [*type(owner)._fields, *functions_in(type(owner)), *owner.__dict__]  # type: ignore[attr-defined]
        return f"{suggest(name, known)}add a field `{name}`, or return it from `prepare`."
    return f"{suggest(name, getattr(owner, '_fields', ()))}use one of its fields."


_REMEDIES: tuple[tuple[type[Exception], str], ...] = (
    (UnboundLocalError, "give it a value on every path."),
    (NameError, "define or import it, or mend the name."),
    (ZeroDivisionError, "test for zero first; compiled code would go on with inf or nan."),
    (IndexError, "keep the index inside; compiled code would read whatever lies there."),
    (TypeError, "mend that line; all values are numbers, tuples and arrays."),
    (Exception, 'mend that line; `with airoas.running("interpreted"):` lets a debugger stop there.'),
)


def _line_of(error: BaseException, model: KernelModel, name: str) -> str:
    """`Class.method (file, line n: code)` of the innermost line of the user's that an error went through, or nothing."""
    kind = model if isinstance(model, type) else type(model)
    files = files_of(kind)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    if not frames:
        return ""
    method = next((frame.name for frame in reversed(frames) if frame.name in functions_in(kind)), name)
    code = f": `{frames[-1].line}`" if frames[-1].line else ""
    return f"{kind.__name__}.{method} ({frames[-1].filename}, line {frames[-1].lineno}{code})"


def _refused_field(error: BaseException) -> tuple[str, Any, str]:
    """The field of a NamedTuple that refused a value, the value and the field's kind; nothing where it was another error."""
    frames = list(traceback.walk_tb(error.__traceback__))
    for (outer, _), (inner, _) in itertools.pairwise(frames):
        if (
            outer.f_code.co_filename == "<airoas>"
            and outer.f_code.co_name == "build"
            and inner.f_code.co_name in ("as_float", "as_int", "as_bool")
        ):
            value = inner.f_locals["x"]
            for field, given in outer.f_locals.items():
                if given is value:
                    return field, value, inner.f_code.co_name.removeprefix("as_")
    return "", None, ""


class CheckedCalls:
    """Calls a model's methods interpreted, each result checked against the protocol and then coerced to the model's shapes."""

    def __init__(self, model: KernelModel) -> None:
        self.model = model
        self.plain = interpreted(model)
        self._raw = {
            name: specialise(value, "interpreted")
            for name, value in written_in(type(model)).items()
            if name in HOOKS and HOOKS[name].compiled and isinstance(value, types.FunctionType)
        }
        shapes = {"state": model.shapes.state, "observation": model.shapes.observation, "action": model.shapes.action}
        self._shapes: dict[str, Shape] = {part: shape for part, shape in shapes.items() if shape is not None}
        self._rebuild = {part: specialise(shape.rebuild(), "interpreted") for part, shape in self._shapes.items()}

    def __call__(self, name: str, *arguments: Any) -> Any:
        if name not in self._raw:
            return guard(self.model, name, lambda: getattr(self.plain, name)(*arguments))
        hook = HOOKS[name]
        returned = guard(self.model, name, lambda: self._raw[name](self.plain, *arguments))
        parts = hook.returns.split(", ")
        if len(parts) == 1:
            return self._judged(hook, parts[0], returned)
        if not is_pair(returned):
            raise self._problem(hook, f"returns {returned!r}, not a pair", f"return {PAIRS[name]} from every branch.")
        if parts[0] == "state" and not isinstance(returned[0], tuple):
            raise self._problem(hook, f"returns {returned!r}, whose first part is not a state", f"return {PAIRS[name]} from every branch.")
        return tuple(self._judged(hook, part, value) for part, value in zip(parts, returned, strict=True))

    def _problem(self, hook: Hook, problem: str, remedy: str) -> ModelError:
        return ModelError(problem, remedy, where=location(self.model, hook.name))

    def _judged(self, hook: Hook, part: str, value: Any) -> Any:
        if part in self._shapes:
            return self._tuple(hook, part, value)
        if part in ("integer", "action"):
            if not isinstance(value, (int, np.integer, np.bool_)):
                raise self._problem(hook, f"returns {value!r}, not an integer", f"return an integer: {hook.meaning}.")
            return int(value)
        if part == "flag":
            if not isinstance(value, (int, np.integer, np.bool_)):
                raise self._problem(hook, f"returns {value!r}, not True or False", "return a comparison, in every branch.")
            return bool(value)
        if part == "nothing":
            return None
        if not is_number(value):
            what = _REALS.get(hook.name, "a number")
            remedy = f"return {PAIRS[hook.name]} from every branch." if hook.name in PAIRS else f"return {hook.meaning}, from every branch."
            raise self._problem(hook, f"returns {value!r} where {what} belongs", remedy)
        return float(value)

    def _tuple(self, hook: Hook, part: str, value: Any) -> Any:
        self._judge_tuple(hook, part, self._shapes[part], value)
        return guard(self.model, hook.name, lambda: self._rebuild[part](value))

    def _judge_tuple(self, hook: Hook, part: str, shape: Shape, value: Any) -> None:
        source = {"state": "initial", "observation": "observe", "action": "sample_action"}[part]
        expected = f"{shape.record.__name__}({', '.join(shape.record._fields)})" if shape.record else f"a tuple {shape}"
        if type(value) is not (shape.record or tuple) or len(value) != len(shape.parts):
            first = "an earlier call" if source == hook.name else f"`{source}`"
            problem = f"returns {value!r} as {_article(part)}, where {first} returns {expected}"
            raise self._problem(hook, problem, "return the same kind of tuple from every branch and method.")
        for position, (kind, item) in enumerate(zip(shape.parts, value, strict=True)):
            field = f"`{shape.record._fields[position]}`" if shape.record else f"number {position}"
            if isinstance(kind, Shape):
                self._judge_tuple(hook, part, kind, item)
            elif issubclass(kind, FixedArray):
                guard(self.model, hook.name, lambda kind=kind, item=item: kind(item))  # type: ignore[misc]
            elif not is_number(item):
                raise self._problem(hook, f"returns {item!r} for {field} of {_article(part)}", "return numbers there.")
            elif kind is int and not isinstance(item, (int, np.integer, np.bool_)):
                known = "is declared int" if shape.record else f"is an int in `{source}`"
                change = f"annotate {field} as float" if shape.record else f"write a float in `{source}` (0.0 for 0)"
                problem = f"returns the float {item!r} for {field} of {_article(part)}, which {known}"
                raise self._problem(hook, problem, f"{change}, or write int(...) here.")


def is_pair(value: Any) -> bool:
    """A plain tuple of two; a state may be a NamedTuple of two numbers, and is not meant."""
    return type(value) is tuple and len(value) == 2


def _article(part: str) -> str:
    return f"an {part}" if part[0] in "ao" else f"a {part}"


PAIRS = {"step": "(next_state, reward)", "successor": "(next_state, probability)", "value_bounds": "(lower, upper)"}
_REALS = {"step": "the reward", "successor": "the probability", "obs_logpdf": "a log density", "step_logpdf": "a log density"}
