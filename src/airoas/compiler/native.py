"""Models and records inside compiled code: numba types whose attributes are the fields, and a model's methods."""

from __future__ import annotations

import hashlib
import itertools
import types as python_types
from collections.abc import Callable, Iterable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

from airoas.compiler import fingerprint
from airoas.compiler.cache import spelled
from airoas.compiler.specialise import link, same_value
from airoas.errors import CompileError, OptionError


class Native:
    """Mixin of what kernels take as an object with fields and methods: `native()` says how compiled code sees it."""

    __slots__ = ()

    def native(self) -> Handle:
        raise TypeError("a Native has a handle")


class Handle:
    """A model for compiled code: the fields that it sees, and what the methods mean."""

    __slots__ = ("_views", "fields", "made")

    def __init__(self, fields: dict[str, Any], made: NativeClass) -> None:
        self.fields = {name: same_value(value, "compiled") for name, value in fields.items()}
        for name, value in self.fields.items():
            if any(isinstance(x, int) and not -(1 << 63) <= x < 1 << 63 for x in (value if isinstance(value, tuple) else (value,))):
                raise OptionError(f"{made.name}({name}={value}) does not fit 64 bits", "use smaller integers, or a float.")
        self.made = made
        self._views: dict[str, View] = {}

    def view(self, how: str) -> View:
        """What a dispatcher of mode `how` receives in the model's place."""
        if how not in self._views:
            kinds = tuple((name, numba.typeof(value)) for name, value in self.fields.items())
            self._views[how] = View(self.fields, ModelType(self.made, how, kinds))
        return self._views[how]

    def kind(self, how: str) -> ModelType:
        return self.view(how)._numba_type_


class View:
    """A Handle in one mode.

    Not the model itself: it is a tuple, and numba would take tuples with equal fields for the same type.
    """

    __slots__ = ("_flat", "_numba_type_", "fields")

    def __init__(self, fields: dict[str, Any], kind: ModelType) -> None:
        self.fields = fields  # keeps the arrays alive
        self._flat = _flatten(fields.values())
        self._numba_type_ = kind


class Record(Native):
    """Named arrays, numbers and records that kernels take together: one argument, an address, without reference counts.

    A class below it annotates its fields. Arrays are C-contiguous; numbers are what they were when the record was made.
    """

    __slots__ = ("__dict__", "_address", "_numba_type_", "_words")
    _numba_type_: RecordType

    def __init__(self, **fields: Any) -> None:
        names = tuple(type(self).__annotations__)
        assert tuple(fields) == names, f"{type(self).__name__} has the fields {names}, in this order"
        self.__dict__.update(fields)
        kinds = tuple((name, x._numba_type_ if isinstance(x, Record) else numba.typeof(x)) for name, x in fields.items())
        self._numba_type_ = RecordType(kinds)
        self._words = np.concatenate([_words_of(x) for x in fields.values()] or [np.zeros(0, np.int64)])
        self._address = self._words.ctypes.data

    def native(self) -> Any:
        return self

    def view(self, how: str) -> Record:
        return self

    def kind(self, how: str) -> RecordType:
        return self._numba_type_


def _words_of(value: Any) -> np.ndarray:
    """A field as 64-bit words: an array as its address and lengths, a float as its bits."""
    if isinstance(value, np.ndarray):
        return np.array((value.ctypes.data, *value.shape), np.int64)
    if isinstance(value, Record):
        return value._words
    return np.array([value]).astype(np.float64 if isinstance(value, float) else np.int64).view(np.int64)


class NativeClass:
    """The functions, constants and content of a model class, with its methods in every mode."""

    def __init__(
        self,
        name: str,
        functions: dict[str, python_types.FunctionType],
        properties: dict[str, python_types.FunctionType],
        constants: dict[str, Any],
        check_methods: Callable[[ModelType, set[str]], None],
    ) -> None:
        self.name = name
        self.functions = functions
        self.properties = properties
        self.constants = constants
        self.check_methods = check_methods
        try:
            parts = {**functions, **{f"@{key}": value for key, value in properties.items()}, **constants}
            self.digest = fingerprint.digest(tuple(sorted(parts.items(), key=lambda part: part[0])))
            self.cacheable = True
        except fingerprint.UnknownContentError:
            self.digest = f"unnamed{next(_unnamed)}"
            self.cacheable = False
        _classes.setdefault(self.digest, self)

    def method(self, name: str, how: str) -> Any:
        """The dispatcher type of a method or a property's getter."""
        function = self.functions.get(name) or self.properties[name]
        dispatcher = link(function, how)
        if dispatcher.is_compiling:
            code = function.__code__
            where = f"{self.name}.{name} ({code.co_filename}, line {code.co_firstlineno})"
            remedy = "write a loop, or a plain function outside the class: those may call themselves."
            raise CompileError("calls itself, which compiled methods cannot", remedy, where=where)
        return types.Dispatcher(dispatcher)


_unnamed = itertools.count()
_classes: dict[str, NativeClass] = {}


def _spelled(fields: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join(f"{name}: {spelled(kind)}" for name, kind in fields)


class RecordType(types.Type):
    """A record: nothing but the types of its fields. Its value is the address of its words."""

    def __init__(self, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = dict(fields)
        self.offsets: dict[str, int] = {}
        self.size = 0
        for name, kind in fields:
            self.offsets[name] = self.size
            self.size += kind.size if isinstance(kind, RecordType) else 1 + getattr(kind, "ndim", 0)
            assert not isinstance(kind, types.Array) or kind.layout == "C", f"{name} is not C-contiguous"
        super().__init__(f"record<{hashlib.sha256(_spelled(fields).encode()).hexdigest()[:16]}>")  # it stands in every symbol

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordType, (tuple(self.fields.items()),)


class ModelType(types.Type):
    """A model: the content of its class, the mode, and the types of its fields."""

    def __init__(self, made: NativeClass, how: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.made = made
        self.how = how
        self.fields = dict(fields)
        self.cacheable = made.cacheable
        super().__init__(f"{made.name}<{made.digest[:32]}>[{how}]({_spelled(fields)})")

    def __reduce__(self) -> tuple[Any, ...]:
        return _model_type, (self.made.digest, self.how, tuple(self.fields.items()))

    def flat(self) -> list[tuple[str, Any]]:
        """The members of the native struct: numbers as they are, an array as its address and lengths."""
        members: list[tuple[str, Any]] = []
        for name, kind in self.fields.items():
            if isinstance(kind, types.Array):
                members.append((f"{name}:data", types.uintp))
                members += [(f"{name}:{axis}", types.intp) for axis in range(kind.ndim)]
            else:
                members.append((name, kind))
        return members


def _model_type(digest: str, how: str, fields: tuple[tuple[str, Any], ...]) -> ModelType:
    return ModelType(_classes[digest], how, fields)  # KeyError, that is a miss, where the class is not known


def _flatten(values: Iterable[Any]) -> tuple[Any, ...]:
    parts: list[Any] = []
    for value in values:
        parts += (value.ctypes.data, *value.shape) if isinstance(value, np.ndarray) else (value,)
    return tuple(parts)


@register_model(ModelType)
class _ModelStruct(models.StructModel):
    def __init__(self, manager: Any, kind: ModelType) -> None:
        super().__init__(manager, kind, kind.flat())


@unbox(ModelType)
def _unbox_model(kind: ModelType, value: Any, c: Any) -> NativeValue:
    members = kind.flat()
    struct = c.context.make_helper(c.builder, kind)
    flat = c.pyapi.object_getattr_string(value, "_flat")
    for position, (name, member) in enumerate(members):
        item = c.unbox(member, c.pyapi.tuple_getitem(flat, position))
        setattr(struct, name, item.value)
    c.pyapi.decref(flat)
    return NativeValue(struct._getvalue(), is_error=c.pyapi.c_api_error())


_WORD = ir.IntType(64)


@register_model(RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: RecordType) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


@unbox(RecordType)
def _unbox_record(kind: RecordType, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "_address")
    pointer = c.builder.inttoptr(c.pyapi.long_as_ulonglong(address), _WORD.as_pointer())
    c.pyapi.decref(address)
    return NativeValue(pointer)


class _MethodType(types.BoundFunction):
    """A model's method: calls go straight to the jitted function."""

    def get_impl_key(self, signature: Any) -> Any:
        return self.template.dispatcher_type.get_impl_key(signature.as_function())


register_model(_MethodType)(lambda manager, kind: manager[kind.this])


@infer_getattr
class _RecordAttributes(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> Any:
        return record.fields.get(name)


@infer_getattr
class _ModelAttributes(AttributeTemplate):
    key = ModelType

    def generic_resolve(self, model: ModelType, name: str) -> Any:
        made = model.made
        if name in model.fields:
            return model.fields[name]
        if name in made.functions:
            jitted = made.method(name, model.how)

            class Method(AbstractTemplate):
                key = (model, name)
                dispatcher_type = jitted

                def generic(self, arguments: Any, keywords: Any) -> Any:
                    found = jitted.get_call_type(self.context, (model, *arguments), keywords)
                    return found and found.as_method()

            return _MethodType(Method, model)
        if name in made.properties:
            return made.method(name, model.how).get_call_type(self.context, (model,), {}).return_type
        if name in made.constants:
            return self.context.resolve_value_type(made.constants[name])
        return None


@lower_getattr_generic(ModelType)
def _lower_attribute(context: Any, builder: Any, kind: ModelType, value: Any, name: str) -> Any:
    made = kind.made
    if name in made.properties:
        jitted = made.method(name, kind.how)
        signature = jitted.get_call_type(context.typing_context, (kind,), {})
        call = context.get_function(jitted, signature)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, [value])
    if name in made.constants:
        return context.get_constant_generic(builder, context.typing_context.resolve_value_type(made.constants[name]), made.constants[name])
    struct = context.make_helper(builder, kind, value=value)
    member = kind.fields[name]
    if not isinstance(member, types.Array):
        return getattr(struct, name)
    return _array(context, builder, member, getattr(struct, f"{name}:data"), [getattr(struct, f"{name}:{k}") for k in range(member.ndim)])


def _array(context: Any, builder: Any, kind: Any, address: Any, lengths: list[Any]) -> Any:
    """The owner outlives every call, so an array field needs no reference count: without a meminfo LLVM drops them all."""
    array = make_array(kind)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides: list[Any] = []
    step = context.get_constant(types.intp, itemsize)
    for length in reversed(lengths):
        strides.insert(0, step)
        step = builder.mul(step, length)
    data = builder.inttoptr(address, context.get_data_type(kind.dtype).as_pointer())
    populate_array(array, data=data, shape=lengths, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


@lower_getattr_generic(RecordType)
def _lower_field(context: Any, builder: Any, kind: RecordType, value: Any, name: str) -> Any:
    member, offset = kind.fields[name], kind.offsets[name]

    def word(k: int) -> Any:
        """A record does not change while a kernel runs: LLVM may read it once for all, whatever is stored in between."""
        loaded = builder.load(builder.gep(value, [_WORD(k)], inbounds=True))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if isinstance(member, RecordType):
        return builder.gep(value, [_WORD(offset)], inbounds=True)
    if isinstance(member, types.Array):
        return _array(context, builder, member, word(offset), [word(offset + 1 + axis) for axis in range(member.ndim)])
    if isinstance(member, types.Float):
        return builder.bitcast(word(offset), ir.DoubleType())
    return context.cast(builder, word(offset), types.int64, member)
