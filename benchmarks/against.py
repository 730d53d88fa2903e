"""The speed of this tree against another revision: trials of planners, updates of filters, a process's first decision.

`python benchmarks/against.py HEAD~1` builds that revision in an environment of its own and lets both trees do the measurements
of `measures.py` by turns: per measurement 15 pairs, who begins changes from pair to pair, and each pair has processes of its
own, since where memory happens to lie makes a process faster or slower for as long as it lives. The clock is the process's CPU
time. Ratios above 1 mean that this tree is faster. The whole takes about half an hour; run it on an idle machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import random
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from measures import MEASURES
from sides import Side, Worker, git, revision, this_tree

CONFIDENCE = 0.95


# --- the comparison ---


class Result(NamedTuple):
    """A measurement: what each side gave in every pair, this tree first; or why there is nothing to compare."""

    name: str
    pairs: tuple[tuple[dict[str, Any], dict[str, Any]], ...]
    problem: str = ""

    @property
    def speeds(self) -> tuple[list[float], list[float]]:
        """Work per CPU second of each side, pair by pair."""
        this, other = ([pair[side]["work"] / pair[side]["seconds"] for pair in self.pairs] for side in (0, 1))
        return this, other

    @property
    def ratios(self) -> list[float]:
        return [this / other for this, other in zip(*self.speeds, strict=True)]

    @property
    def same(self) -> bool:
        """Whether both sides decided and believed the same, to the last bit."""
        return all(this["outcome"] == other["outcome"] for this, other in self.pairs)


def interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """An interval for the median by order statistics, with the confidence that it has, whatever the distribution.

    That is at least the one asked for where there are enough values (6 for 95 %), else that of the least and the greatest.
    """
    n = len(values)
    below = [sum(math.comb(n, i) for i in range(k)) / 2**n for k in range(n // 2 + 2)]  # fewer than k of n are below the median
    k = max((k for k in range(1, n // 2 + 1) if 1.0 - 2.0 * below[k] >= confidence), default=1)
    ranked = sorted(values)
    return ranked[k - 1], ranked[n - k], 1.0 - 2.0 * below[k]


def compare(sides: tuple[Side, Side], names: Sequence[str], pairs: int, tick: Callable[[str], None]) -> list[Result]:
    """Every measurement done by both sides in turn, `pairs` times, after a round that only fills the caches."""
    done: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {name: [] for name in names}
    problems: dict[str, str] = {}
    for number in range(pairs + 1):
        with contextlib.ExitStack() as stack:
            both = [stack.enter_context(contextlib.closing(Worker(side))) for side in sides]
            for index, name in enumerate(names):
                tick(name)
                if name in problems:
                    continue
                salt = random.uniform(0.0, 0.1)  # the same for both
                order = (0, 1) if (number + index) % 2 else (1, 0)
                given = {turn: both[turn].ask(name, salt) for turn in order}
                wrong = {sides[turn].name: given[turn]["problem"] for turn in (0, 1) if "problem" in given[turn]}
                if wrong:
                    problems[name] = "; ".join(f"{side}: {problem}" for side, problem in wrong.items())
                elif number:
                    done[name].append((given[0], given[1]))
    return [Result(name, tuple(done[name]), problems.get(name, "")) for name in names]


# --- what a person sees ---


def shown(speed: float, unit: str) -> str:
    """A speed; of decisions, of which a process has but one, the seconds."""
    return f"{1.0 / speed:.2f} s" if unit == "decisions" else f"{speed:,.0f}" if speed >= 100 else f"{speed:.1f}"


def table(results: list[Result], sides: tuple[Side, Side]) -> Table:
    measured = [result for result in results if not result.problem]
    sure = min((interval(result.ratios)[2] for result in measured), default=0.0)
    caption = "A ratio above 1: this tree is faster. Trials and updates per CPU second, or CPU seconds to a process's first decision."
    if sure >= CONFIDENCE:
        caption += f" By chance alone {(1.0 - sure) * len(measured):.1f} of these {len(measured)} rows would be called faster or slower."
    if any(not result.same for result in measured):
        caption += " *: the two decided or believed otherwise, so they may have done other work."
    compared = Table(title=f"{sides[0].name} against {sides[1].name}", caption=caption)
    for heading in ("measurement", "this", "other", "ratio", f"{100 * sure:.0f} % interval", ""):
        compared.add_column(heading, justify="left" if heading in ("measurement", "") else "right", no_wrap=True)
    for result in results:
        if result.problem:
            compared.add_row(result.name, "", "", "n/a", "", "")
            continue
        low, high, _ = interval(result.ratios)
        verdict = "" if sure < CONFIDENCE or low <= 1.0 <= high else "[green]faster[/]" if low > 1.0 else "[red]slower[/]"
        speeds = (shown(statistics.median(speeds), result.pairs[0][0]["unit"]) for speeds in result.speeds)
        name = result.name if result.same else f"{result.name} *"
        compared.add_row(name, *speeds, f"{statistics.median(result.ratios):.3f}", f"{low:.3f} to {high:.3f}", verdict)
    return compared


def about(side: Side) -> dict[str, str]:
    """The versions of what a side runs on; where it does not even start, that is the end."""
    with contextlib.closing(Worker(side)) as worker:
        answer = worker.begin()
    if "problem" in answer:
        sys.exit(f"{side.name} does not run: {answer['problem']}\nGive an interpreter that has what it needs with --python.")
    return {name: version for name, version in answer.items() if name != "airoas"}


def saved(results: list[Result], sides: tuple[Side, Side], versions: list[dict[str, str]]) -> dict[str, Any]:
    """All that was measured, for a file."""
    answer = []
    for result in results:
        entry: dict[str, Any] = {"name": result.name, "problem": result.problem, "pairs": result.pairs}
        if not result.problem:
            low, high, sure = interval(result.ratios)
            entry |= {"ratio": statistics.median(result.ratios), "interval": [low, high], "confidence": sure, "same": result.same}
        answer.append(entry)
    machine = {"system": platform.platform(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}
    described = [{"name": side.name, **packages} for side, packages in zip(sides, versions, strict=True)]
    return {"machine": machine, "sides": described, "results": answer}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the commit, branch or tag to compare with")
    parser.add_argument("--pairs", type=int, default=15, help="of each measurement (default 15; fewer than 6 give no 95 %% interval)")
    parser.add_argument("--only", metavar="PATTERN", default="", help="measurements whose names match this regular expression")
    parser.add_argument("--json", metavar="FILE", type=Path, help="save all pairs")
    parser.add_argument("--python", metavar="FILE", type=Path, help="run the revision by this interpreter; build no environment for it")
    options = parser.parse_args()
    names = [name for name in MEASURES if re.search(options.only, name)]
    if not names:
        parser.error(f"no measurement matches {options.only!r}; there are: {', '.join(MEASURES)}")
    if options.pairs < 1:
        parser.error("--pairs must be at least 1")
    console, errors = Console(), Console(stderr=True)
    if not console.is_terminal:
        console.width = 120
    commit = git("rev-parse", "--verify", f"{options.revision}^{{commit}}")
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        task = progress.add_task(f"building {commit[:12]}", total=len(names) * (options.pairs + 1))
        this = f"this ({git('describe', '--always', '--dirty', '--abbrev=12')})"
        name = f"{options.revision} ({commit[:12]})"
        sides = (this_tree(this), revision(name, commit, options.python, lambda text: errors.print(f"{options.revision}: {text}")))
        versions = [about(side) for side in sides]
        results = compare(sides, names, options.pairs, lambda name: progress.update(task, description=name, advance=1))
    console.print(table(results, sides))
    for result in results:
        if result.problem:
            console.print(f"{result.name}: {result.problem}", markup=False, highlight=False)
    if versions[0] != versions[1]:
        for side, packages in zip(sides, versions, strict=True):
            console.print(f"{side.name} ran on {', '.join(f'{name} {version}' for name, version in packages.items())}", highlight=False)
    if options.json:
        options.json.write_text(json.dumps(saved(results, sides, versions), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
