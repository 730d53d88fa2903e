"""Random streams: SplitMix64 (Steele, Lea and Flood, 2014) with ziggurat normals (Marsaglia and Tsang, 2000), the same numbers
interpreted and compiled.

`stream(seed, *key)` hashes its arguments into a fresh generator, so every consumer (the world, the planner, particle 7 of a node)
has its own and no result depends on who drew first. A generator is one word, and a new one costs a few nanoseconds. A model's
methods receive the generator as `rng` and call `rng.uniform()`, `rng.normal()` and `rng.integer(n)`.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate, ConcreteTemplate, bound_function, infer_getattr, infer_global, signature
from numba.extending import (
    NativeValue,
    lower_builtin,
    models,
    overload_method,
    register_model,
    typeof_impl,
    unbox,
)

from airoas.errors import OptionError

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15  # splitmix64's increment
_MIX1, _MIX2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

# The ziggurat: 256 layers of equal area under exp(-x^2/2); layer 0 is the base strip with the tail beyond TAIL.
TAIL = 3.654152885361009
_LAYERS = 256


def _ziggurat() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per layer: the 52-bit threshold below which a point surely lies inside, the width of a unit, the curve's height."""

    def height(x: float) -> float:
        return math.exp(-0.5 * x * x)

    area = TAIL * height(TAIL) + math.sqrt(math.pi / 2.0) * math.erfc(TAIL / math.sqrt(2.0))
    edges = [0.0] * _LAYERS  # edges[i]: right edge of layer i, falling from TAIL to 0 above layer 1
    edges[1] = TAIL
    for i in range(2, _LAYERS):
        edges[i] = math.sqrt(-2.0 * math.log(area / edges[i - 1] + height(edges[i - 1])))
    base = area / height(TAIL)  # the base strip as a rectangle with the tail's area folded in
    scale = 2.0**52
    inside, width, curve = np.empty(_LAYERS, np.int64), np.empty(_LAYERS), np.empty(_LAYERS + 1)
    inside[0], width[0], curve[0] = int(TAIL / base * scale), base / scale, height(TAIL)
    for i in range(1, _LAYERS):
        narrower = edges[i + 1] if i + 1 < _LAYERS else 0.0
        inside[i], width[i], curve[i] = int(narrower / edges[i] * scale), edges[i] / scale, height(edges[i])
    curve[_LAYERS] = 1.0
    return inside, width, curve


_INSIDE, _WIDTH, _CURVE = _ziggurat()


def mix64(x: int) -> int:
    """splitmix64's finaliser: a bijection of 64-bit words that scatters neighbouring inputs."""
    x = ((x ^ (x >> 30)) * _MIX1) & _MASK
    x = ((x ^ (x >> 27)) * _MIX2) & _MASK
    return x ^ (x >> 31)


def _absorb(h: int, key: int) -> int:
    return mix64((h + _GOLDEN & _MASK) ^ mix64((key & _MASK) ^ _MIX2))


class Rng:
    """A random stream. Inside compiled code the same value is a pointer to its word."""

    __slots__ = ("_address", "_word")

    def __init__(self, word: int) -> None:
        self._word = array("Q", (word,))
        self._address = self._word.buffer_info()[0]

    def uniform(self) -> float:
        """A float in [0, 1), a multiple of 2**-53."""
        return self.bits(53) * 1.1102230246251565e-16

    def normal(self) -> float:
        """A standard normal draw."""
        while True:
            word = self.bits(61)
            layer = word & 255
            magnitude = word >> 9
            x = magnitude * float(_WIDTH[layer])
            if magnitude >= _INSIDE[layer]:
                if layer == 0:  # beyond TAIL: Marsaglia's exponential method
                    while True:
                        x = -math.log(1.0 - self.uniform()) / TAIL
                        y = -math.log(1.0 - self.uniform())
                        if y + y > x * x:
                            break
                    x += TAIL
                else:
                    low = float(_CURVE[layer])
                    if low + self.uniform() * (float(_CURVE[layer + 1]) - low) >= math.exp(-0.5 * x * x):
                        continue
            return -x if word & 256 else x

    def integer(self, n: int) -> int:
        """An integer in 0 .. n-1, each equally likely; 1 <= n < 2**31."""
        if n < 1 or n >= 2147483648:
            raise ValueError("rng.integer(n) needs 1 <= n < 2**31")
        wide = int(n | 0)  # a narrow integer of numpy would overflow below, and `|` refuses a float
        product = self.bits(32) * wide
        low = product & 4294967295
        if low < wide:  # Lemire's rejection: without it some values would be more likely by up to n / 2**32
            threshold = (4294967296 - wide) % wide
            while low < threshold:
                product = self.bits(32) * wide
                low = product & 4294967295
        return product >> 32

    def bits(self, k: int) -> int:
        """The top k bits of the next word, 1 <= k <= 63."""
        self._word[0] = word = self._word[0] + _GOLDEN & _MASK
        return mix64(word) >> (64 - k)

    def uniform_at(self, i: int) -> float:
        """What `uniform` would give after i other draws; the stream stays where it is."""
        return (mix64(self._word[0] + (i + 1) * _GOLDEN & _MASK) >> 11) * 1.1102230246251565e-16

    def reseed(self, seed: int, i: int, j: int) -> None:
        """Become `stream(seed, i, j)`: cheap enough to call for every particle."""
        self._word[0] = _absorb(_absorb(_absorb(0, int(seed)), int(i)), int(j))

    def local(self) -> Rng:
        """A copy that the compiler can keep in registers: a stream in memory is read and written again at every draw, since
        any array might overlap it. This one does not move on with it."""
        return Rng(self._word[0])

    def __reduce__(self) -> tuple[object, ...]:
        return Rng, (self._word[0],)  # a copy has a word, hence an address, of its own

    def __repr__(self) -> str:
        return f"Rng({self._word[0]:#018x})"


def _word(part: object) -> int:
    if isinstance(part, (int, np.integer)):
        if not -(1 << 63) <= int(part) <= _MASK:
            raise OptionError(f"a seed or key of {part} does not fit 64 bits", "use an integer below 2**64.")
        return int(part) & _MASK
    if isinstance(part, str):
        return int.from_bytes(hashlib.blake2b(part.encode(), digest_size=8, person=b"airoas").digest(), "little")
    raise OptionError(f"a seed or key must be an integer or a string, not {type(part).__name__}", "write stream(0, 'world', 7), say.")


def stream(seed: int, *key: int | str) -> Rng:
    """The stream of `(seed, *key)`; equal arguments give equal numbers, different ones independent numbers.

    Integers count modulo 2**64: -1 and 2**64 - 1 are the same key.
    """
    h = _absorb(0, _word(seed))
    for part in key:
        h = _absorb(h, _word(part))
    return Rng(h)


def streams(seed: int, i: int, n: int) -> list[Rng]:
    """`stream(seed, i, j)` for every j below n, in a tenth of the time."""
    numbers: Any = np.arange(n, dtype=np.uint64)
    words: Any = _absorb(_absorb(_absorb(0, int(seed)), int(i)), numbers)
    return [Rng(word) for word in words.tolist()]


def hash_key(seed: int, i: int, j: int) -> int:
    """A seed for (seed, i, j), from 0 to 2**62 - 1: of streams that belong together."""
    return _absorb(_absorb(_absorb(0, int(seed)), int(i)), int(j)) >> 2


def new_stream() -> Rng:
    """A generator to be reseeded. Compiled code keeps it in a register: it is local to the function that makes it."""
    return Rng(0)


# --- the same generator inside compiled code ---


class RngType(types.Type):
    """Numba's view of an Rng: a pointer to its word. A type of its own keeps its methods off users' tuples."""

    def __init__(self) -> None:
        super().__init__("airoas.Rng")


rng_type = RngType()
_INLINE = {"forceinline": True}  # so that a stream that is local to a kernel stays in registers
_WORD = ir.IntType(64)


@register_model(RngType)
class _RngModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _WORD.as_pointer())


@typeof_impl.register(Rng)
def _typeof_rng(value, context):
    return rng_type


@unbox(RngType)
def _unbox_rng(kind, value, c):
    address = c.pyapi.object_getattr_string(value, "_address")
    pointer = c.builder.inttoptr(c.pyapi.long_as_ulonglong(address), _WORD.as_pointer())
    c.pyapi.decref(address)
    return NativeValue(pointer)


# What every draw is made of is written out here and not compiled from Python, which would take every process as long as a method.


def _mixed(builder, x):
    for shift, factor in ((30, _MIX1), (27, _MIX2)):
        x = builder.mul(builder.xor(x, builder.lshr(x, _WORD(shift))), _WORD(factor))
    return builder.xor(x, builder.lshr(x, _WORD(31)))


def _absorbed(builder, keys):
    h = _WORD(0)
    for key in keys:
        h = _mixed(builder, builder.xor(builder.add(h, _WORD(_GOLDEN)), _mixed(builder, builder.xor(key, _WORD(_MIX2)))))
    return h


def _next_word(builder, rng):
    word = builder.add(builder.load(rng), _WORD(_GOLDEN))
    builder.store(word, rng)
    return _mixed(builder, word)


def _fraction(builder, word):
    return builder.fmul(builder.sitofp(builder.lshr(word, _WORD(11)), ir.DoubleType()), ir.DoubleType()(1.1102230246251565e-16))


@infer_global(new_stream)
class _NewStream(ConcreteTemplate):
    cases = [signature(rng_type)]


@lower_builtin(new_stream)
def _new_stream(context, builder, signature, arguments):
    # In the frame of whoever calls: an overload would return the address of a frame that has ended.
    return cgutils.alloca_once(builder, _WORD)


@infer_getattr
class _RngMethods(AttributeTemplate):
    key = RngType

    @bound_function("Rng.local")
    def resolve_local(self, rng, arguments, keywords):
        return signature(rng_type, recvr=rng)

    @bound_function("Rng.bits")
    def resolve_bits(self, rng, arguments, keywords):
        return _of_integers(types.int64, rng, 1, arguments, keywords)

    @bound_function("Rng.uniform")
    def resolve_uniform(self, rng, arguments, keywords):
        return _of_integers(types.float64, rng, 0, arguments, keywords)

    @bound_function("Rng.uniform_at")
    def resolve_uniform_at(self, rng, arguments, keywords):
        return _of_integers(types.float64, rng, 1, arguments, keywords)

    @bound_function("Rng.reseed")
    def resolve_reseed(self, rng, arguments, keywords):
        return _of_integers(types.void, rng, 3, arguments, keywords)


def _of_integers(given, rng, count, arguments, keywords):
    """The signature of a method that takes so many whole numbers, or None."""
    if keywords or len(arguments) != count or not all(isinstance(kind, (types.Integer, types.Boolean)) for kind in arguments):
        return None
    return signature(given, *[types.int64] * count, recvr=rng)


@infer_global(hash_key)
class _HashKey(ConcreteTemplate):
    cases = [signature(types.int64, types.int64, types.int64, types.int64)]


@lower_builtin(hash_key, types.int64, types.int64, types.int64)
def _hash_key(context, builder, signature, arguments):
    return builder.lshr(_absorbed(builder, arguments), _WORD(2))


@lower_builtin("Rng.local", RngType)
def _local(context, builder, signature, arguments):
    # In the frame of whoever calls: a jitted method would return the address of a frame that has ended.
    frame = cgutils.alloca_once(builder, _WORD)
    builder.store(builder.load(arguments[0]), frame)
    return frame


@lower_builtin("Rng.bits", RngType, types.int64)
def _bits(context, builder, signature, arguments):
    rng, k = arguments
    return builder.lshr(_next_word(builder, rng), builder.sub(_WORD(64), k))


@lower_builtin("Rng.uniform", RngType)
def _uniform(context, builder, signature, arguments):
    return _fraction(builder, _next_word(builder, arguments[0]))


@lower_builtin("Rng.uniform_at", RngType, types.int64)
def _uniform_at(context, builder, signature, arguments):
    rng, i = arguments
    step = builder.mul(builder.add(i, _WORD(1)), _WORD(_GOLDEN))
    return _fraction(builder, _mixed(builder, builder.add(builder.load(rng), step)))


@lower_builtin("Rng.reseed", RngType, types.int64, types.int64, types.int64)
def _reseed(context, builder, signature, arguments):
    rng, *keys = arguments
    builder.store(_absorbed(builder, keys), rng)
    return context.get_dummy_value()


@overload_method(RngType, "normal", jit_options=_INLINE)
def _normal(self):
    return Rng.normal


@overload_method(RngType, "integer", jit_options=_INLINE)
def _integer(self, n: int):
    return Rng.integer
