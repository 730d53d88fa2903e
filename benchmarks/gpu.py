"""What a GPU is worth: simulated steps a second, and belief updates, against one core of the same machine's CPU.

    python benchmarks/gpu.py simulation    # results/gpu/simulation.csv: every domain, README's model; 10,000 returns compared
    python benchmarks/gpu.py filters       # results/gpu/filters.csv: updates of large beliefs
    python benchmarks/gpu.py search        # results/gpu/search.csv: many decisions at once, of POMCP, AIROAS, AdaOPS and AR-DESPOT

`--only NAME ...` takes some domains, `--planners` some planners, `--prepare` compiles and measures nothing (several of these may run side
by side), `--out` is another folder. Rows of what is not measured stay in the file. `--mode alone` grows a bounded tree by one thread in
place of a warp, `--registers` and `--threads` set how many a thread takes at most, and how many threads a block has.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import airoas
from airoas.belief.device import DeviceParticles
from airoas.catalog import DOMAINS, find_domain
from airoas.compiler import cuda
from airoas.compiler import device as devices
from airoas.compiler.device import device
from airoas.compiler.kernels import kernel
from airoas.compiler.lanes import lanes
from airoas.planners import AIROAS, ARDESPOT, POMCP, AdaOPS
from airoas.planners.bounded import many as bounded
from airoas.rng import new_stream

ROOT = Path(__file__).parents[1]
README_MODEL = f"{ROOT / 'examples' / 'my_model.py'}:MyModel"
STEPS = 20
COMPARED = 10_000
LARGE = 1 << 24
REPEATED = 20.0
"""Seconds below which a measurement is made twice, and the shorter time taken."""


@kernel
def returns(model: Any, out: Any, seed: int, steps: int) -> int:
    """Discounted returns of the default policy, with a thousandth of the log-likelihoods of what is seen; how many steps were taken."""
    own = new_stream()
    taken = 0
    for i in lanes(len(out)):
        own.reseed(seed, 0, i)
        s = model.initial(own)
        total, factor = 0.0, 1.0
        for _ in range(steps):
            if model.is_terminal(s):
                break
            a = model.rollout_action(s, own)
            s, reward = model.step(s, a, own)
            taken += 1
            total += factor * reward
            factor *= model.discount
            if not model.is_terminal(s):
                total += 1e-3 * model.obs_logpdf(model.observe(s, a, own), s, a)
        out[i] = total
    return taken


def fastest(run: Any, times: int) -> float:
    run()
    best = math.inf
    for _ in range(times):
        begun = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begun)
    return best


def simulation(name: str, prepare: bool) -> dict[str, Any]:
    model, gpu = find_domain(name)(0), device()
    remote, few = gpu.model(model), gpu.allocate((COMPARED,))
    begun = time.perf_counter()
    gpu.function(returns, remote, few, 0, 0)
    compiled = time.perf_counter() - begun
    local = np.empty(COMPARED)
    returns.prepare(model, local, 0, 0)
    if prepare:
        return {}
    gpu.launch(returns, COMPARED, remote, few, 17, STEPS)
    steps = int(returns(model, local, 17, STEPS))
    difference = np.abs(few.get() - local) / np.maximum(1.0, np.abs(local))
    cpu = fastest(lambda: returns(model, local, 17, STEPS), 3)
    out = gpu.allocate((LARGE,))
    (taken,) = gpu.fold(returns, LARGE, remote, out, 17, STEPS)

    def run() -> None:
        gpu.launch(returns, LARGE, remote, out, 17, STEPS)
        gpu.synchronise()

    best = fastest(run, 3)
    small = gpu.allocate((1024,))

    def run_small() -> None:
        gpu.launch(returns, 1024, remote, small, 17, STEPS)
        gpu.synchronise()

    return {
        "model": "README" if name == README_MODEL else name,
        "gpu_steps_per_s": f"{taken / best:.4g}",
        "core_steps_per_s": f"{steps / cpu:.4g}",
        "cores": f"{taken / best / (steps / cpu):.4g}",
        "compile_s": f"{compiled:.2f}",
        "launch_1024_ms": f"{1e3 * fastest(run_small, 5):.3f}",
        "compared": COMPARED,
        "equal": int((difference == 0.0).sum()),
        "largest_difference": f"{difference.max():.3g}",
    }


FILTERED = {"light-dark-2d": ("bootstrap", "annealed"), "building": ("bootstrap", "annealed"), "laser-tag": ("bootstrap", "annealed")}


def filters(name: str, method: str, n: int, prepare: bool) -> dict[str, Any]:
    """An update of n particles by the second observation of an episode, from the belief after the first."""
    model, world = find_domain(name)(0), airoas.stream(5, "world")
    state = model.initial(world)
    seen = []
    for _ in range(2):
        action = model.rollout_action(state, world)
        state, _ = model.step(state, action, world)
        seen.append((action, model.observe(state, action, world)))

    def updated(belief: Any, k: int, where: str) -> Any:
        return airoas.update(model, belief, *seen[k], airoas.stream(k, "update"), filter=method, device=where)

    gpu = device()
    n = 4096 if prepare else n
    remote = DeviceParticles.sample_on(gpu, model, n, airoas.stream(7))
    first = updated(remote, 0, "cuda")
    updated(first, 1, "cuda")
    local = airoas.Particles.sample(model, n, airoas.stream(7))
    before = airoas.Particles(first.states, log_weights=first.log_weights)._of(model)
    updated(before.draw(4096, airoas.stream(0)), 1, "cpu")
    if prepare:
        return {}
    times = []
    for _ in range(20):
        gpu.synchronise()
        begun = time.perf_counter()
        posterior = updated(first, 1, "cuda")
        gpu.synchronise()
        times.append(time.perf_counter() - begun)
    cpu = math.inf
    for _ in range(3):
        begun = time.thread_time()  # that of a process would count the idle threads of BLAS
        on_cpu = updated(before, 1, "cpu")
        cpu = min(cpu, time.thread_time() - begun)
    annealed = airoas.anneal(model, first, *seen[1], airoas.stream(1), mode="none" if method == "bootstrap" else "corrected", device="cuda")
    spread = np.maximum(on_cpu.std(), 1e-12)
    return {
        "model": name,
        "method": method,
        "particles": n,
        "gpu_ms": f"{1e3 * statistics.median(times):.3f}",
        "core_ms": f"{1e3 * cpu:.1f}",
        "cores": f"{cpu / statistics.median(times):.4g}",
        "temperatures": len(annealed.betas) - 1,
        "mean_difference_in_std": f"{np.max(np.abs(posterior.mean() - on_cpu.mean()) / spread):.2g}",
        "sampled_equal": int((remote.states == local.states).all()),
    }


SEARCHED = ("tag", "laser-tag", "rock-sample-11-11", "light-dark-1.0")
PLANNERS = {
    "POMCP": POMCP(iterations=1000),
    "AIROAS": AIROAS(iterations=100, policy="none"),
    "AdaOPS": AdaOPS(iterations=100, max_particles=100),
    "AR-DESPOT": ARDESPOT(iterations=100),
}
CHECKED = 32


def search(name: str, which: str, trees: int, prepare: bool) -> dict[str, Any]:
    """Decisions for one belief of 1000 particles, each with a stream of its own."""
    model, planner = find_domain(name)(0), PLANNERS[which]
    belief = airoas.Particles.sample(model, 1000, airoas.stream(3))

    def planned(count: int) -> Any:
        return planner.plan_many(model, [belief] * count, [airoas.stream(4, k) for k in range(count)])

    few = planned(CHECKED)
    planner.plan(model, belief, airoas.stream(4, 0))
    if prepare:
        return {}
    cpu = math.inf
    for _ in range(2):
        begun = time.thread_time()
        wanted = [planner.plan(model, belief, airoas.stream(4, k)) for k in range(CHECKED)]
        cpu = min(cpu, (time.thread_time() - begun) / CHECKED)
    begun = time.perf_counter()
    many = planned(trees)
    gpu = time.perf_counter() - begun
    if gpu < REPEATED:
        begun = time.perf_counter()
        many = planned(trees)
        gpu = min(gpu, time.perf_counter() - begun)
    return {
        "model": name,
        "planner": which,
        "mode": "alone" if which == "POMCP" else bounded.MODE.removeprefix("mode_"),
        **kernel_attributes("search_many"),
        "trials": planner.iterations,
        "trees": trees,
        "gpu_ms": f"{1e3 * gpu:.1f}",
        "core_ms_per_tree": f"{1e3 * cpu:.3f}",
        "cores": f"{cpu * trees / gpu:.4g}",
        "compared": CHECKED,
        "equal_actions": int(sum(int(d.action) == a for d, a in zip(wanted, few.actions, strict=True))),
        "equal_trees": int(sum(d.stats.nodes == n for d, n in zip(wanted, few.nodes, strict=True))),
        "equal_values": int(sum(d.value == v for d, v in zip(wanted, few.values, strict=True))),
        "annealed": sum(d.stats.notes.get("annealed", 0) for d in wanted),
        "mean_nodes": f"{many.nodes.mean():.1f}",
    }


def kernel_attributes(name: str) -> dict[str, Any]:
    """Registers and local memory of a thread, and how many warps of it a multiprocessor runs at a time."""
    gpu = device()
    kinds = gpu._driver.CUfunction_attribute
    for (known, *_), (function, *_) in gpu._functions.items():
        if known.__name__ == name:
            registers = gpu.call("cuFuncGetAttribute", kinds.CU_FUNC_ATTRIBUTE_NUM_REGS, function)
            local = gpu.call("cuFuncGetAttribute", kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function)
            blocks = gpu.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, devices.THREADS, 0)
            warps = int(blocks) * devices.THREADS // cuda.WARP
            return {"threads": devices.THREADS, "registers": int(registers), "local_bytes": int(local), "warps": warps}
    return {}


MEASURED = ("model", "method", "planner", "particles", "trees", "mode", "threads", "registers")


def keep(path: Path, row: dict[str, Any]) -> None:
    """Put a row into a file, in place of what was measured before of the same."""
    rows: list[dict[str, Any]] = []
    if path.exists():
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
    same = [k for k, other in enumerate(rows) if all(str(row.get(name)) == str(other.get(name)) for name in MEASURED)]
    if same:
        rows[same[0]] = row
    else:
        rows.append(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("simulation", "filters", "search"))
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--particles", type=int, nargs="*", default=[1_000_000, 10_000])
    parser.add_argument("--planners", nargs="*", default=list(PLANNERS), choices=list(PLANNERS))
    parser.add_argument("--trees", type=int, nargs="*", default=[1, 4096, 32_768])
    parser.add_argument("--mode", choices=("warp", "alone"), default="warp")
    parser.add_argument("--registers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=devices.THREADS)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "gpu")
    options = parser.parse_args()
    bounded.MODE, cuda.REGISTERS, devices.THREADS = f"mode_{options.mode}", options.registers, options.threads
    if options.part == "simulation":
        jobs: list[Any] = [(simulation, (name,)) for name in options.only or [*DOMAINS, README_MODEL]]
    elif options.part == "search":
        names = options.only or SEARCHED
        jobs = [(search, (name, which, trees)) for which in options.planners for name in names for trees in options.trees]
    else:
        jobs = [(filters, (name, method, n)) for name in options.only or FILTERED for method in FILTERED[name] for n in options.particles]
    for function, arguments in jobs:
        try:
            row = function(*arguments, options.prepare)
        except Exception:
            print(f"{arguments}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            continue
        if row:
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            keep(options.out / f"{options.part}.csv", {**row, "gpu": device().name})


if __name__ == "__main__":
    main()
