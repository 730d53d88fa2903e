"""A small model and planners that behave badly in chosen ways, in a file as users have them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.reading import parse

SOURCE = '''
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import airoas
from airoas.planners import Decision, Stats


@airoas.model
class Walk(NamedTuple):
    """Walk on a ring of six and stop at 0 for +10, elsewhere for -10."""

    discount: float = 0.9

    @property
    def max_steps(self):
        return 8

    def actions(self):
        return ("left", "right", "stop")

    def initial(self, rng):
        return rng.integer(6), 0

    def step(self, s, a, rng):
        if s[1]:
            return s, 0.0
        if a == 2:
            return (s[0], 1), 10.0 if s[0] == 0 else -10.0
        return ((s[0] + 2 * a - 1) % 6, 0), -1.0

    def observe(self, s, a, rng):
        return (s[0] if rng.uniform() < 0.9 else (s[0] + 1) % 6,)

    def obs_logpdf(self, o, s, a):
        return -0.105 if o[0] == s[0] else -2.303 if o[0] == (s[0] + 1) % 6 else -airoas_inf

    def is_terminal(self, s):
        return s[1] > 0


airoas_inf = float("inf")


@airoas.model
class Broken(NamedTuple):
    """Raises at every step."""

    discount: float = 0.9

    def actions(self):
        return ("left", "right", "stop")

    def initial(self, rng):
        return (rng.integer(6),)

    def step(self, s, a, rng):
        if s[0] >= 0:
            raise ValueError("no such step")
        return s, 0.0

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return 0.0


def search(rng, trials, until):
    """As many draws as fit; the action depends on all of them."""
    total, done = 0.0, 0
    while done < trials and (until is None or done == 0 or time.perf_counter() < until):
        total += rng.uniform()
        done += 1
    return int(1000 * total) % 3, total, done


@dataclass(frozen=True)
class Searching:
    """Has a budget as real planners have; `clever` moves the value, to have something to tune."""

    seconds: float | None = None
    iterations: int | None = None
    clever: float = 0.0
    kind: str = "plain"

    SEARCH_SPACE = {"clever": ("float", 0.0, 1.0), "kind": ("choice", ("plain", "fancy"))}

    def __post_init__(self):
        if self.clever > 5.0:
            raise airoas.OptionError(f"clever is {self.clever}", "stay below 5.")

    def plan(self, model, belief, rng):
        begun = time.perf_counter()
        until = None if self.seconds is None else begun + self.seconds
        action, value, done = search(rng, self.iterations or 10**9, until)
        if rng.uniform() < self.clever:
            action = 2 if abs(belief.mean()[0]) < 0.5 else action % 2
        spent = time.perf_counter() - begun
        stats = Stats("iterations" if self.iterations else "deadline", spent, max(0.0, spent - (self.seconds or spent)), done, nodes=done)
        return Decision(action, value, value - 1.0, value + 1.0, stats)


@dataclass(frozen=True)
class Sleeping(Searching):
    """Takes `pause` seconds for a move."""

    pause: float = 0.05

    def plan(self, model, belief, rng):
        time.sleep(self.pause)
        return super().plan(model, belief, rng)


@dataclass(frozen=True)
class Deadly(Searching):
    """Kills its process in a share of the episodes; `once` names a file that makes a second time harmless."""

    share: float = 0.3
    once: str = ""

    def plan(self, model, belief, rng):
        if rng.uniform() < self.share:
            if not self.once:
                os.kill(os.getpid(), signal.SIGKILL)
            marker = Path(self.once)
            if not marker.exists():
                marker.write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
        return super().plan(model, belief, rng)


@dataclass(frozen=True)
class Choosy(Searching):
    def fits(self, model):
        return "it wants twelve actions" if model.n_actions < 12 else None
'''


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of tiny.py."""
    folder = tmp_path_factory.getbasetemp().parent / "airoas-tiny" if "PYTEST_XDIST_WORKER" in os.environ else None
    directory = folder or tmp_path_factory.mktemp("tiny")
    directory.mkdir(exist_ok=True)
    part = directory / f"tiny.{os.getpid()}"
    if not (directory / "tiny.py").exists():
        part.write_text(SOURCE)
        part.replace(directory / "tiny.py")
    return directory


@pytest.fixture
def make_spec(tiny: Path) -> Callable[..., Spec]:
    """`make_spec(planners, episodes, ...)`: an experiment on Walk in the folder of tiny.py."""

    def make(
        planners: str = "[planners.a]\nplanner = 'tiny.py:Searching'\niterations = 5", episodes: int = 6, more: str = "", **options: Any
    ) -> Spec:
        filter = "" if "filter" in more else "filter = 'bootstrap'\n"  # the annealed one takes longest to compile
        text = f'episodes = {episodes}\nparticles = 200\nseed = 900000\n{filter}{more}\ndomains = ["tiny.py:Walk"]\n{planners}\n'
        return parse(text, folder=tiny, **options)

    return make
