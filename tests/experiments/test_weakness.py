"""What a planner's own record says against it is said in a sentence with a remedy, and nothing where there is no sign of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airoas.cli import main
from airoas.experiments.analysis.summary import Summary, summarise
from airoas.experiments.analysis.weakness import no_better, unended, weaknesses
from airoas.experiments.rows.slim import slim


def summary(returns: list[float], **more: Any) -> Summary:
    row = {"map": None, "steps": 2, "terminated": True, "success": True, "wrong_stop": False, "recoveries": 0}
    row |= {"stops": ["deadline"] * 2, "trials": [9, 9], "times": {"plan": [0.1] * 2, "overshoot": [0.0] * 2, "update": [0.0] * 2}}
    return summarise("maze", "airoas", [row | {"discounted_return": value, **more} for value in returns])  # type: ignore[misc]


LED = "learned, 3 rounds, ab"
EARNED = [float(k % 5) for k in range(20)]  # 2 in the mean


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"trials": [0, 9]}, "no search within the time in 50 % of the decisions. Give it more time"),
        ({"notes": {"tied": [True, False]}}, "every action looked the same in 50 % of the decisions, so that one was taken by chance. Let"),
        ({"notes": {"tied": True}}, "every action looked the same in 100 %"),
        ({"notes": {"opened": 0.25}}, "some actions were never tried in 100 % of the decisions. Give it more time or fewer particles."),
        (
            {"notes": {"sound": False, "contradicted": [None, 3.0], "policy": LED}, "stops": ["terminal", "deadline"]},
            "the search found more than its estimated upper bounds allow in 100 % of the decisions, and went on with that. More particles",
        ),
        ({"notes": {"policy": "qmdp, 3 rounds, ab"}}, "what was learned in 3 rounds earned less in validation than QMDP, which leads"),
        ({"notes": {"policy": [None, "blind, 1 rounds, ab"]}}, "what was learned in 1 round earned less in validation than one action"),
        (
            {"notes": {"policy": "default, 6 rounds, ab"}},
            "what was learned in 6 rounds earned less in validation than the model's own `",
        ),
        (
            {"notes": {"policy": "qmdp, 0 rounds, "}},
            "no policy is learned where actions are so many, and QMDP leads. Give the model a `rollout_action`",
        ),
        ({"promised": 9.0}, "it promised 9 at the start and earned 2, "),
        (
            {"promised": 9.0},
            f"it promised 9 at the start and earned 2, {7.0 / (np.std(EARNED, ddof=1) / 20**0.5):.0f} standard errors less.",
        ),
    ],
)
def test_it_is_said(more: dict[str, Any], said: str) -> None:
    (sentence,) = weaknesses(summary(EARNED, **more))
    assert sentence.startswith(f"airoas on maze: {said}")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"promised": 2.3},
        {"notes": {"tied": False, "opened": 1.0}},
        {"notes": {"opened": [0.5, 1.0]}},
        {"notes": {"tied": True, "opened": 0.2, "policy": LED}},  # the policy decides, and its rollouts try others
        {"notes": {"policy": "earlier, 3 rounds, ab"}},
        {"notes": {"policy": "qmdp, nothing was learned"}},  # as was asked for
        {"notes": {"sound": False, "contradicted": [None, 3.0]}},
        {"notes": {"sound": False}},
    ],
)
def test_nothing_is_said_without_a_sign(more: dict[str, Any]) -> None:
    assert weaknesses(summary(EARNED, **more)) == []


def test_episodes_with_and_without_their_moves_say_the_same() -> None:
    """Also where the policy is not asked at every move, and where some episodes contradict their bounds and others do not."""
    row = {"map": None, "steps": 2, "terminated": True, "success": True, "wrong_stop": False, "recoveries": 0, "discounted_return": 1.0}
    row |= {"stops": ["deadline"] * 2, "trials": [9, 9], "times": {"plan": [0.1] * 2, "overshoot": [0.0] * 2, "update": [0.0] * 2}}
    notes = [{"sound": [None, False], "contradicted": [None, 3.0], "policy": [None, "qmdp, 3 rounds, ab"]}, {"sound": False, "policy": LED}]
    rows: Any = [row | {"notes": one} for one in (notes[0], notes[0], notes[1])]
    full, kept = summarise("maze", "airoas", rows), summarise("maze", "airoas", map(slim, rows))
    assert full.to_dict() == kept.to_dict() | {"overshoot_ms_p99": 0.0}
    assert (full.contradicted, full.policy) == (pytest.approx(1.0 / 3.0), "qmdp, 3 rounds")


def test_few_episodes_judge_no_promise() -> None:
    assert weaknesses(summary(EARNED[:5], promised=9.0)) == []


def test_no_better_than_random_actions() -> None:
    ours, random = summary(EARNED), summary([value - 0.1 for value in EARNED])
    (sentence,) = no_better(ours, random)
    assert sentence.startswith("airoas on maze: it earned 2, and random actions 1.9 (error ")
    assert no_better(ours, summary([value - 5.0 for value in EARNED])) == []


def ended(*returns: float) -> list[Any]:
    return [{"planner": "airoas", "terminated": True, "discounted_return": value} for value in returns]


def late(*returns: float) -> list[Any]:
    return [{"planner": "airoas", "terminated": False, "discounted_return": value} for value in returns]


def test_episodes_without_an_end() -> None:
    own = ended(8.0, 6.0) + late(-3.0, -5.0)
    (sentence,) = unended("airoas", "maze", own, own)
    assert sentence.startswith(
        "airoas on maze: 2 of 4 episodes ran into the step limit without an end, and earned -4; those that ended earned 7. Allow more steps"
    )
    own = late(*EARNED)
    (sentence,) = unended("airoas", "maze", own, own + ended(5.0))
    assert sentence.startswith("airoas on maze: 20 of 20 episodes ran into the step limit without an end, and earned 2; those that ended")
    (sentence,) = unended("airoas", "maze", own, own, may_end=True)
    assert sentence.startswith("airoas on maze: none of 20 episodes reached a terminal state before the step limit. Where an end is wanted")


@pytest.mark.parametrize(
    ("own", "others"),
    [
        (late(1.0, 2.0, 3.0), ended(5.0)),  # few
        (late(1.0) * 3 + ended(2.0) * 7, []),  # as it may be
        (late(*EARNED), []),  # no end is known
        (late(*EARNED), ended(-50.0)),  # the end is an accident
        (late(*EARNED), [{"error": "no such step"}]),
    ],
)
def test_nothing_is_said_of_episodes_without_an_end(own: list[Any], others: list[Any]) -> None:
    assert unended("airoas", "maze", own, own + others) == []


def test_random_actions_need_no_end() -> None:
    rows: list[Any] = [row | {"planner": "random"} for row in late(*EARNED)]
    assert unended("baseline", "maze", rows, rows + ended(5.0), may_end=True) == []


def test_run_and_table_say_what_did_not_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    more = ["--episodes", "4", "--max-steps", "1", "--iterations", "5", "--filter", "bootstrap", "--particles", "100"]
    assert main(["run", "tag", "pomcpow", *more, "--out", folders[0]]) == 0
    told = "pomcpow on tag: none of 4 episodes reached a terminal state before the step limit"
    assert told in capsys.readouterr().err
    assert main(["table", folders[0]]) == 0
    assert told not in capsys.readouterr().out  # which has no model to ask
    assert main(["run", "tiger", "pomcpow", *more]) == 0
    assert "terminal state before" not in capsys.readouterr().err


def test_check_plays(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("airoas.experiments.run.preview.EPISODES", 4)
    assert main(["check", "tiger", "--plan"]) == 0
    printed = capsys.readouterr().out
    assert "in 4 episodes" in printed and printed.index("airoas: ") < printed.index("random: ")
