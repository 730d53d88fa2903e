"""The tables of docs/robot.md, from docs/robot/*: `python -m tools.lost_page`. `python -m tools.lost_study` makes the data, and
`python examples/lost_robot.py --seeds 100 > docs/robot/docked.txt` what the example earns."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

from tools.lost_study import FOLDER, INFORMED, LONGEST, SETTLED, STEPS, domains, load
from tools.marks import ROOT, fill, table

PAGE = ROOT / "docs" / "robot.md"
SAID = {
    "none": "nothing",
    "wrong room": "its belief is put into another room",
    "slip": "a wheel slips: half of every stride",
    "kidnapped": "it is carried to another place",
}


def troubles() -> str:
    rows = load("troubles")
    lines = []
    for trouble, said in SAID.items():
        plain, helped = ([row for row in rows if row["trouble"] == trouble and row["recover"] == flag] for flag in ("False", "True"))
        noticed = [row for row in plain if row["noticed"]]
        in_time = sum(int(row["noticed"]) <= LONGEST - SETTLED for row in noticed)
        soon = str(sum(int(row["informative"]) <= INFORMED for row in noticed))
        had_fewer = sum(not row["noticed"] and int(row["informative"]) < INFORMED for row in plain)
        if had_fewer and trouble != "none":
            soon += f" ({had_fewer} had fewer)"
        steps = f"{median(int(row['noticed']) for row in noticed):g}" if noticed else "-"
        recovered = [sum(0 < int(row["recovered"] or 0) <= 30 for row in some) for some in (plain, helped)]
        near = [
            f"{sum(int(row['near']) for row in some) / (LONGEST - SETTLED) / max(1, len(some)):.0%}".replace("%", " %")
            for some in (plain, helped)
        ]
        back = ["-", "-"] if trouble == "none" else [str(count) for count in recovered]
        runs = str(len(plain)) if len(plain) == len(helped) else f"{len(plain)} / {len(helped)}"
        lines.append([said, runs, str(in_time), "-" if trouble == "none" else soon, steps, " / ".join(back), " / ".join(near)])
    header = [
        "what happens",
        "runs",
        f"noticed in {LONGEST - SETTLED} steps",
        f"within {INFORMED} informative steps",
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
    worst = max(rows, key=lambda row: int(row["alarms"]))
    fewest = min(rows, key=lambda row: int(row["steps"]))
    deprived = {row["domain"]: f"{row['deprived']} of {row['episodes']}" for row in rows if int(row["deprived"])}
    ended = "; ".join(f"{name} {count}" for name, count in deprived.items())
    return (
        f"With the right model, a random planner and the defaults: {alarms} alarms in {steps:,} steps of {len(rows)} domains, one in "
        f"{steps // max(1, alarms):,}; at most {worst['alarms']} in one of them ({worst['domain']}, {int(worst['steps']):,} steps). "
        f"A domain has up to {STEPS:,} steps, the fewest {int(fewest['steps']):,} ({fewest['domain']})."
        + (f" Episodes that ended because no particle explained what was seen are not counted: {ended}." if deprived else "")
        + missing(rows)
    )


def missing(rows: list[dict[str, str]]) -> str:
    """The domains that the data do not have."""
    names = [name for name in domains() if name not in {row["domain"] for row in rows}]
    return f" Not measured yet: {', '.join(names)}." if names else ""


WANTED = 0.2
"""The most that the surprise should take, of an update."""


def cost() -> str:
    rows = [row for row in load("cost") if int(row["steps"])]
    dear = sorted((row for row in rows if float(row["ratio"]) > WANTED), key=lambda row: -float(row["ratio"]))
    cheap = [row for row in rows if row not in dear]
    fraction = f"{median(float(row['ratio']) for row in cheap):.0%}".replace("%", " %")
    named = "; ".join(
        f"{row['domain']} ({row['filter']}) {float(row['surprise_us']):.0f} µs beside {float(row['update_us']):.0f}" for row in dear
    )
    return (
        f"What it costs, in CPU time: at most a fifth of an update in {len(cheap)} of {len(rows)} domains, {fraction} in the "
        "median of these." + (f" More in {named}." if dear else "") + missing(rows)
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
    fill(PAGE, {"troubles": troubles(), "false alarms": false_alarms(), "cost": cost(), "particles": particles(), "docked": docked()})
