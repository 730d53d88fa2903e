"""How far a run has come: a live table on a terminal, a line a minute elsewhere, and what went wrong, once."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

    from airoas.experiments.run.play import Row
    from airoas.experiments.spec.cells import Spec

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
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), TextColumn("{task.fields[said]}"))
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
        self.begun = self.spoken = time.monotonic()
        self.spent = 0.0
        self.cost = [0.0] * len(self.cells)
        self.ran = [0] * len(self.cells)
        self.told: set[str] = set()
        self.bars: list[Any] = []

    def __call__(self, row: Row | None, rows: dict[str, Row]) -> None:
        if row is None:
            self._begin(rows)
            return
        self._tell(row)
        seconds = row["times"].get("seconds", 0.0)
        self.spent += seconds
        for number in self.of[row["id"]]:
            self.ran[number] += 1
            self.cost[number] += seconds - row["times"].get("preparation", 0.0)  # which comes once
        done = sum(key in rows for key in self.of)
        if self.progress:
            for number in self.of[row["id"]]:
                self._show_cell(number, rows)
            self.progress.update(self.bars[-1], completed=done, said=self._left(rows))
        elif time.monotonic() - self.spoken > EVERY:
            self.spoken = time.monotonic()
            print(f"airoas: {done} of {len(self.of)} episodes, {self._left(rows)}", file=sys.stderr, flush=True)

    def _begin(self, rows: dict[str, Row]) -> None:
        earlier = sum(key in rows for key in self.of)
        if earlier:
            failed = sum("error" in rows.get(key, ()) for key in self.of)
            told = f", {failed} of them failed" if failed else ""
            self._print(f"airoas: {earlier} of {len(self.of)} episodes are there already{told}")
        if not self.progress:
            return
        whole = self.progress.add_task("all", total=len(self.of), completed=earlier, said="compiling or loading")
        for number, cell in enumerate(self.spec.cells):
            name = f"{cell.label} on {self.spec.domains[cell.domain].label}"
            most = max(20, self.progress.console.width - REST)
            name = name if len(name) <= most else f"{name[: most - 1]}…"
            self.bars.append(self.progress.add_task(name, total=len(self.cells[number]), said="", visible=len(self.cells) > 1))
            self._show_cell(number, rows)
        self.bars.append(whole)

    def _show_cell(self, number: int, rows: dict[str, Row]) -> None:
        from airoas.experiments.analysis.summary import returns

        assert self.progress
        there = [rows[key] for key in self.cells[number] if key in rows]
        good = [row for row in there if "error" not in row]
        known = returns(good)
        said = f"{known.mean:.3f}{f' ± {known.sem:.3f}' if math.isfinite(known.sem) else ''}" if good else ""
        failed = f", {len(there) - len(good)} failed" if len(there) > len(good) else ""
        self.progress.update(self.bars[number], completed=len(there), said=said + failed)

    def _left(self, rows: dict[str, Row]) -> str:
        """The time left, from the cost of an episode in each cell and how many ran side by side so far."""
        typical = sum(self.cost) / sum(self.ran)
        work = 0.0
        for cost, ran, ids in zip(self.cost, self.ran, self.cells, strict=True):
            work += (cost / ran if ran else typical) * sum(key not in rows for key in ids)
        side_by_side = max(1.0, self.spent / (time.monotonic() - self.begun))
        seconds = work / side_by_side
        known = [row["discounted_return"] for row in rows.values() if "error" not in row] if len(self.cells) == 1 else []
        mean = f", mean {sum(known) / len(known):.3f}" if known else ""
        return f"about {duration(seconds)} left{mean}"

    def _tell(self, row: Row) -> None:
        if "shown" in row:
            print(row["shown"])
        if "error" in row and "" not in self.told:
            self.told.add("")
            self._print(f"airoas: episode with seed {row['seed']} failed: {row['error']}")
        for warning in row.get("warnings", []):
            if warning not in self.told:
                self.told.add(warning)
                self._print(f"airoas: {warning}")

    def _print(self, line: str) -> None:
        if self.progress:
            self.progress.console.print(line, highlight=False, markup=False)
        else:
            print(line, file=sys.stderr)


def duration(seconds: float) -> str:
    """A time as people say it."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


@contextlib.contextmanager
def saying(what: str) -> Iterator[Callable[[str], None]]:
    """A live line on a terminal's standard error that says what is being done; silent elsewhere."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda doing: None
        return
    with console.status(escape(what)) as status:
        yield lambda doing: status.update(escape(f"{what}: {doing}"))
