"""What is kept of learning: more time learns more and less time nothing, processes learn once, a kill leaves nothing half."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import airoas
from airoas import Particles, stream
from airoas.bounds import store
from airoas.catalog import find_domain
from airoas.cli import main
from airoas.experiments.analysis.summary import summarise
from airoas.experiments.analysis.weakness import weaknesses
from airoas.experiments.run.bench import in_memory
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.building import build
from airoas.planners import AIROAS, FittedQ
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


@pytest.mark.parametrize(("spent", "left"), [(0.0, 10.0), (4.0, 6.0), (30.0, 5.0)])
def test_time_that_went_into_values_is_time_to_learn(spent: float, left: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the time is for the policy in any case; who asks for as many seconds again has had them."""
    allowed = []

    def learn(model: Any, seconds: float, *rest: Any) -> learned.Learned:
        allowed.append(seconds)
        return learned.Learned(None, 1, "", seconds=seconds)

    monkeypatch.setattr(learned, "learn", learn)
    monkeypatch.setattr(learned, "seconds_spent", lambda model: spent)
    assert learned.prepare(MODEL, 10.0).seconds == 10.0
    learned.prepare(MODEL, 10.0)
    assert allowed == [left]


def test_what_values_take_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_spent", {})
    monkeypatch.setattr(store, "read_clock", iter([1.0, 3.5]).__next__)
    store.learned(MODEL, "some values", dict)
    assert store.seconds_spent(MODEL) == 2.5


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
    stale: dict[str, Any] = dict(learned._known)
    more = learned.prepare(MODEL, 1000.0)
    monkeypatch.setattr(learned, "_known", stale)  # as in a process that has not heard of it
    monkeypatch.setattr(learned, "learn", lambda *_: pytest.fail("it was learned again"))
    assert learned.prepare(MODEL, 1000.0).digest == more.digest


def test_a_policy_from_a_file_is_not_learned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned.save(learned.learn(MODEL, 1e-6), MODEL, tmp_path / "policy.npz")
    FittedQ().load(MODEL, tmp_path / "policy.npz")
    monkeypatch.setattr(learned, "learn", lambda *_: pytest.fail("it was learned again"))
    FittedQ(learn_seconds=1000.0).prepare(MODEL)


HARBOUR = """
import math
from typing import NamedTuple

import airoas


class Ship(NamedTuple):
    x: float
    over: bool


@airoas.model
class Harbour(NamedTuple):
    discount: float = 0.9
    wind: float = 0.3
    max_steps: int = 10

    def actions(self):
        return ("east", "west", "anchor")

    def initial(self, rng):
        return Ship(4.0 * rng.uniform() - 2.0, False)

    def step(self, s, a, rng):
        if a == 2:
            return Ship(s.x, True), 10.0 if abs(s.x) < 0.5 else -10.0
        return Ship(s.x + (1.0 - 2.0 * a) * 0.5 + self.wind * rng.normal(), False), -1.0

    def observe(self, s, a, rng):
        return (s.x + rng.normal(),)

    def obs_logpdf(self, o, s, a):
        return -0.5 * (o[0] - s.x) * (o[0] - s.x)

    def is_terminal(self, s):
        return s.over
"""


def harbour(folder: Path, *edits: tuple[str, str]) -> Any:
    """The model in a file of the user's, as it is after some edits."""
    text = HARBOUR
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    (folder / "harbour.py").write_text(text)
    return find_domain(f"{folder / 'harbour.py'}:{'Port' if 'class Port' in text else 'Harbour'}")(0)


def test_an_edited_model_starts_from_the_last_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = learned.prepare(harbour(tmp_path), 1000.0)
    assert first.began == "" and first.policy == "learned"
    edited = harbour(tmp_path, ("-1.0\n", "-1.5\n"))
    partly = learned.prepare(edited, 1e-6)
    assert (partly.rounds, partly.began) == (1, first.digest) and {name for name in partly.returns if "filter" not in name} == {
        "learned",
        "earlier",
        "qmdp",
        "blind",
        "voting",
    }
    assert partly.policy in ("learned", "earlier")
    whole = learned.prepare(edited, 1000.0)  # from where it began before, not from itself
    again = learned.learn(edited, 1000.0, start=first.correction)
    assert (whole.rounds, whole.began, whole.digest) == (2, first.digest, again.digest)
    belief = Particles.sample(edited, 50, stream(0))
    for planner in (FittedQ(), AIROAS(iterations=2, policy="always")):
        assert planner.plan(edited, belief, stream(0)).stats.notes["began"] == first.digest
    monkeypatch.setattr(learned, "_known", {})
    kept = learned.find_learned(edited)
    assert kept is not None and (kept.digest, kept.began, learned._digest(kept.start)) == (whole.digest, first.digest, first.digest)


def test_only_an_edit_of_the_same_model_starts_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not other parameters, another class, other actions, and nothing on a machine that has not seen the model."""
    model = harbour(tmp_path)
    learned.prepare(model, 1000.0)
    assert learned.prepare(model._replace(wind=0.2), 1e-6).began == ""
    edit = ("-1.0\n", "-1.5\n")
    assert learned.prepare(harbour(tmp_path, edit, ("class Harbour", "class Port")), 1e-6).began == ""
    assert learned.prepare(harbour(tmp_path, edit, ('"anchor")', '"anchor", "wait")')), 1e-6).began == ""
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    monkeypatch.setattr(store, "folder", lambda: fresh)
    assert learned.prepare(harbour(tmp_path, edit), 1e-6).began == ""


@pytest.mark.parametrize("damage", [{"child": 10**6}, {"first": 99}, {"cut": float("nan")}, {"values": None}, {"fingerprint": None}])
def test_a_damaged_policy_is_no_start(damage: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned.prepare(harbour(tmp_path), 1e-6)
    edited, load = harbour(tmp_path, ("-1.0\n", "-1.5\n")), store._load

    def damaged(path: Path) -> Any:
        arrays = load(path)
        for name, value in damage.items() if arrays and "fingerprint" in arrays else ():
            if value is None:
                del arrays[name]
            else:
                arrays[name].reshape(-1)[0] = value
        return arrays

    monkeypatch.setattr(store, "_load", damaged)
    assert learned.prepare(edited, 1e-6).began == ""


def test_what_was_better_before_an_edit_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = harbour(tmp_path)
    first = learned.learn(model, 1000.0)
    monkeypatch.setattr(learned, "ROUNDS", (20,))
    monkeypatch.setattr(learned, "validate", lambda _, forest, *__: ({"learned": (9.0 if forest is first.correction else 1.0, 0.1)}, 0))
    known = learned.learn(model, 1000.0, start=first.correction)
    assert (known.policy, known.digest, known.correction) == ("earlier", first.digest, first.correction)
    assert learned.policy_of(model, known).corrected


def test_too_many_actions_to_learn_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, in place of a promise to learn; a plan does not ask for what cannot be; and the run says it."""
    monkeypatch.setattr(learned, "MOST_ACTIONS", 2)
    monkeypatch.setattr(learned, "collect", lambda *_: pytest.fail("it was learned"))
    monkeypatch.setattr(learned, "validate", lambda *_: ({"qmdp": (1.0, 0.1), "blind": (0.0, 0.1)}, 0))
    model = harbour(tmp_path, ("max_steps: int = 10", "max_steps: int = 3"))
    planner = AIROAS(iterations=2, policy="always", learn_seconds=1.0)
    for _ in range(2):
        planner.prepare(model)
        FittedQ().prepare(model)
    decision = planner.plan(model, Particles.sample(model, 50, stream(0)), stream(0))
    assert [record.message for record in caplog.records if "olicy" in record.message] == [
        "No policy is learned for Harbour, qmdp leads: it has 3 actions, more than 2."
    ]
    assert decision.stats.notes["policy"] == "qmdp, 0 rounds, "
    spec = build({"title": "", "episodes": 1, "domains": [f"{tmp_path / 'harbour.py'}:Harbour"], "planners": {"fitted-q": {}}}, tmp_path)
    (sentence,) = weaknesses(summarise("harbour", "fitted-q", in_memory(spec, Inline).values()))
    assert "no policy is learned where actions are so many, and QMDP leads" in sentence


def test_learning_says_how_far_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a program that has set up no log, too, which hears warnings alone; nothing of the rounds where they are over in two seconds."""
    model = harbour(tmp_path, ("max_steps: int = 10", "max_steps: int = 4"))
    said = []
    for quiet, prepare in ((0.0, airoas.Agent(model, FittedQ(), seed=0).prepare), (1000.0, lambda: FittedQ().prepare(model))):
        monkeypatch.setattr(learned, "_known", {})
        monkeypatch.setattr(learned, "QUIET", quiet)
        monkeypatch.setattr(learned, "_what", lambda values, quiet=quiet: f"policy {quiet}")
        caplog.clear()
        prepare()
        lines = [record for record in caplog.records if record.message.startswith(("learning", "Harbour: "))]
        assert {record.levelname for record in lines} == {"WARNING"}
        said.append([record.message.partition(" (")[0] for record in lines])
    first = "learning a policy for Harbour, up to 21 s; it is kept for later runs"
    rounds = "learning, round 1 of 2", "learning, round 2 of 2"
    doing = (*rounds, "looking for where much is told", "validating the policy", "playing with the filter")
    assert said == [
        [
            first,
            *(f"Harbour: {what}" for what in (*doing, "measuring how long rollouts should be", "measuring whether repeated actions gain")),
        ],
        [first],
    ]


def test_workers_say_it(capfd: pytest.CaptureFixture[str]) -> None:
    command = ["run", "bare-light-dark-1.0(discount=0.94)", "fitted-q", "--episodes", "2", "--particles", "50", "--learn", "1e-3"]
    assert main([*command, "--jobs", "2"]) == 0
    assert capfd.readouterr().err.count(LEARNING) == 1  # two processes learn once


LEARN = """
import sys
from airoas.catalog import find_domain
from airoas.policies import learned
learned.ROUNDS, learned.QUIET = (300,) * int(sys.argv[2]), 0.0
model = find_domain(f"bare-light-dark-1.0(discount={sys.argv[1]})")(0)
print(learned.prepare(model, 1000.0).digest)
"""


def start_learning(discount: float, rounds: int) -> subprocess.Popen[str]:
    """In a process of its own, in the cache that all of them share; what it logs, and then the digest."""
    command = [sys.executable, "-c", LEARN, str(discount), str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_learn_once() -> None:
    told = [process.communicate(timeout=300) for process in [start_learning(0.93, 2) for _ in range(2)]]
    assert sum(log.count(LEARNING) for _, log in told) == 1
    assert told[0][0] == told[1][0] != "\n"


def test_a_kill_in_the_middle_leaves_nothing_half(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no file, nobody is waited for, and the next one learns what an undisturbed one does."""
    model = find_domain("bare-light-dark-1.0(discount=0.92)")(0)
    path = store._path(model, learned._what())
    assert path is not None
    with start_learning(0.92, 100) as killed:
        assert killed.stderr is not None
        assert any("round 2 of" in line for line in killed.stderr)
        killed.kill()
    assert not (Path(os.environ["AIROAS_CACHE_DIR"]) / path.name).exists()
    digest, log = start_learning(0.92, 2).communicate(timeout=300)
    assert LEARNING in log and (Path(os.environ["AIROAS_CACHE_DIR"]) / path.name).exists()
    monkeypatch.setattr(learned, "ROUNDS", (300, 300))
    assert digest.strip() == learned.learn(model, 1000.0).digest


PEAK = """
from pathlib import Path
from airoas.catalog import find_domain
from airoas.policies import learned
learned._PARTICLES = 20
known = learned.learn(find_domain("vdp-tag")(0), 1e6)
assert known.seconds == float("inf"), known.rounds  # every round that there is memory for
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])  # of ru_maxrss the parent's is part
"""


@pytest.mark.law
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")
def test_learning_fits_in_a_gigabyte() -> None:
    """All rounds, with as many actions as are learned for; compiler and machine code included. Particles on the walks are few, which saves
    minutes: all of them together take some megabytes, what was seen and the forests take the rest."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, timeout=1200, check=True)
    assert int(done.stdout) * 1024 < 1e9
