"""`airoas check`: a model of yours looked over."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from airoas.cli.arguments import add_param, read_domain
from airoas.cli.progress import status_line, watching
from airoas.compiler.garbage import seldom_collected
from airoas.errors import ModelError


def add(commands: Any) -> None:
    check = commands.add_parser("check", help="look a model of yours over", description="Say what is wrong with a model.")
    check.add_argument(
        "domain", metavar="FILE.py:MODEL", help="a class decorated with @airoas.model, an instance of one, or a domain's name"
    )
    add_param(check)
    remark = "then let AIROAS play a few episodes beside random actions, 0.1 s a decision, and say where it looks weak"
    check.add_argument("--plan", action="store_true", help=remark)
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    with seldom_collected():
        report = _report(options)
    print(report.to_json() if options.json else str(report).replace(f"({Path.cwd()}{os.sep}", "("))
    if options.plan and report.ok:
        _play(read_domain(options))
    return 0 if report.ok else 1


def _report(options: argparse.Namespace) -> Any:
    from airoas.catalog import find_domain, load_class
    from airoas.checker.check import Report, check
    from airoas.checker.diagnostics import diagnostic

    path, separator, name = options.domain.rpartition(":")
    try:
        by_class = separator and path.endswith(".py") and not options.params
        model = load_class(path, name) if by_class else find_domain(read_domain(options))(0)
    except ModelError as error:  # the decorator refused it, so that the file cannot even be imported
        return Report(name, (diagnostic(error),))
    with status_line(f"check {options.domain}") as show:
        return check(model, show)


def _play(domain: str) -> None:
    """Print what AIROAS and random actions earn, and what speaks against the former."""
    from airoas.experiments.run.preview import preview, preview_spec

    spec = preview_spec(domain, Path.cwd())
    with watching(spec) as watch:
        played = preview(spec, watch)
    for one in (played.airoas, played.random):
        print(f"{one.planner}: {one.mean:.3g} ± {one.sem:.2g} in {one.episodes} episodes")
    for sentence in played.remarks:
        print(sentence)
