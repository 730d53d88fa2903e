"""The command line: `airoas list`, `run`, `bench` and so on, a file for each. Only the standard library is imported until one runs."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator

from airoas import __version__
from airoas.cli import bench, check, listing, pack, plot, replay, report, run, table, tune
from airoas.cli.arguments import Parser
from airoas.compiler.messages import LOGGER, Printing
from airoas.errors import AiroasError, OptionError

COMMANDS = (listing, run, check, bench, table, plot, report, replay, tune, pack)
"""Each module has `add(commands)`, which declares its arguments and what obeys them."""
STOPPED = 130
"""What a program that Ctrl-C has ended returns."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 for success, 1 for a failed check or episode, 2 for bad input."""
    parser = Parser(prog="airoas", description="Planning under uncertainty: POMDP planners on models in plain Python.")
    parser.add_argument("--version", action="version", version=f"airoas {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for command in COMMANDS:
        command.add(commands)
    options = parser.parse_args(arguments)
    if not hasattr(options, "command"):
        parser.print_help()
        return 0
    try:
        with _logging():
            return _obey(options)
    except OptionError as error:
        print(f"airoas: {error}", file=sys.stderr)
        return 2
    except AiroasError as error:
        print(f"airoas: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("airoas: stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # `airoas list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def program() -> None:
    """`main` as a program of its own. After Ctrl-C it is gone at once: to take down an interpreter full of compiled code takes a moment."""
    code = main()
    if code == STOPPED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


@contextlib.contextmanager
def _logging() -> Iterator[None]:
    """Print what the library logs, and its warnings."""
    log, handler = LOGGER, Printing()
    level, propagate = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: log.warning("%s", message)
            yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagate


def _obey(options: argparse.Namespace) -> int:
    if not getattr(options, "mode", None):
        return int(options.command(options))
    from airoas.compiler.kernels import running

    with running(options.mode):
        return int(options.command(options))
