"""Specialising: the same function over compiled, or over interpreted, globals.

A function specialised for compilation is a numba dispatcher whose helpers, modules and NamedTuples are compiled too; specialised for
interpretation it is plain Python with the same coercions. Three modes: "compiled", "debug" (compiled with bounds checks)
and "interpreted" (breakpoints work). Three more are a GPU's, "cuda", "alone" and "warp" (see `lanes`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import math
import os
import secrets
import threading
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np

from airoas.compiler import fingerprint
from airoas.compiler.arrays import COERCIONS, FixedArray, coerced
from airoas.compiler.coercion import PlainElements, widened
from airoas.compiler.fingerprint import OVERLOADED, Reads, is_namedtuple, is_native
from airoas.compiler.inline import InlineOnly
from airoas.compiler.lanes import each, lanes
from airoas.errors import OptionError, suggest

MODES = ("compiled", "debug", "interpreted")
_mode = ""


def current_mode() -> str:
    """The mode in force: set by `running`, else by the environment variable AIROAS_MODE, else "compiled"."""
    if numba.config.DISABLE_JIT:
        return "interpreted"
    return _mode or _mode_of_environment()


@functools.cache
def _mode_of_environment() -> str:
    """Looked up once in a process: every call of a kernel asks, and a look takes a thirtieth of a small update."""
    return _valid(os.environ.get("AIROAS_MODE", "compiled"), "AIROAS_MODE")


def _valid(name: str, source: str) -> str:
    if name not in MODES:
        raise OptionError(f"{source} is {name!r}", f"use one of {', '.join(MODES)}.")
    return name


@contextlib.contextmanager
def running(name: str) -> Iterator[None]:
    """Run what is inside in another mode, in every thread: `with airoas.running("interpreted"): ...`."""
    global _mode
    before, _mode = _mode, _valid(name, "the mode")
    try:
        yield
    finally:
        _mode = before


def define(source: str, name: str, **scope: Any) -> python_types.FunctionType:
    """The function `name` of a source text of ours, over the given globals."""
    exec(compile(source, "<airoas>", "exec"), scope)
    function: python_types.FunctionType = scope[name]
    return function


_constructors: dict[type, python_types.FunctionType] = {}
_records_of: dict[python_types.FunctionType, type] = {}  # of the constructors


def constructor(record: type) -> python_types.FunctionType:
    """A NamedTuple's constructor that coerces each field to its annotation."""
    if record not in _constructors:
        hints = fingerprint.field_hints(record)
        fields: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
        values = ", ".join(coerced(hints.get(field), field) for field in fields)
        build = define(f"def build({', '.join(fields)}):\n    return _record({values})\n", "build", _record=record, **COERCIONS)
        defaults = record._field_defaults  # type: ignore[attr-defined]
        build.__defaults__ = tuple(defaults[f] for f in fields if f in defaults) or None
        _constructors[record], _records_of[build] = build, record
    return _constructors[record]


def no_field(record: type, name: str) -> tuple[str, str]:
    """What is wrong with `_replace` of a field that there is not, and what to do."""
    fields: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    return f"{record.__name__} has no field `{name}`", f"{suggest(name, fields)}Its fields are {', '.join(fields)}."


_array_constructors: dict[type, python_types.FunctionType] = {}


def array_constructor(kind: type[FixedArray]) -> python_types.FunctionType:
    if kind not in _array_constructors:
        _array_constructors[kind] = define(f"def build(values=0):\n    return {coerced(kind, 'values')}\n", "build", **COERCIONS)
    return _array_constructors[kind]


class Unsized(NamedTuple):
    """Vector or Flags itself, for compiled code that writes `Vector[8](...)`."""

    holds_flags: bool
    mode: str


_records: dict[str, type] = {}


def compiled_record(record: type) -> type:
    """The NamedTuple class that stands for this one in compiled code: the first of the same content. Models of equal content are
    one to the compiler, also where a notebook's cell has made their classes anew."""
    try:
        return _records.setdefault(fingerprint.digest(record), record)
    except fingerprint.NoFingerprintError:
        return record


def canonicalise(value: Any, mode: str) -> Any:
    """A constant or a field as code in this mode sees it: the same numbers, with the same arithmetic, in each."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.view(PlainElements) if mode == "interpreted" else widened(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if type(value) is tuple:
        return tuple(canonicalise(item, mode) for item in value)
    if is_namedtuple(type(value)):
        return constructor(type(value) if mode == "interpreted" else compiled_record(type(value)))(*value)
    return value


# --- specialising: the same function over compiled, or over interpreted, globals ---

_specialised: dict[tuple[python_types.FunctionType, str], Any] = {}
_lock = threading.RLock()  # a function is in `_linked` before its globals are complete
_PROCESS = secrets.token_hex(16)
_unnamed = itertools.count()


ON_DEVICE: dict[str, dict[Any, python_types.FunctionType]] = {"cuda": {}, "alone": {}, "warp": {}, "shared": {}}
"""The modes of a GPU, and what stands in each for a function. "shared": what "warp" shares among the threads of one."""

WARP_FUNCTIONS: list[Callable[[python_types.FunctionType, Any], python_types.FunctionType]] = []
"""What makes of a function, and of what it is compiled to, the one that a warp calls."""

_noinline: set[python_types.FunctionType] = set()


def noinline(function: Any) -> Any:
    """Compile this function once for all who call it, instead of into each: for long ones that are not in a hot loop."""
    _noinline.add(function)
    return function


def is_noinline(function: python_types.FunctionType) -> bool:
    return function in _noinline


def is_shared(function: python_types.FunctionType) -> bool:
    """Whether a function loops over `lanes`."""
    return any(fingerprint.lookup(function, name) is lanes for name in fingerprint.reads(function))


def jit_options(mode: str, entry: bool = False, inline: bool = True) -> dict[str, Any]:
    """How numba compiles. Only an entry, that is a kernel, gets the wrapper that Python calls: unboxing costs most of the time.

    forceinline: a model's fields would travel by value into every call that is left, and streams through memory.
    """
    compiled = mode == "compiled" and inline
    wrappers = {"no_cpython_wrapper": not entry, "no_cfunc_wrapper": True}
    bounds = mode == "debug"
    return {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": bounds, "forceinline": compiled, **wrappers}


def fingerprint_of(function: python_types.FunctionType) -> str | None:
    """The digest of a function; None where it reads something that has no fingerprint."""
    try:
        return fingerprint.digest(function)
    except fingerprint.NoFingerprintError:
        return None


def unique_name(function: python_types.FunctionType) -> str:
    """A name that no function with another fingerprint has, nor any function compiled in another process.

    The linker takes functions of equal name and types for the same one, those in kernels loaded from the cache included.
    """
    digest = fingerprint_of(function) or f"unnamed{next(_unnamed)}"
    return f"{function.__name__}_{hashlib.sha256((_PROCESS + digest).encode()).hexdigest()[:16]}"


def _jit(copy: python_types.FunctionType, mode: str, function: python_types.FunctionType) -> Any:
    if mode in ON_DEVICE:
        from numba import cuda

        called = is_noinline(function) or (mode == "warp" and is_shared(function))
        if mode == "warp" and called and not is_shared(function):
            copy = WARP_FUNCTIONS[0](function, cuda.jit(device=True, forceinline=True)(copy))
        return cuda.jit(device=True, forceinline=not called and not _calls_itself(function))(copy)
    pipeline = {} if _calls_itself(function) else {"pipeline_class": InlineOnly}
    return numba.jit(**jit_options(mode, inline=not is_noinline(function)), **pipeline)(copy)


def _calls_itself(function: python_types.FunctionType) -> bool:
    """Whether a function can be reached from itself; numba resolves such calls in machine code."""
    others = itertools.islice(fingerprint.reachable(function), 1, None)
    return any(fingerprint.lookup(part, name) is function for part in (function, *others) for name in fingerprint.reads(part))


def specialise(function: python_types.FunctionType, mode: str) -> Any:
    """A function ready to run in a mode: a numba dispatcher, or plain Python."""
    with _lock:
        if mode != "interpreted" and function in _records_of:
            function = constructor(compiled_record(_records_of[function]))
        return _specialised.get((function, mode)) or _specialise(function, mode)


def entry_to(function: python_types.FunctionType, mode: str, opened: Any) -> tuple[Any, Callable[[], None]]:
    """A dispatcher that Python, or a shared kernel through its address, calls a compiled function by: the first argument is
    `opened` at once, which makes a model of its address. And what to call before it compiles: to load a stored kernel takes none
    of the functions that it was made from."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    rest = "".join(f", {name}" for name in names[1:])
    source = f"def entry({', '.join(names)}):\n    return function(opened({names[0]}){rest})\n"
    entry = define(source, "entry", opened=opened)
    entry.__module__ = __name__  # which numba imports when it loads a stored one

    def resolve() -> None:
        entry.__globals__["function"] = specialise(function, mode)
        entry.__name__ = entry.__qualname__ = unique_name(function)

    return numba.jit(**jit_options(mode, entry=True))(entry), resolve


def _specialise(function: python_types.FunctionType, mode: str) -> Any:
    def convert(value: Any, below: Reads) -> Any:
        value = fingerprint.plain(value)
        if mode in ON_DEVICE:
            if isinstance(value, (python_types.FunctionType, python_types.BuiltinFunctionType)) and value in ON_DEVICE[mode]:
                return specialise(ON_DEVICE[mode][value], mode)
            if value is math:
                return fingerprint.module_over(value, below, convert)
        elif value is lanes or value is each:
            return range  # itself: a loop over what a function returns would not become vector code
        if isinstance(value, python_types.ModuleType) and not is_native(value):
            return fingerprint.module_over(value, below, convert)
        if mode == "interpreted" and (value is math or getattr(value, "__module__", "") == "math"):
            return _forgiving(value)
        if is_namedtuple(value):
            return specialise(constructor(value), mode)
        if isinstance(value, type) and issubclass(value, FixedArray):
            if value.shape:
                return specialise(array_constructor(value), mode)
            return value if mode == "interpreted" else Unsized(value.holds_flags, mode)
        if isinstance(value, python_types.FunctionType) and not is_native(value) and value not in OVERLOADED:
            return specialise(value, mode)
        return canonicalise(value, mode)

    def finish(copy: python_types.FunctionType) -> Any:
        _specialised[function, mode] = copy if mode == "interpreted" else _jit(copy, mode, function)
        return _specialised[function, mode]

    if mode == "warp" and is_shared(function):
        return finish(WARP_FUNCTIONS[0](function, specialise(function, "shared")))
    name = function.__name__ if mode == "interpreted" else unique_name(function)
    try:
        return fingerprint.rebind_globals(function, convert, finish, name=name, keep=("_record",) if function in _records_of else ())
    except BaseException:
        _specialised.pop((function, mode), None)  # half specialised
        raise


def interpreted_class(kind: type, functions: dict[str, Any], properties: dict[str, Any], constants: dict[str, Any]) -> type:
    """A model class with these methods, properties and constants over interpreted surroundings."""
    scope = {name: specialise(function, "interpreted") for name, function in functions.items()}
    scope |= {name: property(specialise(getter, "interpreted")) for name, getter in properties.items()}
    scope |= {name: canonicalise(value, "interpreted") for name, value in constants.items()}
    return type(kind.__name__, (kind,), scope)


def interpreted_copy(model: Any, kind: type) -> Any:
    """The model as an instance of one of those classes."""
    copy: Any = tuple.__new__(kind, [canonicalise(value, "interpreted") for value in model])
    derived = model.__dict__.get("_derived", ())
    copy.__dict__.update({name: canonicalise(x, "interpreted") if name in derived else x for name, x in model.__dict__.items()})
    return copy


class _ForgivingMath(python_types.ModuleType):
    """`math` as compiled code computes it: log(0) is -inf and sqrt(-1) is nan instead of an exception."""

    def __getattr__(self, name: str) -> Any:
        value = _forgiving(getattr(math, name))
        setattr(self, name, value)  # found at once the next time
        return value


_NUMPY_NAMES = {"pow": "power", "acos": "arccos", "asin": "arcsin", "acosh": "arccosh", "atanh": "arctanh"}


def _forgiving(value: Any) -> Any:
    if value is math:
        return _FORGIVING
    if not callable(value):
        return value
    name = value.__name__
    ufunc: Any = getattr(np, _NUMPY_NAMES.get(name, name), None)

    def call(*arguments: Any) -> Any:
        try:
            return value(*arguments)
        except (ValueError, OverflowError):
            if not isinstance(ufunc, np.ufunc) or name in ("floor", "ceil", "trunc"):
                raise
            with np.errstate(all="ignore"):
                return float(ufunc(float(arguments[0]), *arguments[1:]))

    return call


_FORGIVING = _ForgivingMath("math")
