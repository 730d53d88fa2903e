"""`airoas check`: a model of yours looked over."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from airoas.errors import ModelError


def add(commands: Any) -> None:
    check = commands.add_parser("check", help="look a model of yours over", description="Say what is wrong with a model.")
    check.add_argument("model", metavar="FILE.py:MODEL", help="a class decorated with @airoas.model, or a domain's name")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from airoas.catalog import find_domain, load_class
    from airoas.checking import Report, check
    from airoas.findings import finding

    path, separator, name = options.model.rpartition(":")
    try:
        model = load_class(path, name) if separator and path.endswith(".py") else find_domain(options.model)(0)
    except ModelError as error:  # the decorator refused it, so that the file cannot even be imported
        report = Report(name, (finding(error),))
    else:
        with _saying(f"check {options.model}") as say:
            report = check(model, say)
    print(report.to_json() if options.json else str(report).replace(f"({Path.cwd()}{os.sep}", "("))
    return 0 if report.ok else 1


@contextlib.contextmanager
def _saying(what: str) -> Iterator[Callable[[str], None]]:
    """A live line on a terminal's standard error that says what is being done; silent elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda doing: None
        return
    with console.status(what) as status:
        yield lambda doing: status.update(f"{what}: {doing}")
