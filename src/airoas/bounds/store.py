"""Bounds on disk: arrays by the content of the model and what was asked for.

They lie beside the compiled kernels, as `.npz` behind a digest that is verified before a file is read. New content is a new
file; a damaged one is computed again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from airoas import __version__
from airoas.compiler.cache import folder, read, write
from airoas.compiler.clock import read_clock
from airoas.compiler.interrupt import interruptible
from airoas.compiler.kernels import current_mode, running
from airoas.errors import CompileError, ModelError
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel

LEAST_SECONDS = 0.2
"""Seconds of work; what took less is not stored."""
_KEEP_BYTES = 1 << 29


def kept(model: KernelModel, what: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays that `compute` gives, from disk where an earlier process stored them."""
    path = _path(model, what)
    result = path and _load(path)
    if result:
        return result
    start = time.perf_counter()
    arrays = interruptible(compute)
    if any(array.dtype.kind == "f" and np.isnan(array).any() for array in arrays.values()):
        problem = "gives rewards, or states, that are not finite: no bounds can be found from them"
        raise ModelError(problem, "return finite numbers; airoas.check(model) says where.", where=location(model, "step"))
    if path and time.perf_counter() - start > LEAST_SECONDS:
        _save(path, arrays)
    return arrays


def stored(model: KernelModel, what: str, fingerprint: str | None = None) -> dict[str, np.ndarray] | None:
    """The arrays that an earlier process kept; None where there are none. fingerprint: what stands for the model in place of its own."""
    path = _path(model, what, fingerprint)
    return _load(path) if path else None


def keep(model: KernelModel, what: str, arrays: dict[str, np.ndarray], fingerprint: str | None = None) -> None:
    """Keep arrays for later processes, whatever they cost."""
    path = _path(model, what, fingerprint)
    if path:
        _save(path, arrays)


@contextlib.contextmanager
def alone(model: KernelModel, what: str) -> Iterator[None]:
    """While one process computes this, others wait for it; the system lets go of what a killed one held."""
    path = _path(model, what)
    if path is None or os.name != "posix":
        yield
        return
    import fcntl

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a full disk, or a system without locks: each does it for itself
            fcntl.flock(stack.enter_context(path.with_suffix(".lock").open("w")), fcntl.LOCK_EX)
        yield


def learned(model: KernelModel, what: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The same for what millions of simulated steps teach. They run compiled also where a search is interpreted, for the same
    arrays; a model that cannot be compiled is simulated as it is."""

    def fast() -> dict[str, np.ndarray]:
        if current_mode() == "interpreted":
            with contextlib.suppress(CompileError), running("compiled"):
                return compute()
        return compute()

    def timed() -> dict[str, np.ndarray]:
        begun = read_clock()
        arrays = fast()
        _spent[model.fingerprint] = _spent.get(model.fingerprint, 0.0) + read_clock() - begun
        return arrays

    return kept(model, what, timed)


def seconds_spent(model: KernelModel) -> float:
    """On learning what bounds a model has, in this process."""
    return _spent.get(model.fingerprint, 0.0)


_spent: dict[str, float] = {}
"""By the fingerprint of a model."""


def _path(model: KernelModel, what: str, fingerprint: str | None = None) -> Path | None:
    """None where there is no folder, or the content of the model cannot be known."""
    directory = folder() if model.native().native_class.cacheable else None
    parts = (fingerprint or model.fingerprint, what, __version__, digest_of_sources(Path(__file__).parent))
    key = hashlib.sha256(repr(parts).encode()).hexdigest()[:40]
    return directory and directory / f"bounds-{type(model).__name__}-{key}.npz"


@functools.cache
def digest_of_sources(package: Path) -> str:
    """The digest of a package, so that a changed method finds nothing of the old one."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(package.rglob("*.py")))).hexdigest()


def _load(path: Path) -> dict[str, np.ndarray] | None:
    raw = read(path)
    if raw is None:
        return None
    with np.load(io.BytesIO(raw), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    raw = buffer.getvalue()
    with contextlib.suppress(OSError):  # a full disk costs the next process a few seconds
        write(path, hashlib.sha256(raw).digest() + raw)
        _clean(path.parent)


def _clean(directory: Path) -> None:
    """Drop the oldest until what is left is within its size."""
    files = sorted(directory.glob("bounds-*.npz"), key=lambda file: file.stat().st_mtime, reverse=True)
    total = 0
    for file in files:
        total += file.stat().st_size
        if total > _KEEP_BYTES:
            file.unlink(missing_ok=True)
            file.with_suffix(".lock").unlink(missing_ok=True)
