"""Random streams: xoshiro256++ with ziggurat normals, the same numbers interpreted and compiled.

`stream(seed, *key)` hashes its arguments into a fresh generator, so every consumer (the world, the planner, scenario 7 at
depth 3) has its own and no result depends on who drew first. A model's methods receive the generator as `rng` and call
`rng.uniform()`, `rng.normal()` and `rng.integer(n)`.
"""

from __future__ import annotations

import hashlib
import math
from array import array

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate, bound_function, infer_getattr, signature
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_builtin,
    models,
    overload_method,
    register_jitable,
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
    """A random stream. Inside compiled code the same value is a pointer to the four state words."""

    __slots__ = ("_address", "_words")

    def __init__(self, words: array[int]) -> None:
        self._words = words
        self._address = words.buffer_info()[0]

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
        s0, s1, s2, s3 = words = self._words
        total = s0 + s3 & _MASK
        result = ((total << 23 | total >> 41) + s0) & _MASK
        s2 ^= s0
        s3 ^= s1
        words[0] = s0 ^ s3
        words[1] = s1 ^ s2
        words[2] = s2 ^ (s1 << 17 & _MASK)
        words[3] = (s3 << 45 | s3 >> 19) & _MASK
        return result >> (64 - k)

    def reseed(self, seed: int, i: int, j: int) -> None:
        """Become `stream(seed, i, j)`: cheap enough to call per (scenario, depth)."""
        self._spread(_absorb(_absorb(_absorb(0, int(seed)), int(i)), int(j)))

    def local(self) -> Rng:
        """A copy that the compiler can keep in registers: a stream in memory is read and written again at every draw, since
        any array might overlap it. This one does not move on with it."""
        return _restored(tuple(self._words))  # type: ignore[arg-type]

    def _spread(self, h: int) -> None:
        for k in range(4):
            h = h + _GOLDEN & _MASK
            self._words[k] = mix64(h)

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (tuple(self._words),)  # a copy has words, hence an address, of its own

    def __repr__(self) -> str:
        return f"Rng({', '.join(f'{w:#018x}' for w in self._words)})"


def _restored(words: tuple[int, int, int, int]) -> Rng:
    return Rng(array("Q", words))


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
    rng = _restored((0, 0, 0, 0))
    rng._spread(h)
    return rng


# --- the same generator inside compiled code ---


class RngType(types.Type):
    """Numba's view of an Rng: a pointer to its four words. A type of its own keeps its methods off users' tuples."""

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


def _slots(builder, pointer):
    return [builder.gep(pointer, [ir.Constant(_WORD, k)], inbounds=True) for k in range(4)]


@intrinsic
def _next_word(context, rng):
    """One step of xoshiro256++."""

    def emit(context, builder, signature, arguments):
        def rotate(x, k):
            return builder.or_(builder.shl(x, _WORD(k)), builder.lshr(x, _WORD(64 - k)))

        slots = _slots(builder, arguments[0])
        s0, s1, s2, s3 = (builder.load(slot) for slot in slots)
        result = builder.add(rotate(builder.add(s0, s3), 23), s0)
        s2 = builder.xor(s2, s0)
        s3 = builder.xor(s3, s1)
        builder.store(builder.xor(s0, s3), slots[0])
        builder.store(builder.xor(s1, s2), slots[1])
        builder.store(builder.xor(s2, builder.shl(s1, _WORD(17))), slots[2])
        builder.store(rotate(s3, 45), slots[3])
        return result

    return types.uint64(rng), emit


@intrinsic
def _set_words(context, rng, w0, w1, w2, w3):
    def emit(context, builder, signature, arguments):
        for slot, word in zip(_slots(builder, arguments[0]), arguments[1:], strict=True):
            builder.store(word, slot)
        return context.get_dummy_value()

    return types.void(rng, *[types.uint64] * 4), emit


_U_GOLDEN, _U_MIX1, _U_MIX2 = np.uint64(_GOLDEN), np.uint64(_MIX1), np.uint64(_MIX2)
_U27, _U30, _U31, _U64 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(64)


@register_jitable(**_INLINE)
def _mix64_native(x):
    x = (x ^ (x >> _U30)) * _U_MIX1
    x = (x ^ (x >> _U27)) * _U_MIX2
    return x ^ (x >> _U31)


@register_jitable(**_INLINE)
def _absorb_native(h, key):
    return _mix64_native((h + _U_GOLDEN) ^ _mix64_native(np.uint64(key) ^ _U_MIX2))


@overload_method(RngType, "bits", jit_options=_INLINE)
def _bits(self, k):
    return lambda self, k: np.int64(_next_word(self) >> (_U64 - np.uint64(k)))


@overload_method(RngType, "reseed", jit_options=_INLINE)
def _reseed(self, seed, i, j):
    def reseed(self, seed, i, j):
        h = _absorb_native(_absorb_native(_absorb_native(np.uint64(0), seed), i), j)
        w0 = h + _U_GOLDEN
        w1 = w0 + _U_GOLDEN
        w2 = w1 + _U_GOLDEN
        w3 = w2 + _U_GOLDEN
        _set_words(self, _mix64_native(w0), _mix64_native(w1), _mix64_native(w2), _mix64_native(w3))

    return reseed


@infer_getattr
class _RngMethods(AttributeTemplate):
    key = RngType

    @bound_function("Rng.local")
    def resolve_local(self, rng, arguments, keywords):
        return signature(rng_type, recvr=rng)


@lower_builtin("Rng.local", RngType)
def _local(context, builder, signature, arguments):
    # In the frame of whoever calls: a jitted method would return the address of a frame that has ended.
    frame = cgutils.alloca_once(builder, ir.ArrayType(_WORD, 4))
    copy = builder.bitcast(frame, _WORD.as_pointer())
    for source, target in zip(_slots(builder, arguments[0]), _slots(builder, copy), strict=True):
        builder.store(builder.load(source), target)
    return copy


@overload_method(RngType, "uniform", jit_options=_INLINE)
def _uniform(self):
    return Rng.uniform


@overload_method(RngType, "normal", jit_options=_INLINE)
def _normal(self):
    return Rng.normal


@overload_method(RngType, "integer", jit_options=_INLINE)
def _integer(self, n: int):
    return Rng.integer
