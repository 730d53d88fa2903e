"""`airoas report`: results, or one episode with its beliefs and search trees, as an HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from airoas.cli.arguments import add_adjusted, add_param, read_domain
from airoas.errors import OptionError


def add(commands: Any) -> None:
    report = commands.add_parser(
        "report",
        help="results, or one episode step by step, as a web page",
        description="Write one HTML file that opens without network: the results of a folder, or one of its episodes, which is run once "
        "more to see its beliefs and search trees.",
    )
    report.add_argument(
        "folder", metavar="DIR", help="what `bench` or `run` got as --out; DIR/ID is an episode of it; or a log that Agent(log=...) wrote"
    )
    report.add_argument("id", metavar="ID", nargs="?", help="an episode's `id`, or its beginning; a timed one needs a run with --full")
    report.add_argument("-o", "--out", metavar="FILE", help="(default report.html, or episode-ID.html with the first of an id)")
    report.add_argument("--domain", metavar="DOMAIN", help="of a log: the model of its agent, a name or file.py:Model")
    add_param(report)
    add_adjusted(report)
    report.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    from airoas.cli.progress import status_line
    from airoas.experiments.rows.store import SPEC, find
    from airoas.report import episode, folder

    path, key = Path(options.folder), options.id
    if path.is_file():
        return _log_report(path, options)
    if key is None and not path.is_dir() and path.parent.joinpath(SPEC).exists():
        path, key = path.parent, path.name
    with status_line("report") as show:
        if key is None:
            name, html = "report.html", folder.report(path, options.adjusted)
        else:
            row = find(path, key)
            name, html = f"episode-{row['id'][:8]}.html", episode.replay(row, show)
    return _write(options.out or name, html)


def _log_report(path: Path, options: argparse.Namespace) -> int:
    from airoas.catalog import find_domain
    from airoas.cli.progress import status_line
    from airoas.report import robot

    if not options.domain:
        raise OptionError(f"{path} is a log, and does not hold its model", "give --domain file.py:Model, the model of the agent.")
    with status_line("report") as show:
        html = robot.report(path, find_domain(read_domain(options))(0), show)
    return _write(options.out or f"{path.stem}.html", html)


def _write(out: str, html: str) -> int:
    try:
        Path(out).write_text(html, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{out} cannot be written ({error.strerror})", "give -o another file.") from None
    print(out)
    return 0
