"""Linking: the same function over compiled, or over interpreted, surroundings.

A function linked for compilation is a numba dispatcher whose helpers, modules and NamedTuples are compiled too; linked for
interpretation it is plain Python with the same coercions. Three modes: "compiled", "debug" (compiled with bounds checks)
and "interpreted" (breakpoints work).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload

from airoas import content
from airoas.content import Reads, is_namedtuple, is_native
from airoas.errors import ModelError, OptionError

MODES = ("compiled", "debug", "interpreted")
_mode = ""


def mode() -> str:
    """The mode in force: set by `running`, else by the environment variable AIROAS_MODE, else "compiled"."""
    return _mode or _valid(os.environ.get("AIROAS_MODE", "compiled"), "AIROAS_MODE")


def _valid(name: str, source: str) -> str:
    if name not in MODES:
        raise OptionError(f"{source} is {name!r}", f"use one of {', '.join(MODES)}.")
    return name


@contextlib.contextmanager
def running(name: str) -> Iterator[None]:
    """Run what is inside in another mode: `with airoas.running("interpreted"): ...`."""
    global _mode
    before, _mode = _mode, _valid(name, "the mode")
    try:
        yield
    finally:
        _mode = before


# --- coercions: a field annotated float holds a float in every branch, interpreted and compiled ---


def as_float(x: Any) -> float:
    """A number as float."""
    if isinstance(x, (int, float, np.integer, np.floating, np.bool_)):
        return float(x)
    raise ModelError(f"{x!r} stands where a float belongs", "return numbers.")


def as_int(x: Any) -> int:
    """An integer as int. A float is refused: dropping its fraction silently would hide a mistake."""
    if isinstance(x, (int, np.integer, np.bool_)):
        return int(x)
    raise ModelError(f"{x!r} stands where an int belongs", "write int(...) around it, or make the component a float.")


def as_bool(x: Any) -> bool:
    """A truth value as bool."""
    if isinstance(x, (bool, int, np.integer, np.bool_)):
        return bool(x)
    raise ModelError(f"{x!r} stands where True or False belongs", "return a comparison.")


def _number(kind: Any) -> bool:
    return isinstance(kind, (types.Number, types.Boolean))


@overload(as_float)
def _as_float(x):
    if _number(x):
        return lambda x: float(x)
    raise TypingError(f"a value of type {x} stands where a float belongs")


@overload(as_int)
def _as_int(x):
    if isinstance(x, (types.Integer, types.Boolean)):
        return lambda x: int(x)
    raise TypingError(f"a value of type {x} stands where an int belongs; write int(...) around it")


@overload(as_bool)
def _as_bool(x):
    if isinstance(x, (types.Integer, types.Boolean)):
        return lambda x: bool(x)
    raise TypingError(f"a value of type {x} stands where True or False belongs; return a comparison")


COERCE: dict[str, Callable[[Any], Any]] = {"float": as_float, "int": as_int, "bool": as_bool}
_OVERLOADED = tuple(COERCE.values())


def define(source: str, name: str, **scope: Any) -> python_types.FunctionType:
    """The function `name` of a source text of ours, over the given globals."""
    exec(compile(source, "<airoas>", "exec"), scope)
    function: python_types.FunctionType = scope[name]
    return function


_constructors: dict[type, python_types.FunctionType] = {}


def constructor(record: type) -> python_types.FunctionType:
    """A NamedTuple's constructor that coerces each field to its annotation."""
    if record not in _constructors:
        kinds = content.field_kinds(record)
        fields: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
        values = ", ".join(f"as_{kinds[f]}({f})" if kinds.get(f) in COERCE else f for f in fields)
        made = define(
            f"def build({', '.join(fields)}):\n    return _record({values})\n",
            "build",
            _record=record,
            **{f"as_{kind}": coerce for kind, coerce in COERCE.items()},
        )
        defaults = record._field_defaults  # type: ignore[attr-defined]
        made.__defaults__ = tuple(defaults[f] for f in fields if f in defaults) or None
        _constructors[record] = made
    return _constructors[record]


# --- linking: the same function over compiled, or over interpreted, surroundings ---

_linked: dict[tuple[int, str], Any] = {}
_kept: list[Any] = []  # what `_linked` refers to by id stays alive
unnamed = itertools.count()


def jit_options(how: str) -> dict[str, Any]:
    return {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": how == "debug"}


def unique_name(function: python_types.FunctionType) -> tuple[str, str | None]:
    """A name that two functions share only if they are made of the same things, and the digest behind it."""
    try:
        made_of = content.digest(function)
        return f"{function.__name__}_{made_of[:16]}", made_of
    except content.UnknownContentError:
        return f"{function.__name__}unnamed{next(unnamed)}", None


def link(function: python_types.FunctionType, how: str) -> Any:
    """A function ready to run in mode `how`: a numba dispatcher, or plain Python."""
    key = (id(function), how)
    if key in _linked:
        return _linked[key]
    _kept.append(function)

    def convert(value: Any, below: Reads) -> Any:
        if content.is_kernel(value):
            return link(value.function, how)
        if isinstance(value, python_types.ModuleType) and not is_native(value):
            return content.module_over(value, below, convert)
        if how == "interpreted" and (value is math or getattr(value, "__module__", "") == "math"):
            return _forgiving(value)
        if is_namedtuple(value):
            return link(constructor(value), how)
        if isinstance(value, python_types.FunctionType) and not is_native(value) and value not in _OVERLOADED:
            return link(value, how)
        return value

    def finish(copy: python_types.FunctionType) -> Any:
        made = copy if how == "interpreted" else numba.jit(**jit_options(how))(copy)
        _linked[key] = made
        return made

    name = function.__name__ if how == "interpreted" else unique_name(function)[0]
    return content.relink(function, convert, finish, name=name, keep=("_record",) if function in _constructors.values() else ())


class _ForgivingMath(python_types.ModuleType):
    """`math` as compiled code computes it: log(0) is -inf and sqrt(-1) is nan instead of an exception."""

    def __getattr__(self, name: str) -> Any:
        return _forgiving(getattr(math, name))


def _forgiving(value: Any) -> Any:
    if value is math:
        return _FORGIVING
    if not callable(value):
        return value
    ufunc: Any = {"pow": np.power, "gamma": None, "lgamma": None}.get(value.__name__, getattr(np, value.__name__, None))

    def call(*arguments: Any) -> Any:
        try:
            return value(*arguments)
        except (ValueError, OverflowError):
            if ufunc is None or value.__name__ in ("floor", "ceil", "trunc"):
                raise
            with np.errstate(all="ignore"):
                return float(ufunc(*[float(x) for x in arguments]))

    return call


_FORGIVING = _ForgivingMath("math")
