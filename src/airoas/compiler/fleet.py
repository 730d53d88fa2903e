"""Many copies of a record in a GPU's memory, each with records and arrays of its own: what threads that work alone work with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from airoas.compiler.device import Device, DeviceArray, DeviceRecord
from airoas.compiler.kernels import kernel
from airoas.compiler.lanes import lanes
from airoas.compiler.native import Bound, DeviceBoundType, Record, RecordType
from airoas.rng import rng_type

_BEGUN = 1 << 13
"""Bytes of an array that is filled later."""


class Fleet:
    """Copies of a record. An array that stands in several of its records is one array in each copy, too."""

    def __init__(self, device: Device, record: Record, count: int, mode: str, workspace: Sequence[np.ndarray] = ()) -> None:
        """mode: of the kernels that work with them. workspace: those of its arrays that are filled as the work goes on. A copy begins with
        what their first bytes hold here, and with arbitrary ones beyond; all other arrays are copied whole."""
        self._device, self.count, self._mode = device, count, mode
        self._keep: list[Any] = []
        self._records: dict[int, int] = {}  # the offset of each, in words
        self._arrays: dict[int, int] = {}
        parts: list[np.ndarray] = []
        length = self._lay_out(record, parts, 0)
        for array in parts:
            if array.ctypes.data not in self._arrays:
                self._arrays[array.ctypes.data] = length
                length += (array.nbytes + 15) // 16 * 2
        self.stride = (length + 31) // 32 * 32
        self.region = device.allocate((count * self.stride,), np.int64)
        to: list[np.ndarray] = []
        values: list[np.ndarray] = []
        moves: list[np.ndarray] = []
        self.kind = self._write(record, to, values, moves, set())
        known, filled = set(), {array.ctypes.data for array in workspace}
        for array in parts:
            if array.ctypes.data not in known:
                known.add(array.ctypes.data)
                raw = array.view(np.ndarray).reshape(-1).view(np.uint8)[: _BEGUN if array.ctypes.data in filled else array.nbytes]
                whole = np.zeros((len(raw) + 7) // 8 * 8, np.uint8)
                whole[: len(raw)] = raw
                words, at = whole.view(np.int64), self._arrays[array.ctypes.data]
                to.append(np.arange(at, at + len(words)))
                values.append(words)
                moves.append(np.zeros(len(words), np.int64))
        image = [device.array(np.concatenate(column)) for column in (to, values, moves)]
        device.launch(_copy, count * len(image[0]), self.region, self.stride, *image)
        self.words = (self.region.address,)
        self.addresses = device.array(self.region.address + 8 * self.stride * np.arange(count))

    @staticmethod
    def bytes_of(record: Record) -> int:
        """Of a copy, about."""
        total = len(record._words) * 8
        for name in record._numba_type_.fields:
            value = getattr(record, name)
            total += Fleet.bytes_of(value) if isinstance(value, Record) else value.nbytes if isinstance(value, np.ndarray) else 0
        return total

    def _lay_out(self, record: Record, parts: list[np.ndarray], length: int) -> int:
        """Give this record and those within it a place, and gather their arrays; how many words there are."""
        self._records[id(record)] = length
        length += len(record._words)
        for name in record._numba_type_.fields:
            value = getattr(record, name)
            if isinstance(value, Record) and id(value) not in self._records:
                length = self._lay_out(value, parts, length)
            elif isinstance(value, np.ndarray):
                parts.append(value)
        return length

    def _write(self, record: Record, to: list[Any], values: list[Any], moves: list[Any], written: set[int]) -> RecordType:
        """The words of the first copy, and which of them are addresses within it; the record's type there."""
        at, words, inside = self._records[id(record)], record._words.copy(), np.zeros(len(record._words), np.int64)
        kinds = dict(record._numba_type_.fields)
        for name in kinds:
            value, offset = getattr(record, name), record._numba_type_.offsets[name]
            if isinstance(value, (Record, np.ndarray)):
                position = self._records[id(value)] if isinstance(value, Record) else self._arrays[value.ctypes.data]
                words[offset], inside[offset] = self.region.address + 8 * position, 1
            if isinstance(value, Record):
                kinds[name] = self._write(value, to, values, moves, written)
            elif isinstance(value, Bound):
                kinds[name], words[offset + 1] = self._bound(value)
        if id(record) not in written:
            written.add(id(record))
            to.append(np.arange(at, at + len(words)))
            values.append(words)
            moves.append(inside)
        return RecordType(tuple(kinds.items()))

    def _bound(self, bound: Bound) -> tuple[DeviceBoundType, int]:
        """The model, or the record, of a bound kernel is one for all copies."""
        mode, function = self._mode, bound.kernel.function
        if isinstance(bound.owner, Record):
            shared = DeviceRecord(self._device, bound.owner, {}, mode)
            shared.push()
            self._keep.append(shared)
            return DeviceBoundType(function, shared.kind, mode), shared.words[0]
        model = self._device.model(bound.owner)
        return DeviceBoundType(function, model.kind(bound.kernel, mode), mode), model.words[0]

    def set(self, record: Record, name: str, values: np.ndarray) -> None:
        """Give a number of a record in each copy another value."""
        word = self._records[id(record)] + record._numba_type_.offsets[name]
        remote = self._device.array(np.ascontiguousarray(values).view(np.int64))
        self._device.launch(_put, self.count, self.region, self.stride, word, remote)

    def get(self, record: Record, name: str) -> np.ndarray:
        """A whole number of a record in each copy."""
        out = self._device.allocate((self.count,), np.int64)
        self._device.launch(_take, self.count, self.region, self.stride, self._records[id(record)] + record._numba_type_.offsets[name], out)
        return out.get()


def image_of(device: Device, records: list[Record]) -> tuple[DeviceArray, DeviceArray]:
    """Records of arrays and numbers, with the arrays, in one piece of a GPU's memory; and their addresses."""
    starts, length = [], 0
    for record in records:
        starts.append(length)
        length += len(record._words)
        for name in record._numba_type_.fields:
            value = getattr(record, name)
            length += (value.nbytes + 7) // 8 if isinstance(value, np.ndarray) else 0
    host, remote = np.zeros(length, np.int64), device.allocate((length,), np.int64)
    for record, start in zip(records, starts, strict=True):
        words, at = host[start : start + len(record._words)], start + len(record._words)
        words[:] = record._words
        for name, offset in record._numba_type_.offsets.items():
            value = getattr(record, name)
            if isinstance(value, np.ndarray):
                words[offset] = remote.address + 8 * at
                host[at:].view(np.uint8)[: value.nbytes] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
                at += (value.nbytes + 7) // 8
    remote.set(host)
    return remote, device.array(remote.address + 8 * np.array(starts, np.int64))


@intrinsic
def stream_at(context: Any, address: Any) -> Any:
    """Inside compiled code: the stream whose word stands at an address."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return rng_type(types.int64), emit


@kernel
def _copy(region: Any, stride: int, to: Any, values: Any, moves: Any) -> None:
    count = len(to)
    for i in lanes(len(region) // stride * count):
        copy, k = i // count, i % count
        region[copy * stride + to[k]] = values[k] + moves[k] * copy * stride * 8


@kernel
def _put(region: Any, stride: int, word: int, values: Any) -> None:
    for i in lanes(len(values)):
        region[i * stride + word] = values[i]


@kernel
def _take(region: Any, stride: int, word: int, out: Any) -> None:
    for i in lanes(len(out)):
        out[i] = region[i * stride + word]
