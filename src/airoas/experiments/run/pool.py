"""Where episodes run: in this process, or in worker processes. `airoas.experiments.run.cluster` has the same interface."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Protocol

from airoas.errors import AiroasError
from airoas.experiments.rows.types import Row, Task
from airoas.experiments.run.play import failed_row, play

log = logging.getLogger(__name__)
DEATHS = 3
"""A task whose worker has died so often becomes an error row."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What limits the threads of numpy's linear algebra: one each, unless somebody has set them. Sixteen workers of sixteen threads take
several times the CPU time, which deadlines may count."""


class WorkerError(AiroasError):
    """A worker process could not do its work."""


class Runner(Protocol):
    """Takes tasks and gives rows back, in any order."""

    def free(self) -> int:
        """How many more tasks could start at once."""

    def submit(self, task: Task) -> None: ...

    def collect(self, seconds: float) -> list[Row]:
        """The rows that are there within that time."""

    def close(self) -> None:
        """Stop at once; tasks under way are lost."""


def run(tasks: Iterable[Task], runner: Runner) -> Iterator[Row]:
    """The rows of the tasks as they are finished."""
    waiting = deque(tasks)
    under_way = 0
    while waiting or under_way:
        for _ in range(min(len(waiting), runner.free())):
            runner.submit(waiting.popleft())
            under_way += 1
        rows = runner.collect(0.5)
        under_way -= len(rows)
        yield from rows


class Inline:
    """This process: starts at once, can be debugged, one episode at a time."""

    def __init__(self) -> None:
        self._task: Task | None = None

    def free(self) -> int:
        return 0 if self._task else 1

    def submit(self, task: Task) -> None:
        self._task = task

    def collect(self, seconds: float) -> list[Row]:
        task, self._task = self._task, None
        return [play(task)] if task else []

    def close(self) -> None:
        pass


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    task: Task | None = None
    ready: bool = False
    """Whether it has come as far as asking for work."""
    began: float = 0.0
    """When it was given its task, or was ready for it."""


class Pool:
    """Worker processes. One that dies is replaced, and costs a new run of the one episode that it was at."""

    def __init__(self, jobs: int, timeout: float | None = None) -> None:
        """timeout: seconds after which an episode, compilation included, is given up and becomes an error row; None: never."""
        self._timeout = timeout
        self._workers = [_start() for _ in range(jobs)]
        self._deaths: Counter[str] = Counter()
        self._failed_starts = 0

    def free(self) -> int:
        return sum(worker.task is None for worker in self._workers)

    def submit(self, task: Task) -> None:
        worker = next(worker for worker in self._workers if worker.task is None)
        worker.task, worker.began = task, time.monotonic()
        try:
            worker.pipe.send(task)
        except OSError:  # it died with nothing to do
            self._replace(worker)

    def collect(self, seconds: float) -> list[Row]:
        rows = []
        ready = wait([worker.pipe for worker in self._workers if worker.task], seconds)
        for worker in [worker for worker in self._workers if worker.pipe in ready]:
            assert worker.task
            try:
                result = worker.pipe.recv()
            except (EOFError, OSError):
                rows += self._count_death(worker)
                self._replace(worker)
                continue
            if isinstance(result, BaseException):
                raise result
            if result is None:
                worker.ready, self._failed_starts, worker.began = True, 0, time.monotonic()
                continue
            worker.task = None
            rows.append(result)
        return rows + self._given_up()

    def _given_up(self) -> list[Row]:
        """The rows of episodes that take too long; whoever is at them is replaced."""
        rows = []
        for worker in self._workers:
            if self._timeout is not None and worker.task and worker.ready and time.monotonic() - worker.began > self._timeout:
                remedy = "See whether a loop of the model has no end, or allow it more with --episode-timeout."
                rows.append(failed_row(worker.task, f"it was not over after {self._timeout:g} s. {remedy}"))
                worker.task = None
                self._replace(worker)
        return rows

    def _count_death(self, worker: _Worker) -> list[Row]:
        """Count the death against what the worker was doing; the row of a task that has seen too many."""
        assert worker.task
        cause = _exit_cause(worker)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts < DEATHS:
                return []
            raise WorkerError(f"a worker process {cause} before it could start", "see what it printed, or use --jobs 1.")
        self._deaths[worker.task["id"]] += 1
        if self._deaths[worker.task["id"]] < DEATHS:
            log.warning("a worker process %s; its episode, with seed %d, is run again", cause, worker.task["seed"])
            return []
        remedy = "See whether memory ran out; otherwise run the episode with --mode debug."
        row = failed_row(worker.task, f"its process {cause}, {DEATHS} times. {remedy}")
        worker.task = None
        return [row]

    def _replace(self, worker: _Worker) -> None:
        _end(worker)
        new = _start()
        worker.process, worker.pipe, worker.ready = new.process, new.pipe, False
        if worker.task:
            with contextlib.suppress(OSError):  # dead already: `collect` will see it
                worker.pipe.send(worker.task)

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            _end(worker)


def _start() -> _Worker:
    """A process that inherits nothing but its end of a pipe: no lock, no `__main__`, and no Ctrl-C, which is for us."""
    ours, theirs = Pipe()
    command = [sys.executable, "-c", f"from airoas.experiments.run.pool import work; work({theirs.fileno()})"]
    alone = dict.fromkeys(THREADS, "1") | os.environ
    process = subprocess.Popen(command, env=alone, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, start_new_session=True)
    theirs.close()
    return _Worker(process, ours)


def _end(worker: _Worker) -> None:
    worker.pipe.close()
    worker.process.kill()
    worker.process.wait()


def _exit_cause(worker: _Worker) -> str:
    code = worker.process.wait()
    return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


def work(descriptor: int) -> None:
    """What a worker does: play what comes through the pipe. It ends with whoever holds the other end, in mid-episode too."""
    pipe = Connection(descriptor)
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()

    def receive() -> None:
        try:
            while True:
                tasks.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    result: Row | BaseException | None = None  # the first message: here I am
    while True:
        try:
            pipe.send(result)
        except OSError:
            os._exit(0)
        task = tasks.get()
        try:
            result = play(task)
        except AiroasError as error:
            result = error
        except Exception as error:  # in a mode for looking closely: shown where it happened, then raised where it was asked for
            traceback.print_exc()
            result = WorkerError(f"{type(error).__name__}: {error}", "the lines above say where.")
