"""Episodes side by side, whose decisions a GPU makes all at once.

An episode runs as everywhere else, in a thread of its own, but its planner waits until all that are under way have come to a decision.
One thread runs at a time: only decisions are made together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from airoas import catalog
from airoas.belief.particles import Particles
from airoas.compiler.device import Device, device
from airoas.errors import OptionError
from airoas.experiments.rows.types import Row, Task
from airoas.experiments.run.play import played, with_tuples
from airoas.experiments.run.pool import WorkerError
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision, Stats
from airoas.rng import Rng

MOST = 4096
"""Episodes at once: as many trees keep a GPU busy."""


class _StoppedError(BaseException):
    """The experiment has ended: an episode goes no further."""


class _Episode:
    """A task under way: what it asks for, and its row in the end."""

    def __init__(self, task: Task, runner: Lockstep) -> None:
        self.task, self._runner = task, runner
        self.asked: tuple[Any, KernelModel, Particles, Rng] | None = None
        self.answer: Decision | None = None
        self.row: Row | None = None
        self.error: BaseException | None = None
        self._turn, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def go_on(self) -> None:
        """Let it play until it asks again, or has ended."""
        self._turn.release()
        self._paused.acquire()

    def decide(self, planner: Any, model: KernelModel, belief: Particles, rng: Rng) -> Decision:
        """What it asks for, once that is there."""
        self.asked, self.answer = (planner, model, belief, rng), None
        self._paused.release()
        self._wait()
        answer: Any = self.answer
        return answer  # type: ignore[no-any-return]

    def _wait(self) -> None:
        self._turn.acquire()
        if self._runner.closed:
            raise _StoppedError

    def _play(self) -> None:
        try:
            self._wait()
            self.row = played(self.task, lambda planner: _Deferred(planner, self))
        except _StoppedError:
            pass
        except BaseException as error:
            self.error = error
        self.asked = None
        self._paused.release()


class _Deferred:
    """A planner that asks for its decisions."""

    def __init__(self, planner: Any, episode: _Episode) -> None:
        self._planner, self._episode = planner, episode

    def plan(self, model: KernelModel, belief: Particles, rng: Rng) -> Decision:
        return self._episode.decide(self._planner, model, belief, rng)


class Lockstep:
    """A runner (see `airoas.experiments.run.pool.Runner`) that makes the decisions of all episodes under way on a GPU."""

    def __init__(self, tasks: Iterable[Task], most: int = MOST) -> None:
        for options in {repr((task["planner"], task["options"])): task for task in tasks}.values():
            _refuse_what_cannot(options)
        self.closed = False
        self._device: Device = device()
        self._most = most
        self._running: list[_Episode] = []

    def free(self) -> int:
        return self._most - len(self._running)

    def submit(self, task: Task) -> None:
        self._running.append(_Episode(task, self))

    def collect(self, seconds: float) -> list[Row]:
        """A move of every episode; the rows of those that have ended."""
        groups: dict[Any, list[_Episode]] = {}
        for episode in self._running:
            if episode.asked is not None:
                planner, model = episode.asked[:2]
                groups.setdefault((repr(planner), model.fingerprint), []).append(episode)
        for group in groups.values():
            self._decide(group)
        for episode in self._running:
            episode.go_on()
            if episode.error is not None:
                raise episode.error
        rows: list[Row] = [episode.row for episode in self._running if episode.row is not None]
        self._running = [episode for episode in self._running if episode.row is None]
        for row in rows:
            row["machine"] = {**row["machine"], "device": self._device.name}
        return rows

    def _decide(self, group: list[_Episode]) -> None:
        asked = [episode.asked for episode in group if episode.asked is not None]
        planner, model = asked[0][:2]
        begun = time.perf_counter()
        try:
            decided = planner.plan_many(model, [belief for _, _, belief, _ in asked], [rng for *_, rng in asked])
        except RuntimeError as error:
            problem = f"the GPU stopped in the middle of {len(group)} decisions ({error})"
            raise WorkerError(problem, "episodes that are over are kept; the same command goes on, with fewer at once by --jobs.") from None
        seconds = (time.perf_counter() - begun) / len(group)
        for k, episode in enumerate(group):
            stats = Stats(str(decided.stops[k]), seconds, trials=int(decided.trials[k]), nodes=int(decided.nodes[k]))
            bounds = float(decided.lower[k]), float(decided.upper[k])
            episode.answer = Decision(int(decided.actions[k]), float(decided.values[k]), *bounds, stats)

    def close(self) -> None:
        self.closed = True
        for episode in self._running:
            episode.go_on()
        self._running = []


def _refuse_what_cannot(task: Task) -> None:
    """Before anything is played."""
    planner = catalog.make_planner(task["planner"], with_tuples(task["options"]))
    name = type(planner).__name__
    if not hasattr(planner, "plan_many"):
        problem = f"{name} does not make many decisions at once on a GPU"
        raise OptionError(problem, "take it out of the experiment, choose parts by --only, or leave --device out.")
    if planner.iterations is None:
        raise OptionError(f"{planner!r} does not plan on a GPU, which keeps no deadline", "give it iterations in place of seconds.")
