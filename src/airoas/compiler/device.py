"""The GPU at hand: arrays, models and records in its memory, and kernels launched on it.

A kernel is launched with a turn for each of n things (see `lanes`). What it returns are counts and sums, or the largest of something,
of the turns that a thread took; those of all threads are folded into one. Launches run one after the other.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numba
import numpy as np

from airoas.compiler import fingerprint
from airoas.compiler.cuda import model_type, require_extra, stored_kernel
from airoas.compiler.diagnose import COMPILER_ERRORS, explain
from airoas.compiler.kernels import Kernel, kernel
from airoas.compiler.lanes import WARP, lanes
from airoas.compiler.native import Bound, DeviceBoundType, HasNative, ModelAddressType, ModelType, Native, Record, RecordType
from airoas.errors import OptionError

THREADS = 128
"""To a block."""
MOST_LANES = 1 << 18
"""Threads of a launch: the same on every GPU, for sums to be the same."""
_FOLDED = 2048
"""Numbers that are left to be added up by the CPU."""


class DeviceArray:
    """A C-contiguous array in a GPU's memory."""

    __slots__ = ("_owner", "address", "dtype", "kind", "nbytes", "shape", "words")

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype, self._owner = shape, np.dtype(dtype), device
        self.kind = _array_kind(self.dtype, len(shape))
        self.nbytes = max(1, math.prod(shape)) * self.dtype.itemsize
        self.address = device.take(self.nbytes)
        self.words = (self.address, *shape)

    def __len__(self) -> int:
        return self.shape[0]

    def get(self) -> np.ndarray:
        """A copy in ordinary memory."""
        host = np.empty(self.shape, self.dtype)
        if host.size:
            self._owner.call("cuMemcpyDtoH", host.ctypes.data, self.address, host.nbytes)
        return host

    def set(self, values: np.ndarray | DeviceArray) -> None:
        assert values.shape == self.shape and values.dtype == self.dtype, f"{values.shape} instead of {self.shape}"
        if isinstance(values, DeviceArray):
            self._owner.call("cuMemcpyDtoD", self.address, values.address, self.nbytes)
        elif values.size:
            host = np.ascontiguousarray(values)
            self._owner.call("cuMemcpyHtoD", self.address, host.ctypes.data, host.nbytes)

    def copy(self) -> DeviceArray:
        other = self._owner.allocate(self.shape, self.dtype)
        other.set(self)
        return other

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._owner.give(self.address, self.nbytes)


@functools.cache
def _array_kind(dtype: np.dtype, n_dimensions: int) -> Any:
    return numba.types.Array(numba.from_dtype(dtype), n_dimensions, "C")


class DeviceModel:
    """A model's words and arrays in a GPU's memory."""

    def __init__(self, device: Device, model: HasNative) -> None:
        self.model, self._mode = model, device.mode
        self._fields = [device.array(x) if isinstance(x, np.ndarray) else x for x in model.native().fields.values()]
        self._remote = device.array(np.array(word_list(self._fields) or [0]))
        self.words = (self._remote.address,)
        self._kinds: dict[tuple[Kernel, str], ModelAddressType] = {}

    def kind(self, kernel: Kernel, mode: str = "") -> ModelAddressType:
        """Its type, with the methods that a kernel mentions."""
        key = kernel, mode or self._mode
        if key not in self._kinds:
            self._kinds[key] = ModelAddressType(model_type(self.model, key[1], kernel._mentioned))
        return self._kinds[key]

    def whole(self, mode: str) -> ModelType:
        """Its type with all its methods, as a field of a record."""
        return model_type(self.model, mode, None)


class DeviceRecord:
    """A record in a GPU's memory, with the same fields.

    Large arrays are there alone. Numbers and small arrays are kept here, and are copied there before a launch where they changed; what
    kernels write to them is not seen here.
    """

    def __init__(self, device: Device, record: Record, large: Mapping[str, tuple[int, ...]], mode: str = "") -> None:
        """large: the shapes of arrays that are there alone, which may be others than here; they begin as zeros. mode: of the device's,
        that of kernels which it has bound."""
        kinds = dict(record._numba_type_.fields)
        parts: dict[str, Any] = {}
        small: dict[str, np.ndarray] = {}
        for name in kinds:
            value = getattr(record, name)
            if isinstance(value, Record):
                parts[name] = DeviceRecord(device, value, large, mode)
            elif isinstance(value, Bound):
                parts[name] = DeviceBound(device, value, large, mode)
            elif isinstance(value, Native):
                parts[name] = device.model(value)
                kinds[name] = parts[name].whole(mode or device.mode)
            elif isinstance(value, np.ndarray) and name in large:
                parts[name] = device.allocate(large[name], value.dtype, zeros=True)
            elif isinstance(value, np.ndarray):
                small[name] = value
            kinds[name] = parts[name].kind if isinstance(parts.get(name), (DeviceRecord, DeviceBound)) else kinds[name]
        kind = RecordType(tuple(kinds.items()))
        length = len(record._words)
        starts = {}
        for name, value in small.items():
            starts[name] = length
            length += (value.nbytes + 7) // 8
        block, remote = np.zeros(length, np.int64), device.allocate((length,), np.int64)
        block[: len(record._words)] = record._words
        for name, value in small.items():
            at = kind.offsets[name]
            block[at : at + 1 + value.ndim] = (remote.address + 8 * starts[name], *value.shape)
            part = block[starts[name] :].view(value.dtype)[: value.size].reshape(value.shape)
            part[...] = value
            parts[name] = part
        for name, part in parts.items():
            if name not in small:
                block[kind.offsets[name] :][: len(part.words)] = part.words
        state = {"kind": kind, "words": (remote.address,), "_numbers": record._offsets, "_block": block, "_remote": remote}
        self.__dict__.update(state, _pushed=b"", _parts=parts)

    def __getattr__(self, name: str) -> Any:
        if name in self._parts:
            return self._parts[name]
        if name not in self._numbers:
            raise AttributeError(name)
        word, kind = self._block[self._numbers[name] :][:1], self.kind.fields[name]
        if isinstance(kind, numba.types.Float):
            return float(word.view(np.float64)[0])
        return bool(word[0]) if isinstance(kind, numba.types.Boolean) else int(word[0])

    def __setattr__(self, name: str, value: Any) -> None:
        real = isinstance(self.kind.fields[name], numba.types.Float)
        word = self._block[self._numbers[name] :][:1]
        (word.view(np.float64) if real else word)[0] = value

    def push(self) -> None:
        """Copy what changed."""
        for part in self._parts.values():
            if isinstance(part, (DeviceRecord, DeviceBound)):
                part.push()
        now = self._block.tobytes()
        if now != self._pushed:
            self._remote.set(self._block)
            self.__dict__["_pushed"] = now


class DeviceBound:
    """A kernel over a model or a record, as a field of a record in a GPU's memory."""

    def __init__(self, device: Device, bound: Bound, large: Mapping[str, tuple[int, ...]], mode: str = "") -> None:
        kernel, owner = bound.kernel, bound.owner
        self._owner = DeviceRecord(device, owner, large, mode) if isinstance(owner, Record) else device.model(owner)
        kind = self._owner.kind if isinstance(self._owner, DeviceRecord) else self._owner.kind(kernel, mode)
        self.kind = DeviceBoundType(kernel.function, kind, mode or device.mode)
        self.words = (0, *self._owner.words)

    def push(self) -> None:
        if isinstance(self._owner, DeviceRecord):
            self._owner.push()


def word_list(values: Any) -> list[int]:
    words: list[int] = []
    for value in values:
        if hasattr(value, "words"):
            words += value.words
        else:
            for x in value if isinstance(value, tuple) else (value,):
                words.append(_bits(x) if isinstance(x, float) else int(x))
    return words


def _bits(x: float) -> int:
    """Of a float, as an integer."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


class Device:
    """A GPU."""

    mode, mode_alone, mode_warp = "cuda", "alone", "warp"

    def __init__(self) -> None:
        require_extra()
        from cuda.bindings import driver

        self._driver: Any = driver
        remedy = "use a machine with an NVIDIA GPU and its driver, or leave device='cuda' out."
        try:
            self.call("cuInit", 0)
            self._device = self.call("cuDeviceGet", 0)
        except (RuntimeError, OSError) as error:
            said = f" ({error})" if str(error).startswith("cu") else ""  # else that there is no driver, at length
            raise OptionError(f"device='cuda' finds no GPU{said}", remedy) from None
        self._context = self.call("cuDevicePrimaryCtxRetain", self._device)
        self.call("cuCtxSetCurrent", self._context)
        attribute = driver.CUdevice_attribute
        major = self.call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, self._device)
        minor = self.call("cuDeviceGetAttribute", attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, self._device)
        self.capability = (int(major), int(minor))
        self._free: dict[int, list[int]] = {}
        self._functions: dict[Any, tuple[Any, int, Any]] = {}  # types are kept, for their ids to stay theirs
        self._tables: dict[tuple[int, int], DeviceArray] = {}

    @property
    def name(self) -> str:
        return bytes(self.call("cuDeviceGetName", 128, self._device)).split(b"\0")[0].decode()

    @property
    def memory(self) -> tuple[int, int]:
        """Bytes free, and in all."""
        free, total = self.call("cuMemGetInfo")
        return int(free), int(total)

    def call(self, name: str, *arguments: Any) -> Any:
        """A function of the driver; its failure is a RuntimeError."""
        status, *results = getattr(self._driver, name)(*arguments)
        if int(status):
            raise RuntimeError(f"{name}: {getattr(status, 'name', status)}")
        return results[0] if len(results) == 1 else results or None

    def take(self, n_bytes: int) -> int:
        """Memory: what was given back first."""
        held = self._free.get(n_bytes)
        if held:
            return held.pop()
        try:
            return int(self.call("cuMemAlloc", n_bytes))
        except RuntimeError:
            self.release()
        try:
            return int(self.call("cuMemAlloc", n_bytes))
        except RuntimeError as error:
            free, total = self.memory
            problem = f"{n_bytes / 1e9:.2f} GB do not fit the GPU, of whose {total / 1e9:.0f} GB {free / 1e9:.2f} are free ({error})"
            raise OptionError(problem, "use fewer particles.") from None

    def give(self, address: int, n_bytes: int) -> None:
        """Take it back, for whoever asks for as much."""
        self._free.setdefault(n_bytes, []).append(address)

    def release(self) -> None:
        """Give memory that nobody uses back to the driver."""
        for addresses in self._free.values():
            while addresses:
                self.call("cuMemFree", addresses.pop())

    def array(self, values: np.ndarray) -> DeviceArray:
        """A copy of these there."""
        host = np.ascontiguousarray(values)
        array = self.allocate(host.shape, host.dtype)
        array.set(host)
        return array

    def allocate(self, shape: tuple[int, ...], dtype: Any = np.float64, zeros: bool = False) -> DeviceArray:
        array = DeviceArray(self, shape, dtype)
        if zeros:
            self.call("cuMemsetD8", array.address, 0, array.nbytes)
        return array

    def model(self, model: HasNative) -> DeviceModel:
        """The model there, copied once."""
        held: list[DeviceModel] = model.__dict__.setdefault("_on_device", [])
        if not held:
            held.append(DeviceModel(self, model))
        return held[0]

    def synchronise(self) -> None:
        self.call("cuCtxSynchronize")

    def launch(self, kernel: Kernel, n: int, *arguments: Any, mode: str = "") -> int:
        """Run a kernel with a turn for each of n, and perhaps in another mode, where each has a warp to itself as long as there are
        enough; by how many threads."""
        function, count = self.function(kernel, *arguments, mode=mode)
        return self._launch(function, WARP * n if mode else n, arguments, self.table(max(1, count)))[0]

    def fold(self, kernel: Kernel, n: int, *arguments: Any, largest: bool = False) -> list[float]:
        """The same; what it returns, added up over the threads (or the largest), always in the same order."""
        function, count = self.function(kernel, *arguments)
        table = self.table(count)
        return self.fold_table(table, count, self._launch(function, n, arguments, table, largest)[1], largest)

    def fold_table(self, table: DeviceArray, rows: int, columns: int, largest: bool = False) -> list[float]:
        """The first numbers of the first rows of a table folded into one for each row."""
        few = min(_FOLDED, columns)
        out = self.table(rows, _FOLDED)
        arguments = table, rows, columns, few, largest, out
        self._launch(self.function(_fold, *arguments)[0], few, arguments, out)
        partial = out.get()[:, :few]
        result: list[float] = (partial.max(axis=1) if largest else partial.sum(axis=1)).tolist()
        return result

    def table(self, rows: int, columns: int = MOST_LANES) -> DeviceArray:
        """Room for `rows` numbers of each thread, which whoever asks next for as much gets too."""
        if (rows, columns) not in self._tables:
            self._tables[rows, columns] = self.allocate((rows, columns))
        return self._tables[rows, columns]

    def function(self, kernel: Kernel, *arguments: Any, mode: str = "") -> tuple[Any, int]:
        """A kernel for arguments of these types, compiled or from the disk, and how many numbers it returns."""
        kinds = tuple([_kind(x, kernel) for x in arguments])
        key = (kernel, mode, *map(id, kinds))
        if key not in self._functions:
            try:
                self._functions[key] = *self._load(kernel, kinds, mode or self.mode), kinds
            except COMPILER_ERRORS as error:
                raise explain(error, f"kernel {kernel.__name__} for a GPU") from error
        return self._functions[key][:2]

    def _load(self, kernel: Kernel, kinds: tuple[Any, ...], mode: str) -> tuple[Any, int]:
        cubin, count = stored_kernel(kernel, kinds, self.capability, mode)
        module = self.call("cuModuleLoadData", cubin)
        return self.call("cuModuleGetFunction", module, b"entry"), count

    def _launch(self, function: Any, n: int, arguments: tuple[Any, ...], table: DeviceArray, largest: bool = False) -> tuple[int, int]:
        """How many threads there were, and how many columns of the table they fill."""
        for argument in arguments:
            if isinstance(argument, DeviceRecord):
                argument.push()
        words = np.array(word_list((*arguments, table, largest)), np.int64)
        addresses = words.ctypes.data + _EIGHTS[: len(words)]
        threads = min(MOST_LANES, (max(n, 1) + THREADS - 1) // THREADS * THREADS)
        self.call("cuLaunchKernel", function, threads // THREADS, 1, 1, THREADS, 1, 1, 0, 0, addresses.ctypes.data, 0)
        return threads, threads // WARP


_EIGHTS = 8 * np.arange(4096)


def _kind(value: Any, kernel: Kernel) -> Any:
    """The type of an argument: the same object whenever it is the same."""
    if isinstance(value, DeviceModel):
        return value.kind(kernel)
    if hasattr(value, "kind"):
        return value.kind
    return numba.boolean if isinstance(value, (bool, np.bool_)) else numba.float64 if isinstance(value, float) else numba.int64


@kernel
def _fold(table: Any, rows: int, columns: int, few: int, largest: bool, out: Any) -> None:
    for t in lanes(few):
        for k in range(rows):
            value = table[k, t]
            for j in range(t + few, columns, few):
                value = max(value, table[k, j]) if largest else value + table[k, j]
            out[k, t] = value


def conducted(function: Any, instead: Mapping[Any, Callable[..., Any]]) -> Callable[..., Any]:
    """A function that runs here, in Python, and calls others in place of some: launches of what loops over particles. So the same
    algorithm serves both, and only its loops run on a GPU."""
    known: dict[FunctionType, Any] = {}

    def convert(value: Any, below: Any) -> Any:
        value = fingerprint.plain(value)
        if isinstance(value, FunctionType) and not fingerprint.is_native(value) and value not in fingerprint.OVERLOADED:
            return instead.get(value) or known.get(value) or rebound(value)
        return value

    def rebound(value: FunctionType) -> Any:
        def finish(copy: FunctionType) -> FunctionType:
            known[value] = copy
            return copy

        return fingerprint.rebind_globals(value, convert, finish, name=value.__name__)

    result: Callable[..., Any] = rebound(fingerprint.plain(function))
    return result


@functools.cache
def device() -> Device:
    """The GPU at hand; refused in a sentence where there is none."""
    return Device()


def devices() -> list[dict[str, Any]]:
    """What there is, or why there is nothing."""
    try:
        remote = device()
    except OptionError as error:
        return [{"device": "cuda", "usable": False, "about": str(error)}]
    capability, memory = ".".join(map(str, remote.capability)), remote.memory[1] / 2**30
    return [{"device": "cuda", "usable": True, "about": f"{remote.name}, {memory:.0f} GiB, compute capability {capability}"}]
