"""Adjusted returns: less noise, the same mean, for every value function; kept with the rows that they are of."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airoas
from airoas.bounds import find_bounds
from airoas.catalog import find_domain
from airoas.cli import main
from airoas.domains import LightDark, LightDark2D, RockSample, Tag, Tiger
from airoas.episode import simulate
from airoas.errors import OptionError
from airoas.experiments.analysis.control_variate import adjust_rows, adjusted_folder, adjusted_return, with_adjusted_returns
from airoas.experiments.analysis.value_functions import AlphaVectorValues, StateValues, ValueFunction, value_function
from airoas.experiments.rows.slim import slim
from airoas.experiments.rows.store import EPISODES, PACKED, Lock, Store, latest, pack_folder
from airoas.experiments.rows.types import Row
from airoas.experiments.run.bench import bench
from airoas.experiments.run.play import record
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.reading import parse
from airoas.planners import PBVI, QMDP, Decision, Random

ROOT = Path(__file__).parents[2]
ROCKS = RockSample(5, ((1, 1), (3, 0), (2, 4)))


def played(model: Any, planner: Any, seeds: range, max_steps: int | None = None, filter: str = "exact") -> list[Row]:
    return [record(simulate(model, planner, seed, filter, particles=100, max_steps=max_steps)) | {"seed": seed} for seed in seeds]


def zero(model: Any) -> ValueFunction:
    return StateValues(model, None)


def fully_observable(model: Any) -> ValueFunction:
    return StateValues(model, find_bounds(model, (0.0, "qmdp")))


@pytest.mark.law
@pytest.mark.parametrize(
    ("make", "model", "planner", "max_steps", "filter"),
    [
        (zero, LightDark(), QMDP(), None, "exact"),
        (zero, LightDark(), QMDP(), None, "bootstrap"),
        (fully_observable, ROCKS, Random(), None, "exact"),
        (fully_observable, ROCKS, QMDP(), 6, "exact"),
        (value_function, Tiger(), Random(), 20, "exact"),
        (value_function, Tiger(), PBVI(), 20, "exact"),
    ],
    ids=["LightDark", "LightDark by particles", "rocks at random", "rocks cut short", "Tiger at random", "Tiger solved"],
)
def test_the_mean_stays_and_the_spread_falls(
    make: Callable[[Any], ValueFunction], model: Any, planner: Any, max_steps: int | None, filter: str
) -> None:
    """A false alarm in any of the cases: 2 in 10,000, the share of a normal beyond 4.2 deviations six times."""
    known = make(model)
    rows = played(model, planner, range(120), max_steps, filter)
    earned = np.array([row["discounted_return"] for row in rows])
    adjusted = np.array([adjusted_return(model, known, row) for row in rows])
    taken = earned - adjusted
    assert abs(taken.mean()) < 4.2 * taken.std(ddof=1) / math.sqrt(len(taken))
    assert taken.std() > 0.1 * earned.std()  # there was some
    if not isinstance(planner, Random):  # what a planner's own dice do is none of what V foresees
        assert adjusted.std() < earned.std()


def test_a_solved_problem_keeps_no_noise() -> None:
    """Whoever follows the alpha vectors of value iteration loses nothing by it, and returns that spread over 30 points become one."""
    model = Tag()
    known = value_function(model)
    adjusted = [adjusted_return(model, known, row) for row in played(model, PBVI(), range(10))]
    start = known.value(next(simulate(model, PBVI(), 0, "exact").beliefs()))
    assert np.allclose(adjusted, start, atol=0.05)


@pytest.mark.parametrize(
    ("make", "model"),
    [(value_function, Tiger()), (value_function, Tag()), (fully_observable, Tiger()), (fully_observable, Tag()), (value_function, ROCKS)],
    ids=["Tiger solved", "Tag solved", "Tiger observable", "Tag observable", "rocks observable"],
)
def test_q_is_the_mean_of_what_may_follow(make: Callable[[Any], ValueFunction], model: Any) -> None:
    """By listing: every successor of every state of the belief, every observation there, and V at the exact belief after it."""
    known, belief = make(model), airoas.Particles.exact(model)
    for action in range(model.n_actions):
        total, arrived = 0.0, {}
        for row, weight in zip(belief.states, belief.weights, strict=True):
            for s2, p, reward in outcomes(model, model.from_row("state", row), action):
                total += weight * p * reward
                arrived[s2] = arrived.get(s2, 0.0) + weight * p
        live = {s2: mass for s2, mass in arrived.items() if mass > 0.0 and not model.is_terminal(s2)}
        rng = airoas.stream(3, "observations")
        for o in {model.observe(s2, action, rng) for s2 in live for _ in range(8)}:
            probability = sum(mass * math.exp(model.obs_logpdf(o, s2, action)) for s2, mass in live.items())
            after = airoas.update(model, belief, action, o, airoas.stream(0), "exact")
            total += model.discount * probability * known.value(after)
        value, action_value = known.values(belief, action, 0)
        assert action_value == pytest.approx(total, abs=1e-8)
        assert value == pytest.approx(known.value(belief), abs=1e-12)


def outcomes(model: Any, s: Any, action: int) -> Iterator[tuple[Any, float, float]]:
    """The states that an action leads to, each with its probability and reward. Rocks stay what they are, and moves are certain."""
    if not model.is_finite:
        s2, reward = model.step(s, action, airoas.stream(0))
        yield s2, 1.0, reward
        return
    left = 1.0
    for k in itertools.count():
        s2, p = model.successor(s, action, k)
        yield s2, p, model.reward(s, action)
        left -= p
        if left < 1e-12:
            return


def test_the_value_function_follows_from_the_model() -> None:
    expected = {
        "tiger": AlphaVectorValues,
        "tag": AlphaVectorValues,
        "laser-tag": StateValues,
        "rock-sample-11-11": StateValues,
        "light-dark-1.0": StateValues,
    }
    names = {}
    for domain, kind in expected.items():
        known = value_function(find_domain(domain)(0))
        assert isinstance(known, kind)
        names[domain] = known.name
    assert names["light-dark-1.0"] == "V = 0"
    assert names["laser-tag"] == names["rock-sample-11-11"] == "the value of the fully observable problem"
    with pytest.raises(OptionError, match="LightDark2D has no exact filter"):
        value_function(LightDark2D())


def test_another_world_is_noticed() -> None:
    (row,) = played(ROCKS, QMDP(), range(1))
    known = fully_observable(ROCKS)
    with pytest.raises(OptionError, match="world of seed 0"):
        adjusted_return(ROCKS, known, row | {"discounted_return": 1.0})


class Recorded:
    """A planner that does what it is told."""

    def __init__(self, actions: tuple[int, ...]) -> None:
        self.actions = iter(actions)

    def plan(self, model: Any, belief: Any, rng: Any) -> Decision:
        return Decision(next(self.actions), float("nan"))


def test_folders_that_share_ids_have_their_own(tmp_path: Path) -> None:
    """Versions of a planner run the same episodes and act otherwise: ids, seeds and now and then returns are equal."""
    text = "domains = ['light-dark-1.0']\nepisodes = 12\nseed = 900000\nfilter = 'exact'\n[planners.airoas]\nseconds = 0.1\n"
    tasks = parse(text, check=False).tasks()
    folders = []
    for name, actions in (("first", (0, 1)), ("second", (2, 1))):  # a step to either side, then stop
        with Store(tmp_path / name) as store:
            store.describe(text)
            for task in tasks:
                told = record(simulate(LightDark(), Recorded(actions), task["seed"], "exact"))
                times = told["times"] | {"started": "2026-01-01T00:00:00+0000", "seconds": 1.0}
                store.append(slim(task | {"version": airoas.__version__, "machine": {"cpu": "none"}} | told | {"times": times}))
        rows, remarks = adjusted_folder(tmp_path / name)
        assert remarks == [] and latest(tmp_path / name) == rows
        folders.append(rows)
    first, second = folders
    known = zero(LightDark())
    for rows in folders:
        assert rows.keys() == {task["id"] for task in tasks}
        for row in rows.values():
            assert row["adjusted"] == pytest.approx(adjusted_return(LightDark(), known, row), abs=1e-6)
    equal = [key for key in first if first[key]["discounted_return"] == second[key]["discounted_return"]]
    assert equal
    assert all(first[key]["adjusted"] != second[key]["adjusted"] for key in equal)  # id and return would not tell them apart


TEXT = "domains = ['light-dark-1.0']\nepisodes = 3\nfilter = 'exact'\n[planners.qmdp]\n[planners.random]\n"


@pytest.mark.parametrize("full", [False, True])
def test_they_stay_with_their_rows(tmp_path: Path, full: bool) -> None:
    """An episode that is run again has none until it is worked out, nothing is worked out twice, and nothing else changes."""
    before = bench(parse(TEXT), tmp_path, Inline, full=full)
    rows, remarks = adjusted_folder(tmp_path)
    assert remarks == []
    assert rows == latest(tmp_path) == {key: row | {"adjusted": rows[key]["adjusted"]} for key, row in before.items()}
    assert (tmp_path / EPISODES).exists() and not (tmp_path / PACKED).exists()
    again, *others = before
    with Store(tmp_path) as store:
        for key in others:
            store.append(rows[key] | {"adjusted": 7.0})
        store.append(before[again])
    assert "adjusted" not in latest(tmp_path)[again]
    once_more, _ = adjusted_folder(tmp_path)
    assert [once_more[key]["adjusted"] for key in before] == [rows[again]["adjusted"], *[7.0] * len(others)]
    pack_folder(tmp_path)
    assert {key: row["adjusted"] for key, row in latest(tmp_path).items()} == {key: row["adjusted"] for key, row in once_more.items()}
    adjusted_folder(tmp_path)
    assert (tmp_path / PACKED).exists() and not (tmp_path / EPISODES).exists()


def test_lines_with_them_are_short(tmp_path: Path) -> None:
    bench(parse(TEXT), tmp_path, Inline)
    before = (tmp_path / EPISODES).stat().st_size
    rows, _ = adjusted_folder(tmp_path)
    assert (tmp_path / EPISODES).stat().st_size < before + 30 * len(rows)
    with Store(tmp_path) as store:  # and it goes on
        store.append(next(iter(rows.values())) | {"id": "f" * 16})
    assert latest(tmp_path) == rows | {"f" * 16: next(iter(rows.values())) | {"id": "f" * 16}}


def test_a_folder_that_cannot_be_written_to_is_shown_all_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bench(parse(TEXT), tmp_path, Inline)
    whole = (tmp_path / EPISODES).read_bytes()
    lock = Lock(tmp_path)
    rows, remarks = adjusted_folder(tmp_path)
    lock.release()
    assert remarks == [] and all("adjusted" in row for row in rows.values())
    assert (tmp_path / EPISODES).read_bytes() == whole
    assert any("adjusted returns are not kept in" in message for message in caplog.messages)


def test_what_is_done_is_kept_where_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airoas.experiments.analysis import control_variate

    bench(parse(TEXT), tmp_path, Inline)
    real, calls = control_variate.adjusted_return, itertools.count()

    def stopped(*arguments: Any) -> float:
        if next(calls) == 4:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(control_variate, "adjusted_return", stopped)
    with pytest.raises(KeyboardInterrupt):
        adjusted_folder(tmp_path)
    assert sum("adjusted" in row for row in latest(tmp_path).values()) == 4


def test_rows_that_cannot_have_one_are_named_with_the_reason() -> None:
    text = "domains = ['light-dark-1.0']\nepisodes = 3\nfilter = 'exact'\n[planners.qmdp]\n"
    tasks = parse(text).tasks()
    episodes = [simulate(LightDark(), QMDP(), task["seed"], "exact") for task in tasks]

    def rows(**more: Any) -> list[Row]:
        current = {"version": airoas.__version__}
        return [task | current | record(episode) | more for task, episode in zip(tasks, episodes, strict=True)]

    def remark(rows: list[Row]) -> str:
        (sentence,) = adjust_rows(rows)
        assert sentence.startswith("No adjusted return for 3 episodes of ") and not any("adjusted" in row for row in rows)
        return sentence

    assert "which does not see the worlds of 0.0.1 again" in remark(rows(version="0.0.1"))
    assert "the model has changed" in remark(rows(model="another"))
    assert "their worlds are others now" in remark(rows(discounted_return=0.123))
    elsewhere: dict[str, Any] = {"model": "another", "machine": {"python": "3.0.1"}}  # its fingerprints are others
    assert adjust_rows(rows(**elsewhere)) == []
    assert "their worlds are others now" in remark(rows(**elsewhere, discounted_return=0.123))
    assert "has no exact filter" in remark(rows(domain="light-dark-2d"))
    stored = rows(version="0.0.1", adjusted=1.5)  # of another version, and worked out by it
    assert adjust_rows(stored) == [] and {row["adjusted"] for row in stored} == {1.5}
    assert adjust_rows([{"id": "x", "error": "lost"}]) == []


def test_returns_give_way_to_adjusted_ones_by_domain() -> None:
    rows: dict[str, Row] = {
        "a": {"domain": "one", "discounted_return": 1.0, "adjusted": 5.0},
        "b": {"domain": "one", "discounted_return": 2.0},
        "c": {"domain": "two", "discounted_return": 3.0},
    }
    adjusted = with_adjusted_returns(rows)
    assert {key: row["discounted_return"] for key, row in adjusted.items()} == {"a": 5.0, "c": 3.0}
    assert rows["a"]["discounted_return"] == 1.0


WALK = """
import math
from typing import NamedTuple

import airoas


@airoas.model
class Guess(NamedTuple):
    \"\"\"Listen, or say which of two it is; finite, with an exact belief, and without anything else.\"\"\"

    discount: float = 0.9

    @property
    def max_steps(self):
        return 6

    def actions(self):
        return ("listen", "zero", "one")

    def initial(self, rng):
        return rng.integer(2), 0

    def step(self, s, a, rng):
        if a == 0:
            return s, -1.0 + 0.5 * rng.normal()
        return (s[0], 1), 10.0 if a - 1 == s[0] else -20.0

    def observe(self, s, a, rng):
        return (s[0] if rng.uniform() < 0.8 else 1 - s[0],)

    def obs_logpdf(self, o, s, a):
        return math.log(0.8 if o[0] == s[0] else 0.2)

    def is_terminal(self, s):
        return s[1] > 0

    def exact_initial(self):
        return [[0, 0], [1, 0]], [0.5, 0.5]

    def exact_update(self, states, log_weights, a, o):
        import numpy as np

        likelihood = np.log(np.where(states[:, 0] == o[0], 0.8, 0.2))
        posterior = log_weights + likelihood
        return states, posterior - np.log(np.exp(posterior).sum())
"""


def test_a_model_of_the_users_own_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With random rewards, of which only draws are known: the mean must stay. A false alarm: 3 in 100,000."""
    (tmp_path / "guess.py").write_text(WALK)
    out = tmp_path / "out"
    assert main(["run", f"{tmp_path}/guess.py:Guess", "random", "--episodes", "150", "--out", str(out)]) == 0
    assert main(["table", str(out)]) == 0
    assert "adjusted" not in capsys.readouterr().out
    assert main(["table", str(out), "--adjusted", "--format", "markdown"]) == 0
    said = capsys.readouterr().out
    assert "adjusted ± SEM" in said and "its 95 % interval" in said and "a control variate takes out" in said
    rows = airoas.load(out)
    taken = np.array([row["discounted_return"] - row["adjusted"] for row in rows])
    assert abs(taken.mean()) < 4.2 * taken.std(ddof=1) / math.sqrt(len(taken))
    assert main(["table", str(out), "--adjusted", "--format", "csv"]) == 0
    header, line = capsys.readouterr().out.splitlines()
    values = dict(zip(header.split(","), line.split(","), strict=False))
    assert float(values["adjusted_mean"]) == pytest.approx(np.mean([row["adjusted"] for row in rows]))
    assert int(values["adjusted_episodes"]) == 150


def test_the_report_and_several_folders_have_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = []
    for planner in ("qmdp", "random"):
        folders.append(str(tmp_path / planner))
        assert main(["run", "light-dark-1.0", planner, "--episodes", "4", "--out", folders[-1]]) == 0
    capsys.readouterr()
    assert main(["table", *folders, "--adjusted"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "differences of adjusted returns on the same worlds" in said
    assert main(["report", folders[0], "--adjusted", "-o", str(tmp_path / "page.html")]) == 0
    assert "adjusted ± SEM" in (tmp_path / "page.html").read_text()
    assert main(["report", folders[0], "-o", str(tmp_path / "page.html")]) == 0
    assert "adjusted ± SEM" not in (tmp_path / "page.html").read_text()


def test_a_domain_without_an_exact_filter_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--episodes", "2", "--max-steps", "2", "--filter", "bootstrap", "--particles", "50"]
    assert main(["run", "light-dark-2d", "random", *options, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["table", str(tmp_path), "--adjusted"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No adjusted return for 2 episodes of light-dark-2d: LightDark2D has no exact filter" in said
    assert "return ± SEM" in said and "adjusted ± SEM" not in said  # no column without a value


def test_every_reported_episode_has_its_own() -> None:
    """Those of a random planner are long and told apart from others without it; light-dark-2d has no exact filter."""
    for name in ("literature", "budgets", "paper", "factorial"):
        for row in latest(ROOT / "results" / name).values():
            wanted = "error" not in row and row["planner"] != "random" and row["domain"] != "light-dark-2d"
            assert wanted == ("adjusted" in row)
            json.dumps(row, allow_nan=False)
