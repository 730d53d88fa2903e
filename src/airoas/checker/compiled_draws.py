"""Many draws and densities of a model at one site, compiled with array bounds checked: what takes plain Python seconds.

They are those of plain Python, to the last bit: draw i comes from the stream (seed, part, i). Where anything goes wrong the answer is None:
plain Python says what, and where.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.checker.flat import is_flat
from airoas.compiler.kernels import running
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.layout import Shape

MODE = "debug"
"""In which all of a check is compiled, so that no method is compiled twice: indices are looked at, numbers are those of "compiled"."""
SLOW = 12e-6
"""Seconds of a call from which on tens of thousands of them take longer than compiling."""
_TRIED = 20
_TYPES = {"float": float, "int": int, "bool": bool}


def is_slow(call: Callable[[], Any]) -> bool:
    begun = time.thread_time()
    for _ in range(_TRIED):
        call()
    return time.thread_time() - begun > _TRIED * SLOW


def observations(model: KernelModel, s: Any, a: Any, seed: int, n: int) -> list[Any] | None:
    """Draws of `observe` in s after a, flat."""
    shape, rows = model.shapes.observation, np.zeros((n, model.shapes.observation.size))

    def draw() -> list[Any]:
        which, numbers = np.zeros(n, np.int64), np.arange(n)
        batch(model).observe(_row(model, "state", s), which, _row(model, "action", a), seed, numbers, rows)
        return _values(shape, rows)

    return _checked(shape, draw)


def log_likelihoods(model: KernelModel, s: Any, a: Any, values: list[Any]) -> list[float] | None:
    """`obs_logpdf` of each of these observations, which are flat."""
    out, alive = np.zeros((len(values), 1)), np.ones(1, np.bool_)

    def weigh() -> list[float]:
        batch(model).log_likelihoods(_row(model, "state", s), alive, np.array(values, np.float64), _row(model, "action", a), out)
        return list(out[:, 0].tolist())

    return _checked(model.shapes.observation, weigh)


def arrivals(model: KernelModel, s: Any, a: Any, seed: int, n: int) -> list[Any] | None:
    """Draws of the state that `step` leads to from s under a, flat."""
    shape = model.shapes.state
    before = np.repeat(_row(model, "state", s), n, axis=0)

    def draw() -> list[Any]:
        after, alive = np.zeros_like(before), np.ones(n, np.bool_)
        batch(model).step(before, alive, _row(model, "action", a), seed, np.arange(n), after, np.zeros(n), np.zeros(n, np.bool_))
        return _values(shape, after)

    return _checked(shape, draw)


def _checked(shape: Shape, work: Callable[[], list[Any]]) -> list[Any] | None:
    if "flags" in shape.kinds:  # bits, which a row holds packed
        return None
    try:
        with running(MODE):
            return work()
    except Exception:
        return None


def _row(model: KernelModel, part: str, value: Any) -> np.ndarray:
    """Of a value that the model itself gave, which needs no gate: that of a large finite model is compiled."""
    shape: Shape | None = getattr(model.shapes, part)
    return np.array([shape.to_row(value) if shape else (value,)], np.float64)


def _values(shape: Shape, rows: np.ndarray) -> list[Any]:
    columns = (map(_TYPES[kind], column) for kind, column in zip(shape.kinds, rows.T.tolist(), strict=True))
    make: Callable[[Any], Any] = shape.record._make if shape.record and is_flat(shape) else tuple
    return [make(numbers) for numbers in zip(*columns, strict=True)]
