"""The command line: what it prints, and one clear line with exit code 2 for every bad input."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from airoas.cli import main

KEYS = {
    "domain",
    "planner",
    "episodes",
    "mean",
    "sem",
    "steps_mean",
    "plan_seconds_mean",
    "plan_seconds_max",
    "overshoot_ms_p99",
    "overshoot_ms_max",
    "failures",
}

MY_MODEL = """
import math
from typing import NamedTuple

import airoas
import my_numbers
from my_numbers import ERROR, moved


class Place(NamedTuple):
    x: int
    t: int


@airoas.model
class MyModel(NamedTuple):
    discount: float = 0.9

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return Place(rng.integer(my_numbers.WIDTH), 0)

    def step(self, s, a, rng):
        if s.t == 4:
            return s, 0.0
        return Place(moved(s.x, a), s.t + 1), -1.0

    def observe(self, s, a, rng):
        return (s.x if rng.uniform() >= ERROR else moved(s.x, 1),)

    def obs_logpdf(self, o, s, a):
        return math.log(1.0 - ERROR if o[0] == s.x else ERROR) if o[0] in (s.x, moved(s.x, 1)) else -math.inf

    def is_terminal(self, s):
        return s.t == 4

    def exact_initial(self):
        return [[x, 0] for x in range(my_numbers.WIDTH)], [1.0 / my_numbers.WIDTH] * my_numbers.WIDTH

    def n_states(self):
        return 5 * my_numbers.WIDTH

    def index(self, s):
        return 5 * s.x + s.t

    def state(self, i):
        return Place(i // 5, i % 5)

    def successor(self, s, a, k):
        return (s if s.t == 4 else Place(moved(s.x, a), s.t + 1)), (1.0 if k == 0 else 0.0)
"""
MY_NUMBERS = """
WIDTH = 6
ERROR = 0.1


def moved(x, a):
    return (x + 2 * a - 1) % WIDTH
"""


SEARCHING = """
from dataclasses import dataclass

from airoas.planners import Random


@dataclass(frozen=True)
class Searching(Random):
    seconds: float | None = None
    iterations: int | None = None
"""


def airoas(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    return subprocess.run([sys.executable, "-m", "airoas.cli", *arguments], capture_output=True, text=True, check=False, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("models")
    (directory / "my_model.py").write_text(MY_MODEL)
    (directory / "my_numbers.py").write_text(MY_NUMBERS)
    (directory / "searching.py").write_text(SEARCHING)
    (directory / "small.toml").write_text("domains = ['tiger']\n[planners.random]\n")
    (directory / "wrong.toml").write_text("domains = ['tiger']\n[planners.rndom]\n")
    (directory / "syntax.py").write_text("def f(:\n    pass\n")
    (directory / "garbage.py").write_bytes(bytes(range(256)))
    (directory / "folder.py").mkdir()
    (directory / "dangling.py").symlink_to(directory / "nowhere.py")
    line = "        return Place(moved(s.x, a)"
    raising = MY_MODEL.replace(line, f'        if s.t > 1:\n            raise ValueError("lost")\n{line}', 1)
    (directory / "raising.py").write_text(raising)
    return directory


BAD = {
    "unknown command": ("frob", "frob"),
    "a command misspelt": ("tabel runs", "Did you mean `table`? See `airoas --help`."),
    "a deadline": ("run tiger random --deadline 0.1", "Did you mean `--seconds`? See `airoas run --help`."),
    "an option misspelt": ("run tiger random --epsodes=3", "Did you mean `--episodes`? See `airoas run --help`."),
    "a part of an option": ("run tiger airoas --iterations 5 --set depht=3", "Did you mean `max_depth`?"),
    "the beginning of a domain": ("run tag- random", "Did you mean `tag-modified`?"),
    "a family of domains": (
        "run light-dark random",
        "Did you mean `light-dark-0.5`, `light-dark-1.0`, `light-dark-2d` or `light-dark-2d-continuous`?",
    ),
    "report of nothing": ("report nosuch", "nosuch holds no results"),
    "unknown domain": ("run tigr random", "Did you mean `tiger`?"),
    "unknown planner": ("run tiger rndom", "Did you mean `random`?"),
    "no planner": ("run tiger", "PLANNER"),
    "negative episodes": ("run tiger random --episodes -1", "from 1 on"),
    "no episodes": ("run tiger random --episodes 0", "from 1 on"),
    "episodes in words": ("run tiger random --episodes ten", "'ten' is not a whole number"),
    "negative seed": ("run tiger random --seed -3", "from 0 on"),
    "both budgets": ("run tiger random --seconds 1 --iterations 10", "not allowed with"),
    "no time": ("run tiger random --seconds 0", "seconds above 0"),
    "endless time": ("run tiger random --seconds inf", "seconds above 0"),
    "time in words": ("run tiger random --seconds soon", "'soon' is not a number"),
    "no iterations": ("run tiger random --iterations 0", "from 1 on"),
    "no particles": ("run tiger random --particles 0", "from 1 on"),
    "no steps": ("run tiger random --max-steps 0", "from 1 on"),
    "unknown option": ("run tiger random --frob", "--frob"),
    "unknown option of the planner": ("run tiger random --set depth=3", "has no option 'depth'"),
    "--set without =": ("run tiger random --set depth", "--set name=value"),
    "unknown filter": ("run tiger random --filter kalman", "there is no filter 'kalman'"),
    "no exact filter": ("run light-dark-2d random --filter exact", "has no exact filter"),
    "unknown mode": ("run tiger random --mode fast", "fast"),
    "no file": ("run {folder}/none.py:MyModel random", "there is no file"),
    "a dangling link": ("check {folder}/dangling.py:MyModel", "there is no file"),
    "a folder": ("check {folder}/folder.py:MyModel", "is a folder"),
    "garbage": ("check {folder}/garbage.py:MyModel", "garbage.py"),
    "syntax error": ("check {folder}/syntax.py:MyModel", "syntax.py, line 1: invalid syntax"),
    "no such class": ("check {folder}/my_model.py:MyModle", "Did you mean `MyModel`?"),
    "no class": ("check {folder}/my_model.py", "does not say which model"),
    "empty class": ("check {folder}/my_model.py:", "does not say which model"),
    "not a model": ("run {folder}/my_model.py:ERROR random", "is not a model"),
    "unknown experiment": ("bench papr --out {folder}/out", "Did you mean `paper`?"),
    "experiment without a folder": ("bench paper", "--out"),
    "experiment of another scale": ("bench paper --out {folder}/out --scale huge", "--scale huge"),
    "experiment into a strange folder": ("bench {folder}/small.toml --out {folder}", "has other files in it"),
    "unknown planner in an experiment": ("bench {folder}/wrong.toml --out {folder}/out", "Did you mean `random`?"),
    "table of nothing": ("table {folder}/none", "holds no results"),
    "unknown format": ("table {folder} --format pdf", "pdf"),
    "pictures of nothing": ("plot {folder}/none", "holds no results"),
    "replay of nothing": ("replay {folder}/none aa", "holds no results"),
    "packing of nothing": ("pack {folder}/none", "holds no results"),
    "packing what is not there": ("pack {folder} --keep trails", "Did you mean `trials`?"),
    "all of every move without a folder": ("run tiger random --full", "--out"),
    "tuning of nothing": ("tune tiger random --trials 2 --out {folder}/out", "declares no SEARCH_SPACE"),
    "tuning without trials": ("tune tiger random --out {folder}/out", "--trials"),
    "check of nothing": ("check", "FILE.py:MODEL"),
    "check of no domain": ("check tgi", "there is no domain 'tgi'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_exit_code_2(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, words = BAD[name]
    try:
        code = main(command.format(folder=folder).split())
    except SystemExit as ended:
        code = ended.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.startswith("airoas: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert captured.err.rstrip()[-1] in ".?"


def test_neither_budget_where_the_planner_needs_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "tiger", f"{folder}/searching.py:Searching"]) == 2
    assert "needs a budget. Give one of seconds and iterations (--seconds or --iterations).\n" in capsys.readouterr().err


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("list", "run", "check", "bench", "table", "plot", "replay", "tune", "pack"))


def test_help_and_version_do_not_load_the_compiler() -> None:
    code = (
        "import sys\nfrom airoas.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "assert not {'numba', 'numpy', 'rich'} & set(sys.modules), sorted(sys.modules)\n"
    )
    for arguments in (
        ["--help"],
        ["run", "--help"],
        ["check", "--help"],
        ["bench", "--help"],
        ["tune", "--help"],
        ["--version"],
        ["run", "tiger"],
    ):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_list_names_domains_and_planners(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"tiger", "tag", "light-dark-1.0"} <= {domain["name"].rstrip(" *") for domain in shown["domains"]}
    assert "random" in shown["planners"]
    assert main(["list"]) == 0
    assert "rock-sample-11-11" in capsys.readouterr().out


def test_list_says_in_a_line_what_gpu_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--devices"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("cuda: ")
    assert main(["list", "--devices", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["devices"]
    assert shown["usable"] is ("compute capability" in line)


def test_run_says_where_there_was_no_time_to_search(capsys: pytest.CaptureFixture[str], said: Callable[[str], list[str]]) -> None:
    options = ["--episodes", "1", "--max-steps", "2", "--json"]
    assert main(["run", "tiger", "adaops", "--seconds", "1e-9", *options]) == 0
    captured = capsys.readouterr()
    assert "airoas: adaops on tiger: no search within the time in 100 % of the decisions. Give it more time" in captured.err
    assert (json.loads(captured.out.splitlines()[-1])["trials_mean"], "trials per decision" in captured.out) == (0.0, True)
    assert main(["run", "tiger", "adaops", "--iterations", "3", *options]) == 0
    captured = capsys.readouterr()
    assert said(captured.err) == []
    assert 0.0 < json.loads(captured.out.splitlines()[-1])["trials_mean"] <= 3.0


def test_run_ends_with_one_object(capsys: pytest.CaptureFixture[str], said: Callable[[str], list[str]]) -> None:
    assert main(["run", "tiger", "random", "--episodes", "5", "--max-steps", "3", "--seed", "2", "--show", "--json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out.splitlines()[-1])
    assert set(result) >= KEYS
    assert (result["domain"], result["planner"], result["episodes"], result["failures"]) == ("tiger", "random", 5, 0)
    assert result["steps_mean"] == 3.0
    assert "random on tiger" in captured.out
    assert "belief mean" in captured.out
    assert said(captured.err) == []


def test_equal_seeds_give_equal_results(capsys: pytest.CaptureFixture[str]) -> None:
    results = []
    for mode in ("compiled", "interpreted"):
        assert main(f"run tiger random --episodes 3 --max-steps 4 --json --mode {mode}".split()) == 0
        result = json.loads(capsys.readouterr().out.splitlines()[-1])
        results.append((result["mean"], result["sem"], result["steps_mean"]))
    assert results[0] == results[1]


def test_a_model_in_files_of_the_user(folder: Path) -> None:
    """Outside the package, with functions and constants of a second file, in a process of its own, from its folder."""
    done = airoas(*["run", "my_model.py:MyModel", "random", "--episodes", "10", "--seed", "0", "--json"], cwd=folder)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["domain"], result["episodes"], result["failures"], result["steps_mean"]) == ("my_model.py:MyModel", 10, 0, 4.0)


def test_a_model_that_raises_fails_its_episodes_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], said: Callable[[str], list[str]]
) -> None:
    assert main(f"run {folder}/raising.py:MyModel random --episodes 3 --json".split()) == 1
    captured = capsys.readouterr()
    result = json.loads(captured.out.splitlines()[-1])
    assert (result["episodes"], result["failures"], result["mean"]) == (0, 3, None)
    (line,) = said(captured.err)
    assert "seed 0 failed" in line
    assert "ValueError: lost" in line


def test_a_budget_without_effect_is_said(folder: Path, said: Callable[[str], list[str]]) -> None:
    done = airoas(*["run", "tiger", "random", "--episodes", "1", "--max-steps", "2", "--iterations", "5"])
    assert done.returncode == 0
    assert said(done.stderr) == ["airoas: the random planner decides at once: --iterations has no effect"]


def test_a_closed_pipe_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "airoas.cli", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as listing:
        assert listing.stdout is not None
        assert listing.stderr is not None
        listing.stdout.close()
        assert listing.stderr.read() == ""


def test_check_of_a_shipped_domain(capsys: pytest.CaptureFixture[str], said: Callable[[str], list[str]]) -> None:
    assert main(["check", "tiger"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "Tiger: no errors.\n"
    assert said(captured.err) == []


def test_the_library_logs_and_the_command_line_prints(capsys: pytest.CaptureFixture[str], said: Callable[[str], list[str]]) -> None:
    """Once for each line, however often a command ran before; a program's own logging is as it was."""
    log = logging.getLogger("airoas")
    before = (log.level, log.propagate, list(log.handlers))
    for _ in range(2):
        assert main(["run", "tiger", "random", "--episodes", "1", "--max-steps", "2", "--iterations", "5"]) == 0
        assert said(capsys.readouterr().err) == ["airoas: the random planner decides at once: --iterations has no effect"]
    assert (log.level, log.propagate, list(log.handlers)) == before


def test_notices_reach_a_program_through_logging(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from airoas.experiments.rows.store import Store
    from airoas.experiments.run.bench import bench
    from airoas.experiments.run.pool import Inline
    from airoas.experiments.spec.reading import parse

    text = "domains = ['tiger']\nepisodes = {}\nmax_steps = 2\n[planners.random]\n"
    (row,) = bench(parse(text.format(1)), tmp_path, Inline).values()
    with Store(tmp_path) as store:
        store.append({**row, "version": "0.0.1"})
    bench(parse(text.format(2)), tmp_path, Inline)
    (record,) = [record for record in caplog.records if "compiling" not in record.getMessage()]
    assert (record.name, record.levelname) == ("airoas.experiments.run.bench", "WARNING")
    assert f"{tmp_path} has episodes of airoas 0.0.1, " in record.getMessage()
