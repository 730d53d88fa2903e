"""Of what states, observations and actions consist, and how rows of numbers become them and back."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np

from airoas.compiler import (
    array_makers,  # noqa: F401  (compiled code needs them)
    fingerprint,
    replacing,  # noqa: F401  (so it does)
)
from airoas.compiler.array_types import FixedArrayType
from airoas.compiler.arrays import BITS, COERCIONS, FixedArray, coerced, lengths_of, read_flags, read_vector, write_array
from airoas.compiler.coercion import as_bool, as_float, as_whole, read_whole
from airoas.compiler.specialise import compiled_record, constructor, define
from airoas.errors import ModelError, OptionError, suggest

_READ = {float: "table[i, {}]", int: "read_whole(table[i, {}])", bool: "table[i, {}] != 0.0"}
_SCOPE = {function.__name__: function for function in (*COERCIONS.values(), as_whole, read_whole, read_vector, read_flags, write_array)}


def is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_))


class Shape(NamedTuple):
    """Of what parts a state, observation or action tuple consists: `record` is its NamedTuple class or None."""

    record: Any
    parts: tuple[Any, ...]
    """Each float, int, bool, a class of Vector or Flags, or a Shape."""

    @staticmethod
    def of(value: object, where: str) -> Shape:
        remedy = "return a tuple of numbers, (x,) for a single one."
        if not isinstance(value, tuple):
            raise ModelError(f"returns {type(value).__name__} {value!r}, not a tuple", remedy, where=where)
        if not value:
            raise ModelError("returns an empty tuple", remedy, where=where)
        record: Any = type(value) if fingerprint.is_namedtuple(type(value)) else None
        hints = [fingerprint.field_hints(record).get(name) for name in record._fields] if record else [None] * len(value)
        return Shape(record, tuple(_part(item, hint, k, where) for k, (item, hint) in enumerate(zip(value, hints, strict=True))))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of each number in a row: float, int or bool, or flags for a word of them."""
        return _described(self)[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Of each number in a row."""
        return _described(self)[1]

    def _numbers(self, before: str = "") -> Iterator[tuple[str, str]]:
        for k, part in enumerate(self.parts):
            name = self.field(k, before)
            if isinstance(part, Shape):
                yield from part._numbers(f"{name}.")
            elif not issubclass(part, FixedArray):
                yield part.__name__, name
            elif part.holds_flags:
                yield from (("flags", name if part.n_words == 1 else f"{name}, word {word}") for word in range(part.n_words))
            else:
                yield from (("float", f"{name}[{', '.join(map(str, index))}]") for index in np.ndindex(part.shape))

    def field(self, k: int, before: str = "") -> str:
        """The name of a part."""
        return f"{before}{self.record._fields[k]}" if self.record else f"{before}[{k}]" if before else f"number {k}"

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return len(self.kinds)

    def native(self) -> Any:
        """The type that such tuples have in compiled code."""
        kinds = [_native(part) for part in self.parts]
        if self.record:
            return numba.types.BaseTuple.from_types(kinds, compiled_record(self.record))
        return numba.types.BaseTuple.from_types(kinds)

    def rebuild(self) -> types.FunctionType:
        """A function that makes any tuple of this length into one of this shape, coercing each part. One for all methods, which is
        compiled once for them."""
        return _rebuilder(self)

    def _rebuilt(self, value: str, scope: dict[str, Any]) -> str:
        texts = []
        for k, part in enumerate(self.parts):
            item = f"{value}[{k}]"
            whole = f"as_whole({item})" if part is int else coerced(part, item)
            texts.append(part._rebuilt(item, scope) if isinstance(part, Shape) else whole)
        return self._built(texts, scope)

    def _built(self, texts: list[str], scope: dict[str, Any]) -> str:
        build = ""
        if self.record:
            build = f"build{len(scope)}"
            scope[build] = constructor(self.record)
        return f"{build}({', '.join(texts)},)"

    def read(self) -> types.FunctionType:
        """A method that makes row i of a table into a tuple of this shape."""
        scope = dict(_SCOPE)
        return define(f"def read(self, table, i):\n    return {self._reading(0, scope)[0]}\n", "read", **scope)

    def _reading(self, at: int, scope: dict[str, Any]) -> tuple[str, int]:
        texts = []
        for part in self.parts:
            if isinstance(part, Shape):
                text, at = part._reading(at, scope)
            elif issubclass(part, FixedArray):
                text = f"read_{'flags' if part.holds_flags else 'vector'}(table, i, {at}, {lengths_of(part)})"
                at += part.n_words
            else:
                text, at = _READ[part].format(at), at + 1
            texts.append(text)
        return self._built(texts, scope), at

    def write(self) -> types.FunctionType:
        """A method that stores a tuple of this shape in row i of a table."""
        return define(f"def write(self, table, i, x):\n{''.join(self._writing(0, 'x'))}", "write", **_SCOPE)

    def _writing(self, at: int, value: str) -> Iterator[str]:
        for k, part in enumerate(self.parts):
            if isinstance(part, Shape):
                yield from part._writing(at, f"{value}[{k}]")
                at += part.size
            elif issubclass(part, FixedArray):
                yield f"    write_array(table, i, {at}, {value}[{k}])\n"
                at += part.n_words
            else:
                yield f"    table[i, {at}] = {value}[{k}]\n"
                at += 1

    def to_row(self, value: Any) -> list[float]:
        """The numbers that a value of this shape has in a row; raises a ModelError where it has another shape."""
        items = value if isinstance(value, tuple) else (value,)
        if len(items) != len(self.parts):
            raise ModelError(f"{value!r} has {len(items)} parts, not {len(self.parts)}", f"give {self}.")
        row: list[float] = []
        for part, item in zip(self.parts, items, strict=True):
            if isinstance(part, Shape):
                row += part.to_row(item)
            elif issubclass(part, FixedArray):
                row += part(item).words()
            else:
                row.append(float(_PYTHON[part](item)))
        return row

    def from_row(self, row: Any) -> Any:
        """The value that a row of numbers stands for."""
        values, at = [], 0
        for part in self.parts:
            numbers = row[at : at + _width(part)]
            if isinstance(part, Shape):
                values.append(part.from_row(numbers))
            else:
                values.append(part.from_words(numbers) if issubclass(part, FixedArray) else part(numbers[0]))
            at += _width(part)
        return self.record(*values) if self.record else tuple(values)

    def column(self, rows: Any, name: str) -> np.ndarray:
        """What rows [N, size], as the states of a belief are, hold of a field: floats, whole numbers or flags [N], of a Vector or Flags
        [N, *shape]. `pose.x` is a field of a field."""
        part, at = self._positions().get(name, (None, 0))
        if part is None:
            raise OptionError(f"there is no field {name!r}", f"{suggest(name, self._positions())}They are {', '.join(self._positions())}.")
        if not issubclass(part, FixedArray):
            return np.asarray(rows)[:, at].astype(part)
        words = np.asarray(rows)[:, at : at + part.n_words]
        if part.holds_flags:
            k = np.arange(part.size)
            words = (words.astype(np.int64)[:, k // BITS] >> k % BITS & 1).astype(np.bool_)
        return words.reshape(-1, *part.shape)

    def _positions(self, at: int = 0, before: str = "") -> dict[str, tuple[Any, int]]:
        """Of each field its part and the number in a row at which it begins."""
        result: dict[str, tuple[Any, int]] = {}
        for k, part in enumerate(self.parts):
            name = self.field(k, before)
            result |= part._positions(at, f"{name}.") if isinstance(part, Shape) else {name: (part, at)}
            at += _width(part)
        return result

    def __str__(self) -> str:
        return f"({', '.join(str(part) if isinstance(part, Shape) else part.__name__ for part in self.parts)})"


def _width(part: Any) -> int:
    """How many numbers of a row a part takes."""
    return part.size if isinstance(part, Shape) else part.n_words if issubclass(part, FixedArray) else 1


@functools.lru_cache(256)
def _rebuilder(shape: Shape) -> types.FunctionType:
    scope = dict(_SCOPE)
    return define(f"def rebuild(x):\n    return {shape._rebuilt('x', scope)}\n", "rebuild", **scope)


@functools.lru_cache(256)
def _described(shape: Shape) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kind and name of each number."""
    numbers = list(shape._numbers())
    return tuple(kind for kind, _ in numbers), tuple(name for _, name in numbers)


_PYTHON = {float: as_float, int: as_whole, bool: as_bool}


def _part(item: Any, hint: Any, position: int, where: str) -> Any:
    if isinstance(hint, type) and issubclass(hint, FixedArray):
        return hint
    if isinstance(item, FixedArray):
        return type(item)
    if isinstance(item, tuple):
        return Shape.of(item, where)
    if not is_number(item):
        remedy = "return numbers, tuples of them, and fields annotated Vector[n] or Flags[n]."
        raise ModelError(f"returns a tuple with {type(item).__name__} {item!r} in place {position}", remedy, where=where)
    if hint in (float, int, bool):
        return hint
    return bool if isinstance(item, (bool, np.bool_)) else int if isinstance(item, (int, np.integer)) else float


def _native(part: Any) -> Any:
    if isinstance(part, Shape):
        return part.native()
    return FixedArrayType(part) if issubclass(part, FixedArray) else numba.typeof(part(0))


class Shapes(NamedTuple):
    state: Shape
    observation: Shape
    action: Shape | None
    """None where an action is an index."""
