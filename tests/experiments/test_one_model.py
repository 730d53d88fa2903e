"""A folder holds episodes of one model, finishes whatever a model does, and its tables show text as text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airoas.cli import main
from airoas.errors import OptionError, StoredDataError
from airoas.experiments.analysis.render import render
from airoas.experiments.analysis.table import cell_summaries, differences, tables
from airoas.experiments.rows.store import EPISODES, Store, latest, read_rows
from airoas.experiments.run.bench import bench
from airoas.experiments.run.pool import Inline, Pool
from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.reading import parse
from airoas.report.folder import report
from airoas.tables import TextTable

TEXT = "domains = ['own.py:Walk']\nepisodes = {}\nparticles = 200\nfilter = 'bootstrap'\n[planners.random]\n"
MODELS = """
from typing import NamedTuple
import airoas

@airoas.model
class Endless(NamedTuple):
    '''A step that now and then has no end.'''
    discount: float = 0.9
    max_steps: int = 3
    def actions(self): return ("on",)
    def initial(self, rng): return (rng.integer(2),)
    def step(self, s, a, rng):
        while rng.uniform() < 0.05:
            while rng.uniform() < 2.0:
                pass
        return s, 1.0
    def observe(self, s, a, rng): return (0,)
    def obs_logpdf(self, o, s, a): return 0.0

@airoas.model
class Huge(NamedTuple):
    '''A return that overflows in some episodes.'''
    discount: float = 0.9
    max_steps: int = 3
    def actions(self): return ("on",)
    def initial(self, rng): return (rng.integer(2),)
    def step(self, s, a, rng): return s, 1.7e308 if s[0] == 1 else 1.0
    def observe(self, s, a, rng): return (0,)
    def obs_logpdf(self, o, s, a): return 0.0
"""


@pytest.fixture
def own(tiny: Path, tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text((tiny / "tiny.py").read_text())
    return tmp_path


def change(file: Path) -> None:
    file.write_text(file.read_text().replace("10.0 if s[0] == 0", "20.0 if s[0] == 0"))
    os.utime(file, (1, 1))  # another time, whatever the file system's grain


def test_a_model_that_changes_while_bench_runs_stops_it(own: Path) -> None:
    def watch(row: Any, rows: Any) -> None:
        if row is not None and len(rows) == 3:
            change(own / "own.py")

    with pytest.raises(OptionError, match=r"own\.py:Walk has changed while .*Put it back"):
        bench(parse(TEXT.format(8), folder=own), own / "out", Inline, watch)
    rows = read_rows(own / "out")
    assert len(rows) == 3 and len({row["model"] for row in rows}) == 1
    own.joinpath("own.py").write_text(own.joinpath("own.py").read_text().replace("20.0 if s[0] == 0", "10.0 if s[0] == 0"))
    assert len({row["model"] for row in bench(parse(TEXT.format(8), folder=own), own / "out", Inline).values()}) == 1


def test_tables_of_mixed_models_are_refused(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = parse(TEXT.format(4), folder=own)
    rows = bench(spec, own / "out", Inline)
    with Store(own / "out") as store:
        store.append({**next(iter(rows.values())), "model": "another"})
    mixed = latest(own / "out")
    for use in (cell_summaries, differences, tables):
        with pytest.raises(StoredDataError, match="are of 2 models"):
            use(spec, mixed)
    with pytest.raises(StoredDataError, match="are of 2 models"):
        report(own / "out")
    for more in ([], ["--format", "csv"], ["--format", "csv", "--differences"]):
        assert main(["table", str(own / "out"), *more]) == 1
        assert "are of 2 models" in capsys.readouterr().err


def test_the_number_of_episodes_may_only_grow(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    bench(make_spec(episodes=5), tmp_path, Inline)
    with pytest.raises(OptionError, match=r"begun for more episodes of a.*may only grow"):
        bench(make_spec(episodes=3), tmp_path, Inline)


def test_an_episode_without_end_is_put_down_as_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    common = ["--episodes", "2", "--particles", "200", "--filter", "bootstrap", "--json", "--episode-timeout", "3"]
    assert main(["run", f"{tmp_path}/models.py:Endless", "random", *common]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["failures"] == 2


def test_a_timeout_names_itself(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec("[planners.a]\nplanner = 'tiny.py:Sleeping'\niterations = 5\npause = 600.0\n", episodes=1)
    runner = Pool(1, timeout=0.5)
    try:
        (task,) = spec.tasks()
        runner.submit(task)
        rows: list[Any] = []
        while not rows:
            rows = runner.collect(0.5)
        assert "it was not over after 0.5 s" in rows[0]["error"] and runner.free() == 1
    finally:
        runner.close()


def test_a_return_that_overflows_is_a_failed_row_and_the_rest_runs(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    text = "domains = ['models.py:Huge']\nepisodes = 8\nparticles = 20\nfilter = 'bootstrap'\n[planners.random]\n"
    rows = bench(parse(text, folder=tmp_path), tmp_path / "out", Inline).values()
    failed = [row["error"] for row in rows if "error" in row]
    assert 0 < len(failed) < len(rows) == 8
    assert all("Huge.step" in error and "reward 1.7e+308" in error for error in failed)


def test_markdown_shows_text_as_text() -> None:
    hostile = "<script>alert(1)</script>", "![x](javascript:1)", "a|b", "< 0.001", "</td>", "<!-- x"
    text = render([TextTable(hostile[0], ("name", *hostile[1:]), [hostile], [hostile[0]])], "markdown")
    assert not any(tag in text for tag in ("<script", "</", "<!--", "](")) and "< 0.001" in text and "a\\|b" in text


def test_files_that_are_none_are_refused_with_a_sentence(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep = own / "deep.toml"
    deep.write_text("x = " + "[" * 100_000)
    assert main(["bench", str(deep), "--out", str(own / "a")]) == 2
    folder = own / "folder"
    (folder / EPISODES).mkdir(parents=True)
    (folder / "spec.toml").write_text(TEXT.format(2))
    assert main(["table", str(folder)]) == 1
    (folder / "spec.toml").write_bytes(b"\xff\xfe\x00")
    assert main(["table", str(folder)]) == 2
    assert main(["table", str(own / "own.py")]) == 2
    assert "Traceback" not in capsys.readouterr().err
