"""Compiling kernels for an NVIDIA GPU: the same functions over the same models, each thread with some of the turns of `lanes`.

numba-cuda makes PTX of them, nvJitLink machine code. Multiplications and additions are not contracted, so that the arithmetic is the
CPU's. Neither this nor numba-cuda is imported by whoever does not ask for a GPU, and no GPU is needed to compile for one.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import itertools
import math
import re
import types as python_types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numba
import numpy as np
from numba.extending import intrinsic

from airoas.compiler import cache
from airoas.compiler.clock import now
from airoas.compiler.kernels import Kernel
from airoas.compiler.lanes import LARGEST, WARP, each, lane, lanes
from airoas.compiler.native import HasNative, ModelAddressType, ModelType, opened, size_of, value_of
from airoas.compiler.specialise import ON_DEVICE, WARP_FUNCTIONS, define, fingerprint_of, is_shared, specialise, unique_name
from airoas.errors import OptionError

REGISTERS = 0
"""Of a thread at most; 0: as many as the compiler takes."""

# --- what functions mean there ---


def _lanes(n: int) -> Any:
    return range(numba.cuda.grid(1), n, numba.cuda.gridsize(1))


def _spread(n: int) -> Any:
    """Neighbours are in different warps: threads that do different things wait for each other in a warp, and few of them wait less."""
    warps = numba.cuda.gridsize(1) // WARP
    return range(numba.cuda.grid(1) % WARP * warps + numba.cuda.grid(1) // WARP, n, warps * WARP)


def _strided(n: int) -> Any:
    return range(numba.cuda.grid(1) % WARP, n, WARP)


def _by_warps(n: int) -> Any:
    return range(numba.cuda.grid(1) // WARP, n, numba.cuda.gridsize(1) // WARP)


def _lane() -> int:
    return numba.cuda.grid(1)  # type: ignore[no-any-return]


def _lane_of_warp() -> int:
    return numba.cuda.grid(1) % WARP  # type: ignore[no-any-return]


def _warp() -> int:
    return numba.cuda.grid(1) // WARP  # type: ignore[no-any-return]


def _meet() -> None:
    """Wait for the other threads of the warp, and see what they wrote."""
    numba.cuda.syncwarp()


def _folded(x: float, largest: bool) -> float:
    """Of the threads of a warp, in pairs, pairs of pairs and so on: each gets the same."""
    step = WARP // 2
    while step > 0:
        other = numba.cuda.shfl_xor_sync(0xFFFFFFFF, x, step)
        x = max(x, other) if largest else x + other
        step //= 2
    return x


def _same(x: float, largest: bool) -> float:
    return x


def _now() -> float:
    return 0.0  # there is no such clock: whoever launches keeps the time


def _floor(x: float) -> int:
    whole = int(x)  # numba-cuda's own gives a float
    return whole - 1 if x < whole else whole


def _ceil(x: float) -> int:
    whole = int(x)
    return whole + 1 if x > whole else whole


_AROUND: dict[str, Any] = {"meet": _meet, "folded": _folded}
_ALL: dict[Any, Any] = {now: _now, math.floor: _floor, math.ceil: _ceil}
ON_DEVICE["cuda"].update(_ALL | {lanes: _lanes, lane: _lane, each: _spread})
ON_DEVICE["alone"].update(_ALL | {each: _spread})
ON_DEVICE["warp"].update(_ALL | {each: _by_warps})
ON_DEVICE["shared"].update(_ALL | {lanes: _strided, lane: _lane_of_warp})


@intrinsic
def _noinline(context: Any) -> Any:
    """Have the function at hand called, whatever the optimiser thinks: thousands of warps, each at another place of a program that is
    too long, would wait for the program."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return numba.void(), emit


def _warp_function(function: python_types.FunctionType, compiled: Any) -> python_types.FunctionType:
    """A function as the threads of a warp call it: together, where it loops over `lanes`."""
    names = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
    scope: dict[str, Any] = {"noinline": _noinline, "function": compiled}
    source = f"def warp_function({names}):\n    noinline()\n"
    if is_shared(function):
        kind = _returned_kind(function)
        parts = [f"folded(result{at}, largest)" for at in kind.positions]
        source += f"    meet()\n    result = function({names})\n    meet()\n    return {kind.joined(parts)}\n"
        scope |= {name: specialise(part, "shared") for name, part in _AROUND.items()} | {"record": kind.record}
        scope |= {"largest": function in LARGEST}
    else:
        source += f"    return function({names})\n"
    both = define(source, "warp_function", **scope)
    both.__name__ = both.__qualname__ = unique_name(function) + "_warp_function"
    return both


class _ReturnedKind(NamedTuple):
    """What a function says that it returns."""

    positions: tuple[str, ...]
    """Where its numbers are in it."""
    record: Any
    """The NamedTuple that they make up."""

    def joined(self, parts: list[str]) -> str:
        if self.record is not None:
            return f"record({', '.join(parts)})"
        if not parts:
            return "None"
        return parts[0] if self.positions == ("",) else f"({', '.join(parts)},)"


def _returned_kind(function: python_types.FunctionType) -> _ReturnedKind:
    hint: Any = function.__annotations__["return"]
    hint = eval(hint, function.__globals__) if isinstance(hint, str) else hint
    if hint is None:
        return _ReturnedKind((), None)
    if hasattr(hint, "_fields"):
        return _ReturnedKind(tuple(f".{name}" for name in hint._fields), hint)
    if get_args(hint):
        return _ReturnedKind(tuple(f"[{k}]" for k in range(len(get_args(hint)))), None)
    return _ReturnedKind(("",), None)


WARP_FUNCTIONS.append(_warp_function)


# --- compiling ---


def require_extra() -> None:
    """Refuse where numba-cuda is not installed."""
    if importlib.util.find_spec("numba_cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        raise OptionError("device='cuda' needs numba-cuda, which is not installed", "run pip install 'airoas[gpu]'.")


@contextlib.contextmanager
def _compiling_for(capability: tuple[int, int]) -> Iterator[Any]:
    """numba-cuda, which asks for the GPU at hand even where it only compiles, told that it is one of this capability."""
    if not hasattr(np, "row_stack"):
        setattr(np, "row_stack", np.vstack)  # noqa: B010 - numba-cuda 0.30 asks for it, numpy 2.5 has it no more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of numpy 2.5
        from numba import cuda
        from numba.cuda import api, compiler, dispatcher

    device = python_types.SimpleNamespace(compute_capability=capability)
    modules = [module for module in (cuda, api, compiler, dispatcher) if hasattr(module, "get_current_device")]
    before = [module.get_current_device for module in modules]
    for module in modules:
        module.get_current_device = lambda: device
    try:
        yield compiler
    finally:
        for module, function in zip(modules, before, strict=True):
            module.get_current_device = function


def model_type(model: HasNative, mode: str, mentioned: frozenset[str] | None) -> ModelType:
    """The type of a model with the methods that a kernel mentions; None for all of them."""
    handle = model.native()
    kinds = tuple((name, numba.typeof(value)) for name, value in handle.fields.items())
    return ModelType(handle.native_class if mentioned is None else handle.native_class.only(mentioned), mode, kinds)


def entry_of_words(function: Any, kinds: tuple[Any, ...], mode: str) -> tuple[Any, int, int]:
    """A kernel that takes the words of its arguments, those of a table, and whether the largest is wanted or the sum; in the table it
    leaves what the function returns, a number to a row, folded over the 32 threads of a warp, a warp to a column. How many words it
    takes, and how many numbers there are."""
    sizes = [size_of(kind) for kind in kinds]
    words = [f"w{k}" for k in range(sum(sizes))]
    ends = list(itertools.accumulate(sizes, initial=0))
    given = ", ".join(f"opened(value{k}(({', '.join(words[ends[k] : ends[k + 1]])},)))" for k in range(len(kinds)))
    body = specialise(function, mode)
    seen = tuple(kind.model if isinstance(kind, ModelAddressType) else kind for kind in kinds)
    returns = _returned(body, seen, mode)
    is_tuple = isinstance(returns, numba.types.BaseTuple)
    count = 0 if returns == numba.none else len(returns) if is_tuple else 1
    source = f"def entry({', '.join([*words, 'at', 'rows', 'columns', 'largest'])}):\n    result = function({given})\n"
    source += "    w, table = warp(), array((at, rows, columns))\n" if count else ""
    source += "".join(f"    table[{k}, w] = folded(float(result{f'[{k}]' if is_tuple else ''}), largest)\n" for k in range(count))
    table = value_of(numba.types.Array(numba.float64, 2, "C"))
    scope = {f"value{k}": value_of(kind) for k, kind in enumerate(kinds)}
    fold: dict[str, Any] = {"warp": _warp, "folded": _folded} if mode in ON_DEVICE else {"warp": lane, "folded": _same}
    scope |= {"opened": opened, "array": table, "function": body} | {name: specialise(value, mode) for name, value in fold.items()}
    return define(source, "entry", **scope), len(words) + 4, count


def _returned(body: Any, kinds: tuple[Any, ...], mode: str) -> Any:
    if mode in ON_DEVICE:
        return numba.types.unliteral(body.compile_device(kinds).signature.return_type)
    body.compile(kinds)
    return numba.types.unliteral(body.overloads[kinds].signature.return_type)


def compile_kernel(function: Any, kinds: tuple[Any, ...], capability: tuple[int, int], mode: str = "cuda") -> tuple[bytes, int, str]:
    """Machine code of a kernel named "entry", how many numbers it returns, and what the linker says of it."""
    require_extra()
    with _compiling_for(capability) as compiler:
        entry, words, count = entry_of_words(function, kinds, mode)
        signature = numba.void(*[numba.int64] * words)
        library, _ = compiler._compile_pyfunc_with_fixup(entry, signature, device=False, abi="numba", cc=capability)
        library._nvvm_options = {**library._nvvm_options, "fma": 0}
        text = library.get_asm_str(cc=capability)
    name = re.findall(r"\.visible \.entry (\w+)", text)[0]
    cubin, said = _machine_code(re.sub(rf"\b{name}\b", "entry", text), capability)
    return cubin, count, said


def _machine_code(ptx: str, capability: tuple[int, int]) -> tuple[bytes, str]:
    """Machine code: a driver refuses PTX of a toolkit that is newer than itself."""
    from cuda.bindings import nvjitlink

    options = [f"-arch=sm_{capability[0]}{capability[1]}", "-O3", "-fma=0", "-verbose"]
    options += [f"-maxrregcount={REGISTERS}"] if REGISTERS else []
    handle = nvjitlink.create(len(options), options)
    try:
        raw = ptx.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, raw, len(raw), "kernel")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        said = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, said)
    finally:
        nvjitlink.destroy(handle)
    return bytes(cubin), bytes(said).decode(errors="replace").strip("\x00")


def stored_kernel(kernel: Kernel, kinds: tuple[Any, ...], capability: tuple[int, int], mode: str) -> tuple[bytes, int]:
    """The same from the disk, if it is there."""
    digest, directory = fingerprint_of(kernel.function), cache.folder()
    cacheable = digest is not None and all(getattr(kind, "cacheable", True) for kind in kinds)
    if directory is None or not cacheable:
        return compile_kernel(kernel.function, kinds, capability, mode)[:2]
    from numba_cuda import __version__

    own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    path = (
        directory
        / f"{kernel.__name__}-{cache._key(digest, *map(cache.spelled, kinds), capability, mode, REGISTERS, __version__, own)}.kernel"
    )
    payload = cache.read(path)
    if payload is None:
        cubin, count, _ = compile_kernel(kernel.function, kinds, capability, mode)
        payload = bytes([count]) + cubin
        cache.write(path, hashlib.sha256(payload).digest() + payload)
    return payload[1:], payload[0]
