"""From plain Python to native code: kernels specialised per model, methods on `model` and `self` included.

A kernel is a plain function with the model as an argument; `model.step(s, a, rng)` inside it means the same interpreted
and compiled. Compiled, the model is a numba type of our own whose attributes are the model's fields and whose methods are
the user's functions, jitted. Three modes: "compiled", "debug" (compiled with bounds checks) and "interpreted" (plain
Python with the same coercions; breakpoints work).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError, TypingError
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, overload, register_model, typeof_impl, unbox
from numba.np.arrayobj import make_array, populate_array

from airoas import content
from airoas.cache import KernelCache
from airoas.content import Reads, is_namedtuple, is_native
from airoas.errors import CompileError, ModelError, OptionError

MODES = ("compiled", "debug", "interpreted")
_mode = ""


def mode() -> str:
    """The mode in force: set by `running`, else by the environment variable AIROAS_MODE, else "compiled"."""
    return _mode or _valid(os.environ.get("AIROAS_MODE", "compiled"), "AIROAS_MODE")


def _valid(name: str, source: str) -> str:
    if name not in MODES:
        raise OptionError(f"{source} is {name!r}", f"use one of {', '.join(MODES)}.")
    return name


@contextlib.contextmanager
def running(name: str) -> Iterator[None]:
    """Run what is inside in another mode: `with airoas.running("interpreted"): ...`."""
    global _mode
    before, _mode = _mode, _valid(name, "the mode")
    try:
        yield
    finally:
        _mode = before


# --- coercions: a field annotated float holds a float in every branch, interpreted and compiled ---


def as_float(x: Any) -> float:
    """A number as float."""
    if isinstance(x, (int, float, np.integer, np.floating, np.bool_)):
        return float(x)
    raise ModelError(f"{x!r} stands where a float belongs", "return numbers.")


def as_int(x: Any) -> int:
    """An integer as int. A float is refused: dropping its fraction silently would hide a mistake."""
    if isinstance(x, (int, np.integer, np.bool_)):
        return int(x)
    raise ModelError(f"{x!r} stands where an int belongs", "write int(...) around it, or make the component a float.")


def as_bool(x: Any) -> bool:
    """A truth value as bool."""
    if isinstance(x, (bool, int, np.integer, np.bool_)):
        return bool(x)
    raise ModelError(f"{x!r} stands where True or False belongs", "return a comparison.")


def _number(kind: Any) -> bool:
    return isinstance(kind, (types.Number, types.Boolean))


@overload(as_float)
def _as_float(x):  # type: ignore[no-untyped-def]
    if _number(x):
        return lambda x: float(x)
    raise TypingError(f"a value of type {x} stands where a float belongs")


@overload(as_int)
def _as_int(x):  # type: ignore[no-untyped-def]
    if isinstance(x, (types.Integer, types.Boolean)):
        return lambda x: int(x)
    raise TypingError(f"a value of type {x} stands where an int belongs; write int(...) around it")


@overload(as_bool)
def _as_bool(x):  # type: ignore[no-untyped-def]
    if isinstance(x, (types.Integer, types.Boolean)):
        return lambda x: bool(x)
    raise TypingError(f"a value of type {x} stands where True or False belongs; return a comparison")


COERCE: dict[str, Callable[[Any], Any]] = {"float": as_float, "int": as_int, "bool": as_bool}
_OVERLOADED = tuple(COERCE.values())


def define(source: str, name: str, **scope: Any) -> python_types.FunctionType:
    """The function `name` of a source text of ours, over the given globals."""
    exec(compile(source, "<airoas>", "exec"), scope)
    function: python_types.FunctionType = scope[name]
    return function


_constructors: dict[type, python_types.FunctionType] = {}


def constructor(record: type) -> python_types.FunctionType:
    """A NamedTuple's constructor that coerces each field to its annotation."""
    if record not in _constructors:
        kinds = content.annotations(record)
        fields: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
        values = ", ".join(f"as_{kinds[f]}({f})" if kinds.get(f) in COERCE else f for f in fields)
        made = define(
            f"def build({', '.join(fields)}):\n    return _record({values})\n",
            "build",
            _record=record,
            **{f"as_{kind}": coerce for kind, coerce in COERCE.items()},
        )
        defaults = record._field_defaults  # type: ignore[attr-defined]
        made.__defaults__ = tuple(defaults[f] for f in fields if f in defaults) or None
        _constructors[record] = made
    return _constructors[record]


# --- linking: the same function over compiled, or over interpreted, surroundings ---

_linked: dict[tuple[int, str], Any] = {}
_kept: list[Any] = []  # what `_linked` refers to by id stays alive
_unnamed = itertools.count()


def _options(how: str) -> dict[str, Any]:
    return {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": how == "debug"}


def _unique_name(function: python_types.FunctionType) -> tuple[str, str | None]:
    """A name that two functions share only if they are made of the same things, and the digest behind it."""
    try:
        made_of = content.digest(function)
        return f"{function.__name__}_{made_of[:16]}", made_of
    except content.UnknownContentError:
        return f"{function.__name__}_unnamed{next(_unnamed)}", None


def link(function: python_types.FunctionType, how: str) -> Any:
    """A function ready to run in mode `how`: a numba dispatcher, or plain Python."""
    key = (id(function), how)
    if key in _linked:
        return _linked[key]
    _kept.append(function)

    def convert(value: Any, below: Reads) -> Any:
        if isinstance(value, Kernel):
            return link(value.function, how)
        if isinstance(value, python_types.ModuleType) and not is_native(value):
            return content.module_over(value, below, convert)
        if how == "interpreted" and (value is math or getattr(value, "__module__", "") == "math"):
            return _forgiving(value)
        if is_namedtuple(value):
            return link(constructor(value), how)
        if isinstance(value, python_types.FunctionType) and not is_native(value) and value not in _OVERLOADED:
            return link(value, how)
        return value

    def finish(copy: python_types.FunctionType) -> Any:
        made = copy if how == "interpreted" else numba.jit(**_options(how))(copy)
        _linked[key] = made
        return made

    name = function.__name__ if how == "interpreted" else _unique_name(function)[0]
    return content.relink(function, convert, finish, name=name, keep=("_record",) if function in _constructors.values() else ())


class _ForgivingMath(python_types.ModuleType):
    """`math` as compiled code computes it: log(0) is -inf and sqrt(-1) is nan instead of an exception."""

    def __getattr__(self, name: str) -> Any:
        return _forgiving(getattr(math, name))


def _forgiving(value: Any) -> Any:
    if value is math:
        return _FORGIVING
    if not callable(value):
        return value
    ufunc = {"pow": np.power, "gamma": None, "lgamma": None}.get(value.__name__, getattr(np, value.__name__, None))

    def call(*arguments: Any) -> Any:
        try:
            return value(*arguments)
        except (ValueError, OverflowError):
            if ufunc is None or value.__name__ in ("floor", "ceil", "trunc"):
                raise
            with np.errstate(all="ignore"):
                return float(ufunc(*[float(x) for x in arguments]))

    return call


_FORGIVING = _ForgivingMath("math")


# --- the model as a numba type ---


class Native:
    """Mixin of what kernels take as an object with fields and methods: `native()` says how compiled code sees it."""

    __slots__ = ()

    def native(self) -> Handle:
        raise TypeError("a Native has a handle")


class Handle:
    """What a dispatcher receives in a model's place: the fields that compiled code sees, and what the methods mean.

    Not the model itself: it is a tuple, and numba would take tuples with equal fields for the same type.
    """

    __slots__ = ("_flat", "_kinds", "fields", "made")

    def __init__(self, fields: dict[str, Any], made: NativeClass) -> None:
        self.fields = fields  # keeps the arrays alive
        self.made = made
        self._flat = tuple(part for value in fields.values() for part in _flatten(value))
        self._kinds: dict[str, ModelType] = {}

    def kind(self, how: str) -> ModelType:
        if how not in self._kinds:
            self._kinds[how] = ModelType(self.made, how, tuple((name, numba.typeof(value)) for name, value in self.fields.items()))
        return self._kinds[how]


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
        return link((self.functions.get(name) or self.properties[name]), how)


_classes: dict[str, NativeClass] = {}


class ModelType(types.Type):  # type: ignore[misc]
    """Numba's view of a model: the content of its class, the mode, and the types of its fields."""

    def __init__(self, made: NativeClass, how: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.made = made
        self.how = how
        self.fields = dict(fields)
        self.cacheable = made.cacheable
        super().__init__(f"{made.name}<{made.digest[:32]}>[{how}]({', '.join(f'{n}: {k}' for n, k in fields)})")

    def __reduce__(self) -> tuple[Any, ...]:
        return _model_type, (self.made.digest, self.how, tuple(self.fields.items()))

    def flat(self) -> list[tuple[str, Any]]:
        """The members of the native struct: numbers as they are, an array as its address and lengths."""
        members = []
        for name, kind in self.fields.items():
            if isinstance(kind, types.Array):
                members.append((f"{name}:data", types.uintp))
                members += [(f"{name}:{axis}", types.intp) for axis in range(kind.ndim)]
            else:
                members.append((name, kind))
        return members


def _model_type(digest: str, how: str, fields: tuple[tuple[str, Any], ...]) -> ModelType:
    return ModelType(_classes[digest], how, fields)  # KeyError, that is a miss, where the class is not known


def _flatten(value: Any) -> tuple[Any, ...]:
    return (value.ctypes.data, *value.shape) if isinstance(value, np.ndarray) else (value,)


@typeof_impl.register(Handle)
def _typeof_handle(value: Handle, context: Any) -> ModelType:
    return value.kind(mode())


@register_model(ModelType)
class _ModelStruct(models.StructModel):  # type: ignore[misc]
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


class _MethodType(types.BoundFunction):  # type: ignore[misc]
    """A model's method: calls go straight to the jitted function."""

    def get_impl_key(self, signature: Any) -> Any:
        return self.template.dispatcher_type.get_impl_key(signature.as_function())


register_model(_MethodType)(lambda manager, kind: manager[kind.this])


@infer_getattr
class _ModelAttributes(AttributeTemplate):  # type: ignore[misc]
    key = ModelType

    def generic_resolve(self, model: ModelType, name: str) -> Any:
        made = model.made
        if name in model.fields:
            return model.fields[name]
        if name in made.functions:
            jitted = types.Dispatcher(made.method(name, model.how))

            class Method(AbstractTemplate):  # type: ignore[misc]
                key = (model, name)
                dispatcher_type = jitted

                def generic(self, arguments: Any, keywords: Any) -> Any:
                    found = jitted.get_call_type(self.context, (model, *arguments), keywords)
                    return found and found.as_method()

            return _MethodType(Method, model)
        if name in made.properties:
            return types.Dispatcher(made.method(name, model.how)).get_call_type(self.context, (model,), {}).return_type
        if name in made.constants:
            return self.context.resolve_value_type(made.constants[name])
        return None


@lower_getattr_generic(ModelType)
def _lower_attribute(context: Any, builder: Any, kind: ModelType, value: Any, name: str) -> Any:
    made = kind.made
    if name in made.properties:
        jitted = types.Dispatcher(made.method(name, kind.how))
        signature = jitted.get_call_type(context.typing_context, (kind,), {})
        call = context.get_function(jitted, signature)
        context.add_linking_libs(builder, getattr(call, "libs", ()))
        return call(builder, [value])
    if name in made.constants:
        return context.get_constant_generic(builder, context.typing_context.resolve_value_type(made.constants[name]), made.constants[name])
    struct = context.make_helper(builder, kind, value=value)
    member = kind.fields[name]
    if not isinstance(member, types.Array):
        return getattr(struct, name)
    # The model outlives every call, so an array field needs no reference count: without a meminfo LLVM drops them all.
    array = make_array(member)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(member.dtype))
    lengths = [getattr(struct, f"{name}:{axis}") for axis in range(member.ndim)]
    strides, step = [], context.get_constant(types.intp, itemsize)
    for length in reversed(lengths):
        strides.insert(0, step)
        step = builder.mul(step, length)
    data = builder.inttoptr(getattr(struct, f"{name}:data"), context.get_data_type(member.dtype).as_pointer())
    populate_array(array, data=data, shape=lengths, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


# --- kernels ---


class Kernel:
    """A function over a model that runs in the mode in force. Numbers go in and out through arrays that Python owns."""

    is_kernel = True

    def __init__(self, function: python_types.FunctionType) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._dispatchers: dict[str, Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        how = mode()
        if how == "interpreted":
            return link(self.function, how)(*[interpreted(x) if isinstance(x, Native) else x for x in arguments])
        try:
            return self._dispatcher(how)(*[x.native() if isinstance(x, Native) else x for x in arguments])
        except NumbaError as error:
            raise explain(error, f"kernel {self.__name__}") from error

    def prepare(self, *arguments: Any) -> None:
        """Compile, or load from the cache, for arguments of these types."""
        if mode() == "interpreted":
            return
        try:
            self._dispatcher(mode()).compile(tuple(numba.typeof(x.native() if isinstance(x, Native) else x) for x in arguments))
        except NumbaError as error:
            raise explain(error, f"kernel {self.__name__}") from error

    def _dispatcher(self, how: str) -> Any:
        if how not in self._dispatchers:
            dispatcher = link(self.function, how)
            made_of = _unique_name(self.function)[1]
            mentioned = {name for part in content.reachable(self.function) for name in content.attributes(part)}

            def before_compile(signature: Any) -> None:
                for kind in signature:
                    if isinstance(kind, ModelType):
                        kind.made.check_methods(kind, mentioned)

            dispatcher._cache = KernelCache(self.__name__, made_of and f"{made_of}{_options(how)}", before_compile)
            self._dispatchers[how] = dispatcher
        return self._dispatchers[how]


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function over a model into a kernel."""
    assert isinstance(function, python_types.FunctionType)
    return Kernel(function)


_interpreted: dict[tuple[type, str], type] = {}


def interpreted(model: Any) -> Any:
    """The model with every method over interpreted surroundings: same coercions, same forgiving `math`."""
    made = model.native().made
    key = (type(model), made.digest)
    if key not in _interpreted:
        scope: dict[str, Any] = {name: link(function, "interpreted") for name, function in made.functions.items()}
        scope |= {name: property(link(getter, "interpreted")) for name, getter in made.properties.items()}
        _interpreted[key] = type(type(model).__name__, (type(model),), scope)
    copy = tuple.__new__(_interpreted[key], model)
    copy.__dict__.update(model.__dict__)
    return copy


_PLAIN = {
    "unicode_type": "text",
    "float64": "float",
    "int64": "int",
    "boolean": "bool",
    "Literal[int]": "int ",
    "NoneType": "None",
    "none": "None",
}


def explain(error: NumbaError, where: str, kind: type | None = None) -> CompileError:
    """A numba error as one sentence with the place in the user's own source."""
    text = re.sub(r"(\w+)_[0-9a-f]{16}\b", r"\1", str(error.args[0] if error.args else error))
    label = kind.__name__ if kind else "the model"
    text = re.sub(r"\w+<[0-9a-f]+>\[\w+\]\([^\n]*\)", label, text)
    places = re.findall(r'File "([^"]+)", line (\d+):\n((?:.*\n)*?)\s*\^', text + "\n")
    theirs = [p for p in places if p[0] != "<airoas>" and not os.path.abspath(p[0]).startswith(os.path.dirname(__file__))]
    if theirs:
        file, line, excerpt = theirs[-1]
        last = [row.strip() for row in excerpt.splitlines() if row.strip()]
        where = f"{where.partition(' (')[0]} ({file}, line {line}{f': `{last[-1]}`' if last else ''})"
    for old, new in _PLAIN.items():
        text = text.replace(old, new)
    return CompileError(*_translate(text, label), where=where)


def _translate(text: str, label: str) -> tuple[str, str]:
    """What a numba error says and what to do about it."""
    found = re.search(r"Can't unify return type from the following types: (.*)", text)
    if found:
        return f"its branches return different types: {found[1]}", "return the same types from every branch: 0.0, not 0, where the other is a float."
    found = re.search(r"Cannot unify (.*) and (.*) for '(\w+)(?:\.\d+)?'", text)
    if found:
        return f"`{found[3]}` is {found[1]} in one branch and {found[2]} in another", "give it one type: 0.0, not 0, where the other is a float."
    found = re.search(r"Unknown attribute '(\w+)' of type (.*)", text)
    if found and label in found[2]:
        return f"compiled code cannot use self.{found[1]}", "make it a number, a flat tuple of numbers or an array; text and nested tuples are turned into arrays in `prepare`."
    if found:
        return f"{found[2]} has no attribute {found[1]!r}", "use only the fields of NamedTuples and what math and numpy offer."
    found = re.search(r"(?:NameError: name|Untyped global name|global name) '(\w+)'(.*)", text)
    if found:
        return f"uses `{found[1]}`, which is not defined or cannot be compiled{found[2].rstrip('.')}", "define it above, or use numbers, tuples, arrays and plain functions."
    found = re.search(r"Variable '(\w+)' referenced before assignment", text)
    if found:
        return f"`{found[1]}` may be used before it has a value", "give it a value on every path."
    found = re.search(r">>> ([^\n]*)", text)
    if found:
        return f"cannot be compiled: no {found[1].strip()}", "use operations on numbers, tuples and arrays that compiled code has."
    skip = ("Failed in nopython", "During:", "File ", "^", "<source elided>", "- Resolution", "There are", ">>>")
    telling = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(skip)]
    return f"cannot be compiled: {telling[0] if telling else 'numba refused it'}", "write it with numbers, tuples, loops, math and plain functions."
