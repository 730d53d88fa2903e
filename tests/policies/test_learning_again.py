"""What is kept of learning: more time learns more and less time nothing, processes learn once, a kill leaves nothing half."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airoas.bounds import store
from airoas.catalog import find_domain
from airoas.cli import main
from airoas.planners import FittedQ
from airoas.policies import learned

MODEL = find_domain("bare-light-dark-1.0")(0)
LEARNING = "learning a policy for BareLightDark"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    monkeypatch.setattr(learned, "_known", {})
    monkeypatch.setattr(learned, "ROUNDS", (200, 200))


def test_runs_learn_where_more_time_is_given(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """0: nothing. A moment: one round. As long, in another process: nothing more. For longer: the other round, once."""
    rounds = []
    for planner, seconds, learns in [
        ("fitted-q", "0", False),
        ("fitted-q", "1e-6", True),
        ("fitted-q", "1e-6", False),
        ("fitted-q", "1000", True),
        ("fitted-q", "2000", False),
        ("airoas", "1000", False),
    ]:
        monkeypatch.setattr(learned, "_known", {})
        options = ["--iterations", "3", "--set", "policy=always"] if planner == "airoas" else []
        command = ["run", "bare-light-dark-1.0", planner, "--episodes", "1", "--max-steps", "2", "--particles", "50", "--learn", seconds]
        assert main([*command, *options]) == 0
        assert (LEARNING in capsys.readouterr().err) == learns
        known = learned.find_learned(MODEL)
        rounds.append(known.rounds if known else 0)
    assert rounds == [0, 1, 1, 2, 2, 2]


def test_learning_more_gives_what_learning_at_once_gives() -> None:
    learned.prepare(MODEL, 1e-6)
    more, at_once = learned.prepare(MODEL, 1000.0), learned.learn(MODEL, 1000.0)
    assert (more.rounds, more.digest, more.returns) == (2, at_once.digest, at_once.returns)


def test_a_busy_machine_takes_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """More seconds that are not enough for another round leave what was known, and are not spent again."""
    known = learned.prepare(MODEL, 1e-6)
    assert learned.prepare(MODEL, 1e-5).digest == known.digest
    monkeypatch.setattr(learned, "learn", lambda *_: pytest.fail("it was learned again"))
    assert learned.prepare(MODEL, 1e-5).digest == known.digest


def test_what_another_process_learned_meanwhile_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    learned.prepare(MODEL, 1e-6)
    here: dict[str, Any] = dict(learned._known)
    more = learned.prepare(MODEL, 1000.0)
    monkeypatch.setattr(learned, "_known", here)  # as in a process that has not heard of it
    monkeypatch.setattr(learned, "learn", lambda *_: pytest.fail("it was learned again"))
    assert learned.prepare(MODEL, 1000.0).digest == more.digest


def test_a_policy_from_a_file_is_not_learned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned.save(learned.learn(MODEL, 1e-6), MODEL, tmp_path / "policy.npz")
    FittedQ().load(MODEL, tmp_path / "policy.npz")
    monkeypatch.setattr(learned, "learn", lambda *_: pytest.fail("it was learned again"))
    FittedQ(learn_seconds=1000.0).prepare(MODEL)
