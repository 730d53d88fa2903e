"""Vector and Flags in compiled code: values of so many floats, or of so many words of flags."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import RefType, impl_ret_borrowed, iternext_impl
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, bound_function, infer, infer_getattr, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, overload, overload_attribute, register_model

from airoas.compiler.arrays import BITS, FixedArray, array_class

_FEW = 8  # words: an element of so many is selected in registers, of more by its address on the stack
WORD, REAL = ir.IntType(64), ir.DoubleType()


class FixedArrayType(types.IterableType):
    """Of a Vector or Flags class. The value is its words."""

    def __init__(self, kind: type[FixedArray]) -> None:
        self.kind = kind
        self.element = types.boolean if kind.holds_flags else types.float64
        super().__init__(kind.__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        return fixed_array_type, (self.kind.holds_flags, self.kind.shape)

    @property
    def iterator_type(self) -> Any:
        return _IteratorType(self)


def fixed_array_type(holds_flags: bool, shape: tuple[int, ...]) -> FixedArrayType:
    return FixedArrayType(array_class(holds_flags, shape))


@register_model(FixedArrayType)
class _ArrayModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: FixedArrayType) -> None:
        super().__init__(manager, kind, ir.ArrayType(WORD if kind.kind.holds_flags else REAL, kind.kind.n_words))


# --- elements ---


def _selected(builder: Any, value: Any, word: Any) -> Any:
    """Word number `word` of a value."""
    if value.type.count > _FEW:
        held = cgutils.alloca_once_value(builder, value)
        return builder.load(builder.gep(held, [WORD(0), word]))
    chosen = builder.extract_value(value, 0)
    for k in range(1, value.type.count):
        chosen = builder.select(builder.icmp_signed("==", word, WORD(k)), builder.extract_value(value, k), chosen)
    return chosen


def _replaced(builder: Any, value: Any, word: Any, new: Any) -> Any:
    """The value with another word in that position."""
    if value.type.count > _FEW:
        held = cgutils.alloca_once_value(builder, value)
        builder.store(new, builder.gep(held, [WORD(0), word]))
        return builder.load(held)
    for k in range(value.type.count):
        kept = builder.select(builder.icmp_signed("==", word, WORD(k)), new, builder.extract_value(value, k))
        value = builder.insert_value(value, kept, k)
    return value


def _element(builder: Any, kind: FixedArrayType, value: Any, position: Any) -> Any:
    if not kind.kind.holds_flags:
        return _selected(builder, value, position)
    word = _selected(builder, value, builder.udiv(position, WORD(BITS)))
    return builder.trunc(builder.lshr(word, builder.urem(position, WORD(BITS))), ir.IntType(1))


def _with_element(builder: Any, kind: FixedArrayType, value: Any, position: Any, element: Any) -> Any:
    if not kind.kind.holds_flags:
        return _replaced(builder, value, position, element)
    word, shift = builder.udiv(position, WORD(BITS)), builder.urem(position, WORD(BITS))
    cleared = builder.and_(_selected(builder, value, word), builder.not_(builder.shl(WORD(1), shift)))
    return _replaced(builder, value, word, builder.or_(cleared, builder.shl(builder.zext(element, WORD), shift)))


def _position(context: Any, builder: Any, kind: FixedArrayType, key_type: Any, key: Any) -> Any:
    """The position of an element among all, from one index or two; those below 0 count from the end."""
    is_tuple = isinstance(key_type, types.BaseTuple)
    kinds = tuple(key_type) if is_tuple else (key_type,)
    keys = cgutils.unpack_tuple(builder, key) if is_tuple else [key]
    position = WORD(0)
    for index_type, given, length in zip(kinds, keys, kind.kind.shape, strict=True):
        index = context.cast(builder, given, index_type, types.int64)
        index = builder.select(builder.icmp_signed("<", index, WORD(0)), builder.add(index, WORD(length)), index)
        if context.enable_boundscheck:
            cgutils.do_boundscheck(context, builder, index, WORD(length))
        position = builder.add(builder.mul(position, WORD(length)), index)
    return position


def _checked_key(kind: FixedArrayType, key: Any) -> None:
    given = tuple(key) if isinstance(key, types.BaseTuple) else (key,)
    if not all(isinstance(index, (types.Integer, types.Boolean)) for index in given):
        raise TypingError(f"an index of type {key} stands where a whole number belongs")
    if len(given) != len(kind.kind.shape):
        raise TypingError(f"{kind} takes other indices; write {'[i, j]' if len(kind.kind.shape) == 2 else '[i]'}")


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, arguments: Any, keywords: Any) -> Any:
        if isinstance(arguments[0], FixedArrayType):
            _checked_key(*arguments)
            return signature(arguments[0].element, *arguments)
        return None


@lower_builtin(operator.getitem, FixedArrayType, types.Any)
def _lower_getitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, key_type = signature.args
    return _element(builder, kind, arguments[0], _position(context, builder, kind, key_type, arguments[1]))


@infer
class _StaticGetItem(AbstractTemplate):
    key = "static_getitem"

    def generic(self, arguments: Any, keywords: Any) -> Any:
        kind, key = arguments
        if isinstance(kind, FixedArrayType):
            given = key if isinstance(key, tuple) else (key,)
            _checked_key(kind, types.Tuple([types.int64 if isinstance(index, int) else types.float64 for index in given]))
            return signature(kind.element, *arguments)
        return None


@lower_builtin("static_getitem", FixedArrayType, types.Any)
def _lower_static_getitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, key = signature.args[0], arguments[1]
    given = key if isinstance(key, tuple) else (key,)
    value = context.make_tuple(builder, types.UniTuple(types.int64, len(given)), [WORD(index) for index in given])
    return _element(builder, kind, arguments[0], _position(context, builder, kind, types.UniTuple(types.int64, len(given)), value))


@infer_getattr
class _Methods(AttributeTemplate):
    key = FixedArrayType

    @bound_function("airoas.with")
    def resolve_with_(self, x: Any, arguments: Any, keywords: Any) -> Any:
        key, value = arguments
        _checked_key(x, key)
        fits = (types.Integer, types.Boolean) if x.kind.holds_flags else (types.Integer, types.Float, types.Boolean)
        if not isinstance(value, fits):
            raise TypingError(f"a value of type {value} stands where {'True or False' if x.kind.holds_flags else 'a float'} belongs")
        return signature(x, key, value)


@lower_builtin("airoas.with", FixedArrayType, types.Any, types.Any)
def _lower_with(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """No overload: only here is it known whether indices are checked."""
    kind, key_type, value_type = signature.args
    element = context.cast(builder, arguments[2], value_type, kind.element)
    return _with_element(builder, kind, arguments[0], _position(context, builder, kind, key_type, arguments[1]), element)


@overload(len)
def _len(x):
    if isinstance(x, FixedArrayType):
        size = x.kind.size
        return lambda x: size
    return None


@overload_attribute(FixedArrayType, "shape")
def _shape(x):
    shape = x.kind.shape
    return lambda x: shape


@intrinsic
def _same(context: Any, x: Any, y: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        same = ir.IntType(1)(1)
        for k in range(x.kind.n_words):
            pair = [builder.extract_value(argument, k) for argument in arguments]
            equal = builder.icmp_signed("==", *pair) if x.kind.holds_flags else builder.fcmp_ordered("==", *pair)
            same = builder.and_(same, equal)
        return same

    return types.boolean(x, y), emit


@overload(operator.eq)
def _equal(x, y):
    if isinstance(x, FixedArrayType) and x == y:
        return lambda x, y: _same(x, y)
    return None


@overload(operator.ne)
def _not_equal(x, y):
    if isinstance(x, FixedArrayType) and x == y:
        return lambda x, y: not _same(x, y)
    return None


# --- loops ---


class _IteratorType(types.SimpleIteratorType):
    def __init__(self, container: FixedArrayType) -> None:
        self.container = container
        super().__init__(f"iter({container})", container.element)


@register_model(_IteratorType)
class _IteratorModel(models.StructModel):
    def __init__(self, manager: Any, kind: _IteratorType) -> None:
        super().__init__(manager, kind, [("index", types.EphemeralPointer(types.int64)), ("array", kind.container)])


@lower_builtin("getiter", FixedArrayType)
def _lower_getiter(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    iterator = context.make_helper(builder, signature.return_type)
    iterator.index = cgutils.alloca_once_value(builder, WORD(0))
    iterator.array = arguments[0]
    return impl_ret_borrowed(context, builder, signature.return_type, iterator._getvalue())


@lower_builtin("iternext", _IteratorType)
@iternext_impl(RefType.UNTRACKED)
def _lower_iternext(context: Any, builder: Any, signature: Any, arguments: Any, result: Any) -> None:
    kind = signature.args[0]
    iterator = context.make_helper(builder, kind, value=arguments[0])
    index = builder.load(iterator.index)
    is_valid = builder.icmp_signed("<", index, WORD(kind.container.kind.size))
    result.set_valid(is_valid)
    with builder.if_then(is_valid):
        result.yield_(_element(builder, kind.container, iterator.array, index))
        builder.store(builder.add(index, WORD(1)), iterator.index)


# --- builtins ---


@intrinsic
def element_at(context: Any, x: Any, position: Any) -> Any:
    """The element in this position among all."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _element(builder, x, *arguments)

    return x.element(x, types.int64), emit


@overload(all)
def _all(x):
    if not isinstance(x, FixedArrayType):
        return None
    size = x.kind.size

    def every(x):
        result = True
        for k in range(size):
            result = result and bool(element_at(x, k))
        return result

    return every


@overload(any)
def _any(x):
    if not isinstance(x, FixedArrayType):
        return None
    size = x.kind.size

    def some(x):
        result = False
        for k in range(size):
            result = result or bool(element_at(x, k))
        return result

    return some


@overload(sum)
def _sum(x):
    """Of flags alone: Python adds floats up in a way of its own."""
    if not (isinstance(x, FixedArrayType) and x.kind.holds_flags):
        return None
    size = x.kind.size

    def count(x):
        total = 0
        for k in range(size):
            total += element_at(x, k)
        return total

    return count
