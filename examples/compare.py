"""Compare planners on the same worlds, with honest intervals: `python examples/compare.py`.

The experiment stands in compare.toml. Episodes with the same seed happen in the same world whatever the
planner does, so that differences are taken seed by seed. Stop it at any time: the same command goes on.
"""

import argparse
from pathlib import Path

from airoas.experiments.analysis.render import render
from airoas.experiments.analysis.table import differences, tables
from airoas.experiments.run.bench import bench
from airoas.experiments.run.pool import Pool
from airoas.experiments.spec.reading import parse


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--episodes", type=int, default=100, help="of each planner (default 100)")
    options.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    options.add_argument("--out", type=Path, default=Path("runs/compare"), help="the folder for the episodes")
    options = options.parse_args()

    text = Path(__file__).with_name("compare.toml").read_text(encoding="utf-8")
    spec = parse(text.replace("episodes = 100", f"episodes = {options.episodes}"), "compare.toml")
    rows = bench(spec, options.out, lambda: Pool(options.jobs))
    print(render(tables(spec, rows), "text"))
    for difference in differences(spec, rows):
        decided = difference.p_holm < 0.05
        verdict = "not settled" if not decided else "ahead" if difference.mean > 0 else "behind"
        print(f"{difference.first} against {difference.second}: {verdict} after {difference.pairs} pairs")


if __name__ == "__main__":
    main()
