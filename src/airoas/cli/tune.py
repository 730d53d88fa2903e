"""`airoas tune`: good options of a planner for a domain."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from airoas.cli.arguments import add_agent, add_budget, add_param, add_timeout, positive, read_domain, read_settings
from airoas.cli.progress import EVERY, watching

log = logging.getLogger(__name__)


def add(commands: Any) -> None:
    tune = commands.add_parser(
        "tune",
        help="search for good options of a planner",
        description="Search over the options that a planner declares, then judge the best on fresh seeds beside the defaults.",
    )
    tune.add_argument("domain", metavar="DOMAIN", help="a name from `airoas list`, or file.py:Model")
    tune.add_argument("planner", metavar="PLANNER", help="a name from `airoas list`, or file.py:Planner")
    tune.add_argument("--trials", type=positive, required=True, metavar="N", help="sets of options to try, those of earlier runs included")
    add_budget(tune)
    tune.add_argument("--out", required=True, metavar="DIR", help="keeps the search (study.db); the same command again goes on")
    tune.add_argument("--episodes", type=positive, default=50, metavar="N", help="episodes of a trial (default 50)")
    tune.add_argument("--final", type=positive, default=200, metavar="N", help="episodes on fresh seeds (default 200)")
    tune.add_argument("--jobs", type=positive, metavar="J", help="processes (default: one for each core)")
    add_timeout(tune)
    add_agent(tune)
    add_param(tune)
    tune.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="an option that stays as it is")
    tune.add_argument("--sampler", choices=("tpe", "random"), default="tpe", help="Optuna's sampler (default tpe)")
    tune.add_argument("--pruner", choices=("median", "hyperband", "none"), default="median", help="Optuna's pruner (default median)")
    tune.set_defaults(command=_tune)


def _tune(options: argparse.Namespace) -> int:
    from airoas.experiments.analysis.render import render
    from airoas.experiments.analysis.table import tables
    from airoas.experiments.run.bench import bench
    from airoas.experiments.run.pool import Pool
    from airoas.experiments.run.tune import FRESH, Tuning, tune

    fixed = read_settings(options)
    tuning = Tuning(
        domain=read_domain(options),
        planner=options.planner,
        fixed=fixed,
        episodes=options.episodes,
        filter=options.filter,
        particles=options.particles,
        max_steps=options.max_steps,
        sampler=options.sampler,
        pruner=options.pruner,
    )
    jobs = options.jobs or len(os.sched_getaffinity(0))
    folder = Path(options.out)
    try:
        with _trial_progress(options) as watch_trial:
            winner = tune(tuning, options.trials, folder, lambda: Pool(jobs, options.episode_timeout), watch_trial)
        chosen = {name: value for name, value in winner.options.items() if name not in fixed}
        print(f"best of {options.trials} trials: {' '.join(f'--set {name}={value}' for name, value in chosen.items())}")
        print(f"its mean on the seeds that chose it is {winner.value:.3f}, which is too high; on fresh seeds:")
        spec = tuning.spec({"tuned": winner.options, "default": fixed}, FRESH, options.final)
        with watching(spec) as watch:
            rows = bench(spec, folder / f"winner-{winner.number}", lambda: Pool(jobs, options.episode_timeout), watch)
    except KeyboardInterrupt:
        log.warning("stopped; the search is in %s, and the same command goes on from there", folder)
        return 130
    print(render(tables(spec, rows), "text"))
    return 0


@contextlib.contextmanager
def _trial_progress(options: argparse.Namespace) -> Iterator[Callable[[str], None]]:
    """A live line on a terminal, a line a minute elsewhere."""
    import time

    from rich.console import Console

    console = Console(stderr=True)
    last = time.monotonic()

    def log_now_and_then(doing: str) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            log.info("%s", doing)

    if not console.is_terminal:
        yield log_now_and_then
        return
    with console.status(f"tune {options.planner} on {options.domain}") as status:
        yield lambda doing: status.update(doing)
