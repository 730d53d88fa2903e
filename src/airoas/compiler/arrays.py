"""`Vector[8]` and `Flags[13, 13]`: arrays of a fixed size as fields of states and observations.

They are values, as numbers are: nothing changes one, `with_` gives another. In compiled code a Vector is its numbers and a Flags
its words, 52 flags to each, in registers or on the stack; a row holds the same.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from airoas.compiler.coercion import PlainElements, as_bool, as_float, as_int
from airoas.compiler.fingerprint import OVERLOADED
from airoas.errors import ModelError

BITS = 52
"""Flags in a word: so many are exact in a row's numbers, with one to spare."""
MOST_WORDS = 256

_classes: dict[tuple[bool, tuple[int, ...]], type[FixedArray]] = {}


class FixedArray:
    """What Vector and Flags have in common."""

    __slots__ = ("_items",)
    holds_flags: ClassVar[bool]
    shape: ClassVar[tuple[int, ...]] = ()
    size: ClassVar[int]
    n_words: ClassVar[int]
    """Numbers that it takes in a row."""

    def __class_getitem__(cls, lengths: Any) -> type[FixedArray]:
        shape = tuple(lengths) if isinstance(lengths, tuple) else (lengths,)
        label = f"{cls.__name__}[{', '.join(map(str, shape))}]"
        if cls.shape or len(shape) > 2 or not all(isinstance(n, int) and n > 0 for n in shape):
            raise ModelError(f"{label} is no size", f"write {cls.__name__}[8], or {cls.__name__}[13, 13] for rows and columns.")
        size = math.prod(shape)
        words = -(-size // BITS) if cls.holds_flags else size
        if words > MOST_WORDS:
            most = MOST_WORDS * BITS if cls.holds_flags else MOST_WORDS
            raise ModelError(f"{label} has {size} elements", f"use {most} or fewer; what never changes belongs in an array parameter.")
        key = cls.holds_flags, shape
        if key not in _classes:
            scope = {"__slots__": (), "shape": shape, "size": size, "n_words": words, "__module__": cls.__module__}
            _classes[key] = type(label, (cls,), scope)
        return _classes[key]

    def __init__(self, values: Any = 0) -> None:
        """values: a number for all, or as many as there are, in rows where there are two lengths."""
        item = as_bool if self.holds_flags else as_float
        self._items: tuple[Any, ...]
        if isinstance(values, type(self)):
            self._items = values._items
        elif isinstance(values, (int, float, np.generic)):
            self._items = (item(values),) * self.size
        else:
            array = np.asarray(values if not isinstance(values, FixedArray) else values.copy())
            if array.shape != self.shape:
                raise ModelError(
                    f"an array of shape {array.shape} stands where {type(self).__name__} belongs", "give it that many elements."
                )
            self._items = tuple(item(x) for x in array.ravel().tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        return fixed_array, (self.holds_flags, self.shape, self._items)

    def _position(self, key: Any) -> int:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) != len(self.shape):
            raise ModelError(f"{type(self).__name__} takes other indices", f"write {'[i, j]' if len(self.shape) == 2 else '[i]'}.")
        position = 0
        for index, length in zip(map(operator.index, keys), self.shape, strict=True):
            if not -length <= index < length:
                raise IndexError(f"index {index} is out of range of {type(self).__name__}")
            position = position * length + index % length
        return position

    def __getitem__(self, key: Any) -> Any:
        return self._items[self._position(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ModelError(f"changes a {type(self).__name__}, which is a value", "write `x = x.with_(i, value)`, or `x = x.copy()` first.")

    def with_(self, key: Any, value: Any) -> Any:
        """The same with another element in this position."""
        position, item = self._position(key), as_bool(value) if self.holds_flags else as_float(value)
        return _from_items(type(self), (*self._items[:position], item, *self._items[position + 1 :]))

    def copy(self) -> np.ndarray:
        """An array of numpy's, to work in."""
        return np.array(self._items, np.bool_ if self.holds_flags else np.float64).reshape(self.shape).view(PlainElements)

    def __len__(self) -> int:
        """The number of elements, also where they stand in rows."""
        return self.size

    def __iter__(self) -> Iterator[Any]:
        """Row by row."""
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        rows = [self._items[k : k + self.shape[-1]] for k in range(0, self.size, self.shape[-1])]
        told = ["".join("01"[x] for x in row) if self.holds_flags else ", ".join(f"{x:g}" for x in row) for row in rows]
        return f"[{' / '.join(told)}]"

    def words(self) -> list[float]:
        """As in a row."""
        if not self.holds_flags:
            return list(self._items)
        return [float(sum(x << k for k, x in enumerate(self._items[at : at + BITS]))) for at in range(0, self.size, BITS)]

    @classmethod
    def from_words(cls, words: Any) -> Any:
        if not cls.holds_flags:
            return _from_items(cls, tuple(map(float, words)))
        return _from_items(cls, tuple(bool(int(words[k // BITS]) >> k % BITS & 1) for k in range(cls.size)))


class Vector(FixedArray):
    """`Vector[n]` or `Vector[n, m]`: so many floats."""

    __slots__ = ()
    holds_flags = False


class Flags(FixedArray):
    """`Flags[n]` or `Flags[n, m]`: so many flags, 52 to a number of a row."""

    __slots__ = ()
    holds_flags = True


def _from_items(kind: type[FixedArray], items: tuple[Any, ...]) -> FixedArray:
    array = kind.__new__(kind)
    array._items = items
    return array


def array_class(holds_flags: bool, shape: tuple[int, ...]) -> type[FixedArray]:
    return (Flags if holds_flags else Vector).__class_getitem__(shape)


def fixed_array(holds_flags: bool, shape: tuple[int, ...], items: tuple[Any, ...]) -> FixedArray:
    return _from_items(array_class(holds_flags, shape), items)


# --- what generated code calls, with lengths as constants: columns are 0 where there is one length ---


def _class_of(holds_flags: bool, rows: int, columns: int) -> type[FixedArray]:
    return array_class(holds_flags, (rows, columns) if columns else (rows,))


def as_vector(x: Any, rows: int, columns: int) -> Any:
    """A number, a sequence or an array as a Vector."""
    return _class_of(False, rows, columns)(x)


def as_flags(x: Any, rows: int, columns: int) -> Any:
    """A truth value, a sequence or an array of them as Flags."""
    return _class_of(True, rows, columns)(x)


def read_vector(table: Any, i: int, at: int, rows: int, columns: int) -> Any:
    """The Vector in row i of a table of rows, from column `at` on."""
    return _class_of(False, rows, columns).from_words(table[i, at : at + _class_of(False, rows, columns).n_words])


def read_flags(table: Any, i: int, at: int, rows: int, columns: int) -> Any:
    return _class_of(True, rows, columns).from_words(table[i, at : at + _class_of(True, rows, columns).n_words])


def write_array(table: Any, i: int, at: int, x: Any) -> None:
    """Store a Vector or Flags in row i of a table, from column `at` on."""
    table[i, at : at + x.n_words] = x.words()


OVERLOADED.extend((as_vector, as_flags, read_vector, read_flags, write_array))


COERCIONS: dict[str, Any] = {function.__name__: function for function in (as_float, as_int, as_bool, as_vector, as_flags)}
"""By the names that generated code has for them."""


def lengths_of(kind: type[FixedArray]) -> str:
    """The two lengths as generated code gives them."""
    return ", ".join(map(str, (*kind.shape, 0)[:2]))


def coerced(hint: Any, value: str) -> str:
    """The text of a value that is array into what a field's annotation says."""
    if isinstance(hint, type) and issubclass(hint, FixedArray):
        if not hint.shape:
            raise ModelError(f"a field is annotated {hint.__name__}, without a size", f"write {hint.__name__}[8], say.")
        return f"as_{'flags' if hint.holds_flags else 'vector'}({value}, {lengths_of(hint)})"
    return f"as_{hint.__name__}({value})" if hint in (float, int, bool) else value
