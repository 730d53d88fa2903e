"""Arrays without reference counts, for kernels: the caller keeps them alive, and each count is an atomic operation."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from airoas.link import OVERLOADED


def borrow(arrays: Any) -> Any:
    """The same array, or tuple of arrays and tuples, on which compiled code counts no references."""
    return arrays


def _stripped(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        layout = context.data_model_manager[kind]
        for name in ("meminfo", "parent"):
            position = layout.get_field_position(name)
            value = builder.insert_value(value, ir.Constant(value.type.elements[position], None), position)
    elif isinstance(kind, types.BaseTuple):
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


OVERLOADED.append(borrow)
