"""Models and records inside compiled code: numba types whose attributes are the fields, and a model's methods."""

from __future__ import annotations

import hashlib
import itertools
import types as python_types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

from airoas import content
from airoas.cache import spelled
from airoas.errors import CompileError, OptionError
from airoas.link import link, same_value


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

    def kind(self, how: str) -> FieldsType:
        return self.view(how)._numba_type_


class View:
    """A Handle in one mode, or a Record.

    Not the model itself: it is a tuple, and numba would take tuples with equal fields for the same type.
    """

    __slots__ = ("_flat", "_numba_type_", "fields")

    def __init__(self, fields: dict[str, Any], kind: FieldsType) -> None:
        self.fields = fields  # keeps the arrays alive
        self._flat = _flatten(fields.values())
        self._numba_type_ = kind


class Record(Native):
    """Named arrays, numbers and records that kernels take together: one argument, by address, without reference counts.

    A class below it annotates its fields. Arrays are C-contiguous; numbers are what they were when the record was made.
    """

    __slots__ = ("__dict__", "_view")

    def __init__(self, **fields: Any) -> None:
        names = tuple(type(self).__annotations__)
        assert tuple(fields) == names, f"{type(self).__name__} has the fields {names}, in this order"
        self.__dict__.update(fields)
        kinds = tuple((name, x.kind("") if isinstance(x, Record) else numba.typeof(x)) for name, x in fields.items())
        self._view = View(fields, RecordType(kinds))

    def native(self) -> Any:
        return self

    def view(self, how: str) -> View:
        return self._view

    def kind(self, how: str) -> FieldsType:
        return self._view._numba_type_


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
            self.digest = content.digest(tuple(sorted(parts.items(), key=lambda part: part[0])))
            self.cacheable = True
        except content.UnknownContentError:
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


class FieldsType(types.Type):
    """Numba's view of something with named fields."""

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = dict(fields)
        super().__init__(f"{name}({', '.join(f'{n}: {spelled(k)}' for n, k in fields)})")

    def flat(self) -> list[tuple[str, Any]]:
        """The members of the native struct: numbers and records as they are, an array as its address and lengths."""
        members: list[tuple[str, Any]] = []
        for name, kind in self.fields.items():
            if isinstance(kind, types.Array):
                assert kind.layout == "C", f"{name} is not C-contiguous"
                members.append((f"{name}:data", types.uintp))
                members += [(f"{name}:{axis}", types.intp) for axis in range(kind.ndim)]
            else:
                members.append((name, kind))
        return members


class RecordType(FieldsType):
    """A record: nothing but the types of its fields."""

    cacheable = True

    def __init__(self, fields: tuple[tuple[str, Any], ...]) -> None:
        super().__init__("record", fields)
        self.name = f"record<{hashlib.sha256(self.name.encode()).hexdigest()[:16]}>"  # it stands in every symbol

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordType, (tuple(self.fields.items()),)


class ModelType(FieldsType):
    """A model: the content of its class, the mode, and the types of its fields."""

    def __init__(self, made: NativeClass, how: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.made = made
        self.how = how
        self.cacheable = made.cacheable
        super().__init__(f"{made.name}<{made.digest[:32]}>[{how}]", fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return _model_type, (self.made.digest, self.how, tuple(self.fields.items()))


def _model_type(digest: str, how: str, fields: tuple[tuple[str, Any], ...]) -> ModelType:
    return ModelType(_classes[digest], how, fields)  # KeyError, that is a miss, where the class is not known


def _flatten(values: Iterable[Any]) -> tuple[Any, ...]:
    parts: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray):
            parts += (value.ctypes.data, *value.shape)
        elif isinstance(value, Record):
            parts += value._view._flat
        else:
            parts.append(value)
    return tuple(parts)


@register_model(RecordType)
@register_model(ModelType)
class _FieldsStruct(models.StructModel):
    def __init__(self, manager: Any, kind: FieldsType) -> None:
        super().__init__(manager, kind, kind.flat())


@unbox(RecordType)
@unbox(ModelType)
def _unbox_fields(kind: FieldsType, value: Any, c: Any) -> NativeValue:
    flat = c.pyapi.object_getattr_string(value, "_flat")
    struct = _unboxed_struct(kind, flat, itertools.count(), c)
    c.pyapi.decref(flat)
    return NativeValue(struct, is_error=c.pyapi.c_api_error())


def _unboxed_struct(kind: FieldsType, flat: Any, position: Iterator[int], c: Any) -> Any:
    struct = c.context.make_helper(c.builder, kind)
    for name, member in kind.flat():
        if isinstance(member, FieldsType):
            setattr(struct, name, _unboxed_struct(member, flat, position, c))
        else:
            setattr(struct, name, c.unbox(member, c.pyapi.tuple_getitem(flat, next(position))).value)
    return struct._getvalue()


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
    return _lower_field(context, builder, kind, value, name)


@lower_getattr_generic(RecordType)
def _lower_field(context: Any, builder: Any, kind: FieldsType, value: Any, name: str) -> Any:
    struct = context.make_helper(builder, kind, value=value)
    member = kind.fields[name]
    if not isinstance(member, types.Array):
        return getattr(struct, name)
    # The owner outlives every call, so an array field needs no reference count: without a meminfo LLVM drops them all.
    array = make_array(member)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(member.dtype))
    lengths = [getattr(struct, f"{name}:{axis}") for axis in range(member.ndim)]
    strides: list[Any] = []
    step = context.get_constant(types.intp, itemsize)
    for length in reversed(lengths):
        strides.insert(0, step)
        step = builder.mul(step, length)
    data = builder.inttoptr(getattr(struct, f"{name}:data"), context.get_data_type(member.dtype).as_pointer())
    populate_array(array, data=data, shape=lengths, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()
