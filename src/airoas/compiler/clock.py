"""The wall clock, inside compiled code too.

`now()` is Python's `time.perf_counter()`, which on Linux is the clock CLOCK_MONOTONIC: deadlines that Python sets can be kept
in kernels, at some 25 ns a look. Where the system has no such clock compiled code is refused; run interpreted there.
After Ctrl-C it is infinite for a moment, so that whatever looks at it ends; see `interrupt`.
"""

from __future__ import annotations

import math
import sys
import time

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from airoas.compiler import interrupt
from airoas.compiler.fingerprint import OVERLOADED

_MONOTONIC = 1  # CLOCK_MONOTONIC of Linux


def now() -> float:
    """Seconds of the clock that deadlines are kept by; infinite just after Ctrl-C."""
    return math.inf if interrupt.interrupted() else time.perf_counter()


@intrinsic
def _now(context):
    def emit(context, builder, signature, arguments):
        word = ir.IntType(64)
        pair = cgutils.alloca_once(builder, ir.ArrayType(word, 2))  # struct timespec: seconds, nanoseconds
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), pair.type])
        function = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(function, [ir.IntType(32)(_MONOTONIC), pair])
        value = builder.load(pair)
        seconds, rest = (builder.sitofp(builder.extract_value(value, k), ir.DoubleType()) for k in range(2))
        real = ir.DoubleType()
        time = builder.fadd(seconds, builder.fmul(rest, ir.Constant(real, 1e-9)))
        at = builder.load(_interrupted_at(builder.module))
        pressed = builder.fcmp_ordered(">", at, ir.Constant(real, 0.0))
        recent = builder.fcmp_ordered("<", time, builder.fadd(at, ir.Constant(real, interrupt.LASTS)))
        return builder.select(builder.and_(pressed, recent), ir.Constant(real, math.inf), time)

    return types.float64(), emit


def _interrupted_at(module):
    """Where the handler of Ctrl-C puts down the time."""
    known = module.globals.get(interrupt.SYMBOL)
    return known if known is not None else ir.GlobalVariable(module, ir.DoubleType(), interrupt.SYMBOL)


@overload(now)
def _overload_now():
    if not sys.platform.startswith("linux"):
        raise TypingError("compiled code reads the clock on Linux only; set AIROAS_MODE=interpreted")
    return lambda: _now()


OVERLOADED.append(now)
