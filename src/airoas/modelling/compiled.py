"""A model class as compiled code sees it: the user's methods with coerced results, each checked alone first."""

from __future__ import annotations

import types
from typing import Any

import numba
import numpy as np

from airoas.compiler import cache, fingerprint
from airoas.compiler.arrays import COERCIONS
from airoas.compiler.diagnose import COMPILER_ERRORS, explain
from airoas.compiler.native import ModelType, NativeClass
from airoas.compiler.specialise import canonicalise, define, interpreted_class, interpreted_copy, specialise
from airoas.errors import ModelError
from airoas.modelling.interface import HOOKS, REQUIRED, Hook
from airoas.modelling.introspection import class_location, functions_in, location, written_in
from airoas.modelling.layout import Shape, Shapes, is_number
from airoas.rng import rng_type

_STATES, _INTEGERS = ("s", "s2", "parent"), ("i", "k", "t", "at")


ROWS = ("read_state", "write_state", "read_observation", "write_observation", "read_action", "write_action")
"""Methods that every model has inside kernels."""

_native_classes: dict[tuple[type, Shapes], NativeClass] = {}


def native_class(self: Any) -> NativeClass:
    """One for all instances of a class whose tuples have the same shapes."""
    kind = type(self)
    if "_user_class" not in vars(kind):  # what it overrides would count in Python only
        base = next(base for base in kind.__mro__ if "_user_class" in vars(base))
        remedy = "write a NamedTuple of its own under @airoas.model; share plain functions between the two."
        raise ModelError(f"inherits from the model {base.__name__}, which is not supported", remedy, where=f"class {kind.__name__}")
    key = (kind, self.shapes)
    if key not in _native_classes:
        _native_classes[key] = _native_class(self)
    return _native_classes[key]


def _native_class(self: Any) -> NativeClass:
    kind, shapes = type(self), self.shapes
    written = written_in(kind)
    functions: dict[str, types.FunctionType] = {
        "read_state": shapes.state.read(),
        "write_state": shapes.state.write(),
        "read_observation": shapes.observation.read(),
        "write_observation": shapes.observation.write(),
    }
    for name in {"is_terminal", "legal", "mutate_logratio", "rollout_action"} - set(written):
        functions[name] = getattr(kind, name)  # the default
    if shapes.action is None:
        functions["read_action"] = define("def read(self, rows, i):\n    return int(rows[i, 0])\n", "read")
        functions["write_action"] = define("def write(self, rows, i, a):\n    rows[i, 0] = a\n", "write")
    else:
        draw = _wrapped(written["sample_action"], HOOKS["sample_action"], shapes) if "sample_action" in written else self.space.sampler()
        functions["sample_action"] = draw
        if "rollout_action" not in written:
            functions["rollout_action"] = draw
        functions["read_action"], functions["write_action"] = shapes.action.read(), shapes.action.write()
    theirs, properties, constants = _written(kind)
    for name, function in theirs.items():
        hook = HOOKS.get(name)
        functions[name] = _wrapped(function, hook, shapes) if hook and hook.compiled else function
    check, where = (lambda model_type, names: _check_methods(self, model_type, names)), (lambda: class_location(kind))
    return NativeClass(kind.__name__, functions, properties, constants, check, where)


def as_written(self: Any) -> Any:
    """The model with the user's own methods over interpreted surroundings, before its shapes are known."""
    if type(self) not in _as_written:
        _as_written[type(self)] = interpreted_class(type(self), *_written(type(self)))
    return interpreted_copy(self, _as_written[type(self)])


_as_written: dict[type, type] = {}


def _written(kind: type) -> tuple[dict[str, types.FunctionType], dict[str, types.FunctionType], dict[str, Any]]:
    """The compiled hooks that the user wrote, and what methods, properties and constants of the class they mention."""
    functions: dict[str, types.FunctionType] = {}
    properties: dict[str, types.FunctionType] = {}
    constants: dict[str, Any] = {}
    written = written_in(kind)
    queue = [name for name, hook in HOOKS.items() if hook.compiled and name in written]
    seen = set(queue)
    while queue:
        name = queue.pop()
        value = _with_self(written[name])
        function = value.fget if isinstance(value, property) else value
        if isinstance(function, types.FunctionType):
            (properties if isinstance(value, property) else functions)[name] = function
            mentioned = {m for part in fingerprint.reachable(function) for m in fingerprint.attributes(part)}
            new = [m for m in mentioned if m in written and m not in seen and not (m in HOOKS and not HOOKS[m].compiled)]
            seen.update(new)
            queue += new
        elif is_number(value) or isinstance(value, (tuple, np.ndarray)):
            constants[name] = canonicalise(value, "compiled")
    if "discount" in written:
        constants["discount"] = written["discount"]
    return functions, properties, constants


def _with_self(value: Any) -> Any:
    """A static method as a method; anything else as it is."""
    if not isinstance(value, staticmethod):
        return value
    function: Any = value.__func__
    given = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
    method = define(f"def {function.__name__}(self, {given}):\n    return function({given})\n", function.__name__, function=function)
    method.__defaults__ = function.__defaults__
    return method


def _wrapped(function: types.FunctionType, hook: Hook, shapes: Shapes) -> types.FunctionType:
    """The user's method with what it returns coerced to the shapes of the model."""
    parts = hook.returns.split(", ")
    coerced = ", ".join(_COERCED[part].format(f"x[{position}]" if len(parts) > 1 else "x") for position, part in enumerate(parts))
    if hook.returns == "action" and shapes.action is None:
        coerced = "as_int(x)"
    scope: dict[str, Any] = COERCIONS | {"rebuild_state": shapes.state.rebuild(), "rebuild_observation": shapes.observation.rebuild()}
    if shapes.action is not None:
        scope["rebuild_action"] = shapes.action.rebuild()
    given = ", ".join(("self", *hook.parameters))
    source = f"def {hook.name}({given}):\n    x = user_{hook.name}({given})\n    return {coerced}\n"
    return define(source, hook.name, **scope, **{f"user_{hook.name}": function})


_COERCED = {
    "state": "rebuild_state({})",
    "observation": "rebuild_observation({})",
    "action": "rebuild_action({})",
    "real": "as_float({})",
    "integer": "as_int({})",
    "flag": "as_bool({})",
    "nothing": "None",
}


def _check_methods(self: Any, model_type: ModelType, names: frozenset[str]) -> bool:
    """Compile each of the user's methods alone, so that a mistake is reported where it stands. Whether those that every model has compile,
    too: a kernel that does not mention them may come first."""
    for hook in HOOKS.values():
        if hook.compiled and hook.name in names and self.has(hook.name):
            problem = method_problem(self, model_type, hook)
            if problem is not None:
                raise problem
    whole = ModelType(self.native().native_class, model_type.mode, tuple(model_type.fields.items()))
    return all(method_problem(self, whole, HOOKS[name]) is None for name in REQUIRED)


def method_problem(self: Any, model_type: ModelType, hook: Hook) -> ModelError | None:
    """What is wrong with one method once it is compiled against the declared types, or None. One that compiled is remembered."""
    shapes = self.shapes
    user = written_in(type(self))[hook.name]
    kinds = dict.fromkeys(_STATES, shapes.state.native()) | dict.fromkeys(_INTEGERS, numba.int64)
    kinds["o"] = shapes.observation.native()
    kinds["a"] = numba.int64 if shapes.action is None else shapes.action.native()
    kinds |= {"rng": rng_type, "beta": numba.float64, "out": numba.float64[::1]}
    dispatcher = specialise(user, model_type.mode)
    where = location(self, hook.name)
    signature = (model_type.only(hook.name), *[kinds[parameter] for parameter in hook.parameters])
    known = ("method", hook.name, *map(cache.spelled, signature))
    if signature[0].cacheable and cache.is_remembered(*known):
        return None
    try:
        dispatcher.compile(signature)
    except COMPILER_ERRORS as error:
        return explain(error, where, type(self), functions_in(type(self)))
    problem = _return_problem(self, hook, dispatcher.overloads[signature].signature.return_type, where)
    if problem is None and signature[0].cacheable:
        cache.remember(*known)
    return problem


def _return_problem(self: Any, hook: Hook, returned: Any, where: str) -> ModelError | None:
    shapes = self.shapes
    parts = hook.returns.split(", ")
    given = list(returned) if len(parts) > 1 and isinstance(returned, numba.types.BaseTuple) else [returned]
    if len(given) != len(parts):
        return ModelError(f"returns {returned}, not a pair", f"return ({hook.returns}): {hook.meaning}.", where=where)
    for part, kind in zip(parts, given, strict=True):
        if part in ("state", "observation") or (part == "action" and shapes.action is not None):
            problem = _tuple_problem(getattr(shapes, part), kind, part, where)
            if problem is not None:
                return problem
        elif part == "integer" or part == "action":
            if not isinstance(kind, (numba.types.Integer, numba.types.Boolean)):
                return ModelError(f"returns {kind}, not an integer", f"return an integer: {hook.meaning}.", where=where)
        elif part == "flag" and not isinstance(kind, (numba.types.Boolean, numba.types.Integer)):
            return ModelError(f"returns {kind}, not True or False", "return a comparison.", where=where)
        elif part == "real" and not isinstance(kind, (numba.types.Number, numba.types.Boolean)):
            return ModelError(f"returns {kind}, not a number", f"return a number: {hook.meaning}.", where=where)
    return None


def _tuple_problem(shape: Shape, kind: Any, part: str, where: str) -> ModelError | None:
    """What is wrong with a returned tuple of this type."""
    source = {"state": "initial", "observation": "observe", "action": "sample_action"}[part]
    if not isinstance(kind, numba.types.BaseTuple) or len(kind) != len(shape.parts):
        problem = f"returns {kind} for the {part}, where `{source}` gives {shape}"
        return ModelError(problem, f"return a tuple of {len(shape.parts)} parts.", where=where)
    for k, (want, have) in enumerate(zip(shape.parts, kind, strict=True)):
        if isinstance(want, Shape):
            nested = _tuple_problem(want, have, part, where)
            if nested is not None:
                return nested
        elif want is int and isinstance(have, numba.types.Float):
            field = shape.field(k)
            change = f"annotate `{field}: float`" if shape.record else f"write a float in `{source}` (0.0 for 0)"
            problem = f"gives a float for {field} of the {part}, which is an int in `{source}`"
            return ModelError(problem, f"{change}, or write int(...) here.", where=where)
    return None
