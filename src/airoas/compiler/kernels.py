"""Kernels: functions over a model, specialised and compiled for it, or interpreted.

A kernel is a plain function with the model as an argument; `model.step(s, a, rng)` inside it means the same interpreted
and compiled.
"""

from __future__ import annotations

import functools
import types as python_types
from collections.abc import Callable
from typing import Any

import numba

from airoas.compiler import fingerprint
from airoas.compiler.cache import KernelCache
from airoas.compiler.diagnose import COMPILER_ERRORS, explain, is_theirs
from airoas.compiler.native import Bound, BoundType, ModelAddressType, Native, Record, interpreted, opened
from airoas.compiler.specialise import content_of, entry_to, is_apart, jit_options, link, mode, running

__all__ = ["Bound", "Kernel", "Record", "interpreted", "kernel", "mode", "running"]


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
            return self._dispatcher(how)(*[self._seen(x, how) for x in arguments])
        except COMPILER_ERRORS as error:
            raise explain(error, self._place(arguments)) from error

    def prepare(self, *arguments: Any) -> None:
        """Compile, or load from the cache, for arguments of these types."""
        if mode() != "interpreted":
            self._compiled(mode(), arguments)

    def bind(self, owner: Native, *examples: Any) -> Bound:
        """This kernel over one model or record, as a field of records: compiled code calls it there through its address, with
        arguments of the types that the examples have."""
        how = mode()
        takes = tuple(numba.typeof(x) for x in examples)
        if how == "interpreted":
            call = functools.partial(link(self.function, how), interpreted(owner))
            return Bound(call, BoundType(takes, numba.types.none), (0, 0), owner)
        compiled, view = self._compiled(how, (owner, *examples)), self._seen(owner, how)
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        assert address, f"{self.__name__} has no address"
        call = functools.partial(self._dispatcher(how), view)
        gives = numba.types.unliteral(compiled.signature.return_type)  # one that always gives True gives a flag all the same
        return Bound(call, BoundType(takes, gives), (address, view._address), owner)

    def _place(self, arguments: tuple[Any, ...]) -> str:
        """For messages: a user's own kernel, or the model that one of ours was compiled for."""
        code = self.function.__code__
        models = [x.native().made for x in arguments if isinstance(x, Native) and not isinstance(x, Record)]
        if models and not is_theirs(code.co_filename):
            return str(models[0].place())
        return f"kernel {self.__name__} ({code.co_filename}, line {code.co_firstlineno})"

    def _seen(self, value: Any, how: str) -> Any:
        """An argument as a dispatcher takes it: a model with the methods that this kernel mentions."""
        return value.native().view(how, self._mentioned) if isinstance(value, Native) else value

    @functools.cached_property
    def _mentioned(self) -> frozenset[str]:
        return frozenset(name for part in fingerprint.reachable(self.function) for name in fingerprint.attributes(part))

    def _compiled(self, how: str, arguments: tuple[Any, ...]) -> Any:
        kinds = tuple(numba.typeof(self._seen(x, how)) for x in arguments)
        dispatcher = self._dispatcher(how)
        try:
            dispatcher.compile(kinds)
        except COMPILER_ERRORS as error:
            raise explain(error, self._place(arguments)) from error
        return dispatcher.overloads[kinds]

    def _dispatcher(self, how: str) -> Any:
        if how not in self._dispatchers:
            dispatcher = entry_to(self.function, how, opened)
            made_of = content_of(self.function)
            apart = sorted(part.__qualname__ for part in fingerprint.reachable(self.function) if is_apart(part))

            def before_compile(signature: Any) -> None:
                for kind in signature:
                    if isinstance(kind, ModelAddressType):
                        kind.model.made.check_methods(kind.model, self._mentioned)

            dispatcher._cache = KernelCache(self.__name__, made_of and f"{made_of}{jit_options(how)}{apart}", before_compile)
            self._dispatchers[how] = dispatcher
        return self._dispatchers[how]


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function over a model into a kernel."""
    assert isinstance(function, python_types.FunctionType)
    return Kernel(function)
