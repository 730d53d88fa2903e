"""What a space of actions costs: `python benchmarks/actions.py` plans for SensorPlacement with its box of eight dimensions, and for the
same model with a list of 20 actions spread over it, from beliefs along an episode, and prints the CPU time of an expansion of each. The
target: an expansion in the box takes at most twice as long.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import airoas
from airoas.belief.filters.update import make_filter
from airoas.domains import SensorPlacement
from airoas.modelling.discretised import discretised
from airoas.planners import AIROAS, AdaOPS

DISCRETE = 20
PLANNERS: dict[str, Any] = {
    "airoas": AIROAS(iterations=300, policy="none", particles=50),
    "adaops": AdaOPS(iterations=300, min_particles=50, max_particles=50),
}
TARGET = 2.0


class Cost(NamedTuple):
    """Microseconds of CPU time for an expansion: with a list of 20 actions, and in the box; medians over decisions."""

    planner: str
    decisions: int
    discrete: float
    box: float

    @property
    def ratio(self) -> float:
        return self.box / self.discrete


def costs(model: Any, planner: Any, beliefs: list[Any]) -> list[float]:
    """Of each decision."""
    planner.prepare(model)
    result = []
    for number, belief in enumerate(beliefs):
        begun = time.process_time()
        decision = planner.plan(model, belief, airoas.stream(number))
        result.append(1e6 * (time.process_time() - begun) / decision.stats.notes["expansions"])
    return result


def beliefs_of(model: Any, count: int) -> list[Any]:
    """Of the first steps of episodes, by random actions."""
    own, result, episode = make_filter("auto", model), [], 0
    while len(result) < count:
        rng = airoas.stream(episode, "actions")
        belief, s = own.start(model, rng), model.initial(rng)
        for _ in range(3):
            result.append(belief)
            a = model.sample_action(s, rng)
            s, _ = model.step(s, a, rng)
            if model.is_terminal(s):
                break
            belief = own.update(model, belief, a, model.observe(s, a, rng), rng).belief
        episode += 1
    return result[:count]


def measure(name: str, count: int) -> Cost:
    model = SensorPlacement()
    beliefs = beliefs_of(model, count)
    discrete = costs(discretised(model, model.space.spread(DISCRETE)), PLANNERS[name], beliefs)
    box = costs(model, PLANNERS[name], beliefs)
    return Cost(name, count, float(np.median(discrete)), float(np.median(box)))


def table_of(rows: list[Cost]) -> Table:
    table = Table(title=f"CPU time of an expansion, microseconds; target: a ratio of at most {TARGET:g}")
    for heading in ("planner", "decisions", "20 actions", "a box of 8 dimensions", "ratio"):
        table.add_column(heading, justify="left" if heading == "planner" else "right")
    for row in rows:
        colour = "green" if row.ratio <= TARGET else "red"
        table.add_row(row.planner, str(row.decisions), f"{row.discrete:.0f}", f"{row.box:.0f}", f"[{colour}]{row.ratio:.2f}[/]")
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=30)
    parser.add_argument("--json", metavar="FILE", type=Path, help="save the numbers")
    options = parser.parse_args()
    rows = [measure(name, options.decisions) for name in PLANNERS]
    Console().print(table_of(rows))
    if options.json:
        options.json.write_text(json.dumps([row._asdict() | {"ratio": row.ratio} for row in rows], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
