"""The tables of docs/robot.md, from docs/robot/*: `python -m tools.lost_page`. `python -m tools.lost_study` makes the data, and
`python examples/lost_robot.py --seeds 100 --out docs/robot/docked.csv` what the example earns."""

from __future__ import annotations

import math
from statistics import mean, median, stdev

from tools.lost_study import INFORMED, LONGEST, SETTLED, STEPS, TROUBLES, domains, load
from tools.marks import ROOT, fill, table

PAGE = ROOT / "docs" / "robot.md"
SAID = {
    "none": "nothing",
    "no idea": "nothing, and it does not know where it begins",
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
        if had_fewer:
            soon += f" ({had_fewer} had fewer)"
        steps = f"{median(int(row['noticed']) for row in noticed):g}" if noticed else "-"
        recovered = [sum(_back(row) for row in some) for some in (plain, helped)]
        near = [
            f"{sum(int(row['near']) for row in some) / (LONGEST - SETTLED) / max(1, len(some)):.0%}".replace("%", " %")
            for some in (plain, helped)
        ]
        back = ["-", "-"] if trouble in TROUBLES[:2] else [str(count) for count in recovered]
        runs = str(len(plain)) if len(plain) == len(helped) else f"{len(plain)} / {len(helped)}"
        lines.append([said, runs, str(in_time), "-" if trouble in TROUBLES[:2] else soon, steps, " / ".join(back), " / ".join(near)])
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


def unharmed() -> str:
    """What recovery costs where nothing is wrong."""
    rows, said = load("troubles"), []
    for trouble, start in zip(TROUBLES[:2], ("from a known place", "from no idea of where one is"), strict=True):
        some = [row for row in rows if row["trouble"] == trouble]
        plain, helped = ({row["seed"]: row for row in some if row["recover"] == flag} for flag in ("False", "True"))
        gains = [100.0 * (float(helped[seed]["weight"]) - float(row["weight"])) for seed, row in plain.items() if seed in helped]
        seconds = [median(float(row["cpu_seconds"]) for row in part.values()) / LONGEST for part in (plain, helped)]
        error = stdev(gains) / math.sqrt(len(gains))
        said.append(
            f"{start} {mean(gains):+.1f} ± {error:.1f} % of the weight near the truth (paired, n = {len(gains)}, standard error), "
            f"{1e3 * seconds[0]:.0f} ms of CPU time a step without and {1e3 * seconds[1]:.0f} ms with it (median)"
        )
    return f"What it costs where nothing is wrong: {'; '.join(said)}."


def tree() -> str:
    """How much of a tree is left, of each domain and planner."""
    rows, lines = load("tree"), []
    for name, planner in dict.fromkeys((row["domain"], row["planner"]) for row in rows):
        some = [row for row in rows if (row["domain"], row["planner"]) == (name, planner)]
        fractions = [[100.0 * float(row[column]) for row in some] for column in ("left", "most")]
        errors = [stdev(fraction) / math.sqrt(len(fraction)) for fraction in fractions]
        lines.append([name, planner, str(len(some)), *(f"{mean(s):.1f} ± {e:.1f} %" for s, e in zip(fractions, errors, strict=True))])
    return table(["domain", "planner", "decisions", "left", "at most, whatever is seen"], lines)


def _back(row: dict[str, str]) -> bool:
    """Whether a robot was near the truth again within 30 steps."""
    return 0 < int(row["recovered"] or 0) <= 30


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


def docked(rows: list[dict[str, str]] | None = None) -> str:
    """What the example earns. rows: by default those of docs/robot/docked.csv."""
    rows = load("docked") if rows is None else rows
    command = "`python examples/lost_robot.py --seeds 100 --out docs/robot/docked.csv`"
    if not rows:
        return f"How often it docks is not measured yet. {command} does it."
    n, arrived = len(rows), [int(row["steps"]) for row in rows if int(row["docked"])]
    low, high = interval(len(arrived), n)
    returns = [float(row["return"]) for row in rows]
    after = f", after {median(arrived):g} steps (median)" if arrived else ""
    recovered = sum(int(row["recovered"]) > 0 for row in rows)
    slowest = max(float(row["most_seconds"]) for row in rows)
    late = sum(float(row["most_seconds"]) > PERIOD for row in rows)
    took = mean(float(row["mean_seconds"]) for row in rows)
    return (
        f"It docked in {len(arrived)} of {n} runs ({100.0 * low:.0f} to {100.0 * high:.0f} %, 95 % interval){after}; the mean return is "
        f"{mean(returns):.1f} ± {stdev(returns) / math.sqrt(n):.1f}. Runs in which it was lost and looked for other places: {recovered}. "
        f"Decision and update together took {took:.2f} s of CPU time in the mean and {slowest:.2f} s at most; runs with a move above "
        f"{PERIOD:g} s: {late}. {command}, seeds {rows[0]['seed']} to {rows[-1]['seed']}."
    )


PERIOD = 0.2
"""Seconds between two moves at 5 Hz."""


def interval(k: int, n: int) -> tuple[float, float]:
    """Of a rate of which k in n were seen, 95 % (Wilson, 1927)."""
    z = 1.96
    middle, spread = k / n + z * z / (2 * n), z * math.sqrt(k * (n - k) / n**3 + z * z / (4 * n * n))
    return (middle - spread) / (1 + z * z / n), (middle + spread) / (1 + z * z / n)


if __name__ == "__main__":
    sections = {"troubles": troubles(), "unharmed": unharmed(), "tree": tree(), "false alarms": false_alarms(), "cost": cost()}
    fill(PAGE, sections | {"particles": particles(), "docked": docked()})
