"""What a function is made of: which globals it reads, a digest of all of it, and the same function over other globals.

A compiled kernel may be loaded from disk only if nothing that it was made from has changed. `digest` therefore follows a
function into every function, class and constant that its bytecode reads, `module.attribute` chains included. `relink`
rebuilds the function over converted globals: that is how helpers get compiled and how interpreted code gets the same
coercions as compiled code.
"""

from __future__ import annotations

import builtins
import dis
import enum
import hashlib
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Reads = dict[str, "Reads"]
"""Names that code reads and, below each, the attributes that it reads of them: `{"math": {"sqrt": {}}, "State": {}}`."""

_NATIVE_PACKAGES = ("builtins", "math", "cmath", "numpy", "numba", "operator", "typing", "enum")
"""Packages that the compiler knows itself; their names are their content (their versions are part of the cache key)."""


class UnknownContentError(Exception):
    """The digest met an object whose content it cannot see, so the result must not be cached."""


def is_native(value: object) -> bool:
    """Whether the compiler knows this module, function or class itself."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    if isinstance(value, np.ufunc):
        name = "numpy"
    return isinstance(name, str) and name.partition(".")[0] in _NATIVE_PACKAGES


def is_namedtuple(value: object) -> typing.TypeGuard[type[tuple[Any, ...]]]:
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def is_kernel(value: object) -> bool:
    """Whether this is a kernel (`airoas.compile.Kernel`), whose `function` holds the code."""
    return bool(getattr(type(value), "is_kernel", False))


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the lambdas, comprehensions and functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def reads(function: types.FunctionType) -> Reads:
    """The global and closure names that a function reads, each with its attribute chains."""
    tree: Reads = {}
    for code in codes(function.__code__):
        node: Reads | None = None
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
                node = tree.setdefault(instruction.argval, {})
            elif node is not None and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                node = node.setdefault(instruction.argval, {})
            else:
                node = None
    known = {**_closure(function), **function.__globals__}
    return {name: below for name, below in tree.items() if name in known}


def attributes(function: types.FunctionType) -> set[str]:
    """Every attribute name that a function's code mentions, whoever it belongs to."""
    return {name for code in codes(function.__code__) for name in code.co_names}


def _closure(function: types.FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet: a function that refers to itself while being defined
            continue
    return found


def lookup(function: types.FunctionType, name: str) -> Any:
    """The value that `name` has inside `function`."""
    enclosed = _closure(function)
    return enclosed[name] if name in enclosed else function.__globals__[name]


def reachable(function: types.FunctionType) -> Iterator[types.FunctionType]:
    """The function and every plain function that it can call through a name, each once."""
    seen: set[int] = set()
    queue: list[Any] = [(function, {})]
    while queue:
        value, below = queue.pop()
        value = value.function if is_kernel(value) else value
        if isinstance(value, types.ModuleType) and not is_native(value):
            queue += [(getattr(value, name), deeper) for name, deeper in below.items() if hasattr(value, name)]
        elif isinstance(value, types.FunctionType) and not is_native(value) and id(value) not in seen:
            seen.add(id(value))
            yield value
            queue += [(lookup(value, name), deeper) for name, deeper in reads(value).items()]


def relink(
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
    made = finish(copy)
    for key, below in reads(function).items():
        value = lookup(function, key)
        scope[key] = value if key in keep else convert(value, below)
    for key, cell in zip(function.__code__.co_freevars, cells, strict=True):
        if key in scope:
            cell.cell_contents = scope[key]
    return made


def module_over(module: types.ModuleType, below: Reads, convert: Callable[[Any, Reads], Any]) -> types.ModuleType:
    """A stand-in for a user's module with the attributes that are read of it, converted."""
    stand_in = types.ModuleType(module.__name__)
    for name, deeper in below.items():
        if hasattr(module, name):
            setattr(stand_in, name, convert(getattr(module, name), deeper))
    return stand_in


def digest(value: object, below: Reads | None = None) -> str:
    """A hexadecimal digest of everything that `value` is made of; raises UnknownContentError rather than guess."""
    text = hashlib.sha256()
    seen: dict[int, int] = {}

    def put(*parts: object) -> None:
        for part in parts:
            raw = part if isinstance(part, bytes) else str(part).encode()
            text.update(len(raw).to_bytes(8, "little") + raw)

    def walk_code(code: types.CodeType) -> None:
        put("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_kwonlyargcount)
        for constant in code.co_consts:
            walk(constant, {})

    def walk(item: Any, tree: Reads) -> None:
        if isinstance(item, (types.FunctionType, types.ModuleType, type)):
            if id(item) in seen and not isinstance(item, types.ModuleType):
                put("seen", seen[id(item)])
                return
            seen[id(item)] = len(seen)
        item = getattr(item, "py_func", item)  # a function jitted by the user
        item = item.function if is_kernel(item) else item
        if item is None or (isinstance(item, (bool, int, str, bytes, complex, np.generic)) and not isinstance(item, enum.Enum)):
            put(type(item).__name__, repr(item))
        elif isinstance(item, float):
            put("float", item.hex())
        elif isinstance(item, types.CodeType):
            walk_code(item)
        elif isinstance(item, np.ndarray) and not item.dtype.hasobject:
            put("array", item.dtype.str, item.shape, np.ascontiguousarray(item).tobytes())
        elif isinstance(item, tuple):
            put(type(item).__name__, len(item))
            for element in item:
                walk(element, {})
        elif isinstance(item, frozenset):
            put("frozenset", *sorted(digest(element) for element in item))
        elif isinstance(item, types.ModuleType):
            put("module", item.__name__)
            for name, deeper in sorted(tree.items()):
                put(name)
                if not is_native(item):
                    walk(getattr(item, name, None), deeper)
        elif isinstance(item, (type, types.BuiltinFunctionType, np.ufunc)) and is_native(item):
            put("native", getattr(item, "__module__", ""), item.__name__)
        elif is_namedtuple(item):
            put("namedtuple", item.__name__, item._fields, sorted(field_kinds(item).items()))  # type: ignore[attr-defined]
            walk(tuple(item._field_defaults.items()), {})  # type: ignore[attr-defined]
        elif isinstance(item, type) and issubclass(item, enum.Enum):
            put("enum", item.__name__, [(name, repr(member.value)) for name, member in item.__members__.items()])
        elif isinstance(item, enum.Enum):
            walk(type(item), {})
            put(item.name)
        elif isinstance(item, type) and issubclass(item, BaseException):
            put("exception", item.__module__, item.__qualname__)
        elif isinstance(item, types.FunctionType):
            put("function", item.__name__)
            if is_native(item):
                put(item.__module__)
                return
            walk_code(item.__code__)
            walk(item.__defaults__, {})
            walk(tuple(sorted((item.__kwdefaults__ or {}).items())), {})
            for name, deeper in sorted(reads(item).items()):
                put(name)
                walk(lookup(item, name), deeper)
        elif type(item).__module__.partition(".")[0] == "numba":  # a type or an intrinsic: its text is its content
            put("numba", repr(item))
        else:
            raise UnknownContentError(f"{type(item).__qualname__} object")

    walk(value, below or {})
    return text.hexdigest()


def field_kinds(record: type) -> dict[str, str]:
    """Field name -> kind of a NamedTuple: float, int, bool, or the annotation's own text."""
    kinds = {}
    for name, hint in getattr(record, "__annotations__", {}).items():
        kinds[name] = hint.__name__ if isinstance(hint, type) else getattr(hint, "__forward_arg__", str(hint))
    return kinds
