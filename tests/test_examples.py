"""The examples run as a newcomer runs them, with a small budget."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import airoas
from airoas.bounds import find, store
from airoas.bounds.learned import simulated
from airoas.cli import main
from airoas.domains import Tag

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = {  # arguments, and what it must print
    "tracking_robot.py": (["--seconds", "0.02", "--steps", "4"], "after its deadline"),
    "lost_robot.py": (["--seconds", "0.02", "--learn", "0", "--particles", "300", "--steps", "4", "--kidnapped", "2"], "docked in"),
    "continuous.py": (["--iterations", "200", "--particles", "200"], "discounted return"),
    "hybrid.py": (["--iterations", "20", "--particles", "200"], "discounted return"),
    "sonar.py": (["--iterations", "20", "--particles", "300"], "terminal state reached"),
    "ten_objects.py": (["--iterations", "300", "--particles", "300"], "objects found"),
    "finite.py": (["--iterations", "20", "--steps", "3"], "bounds: pbvi and fib, proved"),
    "compare.py": (["--episodes", "2", "--jobs", "1"], "airoas against qmdp"),
}


@pytest.mark.parametrize("script", [pytest.param(name, marks=[pytest.mark.law] * (name == "lost_robot.py")) for name in SCRIPTS])
def test_scripts_run(script, tmp_path):
    arguments, expected = SCRIPTS[script]
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / script), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert expected in ran.stdout


def test_the_lost_robot_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    """Runs that the file has are kept, and the others added. Its bounds are those of a hundredth of the states, kept nowhere."""
    monkeypatch.setattr(store, "folder", lambda: None)
    monkeypatch.setattr(find, "_cached", {})
    monkeypatch.setattr(simulated, "_MOST_STATES", 200)
    monkeypatch.chdir(tmp_path)
    rows = []
    for seeds in ("1", "2"):
        arguments = ["--seconds", "0.02", "--learn", "0", "--particles", "300", "--steps", "2", "--seeds", seeds, "--out", "runs.csv"]
        monkeypatch.setattr(sys, "argv", ["lost_robot.py", *arguments])
        runpy.run_path(str(EXAMPLES / "lost_robot.py"), run_name="__main__")
        assert "docked in" in capsys.readouterr().out
        rows.append((tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines())
    assert [len(lines) for lines in rows] == [2, 3]
    assert rows[1][:2] == rows[0]
    assert rows[0][0].startswith("seed,docked,steps,return,")


def test_every_script_is_run():
    imported = {"my_model.py", "kalman.py", "factored.py"}  # by tests/test_readme.py and tests/belief/test_open_filters.py
    assert {path.name for path in EXAMPLES.glob("*.py")} - imported == set(SCRIPTS)


SOUND = [
    "continuous.py:Docking",
    "hybrid.py:Harbour",
    "finite.py:Maintain",
    "kalman.py:Trolley",
    "sonar.py:Docking",
    "ten_objects.py:Search",
]


@pytest.mark.parametrize("reference", SOUND)
def test_models_are_sound(reference, capsys):
    assert main(["check", str(EXAMPLES / reference)]) == 0, capsys.readouterr().out


def test_the_robot_leaves_a_belief_to_go_on_from(tmp_path):
    arguments = [sys.executable, str(EXAMPLES / "tracking_robot.py"), "--seconds", "0.01", "--steps", "1"]
    subprocess.run(arguments, cwd=tmp_path, capture_output=True, check=True)
    belief = airoas.Particles.load(tmp_path / "tracking_robot.npz")
    assert belief.states.shape[1] == len(Tag().shapes.state.kinds)


def test_the_notebook_runs(tmp_path, monkeypatch):
    notebook = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) >= (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    scope = {"__name__": "tour"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 3
    for cell in code:
        assert cell["outputs"] == [] and cell["execution_count"] is None, "clear the outputs before you commit"
        exec(compile("".join(cell["source"]), "tour.ipynb", "exec"), scope)
    import matplotlib.pyplot as plt

    assert plt.get_fignums()
    plt.close("all")
