"""What `against.py` measures, done within one tree: trials of planners, updates of filters, a process's first decision.

`python measures.py` says on a line where its airoas comes from, then answers each line of its input, a measurement and a salt
as JSON, with a line of JSON: CPU seconds, how much work was done in them, and what came of it; or the problem. It runs beside
revisions of all ages, so it keeps to public names; a name that moves is looked for in `made` and `planned` only.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

DOMAINS = ("tag", "laser-tag", "light-dark-1.0", "rock-sample-11-11")
PLANNERS = {"airoas": "AIROAS", "adaops": "AdaOPS", "ardespot": "ARDESPOT", "pomcp": "POMCP", "pomcpow": "POMCPOW"}
ITERATIONS = {  # of each domain, for about 0.1 s a decision
    "airoas": (2000, 300, 400, 1000),
    "adaops": (600, 2, 50, 1000),
    "ardespot": (1200, 4000, 500, 60),
    "pomcp": (150_000, 200_000, 400_000, 100_000),
    "pomcpow": (20_000, 80_000, 150_000, 40_000),
}
DECISIONS = 4
SEQUENCES, STEPS = 5, 8
FILTERS = {  # method and particles: how often all sequences are followed, for some 0.2 s
    ("bootstrap", 100): 100,
    ("bootstrap", 10_000): 20,
    ("annealed", 100): 30,
    ("annealed", 10_000): 6,
    ("exact", None): 60,
}
EXAMPLE = Path(__file__).parents[1] / "examples" / "my_model.py"
CONSTANT = "abs(beacon - drone) < 0.5"


def cpu() -> float:
    """CPU seconds of this process since it began, and of children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def answer(seconds: float, work: int, unit: str, outcome: Any) -> dict[str, Any]:
    """outcome: whatever must be equal for two sides to have done the same work."""
    return {"seconds": seconds, "work": work, "unit": unit, "outcome": hashlib.sha256(repr(outcome).encode()).hexdigest()[:16]}


@functools.cache
def make_model(domain: str) -> Any:
    """The model of a domain's name, or of file.py:Model."""
    return importlib.import_module("airoas.catalog").find_domain(domain)(0)


def planned(planner: str, iterations: int) -> Any:
    return getattr(importlib.import_module("airoas.planners"), PLANNERS[planner])(iterations=iterations)


# --- planners ---


def trials(name: str, domain: str, iterations: int) -> dict[str, Any]:
    """Decisions from the initial belief, the first of them twice: once before the clock starts."""
    import airoas

    model, planner = make_model(domain), planned(name, iterations)
    belief = airoas.Particles.exact(model)
    planner.prepare(model)
    planner.plan(model, belief, airoas.stream(0))
    begun = cpu()
    decisions = [planner.plan(model, belief, airoas.stream(seed)) for seed in range(DECISIONS)]
    seconds = cpu() - begun
    count = sum(decision.stats.trials for decision in decisions)
    if count == 0:
        raise ValueError(f"no trials: the search stops by {decisions[0].stats.stop!r} before the first")
    return answer(seconds, count, "trials", [(d.action, d.value, d.stats.trials) for d in decisions])


# --- filters ---


@functools.cache
def histories(domain: str) -> list[list[tuple[Any, Any]]]:
    """Actions and observations of some random walks that end in no terminal state."""
    import airoas

    result = []
    for number in range(SEQUENCES):
        model, world = make_model(domain), airoas.stream(number, "world")
        s, history = model.initial(world), []
        while len(history) < STEPS:
            a = world.integer(len(model.actions()))
            arrived = model.step(s, a, world)[0] if model.legal(s, a) else s
            if model.legal(s, a) and not model.is_terminal(arrived):
                s = arrived
                history.append((a, model.observe(s, a, world)))
        result.append(history)
    return result


def updates(method: str, particles: int | None, domain: str, repeats: int) -> dict[str, Any]:
    """Updates along the histories, once before the clock starts. A history ends where every particle is lost."""
    import airoas

    model = make_model(domain)

    def follow(history: list[tuple[Any, Any]], seed: int) -> tuple[int, Any]:
        rng = airoas.stream(seed, "filter")
        belief = airoas.Particles.sample(model, particles, rng) if particles else airoas.Particles.exact(model)
        for done, (a, o) in enumerate(history):
            try:
                belief = airoas.update(model, belief, a, o, rng, method)
            except airoas.BeliefError:  # of particle deprivation; its own class has had two names
                return done + 1, belief.mean().tolist()
        return len(history), belief.mean().tolist()

    for seed, history in enumerate(histories(domain)):
        follow(history, seed)
    begun = cpu()
    followed = [follow(history, seed) for _ in range(repeats) for seed, history in enumerate(histories(domain))]
    return answer(cpu() - begun, sum(count for count, _ in followed), "updates", followed)


# --- start-up ---


def first(reference: str) -> dict[str, Any]:
    """The first decision of this process; the seconds count from its beginning."""
    import airoas

    model = make_model(reference)
    belief = airoas.Particles.sample(model, 10_000, airoas.stream(0, "filter"))
    decision = planned("airoas", 10).plan(model, belief, airoas.stream(0, "planner"))
    return answer(cpu(), 1, "decisions", (decision.action, decision.value))


def start(state: str, domain: str, salt: float) -> dict[str, Any]:
    """A new process to its first decision. state: "warm", with the cache as earlier ones left it; "empty", with an empty one;
    "edited", warm but for a constant of the example's file that is like no earlier one."""
    with tempfile.TemporaryDirectory() as folder:
        if domain == EXAMPLE.stem:
            source = EXAMPLE.read_text()
            if CONSTANT not in source:
                raise ValueError(f"{EXAMPLE.name} has no {CONSTANT!r} to edit")
            file = Path(folder) / EXAMPLE.name
            file.write_text(source.replace(CONSTANT, f"{CONSTANT} + {salt!r}") if state == "edited" else source)
            domain = f"{file}:MyModel"
        environment = {**os.environ, "AIROAS_CACHE_DIR": f"{folder}/cache"} if state == "empty" else None
        done = subprocess.run([sys.executable, __file__, domain], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


# --- by name ---

MEASURES: dict[str, Callable[[float], dict[str, Any]]] = {}
for _planner, _budgets in ITERATIONS.items():
    for _domain, _iterations in zip(DOMAINS, _budgets, strict=True):
        MEASURES[f"{_planner} {_domain}"] = lambda salt, _of=(_planner, _domain, _iterations): trials(*_of)
for _domain in DOMAINS:
    for (_method, _particles), _repeats in FILTERS.items():
        _name = f"{_method}-{_particles}" if _particles else _method
        MEASURES[f"{_name} {_domain}"] = lambda salt, _of=(_method, _particles, _domain, _repeats): updates(*_of)
for _state, _domain in (("warm", "light-dark-1.0"), ("empty", "light-dark-1.0"), ("warm", EXAMPLE.stem), ("edited", EXAMPLE.stem)):
    MEASURES[f"start-{_state} {_domain}"] = lambda salt, _of=(_state, _domain): start(*_of, salt)


def serve() -> None:
    """Answer requests until there are no more. What is printed meanwhile goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import airoas

    packages = {name: version(name) for name in ("numpy", "numba", "llvmlite")}
    print(json.dumps({"airoas": airoas.__file__, "python": platform.python_version(), **packages}), file=replies)
    for line in sys.stdin:
        name, salt = json.loads(line)
        try:
            reply = MEASURES[name](salt)
        except Exception as error:  # what one revision cannot do is an answer too
            reply = {"problem": " ".join(f"{type(error).__name__}: {error}".split())}
        print(json.dumps(reply), file=replies)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of filters that had to recover
    if len(sys.argv) > 1:
        print(json.dumps(first(sys.argv[1])))
    else:
        serve()
