"""`airoas replay`: one episode of a folder once more, and whether it came out the same."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, cast

from airoas.cli.arguments import add_budget, add_mode, add_param, read_domain, read_settings
from airoas.errors import OptionError


def add(commands: Any) -> None:
    replay = commands.add_parser(
        "replay",
        help="repeat one episode of a folder",
        description="Repeat an episode; a timed search gets the trials that it had finished then, for which it has to be run with --full. "
        "Episodes of another version of airoas may come out in another way. Of a robot's log: what a planner would decide where the robot "
        "did what it did.",
    )
    replay.add_argument("folder", metavar="DIR", help="what `bench` or `run` got as --out; or a log that Agent(log=...) wrote")
    remark = "`id` of an episode (`airoas report DIR` names some), or its beginning; for a log, a planner's name or file.py:Planner"
    replay.add_argument("id", metavar="ID", help=remark)
    replay.add_argument("--domain", metavar="DOMAIN", help="of a log: the model of its agent, a name or file.py:Model")
    replay.add_argument("--filter", metavar="NAME", help="of a log: its filter, where that is file.py:Filter")
    add_param(replay)
    add_budget(replay)
    replay.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="an option of that planner")
    add_mode(replay)
    replay.set_defaults(command=_replay)


def _replay(options: argparse.Namespace) -> int:
    from airoas.experiments.rows.store import find
    from airoas.experiments.rows.types import Task, episode_spec
    from airoas.experiments.run.play import play
    from airoas.experiments.run.replay import check_moves, differences, other_version

    folder = Path(options.folder)
    if folder.is_file():
        return _retry(folder, options)
    row = find(folder, options.id)
    check_moves(row)
    if remark := other_version(row):
        print(f"airoas: {remark}")
    task = cast(Task, {**episode_spec(row), "mode": options.mode, "show": row["id"]})
    if "error" not in row:
        task["replay"] = row
    again = play(task)
    if "shown" in again:
        print(again["shown"])
    if again.get("model", row.get("model")) != row.get("model", again.get("model")):
        print("airoas: the model has changed since")
    departed = differences(row, again)
    for sentence in departed:
        print(f"airoas: {sentence}")
    if "error" in again and not departed:
        print(again["error"])
    if not departed:
        print("the same as recorded, to the last bit")
    return 1 if departed else 0


def _retry(path: Path, options: argparse.Namespace) -> int:
    """A robot's log, with another planner."""
    from airoas.catalog import find_domain, find_filter, make_planner
    from airoas.compiler.kernels import current_mode, running
    from airoas.experiments.run.retry import retry
    from airoas.logbook import read_log

    if not options.domain:
        raise OptionError(f"{path} is a log, and does not hold its model", "give --domain file.py:Model, the model of the agent.")
    log = read_log(path)
    options.planner = options.id
    planner = make_planner(options.planner, read_settings(options))
    model = find_domain(read_domain(options))(0)
    if str(model) != log.about.get("model"):
        print(f"airoas: the log is of {log.about.get('model')}, and this is {model}")
    with running(options.mode or current_mode()):
        print(retry(log, model, planner, find_filter(options.filter or log.about["filter"])).text())
    return 0
