"""The table of late answers in docs/robot.md, from results/deadlines.json: `python -m tools.deadlines_page`.

`python -m benchmarks.deadlines` makes the data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.marks import ROOT, fill, table

PAGE = ROOT / "docs" / "robot.md"
DATA = ROOT / "results" / "deadlines.json"


def late_answers(data: Path = DATA) -> str:
    """p99 and the most of each planner: a line for each condition, a pair of columns for each deadline."""
    if not data.exists():
        return "Not measured yet. `make deadlines` does it, on a machine with nothing else to do."
    measured = json.loads(data.read_text(encoding="utf-8"))
    cells = {(row["condition"], row["planner"], row["seconds"]): row for row in measured["rows"]}
    conditions, planners, deadlines = (list(dict.fromkeys(key[k] for key in cells)) for k in range(3))
    lines = [
        [condition, f"{seconds:g} s", *(_shown(cells[condition, planner, seconds]) for planner in planners)]
        for condition in conditions
        for seconds in deadlines
    ]
    domains = ", ".join(f"{name} on {domain}" for name, domain in {row["planner"]: row["domain"] for row in measured["rows"]}.items())
    where = f"airoas {measured['airoas']}, Python {measured['python']}, {measured['cores']} cores, {measured['cpu']}"
    return "\n\n".join(
        (
            f"Milliseconds past the deadline, 99 % of answers (the latest of {_counts(measured['rows'])}); {where}.",
            table(["meanwhile", "deadline", *planners], lines),
            f"`python -m benchmarks.deadlines`: {domains}.",
        )
    )


def _counts(rows: list[dict[str, Any]]) -> str:
    """How many answers there were, and where fewer."""
    usual = max(row["decisions"] for row in rows)
    fewer = {row["decisions"]: row["condition"] for row in rows if row["decisions"] < usual}
    return "; ".join((str(usual), *(f"{count} at least where {condition}" for count, condition in sorted(fewer.items())[:1])))


def _shown(row: dict[str, float]) -> str:
    return f"{row['p99']:.1f} ({row['most']:.1f})"


if __name__ == "__main__":
    fill(PAGE, {"late answers": late_answers()})
