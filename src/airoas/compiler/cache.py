"""Compiled kernels on disk, keyed by the fingerprint of everything they were made from.

A new fingerprint is a new file, so a stale hit cannot happen. The folder is private to the user, every file carries a digest
that is verified before it is read, and whatever goes wrong with the cache costs a few seconds of compilation, said once.
Storing kernels takes private interfaces of numba, so a small one that an earlier process stored is tried out first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import os
import pickle
import stat
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import __version__ as llvmlite_version
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from airoas import __version__

VARIABLE = "AIROAS_CACHE_DIR"
_KEEP_DAYS = 30
_KEEP_BYTES = 1 << 29
_DAY = 86_400
_DIGEST = 32


_VERSIONS = (__version__, numba.__version__, llvmlite_version, np.__version__, sys.version)
_COMPILER = "fingerprint coercion arrays array_types array_makers replacing cache clock inline specialise native kernels"
_SOURCES = ("../rng", "../modelling/compiled", *_COMPILER.split())
_MACHINERY = hashlib.sha256(b"".join((Path(__file__).parent / f"{name}.py").read_bytes() for name in _SOURCES)).hexdigest()
"""Part of every key: a changed generator or lowering makes other machine code from the same kernel."""

_said: set[str] = set()


def _say_once(message: str) -> None:
    if message not in _said:
        _said.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def folder() -> Path | None:
    """The cache folder, made if need be; None (and a warning, once) where there is none to be had."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    path = Path(os.environ.get(VARIABLE) or Path(base) / "airoas")
    try:
        path = path.expanduser()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        reason = _distrusted(status)
        if reason:
            pass
        elif os.access(path, os.R_OK | os.W_OK | os.X_OK):
            return path
        else:
            reason = "it is not writable"
    except OSError as error:
        reason = error.strerror or str(error)
    except RuntimeError as error:  # there is no home
        reason = str(error)
    _say_once(f"no compilation cache at {path} ({reason}): kernels compile anew in each process. Set {VARIABLE} to a folder of yours.")
    return None


def _distrusted(status: os.stat_result) -> str:
    """Why nothing that a file or folder holds is loaded, for a kernel is code; nothing where it may be."""
    if os.name != "posix":  # elsewhere owner and mode say nothing
        return ""
    if status.st_uid not in (os.getuid(), 0):
        return "it belongs to another user"
    return "others may write to it" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def spelled(kind: Any) -> str:
    """A numba type as text that tells it from every other one: numba's own leaves out the fields of NamedTuples."""
    if isinstance(kind, numba.types.BaseTuple):
        return f"{kind}{getattr(kind, 'fields', '')}[{', '.join(map(spelled, kind))}]"
    return str(kind)


class KernelCache:
    """The interface that a numba dispatcher expects of its cache, over files of our own."""

    cache_path = None

    def __init__(self, name: str, fingerprint: str | None, before_compile: Any) -> None:
        self._name = name
        self._fingerprint = fingerprint  # digest of the kernel and its options; None where it cannot be known
        self._before_compile = before_compile  # called where there is nothing to load: with the argument types, and whether it is kept

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        directory = self._directory(signature)
        loaded = directory and _load(self._path(directory, signature, target), target)
        if loaded is None:
            self._before_compile(signature, directory is not None)
        return loaded

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        directory = self._directory(signature)
        if directory is not None and not result.library.has_dynamic_globals:  # else it holds addresses of this process
            _save(self._path(directory, signature, result.target_context), result)

    def flush(self) -> None:
        """Nothing is held in memory."""

    enable = disable = flush

    def _directory(self, signature: Any) -> Path | None:
        if self._fingerprint is None or not all(getattr(kind, "cacheable", True) for kind in signature):
            return None
        directory = folder()
        return directory if directory is not None and _works(directory) else None

    def _path(self, directory: Path, signature: Any, target: Any) -> Path:
        assert self._fingerprint is not None
        return directory / f"{self._name}-{_key(self._fingerprint, *map(spelled, signature), *_processor(target))}.kernel"


@functools.cache
def _processor(target: Any) -> tuple[Any, ...]:
    """What machine code is made for; asking takes milliseconds."""
    processor: tuple[Any, ...] = target.codegen().magic_tuple()
    return processor


def _key(*parts: Any) -> str:
    settings = numba.config.OPT, numba.config.BOUNDSCHECK, numba.config.LOOP_VECTORIZE, numba.config.SLP_VECTORIZE
    return hashlib.sha256(repr((parts, settings, _VERSIONS, _MACHINERY)).encode()).hexdigest()[:40]


def _load(path: Path, target: Any) -> CompileResult | None:
    """The stored kernel; None where there is none. What cannot be loaded is removed."""
    payload = read(path)
    if payload is None:
        return None
    try:
        return _rebuilt(payload, target)
    except Exception:
        with contextlib.suppress(OSError):
            path.unlink()
        return None


def read(path: Path) -> bytes | None:
    """What was stored; None where there is nothing, or it is damaged and therefore removed, or it is not ours."""
    try:
        with open(path, "rb") as file:
            reason = _distrusted(os.fstat(file.fileno()))
            if reason:
                _say_once(f"{path} is not loaded ({reason}): what it holds is made anew. Delete it.")
                return None
            raw = file.read()
        if hashlib.sha256(raw[_DIGEST:]).digest() != raw[:_DIGEST]:
            path.unlink()
            return None
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)  # used: `_clean` keeps it
        return raw[_DIGEST:]
    except OSError:
        return None


def _rebuilt(payload: bytes, target: Any) -> CompileResult:
    _refresh(target)
    return CompileResult._rebuild(target, *pickle.loads(payload))


@functools.cache
def _refresh(target: Any) -> None:
    """Math functions and the run-time library are linked by name: have them loaded first."""
    target.refresh()


def _save(path: Path, result: CompileResult) -> None:
    try:
        payload = dumps(result._reduce())
        write(path, hashlib.sha256(payload).digest() + payload)
        _clean(path.parent)
    except OSError as error:
        _say_once(f"compiled kernels were not kept ({error}). Free space or set {VARIABLE} to another folder.")
    except Exception as error:
        _say_once(f"this numba cannot store kernels ({type(error).__name__}: {error}); they compile anew. Report it, please.")


def remember(*parts: Any) -> None:
    """Remember that this is so, for processes of the same versions."""
    directory = folder()
    if directory is not None:
        with contextlib.suppress(OSError):
            write(directory / f".known-{_key(*parts)}", b"")


def is_remembered(*parts: Any) -> bool:
    directory = folder()
    return directory is not None and (directory / f".known-{_key(*parts)}").exists()


def write(path: Path, raw: bytes) -> None:
    """Write a file that other processes see whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".tmp-", delete=False) as file:
        try:
            file.write(raw)
            file.flush()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


_tried: dict[Path, bool] = {}


def _works(directory: Path) -> bool:
    """Whether a small kernel that another process stored here loads and gives the right number; tried once per folder and versions.

    The first process stores it, the next one tries it and leaves the outcome in a file.
    """
    if directory not in _tried:
        key = _key("trial")
        outcome = directory / f".works-{key}"
        try:
            said = outcome.read_text()
        except OSError:
            said = _try(directory / f"trial-{key}.kernel")
            if said:
                with contextlib.suppress(OSError):
                    write(outcome, said.encode())
        _tried[directory] = said != "no"
        if said == "no":
            _say_once(f"this numba does not load stored kernels rightly: they compile anew. Report it, please. (Remembered in {outcome}.)")
    return _tried[directory]


def _trial(numbers: Any) -> None:
    if len(numbers) != 2:
        raise ValueError("two numbers")
    numbers[0] = math.log(numbers[1]) + math.erf(numbers[1])


def _try(path: Path) -> str:
    """ "yes" or "no" of the stored trial kernel; empty where it had to be stored first."""
    dispatcher = numba.jit(nopython=True, nogil=True)(_trial)
    kind = numba.types.Array(numba.float64, 1, "C")
    payload = read(path)
    if payload is None:
        dispatcher.compile((kind,))
        _save(path, dispatcher.overloads[kind,])
        return ""
    numbers = np.array([0.0, 0.5])
    try:
        _rebuilt(payload, dispatcher.targetdescr.target_context).entry_point(numbers)
    except Exception:
        return "no"
    return "yes" if numbers[0] == math.log(0.5) + math.erf(0.5) else "no"


def _clean(directory: Path) -> None:
    """Drop kernels unused for a month, then the oldest until the folder is within its size."""
    entries = []
    for path in directory.iterdir():
        with contextlib.suppress(OSError):
            if path.suffix == ".kernel" or path.name.startswith((".tmp-", ".works-", ".known-")):
                status = path.stat()
                entries.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    now = time.time()
    for used, size, path in sorted(entries):
        limit = _DAY if path.name.startswith(".tmp-") else _KEEP_DAYS * _DAY
        if now - used > limit or total > _KEEP_BYTES:
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
