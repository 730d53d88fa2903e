"""What a function is made of: which globals it reads, a digest of all of it, and the same function over other globals.

A compiled kernel may be loaded from disk only if nothing that it was made from has changed. `digest` therefore follows a
function into every function, class and constant that its bytecode reads, `module.attribute` chains included. `rebind_globals`
rebuilds the function over converted globals: that is how helpers get compiled and how interpreted code gets the same
coercions as compiled code.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import hashlib
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.types import Type

from airoas.rng import hash_key, new_stream, rng_type

Reads = dict[str, "Reads"]
"""Names that code reads and, below each, the attributes that it reads of them: `{"math": {"sqrt": {}}, "State": {}}`."""

_NATIVE_PACKAGES = ("builtins", "math", "cmath", "numpy", "numba", "llvmlite", "operator", "typing", "enum")
"""Packages that the compiler knows itself; their names are their content (their versions are part of the cache key)."""


OVERLOADED: list[Callable[..., Any]] = [hash_key, new_stream]
"""Functions with a compiled form of their own (numba's `overload`) in the same file; specialising leaves them as they are."""


class NoFingerprintError(Exception):
    """The digest met an object that it cannot see into, so the result must not be cached."""


def is_native(value: object) -> bool:
    """Whether the compiler knows this module, function or class itself."""
    if isinstance(value, np.ufunc):  # anyone can make one; the compiler knows numpy's
        return getattr(np, value.__name__, None) is value
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in _NATIVE_PACKAGES


def is_namedtuple(value: object) -> typing.TypeGuard[type[tuple[Any, ...]]]:
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def is_kernel(value: object) -> bool:
    """Whether this is a kernel (`airoas.compiler.kernels.Kernel`), whose `function` holds the code."""
    return bool(getattr(type(value), "is_kernel", False))


def plain(value: Any) -> Any:
    """The Python function behind a kernel or a function that the user jitted; anything else as it is."""
    if is_kernel(value):
        return value.function
    return value.py_func if isinstance(value, Dispatcher) else value


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the lambdas, comprehensions and functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS")


def reads(function: types.FunctionType) -> Reads:
    """The global and closure names that a function reads, each with its attribute chains."""
    enclosed = _closure(function)
    tree = _loads(function.__code__)
    return {name: below for name, below in tree.items() if name in enclosed or name in function.__globals__}


@functools.lru_cache(4096)
def _loads(whole: types.CodeType) -> Reads:
    tree: Reads = {}
    for code in codes(whole):
        node: Reads | None = None
        for instruction in dis.get_instructions(code):
            if instruction.opname in _LOADS:
                node = tree.setdefault(instruction.argval, {})
            elif node is not None and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                node = node.setdefault(instruction.argval, {})
            elif instruction.opname != "EXTENDED_ARG":  # the first half of an instruction that refers to a far name
                node = None
    return tree


def attributes(function: types.FunctionType) -> set[str]:
    """Every attribute name that a function's code mentions, whoever it belongs to."""
    return {name for code in codes(function.__code__) for name in code.co_names}


def _closure(function: types.FunctionType) -> dict[str, Any]:
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:  # not assigned yet: a function that refers to itself while being defined
            continue
    return values


def lookup(function: types.FunctionType, name: str) -> Any:
    """The value that `name` has inside `function`."""
    enclosed = _closure(function)
    return enclosed[name] if name in enclosed else function.__globals__[name]


def reachable(function: types.FunctionType) -> Iterator[types.FunctionType]:
    """The function and every plain function that it can call through a name, each once."""
    seen: set[types.FunctionType] = set()
    queue: list[Any] = [(function, {})]
    while queue:
        value, below = queue.pop()
        value = plain(value)
        if isinstance(value, types.ModuleType) and not is_native(value):
            queue += [(getattr(value, name), deeper) for name, deeper in below.items() if hasattr(value, name)]
        elif isinstance(value, types.FunctionType) and not is_native(value) and value not in seen:
            seen.add(value)
            yield value
            queue += [(lookup(value, name), deeper) for name, deeper in reads(value).items()]


def rebind_globals(
    function: types.FunctionType,
    convert: Callable[[Any, Reads], Any],
    finish: Callable[[types.FunctionType], Any],
    *,
    name: str,
    keep: tuple[str, ...] = (),
) -> Any:
    """The same code over globals that went through `convert(value, attributes read of it)`.

    `finish` gets the new function before its globals are filled in, so that a function may refer to itself.
    """
    scope: dict[str, Any] = {"__builtins__": builtins, "__name__": __name__}
    cells = tuple(types.CellType() for _ in function.__code__.co_freevars)
    copy = types.FunctionType(function.__code__, scope, name, function.__defaults__, cells or None)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = name
    copy.__module__ = __name__  # importable anywhere: a cached kernel names the module of each function inside it
    copy.__doc__ = function.__doc__
    finished = finish(copy)
    for key, below in reads(function).items():
        value = lookup(function, key)
        scope[key] = value if key in keep else convert(value, below)
    for key, cell in zip(function.__code__.co_freevars, cells, strict=True):
        if key in scope:
            cell.cell_contents = scope[key]
    return finished


def module_over(module: types.ModuleType, below: Reads, convert: Callable[[Any, Reads], Any]) -> types.ModuleType:
    """A stand-in for a user's module with the attributes that are read of it, converted."""
    stand_in = types.ModuleType(module.__name__)
    for name, deeper in below.items():
        if hasattr(module, name):
            setattr(stand_in, name, convert(getattr(module, name), deeper))
    return stand_in


def digest(value: object, below: Reads | None = None) -> str:
    """A hexadecimal digest of everything that `value` is made of; raises NoFingerprintError rather than guess."""
    return _Digest().of(value, below or {})


class _Digest:
    """One walk over a value. Every part is framed by its length and every sequence by its count, so no two contents look alike."""

    def __init__(self) -> None:
        self._text = hashlib.sha256()
        self._seen: dict[Any, int] = {}  # functions and classes met so far, by their number: they may refer to each other

    def of(self, value: Any, below: Reads) -> str:
        self._walk(value, below)
        return self._text.hexdigest()

    def _put(self, *parts: object) -> None:
        for part in parts:
            raw = part if isinstance(part, bytes) else str(part).encode(errors="surrogatepass")
            self._text.update(len(raw).to_bytes(8, "little") + raw)

    def _each(self, items: Collection[Any]) -> None:
        self._put(len(items))
        for item in items:
            self._walk(item)

    def _walk(self, item: Any, below: Reads | None = None) -> None:
        item = plain(item)
        if isinstance(item, (types.FunctionType, type)):
            if item in self._seen:
                self._put("seen", self._seen[item])
                return
            self._seen[item] = len(self._seen)
        kind = type(item)
        if isinstance(item, enum.Enum):
            self._walk(kind)
            self._put("member", item.name)
        elif item is None or item is ... or isinstance(item, (np.generic, slice, range)):
            self._put(kind.__name__, repr(item))
        elif isinstance(item, (int, str, bytes, complex, float)):
            base = next(base for base in (bool, int, str, bytes, complex, float) if isinstance(item, base))
            self._put(base.__name__, item.hex() if isinstance(item, float) else base.__repr__(item))
        elif isinstance(item, tuple):
            self._put("tuple")
            self._walk(kind if is_namedtuple(kind) else None)
            self._each(item)
        elif isinstance(item, frozenset):
            self._put("frozenset", len(item), *sorted(digest(element) for element in item))
        elif isinstance(item, np.ndarray) and not item.dtype.hasobject:
            self._put("array", item.dtype.str, item.shape, np.ascontiguousarray(item).tobytes())
        elif isinstance(item, types.CodeType):
            self._code(item)
        elif isinstance(item, types.FunctionType):
            self._function(item)
        elif isinstance(item, types.ModuleType):
            self._put("module", item.__name__, len(below or {}))
            for name, deeper in sorted((below or {}).items()):
                self._put(name)
                if not is_native(item):
                    self._walk(getattr(item, name, None), deeper)
        elif isinstance(item, (type, types.BuiltinFunctionType, np.ufunc)) and is_native(item):
            self._put("native", getattr(item, "__module__", ""), item.__name__)
        elif isinstance(item, type):
            self._class(item)
        elif isinstance(item, Type) and (is_native(item) or item is rng_type):  # whose file is in every key
            self._put("numba", repr(item))
        elif kind.__module__ == "llvmlite.ir.types":
            self._put("llvm", str(item))
        elif kind.__module__ == "numba.core.extending" and hasattr(item, "_defn"):  # an intrinsic
            self._put("intrinsic")
            self._walk(item._defn)
        else:
            raise NoFingerprintError(f"{kind.__qualname__} object")

    def _function(self, function: types.FunctionType) -> None:
        self._put("function", function.__name__)
        if is_native(function):
            self._put(function.__module__)
            return
        if function in OVERLOADED:
            self._put(_file(function.__code__.co_filename))
            return
        self._code(function.__code__)
        self._walk(function.__defaults__)
        self._each(sorted((function.__kwdefaults__ or {}).items()))
        tree = reads(function)
        self._put(len(tree))
        for name, below in sorted(tree.items()):
            self._put(name)
            self._walk(lookup(function, name), below)

    def _code(self, code: types.CodeType) -> None:
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        names = code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars
        self._put("code", code.co_code, code.co_exceptiontable, *counts, *names)
        self._each(code.co_consts)

    def _class(self, item: Any) -> None:
        if is_namedtuple(item):
            hints = field_hints(item)
            self._put("namedtuple", item.__name__, [(name, _spelled(hints.get(name))) for name in item._fields])  # type: ignore[attr-defined]
            self._each([hint for hint in hints.values() if is_namedtuple(hint)])
            self._each(list(item._field_defaults.items()))  # type: ignore[attr-defined]
        elif hasattr(item, "holds_flags"):  # a Vector or Flags
            self._put("array", item.__name__)
        elif issubclass(item, enum.Enum):
            self._put("enum", item.__name__)
            self._each([(name, member.value) for name, member in item.__members__.items()])
        elif issubclass(item, BaseException) and item.__module__ != "__main__" and _importable(item):  # else a stored one is another class
            self._put("exception", item.__module__, item.__qualname__)
        else:
            raise NoFingerprintError(f"class {item.__qualname__}")


@functools.cache
def _file(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise NoFingerprintError(f"source file {path}") from error


def _importable(item: type) -> bool:
    return getattr(sys.modules.get(item.__module__), item.__qualname__, None) is item


def field_hints(record: type) -> dict[str, Any]:
    """Field name -> annotation of a NamedTuple; its text where that says nothing in the class's module."""
    hints = {}
    for name, hint in getattr(record, "__annotations__", {}).items():
        text = hint if isinstance(hint, str) else getattr(hint, "__forward_arg__", None)
        if text is not None:
            try:
                hint = eval(text, {**vars(sys.modules.get(record.__module__, builtins))})
            except Exception:  # a name of a function's, or of type checkers' alone
                hint = {"float": float, "int": int, "bool": bool}.get(text, text)
        hints[name] = hint
    return hints


def _spelled(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)
