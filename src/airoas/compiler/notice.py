"""One line for whoever waits while kernels are compiled.

It goes through `logging`, which writes to standard error unless told otherwise (`messages.py`): on a terminal, in a pipe and in a
notebook.
"""

from __future__ import annotations

import logging
import threading
import time

from airoas.compiler import messages  # noqa: F401  (the form of what is said)

QUIET = 2.0
"""Seconds of compilation without a word."""
PAUSE = 2.0
"""Seconds without compilation after which the next wait is one of its own."""
AGAIN = 300.0
"""Seconds after which the same is said once more."""
KEPT, NOT_KEPT = "kept on disk for later runs of the same code", "it cannot be kept on disk, and a later run compiles it again"
_log = logging.getLogger(__name__)


class Notice:
    """Counts the time of compilation, and says so once in a wait; of the same model not in every wait."""

    def __init__(self) -> None:
        self.is_open = False
        """Whether a kernel is being compiled."""
        self._timer: threading.Timer | None = None
        self._spent = self._begun = self._ended = 0.0
        self._told = False
        self._said: dict[str, float] = {}  # when what was said last

    def begin(self) -> None:
        """A kernel that is in no cache will be compiled. How long it takes nobody knows beforehand."""
        if self.is_open:
            return  # what it calls is part of it
        self.is_open, self._begun = True, time.monotonic()
        if self._begun - self._ended > PAUSE:
            self._spent, self._told = 0.0, False

    def announce(self, what: str, is_kept: bool) -> None:
        """Say so if it takes long. what: the model that the kernel is compiled for, once its methods are known to compile: none is
        refused after this; empty where all models share the kernel."""
        if self._told or self._timer is not None:
            return
        quiet = QUIET - self._spent - (time.monotonic() - self._begun)
        self._timer = threading.Timer(max(0.0, quiet), self._say, (what, is_kept))
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._ended = time.monotonic()
        self._spent += self._ended - self._begun
        self.is_open = False

    def _say(self, what: str, is_kept: bool) -> None:
        said = f"compiling {what or 'what all models share'}: {KEPT if is_kept else NOT_KEPT}"
        now = time.monotonic()
        if now - self._said.get(said, -AGAIN) < AGAIN:
            return
        self._said[said], self._told = now, True
        _log.warning("%s", said)


notice = Notice()
