"""What a kernel may take for its own length: arrays without reference counts, and a stream in registers.

The caller keeps the arrays alive, and each count is an atomic operation; a stream in memory is read and written again at
every draw, since the compiler cannot know that no array overlaps it.
"""

from __future__ import annotations

from array import array
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import BaseTuple
from numba.extending import intrinsic, overload

from airoas.link import OVERLOADED
from airoas.rng import Rng, rng_type


def borrow(arrays: Any) -> Any:
    """The same array, or tuple of arrays and tuples, on which compiled code counts no references."""
    return arrays


def _stripped(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        layout = context.data_model_manager[kind]
        for name in ("meminfo", "parent"):
            position = layout.get_field_position(name)
            value = builder.insert_value(value, ir.Constant(value.type.elements[position], None), position)
    elif isinstance(kind, BaseTuple):
        for position, member in enumerate(kind):
            part = _stripped(context, builder, member, builder.extract_value(value, position))
            value = builder.insert_value(value, part, position)
    return value


@intrinsic
def _borrow(context: Any, arrays: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _stripped(context, builder, signature.args[0], arguments[0])

    return arrays(arrays), emit


@overload(borrow)
def _overload_borrow(arrays):
    return lambda arrays: _borrow(arrays)


def local(rng: Rng) -> Rng:
    """A copy of the stream, which can live in registers; the stream itself does not move on."""
    return Rng(array("Q", rng._words))


@intrinsic
def _local(context: Any, rng: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        frame = cgutils.alloca_once(builder, ir.ArrayType(word, 4))
        copy = builder.bitcast(frame, word.as_pointer())
        for k in range(4):
            place = [ir.Constant(word, k)]
            builder.store(builder.load(builder.gep(arguments[0], place)), builder.gep(copy, place))
        return copy

    return rng_type(rng), emit


@overload(local)
def _overload_local(rng):
    return lambda rng: _local(rng)


OVERLOADED.extend((borrow, local))
