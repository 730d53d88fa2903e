"""One episode once more: timed searches repeat through the trials that they had finished."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from airoas.cli import main
from airoas.experiments.rows.store import EPISODES, Store, latest
from airoas.experiments.run.bench import bench
from airoas.experiments.run.play import play
from airoas.experiments.run.pool import Inline
from airoas.experiments.run.replay import differences
from airoas.experiments.spec.cells import Spec

TIMED = "[planners.a]\nplanner = 'tiny.py:Searching'\nseconds = 0.0005\n"


@pytest.fixture
def folder(make_spec: Callable[..., Spec], tmp_path: Path) -> Path:
    bench(make_spec(TIMED, episodes=4), tmp_path, Inline, full=True)
    return tmp_path


def test_a_timed_episode_repeats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = latest(folder)
    assert len({count for row in rows.values() for count in row["trials"]}) > 2  # trials differ from move to move
    for key in rows:
        assert main(["replay", str(folder), key]) == 0
        said = capsys.readouterr().out
        assert "the same as recorded, to the last bit" in said
        assert "belief mean" in said
    assert latest(folder) == rows  # replaying writes nothing


def test_the_beginning_of_an_id_is_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(folder), next(iter(latest(folder)))[:8]]) == 0
    capsys.readouterr()
    assert main(["replay", str(folder), "zz"]) == 2
    assert "no episode of" in capsys.readouterr().err
    assert main(["replay", str(folder), ""]) == 2
    assert "4 episodes" in capsys.readouterr().err
    assert main(["replay", str(folder / "nowhere"), "aa"]) == 2


def test_a_timed_episode_without_its_moves_is_refused_and_one_of_iterations_repeats(
    make_spec: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = bench(make_spec(TIMED, episodes=1), tmp_path / "timed", Inline)
    assert main(["replay", str(tmp_path / "timed"), *rows]) == 2
    assert f"episode {next(iter(rows))} was timed, and its row does not have the trials of every move. Run it with --full" in (
        capsys.readouterr().err
    )
    assert main(["report", str(tmp_path / "timed"), *rows]) == 2  # the page of an episode repeats it
    assert "Run it with --full" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "timed"), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "its moves were not kept" in page and f"airoas report {tmp_path / 'timed'}" not in page
    rows = bench(make_spec(episodes=1), tmp_path / "counted", Inline)
    assert "trials" not in next(iter(rows.values()))
    assert main(["replay", str(tmp_path / "counted"), *rows]) == 0
    assert "the same as recorded, to the last bit" in capsys.readouterr().out


def test_rows_of_another_version_are_told_from_those_that_are_sure_to_repeat(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(iter(latest(folder).values()))
    assert main(["replay", str(folder), row["id"]]) == 0
    assert "recorded by airoas" not in capsys.readouterr().out
    (folder / EPISODES).write_text(json.dumps(row | {"version": "0.0.1"}) + "\n")
    assert main(["replay", str(folder), row["id"]]) == 0
    assert "recorded by airoas 0.0.1, and this is" in (said := capsys.readouterr().out)
    assert "only rows of the same version are sure to repeat" in said


def test_what_differs_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(iter(latest(folder).values()))
    changed = row | {"trials": [row["trials"][0] + 1, *row["trials"][1:]]}
    (folder / EPISODES).write_text(json.dumps(changed) + "\n")
    assert main(["replay", str(folder), row["id"]]) == 1
    assert "differ from move 0 on" in capsys.readouterr().out


def test_a_move_without_a_finished_trial_takes_the_recorded_action(folder: Path) -> None:
    row = next(iter(latest(folder).values()))
    cut = row | {"trials": [0] * row["steps"], "stops": ["deadline"] * row["steps"]}
    again = play({key: row[key] for key in row} | {"replay": cut})
    assert differences(cut, again) == []
    assert again["notes"] == {"replayed": "the recorded action"}


def test_a_failed_episode_fails_again(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from airoas.experiments.spec.reading import parse

    bench(parse("domains = ['tiny.py:Broken']\nepisodes = 1\nparticles = 10\n[planners.random]\n", folder=tiny), tmp_path, Inline)
    (key,) = latest(tmp_path)
    assert main(["replay", str(tmp_path), key]) == 0
    assert "ValueError: no such step" in capsys.readouterr().out
    with Store(tmp_path) as store:
        store.append(store.rows[key] | {"error": "something else"})
    assert main(["replay", str(tmp_path), key]) == 1
    assert "recorded: something else" in capsys.readouterr().out
