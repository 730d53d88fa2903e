"""How Vector and Flags come about in compiled code, of numbers, tuples, lists, arrays and rows, and become arrays and rows again."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload, overload_method

from airoas.compiler.array_types import REAL, WORD, FixedArrayType, element_at, fixed_array_type
from airoas.compiler.arrays import BITS, as_flags, as_vector, read_flags, read_vector, write_array


def _address(context: Any, builder: Any, array_type: Any, array: Any, indices: list[Any]) -> Any:
    made = context.make_array(array_type)(context, builder, value=array)
    return cgutils.get_item_pointer(context, builder, array_type, made, indices, wraparound=False, boundscheck=False)


def _flat(builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """Types and values of what a tuple of tuples holds."""
    if not isinstance(kind, types.BaseTuple):
        return [(kind, value)]
    return [pair for k, item in enumerate(kind) for pair in _flat(builder, item, builder.extract_value(value, k))]


@functools.cache
def _makers(made: FixedArrayType) -> Any:
    """Functions that make such an array: of one number, of a row's, of a tuple's."""
    has_flags, n_words = made.kind.holds_flags, made.kind.n_words

    def joined(context: Any, builder: Any, words: list[Any]) -> Any:
        value = ir.Constant(context.get_value_type(made), ir.Undefined)
        for k, word in enumerate(words):
            value = builder.insert_value(value, word, k)
        return value

    @intrinsic
    def filled(context: Any, element: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = [arguments[0]] * n_words
            if has_flags:
                full = [WORD((1 << min(BITS, made.kind.size - at)) - 1) for at in range(0, made.kind.size, BITS)]
                words = [builder.select(arguments[0], word, WORD(0)) for word in full]
            return joined(context, builder, words)

        return made(made.element), emit

    @intrinsic
    def loaded(context: Any, table: Any, i: Any, at: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            begin = _address(context, builder, table, arguments[0], arguments[1:])
            words = [builder.load(builder.gep(begin, [WORD(k)])) for k in range(n_words)]
            return joined(context, builder, [builder.fptosi(word, WORD) for word in words] if has_flags else words)

        return made(table, types.int64, types.int64), emit

    @intrinsic
    def of_tuple(context: Any, x: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            items = [context.cast(builder, value, kind, made.element) for kind, value in _flat(builder, x, arguments[0])]
            if not has_flags:
                return joined(context, builder, items)
            words = [WORD(0)] * n_words
            for k, item in enumerate(items):
                words[k // BITS] = builder.or_(words[k // BITS], builder.shl(builder.zext(item, WORD), WORD(k % BITS)))
            return joined(context, builder, words)

        return made(x), emit

    return filled, loaded, of_tuple


@intrinsic
def _stored(context: Any, x: Any, table: Any, i: Any, at: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = _address(context, builder, table, arguments[1], arguments[2:])
        for k in range(x.kind.n_words):
            word = builder.extract_value(arguments[0], k)
            builder.store(builder.sitofp(word, REAL) if x.kind.holds_flags else word, builder.gep(begin, [WORD(k)]))
        return context.get_dummy_value()

    return types.none(x, table, types.int64, types.int64), emit


def _type_for(holds_flags: bool, rows: Any, columns: Any) -> FixedArrayType:
    lengths = rows.literal_value, columns.literal_value
    return fixed_array_type(holds_flags, lengths if lengths[1] else lengths[:1])


def _tuple_shape(kind: Any) -> tuple[int, ...]:
    """Of a tuple of tuples; empty where they differ."""
    if not isinstance(kind, types.BaseTuple):
        return ()
    inner = {_tuple_shape(item) for item in kind}
    return (len(kind), *inner.pop()) if len(inner) == 1 else ()


def _leaves(kind: Any) -> list[Any]:
    return [leaf for item in kind for leaf in _leaves(item)] if isinstance(kind, types.BaseTuple) else [kind]


def _coercion(made: FixedArrayType, x: Any) -> Any:
    filled, loaded, of_tuple = _makers(made)
    shape = made.kind.shape
    fits = (types.Integer, types.Boolean) if made.kind.holds_flags else (types.Number, types.Boolean)
    convert = bool if made.kind.holds_flags else np.float64
    if x == made:
        return lambda x, rows, columns: x
    if isinstance(x, fits):
        return lambda x, rows, columns: filled(convert(x))
    if isinstance(x, types.BaseTuple) and _tuple_shape(x) == shape and all(isinstance(leaf, fits) for leaf in _leaves(x)):
        return lambda x, rows, columns: of_tuple(x)
    if isinstance(x, (types.Array, types.List)) and isinstance(x.dtype, fits) and getattr(x, "ndim", 1) == len(shape):
        n_words, holds_flags = made.kind.n_words, made.kind.holds_flags

        def of_items(x, rows, columns):
            items = np.asarray(x)
            if items.shape != shape:
                raise ValueError("an array of another shape stands where one of a fixed size belongs")
            table = np.zeros((1, n_words))
            for k, item in enumerate(items.flat):
                if not holds_flags:
                    table[0, k] = item
                elif item:
                    table[0, k // BITS] += float(1 << k % BITS)
            return loaded(table, 0, 0)

        return of_items
    raise TypingError(f"a value of type {x} stands where {made} belongs; give one number for all, or as many as it has elements")


@overload(as_vector, prefer_literal=True)
def _as_vector(x, rows, columns):
    return _coercion(_type_for(False, rows, columns), types.unliteral(x))


@overload(as_flags, prefer_literal=True)
def _as_flags(x, rows, columns):
    return _coercion(_type_for(True, rows, columns), types.unliteral(x))


@overload(read_vector, prefer_literal=True)
def _read_vector(table, i, at, rows, columns):
    loaded = _makers(_type_for(False, rows, columns))[1]
    return lambda table, i, at, rows, columns: loaded(table, i, at)


@overload(read_flags, prefer_literal=True)
def _read_flags(table, i, at, rows, columns):
    loaded = _makers(_type_for(True, rows, columns))[1]
    return lambda table, i, at, rows, columns: loaded(table, i, at)


@overload(write_array)
def _write_array(table, i, at, x):
    return lambda table, i, at, x: _stored(x, table, i, at)


@overload_method(FixedArrayType, "copy")
def _copy(x):
    shape, size, n_words = x.kind.shape, x.kind.size, x.kind.n_words
    if x.kind.holds_flags:

        def copied(x):
            out = np.empty(size, np.bool_)
            for k in range(size):
                out[k] = element_at(x, k)
            return out.reshape(shape)

        return copied

    def stored(x):
        out = np.empty((1, n_words))
        _stored(x, out, 0, 0)
        return out.reshape(shape)

    return stored
