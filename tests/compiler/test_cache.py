"""Kernels on disk: never stale, never trusted when damaged, found again from any kind of file, and never in the way."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pickle
import pkgutil
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import airoas
from airoas.compiler import cache, fingerprint, specialise
from airoas.compiler.kernels import Kernel
from airoas.modelling import compiled
from airoas.modelling.decorator import Model

MODEL = """
from typing import NamedTuple
import airoas
import tuning
from tuning import scaled

class State(NamedTuple):
    n: int

@airoas.model
class Counting(NamedTuple):
    gain: float = 1.0
    discount: float = 0.9
    def actions(self): return ("on",)
    def initial(self, rng): return State(0)
    def step(self, s, a, rng): return State(s.n + 1), scaled(s.n) + tuning.deeper.OFFSET + self.gain
    def observe(self, s, a, rng): return (0.0,)
    def obs_logpdf(self, o, s, a): return 0.0
"""
TUNING = "import deeper\nFACTOR = 2.0\ndef scaled(x):\n    return x * FACTOR\n"
DEEPER = "OFFSET = 0.5\n"
RUN = """
import json, sys, warnings
import numpy as np
import airoas
from airoas.compiler.kernels import kernel

@kernel
def rewards(model, out, rng):
    s = model.initial(rng)
    for t in range(len(out)):
        s, out[t] = model.step(s, 0, rng)

def report(model):
    out = np.zeros(3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        rewards(model, out, airoas.stream(0))
        rewards(type(model)(7), out.copy(), airoas.stream(0))
    dispatcher = rewards._dispatcher("compiled")
    print(json.dumps({
        "rewards": out.tolist(),
        "hits": sum(dispatcher.stats.cache_hits.values()),
        "misses": sum(dispatcher.stats.cache_misses.values()),
        "said": [str(w.message) for w in said],
    }))
"""
BY_IMPORT = "from reporting import report\nfrom counting import Counting\nreport(Counting())\n"
BY_PATH = """
import importlib.util, sys
from reporting import report
spec = importlib.util.spec_from_file_location("given_by_path", "counting.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)  # not in sys.modules: nothing of it can be found by name
report(module.Counting())
"""
IN_MAIN = MODEL + "\nfrom reporting import report\nreport(Counting())\n"
NOTEBOOK = """
import __main__
cells = [open("counting.py").read(), open("reporting.py").read(), "report(Counting())"]
for number, cell in enumerate(cells):
    exec(compile(cell, f"<ipython-input-{number}-abc>", "exec"), __main__.__dict__)
"""


class Project:
    """A folder with a model, its helpers and a cache, in which scripts run as processes of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.cache = directory, directory / "cache"
        for name, source in {"counting": MODEL, "tuning": TUNING, "deeper": DEEPER, "reporting": RUN}.items():
            (directory / f"{name}.py").write_text(source)

    def start(self, script: str = BY_IMPORT, **environment: str) -> subprocess.Popen[str]:
        (self.directory / f"main_{hashlib.sha256(script.encode()).hexdigest()[:8]}.py").write_text(script)
        path = next(self.directory.glob(f"main_{hashlib.sha256(script.encode()).hexdigest()[:8]}.py"))
        variables = {**os.environ, "AIROAS_CACHE_DIR": str(self.cache), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        return subprocess.Popen(
            [sys.executable, path.name], cwd=self.directory, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, script: str = BY_IMPORT, **environment: str) -> dict[str, Any]:
        return self.result(self.start(script, **environment))

    @staticmethod
    def result(process: subprocess.Popen[str]) -> dict[str, Any]:
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        output: dict[str, Any] = json.loads(out.splitlines()[-1])
        return output

    def kernels(self) -> list[Path]:
        return sorted(self.cache.glob("rewards-*.kernel"))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


MISS = {"hits": 0, "misses": 1, "said": []}
HIT = {"hits": 1, "misses": 0, "said": []}


def test_a_second_process_loads_until_a_helper_changes(project: Project) -> None:
    """From a module, a file given by path, `__main__` and a notebook's cells: one kernel for all, since their content is one."""
    numbers = [1.5, 3.5, 5.5]
    assert project.run() == {"rewards": numbers, **MISS}
    for script in (BY_IMPORT, BY_PATH, IN_MAIN, NOTEBOOK):
        assert project.run(script) == {"rewards": numbers, **HIT}
    (project.directory / "deeper.py").write_text("OFFSET = 1.5\n")
    assert project.run(BY_PATH) == {"rewards": [2.5, 4.5, 6.5], **MISS}
    (project.directory / "tuning.py").write_text(TUNING.replace("2.0", "3.0"))
    assert project.run(IN_MAIN) == {"rewards": [2.5, 5.5, 8.5], **MISS}
    for name in ("deeper", "tuning", "counting"):  # new times, a comment, the old content
        (project.directory / f"{name}.py").write_text({"deeper": DEEPER, "tuning": TUNING, "counting": MODEL}[name] + "\n# a comment\n")
    assert project.run(NOTEBOOK) == {"rewards": numbers, **HIT}
    assert len(project.kernels()) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in project.cache.iterdir())
    assert project.cache.stat().st_mode & 0o777 == 0o700


def test_processes_that_compile_at_once(project: Project) -> None:
    processes = [project.start(script) for script in (BY_IMPORT, BY_PATH, IN_MAIN)]
    for process in processes:
        output = project.result(process)
        assert output["rewards"] == [1.5, 3.5, 5.5] and output["said"] == []
    assert project.run() == {"rewards": [1.5, 3.5, 5.5], **HIT}
    assert not list(project.cache.glob(".tmp-*"))


BOMB = """
import os
class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_not_loaded(project: Project) -> None:
    project.run()
    (path,) = project.kernels()
    os.chown(path, 65534, -1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert cache.read(path) is None
    assert path.exists()
    output = project.run()
    assert output["rewards"] == [1.5, 3.5, 5.5] and output["misses"] == 1 and "belongs to another user" in output["said"][0]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_loaded(project: Project, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project.directory / "x.kernel"
    cache.write(path, hashlib.sha256(b"payload").digest() + b"payload")
    assert cache.read(path) == b"payload"
    path.chmod(mode)
    monkeypatch.setattr(cache, "_said", set())
    with pytest.warns(RuntimeWarning, match="others may write to it"):
        assert cache.read(path) is None
    path.chmod(0o600)
    assert cache.read(path) == b"payload"


def test_damaged_files_are_discarded(project: Project) -> None:
    project.run()
    (path,) = project.kernels()
    whole = path.read_bytes()
    scope: dict[str, Any] = {}
    exec(BOMB, scope)
    bomb = pickle.dumps(scope["Bomb"]())
    for damaged in (b"", whole[:20], whole[: len(whole) // 2], whole[:-1], whole[:100] + b"x" + whole[101:], whole[:32] + bomb, bomb):
        path.write_bytes(damaged)
        assert cache.read(path) is None and not path.exists()
    path.write_bytes(whole[:32] + bomb)
    assert project.run() == {"rewards": [1.5, 3.5, 5.5], **MISS}
    assert path.read_bytes() != whole[:32] + bomb and not (project.directory / "exploded").exists()
    path.write_bytes(hashlib.sha256(b"nonsense").digest() + b"nonsense")  # a right digest over something else
    assert project.run() == {"rewards": [1.5, 3.5, 5.5], **MISS}
    assert project.run() == {"rewards": [1.5, 3.5, 5.5], **HIT}


@pytest.mark.parametrize("where", ["below-a-file/cache", "/proc/airoas", "open"])
def test_no_folder_to_be_had(project: Project, where: str) -> None:
    """The answer is right, nothing is written, and it is said once."""
    (project.directory / "below-a-file").write_text("")
    (project.directory / "open").mkdir()
    (project.directory / "open").chmod(0o777)
    output = project.run(AIROAS_CACHE_DIR=where)
    assert output["rewards"] == [1.5, 3.5, 5.5] and output["hits"] == 0
    (said,) = output["said"]
    assert "no compilation cache at" in said and "Set AIROAS_CACHE_DIR" in said
    assert not list((project.directory / "open").iterdir())


def test_versions_and_settings_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {cache._key("x"), cache._key("y")}
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    keys.add(cache._key("x"))
    assert numba.__version__ in cache._VERSIONS and np.__version__ in cache._VERSIONS and sys.version in cache._VERSIONS
    for position in range(len(cache._VERSIONS)):
        monkeypatch.setattr(cache, "_VERSIONS", (*cache._VERSIONS[:position], "another", *cache._VERSIONS[position + 1 :]))
        keys.add(cache._key("x"))
        monkeypatch.undo()
    monkeypatch.setattr(cache, "_MACHINERY", "another")
    keys.add(cache._key("x"))
    assert len(keys) == 3 + len(cache._VERSIONS) + 1


# --- in this process ---


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of its own, with nothing said and nothing tried before."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("AIROAS_CACHE_DIR", str(directory))
    monkeypatch.setattr(cache, "_said", set())
    monkeypatch.setattr(cache, "_tried", {})
    yield directory


def use(value: float) -> float:
    """Compile and run a kernel that no other test has."""

    def constant(out):
        out[0] = value

    out = np.zeros(1)
    Kernel(constant)(out)
    return float(out[0])


def stored(folder: Path) -> list[Path]:
    return list(folder.glob("constant-*.kernel"))


def said(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in recorded]


def test_what_cannot_be_stored_is_said_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thing: Any) -> bytes:
        raise AttributeError("no such interface")

    monkeypatch.setattr(cache, "dumps", refuse)
    (message,) = said(lambda: [use(1.25), use(1.5)])
    assert "cannot store kernels (AttributeError: no such interface)" in message
    assert not stored(folder)


def test_a_full_disk_is_said_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    (message,) = said(lambda: [use(2.25), use(2.5)])
    assert "No space left" in message and "AIROAS_CACHE_DIR" in message
    assert not list(folder.glob(".tmp-*"))


def test_the_trial(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process stores it, the next tries it, and a numba that loads wrongly is found out, said and remembered."""
    assert said(lambda: use(3.25)) == []
    (trial,) = folder.glob("trial-*.kernel")
    assert not list(folder.glob(".works-*")) and len(stored(folder)) == 1

    cache._tried.clear()  # as a second process
    assert said(lambda: use(3.5)) == [] and len(stored(folder)) == 2
    (outcome,) = folder.glob(".works-*")
    assert outcome.read_text() == "yes"

    outcome.unlink()
    trial.write_bytes(trial.read_bytes()[:-5])  # damaged: stored anew, which says nothing about numba
    cache._tried.clear()
    assert said(lambda: use(3.75)) == [] and trial.exists() and not outcome.exists()

    def rebuild(*parts: Any) -> None:
        raise TypeError("interface changed")

    cache._tried.clear()
    monkeypatch.setattr(cache.CompileResult, "_rebuild", rebuild)
    (message,) = said(lambda: [use(4.25), use(4.5)])
    assert "does not load stored kernels" in message and str(outcome) in message
    assert outcome.read_text() == "no" and len(stored(folder)) == 3

    monkeypatch.undo()
    monkeypatch.setenv("AIROAS_CACHE_DIR", str(folder))
    cache._tried.clear()
    cache._said.clear()
    (message,) = said(lambda: use(4.75))  # remembered
    assert "does not load stored kernels" in message and len(stored(folder)) == 3
    cache._tried.clear()


def test_cleaning_by_age(folder: Path) -> None:
    use(5.25)
    (old,) = stored(folder)
    leftover, recent, foreign = folder / ".tmp-left", folder / ".tmp-recent", folder / "notes.txt"
    for path in (leftover, recent, foreign):
        path.write_text("x")
    past = time.time() - 40 * 86_400
    for path in (old, leftover, foreign):
        os.utime(path, (past, past))
    use(5.5)
    assert not old.exists() and not leftover.exists()
    assert recent.exists() and foreign.exists() and len(stored(folder)) == 1


def test_cleaning_by_size(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(3):
        use(6.25 + k)
    by_age = sorted(stored(folder), key=lambda path: path.stat().st_mtime_ns)
    for age, path in enumerate(reversed(by_age)):
        os.utime(path, (time.time() - 60 - age, time.time() - 60 - age))
    total = sum(path.stat().st_size for path in folder.iterdir())
    monkeypatch.setattr(cache, "_KEEP_BYTES", total - 1)
    cache._clean(folder)
    assert not by_age[0].exists() and by_age[1].exists() and by_age[2].exists()


def test_use_keeps_a_kernel_young(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(7.25)
    (path,) = stored(folder)
    past = time.time() - 20 * 86_400
    os.utime(path, (past, past))
    monkeypatch.setattr(specialise, "_specialised", {})  # as a new process
    assert use(7.25) == 7.25
    assert time.time() - path.stat().st_mtime < 86_400


def test_folder_without_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIROAS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "airoas"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "airoas"
    monkeypatch.setenv("AIROAS_CACHE_DIR", "~/mine")
    assert cache.folder() == tmp_path / "home" / "mine"


def airoas_modules() -> list[str]:
    return [module.name for module in pkgutil.walk_packages(airoas.__path__, "airoas.")]


@pytest.mark.parametrize("name", airoas_modules())
def test_what_we_ship_can_be_stored(name: str) -> None:
    """Every kernel, and every method of every domain, is made of things whose content can be seen."""
    for value in vars(importlib.import_module(name)).values():
        if isinstance(value, Kernel):
            fingerprint.digest(value.function)
        elif isinstance(value, type) and issubclass(value, Model) and value is not Model:
            for parts in compiled._written(value):
                fingerprint.digest(tuple(sorted(parts.items())))


PLANNED = """
import math
from typing import NamedTuple
import airoas
import sensing
from moving import moved
from airoas.planners import AIROAS

@airoas.model
class Line(NamedTuple):
    discount: float = 0.9
    def actions(self): return ("left", "right")
    def initial(self, rng): return (rng.normal(),)
    def step(self, s, a, rng): return (moved(s[0], a),), -abs(s[0])
    def observe(self, s, a, rng): return (s[0] + sensing.spread(a) * rng.normal(),)
    def obs_logpdf(self, o, s, a): return sensing.log_density(o[0], s[0], a)

model = Line()
decision = AIROAS(iterations=5, particles=20, anneal="none", policy="none", bounds=(-10.0, 0.0)).plan(
    model, airoas.Particles.sample(model, 50, airoas.stream(0)), airoas.stream(0)
)
import json
print(json.dumps({"value": decision.value, "lower": decision.lower}))
"""
LINE = {
    "moving": "STRIDE = 1.0\ndef moved(x, a):\n    return x + (2 * a - 1) * STRIDE\n",
    "sensing": (
        "import math\nimport base\ndef spread(a):\n    return base.SPREAD\n"
        "def log_density(o, x, a):\n    z = (o - x) / spread(a)\n    return base.half(z) - math.log(spread(a))\n"
    ),
    "base": "SPREAD = 0.5\ndef half(z):\n    return -0.5 * z * z\n",
}
OWN = {"initial", "inspect", "step", "observe", "log_likelihoods"}
EDITS = {  # file, text, new text, whether the decision changes: the model's functions that are made again
    "a constant": ("moving", "STRIDE = 1.0", "STRIDE = 0.75", {"step"}),
    "a helper in another file": ("moving", "(2 * a - 1) * STRIDE", "0.5 * (2 * a - 1) * STRIDE", {"step"}),
    "a function of a base module": ("base", "-0.5 * z * z", "-0.4 * z * z", {"log_likelihoods"}),
    "a constant of a base module": ("base", "SPREAD = 0.5", "SPREAD = 0.75", {"observe", "log_likelihoods"}),
    "a comment": ("base", "SPREAD = 0.5", "SPREAD = 0.5  # as measured", set()),
}


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, Any]]:
    project = Project(tmp_path_factory.mktemp("line"))
    own = (f"{name}-*" for name in OWN)
    # what all models share is most of the compiling
    shutil.copytree(os.environ["AIROAS_CACHE_DIR"], project.cache, ignore=shutil.ignore_patterns(".*", *own))
    for name, source in LINE.items():
        (project.directory / f"{name}.py").write_text(source)
    return project, project.run(PLANNED)


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_never_stale_and_makes_again_only_what_it_reaches(what: str, line: tuple[Project, dict[str, Any]]) -> None:
    project, first = line
    name, old, new, reached = EDITS[what]
    before = set(project.cache.glob("*.kernel"))
    assert {*OWN, "plan"} <= {path.name.rpartition("-")[0] for path in before}
    file = project.directory / f"{name}.py"
    assert LINE[name].count(old) == 1
    try:
        file.write_text(LINE[name].replace(old, new))
        changed = project.run(PLANNED)
        assert {path.name.rpartition("-")[0] for path in set(project.cache.glob("*.kernel")) - before} == reached
        assert (changed != first) == bool(reached)
    finally:
        file.write_text(LINE[name])
    assert project.run(PLANNED) == first
