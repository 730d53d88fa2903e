"""An experiment in a folder: stopped in any way at any moment, it goes on and ends with the episodes of an undisturbed run."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_pool import alive, gone, repeatable

import airoas
from airoas.cli import main
from airoas.errors import OptionError
from airoas.experiments.analysis.table import tables
from airoas.experiments.rows.store import EPISODES, SPEC, latest, pack_folder, read_rows
from airoas.experiments.run.bench import bench
from airoas.experiments.run.pool import Inline, Pool
from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.reading import of_folder, parse
from airoas.report.folder import report

FILE = """
episodes = 15
particles = 200
filter = "bootstrap"
seed = 900000
domains = ["{folder}/tiny.py:Walk"]
[planners.a]
planner = "{folder}/tiny.py:Sleeping"
iterations = 5
pause = 0.06
[planners.b]
planner = "{folder}/tiny.py:Sleeping"
iterations = 50
pause = 0.06
"""


@pytest.fixture
def file(tiny: Path, tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(FILE.format(folder=tiny))
    return path


def command(file: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "airoas.cli", "bench", str(file), "--out", str(out), "--jobs", "2", *more]


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    result = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in result.read_text().split()] if result.exists() else []


def lines(out: Path) -> int:
    """The episodes that are there, each as often as it is."""
    return len(read_rows(out))


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_the_same_command_again_runs_nothing(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    spec = make_spec(episodes=5)
    first = bench(spec, tmp_path / "out", Inline)
    before = (tmp_path / "out" / EPISODES).read_bytes()

    def never() -> Inline:
        raise AssertionError("nothing is left to run")

    assert bench(spec, tmp_path / "out", never) == first
    assert (tmp_path / "out" / EPISODES).read_bytes() == before


def test_rows_say_that_deadlines_were_in_cpu_time(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    spec = make_spec(more="clock = 'cpu'", episodes=2)
    rows = bench(spec, tmp_path, Inline)
    assert {row["clock"] for row in rows.values()} == {"cpu"}
    pack_folder(tmp_path)
    assert latest(tmp_path) == rows
    assert any("CPU time" in remark for remark in tables(spec, rows)[0].notes)
    assert not any("clock" in task for task in make_spec().tasks())


def test_more_episodes_are_added_and_other_experiments_refused(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    bench(make_spec(episodes=3), tmp_path, Inline)
    rows = bench(make_spec(episodes=5), tmp_path, Inline)
    assert len(rows) == len(read_rows(tmp_path)) == 5
    more = make_spec("[planners.a]\nplanner = 'tiny.py:Searching'\niterations = 6\nclever = 0.5")
    for other, words in (
        (make_spec("[planners.random]"), "planner a, not random"),
        (make_spec(episodes=5, more="max_steps = 2"), "max_steps of a is None, not 2"),
        (make_spec(episodes=5, scale="0.5"), "its scale is 1, not 0.5"),
        (more, "iterations of a is 5, not 6"),
    ):
        with pytest.raises(OptionError, match=f"holds another experiment: {words}"):
            bench(other, tmp_path, Inline)
    assert len(read_rows(tmp_path)) == 5


PARTS = """
[[parts]]
name = "a"
[parts.planners.a]
planner = "tiny.py:Searching"
iterations = 5
[[parts]]
name = "b"
[parts.planners.b]
planner = "tiny.py:Searching"
iterations = 7
[[parts]]
name = "c"
[parts.planners.random]
"""


def test_parts_are_run_one_after_another(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    """Into one folder, which then holds the parts that were asked for; what is there is kept, and the whole file runs the rest."""
    alone = bench(make_spec(PARTS, episodes=2), tmp_path / "alone", Inline)
    out = tmp_path / "out"
    for only, parts, many in (("a", "a", 2), ("c", "ac", 4), ("a", "ac", 4), ("", "abc", 6), ("b", "abc", 6)):
        rows = bench(make_spec(PARTS, episodes=2, only=only), out, Inline)
        assert len(rows) == len(read_rows(out)) == many
        assert [part.name for part in of_folder(out).parts] == list(parts)
        assert "Not finished" not in "".join(tables(of_folder(out), latest(out))[0].notes)
        report(out)
    assert {key: row["actions"] for key, row in rows.items()} == {key: row["actions"] for key, row in alone.items()}
    assert (out / SPEC).read_text() == make_spec(PARTS, episodes=2).text
    with pytest.raises(OptionError, match="begun for more episodes of a"):
        bench(make_spec(PARTS, episodes=1, only="c"), out, Inline)


def test_parts_that_were_not_run_may_change(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    bench(make_spec(PARTS, episodes=2, only="a"), tmp_path, Inline)
    other = PARTS.replace("iterations = 7", "iterations = 8") + '[[parts]]\nname = "d"\n[parts.planners.random]\nplanner = "random"\n'
    bench(make_spec(other, episodes=3, only="b"), tmp_path, Inline)
    assert [(cell.planner, cell.options["iterations"], len(cell.seeds)) for cell in of_folder(tmp_path).cells] == [("a", 5, 3), ("b", 8, 3)]
    with pytest.raises(OptionError, match="holds another experiment: iterations of b is 8, not 7"):
        bench(make_spec(PARTS, episodes=3, only="c"), tmp_path, Inline)


def test_parts_of_two_models_do_not_meet(tiny: Path, tmp_path: Path) -> None:
    source = (tiny / "tiny.py").read_text()
    (tmp_path / "own.py").write_text(source)
    text = "domains = ['own.py:Walk']\nepisodes = 2\nparticles = 200\nfilter = 'bootstrap'\n" + PARTS.replace("tiny.py", "own.py")
    bench(parse(text, folder=tmp_path, only="a"), tmp_path / "out", Inline)
    (tmp_path / "own.py").write_text(source.replace("10.0 if s[0] == 0", "20.0 if s[0] == 0"))
    with pytest.raises(OptionError, match="has changed since"):
        bench(parse(text, folder=tmp_path, only="c"), tmp_path / "out", Inline)
    assert len(read_rows(tmp_path / "out")) == 2 and [part.name for part in of_folder(tmp_path / "out").parts] == ["a"]


def test_a_model_that_has_changed_is_refused(tiny: Path, tmp_path: Path) -> None:
    source = (tiny / "tiny.py").read_text()
    (tmp_path / "own.py").write_text(source)
    text = "domains = ['own.py:Walk']\nepisodes = {}\nparticles = 200\nfilter = 'bootstrap'\n[planners.random]\n"
    bench(parse(text.format(2), folder=tmp_path), tmp_path / "out", Inline)
    (tmp_path / "own.py").write_text(source.replace("10.0 if s[0] == 0", "20.0 if s[0] == 0"))
    with pytest.raises(OptionError, match="has changed since"):
        bench(parse(text.format(3), folder=tmp_path), tmp_path / "out", Inline)


def test_failed_episodes_are_rows_and_run_again_only_when_told(
    make_spec: Callable[..., Spec], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spec = make_spec("[planners.a]\nplanner = 'tiny.py:Deadly'\niterations = 5\nshare = 0.03\n", episodes=14)
    rows = bench(spec, tmp_path, lambda: Pool(2))
    failed = [row["id"] for row in rows.values() if "error" in row]
    assert failed
    assert bench(spec, tmp_path, Inline) == rows  # Inline would die
    with caplog.at_level("WARNING", "airoas"):
        bench(spec, tmp_path, lambda: Pool(2), retry=True)
    assert f"failed episodes that are run again: {len(failed)}" in caplog.messages
    assert len(read_rows(tmp_path)) == 14 + len(failed)
    assert len(latest(tmp_path)) == len(airoas.load(tmp_path)) == 14


def test_failed_episodes_run_again_when_the_model_is_mended(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is mended is another model, so that no episode is run twice."""
    source = (tiny / "tiny.py").read_text()
    stop = "if a == 2:"
    worse, better = (
        source.replace(stop, f"if {when}:\n            raise ValueError('no')\n        {stop}") for when in ("a", "a and s[0] % 2")
    )
    command = f"run {tmp_path}/own.py:Walk random --episodes 12 --particles 50 --filter bootstrap --out {tmp_path}/out".split()
    (tmp_path / "own.py").write_text(worse)
    for _ in range(2):  # as it is, a failed episode stays one
        assert main(command) == 1
        assert len(read_rows(tmp_path / "out")) == 12
    assert "12 of 12 episodes are there already, 12 of them failed" in capsys.readouterr().err
    (tmp_path / "own.py").write_text(better)
    assert main(command) == 1
    assert "failed episodes that are run again: 12" in capsys.readouterr().err
    rows = latest(tmp_path / "out")
    assert len(read_rows(tmp_path / "out")) == 24
    assert len(rows) == 12
    assert 0 < sum("error" in row for row in rows.values()) < 12
    (tmp_path / "own.py").write_text(source)
    assert main(command) == 2  # some were finished with the model before
    assert "has changed since" in capsys.readouterr().err


def test_ctrl_c_stops_cleanly_and_the_command_goes_on(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs, and theirs, ignore it
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command(file, out), **pipes, preexec_fn=heed) as driver:
        until(lambda: lines(out) >= 3)
        workers = children(driver.pid)
        assert len(workers) == 2
        driver.send_signal(signal.SIGINT)
        printed, said = driver.communicate(timeout=30)
    assert driver.returncode == 130
    assert printed == ""
    assert said.endswith("and the same command goes on from there\n")
    assert "Traceback" not in said
    assert gone(workers)
    done = lines(out)
    assert 3 <= done < 30
    assert main(command(file, out)[3:]) == 0
    assert lines(out) == 30


def test_a_second_driver_is_refused_while_the_first_runs(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    file.write_text(file.read_text().replace("pause = 0.02", "pause = 2.0"))
    with subprocess.Popen(command(file, out), stdout=subprocess.DEVNULL) as driver:
        until(lambda: (out / "spec.toml").exists())
        second = subprocess.run(command(file, out), capture_output=True, text=True, check=False)
        assert driver.poll() is None
        driver.kill()
    assert second.returncode == 2
    assert "another process is writing" in second.stderr


def killed_and_resumed(file: Path, out: Path, times: int, seed: int) -> Iterator[int]:
    """kill -9 of the driver at random moments; the episodes that were there each time."""
    random_ = random.Random(seed)
    for _ in range(times):
        with subprocess.Popen(command(file, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
            before, target = lines(out), random_.randint(0, 2)
            until(functools.partial(lambda enough, driver: driver.poll() is not None or lines(out) >= enough, before + target, driver))
            time.sleep(random_.uniform(0.0, 0.15))
            workers = children(driver.pid)
            driver.kill()
            driver.wait()
        assert gone(workers)
        if random_.random() < 0.5 and lines(out):  # and a line that was being written then
            whole = (out / EPISODES).read_bytes()
            (out / EPISODES).write_bytes(whole[: -random_.randint(1, len(whole.splitlines()[-1]))])
        yield lines(out)


@pytest.mark.parametrize("times", [3, pytest.param(20, marks=pytest.mark.law)])
def test_kill_9_at_any_moment_loses_and_doubles_nothing(times: int, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(file, tmp_path / "calm")[3:]) == 0
    expected = latest(tmp_path / "calm")
    assert len(expected) == 30
    seen = list(killed_and_resumed(file, tmp_path / "out", times, seed=4))
    assert max(seen) > 0
    assert main(command(file, tmp_path / "out")[3:]) == 0
    ids = [row["id"] for row in read_rows(tmp_path / "out")]
    assert len(ids) == len(set(ids)) == 30
    assert repeatable(latest(tmp_path / "out")) == repeatable(expected)


def test_a_killed_worker_is_replaced_in_mid_run(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with subprocess.Popen(command(file, out), stdout=subprocess.DEVNULL) as driver:
        for target in (2, 6):
            until(lambda target=target: lines(out) >= target)  # type: ignore[misc]
            victim = children(driver.pid)[0]
            subprocess.run(["kill", "-9", str(victim)], check=True)
            assert gone([victim])
        assert driver.wait(timeout=60) == 0
    rows = read_rows(out)
    assert len(rows) == 30
    assert not any("error" in row for row in rows)
    assert not alive(driver.pid)


def test_the_table_says_what_failed(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.toml").write_text(f'episodes = 3\nparticles = 10\ndomains = ["{tiny}/tiny.py:Broken"]\n[planners.random]\n')
    assert main(["bench", str(tmp_path / "broken.toml"), "--out", str(tmp_path / "out"), "--jobs", "2"]) == 1
    assert (tmp_path / "out" / "plots" / "returns.png").exists()
    captured = capsys.readouterr()
    assert "3 episodes failed" in captured.out
    assert "ValueError: no such step" in captured.err
    assert [("error" in row) for row in airoas.load(tmp_path / "out")] == [True] * 3


def test_run_with_a_folder_and_jobs(tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "run",
        f"{tiny}/tiny.py:Walk",
        f"{tiny}/tiny.py:Searching",
        "--iterations",
        "5",
        "--particles",
        "200",
        "--filter",
        "bootstrap",
        "--seed",
        "7",
        "--json",
    ]
    results = []
    for more in (
        ["--episodes", "4"],
        ["--episodes", "4", "--jobs", "2"],
        ["--episodes", "2", "--out", str(tmp_path)],
        ["--episodes", "4", "--out", str(tmp_path)],
    ):
        assert main([*arguments, *more]) == 0
        results.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert results[0]["mean"] == results[1]["mean"] == results[3]["mean"]
    assert results[2]["episodes"] == 2
    assert len(read_rows(tmp_path)) == 4
    assert main([*arguments, "--episodes", "4", "--out", str(tmp_path), "--set", "clever=1"]) == 2
    assert "holds another experiment" in capsys.readouterr().err


def test_progress_is_said_on_a_terminal(file: Path, tmp_path: Path) -> None:
    """In a pseudo-terminal: bars, means and the time left."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(file, tmp_path / "out"), stdout=subprocess.DEVNULL, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    ) as driver:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while data := os.read(ours, 65536):
                said += data
        os.close(ours)
        assert driver.wait() == 0
    text = said.decode(errors="replace")
    assert "15/15" in text
    assert " left" in text
    assert "±" in text
