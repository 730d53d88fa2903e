"""Numbers that look the same in every mode: what a field annotated float or int holds, and the elements of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, overload

from airoas.compiler.fingerprint import OVERLOADED
from airoas.errors import ModelError

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


LARGEST = 1 << 53
"""Whole numbers up to here are exact in a row, which holds floats."""


def as_whole(x: Any) -> int:
    """An integer that a row can hold."""
    n = as_int(x)
    if not -LARGEST <= n <= LARGEST:
        raise ModelError(f"{n} is beyond 2**53, where a row of floats holds whole numbers no more", "keep it smaller, or split it in two.")
    return n


def as_bool(x: Any) -> bool:
    """A truth value as bool."""
    if isinstance(x, (bool, int, np.integer, np.bool_)):
        return bool(x)
    raise ModelError(f"{x!r} stands where True or False belongs", "return a comparison.")


def read_whole(x: float) -> int:
    """The whole number that stands in a row."""
    return int(x)


# In compiled code each is a conversion and no function: to compile one takes as long as to compile a line of a user's.


def _converted(function: Any, taken: tuple[Any, ...], given: Any, refusal: str) -> None:
    """Have calls of a function in compiled code convert numbers of these kinds to a type."""

    class Conversion(AbstractTemplate):
        key = function

        def generic(self, arguments: Any, keywords: Any) -> Any:
            (x,) = arguments
            if not isinstance(x, taken):
                raise TypingError(f"a value of type {x} stands where {refusal}")
            return signature(given, types.unliteral(x))

    def convert(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, arguments[0], signature.args[0], given)

    infer_global(function)(Conversion)
    for kind in taken:
        lower_builtin(function, kind)(convert)


_WHOLE = (types.Integer, types.Boolean)
_AN_INT = "an int belongs; write int(...) around it"
_converted(as_float, (*_WHOLE, types.Float), types.float64, "a float belongs")
_converted(as_int, _WHOLE, types.int64, _AN_INT)  # int(x) would keep the narrow type of an int16 table
_converted(as_whole, _WHOLE, types.int64, _AN_INT)
_converted(as_bool, _WHOLE, types.boolean, "True or False belongs; return a comparison")
_converted(read_whole, (types.Float,), types.int64, "a float belongs")


NUMBERS: dict[Any, Callable[[Any], Any]] = {float: as_float, int: as_int, bool: as_bool}
OVERLOADED.extend((*NUMBERS.values(), as_whole, read_whole))


# --- array elements: compiled code computes with int64, float64 and bool, interpreted code with int, float and bool ---


def widened(array: np.ndarray) -> np.ndarray:
    """The array with elements of full width: in narrow ones a sum of two would overflow, or round, unlike Python's numbers."""
    kind = array.dtype.kind
    wide = np.int64 if kind in "iu" and array.dtype.itemsize < 8 else np.float64 if kind == "f" else array.dtype.newbyteorder("=")
    view = np.ascontiguousarray(array, dtype=wide).reshape(array.shape).view()
    view.flags.writeable = False
    return view


class PlainElements(np.ndarray):
    """A view whose elements are Python's numbers, which add up and overflow as in compiled code (numpy's True + True is True)."""

    def __getitem__(self, key: Any) -> Any:
        result = super().__getitem__(tuple(map(_index, key)) if isinstance(key, tuple) else _index(key))
        return result.item() if isinstance(result, np.generic) else result


def _index(key: Any) -> Any:
    """True and False are 1 and 0, as in a list."""
    return int(key) if isinstance(key, (bool, np.bool_)) else key


@overload(operator.getitem)
def _flag_as_index(x, key):
    if isinstance(x, (types.Array, types.UniTuple, types.NamedUniTuple, types.List)) and isinstance(key, types.Boolean):
        return lambda x, key: x[int(key)]
    if isinstance(x, types.Array) and isinstance(key, types.BaseTuple) and any(isinstance(part, types.Boolean) for part in key):
        if len(key) == 2:
            return lambda x, key: x[int(key[0]), int(key[1])]
        if len(key) == 3:
            return lambda x, key: x[int(key[0]), int(key[1]), int(key[2])]
    return None


@overload(float)
def _flag_as_float(x):
    return (lambda x: 1.0 if x else 0.0) if isinstance(x, types.Boolean) else None


@overload(min)
def _least(x, y):
    if isinstance(x, types.Boolean):
        return lambda x, y: min(int(x), y)
    return (lambda x, y: min(x, int(y))) if isinstance(y, types.Boolean) else None


@overload(max)
def _largest(x, y):
    if isinstance(x, types.Boolean):
        return lambda x, y: max(int(x), y)
    return (lambda x, y: max(x, int(y))) if isinstance(y, types.Boolean) else None


@overload(any)
def _any(x):
    """Of a list or a tuple, as the next one; numba has neither."""
    if isinstance(x, (types.List, types.UniTuple, types.NamedUniTuple)):

        def some(x):
            result = False
            for item in x:
                result = result or bool(item)
            return result

        return some
    if isinstance(x, types.BaseTuple):
        return (lambda x: bool(x[0]) or any(x[1:])) if len(x) else (lambda x: False)
    return None


@overload(all)
def _all(x):
    if isinstance(x, (types.List, types.UniTuple, types.NamedUniTuple)):

        def every(x):
            result = True
            for item in x:
                result = result and bool(item)
            return result

        return every
    if isinstance(x, types.BaseTuple):
        return (lambda x: bool(x[0]) and all(x[1:])) if len(x) else (lambda x: True)
    return None
