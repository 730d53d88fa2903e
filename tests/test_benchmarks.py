"""The C++ yardstick does the same work as our kernels, to the last bit; two trees are compared pair by pair, each by itself."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import against
import flags
import measures
import peers
import sides
import startup
from against import Result, interval
from sides import ROOT, Side, Worker

# --- against C++ ---


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """`benchmarks/run.py`, which is a script and in no package."""
    spec = importlib.util.spec_from_file_location("benchmarks_run", ROOT / "benchmarks" / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def program(bench: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    built: Path | None = bench.build(tmp_path_factory.mktemp("reference"))
    if built is None:
        pytest.skip("no g++ to build benchmarks/reference.cpp with")
    return built


@pytest.mark.parametrize("draw", ["uniform", "normal", "integer", "reseed"])
def test_draws_agree(bench: ModuleType, program: Path, draw: str) -> None:
    bench.check(program, draw, 7, 200_000)  # enough normals to reach the tail beyond the ziggurat


@pytest.mark.parametrize("observed", ["", "+observe"])
@pytest.mark.parametrize("domain", ["light-dark", "tag", "rock-sample", "laser-tag"])
def test_rollouts_agree(bench: ModuleType, program: Path, domain: str, observed: str) -> None:
    for seed in range(3):
        bench.check(program, f"{domain}{observed}", seed, 300)


def test_disagreement_is_an_error(bench: ModuleType, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bench.MODELS, "light-dark", lambda: bench.LightDark(step_size=0.5))
    with pytest.raises(AssertionError, match="light-dark: ours gave"):
        bench.check(program, "light-dark", 0, 1000)


def test_no_compiler_is_no_program(bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert bench.build(tmp_path) is None


# --- against another tree ---

THIS = Side("this", ROOT, Path(sys.executable), Path(os.environ["AIROAS_CACHE_DIR"]))
FAKE = {  # an airoas that can do nothing but start up; its decision tells what it was given
    "__init__": """
        class Particles:
            sample = staticmethod(lambda model, n, rng: None)
        stream = lambda *key: None
    """,
    "catalog": """
        import os, pathlib
        def find_domain(reference):
            if reference == "tag":
                os._exit(7)
            file = pathlib.Path(reference.removesuffix(":MyModel"))
            return lambda seed: file.read_text() if file.exists() else reference
    """,
    "planners": """
        import os, types
        class AIROAS:
            def __init__(self, iterations): pass
            def plan(self, model, belief, rng):
                return types.SimpleNamespace(action=model, value=os.environ["AIROAS_CACHE_DIR"])
    """,
}


@pytest.fixture
def fake(tmp_path: Path) -> Side:
    package = tmp_path / "fake" / "src" / "airoas"
    package.mkdir(parents=True)
    for name, source in FAKE.items():
        (package / f"{name}.py").write_text(textwrap.dedent(source))
    return Side("fake", tmp_path / "fake", Path(sys.executable), tmp_path / "cache")


@pytest.mark.parametrize("n", range(1, 13))
def test_the_interval_has_the_confidence_it_says(n: int) -> None:
    """Values are above and below the median with even chances: over all ways to do so its share of hits is exactly that."""
    confidence = interval(range(n))[2]
    hits = 0
    for signs in itertools.product((-1, 1), repeat=n):
        low, high, _ = interval([sign * (i + 1) for i, sign in enumerate(signs)])
        hits += low <= 0 <= high
    assert confidence == hits / 2**n
    assert confidence >= 0.95 or n < 6


def test_the_interval_is_no_wider_than_it_must_be() -> None:
    assert interval(range(1, 16)) == (4, 12, 1 - 2 * (1 + 15 + 105 + 455) / 2**15)  # one rank more: 88 %


def given(work: int, seconds: float, outcome: str = "", unit: str = "trials") -> dict[str, Any]:
    return {"work": work, "seconds": seconds, "outcome": outcome, "unit": unit}


def rows(results: list[Result]) -> list[list[str]]:
    """The cells of the table that is printed."""
    console = Console(width=120, file=io.StringIO())
    console.print(against.table(results, (THIS, THIS)))
    lines = console.file.getvalue().splitlines()
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]


def test_a_ratio_above_one_is_a_faster_tree() -> None:
    assert Result("airoas tag", ((given(100, 1.0), given(100, 2.0)), (given(100, 1.0), given(50, 1.0)))).ratios == [2.0, 2.0]
    assert Result("start-warm tag", ((given(1, 3.0), given(1, 1.5)),)).ratios == [0.5]


def test_report_says_what_differs_and_what_cannot_be_compared() -> None:
    results = [
        Result("airoas tag", ((given(1000, 1.0, "a"), given(1000, 2.0, "b")),) * 6),
        Result("exact tag", ((given(10, 1.0), given(10, 0.5)),) * 6),
        Result("pomcp tag", ((given(10, 1.0), given(10, 1.0)),) * 6),
        Result("start-warm my_model", ((given(1, 2.0, unit="decisions"), given(1, 1.5, unit="decisions")),) * 6),
        Result("adaops tag", (), "other: there is no AdaOPS"),
    ]
    assert rows(results) == [
        ["airoas tag *", "1,000", "500", "2.000", "2.000 to 2.000", "faster"],
        ["exact tag", "10.0", "20.0", "0.500", "0.500 to 0.500", "slower"],
        ["pomcp tag", "10.0", "10.0", "1.000", "1.000 to 1.000", ""],
        ["start-warm my_model", "2.00 s", "1.50 s", "0.750", "0.750 to 0.750", "slower"],
        ["adaops tag", "", "", "n/a", "", ""],
    ]
    kept = json.loads(json.dumps(against.saved(results, (THIS, THIS), [{}, {}])))["results"]
    assert [entry["problem"] for entry in kept] == ["", "", "", "", "other: there is no AdaOPS"]
    assert kept[0]["ratio"] == 2.0 and kept[0]["interval"] == [2.0, 2.0] and not kept[0]["same"] and kept[1]["same"]


def test_few_pairs_give_no_verdict() -> None:
    assert rows([Result("airoas tag", ((given(2, 1.0), given(1, 1.0)),) * 5)])[0][-1] == ""


def test_both_sides_measure_by_turns_in_every_pair() -> None:
    ticks: list[str] = []
    names = ["exact tag", "bootstrap-100 tag"]
    results = against.compare((THIS, THIS), names, 2, ticks.append)
    assert ticks == names * 3  # one round before the clock counts
    assert [result.name for result in results] == names
    for result in results:
        assert result.problem == "" and len(result.pairs) == 2 and result.same  # the same tree does the same to the last bit
        assert len({json.dumps({**answer, "seconds": 0}) for pair in result.pairs for answer in pair}) == 1
        assert all(answer["seconds"] > 0 and answer["unit"] == "updates" for pair in result.pairs for answer in pair)
        assert all(ratio > 0 for ratio in result.ratios)


def test_who_begins_changes_from_pair_to_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Noting(Worker):
        def ask(self, name: str, salt: float) -> dict[str, Any]:
            asked.append(self._side.name)
            return given(1, 1.0, str(salt))

    monkeypatch.setattr(against, "Worker", Noting)
    results = against.compare((THIS._replace(name="a"), THIS._replace(name="b")), ["x"], 3, lambda name: None)
    assert "".join(asked) == "baabbaab"
    assert results[0].same  # a pair's sides have the same salt


def test_what_one_side_cannot_do_is_said(fake: Side) -> None:
    results = against.compare((THIS, fake), ["exact laser-tag", "exact tag"], 1, lambda name: None)
    assert results[0].pairs == results[1].pairs == ()
    assert results[0].problem == "fake: AttributeError: 'str' object has no attribute 'initial'"
    assert results[1].problem == "fake: the process ended with 7: it said nothing"


def test_a_worker_that_died_is_replaced(fake: Side) -> None:
    with contextlib.closing(Worker(fake)) as worker:
        assert "ended with 7" in worker.ask("airoas tag", 0.0)["problem"]
        assert worker.ask("start-warm my_model", 0.0)["work"] == 1


def test_a_tree_that_does_not_start_is_the_end(tmp_path: Path) -> None:
    (tmp_path / "src" / "airoas").mkdir(parents=True)
    (tmp_path / "src" / "airoas" / "__init__.py").write_text("import no_such_package")
    with pytest.raises(SystemExit, match=r"old does not run: the process ended with 1: ModuleNotFoundError.*\n.*--python"):
        against.about(Side("old", tmp_path, Path(sys.executable), tmp_path / "cache"))


def test_another_airoas_is_not_measured_in_its_place(tmp_path: Path, fake: Side) -> None:
    """As where an environment has one and the tree is not what it should be."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "src").symlink_to(fake.tree / "src")
    with contextlib.closing(Worker(fake._replace(tree=tree))) as worker:
        assert "not the one in" in worker.ask("start-warm my_model", 0.0)["problem"]


def test_start_up_is_warm_empty_or_edited(fake: Side) -> None:
    def outcome(name: str, salt: float) -> str:
        answer = worker.ask(name, salt)
        assert answer["unit"] == "decisions" and answer["seconds"] > 0.0
        return str(answer["outcome"])

    with contextlib.closing(Worker(fake)) as worker:
        warm = outcome("start-warm my_model", 0.01)
        assert outcome("start-warm my_model", 0.02) == warm  # the same file and cache
        edited = outcome("start-edited my_model", 0.01)
        assert outcome("start-edited my_model", 0.01) == edited != warm
        assert outcome("start-edited my_model", 0.02) not in (warm, edited)
        assert outcome("start-warm light-dark-1.0", 0.01) == outcome("start-warm light-dark-1.0", 0.01)
        assert outcome("start-empty light-dark-1.0", 0.01) != outcome("start-empty light-dark-1.0", 0.01)  # each has a cache of its own


def test_every_cell_has_a_measurement() -> None:
    planners, filters = list(measures.ITERATIONS), ["bootstrap-100", "bootstrap-10000", "annealed-100", "annealed-10000", "exact"]
    assert planners == list(measures.PLANNERS)
    starts = {"start-warm light-dark-1.0", "start-empty light-dark-1.0", "start-warm my_model", "start-edited my_model"}
    assert set(measures.MEASURES) == {f"{what} {domain}" for what in planners + filters for domain in measures.DOMAINS} | starts


def test_a_revision_is_unpacked_without_its_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    for name in ("src/airoas/__init__.py", "results/rows.jsonl", "pyproject.toml"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(name)
    author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "--quiet"], ["add", "."], [*author, "commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", "-C", repository, *command], check=True)
    monkeypatch.setattr(sides, "ROOT", repository)
    monkeypatch.setattr(sides, "BUILD", tmp_path / "build")
    (repository / "pyproject.toml").write_text("changed since")
    side = sides.revision("HEAD", sides.git("rev-parse", "HEAD"), Path(sys.executable), print)
    assert sorted(str(file.relative_to(side.tree)) for file in side.tree.rglob("*") if file.is_file()) == [
        "pyproject.toml",
        "src/airoas/__init__.py",
    ]
    assert (side.tree / "pyproject.toml").read_text() == "pyproject.toml"
    assert side.cache != sides.this_tree("this").cache
    with pytest.raises(SystemExit, match="Name a revision that this repository has"):
        sides.git("rev-parse", "--verify", "no-such-branch^{commit}")


def test_a_pattern_that_matches_nothing_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["against.py", "HEAD", "--only", "tagg"])
    with pytest.raises(SystemExit):
        against.main()
    assert "no measurement matches 'tagg'; there are: airoas tag" in capsys.readouterr().err


# --- flags ---


def test_a_map_of_flags_takes_at_most_twice_the_time_of_packed_bits() -> None:
    assert flags.ratio(particles=500, steps=100, runs=9) < 2.0


# --- start-up ---


def test_an_edit_is_compiled_and_a_second_process_finds_it(tmp_path: Path) -> None:
    startup.fill("pomcp", THIS.cache)  # of all tests: some of them have done most of it
    seconds = startup.measured(startup.SUBJECTS["README's model"], "pomcp", THIS.cache, tmp_path)
    assert seconds["warm"] < min(seconds["new"], seconds["edited"]) and max(seconds["new"], seconds["edited"]) < seconds["empty"]


def test_every_constant_to_edit_is_in_its_file() -> None:
    assert all(subject.constant in subject.file.read_text() for subject in startup.SUBJECTS.values())


# --- beside pomdp-py ---


def test_without_pomdp_py_nothing_is_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["peers.py"])
    assert peers.main() == 0
    assert "pip install 'airoas[peers]'. Nothing is compared." in capsys.readouterr().out


def test_our_side_plays_the_problem_of_pomdp_py() -> None:
    """A decision for each step, and what was earned; a line without episodes is shown as such."""
    problem = peers.PROBLEMS[0]._replace(steps=4)
    line = peers.Played(problem.name, peers.OURS, "Python")
    peers.play_ours(problem, line, 0.002, seed=1)
    assert len(line.overshoots) == 4 and len(line.returns) == 1
    assert line.simulations > 4 and line.seconds > 0.0
    text = io.StringIO()
    Console(file=text, width=200).print(peers.table([line, peers.Played("Tiger", "pomdp-py POMCP", "Python", failures=["lost"])], 0.002))
    rows = [[cell.strip() for cell in row.split("│")[1:-1]] for row in text.getvalue().splitlines() if "Tiger" in row]
    assert rows[0][:4] == ["Tiger", "airoas POMCP", "Python", "1"]
    assert rows[1] == ["Tiger", "pomdp-py POMCP", "Python", "0", "1", "-", "-", "-"]
