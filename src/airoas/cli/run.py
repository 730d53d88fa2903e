"""`airoas run`: episodes of one planner on one domain, and how they went."""

from __future__ import annotations

import argparse
import json
import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airoas.cli.arguments import (
    add_agent,
    add_budget,
    add_full,
    add_mode,
    add_param,
    add_timeout,
    positive,
    read_domain,
    read_settings,
    whole,
)
from airoas.cli.progress import watching
from airoas.errors import OptionError

if TYPE_CHECKING:
    from airoas.experiments.analysis.summary import Summary
    from airoas.experiments.rows.types import Extra
    from airoas.experiments.spec.cells import Spec

log = logging.getLogger(__name__)


def add(commands: Any) -> None:
    run = commands.add_parser("run", help="run a planner on a domain", description="Run episodes and print how they went.")
    run.add_argument(
        "domain", metavar="DOMAIN", help="a name from `airoas list`, or file.py:Model; an instance in a file will do, file.py:INSTANCE"
    )
    run.add_argument("planner", metavar="PLANNER", help="a name from `airoas list`, or file.py:Planner")
    run.add_argument("--episodes", type=positive, default=10, metavar="N", help="how many (default 10)")
    run.add_argument("--seed", type=whole, default=0, metavar="K", help="seed of the first episode; the others follow (default 0)")
    add_budget(run)
    run.add_argument("--jobs", type=positive, default=1, metavar="J", help="processes (default 1)")
    run.add_argument("--out", metavar="DIR", help="keep the episodes in this folder; the same command again goes on from there")
    add_timeout(run)
    add_full(run)
    add_agent(run)
    add_param(run)
    run.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="an option of the planner")
    remark = "for a policy to be learned at the first use of a model without hints, or if more are given than before (default 10; 0: none)"
    run.add_argument("--learn", type=float, default=10.0, metavar="S", help=f"seconds {remark}")
    run.add_argument("--show", action="store_true", help="print the first episode step by step")
    add_mode(run)
    run.add_argument("--json", action="store_true", help="end with one line of JSON")
    run.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from airoas.experiments.analysis.summary import summarise
    from airoas.experiments.analysis.weakness import unended, weaknesses
    from airoas.experiments.run.bench import bench, in_memory
    from airoas.experiments.run.pool import Inline, Pool, Runner
    from airoas.experiments.run.preview import may_end

    if options.full and not options.out:
        raise OptionError("--full says what to keep, and nothing is kept", "give a folder with --out.")
    spec = _spec(options)
    tasks = spec.tasks()
    extra: Extra = {"mode": options.mode, "show": tasks[0]["id"] if options.show else None}

    def runner() -> Runner:
        timeout = options.episode_timeout  # a process of its own can be ended
        return Inline() if options.jobs == 1 and timeout is None else Pool(min(options.jobs, len(tasks)), timeout)

    with watching(spec) as watch:
        if options.out:
            rows = bench(spec, Path(options.out), runner, watch, extra=extra, full=options.full)
        else:
            rows = in_memory(spec, runner, watch, extra)
    played = [rows[task["id"]] for task in tasks]
    summary = summarise(spec.cells[0].domain, options.planner, played)
    _print_summary(summary)
    without_end = unended(summary.planner, summary.domain, played, played, not summary.terminated and may_end(spec))
    for remark in [*weaknesses(summary), *without_end]:
        log.warning("%s", remark)
    if options.json:
        print(json.dumps(summary.to_dict()))
    return 1 if summary.failures else 0


def _spec(options: argparse.Namespace) -> Spec:
    """The experiment of one cell that the arguments stand for."""
    from airoas.catalog import options_of
    from airoas.experiments.spec.building import build

    domain = read_domain(options)
    table: dict[str, Any] = {"title": f"{options.planner} on {domain}"}
    table |= {key: getattr(options, key) for key in ("episodes", "seed", "filter", "particles")}
    table |= {"max_steps": options.max_steps} if options.max_steps else {}
    settings = read_settings(options)
    if "learn_seconds" in options_of(options.planner):
        settings.setdefault("learn_seconds", options.learn)
    table |= {"domains": [domain], "planners": {options.planner: settings}}
    return build(table, folder=Path.cwd())


def _print_summary(summary: Summary) -> None:
    from rich.console import Console
    from rich.table import Table

    print(f"{summary.planner} on {summary.domain}")
    table = Table(show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    interval = f" ± {summary.sem:.3f}" if math.isfinite(summary.sem) else ""
    if summary.episodes:
        table.add_row("discounted return, mean ± standard error", f"{summary.mean:.3f}{interval}")
    table.add_row("episodes", f"{summary.episodes}{f' on {summary.maps} maps' if summary.maps else ''}")
    if summary.failures:
        table.add_row("failed episodes", f"[red]{summary.failures}[/red]")
    if not summary.episodes:
        Console().print(table)
        return
    table.add_row("steps per episode", f"{summary.steps_mean:.1f}")
    table.add_row("reached a terminal state (last reward > 0)", f"{100 * summary.terminated:.0f} ({100 * summary.success:.0f}) %")
    table.add_row("time per decision, mean (max)", f"{1e3 * summary.plan_seconds_mean:.2f} ({1e3 * summary.plan_seconds_max:.2f}) ms")
    table.add_row("time per belief update, mean", f"{1e3 * summary.update_seconds_mean:.2f} ms")
    if math.isfinite(summary.trials_mean):
        table.add_row("trials per decision, mean", f"{summary.trials_mean:.0f}")
    Console().print(table)
