"""The tables of docs/gpu.md, from results/gpu/*.csv: `python -m tools.gpu_page`. `python benchmarks/gpu.py` makes the data."""

from __future__ import annotations

import csv

from tools.marks import ROOT, fill, table

PAGE = ROOT / "docs" / "gpu.md"
FOLDER = ROOT / "results" / "gpu"
SHOWN = ("README", "tag", "laser-tag", "rock-sample-11-11", "light-dark-1.0", "light-dark-2d", "pushbox", "parking", "building", "vdp-tag")


def load(name: str) -> list[dict[str, str]]:
    with open(FOLDER / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def _steps(text: str) -> str:
    millions = float(text) / 1e6
    return f"{millions:,.0f} M" if millions < 1e4 else f"{millions / 1e3:,.0f} G"


def simulation() -> str:
    rows = {row["model"]: row for row in load("simulation")}
    lines = []
    for name in SHOWN:
        row = rows[name]
        equal = "all" if row["equal"] == row["compared"] else f"{int(row['equal']):,}"
        named = "the model in README" if name == "README" else name
        lines.append([named, _steps(row["gpu_steps_per_s"]), _steps(row["core_steps_per_s"]), f"{float(row['cores']):,.0f}", equal])
    return table(["model", "GPU, steps/s", "a core, steps/s", "as many cores", "returns equal to the last bit"], lines)


def filters() -> str:
    rows = load("filters")
    against = "core_ms" in rows[0]  # whether a core was measured beside it
    lines = []
    for row in rows:
        core = [f"{float(row['core_ms']):,.0f}", f"{float(row['cores']):,.2g}"] if against else []
        lines.append([row["model"], row["method"], f"{int(row['particles']):,}", f"{float(row['gpu_ms']):.2f}", *core])
    return table(["model", "filter", "particles", "GPU, ms", *(["a core, ms", "as many cores"] if against else [])], lines)


def search() -> str:
    lines = []
    for row in load("search"):
        same = "/".join(row[name] for name in ("equal_actions", "equal_trees", "equal_values"))
        rate = 1e3 * int(row["trees"]) / float(row["gpu_ms"])
        times = f"{float(row['gpu_ms']):,.0f}", f"{rate:,.0f}", f"{float(row['core_ms_per_tree']):.1f}"
        lines.append([row["model"], row["planner"], f"{int(row['trees']):,}", *times, same])
    columns = ["model", "planner", "decisions at once", "GPU, ms", "decisions a second", "a busy core, ms a decision", "same as on the CPU"]
    return table(columns, lines)


def worst() -> str:
    rows = load("simulation")
    all_equal = sum(row["equal"] == row["compared"] for row in rows)
    largest = max(float(row["largest_difference"]) for row in rows)
    compared = int(rows[0]["compared"])
    return (
        f"Of {len(rows)} models {all_equal} have {compared:,} of {compared:,} returns equal to the last bit, and no return differs by more "
        f"than {largest:.1g} of max(1, |return|). Measured on an {rows[0]['gpu']}."
    )


if __name__ == "__main__":
    fill(PAGE, {"simulation": simulation(), "filters": filters(), "search": search(), "equal": worst()})
