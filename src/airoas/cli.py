"""The command line: `airoas list`, `airoas run`, `airoas check`. Only the standard library is imported until a command runs."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from airoas import __version__
from airoas.errors import AiroasError, ModelError, OptionError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 for success, 1 for a failed check or episode, 2 for bad input."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "command"):
        parser.print_help()
        return 0
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: print(f"airoas: {message}", file=sys.stderr)
            return _obey(options)
    except OptionError as error:
        print(f"airoas: {error}", file=sys.stderr)
        return 2
    except AiroasError as error:
        print(f"airoas: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("airoas: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `airoas list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _obey(options: argparse.Namespace) -> int:
    if not getattr(options, "mode", None):
        return int(options.command(options))
    from airoas.compile import running

    with running(options.mode):
        return int(options.command(options))


class _Parser(argparse.ArgumentParser):
    """Errors in one line, with what to do."""

    def error(self, message: str) -> Any:
        print(f"airoas: {message}. See `{self.prog} --help`.", file=sys.stderr)
        raise SystemExit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="airoas", description="Planning under uncertainty: POMDP planners on models in plain Python.")
    parser.add_argument("--version", action="version", version=f"airoas {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    listing = commands.add_parser("list", help="the shipped domains and planners")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    listing.set_defaults(command=_list)

    run = commands.add_parser("run", help="run a planner on a domain", description="Run episodes and print how they went.")
    run.add_argument("domain", metavar="DOMAIN", help="a name from `airoas list`, or file.py:Model")
    run.add_argument("planner", metavar="PLANNER", help="a name from `airoas list`")
    run.add_argument("--episodes", type=_positive, default=10, metavar="N", help="how many (default 10)")
    run.add_argument("--seed", type=_whole, default=0, metavar="K", help="seed of the first episode; the others follow (default 0)")
    budget = run.add_mutually_exclusive_group()
    budget.add_argument("--seconds", type=_seconds, metavar="S", help="wall-clock time for a decision")
    budget.add_argument("--iterations", type=_positive, metavar="N", help="trials for a decision")
    run.add_argument("--jobs", type=_positive, default=1, metavar="J", help="processes (only 1 in this version)")
    run.add_argument("--filter", default="auto", metavar="NAME", help="the agent's belief update: auto, bootstrap, annealed, exact")
    run.add_argument("--particles", type=_positive, default=10_000, metavar="N", help="particles of that belief (default 10000)")
    run.add_argument("--max-steps", type=_positive, metavar="N", help="length of an episode (default: the domain's own)")
    run.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="an option of the planner")
    run.add_argument("--show", action="store_true", help="print the first episode step by step")
    run.add_argument("--mode", choices=("compiled", "debug", "interpreted"), help="debug checks array bounds; interpreted runs under pdb")
    run.add_argument("--json", action="store_true", help="end with one line of JSON")
    run.set_defaults(command=_run)

    check = commands.add_parser("check", help="look a model of yours over", description="Say what is wrong with a model.")
    check.add_argument("model", metavar="FILE.py:MODEL", help="a class decorated with @airoas.model, or a domain's name")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(command=_check)
    return parser


def _positive(text: str) -> int:
    return _whole(text, least=1)


def _whole(text: str, least: int = 0) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not least <= value < 1 << 63:
        raise argparse.ArgumentTypeError(f"{text} is out of range; give a whole number from {least} on")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time; give seconds above 0")
    return value


def _list(options: argparse.Namespace) -> int:
    from airoas.catalog import DOMAINS, FAMILIES, PLANNERS

    rows: list[dict[str, Any]] = []
    for name, make in DOMAINS.items():
        model = make(0)
        states, actions, observations = model.describe()
        meaning = " ".join((type(model).__doc__ or "").split())
        rows.append(
            {
                "name": name,
                "model": type(model).__name__,
                "states": states,
                "actions": actions,
                "observations": observations,
                "description": meaning,
            }
        )
    if options.json:
        print(json.dumps({"domains": rows, "planners": list(PLANNERS)}))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(title="domains")
    for column in ("name", "states", "actions", "observations"):
        table.add_column(column, justify="left" if column == "name" else "right", no_wrap=True)
    for row in rows:
        sizes = [f"{row[key]:,}" if isinstance(row[key], int) else str(row[key]) for key in ("states", "actions", "observations")]
        table.add_row(row["name"] + (" *" if row["name"] in FAMILIES else ""), *sizes)
    console = Console()
    console.print(table)
    console.print("* a new map for every ten episode seeds. A model of yours: file.py:Model\n")
    for kind, meaning in {row["model"]: row["description"] for row in rows}.items():
        console.print(f"[bold]{kind}[/bold]: {meaning}", highlight=False)
    console.print(f"\nplanners: {', '.join(PLANNERS)}")
    return 0


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


def _run(options: argparse.Namespace) -> int:
    from airoas.belief import exact
    from airoas.belief.filter import choose_method
    from airoas.catalog import find_domain, make_planner
    from airoas.experiments.run import Failure, run, summarise

    settings: dict[str, Any] = {}
    for item in options.settings:
        name, separator, value = item.partition("=")
        if not separator:
            raise OptionError(f"--set {item}", "write --set name=value.")
        settings[name] = value
    for budget in ("seconds", "iterations"):
        if getattr(options, budget) is not None:
            if options.planner == "random":
                warnings.warn(f"the random planner decides at once: --{budget} has no effect", stacklevel=2)
            else:
                settings[budget] = getattr(options, budget)
    if options.jobs != 1:
        raise OptionError(f"--jobs {options.jobs}", "this version runs in one process: leave --jobs out.")
    planner = make_planner(options.planner, settings)
    make_model = find_domain(options.domain)
    if choose_method(make_model(options.seed), options.filter) == "exact" and not exact.can_update(make_model(options.seed)):
        remedy = "leave --filter out; `exact` needs `exact_initial`, and `exact_update` or the enumeration group."
        raise OptionError(f"{options.domain} has no exact filter", remedy)
    seeds = range(options.seed, options.seed + options.episodes)
    results: list[Any] = []
    episodes = run(make_model, planner, seeds, filter=options.filter, particles=options.particles, max_steps=options.max_steps)
    for result in _with_progress(episodes, options):
        if options.show and not results:
            print(result)
        if isinstance(result, Failure) and not any(isinstance(earlier, Failure) for earlier in results):
            print(f"airoas: episode with seed {result.seed} failed: {result.error}", file=sys.stderr)
        results.append(result)
    summary = summarise(options.domain, options.planner, results)
    _print_summary(summary)
    if options.json:
        print(json.dumps(summary.to_dict()))
    return 1 if summary.failures else 0


def _with_progress(episodes: Iterable[Any], options: argparse.Namespace) -> Iterator[Any]:
    """The same episodes, with a live line on a terminal: done, time left, running mean."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[mean]}"),
    )
    console = Console(stderr=True)
    if not console.is_terminal:
        yield from episodes
        return
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"{options.domain} {options.planner}", total=options.episodes, mean="compiling or loading")
        returns: list[float] = []
        for result in episodes:
            if hasattr(result, "discounted_return"):
                returns.append(result.discounted_return)
            progress.update(task, advance=1, mean=f"mean {sum(returns) / len(returns):.3f}" if returns else "no episode finished yet")
            yield result


def _print_summary(summary: Any) -> None:
    from rich.console import Console
    from rich.table import Table

    print(f"{summary.planner} on {summary.domain}")
    table = Table(show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    interval = f" ± {summary.sem:.3f}" if math.isfinite(summary.sem) else ""
    if summary.episodes:
        table.add_row("discounted return, mean ± standard error", f"{summary.mean:.3f}{interval}")
    table.add_row("episodes", str(summary.episodes))
    if summary.failures:
        table.add_row("failed episodes", f"[red]{summary.failures}[/red]")
    if not summary.episodes:
        Console().print(table)
        return
    table.add_row("steps per episode", f"{summary.steps_mean:.1f}")
    table.add_row("reached a terminal state", f"{100 * summary.terminated:.0f} %")
    table.add_row("time per decision, mean (max)", f"{1e3 * summary.plan_seconds_mean:.2f} ({1e3 * summary.plan_seconds_max:.2f}) ms")
    table.add_row("time per belief update, mean", f"{1e3 * summary.update_seconds_mean:.2f} ms")
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
