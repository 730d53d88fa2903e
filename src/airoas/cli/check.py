"""`airoas check`: a model of yours looked over."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from airoas.cli.arguments import add_param, read_domain
from airoas.cli.progress import status_line
from airoas.errors import ModelError


def add(commands: Any) -> None:
    check = commands.add_parser("check", help="look a model of yours over", description="Say what is wrong with a model.")
    check.add_argument(
        "domain", metavar="FILE.py:MODEL", help="a class decorated with @airoas.model, an instance of one, or a domain's name"
    )
    add_param(check)
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from airoas.catalog import find_domain, load_class
    from airoas.checker.check import Report, check
    from airoas.checker.diagnostics import diagnostic

    path, separator, name = options.domain.rpartition(":")
    try:
        by_class = separator and path.endswith(".py") and not options.params
        model = load_class(path, name) if by_class else find_domain(read_domain(options))(0)
    except ModelError as error:  # the decorator refused it, so that the file cannot even be imported
        report = Report(name, (diagnostic(error),))
    else:
        with status_line(f"check {options.domain}") as show:
            report = check(model, show)
    print(report.to_json() if options.json else str(report).replace(f"({Path.cwd()}{os.sep}", "("))
    return 0 if report.ok else 1
