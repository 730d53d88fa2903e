"""How Vector and Flags come about in compiled code, of numbers, tuples, lists, arrays and rows, and become arrays and rows again."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AbstractTemplate, infer, signature
from numba.extending import intrinsic, lower_builtin, models, overload, overload_method, register_model, typeof_impl

from airoas.compiler.array_types import REAL, WORD, FixedArrayType, element_at, fixed_array_type
from airoas.compiler.arrays import BITS, array_class, as_flags, as_vector, read_flags, read_vector, write_array
from airoas.compiler.specialise import Unsized, array_constructor, specialise


def _address(context: Any, builder: Any, array_type: Any, array: Any, indices: list[Any]) -> Any:
    array = context.make_array(array_type)(context, builder, value=array)
    return cgutils.get_item_pointer(context, builder, array_type, array, indices, wraparound=False, boundscheck=False)


def _flat(builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """Types and values of what a tuple of tuples holds."""
    if not isinstance(kind, types.BaseTuple):
        return [(kind, value)]
    return [pair for k, item in enumerate(kind) for pair in _flat(builder, item, builder.extract_value(value, k))]


@functools.cache
def _makers(array_type: FixedArrayType) -> Any:
    """Functions that make such an array: of one number, of a row's, of a tuple's."""
    has_flags, n_words = array_type.kind.holds_flags, array_type.kind.n_words

    def joined(context: Any, builder: Any, words: list[Any]) -> Any:
        value = ir.Constant(context.get_value_type(array_type), ir.Undefined)
        for k, word in enumerate(words):
            value = builder.insert_value(value, word, k)
        return value

    @intrinsic
    def filled(context: Any, element: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words = [arguments[0]] * n_words
            if has_flags:
                full = [WORD((1 << min(BITS, array_type.kind.size - at)) - 1) for at in range(0, array_type.kind.size, BITS)]
                words = [builder.select(arguments[0], word, WORD(0)) for word in full]
            return joined(context, builder, words)

        return array_type(array_type.element), emit

    @intrinsic
    def loaded(context: Any, table: Any, i: Any, at: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            begin = _address(context, builder, table, arguments[0], arguments[1:])
            words = [builder.load(builder.gep(begin, [WORD(k)])) for k in range(n_words)]
            return joined(context, builder, [builder.fptosi(word, WORD) for word in words] if has_flags else words)

        return array_type(table, types.int64, types.int64), emit

    @intrinsic
    def of_tuple(context: Any, x: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            items = [context.cast(builder, value, kind, array_type.element) for kind, value in _flat(builder, x, arguments[0])]
            if not has_flags:
                return joined(context, builder, items)
            words = [WORD(0)] * n_words
            for k, item in enumerate(items):
                words[k // BITS] = builder.or_(words[k // BITS], builder.shl(builder.zext(item, WORD), WORD(k % BITS)))
            return joined(context, builder, words)

        return array_type(x), emit

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
    below = {_tuple_shape(item) for item in kind}
    return (len(kind), *below.pop()) if len(below) == 1 else ()


def _leaves(kind: Any) -> list[Any]:
    return [leaf for item in kind for leaf in _leaves(item)] if isinstance(kind, types.BaseTuple) else [kind]


def _coercion(holds_flags: bool, x: Any, rows: Any, columns: Any) -> Any:
    if not isinstance(rows, types.IntegerLiteral):
        return None  # numba's second try
    array_type = _type_for(holds_flags, rows, columns)
    filled, loaded, of_tuple = _makers(array_type)
    shape = array_type.kind.shape
    fits = (types.Integer, types.Boolean) if array_type.kind.holds_flags else (types.Number, types.Boolean)
    convert = bool if array_type.kind.holds_flags else np.float64
    if x == array_type:
        return lambda x, rows, columns: x
    if isinstance(x, fits):
        return lambda x, rows, columns: filled(convert(x))
    if isinstance(x, types.BaseTuple) and _tuple_shape(x) == shape and all(isinstance(leaf, fits) for leaf in _leaves(x)):
        return lambda x, rows, columns: of_tuple(x)
    if isinstance(x, (types.Array, types.List)) and isinstance(x.dtype, fits) and getattr(x, "ndim", 1) == len(shape):
        n_words = array_type.kind.n_words

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
    raise TypingError(f"a value of type {x} stands where {array_type} belongs; give one number for all, or as many as it has elements")


@overload(as_vector, prefer_literal=True)
def _as_vector(x, rows, columns):
    return _coercion(False, types.unliteral(x), rows, columns)


@overload(as_flags, prefer_literal=True)
def _as_flags(x, rows, columns):
    return _coercion(True, types.unliteral(x), rows, columns)


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


# --- Vector[8](...) and Flags[13, 13](...) as they stand in a method ---


class _UnsizedType(types.Opaque):
    def __init__(self, value: Unsized) -> None:
        self.value = value
        super().__init__(f"{'Flags' if value.holds_flags else 'Vector'}, {value.mode}")


@typeof_impl.register(Unsized)
def _typeof_unsized(value: Unsized, context: Any) -> _UnsizedType:
    return _UnsizedType(value)


register_model(_UnsizedType)(models.OpaqueModel)


@lower_constant(_UnsizedType)
def _lower_unsized(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()


@infer
class _Sized(AbstractTemplate):
    key = "static_getitem"

    def generic(self, arguments: Any, keywords: Any) -> Any:
        unsized, lengths = arguments
        if not isinstance(unsized, _UnsizedType):
            return None
        kind = array_class(unsized.value.holds_flags, lengths if isinstance(lengths, tuple) else (lengths,))
        return signature(types.Dispatcher(specialise(array_constructor(kind), unsized.value.mode)), *arguments)


@lower_builtin("static_getitem", _UnsizedType, types.Any)
def _lower_sized(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return context.get_dummy_value()
