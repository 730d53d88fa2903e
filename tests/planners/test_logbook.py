"""A robot's log: written by an agent, looked at and tried again."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from models import Beacon

from airoas import Agent, Particles
from airoas.cli import main
from airoas.domains import Tiger
from airoas.errors import OptionError, StoredDataError
from airoas.logbook import MOST, read_log
from airoas.planners import QMDP, Random


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Four steps with the tiger; the second action is somebody else's."""
    path = tmp_path / "run.jsonl"
    agent = Agent(Tiger(), QMDP(), seed=3, log=path)
    for heard, action in ((0, None), (0, 0), (1, 0), (0, 0)):
        if action is None:
            agent.act()
        agent.observe((heard,), action=action)
    return path


def test_what_is_written_is_read(log: Path) -> None:
    read = read_log(log)
    assert read.about["model"] == str(Tiger())
    assert (read.about["seed"], read.about["filter"], read.about["recover"]) == (3, "exact", False)
    assert [step["action"] for step in read.steps] == [0, 0, 0, 0]
    assert [step["observation"] for step in read.steps] == [[0], [0], [1], [0]]
    assert read.steps[0]["decision"]["action"] == 0
    assert read.steps[1]["decision"] is None  # nobody asked the planner
    assert len(read.beliefs) == 5
    assert read.beliefs[1].weights == pytest.approx([0.85, 0.15])
    assert all(0.0 <= step["surprise"] <= 1.0 and step["lost"] is False for step in read.steps)


def test_beliefs_are_compact(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    agent = Agent(Beacon(), Random(), seed=0, particles=2000, filter="bootstrap", log=path)
    agent.observe((1.0,), action=0)
    assert path.stat().st_size < 20_000
    read = read_log(path)
    assert len(read.beliefs[1]) == MOST
    errors = agent.belief.std() / math.sqrt(MOST)
    assert (np.abs(read.beliefs[1].mean() - agent.belief.mean()) <= 3.0 * errors).all()
    assert json.loads(path.read_text().splitlines()[1])["belief"]["n"] == 2000


def test_a_cut_off_line_is_left_out_and_a_damaged_one_named(log: Path) -> None:
    whole = log.read_text()
    log.write_text(whole[:-50])
    assert len(read_log(log).steps) == 3
    lines = whole.splitlines()
    log.write_text("\n".join([*lines[:2], lines[2][:30], *lines[3:], ""]))
    with pytest.raises(StoredDataError, match="line 3 is damaged"):
        read_log(log)


@pytest.mark.parametrize(
    "text", ["", "{}\n", "[1]\n", "no JSON\n", '{"log": "airoas-log-9", "belief": {"states": [[0]], "weights": [1]}}\n']
)
def test_what_is_no_log(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(StoredDataError, match="is no log of an agent"):
        read_log(tmp_path / "x.jsonl")
    with pytest.raises(OptionError, match="cannot be written"):
        Agent(Tiger(), QMDP(), seed=0, log=tmp_path)


def test_a_page_of_a_log(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "log.html"
    assert main(["report", str(log), "--domain", "tiger", "-o", str(out)]) == 0
    html = out.read_text(encoding="utf-8")
    assert "run.jsonl: Tiger" in html
    assert "not known" in html  # the state
    assert "A log keeps no trees." in html
    assert "the log ends" in html
    assert "nan" not in html[html.index("<main>") : html.index("</main>")]
    assert main(["report", str(log)]) == 2
    assert "give --domain" in capsys.readouterr().err.lower()
    assert main(["report", str(log), "--domain", "tag"]) == 1
    assert "give the model of the log" in capsys.readouterr().err.lower()


def test_a_log_is_tried_again(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(log), "pomcp", "--iterations", "50", "--set", "c=100", "--domain", "tiger"]) == 0
    out = capsys.readouterr().out
    assert "of 4 steps" in out
    assert main(["replay", str(log), "qmdp", "--domain", "tiger(accuracy=0.9)"]) == 0
    assert "the log is of Tiger(accuracy=0.85" in capsys.readouterr().out
    assert main(["replay", str(log), "qmdp"]) == 2
    assert "--domain" in capsys.readouterr().err


def test_thinned() -> None:
    belief = Particles(np.arange(1000.0)[:, None], weights=np.arange(1000.0))
    few = belief.thinned(100)
    assert len(few) == 100
    assert few.mean() == pytest.approx(belief.mean(), rel=0.01)
    assert len(Particles([[0.0], [1.0], [2.0]], [0.5, 0.0, 0.5]).thinned(2)) == 2
    assert np.array_equal(belief.thinned(5000).states, belief.states[1:])  # the first has no weight
