"""The clock that deadlines are kept by, inside compiled code too.

`now()` is Python's `time.perf_counter()`, which on Linux is the clock CLOCK_MONOTONIC: deadlines that Python sets can be kept
in kernels, at some 25 ns a look. Where the system has no such clock compiled code is refused; run interpreted there.
After Ctrl-C it is infinite for a moment, so that whatever looks at it ends; see `interrupt`.

Within `deadlines_in("cpu")` it is `time.process_time()`, CLOCK_PROCESS_CPUTIME_ID: what this process has computed, in all its threads, so
that other work on the machine takes nothing away. A look then takes some 300 ns.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
import time
from collections.abc import Iterator

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from airoas.compiler import interrupt
from airoas.compiler.fingerprint import OVERLOADED

CLOCKS = {"wall": 1, "cpu": 2}
"""Linux's numbers of CLOCK_MONOTONIC and CLOCK_PROCESS_CPUTIME_ID."""
SYMBOL = "airoas_clock"
_in_force = ctypes.c_int32(CLOCKS["wall"])
llvm.add_symbol(SYMBOL, ctypes.addressof(_in_force))  # compiled code, from the disk too, finds it by name


@contextlib.contextmanager
def deadlines_in(clock: str) -> Iterator[None]:
    """Keep deadlines, and measure, by one of CLOCKS, in the whole process."""
    before, _in_force.value = _in_force.value, CLOCKS[clock]
    try:
        yield
    finally:
        _in_force.value = before


def read_clock() -> float:
    """Seconds of the clock in force."""
    return time.process_time() if _in_force.value == CLOCKS["cpu"] else time.perf_counter()


def now() -> float:
    """The same for whoever keeps a deadline: infinite just after Ctrl-C."""
    return math.inf if interrupt.interrupted() else read_clock()


@intrinsic
def _now(context):
    def emit(context, builder, signature, arguments):
        word = ir.IntType(64)
        pair = cgutils.alloca_once(builder, ir.ArrayType(word, 2))  # struct timespec: seconds, nanoseconds
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), pair.type])
        function = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        clock = builder.load(_global(builder.module, SYMBOL, ir.IntType(32)))
        builder.call(function, [clock, pair])
        value = builder.load(pair)
        seconds, rest = (builder.sitofp(builder.extract_value(value, k), ir.DoubleType()) for k in range(2))
        real = ir.DoubleType()
        time = builder.fadd(seconds, builder.fmul(rest, ir.Constant(real, 1e-9)))
        at = builder.load(_global(builder.module, interrupt.SYMBOL, real))  # of the wall clock
        pressed = builder.fcmp_ordered(">", at, ir.Constant(real, 0.0))
        recent = builder.fcmp_ordered("<", time, builder.fadd(at, ir.Constant(real, interrupt.LASTS)))
        recent = builder.or_(recent, builder.icmp_signed("!=", clock, ir.IntType(32)(CLOCKS["wall"])))  # cannot tell: until `listen`
        return builder.select(builder.and_(pressed, recent), ir.Constant(real, math.inf), time)

    return types.float64(), emit


def _global(module, name, kind):
    """What Python keeps under a symbol."""
    known = module.globals.get(name)
    return known if known is not None else ir.GlobalVariable(module, kind, name)


@overload(now)
def _overload_now():
    if not sys.platform.startswith("linux"):
        raise TypingError("compiled code reads the clock on Linux only; set AIROAS_MODE=interpreted")
    return lambda: _now()


OVERLOADED.append(now)
