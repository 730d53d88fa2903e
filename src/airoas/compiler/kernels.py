"""Kernels: functions over a model, specialised and compiled for it, or interpreted.

A kernel is a plain function with the model as an argument; `model.step(s, a, rng)` inside it means the same interpreted
and compiled.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Callable
from typing import Any

import numba

from airoas.compiler import fingerprint
from airoas.compiler.cache import KernelCache
from airoas.compiler.diagnose import COMPILER_ERRORS, explain
from airoas.compiler.native import Bound, BoundType, ModelType, Native, Record
from airoas.compiler.specialise import content_of, interpreted_class, interpreted_copy, is_apart, jit_options, link, mode, running

__all__ = ["Kernel", "Record", "interpreted", "kernel", "mode", "running"]


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
            return self._dispatcher(how)(*[x.native().view(how) if isinstance(x, Native) else x for x in arguments])
        except COMPILER_ERRORS as error:
            raise explain(error, f"kernel {self.__name__}") from error

    def prepare(self, *arguments: Any) -> None:
        """Compile, or load from the cache, for arguments of these types."""
        how = mode()
        if how == "interpreted":
            return
        try:
            self._dispatcher(how).compile(tuple(x.native().kind(how) if isinstance(x, Native) else numba.typeof(x) for x in arguments))
        except COMPILER_ERRORS as error:
            raise explain(error, f"kernel {self.__name__}") from error

    def bind(self, owner: Native, *examples: Any) -> Bound:
        """This kernel over one model or record, as a field of records: compiled code calls it there through its address, with
        arguments of the types that the examples have."""
        how = mode()
        takes = tuple(numba.typeof(x) for x in examples)
        if how == "interpreted":
            return Bound(lambda *arguments: self(owner, *arguments), BoundType(takes, None), (0, 0), owner)
        self.prepare(owner, *examples)
        view = owner.native().view(how)
        compiled = self._dispatcher(how).overloads[view._numba_type_, *takes]
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        kind = BoundType(takes, compiled.signature.return_type)
        return Bound(lambda *arguments: self(owner, *arguments), kind, (address, view._address), (owner, view))

    def _dispatcher(self, how: str) -> Any:
        if how not in self._dispatchers:
            dispatcher = link(self.function, how, entry=True)
            made_of = content_of(self.function)
            parts = list(fingerprint.reachable(self.function))
            mentioned = {name for part in parts for name in fingerprint.attributes(part)}
            options = f"{jit_options(how)}{sorted(part.__qualname__ for part in parts if is_apart(part))}"

            def before_compile(signature: Any) -> None:
                for kind in signature:
                    if isinstance(kind, ModelType):
                        kind.made.check_methods(kind, mentioned)

            dispatcher._cache = KernelCache(self.__name__, made_of and f"{made_of}{options}", before_compile)
            self._dispatchers[how] = dispatcher
        return self._dispatchers[how]


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function over a model into a kernel."""
    assert isinstance(function, python_types.FunctionType)
    return Kernel(function)


_interpreted: dict[tuple[type, str], type] = {}


def interpreted(model: Any) -> Any:
    """The model with every method over interpreted surroundings: same coercions, same forgiving `math`. A record as it is."""
    if isinstance(model, Record):
        return model
    made = model.native().made
    key = (type(model), made.digest)
    if key not in _interpreted:
        _interpreted[key] = interpreted_class(type(model), made.functions, made.properties, made.constants)
    return interpreted_copy(model, _interpreted[key])
