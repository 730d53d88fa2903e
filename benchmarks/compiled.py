"""What is compiled before a planner's first decision on a new model: every function, with the CPU time that numba took for it.

`python benchmarks/compiled.py examples/my_model.py:MyModel pomcpow` lets one process fill an empty cache with the kernels that all
models share, by a decision on another model; a second one decides on the model that is asked for, and tells what was missing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import measures


class Compiled(NamedTuple):
    """A function, and the CPU milliseconds of compiling it without what it calls."""

    name: str
    ms: float


def watched(result: list[Compiled]) -> Any:
    """A listener of numba's that adds every function that is compiled from now on."""
    from numba.core import event

    class Watch(event.Listener):
        began: list[list[float]] = []

        def on_start(self, event: Any) -> None:
            self.began.append([time.process_time(), 0.0])

        def on_end(self, event: Any) -> None:
            begun, below = self.began.pop()
            seconds = time.process_time() - begun
            if self.began:
                self.began[-1][1] += seconds
            name = event.data["dispatcher"].py_func.__qualname__
            result.append(Compiled(name.replace(".<locals>", ""), 1e3 * (seconds - below)))

    return event.install_listener("numba:compile", Watch())


def decide(reference: str, planner: str) -> dict[str, Any]:
    """A first decision in this process."""
    result: list[Compiled] = []
    import airoas

    with watched(result):
        model = measures.make_model(reference)
        belief = airoas.Particles.sample(model, 10_000, airoas.stream(0, "filter"))
        sampled = len(result)
        measures.planned(planner, 10).plan(model, belief, airoas.stream(0, "planner"))
    return {"seconds": time.process_time(), "compiled": result[sampled:], "belief": sampled}


def process(reference: str, planner: str, cache: str) -> dict[str, Any]:
    command = [sys.executable, __file__, reference, planner, "--in-process"]
    done = subprocess.run(command, env={**os.environ, "AIROAS_CACHE_DIR": cache}, capture_output=True, text=True)
    if done.returncode:
        sys.exit((done.stderr.strip().splitlines() or ["the process failed and said nothing"])[-1])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a domain's name, or file.py:Model")
    parser.add_argument("planner", choices=measures.PLANNERS)
    parser.add_argument("--in-process", action="store_true", help="decide in this process, with the cache as it is; the answer is JSON")
    options = parser.parse_args()
    if options.in_process:
        print(json.dumps(decide(options.model, options.planner)))
        return 0
    with tempfile.TemporaryDirectory() as cache:
        process("tag" if options.model.startswith("light-dark") else "light-dark-1.0", options.planner, cache)
        new, warm = (process(options.model, options.planner, cache) for _ in range(2))
    table = Table(title=f"{options.planner} on {options.model}")
    table.add_column("function")
    table.add_column("ms", justify="right")
    for name, ms in sorted(new["compiled"], key=lambda row: -row[1]):
        table.add_row(name, f"{ms:.0f}")
    console = Console()
    console.print(table)
    console.print(f"{len(new['compiled'])} functions for the planner, {new['belief']} for the belief that it is asked about")
    console.print(f"CPU seconds from the start of the process: {new['seconds']:.2f}; once more, from the cache: {warm['seconds']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
