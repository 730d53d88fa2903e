"""A generator that remembers: the random draws of one simulated step, on record so that the step can be run again.

A noise record is a row of numbers: how many draws were taken, then for each draw its kind and its value. Reading a draw of the
recorded kind returns the recorded value; any other draw comes fresh from the stream and is recorded. With its record, the
simulator is a deterministic map from a state to the next, and the record can be moved by Metropolis-Hastings like a state.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.types.misc import CPointer
from numba.extending import intrinsic, models, overload, overload_attribute, overload_method, register_jitable, register_model
from numba.np.arrayobj import make_array

from airoas.compiler.fingerprint import OVERLOADED
from airoas.modelling.rows import Rows
from airoas.rng import Rng, rng_type

UNIFORM, NORMAL, INTEGER = 1, 2, 2  # kind of an integer draw: INTEGER + n, so that another range is another kind


def size(draws: int) -> int:
    """The length of a row that remembers this many draws."""
    return 1 + 2 * draws


class RecordedRng:
    """A stream over a noise record. Inside compiled code it is a pair of pointers; `recorded` makes one."""

    __slots__ = ("rng", "row")

    def __init__(self, rng: Rng, row: Any) -> None:
        self.rng = rng
        self.row = row

    def uniform(self) -> float:
        at = self.seek(UNIFORM)
        if at > 0:
            return self.get(at)
        x = self.rng.uniform()
        self.keep(at, x)
        return x

    def normal(self) -> float:
        at = self.seek(NORMAL)
        if at > 0:
            return self.get(at)
        x = self.rng.normal()
        self.keep(at, x)
        return x

    def integer(self, n: int) -> int:
        at = self.seek(INTEGER + n)
        if at > 0:
            return int(self.get(at))
        x = self.rng.integer(n)
        self.keep(at, x)
        return x

    def seek(self, kind: int) -> int:
        """Take the next draw: where its value stands, the negative of where to record it, or 0 past the end."""
        draw = int(self.get(0))
        self.set(0, draw + 1)
        at = 2 + 2 * draw
        if at >= self.length():
            return 0
        if self.get(at - 1) == kind:
            return at
        self.set(at - 1, kind)
        return -at

    def keep(self, at: int, x: float) -> None:
        if at < 0:
            self.set(-at, x)

    def length(self) -> int:
        return len(self.row)

    def get(self, at: int) -> float:
        return float(self.row[at])

    def set(self, at: int, x: float) -> None:
        self.row[at] = x


def recorded(rng: Rng, rows: Rows, i: int) -> Any:
    """The stream over the record in row i of an array [N, length], read from its beginning.

    Draws that the last run did not take are forgotten. To keep them would be wrong where a step may take draws of different
    kinds: what is kept of one kind and lost of another no longer has its own distribution.
    """
    forget_unused(rows, i)
    return RecordedRng(rng, rows[i])


def forget_unused(rows: Rows, i: int) -> None:
    """Read row i from its beginning again, with nothing recorded beyond the draws that it took."""
    for draw in range(rows.shape[1] // 2):
        if draw >= rows[i, 0]:
            rows[i, 1 + 2 * draw] = 0.0
    rows[i, 0] = 0.0


# --- the same inside compiled code ---


class RecordedRngType(types.Type):
    """Numba's view of a RecordedRng: the stream, the row and its length."""

    def __init__(self) -> None:
        super().__init__("airoas.RecordedRng")


recorded_type = RecordedRngType()
_ROW = CPointer(types.float64)


@register_model(RecordedRngType)
class _RecordedRngModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("rng", rng_type), ("row", _ROW), ("size", types.intp)])


@intrinsic
def _make(context, rng, rows, i):
    def emit(context, builder, signature, arguments):
        given = make_array(rows)(context, builder, arguments[1])
        record = context.make_helper(builder, recorded_type)
        record.rng = arguments[0]
        record.size = builder.extract_value(given.shape, 1)
        record.row = builder.gep(given.data, [builder.mul(arguments[2], record.size)])
        return record._getvalue()

    return recorded_type(rng_type, rows, types.intp), emit


_forget_unused = register_jitable(forget_unused)


@overload(recorded)
def _recorded(rng, rows, i):
    def from_the_beginning(rng, rows, i):
        _forget_unused(rows, i)
        return _make(rng, rows, i)

    return from_the_beginning


OVERLOADED.append(recorded)


@intrinsic
def _get(context, record, at):
    def emit(context, builder, signature, arguments):
        record = context.make_helper(builder, recorded_type, value=arguments[0])
        return builder.load(builder.gep(record.row, [arguments[1]]))

    return types.float64(record, types.intp), emit


@intrinsic
def _set(context, record, at, x):
    def emit(context, builder, signature, arguments):
        record = context.make_helper(builder, recorded_type, value=arguments[0])
        builder.store(arguments[2], builder.gep(record.row, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(record, types.intp, types.float64), emit


@overload_attribute(RecordedRngType, "rng")
def _rng(self):
    return lambda self: _stream(self)


@intrinsic
def _stream(context, record):
    def emit(context, builder, signature, arguments):
        return context.make_helper(builder, recorded_type, value=arguments[0]).rng

    return rng_type(record), emit


@intrinsic
def _size(context, record):
    def emit(context, builder, signature, arguments):
        return context.make_helper(builder, recorded_type, value=arguments[0]).size

    return types.intp(record), emit


overload_method(RecordedRngType, "length")(lambda self: lambda self: _size(self))
overload_method(RecordedRngType, "get")(lambda self, at: lambda self, at: _get(self, at))
overload_method(RecordedRngType, "set")(lambda self, at, x: lambda self, at, x: _set(self, at, x))


@overload_method(RecordedRngType, "uniform")
def _uniform(self):
    return RecordedRng.uniform


@overload_method(RecordedRngType, "normal")
def _normal(self):
    return RecordedRng.normal


@overload_method(RecordedRngType, "integer")
def _integer(self, n: int):
    return RecordedRng.integer


@overload_method(RecordedRngType, "seek")
def _seek(self, kind: int):
    return RecordedRng.seek


@overload_method(RecordedRngType, "keep")
def _keep(self, at: int, x: float):
    return RecordedRng.keep
