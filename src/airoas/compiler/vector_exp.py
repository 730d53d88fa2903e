"""An exponential made of plain arithmetic, so that the compiler turns loops over it into vector code.

Interpreted and compiled give the same bits.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from airoas.compiler.fingerprint import OVERLOADED

_MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number, which then stands in the lowest bits


def exp(x: float) -> float:
    """exp(x) for x <= 0, relative error below 5e-16; 0 below -340 and for nan.

    Weights that small count for nothing, and their squares would be denormal numbers, which are slow.
    """
    x = float(x)  # interpreted, a numpy number would warn of inf - inf
    rounded = x * 1.4426950408889634 + _MAGIC
    n = rounded - _MAGIC
    r = (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10
    p = 1.0 / 3628800.0 + r * (1.0 / 39916800.0 + r * (1.0 / 479001600.0))
    p = 1.0 / 5040.0 + r * (1.0 / 40320.0 + r * (1.0 / 362880.0 + r * p))
    p = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * p))
    p = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * p)))
    return times_power_of_two(p, rounded) if x > -340.0 else 0.0


def times_power_of_two(p: float, rounded: float) -> float:
    """p 2^n for the n that was rounded by adding the magic number."""
    n = rounded - _MAGIC
    return math.ldexp(p, int(n)) if n == n and abs(n) < 2000.0 else 0.0


@intrinsic
def _shift_exponent(context: Any, p: Any, rounded: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        bits = [builder.bitcast(argument, word) for argument in arguments]
        return builder.bitcast(builder.add(bits[0], builder.shl(bits[1], word(52))), ir.DoubleType())

    return types.float64(types.float64, types.float64), emit


@overload(times_power_of_two)
def _times_power_of_two(p, rounded):  # numba wants the names and nothing more
    return lambda p, rounded: _shift_exponent(p, rounded)


OVERLOADED.append(times_power_of_two)
