"""Of what states, observations and actions consist, and how rows of numbers become them and back."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

import numba
import numpy as np

from airoas.compiler import fingerprint
from airoas.compiler.specialise import COERCE, compiled_record, constructor, define
from airoas.errors import ModelError


def is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_))


class Shape(NamedTuple):
    """Of what kinds a state, observation or action tuple consists: `record` is its NamedTuple class or None."""

    record: Any
    kinds: tuple[str, ...]

    @staticmethod
    def of(value: object, where: str) -> Shape:
        remedy = "return a flat tuple of numbers, (x,) for a single one."
        if not isinstance(value, tuple):
            raise ModelError(f"returns {type(value).__name__} {value!r}, not a tuple", remedy, where=where)
        record: Any = type(value) if fingerprint.is_namedtuple(type(value)) else None
        kinds = []
        for position, item in enumerate(value):
            kind = fingerprint.field_kinds(record).get(record._fields[position]) if record else None
            if not is_number(item):
                raise ModelError(f"returns a tuple with {type(item).__name__} {item!r} at position {position}", remedy, where=where)
            if kind not in COERCE:
                kind = "bool" if isinstance(item, (bool, np.bool_)) else "int" if isinstance(item, (int, np.integer)) else "float"
            kinds.append(kind)
        if not kinds:
            raise ModelError("returns an empty tuple", remedy, where=where)
        return Shape(record, tuple(kinds))

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return len(self.kinds)

    def native(self) -> Any:
        """The type that such tuples have in compiled code."""
        values = [{"float": 0.0, "int": 0, "bool": False}[kind] for kind in self.kinds]
        return numba.typeof(compiled_record(self.record)(*values) if self.record else tuple(values))

    def rebuild(self) -> types.FunctionType:
        """A function that makes any tuple of this length into one of this shape, coercing each component."""
        parts = ", ".join(f"as_{kind}(x[{position}])" for position, kind in enumerate(self.kinds))
        scope: dict[str, Any] = {f"as_{kind}": coerce for kind, coerce in COERCE.items()}
        if self.record:
            scope["build"] = constructor(self.record)
        return define(f"def rebuild(x):\n    return {'build' if self.record else ''}({parts},)\n", "rebuild", **scope)

    def read(self) -> types.FunctionType:
        """A method that makes row i of an array into a tuple of this shape."""
        casts = {"float": "rows[i, {}]", "int": "int(rows[i, {}])", "bool": "rows[i, {}] != 0.0"}
        parts = ", ".join(casts[kind].format(position) for position, kind in enumerate(self.kinds))
        return define(f"def read(self, rows, i):\n    return rebuild(({parts},))\n", "read", rebuild=self.rebuild())

    def write(self) -> types.FunctionType:
        """A method that stores a tuple of this shape in row i of an array."""
        lines = "".join(f"    rows[i, {position}] = x[{position}]\n" for position in range(len(self.kinds)))
        return define(f"def write(self, rows, i, x):\n{lines}", "write")

    def __str__(self) -> str:
        return f"({', '.join(self.kinds)})"


class Shapes(NamedTuple):
    state: Shape
    observation: Shape
    action: Shape | None
    """None where an action is an index."""
