"""`airoas replay`: one episode of a folder once more, and whether it came out the same."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, cast

from airoas.cli.arguments import add_mode


def add(commands: Any) -> None:
    replay = commands.add_parser(
        "replay",
        help="repeat one episode of a folder",
        description="Repeat an episode; a timed search gets the trials that it had finished then, for which it has to be run with --full. "
        "Episodes of another version of airoas may come out in another way.",
    )
    replay.add_argument("folder", metavar="DIR", help="what `bench` or `run` got as --out")
    replay.add_argument("id", metavar="ID", help="`id` of an episode (`airoas report DIR` names some), or its beginning")
    add_mode(replay)
    replay.set_defaults(command=_replay)


def _replay(options: argparse.Namespace) -> int:
    from airoas.experiments.rows.store import find
    from airoas.experiments.rows.types import Task, episode_spec
    from airoas.experiments.run.play import play
    from airoas.experiments.run.replay import check_moves, differences, other_version

    folder = Path(options.folder)
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
