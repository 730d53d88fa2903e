"""What is compiled is in no time of a decision or an update, can be compiled ahead, and is told to whoever waits."""

from __future__ import annotations

import itertools
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from numba.core import event

import airoas
from airoas.catalog import load_class
from airoas.compiler import kernels, notice
from airoas.planners import AIROAS, ARDESPOT, PBVI, POMCP, POMCPOW, QMDP, AdaOPS, Random

PLANNERS = {
    "airoas": AIROAS(iterations=5, particles=20, policy="none"),
    "adaops": AdaOPS(iterations=5, min_particles=10, max_particles=20),
    "ardespot": ARDESPOT(iterations=5, scenarios=20),
    "pomcp": POMCP(iterations=50, c=5.0),
    "pomcpow": POMCPOW(iterations=50, c=5.0),
    "qmdp": QMDP(),
    "pbvi": PBVI(),
    "random": Random(),
}
FINITE = Path(__file__).parents[2] / "examples" / "finite.py"
DRONE = Path(__file__).parents[2] / "examples" / "my_model.py"
_versions = itertools.count()


def renewed(file: Path, old: str, new: str, folder: Path) -> str:
    """The file of a model that is in no cache, for a text in it is like no other."""
    text = file.read_text()
    assert old in text
    changed = folder / f"renewed{next(_versions)}.py"
    changed.write_text(text.replace(old, new.format(time.time_ns() % 10**12)))
    return str(changed)


def finite(folder: Path) -> Any:
    """The name of the states' class is in every function's type."""
    return load_class(renewed(FINITE, "Machine", "Machine{}", folder), "Maintain")()


def drone_file(folder: Path) -> str:
    return renewed(DRONE, "drone + 2.0 * a - 1.0", "drone + 2.0 * a - 1.0 - 1e-20 * {}", folder)


def drone(folder: Path) -> Any:
    return load_class(drone_file(folder), "MyModel")()


class Compiled(event.Listener):
    """How many functions numba compiled, and the seconds of it, nested ones counted once."""

    def __init__(self) -> None:
        self.functions, self.seconds = 0, 0.0
        self._depth, self._begun = 0, 0.0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._begun = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        self.functions += 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._begun


def watched() -> Any:
    compiled = Compiled()
    return compiled, event.install_listener("numba:compile", compiled)


@pytest.mark.parametrize("name", PLANNERS)
def test_compiling_is_in_no_time_of_a_decision(name: str, tmp_path: Path) -> None:
    model = finite(tmp_path)
    belief = airoas.Particles.exact(model)
    compiled, watching = watched()
    begun = time.perf_counter()
    with watching:
        decision = PLANNERS[name].plan(model, belief, airoas.stream(0))
    whole = time.perf_counter() - begun
    assert compiled.functions > 1
    assert decision.stats.seconds + compiled.seconds <= whole
    assert decision.stats.seconds + decision.stats.preparation <= whole
    again = PLANNERS[name].plan(model, belief, airoas.stream(0))
    assert again.stats.preparation == 0.0 and again.value == pytest.approx(decision.value, nan_ok=True)


@pytest.mark.parametrize("filter", ["annealed", "bootstrap", "exact"])
def test_compiling_is_in_no_time_of_an_update(filter: str, tmp_path: Path) -> None:
    model = finite(tmp_path)
    compiled, watching = watched()
    begun = time.perf_counter()
    with watching:
        episode = airoas.simulate(model, Random(), 0, filter=filter, particles=200, max_steps=3)
    whole = time.perf_counter() - begun
    assert compiled.functions > 3
    assert sum(step.update_seconds + step.decision.stats.seconds for step in episode.trace) + compiled.seconds <= whole


@pytest.mark.parametrize("name", PLANNERS)
def test_an_agent_compiles_all_of_it_ahead(name: str, tmp_path: Path) -> None:
    agent = airoas.Agent(finite(tmp_path), PLANNERS[name], seed=0, particles=200, filter="annealed")
    agent.prepare()
    compiled, watching = watched()
    with watching:
        for _ in range(3):
            decision = agent.act()
            agent.observe((0,), action=0)
    assert decision.stats.preparation == 0.0
    assert compiled.functions == 0


def test_a_sharp_observation_compiles_nothing_more(tmp_path: Path) -> None:
    agent = airoas.Agent(drone(tmp_path), POMCPOW(iterations=20, c=5.0), seed=0, particles=500, filter="annealed")
    agent.prepare()
    compiled, watching = watched()
    with watching:
        agent.observe((4.4,), action=1)
    assert agent.updated.annealed is not None and compiled.functions == 0


def test_one_line_for_one_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(notice, "QUIET", 0.01)
    monkeypatch.setattr(kernels, "notice", notice.Notice())
    with caplog.at_level(logging.WARNING, "airoas"):
        POMCP(iterations=20, c=5.0).prepare(drone(tmp_path))
    lines = [record.getMessage() for record in caplog.records if "compiling" in record.getMessage()]
    assert len(lines) == 1 and lines[0] in (f"compiling MyModel: {notice.KEPT}", f"compiling what all models share: {notice.KEPT}")


def test_the_same_is_said_once_in_minutes(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    monkeypatch.setattr(notice.time, "monotonic", lambda: now[0])
    one = notice.Notice()
    with caplog.at_level(logging.WARNING, "airoas"):
        for seconds, what in ((0.0, ""), (10.0, ""), (10.0, "Mine"), (10.0, "Mine"), (10.0, ""), (notice.AGAIN, ""), (10.0, "Mine")):
            now[0] += seconds
            one._say(what, True)
    shared, own = f"compiling what all models share: {notice.KEPT}", f"compiling Mine: {notice.KEPT}"
    assert [record.getMessage() for record in caplog.records] == [shared, own, shared, own]


def test_nothing_is_said_of_short_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(notice, "QUIET", 600.0)
    monkeypatch.setattr(kernels, "notice", notice.Notice())
    with caplog.at_level(logging.WARNING, "airoas"):
        POMCP(iterations=20, c=5.0).prepare(drone(tmp_path))
    assert not [record for record in caplog.records if "compiling" in record.getMessage()]


def test_what_is_refused_was_not_said_to_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(notice, "QUIET", 0.0)
    monkeypatch.setattr(kernels, "notice", notice.Notice())
    text = Path(drone_file(tmp_path)).read_text(encoding="utf-8")
    text = text.replace("z = (o[0] - abs(", "z = (o[0] - sum(abs(x) for x in (s[1],)) + abs(")
    (tmp_path / "refused.py").write_text(text, encoding="utf-8")
    model = load_class(str(tmp_path / "refused.py"), "MyModel")()
    with caplog.at_level(logging.WARNING, "airoas"), pytest.raises(airoas.errors.CompileError, match="generator"):
        airoas.simulate(model, POMCP(iterations=20, c=5.0), seed=0, particles=100)
    assert not [record for record in caplog.records if "compiling MyModel" in record.getMessage()]


def test_a_pipe_is_told(tmp_path: Path) -> None:
    program = f"""
import sys
from airoas.compiler import kernels, notice
from airoas.catalog import load_class
from airoas.planners import POMCP
notice.QUIET = 0.01
POMCP(iterations=20, c=5.0).prepare(load_class({drone_file(tmp_path)!r}, "MyModel")())
"""
    environment = {"PATH": "/usr/bin:/bin", "AIROAS_CACHE_DIR": os.environ["AIROAS_CACHE_DIR"], "PYTHONPATH": ":".join(sys.path)}

    def told() -> list[str]:
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
        assert ran.stdout == ""
        return ran.stderr.splitlines()

    assert told() == [f"airoas: compiling MyModel: {notice.KEPT}"]
    assert told() == []  # as the line has promised
    (tmp_path / "nowhere").write_text("")
    environment["AIROAS_CACHE_DIR"] = str(tmp_path / "nowhere")
    assert [line for line in told() if "compiling" in line] == [f"airoas: compiling MyModel: {notice.NOT_KEPT}"]
    program = f"import logging; logging.basicConfig(format='mine: %(message)s'){program}"
    assert [line for line in told() if "compiling" in line] == [f"mine: compiling MyModel: {notice.NOT_KEPT}"]
