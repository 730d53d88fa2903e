"""Compiled kernels on disk, keyed by the content of everything they were made from.

New content is a new file, so a stale hit cannot happen. The folder is private to the user, every file carries a digest
that is verified before it is read, and whatever goes wrong with the cache costs a few seconds of compilation, said once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import stat
import sys
import tempfile
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numba
from llvmlite import __version__ as llvmlite_version
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

VARIABLE = "AIROAS_CACHE_DIR"
_KEEP_DAYS = 30
_KEEP_BYTES = 1 << 29
_DAY = 86_400
_DIGEST = 32


def _package_version() -> str:
    try:
        return version("airoas")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "source"


_VERSIONS = "-".join((_package_version(), f"numba{numba.__version__}", f"llvmlite{llvmlite_version}", sys.version.split()[0]))
_MACHINERY = hashlib.sha256(
    b"".join(Path(__file__).with_name(name).read_bytes() for name in ("rng.py", "content.py", "link.py", "native.py", "compile.py"))
).hexdigest()
"""Part of every key: a changed generator or lowering makes other machine code from the same kernel."""

_said: set[str] = set()


def _say_once(message: str) -> None:
    if message not in _said:
        _said.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def folder() -> Path | None:
    """The cache folder, made if need be; None (and a warning, once) where there is none to be had."""
    configured = os.environ.get(VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME")
    path = Path(configured).expanduser() if configured else (Path(base) if base else Path("~/.cache").expanduser()) / "airoas"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            reason = "others may write to it"
        elif os.access(path, os.W_OK | os.X_OK):
            return path
        else:
            reason = "it is not writable"
    except OSError as error:
        reason = error.strerror or str(error)
    _say_once(f"no compilation cache at {path} ({reason}): kernels compile anew in each process. Set {VARIABLE} to a folder of yours.")
    return None


class KernelCache:
    """The interface that a numba dispatcher expects of its cache, over files of our own."""

    cache_path = None

    def __init__(self, name: str, content: str | None, before_compile: Any) -> None:
        self._name = name
        self._content = content  # digest of the kernel and its options; None where it cannot be known
        self._before_compile = before_compile  # called with the argument types when there is nothing to load

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        loaded = None
        path = self._path(signature, target)
        if path is not None:
            try:
                loaded = self._load(path, target)
            except FileNotFoundError:
                pass
            except Exception:  # damaged, or written by something else: never trusted, compiled anew
                with contextlib.suppress(OSError):
                    path.unlink()
        if loaded is None:
            self._before_compile(signature)
        return loaded

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        path = self._path(signature, result.target_context)
        if path is None or result.library.has_dynamic_globals:  # addresses of this process inside
            return
        try:
            payload = dumps(result._reduce())
            raw = hashlib.sha256(payload).digest() + payload
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".tmp-", delete=False) as file:
                file.write(raw)
            Path(file.name).replace(path)
            _clean(path.parent)
        except OSError as error:
            _say_once(f"compiled kernels were not kept ({error}). Free space or set {VARIABLE} to another folder.")
        except Exception as error:
            _say_once(f"this numba cannot store kernels ({type(error).__name__}: {error}); they compile anew. Report it, please.")

    def flush(self) -> None:
        """Nothing is held in memory."""

    enable = disable = flush

    def _path(self, signature: Any, target: Any) -> Path | None:
        if self._content is None or any(not getattr(kind, "cacheable", True) for kind in signature):
            return None
        place = folder()
        if place is None:
            return None
        parts = (self._content, str(signature), str(target.codegen().magic_tuple()), _VERSIONS, _MACHINERY)
        return place / f"{self._name}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:40]}.kernel"

    @staticmethod
    def _load(path: Path, target: Any) -> CompileResult:
        raw = path.read_bytes()
        if hashlib.sha256(raw[_DIGEST:]).digest() != raw[:_DIGEST]:
            raise ValueError("damaged")
        target.refresh()  # math functions and the run-time library are linked by name: have them loaded first
        result = CompileResult._rebuild(target, *pickle.loads(raw[_DIGEST:]))
        if time.time() - path.stat().st_mtime > _DAY:
            with contextlib.suppress(OSError):
                os.utime(path)  # used: `_clean` keeps it
        return result


def _clean(place: Path) -> None:
    """Drop kernels unused for a month, then the oldest until the folder is within its size."""
    entries = []
    for path in place.iterdir():
        with contextlib.suppress(OSError):
            if path.suffix == ".kernel" or path.name.startswith(".tmp-"):
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
