"""What the library says goes through `logging`; here is the form that it has where nobody else gives it one."""

from __future__ import annotations

import logging
import sys

LOGGER = logging.getLogger("airoas")


class Printing(logging.Handler):
    """On standard error as it is at that moment: a live display may have taken its place."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"airoas: {record.getMessage()}", file=sys.stderr, flush=True)


class LastResort(Printing):
    """The same in place of `logging.lastResort`, which does not say whose words these are: silent where there is another handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        return LOGGER.handlers == [self] and not (LOGGER.propagate and logging.getLogger().handlers)


LOGGER.addHandler(LastResort(logging.WARNING))
