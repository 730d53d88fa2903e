"""The tables of docs/robot.md, from docs/robot/*: `python -m tools.lost_page`. `python -m tools.lost_study` makes the data, and
`python examples/lost_robot.py --seeds 100 > docs/robot/docked.txt` what the example earns."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import median

from tools.lost_study import FOLDER, LONGEST, SETTLED
from tools.marks import ROOT, fill, table

PAGE = ROOT / "docs" / "robot.md"
SAID = {
    "none": "nothing",
    "wrong room": "its belief is put into another room",
    "slip": "a wheel slips: half of every stride",
    "kidnapped": "it is carried to another place",
}


def load(name: str) -> list[dict[str, str]]:
    with open(FOLDER / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def troubles() -> str:
    rows = load("troubles")
    lines = []
    for trouble, said in SAID.items():
        plain, helped = ([row for row in rows if row["trouble"] == trouble and row["recover"] == flag] for flag in ("False", "True"))
        noticed = [row for row in plain if row["noticed"]]
        soon = sum(int(row["informative"]) <= 10 for row in noticed)
        steps = f"{median(int(row['noticed']) for row in noticed):g}" if noticed else "-"
        recovered = [sum(0 < int(row["recovered"] or 0) <= 30 for row in some) for some in (plain, helped)]
        near = [
            f"{sum(int(row['near']) for row in some) / (LONGEST - SETTLED) / len(some):.0%}".replace("%", " %") for some in (plain, helped)
        ]
        back = ["-", "-"] if trouble == "none" else [str(count) for count in recovered]
        lines.append([said, str(len(plain)), str(len(noticed)), str(soon), steps, " / ".join(back), " / ".join(near)])
    header = [
        "what happens",
        "runs",
        "noticed",
        "within 10 informative steps",
        "after steps (median)",
        "back within 30 steps",
        "steps near the truth",
    ]
    return table(header, lines)


def particles() -> str:
    rows = load("particles")
    lines = []
    for n in sorted({int(row["particles"]) for row in rows}):
        some = [row for row in rows if int(row["particles"]) == n]
        lost = [row for row in some if row["lost"] == "True"]
        noticed, others = (sum(row["noticed"] == "True" for row in part) for part in (lost, [row for row in some if row not in lost]))
        lines.append([f"{n:,}", f"{20 * n:,}", str(len(some)), str(len(lost)), str(noticed), str(others)])
    header = ["`particles`", "at the start", "episodes", "the truth was lost", "noticed", "called lost in other episodes"]
    return table(header, lines)


def false_alarms() -> str:
    rows = load("false_alarms")
    steps, alarms = sum(int(row["steps"]) for row in rows), sum(int(row["alarms"]) for row in rows)
    worst = max(rows, key=lambda row: int(row["alarms"]) / int(row["steps"]))
    return (
        f"With the right model, a random planner and the defaults: {alarms} alarms in {steps:,} steps of {len(rows)} domains, "
        f"at most {worst['alarms']} in one of them ({worst['domain']}, {int(worst['steps']):,} steps)."
    )


def docked(data: Path = FOLDER / "docked.txt") -> str:
    command = "`python examples/lost_robot.py --seeds 100 > docs/robot/docked.txt`"
    if not data.exists():
        return f"How often it docks is not measured yet. {command} does it, on a machine with nothing else to do."
    lines = re.findall(r"^seed \d+: (?:docked after (\d+) steps|not docked)$", data.read_text(encoding="utf-8"), re.MULTILINE)
    steps = [int(line) for line in lines if line]
    after = f", after {median(steps):g} steps (median)" if steps else ""
    return f"It docked in {len(steps)} of {len(lines)} runs{after}: {command}."


if __name__ == "__main__":
    fill(PAGE, {"troubles": troubles(), "false alarms": false_alarms(), "particles": particles(), "docked": docked()})
