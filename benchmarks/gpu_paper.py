"""The paper's experiment at the paper's own budgets, on a GPU: how many trials its seconds give one core here, and specs of as many.

    python benchmarks/gpu_paper.py --out results/gpu/paper            # measures, an idle core each, and writes a spec for each cell
    airoas bench results/gpu/paper/light-dark-1.0.airoas.toml --out ... --device cuda

`--seconds` other than the paper's 5, `--episodes`, `--domains` and `--planners` choose. LaserTag is map 1: a GPU takes one model at a time.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import airoas
from airoas import catalog
from airoas.experiments.run.play import find_domain, with_tuples
from airoas.experiments.spec.reading import read

DOMAINS = {"light-dark-1.0": 400, "light-dark-0.5": 400, "laser-tag": 200, "tag": 200}
PLANNERS = ("airoas", "adaops", "airoas-printed", "ardespot")
RANDOM_MAPS = {"laser-tag": "laser-tag-random"}
"""What the paper's file has in place of a domain."""


def trials(domain: str, kind: str, options: dict[str, Any], seconds: float) -> int:
    """Of a decision, the median of the first three of an episode."""
    model = find_domain(domain)(0)
    planner: Any = catalog.make_planner(kind, with_tuples({**options, "seconds": seconds}))
    episode = airoas.simulate(model, planner, 1, "bootstrap", 30_000, 3)
    return int(statistics.median(step.decision.stats.trials for step in episode.trace))


def measured(job: tuple[str, str, dict[str, Any], float]) -> int:
    return trials(*job)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--episodes", type=int, default=0)
    parser.add_argument("--domains", nargs="*", default=list(DOMAINS))
    parser.add_argument("--planners", nargs="*", default=list(PLANNERS))
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    cells = {(cell.domain, cell.planner): cell for part in read("paper", "", "").parts for cell in part.cells}
    wanted = {
        (domain, planner): dataclasses.replace(cells[RANDOM_MAPS.get(domain, domain), planner], domain=domain)
        for domain in options.domains
        for planner in options.planners
    }
    jobs = [(cell.domain, cell.kind, {**cell.options}, options.seconds) for cell in wanted.values()]
    with ProcessPoolExecutor(options.jobs) as pool:
        counts = list(pool.map(measured, jobs))
    options.out.mkdir(parents=True, exist_ok=True)
    for ((domain, planner), cell), count in zip(wanted.items(), counts, strict=True):
        print(f"{domain} {planner}: {count} trials in {options.seconds:g} s", flush=True)
        lines = {
            "title": f"The paper's table: {domain}, {planner}, the trials of {options.seconds:g} s of a core",
            "episodes": options.episodes or DOMAINS[domain],
            "seed": cell.seeds[0],
            "filter": cell.filter,
            "particles": cell.particles,
            "domains": [domain],
        }
        lines |= {"max_steps": cell.max_steps} if cell.max_steps else {}
        own = {name: value for name, value in cell.options.items() if name != "seconds"}
        table = {"planner": cell.kind, "iterations": max(1, count), **own}
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())
        text += f"[planners.{planner}]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())
        (options.out / f"{domain}.{planner}.toml").write_text(text)


if __name__ == "__main__":
    main()
