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
from airoas.compiler.garbage import garbage
from airoas.compiler.native import Bound, BoundType, HasNative, ModelAddressType, Native, Record, interpreted, opened
from airoas.compiler.notice import notice
from airoas.compiler.specialise import current_mode, entry_to, fingerprint_of, is_noinline, jit_options, running, specialise

__all__ = ["Bound", "Kernel", "Record", "current_mode", "interpreted", "kernel", "running"]


class Kernel:
    """A function over a model that runs in the mode in force. Numbers go in and out through arrays that Python owns."""

    is_kernel = True

    def __init__(self, function: python_types.FunctionType) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._dispatchers: dict[str, Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        mode = current_mode()
        if mode == "interpreted":
            return specialise(self.function, mode)(*[interpreted(x) if isinstance(x, Native) else x for x in arguments])
        try:
            return self._dispatcher(mode)(*[self._seen(x, mode) for x in arguments])
        except COMPILER_ERRORS as error:
            raise explain(error, self._location(arguments)) from error
        finally:
            if notice.is_open:
                _end()

    def prepare(self, *arguments: Any) -> None:
        """Compile, or load from the cache, for arguments of these types."""
        if current_mode() != "interpreted":
            self._compiled(current_mode(), arguments)

    def bind(self, owner: HasNative, *examples: Any) -> Bound:
        """This kernel over one model or record, as a field of records: compiled code calls it there through its address, with
        arguments of the types that the examples have."""
        mode = current_mode()
        takes = tuple(numba.typeof(x) for x in examples)
        if mode == "interpreted":
            call = functools.partial(specialise(self.function, mode), interpreted(owner))
            return Bound(call, BoundType(takes, numba.types.none), (0, 0), self, owner)
        compiled, view = self._compiled(mode, (owner, *examples)), self._seen(owner, mode)
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        assert address, f"{self.__name__} has no address"
        call = functools.partial(self._dispatcher(mode), view)
        gives = numba.types.unliteral(compiled.signature.return_type)  # one that always gives True gives a flag all the same
        return Bound(call, BoundType(takes, gives), (address, view._address), self, owner)

    def _location(self, arguments: tuple[Any, ...]) -> str:
        """For messages: a user's own kernel, or the model that one of ours was compiled for."""
        code = self.function.__code__
        classes = [x.native().native_class for x in arguments if isinstance(x, Native) and not isinstance(x, Record)]
        if classes and not is_theirs(code.co_filename):
            return str(classes[0].location())
        return f"kernel {self.__name__} ({code.co_filename}, line {code.co_firstlineno})"

    def _seen(self, value: Any, mode: str) -> Any:
        """An argument as a dispatcher takes it: a model with the methods that this kernel mentions."""
        return value.native().view(mode, self._mentioned) if isinstance(value, Native) else value

    @functools.cached_property
    def _mentioned(self) -> frozenset[str]:
        return frozenset(name for part in fingerprint.reachable(self.function) for name in fingerprint.attributes(part))

    def _compiled(self, mode: str, arguments: tuple[Any, ...]) -> Any:
        kinds = tuple(numba.typeof(self._seen(x, mode)) for x in arguments)
        dispatcher = self._dispatcher(mode)
        try:
            dispatcher.compile(kinds)
        except COMPILER_ERRORS as error:
            raise explain(error, self._location(arguments)) from error
        finally:
            if notice.is_open:
                _end()
        return dispatcher.overloads[kinds]

    def _dispatcher(self, mode: str) -> Any:
        if mode not in self._dispatchers:
            dispatcher, resolve = entry_to(self.function, mode, opened)
            digest = fingerprint_of(self.function)
            noinline = sorted(part.__qualname__ for part in fingerprint.reachable(self.function) if is_noinline(part))

            def before_compile(signature: Any, is_kept: bool) -> None:
                resolve()
                notice.begin()
                garbage.let_lie()
                models = [kind.model for kind in signature if isinstance(kind, ModelAddressType)]
                is_sound = [model.native_class.check_methods(model, self._mentioned) for model in models]
                if all(is_sound):
                    notice.announce(models[0].native_class.name if models else "", is_kept)

            dispatcher._cache = KernelCache(self.__name__, digest and f"{digest}{jit_options(mode)}{noinline}", before_compile)
            self._dispatchers[mode] = dispatcher
        return self._dispatchers[mode]


def _end() -> None:
    """Of compiling."""
    notice.end()
    garbage.collect_as_before()


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function over a model into a kernel."""
    assert isinstance(function, python_types.FunctionType)
    return Kernel(function)
