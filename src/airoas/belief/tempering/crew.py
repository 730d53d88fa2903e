"""Threads that work on one kernel together: the first leads, the others follow it from pass to pass without ever sleeping.

A thread that sleeps takes longer to wake than a pass over a hundred thousand particles takes. A thread that waits looks at
the number of another: a whole number in an array, written after all that belongs to it and read before.
"""

from __future__ import annotations

import time
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from airoas.compiler.specialise import OVERLOADED

LOOKS = 2000  # at another's number before the core is offered to whoever needs it


def tell(numbers: Any, k: int, value: int) -> None:
    """Write numbers[k] (int64), so that who reads it sees all that was written before."""
    numbers[k] = value


def wait_for(numbers: Any, k: int, value: int) -> None:
    """Until numbers[k] is at least `value`."""
    looks = 0
    while look(numbers, k) < value:
        looks += 1
        if looks % LOOKS == 0:
            step_aside()


def look(numbers: Any, k: int) -> int:
    return int(numbers[k])


def step_aside() -> None:
    time.sleep(0.0)


def _place(context: Any, builder: Any, kind: Any, array: Any, k: Any) -> Any:
    made = arrayobj.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, made, [k])


@intrinsic
def _tell(context: Any, numbers: Any, k: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        builder.store_atomic(arguments[2], place, "release", 8)

    return types.void(numbers, types.int64, types.int64), emit


@intrinsic
def _look(context: Any, numbers: Any, k: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_place(context, builder, signature.args[0], *arguments), "acquire", 8)

    return types.int64(numbers, types.int64), emit


@intrinsic
def _step_aside(context: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])

    return types.void(), emit


@overload(tell)
def _overload_tell(numbers, k, value):
    return lambda numbers, k, value: _tell(numbers, k, value)


@overload(look)
def _overload_look(numbers, k):
    return lambda numbers, k: _look(numbers, k)


@overload(step_aside)
def _overload_step_aside():
    return lambda: _step_aside()


OVERLOADED.extend((tell, look, step_aside))
