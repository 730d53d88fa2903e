"""`airoas check`: a model of yours looked over."""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airoas.cli.progress import status_line, watching
from airoas.errors import ModelError

if TYPE_CHECKING:
    from airoas.experiments.rows.types import Row

EPISODES = 20
"""Of each planner that plays in `--plan`."""


def add(commands: Any) -> None:
    check = commands.add_parser("check", help="look a model of yours over", description="Say what is wrong with a model.")
    check.add_argument("model", metavar="FILE.py:MODEL", help="a class decorated with @airoas.model, or a domain's name")
    remark = "then let AIROAS play a few episodes beside random actions, 0.1 s a decision, and say where it looks weak"
    check.add_argument("--plan", action="store_true", help=remark)
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(command=_check)


def _check(options: argparse.Namespace) -> int:
    from airoas.catalog import find_domain, load_class
    from airoas.checker.check import Report, check
    from airoas.checker.diagnostics import diagnostic

    path, separator, name = options.model.rpartition(":")
    try:
        model = load_class(path, name) if separator and path.endswith(".py") else find_domain(options.model)(0)
    except ModelError as error:  # the decorator refused it, so that the file cannot even be imported
        report = Report(name, (diagnostic(error),))
    else:
        with status_line(f"check {options.model}") as show:
            report = check(model, show)
    print(report.to_json() if options.json else str(report).replace(f"({Path.cwd()}{os.sep}", "("))
    if options.plan and report.ok:
        _play(options.model)
    return 0 if report.ok else 1


def _play(domain: str) -> None:
    """Print what AIROAS and random actions earn, and what speaks against the former."""
    from airoas.experiments.analysis.summary import summarise
    from airoas.experiments.analysis.weakness import no_better, weaknesses
    from airoas.experiments.run.pool import Inline, run
    from airoas.experiments.spec.building import build

    planners = {"airoas": {"seconds": 0.1, "learn_seconds": 10.0}, "random": {}}
    spec = build({"title": f"check {domain}", "episodes": EPISODES, "domains": [domain], "planners": planners}, folder=Path.cwd())
    rows: dict[str, Row] = {}
    with watching(spec) as watch, contextlib.closing(Inline()) as running:
        watch(None, rows)
        for row in run(spec.tasks(), running):
            rows[row["id"]] = row
            watch(row, rows)
    ours, random = (summarise(domain, name, [row for row in rows.values() if row["planner"] == name]) for name in planners)
    for one in (ours, random):
        print(f"{one.planner}: {one.mean:.3g} ± {one.sem:.2g} in {one.episodes} episodes")
    for sentence in (*weaknesses(ours), *no_better(ours, random)):
        print(sentence)
