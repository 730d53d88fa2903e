"""Models and records inside compiled code: numba types whose attributes are the fields, and a model's methods."""

from __future__ import annotations

import functools
import hashlib
import itertools
import types as python_types
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed, lower_cast, lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, signature
from numba.extending import NativeValue, intrinsic, lower_builtin, models, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

from airoas.compiler import fingerprint
from airoas.compiler.cache import spelled
from airoas.compiler.specialise import ON_DEVICE, canonicalise, current_mode, interpreted_class, interpreted_copy, specialise
from airoas.errors import CompileError, OptionError


class HasNative(Protocol):
    """A `Native`, to a type checker that does not know that a model is one."""

    def native(self) -> Any: ...


class Native:
    """Mixin of what kernels take as an object with fields and methods: `native()` says how compiled code sees it."""

    __slots__ = ()

    def native(self) -> Handle:
        raise TypeError("a Native has a handle")


class Handle:
    """A model for compiled code: the fields that it sees as words in memory, and what the methods mean."""

    __slots__ = ("_views", "_words", "fields", "native_class")

    def __init__(self, fields: dict[str, Any], native_class: NativeClass) -> None:
        self.fields = {name: canonicalise(value, "compiled") for name, value in fields.items()}
        for name, value in self.fields.items():
            if any(isinstance(x, int) and not -(1 << 63) <= x < 1 << 63 for x in (value if isinstance(value, tuple) else (value,))):
                raise OptionError(f"{native_class.name}({name}={value}) does not fit 64 bits", "use smaller integers, or a float.")
        self.native_class = native_class
        self._words = words_of(self.fields.values(), "compiled")
        self._views: dict[tuple[str, str], NativeView] = {}

    def view(self, mode: str, names: frozenset[str] | None = None) -> NativeView:
        """What a dispatcher of this mode receives instead of the model; of the methods only `names`, where they are given."""
        native_class = self.native_class if names is None else self.native_class.only(names)
        key = mode, native_class.digest
        if key not in self._views:
            kinds = tuple((name, numba.typeof(value)) for name, value in self.fields.items())
            self._views[key] = NativeView(self, ModelAddressType(ModelType(native_class, mode, kinds)), self._words.ctypes.data)
        return self._views[key]


class NativeView:
    """A Handle in one mode.

    Not the model itself: it is a tuple, and numba would take tuples with equal fields for the same type.
    """

    __slots__ = ("_address", "_numba_type_", "_owner")

    def __init__(self, owner: Handle, kind: ModelAddressType, address: int) -> None:
        self._owner = owner  # keeps the words and the arrays alive
        self._numba_type_ = kind
        self._address = address


class Record(Native):
    """Named arrays, numbers, records, models and bound kernels that kernels take together: one argument, an address.

    A class below it annotates its fields. Arrays are C-contiguous and stay the same arrays; numbers can be set, by kernels and
    by Python, and keep the type that they began with.
    """

    __slots__ = ("__dict__", "_address", "_numba_type_", "_offsets", "_reals", "_words")
    _numba_type_: RecordType

    def __init__(self, **fields: Any) -> None:
        names = tuple(type(self).__annotations__)
        assert tuple(fields) == names, f"{type(self).__name__} has the fields {names}, in this order"
        mode = current_mode()
        fields = {name: x.item() if isinstance(x, np.generic) else x for name, x in fields.items()}
        kind = RecordType(tuple((name, _kind_of(x, mode)) for name, x in fields.items()))
        words = words_of(fields.values(), mode)
        for slot, value in (
            ("_numba_type_", kind),
            ("_words", words),
            ("_reals", words.view(np.float64)),
            ("_address", words.ctypes.data),
            ("_offsets", {name: kind.offsets[name] for name, x in fields.items() if isinstance(x, (bool, int, float))}),
        ):
            object.__setattr__(self, slot, value)
        seen = {name: interpreted(x) if mode == "interpreted" and isinstance(x, Native) else x for name, x in fields.items()}
        self.__dict__.update({name: x for name, x in seen.items() if name not in self._offsets})

    def __getattr__(self, name: str) -> Any:
        """A number, which stands in the words alone."""
        offset = object.__getattribute__(self, "_offsets").get(name)
        if offset is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        kind = self._numba_type_.fields[name]
        if isinstance(kind, types.Float):
            return float(self._reals[offset])
        return bool(self._words[offset]) if isinstance(kind, types.Boolean) else int(self._words[offset])

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._offsets:
            raise AttributeError(f"{type(self).__name__}.{name} is no number, and cannot be set")
        real = isinstance(self._numba_type_.fields[name], types.Float)
        (self._reals if real else self._words)[self._offsets[name]] = value

    def native(self) -> Any:
        return self

    def view(self, mode: str, names: frozenset[str] | None = None) -> Record:
        return self


class Bound:
    """A kernel with its model, to be called from compiled code through its address; see `Kernel.bind`. Python calls it, too."""

    __slots__ = ("_call", "_numba_type_", "addresses", "kernel", "owner")

    def __init__(self, call: Callable[..., Any], kind: BoundType, addresses: tuple[int, int], kernel: Any, owner: Any) -> None:
        self._call = call
        self._numba_type_ = kind
        self.addresses = addresses
        """Of the function and of its model's words."""
        self.kernel, self.owner = kernel, owner

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)


def _kind_of(value: Any, mode: str) -> Any:
    if isinstance(value, Native):
        kind = value.native().view(mode)._numba_type_
        return kind.model if isinstance(kind, ModelAddressType) else kind
    return value._numba_type_ if isinstance(value, Bound) else numba.typeof(value)


def words_of(values: Iterable[Any], mode: str) -> np.ndarray:
    """Fields as 64-bit words: an array is its address and lengths, a record or a model its address, a float its bits."""
    words: list[int] = []
    for value in values:
        if isinstance(value, np.ndarray):
            words += (value.ctypes.data, *value.shape)
        elif isinstance(value, Native):
            words.append(value.native().view(mode)._address)
        elif isinstance(value, Bound):
            words += value.addresses
        else:
            for x in value if isinstance(value, tuple) else (value,):
                words.append(int(np.float64(x).view(np.int64)) if isinstance(x, float) else int(x))
    return np.array(words, np.int64)


def size_of(kind: Any) -> int:
    """How many words a field of this type takes."""
    if isinstance(kind, types.Array):
        return 1 + int(kind.ndim)
    return 2 if isinstance(kind, (BoundType, DeviceBoundType)) else len(kind) if isinstance(kind, numba.types.BaseTuple) else 1


def _offsets(fields: tuple[tuple[str, Any], ...]) -> dict[str, int]:
    return dict(zip([name for name, _ in fields], itertools.accumulate((size_of(kind) for _, kind in fields), initial=0), strict=False))


_interpreted: dict[tuple[type, str], type] = {}


def interpreted(model: HasNative) -> Any:
    """The model with every method over interpreted surroundings: same coercions, same forgiving `math`. A record as it is."""
    if isinstance(model, Record):
        return model
    native_class = model.native().native_class
    key = (type(model), native_class.digest)
    if key not in _interpreted:
        _interpreted[key] = interpreted_class(type(model), native_class.functions, native_class.properties, native_class.constants)
    return interpreted_copy(model, _interpreted[key])


class NativeClass:
    """The functions, constants and fingerprint of a model class, with its methods in every mode."""

    def __init__(
        self,
        name: str,
        functions: dict[str, python_types.FunctionType],
        properties: dict[str, python_types.FunctionType],
        constants: dict[str, Any],
        check_methods: Callable[[ModelType, frozenset[str]], bool],
        location: Callable[[], str],
    ) -> None:
        self.name = name
        self.functions = functions
        self.properties = properties
        self.constants = constants
        self.check_methods = check_methods
        """Raises what is wrong with a method of these names; whether the methods that every model has compile, too."""
        self.location = location
        """Of the class in the user's file."""
        try:
            parts = {**functions, **{f"@{key}": value for key, value in properties.items()}, **constants}
            self.digest = fingerprint.digest((name, *sorted(parts.items(), key=lambda part: part[0])))
            self.cacheable = True
        except fingerprint.NoFingerprintError:
            self.digest = f"unnamed{next(_unnamed)}"
            self.cacheable = False
        self._parts: dict[frozenset[str], NativeClass] = {}
        _classes.setdefault(self.digest, self)

    def only(self, names: Iterable[str]) -> NativeClass:
        """The same with nothing but these methods, properties and constants and what they mention: an edit of another one then
        leaves what was compiled with them as it is."""
        known = self.functions.keys() | self.properties.keys() | self.constants.keys()
        reached, queue = set(), [name for name in names if name in known]
        while queue:
            name = queue.pop()
            if name not in reached:
                reached.add(name)
                function = self.functions.get(name) or self.properties.get(name)
                queue += [] if function is None else known & _mentions(function)
        key = frozenset(reached)
        if key == known:
            return self
        if key not in self._parts:
            functions = {name: value for name, value in self.functions.items() if name in key}
            properties = {name: value for name, value in self.properties.items() if name in key}
            constants = {name: value for name, value in self.constants.items() if name in key}
            self._parts[key] = NativeClass(self.name, functions, properties, constants, self.check_methods, self.location)
        return self._parts[key]

    def method(self, name: str, mode: str) -> Any:
        """The dispatcher type of a method or a property's getter."""
        function = self.functions.get(name) or self.properties[name]
        dispatcher = specialise(function, mode)
        if dispatcher.is_compiling:
            code = function.__code__
            where = f"{self.name}.{name} ({code.co_filename}, line {code.co_firstlineno})"
            remedy = "write a loop, or a plain function outside the class: those may call themselves."
            raise CompileError("calls itself, which compiled methods cannot", remedy, where=where)
        return types.Dispatcher(dispatcher)


@functools.lru_cache(4096)
def _mentions(function: python_types.FunctionType) -> frozenset[str]:
    """The attributes that a function and those that it calls mention, whoever they belong to."""
    return frozenset(name for part in fingerprint.reachable(function) for name in fingerprint.attributes(part))


_unnamed = itertools.count()
_classes: dict[str, NativeClass] = {}


def _spelled(fields: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join(f"{name}: {spelled(kind)}" for name, kind in fields)


class RecordType(types.Type):
    """A record: nothing but the types of its fields. Its value is the address of its words."""

    def __init__(self, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = dict(fields)
        self.offsets = _offsets(fields)
        for name, kind in fields:
            assert not isinstance(kind, types.Array) or kind.layout == "C", f"{name} is not C-contiguous"
        super().__init__(f"record<{hashlib.sha256(_spelled(fields).encode()).hexdigest()[:16]}>")  # it stands in every symbol

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordType, (tuple(self.fields.items()),)


class ModelType(types.Type):
    """A model: the fingerprint of its class, the mode, and the types of its fields. Its value is the address of their words."""

    def __init__(self, native_class: NativeClass, mode: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.native_class = native_class
        self.mode = mode
        self.fields = dict(fields)
        self.offsets = _offsets(fields)
        self.size = sum(size_of(kind) for _, kind in fields)
        self.cacheable = native_class.cacheable
        super().__init__(f"{native_class.name}<{native_class.digest[:32]}>[{mode}]({_spelled(fields)})")

    def __reduce__(self) -> tuple[Any, ...]:
        return _model_type, (self.native_class.digest, self.mode, tuple(self.fields.items()))

    def only(self, name: str) -> ModelType:
        """As the method of that name sees it: compiled once for all kernels that call it."""
        return ModelType(self.native_class.only((name,)), self.mode, tuple(self.fields.items()))


def _model_type(digest: str, mode: str, fields: tuple[tuple[str, Any], ...]) -> ModelType:
    return ModelType(_classes[digest], mode, fields)  # KeyError, that is a miss, where the class is not known


class BoundType(types.Callable):
    """A kernel that is called through its address: what it takes besides its model, and what it gives."""

    def __init__(self, takes: tuple[Any, ...], gives: Any) -> None:
        self.takes, self.gives = takes, gives
        super().__init__(f"bound<{hashlib.sha256(f'{[spelled(kind) for kind in (*takes, gives)]}'.encode()).hexdigest()[:16]}>")

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundType, (self.takes, self.gives)

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        if keywords or len(arguments) != len(self.takes):
            raise TypingError(f"takes {len(self.takes)} arguments, not {len(arguments)}")
        for given, taken in zip(arguments, self.takes, strict=True):
            if context.can_convert(given, taken) is None:
                raise TypingError(f"takes {taken}, not {given}")
        return signature(self.gives, *self.takes, recvr=self)

    def get_call_signatures(self) -> Any:
        return [signature(self.gives, *self.takes, recvr=self)], False

    def get_impl_key(self, signature: Any) -> Any:
        return "airoas.bound"


class DeviceBoundType(types.Callable):
    """A kernel with its model in a record on a GPU, where a call through an address would be dear: its type says which it is."""

    def __init__(self, function: python_types.FunctionType, owner: Any, mode: str) -> None:
        function = ON_DEVICE.get(mode, {}).get(function, function)
        self.function, self.owner, self.mode = function, owner, mode
        self.cacheable = getattr(owner, "cacheable", True)
        self.model = owner.model if isinstance(owner, ModelAddressType) else owner
        super().__init__(f"device-bound<{fingerprint.digest(function)}>[{mode}]({spelled(owner)})")

    def dispatcher(self) -> Any:
        return types.Dispatcher(specialise(self.function, self.mode))

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        call = self.dispatcher().get_call_type(context, (self.model, *arguments), keywords)
        return signature(call.return_type, *call.args[1:], recvr=self)

    def get_call_signatures(self) -> Any:
        return [], True

    def get_impl_key(self, signature: Any) -> Any:
        return "airoas.device-bound"


_WORD = ir.IntType(64)
_ADDRESS = RecordType(())
"""Of whatever words: how compiled code passes a model on that it knows nothing of."""


def _unboxed_address(value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "_address")
    pointer = c.builder.inttoptr(c.pyapi.long_as_ulonglong(address), _WORD.as_pointer())
    c.pyapi.decref(address)
    return pointer


@register_model(RecordType)
@register_model(BoundType)  # of its two words in a record
@register_model(DeviceBoundType)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


@unbox(RecordType)
def _unbox_record(kind: RecordType, value: Any, c: Any) -> NativeValue:
    return NativeValue(_unboxed_address(value, c))


@register_model(ModelType)
class _ModelModel(models.PrimitiveModel):
    """All the words, by value: what a function begins by reading need not be read again in its loops, which LLVM could not know of
    a read that is under a condition. They travel as one argument: as one each, they were most of what a method is compiled from."""

    def __init__(self, manager: Any, kind: ModelType) -> None:
        super().__init__(manager, kind, ir.LiteralStructType([_WORD] * kind.size))


class ModelAddressType(types.Type):
    """The address of a model's words: what a kernel is called with."""

    def __init__(self, model: ModelType) -> None:
        self.model = model
        self.cacheable = model.cacheable
        super().__init__(f"*{model.name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return ModelAddressType, (self.model,)


register_model(ModelAddressType)(_AddressModel)


@unbox(ModelAddressType)
def _unbox_model(kind: ModelAddressType, value: Any, c: Any) -> NativeValue:
    return NativeValue(_unboxed_address(value, c))


def _load_model(context: Any, builder: Any, kind: ModelType, address: Any) -> Any:
    struct = ir.Constant(context.get_value_type(kind), ir.Undefined)
    for k in range(kind.size):
        struct = builder.insert_value(struct, _word(builder, address, k), k)
    return struct


@intrinsic
def opened(context: Any, owner: Any) -> Any:
    """A model from its address; anything else as it is."""
    if isinstance(owner, ModelAddressType):
        kind = owner.model
        return kind(owner), lambda context, builder, signature, arguments: _load_model(context, builder, kind, arguments[0])
    return owner(owner), lambda context, builder, signature, arguments: impl_ret_borrowed(context, builder, owner, arguments[0])


@lower_cast(ModelType, ModelType)
def _cast_model(context: Any, builder: Any, source: ModelType, target: ModelType, value: Any) -> Any:
    return value


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
        native_class = model.native_class
        if name in model.fields:
            return model.fields[name]
        if name in native_class.functions:
            jitted, own = native_class.method(name, model.mode), model.only(name)

            class Method(AbstractTemplate):
                key = (own, name)
                dispatcher_type = jitted

                def generic(self, arguments: Any, keywords: Any) -> Any:
                    call_type = jitted.get_call_type(self.context, (own, *arguments), keywords)
                    return call_type and call_type.as_method()

            return _MethodType(Method, own)
        if name in native_class.properties:
            return native_class.method(name, model.mode).get_call_type(self.context, (model.only(name),), {}).return_type
        if name in native_class.constants:
            return self.context.resolve_value_type(native_class.constants[name])
        return None


@lower_getattr_generic(ModelType)
def _lower_attribute(context: Any, builder: Any, kind: ModelType, value: Any, name: str) -> Any:
    native_class = kind.native_class
    if name in native_class.properties:
        jitted = native_class.method(name, kind.mode)
        signature = jitted.get_call_type(context.typing_context, (kind.only(name),), {})
        call = context.get_function(jitted, signature)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, [value])
    if name in native_class.constants:
        return context.get_constant_generic(
            builder, context.typing_context.resolve_value_type(native_class.constants[name]), native_class.constants[name]
        )
    offset = kind.offsets[name]
    words = [builder.extract_value(value, offset + k) for k in range(size_of(kind.fields[name]))]
    return _from_words(context, builder, kind.fields[name], words)


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


def _word(builder: Any, pointer: Any, k: int, fixed: bool = True) -> Any:
    """A word that does not change while a kernel runs: LLVM may read it once for all, whatever is stored in between."""
    loaded = builder.load(builder.gep(pointer, [_WORD(k)], inbounds=True))
    if fixed:
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _from_words(context: Any, builder: Any, kind: Any, words: list[Any]) -> Any:
    """A field that stands in these words."""
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, words[0], words[1:])
    if isinstance(kind, RecordType):
        return builder.inttoptr(words[0], _WORD.as_pointer())
    if isinstance(kind, ModelType):
        return _load_model(context, builder, kind, builder.inttoptr(words[0], _WORD.as_pointer()))
    if isinstance(kind, numba.types.BaseTuple):
        items = [_from_words(context, builder, item, [word]) for item, word in zip(kind, words, strict=True)]
        return context.make_tuple(builder, kind, items)
    if isinstance(kind, types.Float):
        return builder.bitcast(words[0], ir.DoubleType())
    return context.cast(builder, words[0], types.int64, kind)


@lower_getattr_generic(RecordType)
def _lower_field(context: Any, builder: Any, kind: RecordType, value: Any, name: str) -> Any:
    field, offset = kind.fields[name], kind.offsets[name]
    if isinstance(field, (BoundType, DeviceBoundType)):
        return builder.gep(value, [_WORD(offset)], inbounds=True)
    fixed = isinstance(field, (types.Array, RecordType, ModelType))  # what is not a number never changes
    return _from_words(context, builder, field, [_word(builder, value, offset + k, fixed) for k in range(size_of(field))])


@lower_setattr_generic(RecordType)
def _lower_assignment(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    record, value = arguments
    kind, given = signature.args
    field = kind.fields[name]
    if isinstance(field, (types.Array, numba.types.BaseTuple, RecordType, ModelType, BoundType)):
        raise TypingError(f"{name} is no number, and cannot be set")
    value = context.cast(builder, value, given, field)
    word = builder.bitcast(value, _WORD) if isinstance(field, types.Float) else context.cast(builder, value, field, types.int64)
    builder.store(word, builder.gep(record, [_WORD(kind.offsets[name])], inbounds=True))


@lower_builtin("airoas.bound", BoundType, numba.types.VarArg(numba.types.Any))
def _lower_bound(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """A call through the address, with the model's words as the first argument."""
    bound, *given = arguments
    takes = (_ADDRESS, *signature.args[1:])
    kind = context.call_conv.get_function_type(signature.return_type, takes)
    function = builder.inttoptr(_word(builder, bound, 0), kind.as_pointer())
    model = builder.inttoptr(_word(builder, bound, 1), _WORD.as_pointer())
    status, result = context.call_conv.call_function(builder, function, signature.return_type, takes, [model, *given])
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return result


@lower_builtin("airoas.device-bound", DeviceBoundType, numba.types.VarArg(numba.types.Any))
def _lower_device_bound(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """A call of the function itself."""
    bound, *given = arguments
    kind, *takes = signature.args
    owner = builder.inttoptr(_word(builder, bound, 1), _WORD.as_pointer())
    model = _load_model(context, builder, kind.model, owner) if isinstance(kind.model, ModelType) else owner
    jitted = kind.dispatcher()
    own = jitted.get_call_type(context.typing_context, (kind.model, *takes), {})
    call = context.get_function(jitted, own)
    context.add_linking_libs(getattr(call, "libs", ()))
    return call(builder, [model, *given])


@intrinsic
def at_address(context: Any, record: Any, address: Any) -> Any:
    """A record of the same type that stands elsewhere."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[1], _WORD.as_pointer())

    return record(record, types.int64), emit


def value_of(kind: Any) -> Any:
    """Inside compiled code: a value of this type from the tuple of its words."""

    @intrinsic
    def value(context: Any, words: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            each = [builder.extract_value(arguments[0], k) for k in range(len(words))]
            if isinstance(kind, (ModelAddressType, RecordType)):
                return builder.inttoptr(each[0], _WORD.as_pointer())
            return _from_words(context, builder, kind, each)

        return kind(words), emit

    return value
