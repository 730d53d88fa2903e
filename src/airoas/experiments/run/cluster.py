"""Episodes on the workers of a Dask scheduler, with the interface of `airoas.experiments.run.pool`."""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
from typing import Any

from airoas.errors import OptionError
from airoas.experiments.rows.types import Row, Task
from airoas.experiments.run.play import failed_row, play

log = logging.getLogger(__name__)
WAIT = 15.0
"""Seconds in which a scheduler has to answer."""


class Cluster:
    """A Dask scheduler. Workers send rows back and write nothing; one that dies costs a new run of what it was at."""

    def __init__(self, address: str, jobs: int) -> None:
        """Connect to `address`; "local" starts a scheduler here, with `jobs` processes."""
        try:
            import distributed
        except ImportError:
            raise OptionError("distributed is not installed", "pip install 'airoas[cluster]', or leave --cluster out.") from None
        self._dask: Any = distributed
        self._local: Any = None
        if address == "local":
            options = {"n_workers": jobs, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
            self._local = distributed.LocalCluster(**options)
        try:
            self._client = distributed.Client(self._local or address, timeout=WAIT, set_as_default=False)
        except (OSError, ValueError) as error:
            problem = f"no Dask scheduler answers at {address} ({str(error).splitlines()[0]})"
            raise OptionError(problem, "start one with `dask scheduler`, or write --cluster local.") from None
        self._tasks: dict[Any, Task] = {}
        self._number = itertools.count()
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def free(self) -> int:
        """One task for each worker: what a worker was at when it died is then known for sure."""
        threads = self._client.nthreads()
        if any(count > 1 for count in threads.values()):
            remedy = "start them with `dask worker --nthreads 1 --nworkers N`: threads of one process would share its time."
            self.close()
            raise OptionError("a Dask worker has more than one thread", remedy)
        return max(0, len(threads) - len(self._tasks))

    def submit(self, task: Task) -> None:
        # Equal calls are one call to Dask unless told otherwise, and its keys outlive the client: each gets one of its own.
        key = f"airoas-{task['id']}-{self._client.id}-{next(self._number)}"
        future = self._client.submit(play, task, pure=False, key=key)
        self._tasks[future] = task
        future.add_done_callback(self._done.put)

    def collect(self, seconds: float) -> list[Row]:
        rows = []
        try:
            done = [self._done.get(timeout=seconds)]
            while not self._done.empty():
                done.append(self._done.get())
        except queue.Empty:
            return []
        for future in done:
            task = self._tasks.pop(future)
            if future.cancelled():
                log.warning("the scheduler has lost the episode with seed %d on %s; it is run again", task["seed"], task["domain"])
                self.submit(task)
                continue
            try:
                rows.append(future.result())
            except self._dask.KilledWorker:
                rows.append(failed_row(task, "its worker died again and again. See whether memory ran out on it."))
        return rows

    def close(self) -> None:
        with contextlib.suppress(Exception):  # it may be the scheduler that is gone
            self._client.cancel(list(self._tasks))
        for part in (self._client, self._local):
            with contextlib.suppress(TimeoutError):
                if part:
                    part.close(timeout=10)
