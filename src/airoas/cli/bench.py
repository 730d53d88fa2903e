"""`airoas bench`: a whole experiment, resumable, on this machine or a cluster."""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airoas.cli.arguments import add_full, add_timeout, positive
from airoas.cli.progress import watching
from airoas.errors import OptionError

if TYPE_CHECKING:
    from airoas.experiments.run.pool import Runner
    from airoas.experiments.spec.cells import Spec

log = logging.getLogger(__name__)


def add(commands: Any) -> None:
    bench = commands.add_parser(
        "bench",
        help="run an experiment: planners on domains",
        description="Run an experiment, or what is missing of it; print its table, draw its plots. Ctrl-C stops; the same command goes on.",
    )
    bench.add_argument(
        "experiment", metavar="NAME", help="paper, sweep, ablation, literature, strangers, continuous, or a .toml file of yours"
    )
    bench.add_argument("--out", required=True, metavar="DIR", help="the folder for spec.toml and episodes.jsonl")
    bench.add_argument("--jobs", type=positive, metavar="J", help="processes (default: one for each core); episodes at once on a GPU")
    scale = "smaller budgets and fewer episodes: quick, a factor, or a factor for each, as in episodes=0.1,seconds=0.02"
    bench.add_argument("--scale", default="", metavar="quick|X", help=scale)
    bench.add_argument("--only", default="", metavar="PART", help="the parts whose name begins so")
    bench.add_argument("--planners", default="", metavar="NAMES", help="some of its planners, by their names in the file: airoas,random")
    bench.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: a GPU makes the decisions, of many episodes at once")
    bench.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler, tcp://..., or `local` to start one here")
    bench.add_argument("--retry", action="store_true", help="run failed episodes again")
    add_timeout(bench)
    add_full(bench)
    bench.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> int:
    from airoas.experiments.analysis.plot import draw
    from airoas.experiments.analysis.render import render
    from airoas.experiments.analysis.table import tables
    from airoas.experiments.run.bench import bench
    from airoas.experiments.spec.reading import read

    spec = read(options.experiment, options.scale, options.only, [name.strip() for name in options.planners.split(",") if name.strip()])
    cores = len(os.sched_getaffinity(0))
    jobs = options.jobs or cores
    on_gpu = options.device == "cuda"
    if on_gpu and (options.cluster or options.episode_timeout):
        raise OptionError("--device cuda plays in this process", "leave --cluster and --episode-timeout out.")
    if not options.cluster and not on_gpu and jobs > cores and any("seconds" in cell.options for cell in spec.cells):
        log.warning("%d jobs share %d cores: searches that are timed get less done", jobs, cores)
    if options.cluster and options.episode_timeout:
        raise OptionError("--episode-timeout is for processes of this machine", "leave it out, or leave --cluster out.")

    def runner() -> Runner:
        if on_gpu:
            from airoas.experiments.run.lockstep import MOST, Lockstep

            return Lockstep(spec.tasks(), options.jobs or MOST)
        return _runner(spec, options.cluster, jobs, options.episode_timeout)

    try:
        with watching(spec) as watch:
            rows = bench(spec, Path(options.out), runner, watch, options.retry, full=options.full)
    except KeyboardInterrupt:
        log.warning("stopped; what is done is in %s, and the same command goes on from there", options.out)
        return 130
    print(render(tables(spec, rows), "text"))
    try:
        for file in draw(spec, rows, Path(options.out) / "plots"):
            print(file)
    except OptionError as missing:
        log.warning("no plots: %s", missing)
    return 1 if any("error" in rows[key] for cell in spec.cells for key in cell.ids) else 0


def _runner(spec: Spec, address: str | None, jobs: int, timeout: float | None) -> Runner:
    if address:
        from airoas.experiments.run.cluster import Cluster

        return Cluster(address, jobs)
    from airoas.experiments.run.pool import Pool

    return Pool(min(jobs, len(spec.tasks())), timeout)
