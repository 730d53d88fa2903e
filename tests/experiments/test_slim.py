"""Rows without their moves: small, and in every table the same as those with them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_table import THREE, invented

from airoas.experiments.analysis.render import render
from airoas.experiments.analysis.summary import search_rates
from airoas.experiments.analysis.table import cell_summaries, differences, tables
from airoas.experiments.rows.slim import MOVES, TIMED, slim
from airoas.experiments.rows.store import EPISODES, Store, latest, pack_folder, read_rows
from airoas.experiments.run.bench import bench
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.reading import parse

KILOBYTE = 1000


def test_rows_with_and_without_their_moves_make_the_same_tables(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    spec = make_spec(THREE, episodes=8)
    full = bench(spec, tmp_path / "full", Inline, full=True)
    with Store(tmp_path / "slim") as store:
        store.describe(spec.text)
        for row in full.values():
            store.append(slim(row))
    rows = latest(tmp_path / "slim")
    assert not any(set(row) & set(MOVES) or set(row["times"]) & set(TIMED) for row in rows.values())
    assert rows == {key: slim(row) for key, row in full.items()} == {key: slim(slim(row)) for key, row in full.items()}
    assert all(rows[key]["actions"] == row["actions"] for key, row in full.items())
    kept, whole = ([one.to_dict() for one in cell_summaries(spec, each)] for each in (rows, full))
    assert kept == [record | {"overshoot_ms_p99": None} for record in whole] != whole  # no episode's percentile makes that of all
    assert differences(spec, rows) == differences(spec, full)
    assert render(tables(spec, rows), "text") == render(tables(spec, full), "text")
    assert 5 * (tmp_path / "slim" / EPISODES).stat().st_size < (tmp_path / "full" / EPISODES).stat().st_size


def test_what_was_searched_is_counted_move_by_move_and_in_all_alike(make_spec: Callable[..., Spec]) -> None:
    """Of six decisions one needs no search and one is settled by the bounds; of the five searched ones two ran out of time at once."""
    moves = {"stops": ["deadline", "deadline", "gap", "deadline", "iterations", "terminal"], "trials": [0, 5, 0, 0, 15, 0]}
    rows = list(invented(make_spec(THREE), **moves).values())
    rows.append({"id": "x", "error": "lost", "times": {}})
    assert search_rates(rows) == search_rates(map(slim, rows)) == (4.0, 0.4)
    assert str(search_rates([])) == str(search_rates(invented(make_spec(THREE), stops=["done"] * 2).values())) == "(nan, nan)"


def test_moves_that_are_wanted_stay(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    full = bench(make_spec(THREE, episodes=2), tmp_path, Inline, full=True)
    pack_folder(tmp_path, ("trials", "plan"))
    for key, row in latest(tmp_path).items():
        assert row == slim(full[key], ("trials", "plan"))
        assert (row["trials"], row["times"]["plan"]) == (full[key]["trials"], full[key]["times"]["plan"])
        assert "stops" not in row and "update" not in row["times"]


LONG: dict[str, str] = {
    "tag": "[planners.random]\n[planners.pomcp]\nseconds = 0.002\n",
    "laser-tag": "[planners.random]\n",
    "rock-sample-15-15": "[planners.random]\n",
    "light-dark-1.0": "[planners.random]\n[planners.qmdp]\n",
}


@pytest.mark.parametrize("domain", LONG)
def test_an_episode_takes_at_most_300_bytes(domain: str, tmp_path: Path) -> None:
    spec = parse(f"episodes = 30\nseed = 900000\nparticles = 200\nfilter = 'bootstrap'\ndomains = [{domain!r}]\n{LONG[domain]}")
    rows = bench(spec, tmp_path, Inline)
    assert (tmp_path / EPISODES).stat().st_size <= 0.3 * KILOBYTE * len(rows)
    assert max(len(line) for line in (tmp_path / EPISODES).read_bytes().splitlines() if line.startswith(b"[")) <= 0.3 * KILOBYTE
    assert max(row["steps"] for row in rows.values()) > 30
    pack_folder(tmp_path)
    assert latest(tmp_path) == rows


def test_lines_torn_anywhere_are_dropped_and_nothing_else(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    """Also those that later lines depend on: a run that goes on writes again what is gone, and once."""
    rows = list(bench(make_spec(THREE, episodes=2), tmp_path, Inline).values())
    whole = (tmp_path / EPISODES).read_bytes()
    kinds = [line[:1] for line in whole.splitlines()]
    assert kinds.count(b"[") == 6 and kinds.count(b"{") == 1 + 3 + 1 + 1  # columns; planners, machine, model
    ends = [end for end in range(1, len(whole) + 1) if whole[end - 1 : end] == b"\n" and whole[:end].splitlines()[-1][:1] == b"["]
    for cut in range(0, len(whole), 7):
        (tmp_path / EPISODES).write_bytes(whole[:cut])
        finished = sum(end <= cut for end in ends)
        assert read_rows(tmp_path) == rows[:finished]
        with Store(tmp_path) as store:
            for row in rows[finished:]:
                store.append(row)
        assert (tmp_path / EPISODES).read_bytes() == whole


def test_actions_that_are_no_numbers_stay_what_they_are(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    (row,) = bench(make_spec(episodes=1), tmp_path / "run", Inline).values()
    taken: list[list[Any]] = [[61] * 8, [62] * 8, [[0.25, -1.5]] * 8, ["north"] * 8]
    for number, actions in enumerate(taken):
        folder = tmp_path / str(number)
        changed = row | {"actions": actions[: row["steps"]]}
        with Store(folder) as store:
            store.describe('title = "x"\n')
            store.append(changed)
        assert read_rows(folder) == [changed]
        pack_folder(folder)
        assert read_rows(folder) == [changed]


def test_a_folder_is_gone_on_with_by_other_columns_too(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    """A later version may write other columns below those that are there."""
    spec = make_spec(episodes=3)
    rows = bench(spec, tmp_path, Inline)
    first, *lines = (tmp_path / EPISODES).read_text().splitlines()
    names = first.removeprefix('{"columns":["').removesuffix('"]}').split('","')
    turned = [f'{{"columns":{str(names[::-1]).replace(chr(39), chr(34))}}}\n']
    for line in lines:
        value = json.loads(line)
        if isinstance(value, list):
            value = [*value, *[None] * (len(names) - len(value))][::-1]
        turned.append(json.dumps(value) + "\n")
    (tmp_path / EPISODES).write_text("".join(turned))
    assert latest(tmp_path) == rows
    more = bench(make_spec(episodes=5), tmp_path, Inline)
    assert len(more) == 5 and latest(tmp_path) == more
    assert list(itertools.islice(more.values(), 3)) == list(rows.values())
