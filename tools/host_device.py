"""A device made of ordinary memory and one thread: all of the way to a GPU and back, but for the GPU."""

from __future__ import annotations

import ctypes
from typing import Any

import numba
import numpy as np

from airoas.compiler.cuda import entry_of_words
from airoas.compiler.device import Device, DeviceRecord, word_list


class HostDevice(Device):
    """Launches run here, one thread takes every turn."""

    mode = mode_alone = mode_warp = "compiled"

    def __init__(self) -> None:
        self.capability = (0, 0)
        self._free, self._functions, self._tables = {}, {}, {}
        self._memory: dict[int, np.ndarray] = {}
        self.launches = 0

    @property
    def memory(self) -> tuple[int, int]:
        return 1 << 30, 1 << 30

    def call(self, name: str, *arguments: Any) -> Any:
        if name == "cuMemAlloc":
            block = np.full((arguments[0] + 7) // 8, -1, np.int64)  # nan, as floats
            self._memory[block.ctypes.data] = block
            return block.ctypes.data
        if name == "cuMemFree":
            del self._memory[arguments[0]]
        elif name.startswith("cuMemcpy"):
            ctypes.memmove(*arguments)
        elif name == "cuMemsetD8":
            ctypes.memset(*arguments)
        else:
            assert name == "cuCtxSynchronize", name
        return None

    def _load(self, kernel: Any, kinds: tuple[Any, ...], mode: str) -> tuple[Any, int]:
        entry, words, count = entry_of_words(kernel.function, kinds, mode)
        return numba.njit(numba.void(*[numba.int64] * words), error_model="numpy", no_cfunc_wrapper=True)(entry), count

    def _launch(self, function: Any, n: int, arguments: tuple[Any, ...], table: Any, largest: bool = False) -> tuple[int, int]:
        self.launches += 1
        for argument in arguments:
            if isinstance(argument, DeviceRecord):
                argument.push()
        function(*word_list((*arguments, table, largest)))
        return 1, 1
