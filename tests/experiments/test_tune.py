"""Tuning: the better options are found, a stopped search goes on, and the winner is judged on fresh seeds."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from airoas.cli import main
from airoas.errors import OptionError
from airoas.experiments.rows.store import latest
from airoas.experiments.run.pool import Inline
from airoas.experiments.run.tune import FRESH, SEEDS, Tuning, tune

optuna = pytest.importorskip("optuna", reason="needs the extra `tune`")
SETTINGS: dict[str, Any] = {"filter": "bootstrap", "particles": 200}


def tuning(tiny: Path, episodes: int = 20, **more: Any) -> Tuning:
    return Tuning(f"{tiny}/tiny.py:Walk", f"{tiny}/tiny.py:Searching", {"iterations": 3}, episodes, **SETTINGS, **more)


def test_the_better_options_win(tiny: Path, tmp_path: Path) -> None:
    winner = tune(tuning(tiny), 12, tmp_path, Inline, lambda doing: None)
    assert winner.options["clever"] > 0.5
    assert winner.options["iterations"] == 3
    study = optuna.load_study(study_name="airoas", storage=f"sqlite:///{tmp_path / 'study.db'}")
    assert len(study.trials) == 12
    assert study.best_value == winner.value


def test_a_stopped_search_goes_on(tiny: Path, tmp_path: Path) -> None:
    """Stopped in the midst of a trial; the trials that were done count, and none is suggested again."""
    said = []

    def stop(doing: str) -> None:
        said.append(doing)
        if doing.startswith("trial 4"):
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        tune(tuning(tiny, episodes=5), 6, tmp_path, Inline, stop)
    tune(tuning(tiny, episodes=5), 6, tmp_path, Inline, said.append)
    study = optuna.load_study(study_name="airoas", storage=f"sqlite:///{tmp_path / 'study.db'}")
    states = [trial.state.name for trial in study.trials]
    assert states.count("FAIL") == 1
    assert len(states) == 7
    values = [trial.params["clever"] for trial in study.trials]
    assert len(set(values)) == 7
    before = len(study.trials)
    tune(tuning(tiny, episodes=5), 6, tmp_path, Inline, said.append)  # nothing left to do
    assert len(study.get_trials()) == before


def test_another_search_in_the_folder_is_refused(tiny: Path, tmp_path: Path) -> None:
    tune(tuning(tiny, episodes=2), 1, tmp_path, Inline, lambda doing: None)
    with pytest.raises(OptionError, match=r"another search .episodes differ"):
        tune(tuning(tiny, episodes=3), 1, tmp_path, Inline, lambda doing: None)


def change(file: Path, before: str, after: str, when: int) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    os.utime(file, (when, when))  # another time, whatever the file system's grain


def test_a_search_is_of_one_model(tiny: Path, tmp_path: Path) -> None:
    """An edit while it runs ends it, and one in between is refused; put back as it was, it goes on without the trial that was hit."""
    own, folder, said = tmp_path / "tiny.py", tmp_path / "out", []
    own.write_text((tiny / "tiny.py").read_text())

    def edit(doing: str) -> None:
        said.append(doing)
        if doing.startswith("trial 2") and "n = 3" in doing:
            change(own, "10.0 if s[0] == 0", "20.0 if s[0] == 0", when=1)

    with pytest.raises(OptionError, match=r"tiny\.py:Walk has changed since the search was begun.*Put it back"):
        tune(tuning(tmp_path, episodes=5), 3, folder, Inline, edit)
    with pytest.raises(OptionError, match=r"tiny\.py:Walk has changed since .*out was begun.*Put it back"):
        tune(tuning(tmp_path, episodes=5), 3, folder, Inline, said.append)
    with pytest.raises(OptionError, match=r"another search .episodes, models differ"):
        tune(tuning(tmp_path, episodes=6), 3, folder, Inline, said.append)
    change(own, "20.0 if s[0] == 0", "10.0 if s[0] == 0", when=2)
    tune(tuning(tmp_path, episodes=5), 3, folder, Inline, said.append)
    study = optuna.load_study(study_name="airoas", storage=f"sqlite:///{folder / 'study.db'}")
    assert [trial.state.name for trial in study.trials].count("FAIL") == 1 and len(study.trials) == 4


@pytest.mark.parametrize(("sampler", "pruner"), [("random", "hyperband"), ("tpe", "none")])
def test_other_samplers_and_pruners(sampler: str, pruner: str, tiny: Path, tmp_path: Path) -> None:
    tune(tuning(tiny, episodes=3, sampler=sampler, pruner=pruner), 2, tmp_path, Inline, lambda doing: None)


def test_trials_that_all_fail_end_the_tuning(tiny: Path, tmp_path: Path) -> None:
    broken = Tuning(f"{tiny}/tiny.py:Broken", f"{tiny}/tiny.py:Searching", {"iterations": 3}, 3, **SETTINGS)
    with pytest.raises(OptionError, match="trials in a row failed: ValueError: no such step"):
        tune(broken, 10, tmp_path, Inline, lambda doing: None)


def test_the_command_judges_the_winner_on_fresh_seeds(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"tune {tiny}/tiny.py:Walk {tiny}/tiny.py:Searching --trials 3 --iterations 3 --episodes 5 --final 6 --particles 200"
    assert main([*command.split(), "--filter", "bootstrap", "--out", str(tmp_path), "--jobs", "2"]) == 0
    said = capsys.readouterr().out
    assert "best of 3 trials: --set clever=" in said
    assert "tuned - default" in said
    (folder,) = tmp_path.glob("winner-*")
    seeds = {row["seed"] for row in latest(folder).values()}
    assert seeds == set(range(FRESH, FRESH + 6))
    assert SEEDS not in seeds


def test_a_planner_without_a_search_space_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "tiger", "random", "--trials", "3", "--out", str(tmp_path / "out")]) == 2
    assert "planner 'random' declares no SEARCH_SPACE" in capsys.readouterr().err
