"""How far a run has come: a live table on a terminal, a line a minute elsewhere, and what went wrong, once."""

from __future__ import annotations

import contextlib
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

    from airoas.experiments.rows.types import Row
    from airoas.experiments.spec.cells import Spec

log = logging.getLogger(__name__)
REST = 58
"""Columns of a terminal that bar, count and mean take."""
EVERY = 60.0
"""Seconds between lines where there is no terminal."""


@contextlib.contextmanager
def watching(spec: Spec) -> Iterator[Callable[[Row | None, dict[str, Row]], None]]:
    """The watcher that `bench` wants. It writes to standard error; only an episode to be shown goes to standard output."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TextColumn("{task.fields[status]}"))
    if not console.is_terminal:
        yield _Watch(spec, None)
        return
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as progress:
        yield _Watch(spec, progress)


class _Watch:
    def __init__(self, spec: Spec, progress: Progress | None) -> None:
        self.spec = spec
        self.progress = progress
        self.cells = [list(cell.ids) for cell in spec.cells]
        self.of: dict[str, list[int]] = {}
        for number, ids in enumerate(self.cells):
            for key in ids:
                self.of.setdefault(key, []).append(number)
        self.begun = self.logged = time.monotonic()
        self.spent = 0.0
        self.costs: list[list[float]] = [[] for _ in self.cells]
        self.earlier: list[list[float]] = [[] for _ in self.cells]
        self.is_counted = False
        """Whether a line has said how many episodes are there: then the last one says that all are."""
        self.reported: set[str] = set()
        self.bars: list[Any] = []

    def __call__(self, row: Row | None, rows: dict[str, Row]) -> None:
        if row is None:
            self._begin(rows)
            return
        self._report(row)
        seconds = row["times"].get("seconds", 0.0)
        self.spent += seconds
        for number in self.of[row["id"]]:
            self.costs[number].append(_cost(row, not self.costs[number]))
        done = sum(key in rows for key in self.of)
        if self.progress:
            for number in self.of[row["id"]]:
                self._show_cell(number, rows)
            self.progress.update(self.bars[-1], completed=done, status=self._left(rows))
        elif time.monotonic() - self.logged > EVERY or (self.is_counted and done == len(self.of)):
            self.logged, self.is_counted = time.monotonic(), True
            log.info("%s", ", ".join(filter(None, (f"{done} of {len(self.of)} episodes", self._left(rows)))))

    def _begin(self, rows: dict[str, Row]) -> None:
        earlier = sum(key in rows for key in self.of)
        if earlier:
            failed = sum(key in rows and "error" in rows[key] for key in self.of)
            failures = f", {failed} of them failed" if failed else ""
            log.info("%d of %d episodes are there already%s", earlier, len(self.of), failures)
            self.is_counted = True
            self.earlier = [[_cost(rows[key], not i) for i, key in enumerate(ids) if key in rows] for ids in self.cells]
        if not self.progress:
            return
        whole = self.progress.add_task("all", total=len(self.of), completed=earlier, status="compiling or loading")
        for number, cell in enumerate(self.spec.cells):
            name = f"{cell.label} on {self.spec.domains[cell.domain].label}"
            most = max(20, self.progress.console.width - REST)
            name = name if len(name) <= most else f"{name[: most - 1]}…"
            self.bars.append(self.progress.add_task(name, total=len(self.cells[number]), status="", visible=len(self.cells) > 1))
            self._show_cell(number, rows)
        self.bars.append(whole)

    def _show_cell(self, number: int, rows: dict[str, Row]) -> None:
        from airoas.experiments.analysis.summary import returns

        assert self.progress
        done = [rows[key] for key in self.cells[number] if key in rows]
        good = [row for row in done if "error" not in row]
        known = returns(good)
        mean = f"{known.mean:.3f}{f' ± {known.sem:.3f}' if math.isfinite(known.sem) else ''}" if good else ""
        failed = f", {len(done) - len(good)} failed" if len(done) > len(good) else ""
        self.progress.update(self.bars[number], completed=len(done), status=mean + failed)

    def _left(self, rows: dict[str, Row]) -> str:
        """The time left, from what an episode costs in each cell and how many ran side by side so far; nothing of it while there is
        a cell to run of which no episode is over."""
        known = [row["discounted_return"] for row in rows.values() if "error" not in row] if len(self.cells) == 1 else []
        mean = [f"mean {sum(known) / len(known):.3f}"] if known else []
        work = 0.0
        for ids, now, earlier in zip(self.cells, self.costs, self.earlier, strict=True):
            missing, costs = sum(key not in rows for key in ids), now or earlier
            if missing and not costs:
                return ", ".join(mean)
            work += missing * sum(costs) / len(costs) if missing else 0.0
        if all(key in rows for key in self.of):
            return ", ".join(mean)
        side_by_side = max(1.0, self.spent / max(1e-9, time.monotonic() - self.begun))
        return ", ".join([f"about {duration(work / side_by_side)} left", *mean])

    def _report(self, row: Row) -> None:
        """What an episode is to show, the first error, and each warning once."""
        if "shown" in row:
            print(row["shown"])
        if "error" in row and "" not in self.reported:
            self.reported.add("")
            log.warning("episode with seed %d failed: %s", row["seed"], row["error"])
        for warning in row.get("warnings", []):
            if warning not in self.reported:
                self.reported.add(warning)
                log.warning("%s", warning)


def _cost(row: Row, is_first: bool) -> float:
    """Seconds that another episode of the cell will take: those of decisions and updates, without what is compiled and learned, which
    comes once. Maps are prepared one by one, so that all counts there but in the first episode."""
    from airoas.experiments.rows.slim import timing

    seconds = row["times"].get("seconds", 0.0)
    if "error" in row or (row["map"] is not None and not is_first):
        return seconds
    times = timing(row)
    return min(seconds, row["steps"] * (times["plan_mean"] + times["update_mean"]))


def duration(seconds: float) -> str:
    """A time as people say it."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


@contextlib.contextmanager
def status_line(what: str) -> Iterator[Callable[[str], None]]:
    """A live line on a terminal's standard error that says what is being done; silent elsewhere."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda doing: None
        return
    with console.status(escape(what)) as status:
        yield lambda doing: status.update(escape(f"{what}: {doing}"))
