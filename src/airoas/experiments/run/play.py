"""One episode as a row: plain values in, plain values out, so that any process or machine can run it."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import socket
import time
import traceback
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from airoas import __version__, catalog
from airoas.compiler.clock import deadlines_in
from airoas.compiler.kernels import current_mode, running
from airoas.episode import Episode, simulate
from airoas.errors import AiroasError, CompileError
from airoas.experiments.rows.types import Machine, Outcome, Row, Task, Times, episode_spec
from airoas.experiments.run.replay import Replayed
from airoas.tables import plain


def play(task: Task) -> Row:
    """Run one episode. One that fails is a row too, with its error; only a model that cannot be compiled is raised."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(task.get("mode") or current_mode()))
        stack.enter_context(deadlines_in(task.get("clock", "wall")))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        row = played(task)
        if caught:
            row["warnings"] = sorted({str(warning.message) for warning in caught})
    return row


def played(task: Task, instead: Callable[[Any], Any] = lambda planner: planner) -> Row:
    """The same under the settings of the process at hand. instead: another planner in place of the task's."""
    begun, started = time.perf_counter(), time.strftime("%Y-%m-%dT%H:%M:%S%z")
    outcome: Outcome
    try:
        outcome = _run(task, instead)
    except CompileError:
        raise  # it would be the same in every episode, and slow
    except AiroasError as error:
        outcome = {"error": str(error)}
    except Exception as error:
        if current_mode() != "compiled":
            raise  # whoever runs interpreted or with bounds checks wants to see where
        remedy = "Run it with --mode debug or --mode interpreted to see more."
        outcome = {"error": f"{type(error).__name__}: {error} ({_raised_at(error)}). {remedy}"}
    times: Times = {**outcome.get("times", {}), "started": started, "seconds": round(time.perf_counter() - begun, 6)}
    return {**episode_spec(task), "version": __version__, "machine": machine(), **outcome, "times": times}


def _raised_at(error: Exception) -> str:
    """File and line, as near to the user as code of ours or theirs goes."""
    frames = traceback.extract_tb(error.__traceback__)
    near = [frame for frame in frames if "site-packages" not in frame.filename] or list(frames)
    return f"{Path(near[-1].filename).name}, line {near[-1].lineno}"


def failed_row(task: Task, error: str) -> Row:
    """The row of an episode whose process did not live to write one."""
    return cast(Row, {**episode_spec(task), "version": __version__, "machine": machine(), "error": error, "times": {}})


def _run(task: Task, instead: Callable[[Any], Any]) -> Outcome:
    model = find_domain(task["domain"])(task["seed"])
    planner: Any = catalog.make_planner(task["planner"], with_tuples(task["options"]))
    if hasattr(planner, "prepare"):
        planner.prepare(model)
    if "replay" in task:
        planner = Replayed(planner, task["replay"])
    filter = catalog.find_filter(task["filter"])
    episode = simulate(model, instead(planner), task["seed"], filter, task["particles"], task["max_steps"])
    outcome = record(episode)
    if task.get("show") == task["id"]:
        outcome["shown"] = str(episode)
    return outcome


def record(episode: Episode) -> Outcome:
    """What is kept of an episode: everything that repeats it and everything that the tables need, no tree and no belief."""
    trace = episode.trace
    stats = [step.decision.stats for step in trace]
    last = trace[-1].reward if trace else 0.0
    outcome: Outcome = {
        "model": episode.model.fingerprint,
        "used_filter": episode.filter_name,
        "discounted_return": episode.discounted_return,
        "return": episode.return_,
        "steps": episode.steps,
        "terminated": episode.terminated,
        "success": episode.terminated and last > 0.0,
        "wrong_stop": episode.terminated and last < 0.0,
        "recoveries": episode.recoveries,
        "lost": len(episode.lost_at),
        "actions": plain([step.action for step in trace]),
        "rewards": plain([step.reward for step in trace]),
        "lower": plain([step.decision.lower for step in trace]),
        "upper": plain([step.decision.upper for step in trace]),
        "stops": [s.stop for s in stats],
        "trials": plain([s.trials for s in stats]),
        "nodes": plain([s.nodes for s in stats]),
        "depths": plain([s.depth for s in stats]),
        "n_particles": [step.particles for step in trace],
        "surprise": [round(step.surprise, 3) for step in trace],
        "notes": _notes([s.notes for s in stats]),
        "times": {
            "plan": [round(s.seconds, 6) for s in stats],
            "overshoot": [round(s.overshoot, 6) for s in stats],
            "preparation": round(sum(s.preparation for s in stats), 6),
            "update": [round(step.update_seconds, 6) for step in trace],
        },
    }
    promised = plain(trace[0].decision.value) if trace else None
    if promised is not None:
        outcome["promised"] = float(f"{promised:.6g}")
    return outcome


def _notes(notes: list[dict[str, Any]]) -> dict[str, Any]:
    """A note that is the same at every move once, another as the list of its values."""
    summed: dict[str, Any] = {}
    for name in sorted({name for note in notes for name in note}):
        values = [plain(note.get(name)) for note in notes]
        summed[name] = values[0] if all(value == values[0] for value in values) else values
    return summed


def with_tuples(options: dict[str, Any]) -> dict[str, Any]:
    """Options as a planner takes them: TOML and JSON have lists where a planner has tuples."""

    def tuples(value: Any) -> Any:
        return tuple(map(tuples, value)) if isinstance(value, list) else value

    return {name: tuples(value) for name, value in options.items()}


def find_domain(reference: str) -> Any:
    """`catalog.find_domain`, which imports a file of the user's once for each version of it."""
    bare = catalog.without_parameters(reference)
    file = Path(bare.rpartition(":")[0] or bare)
    return _maker(reference, file.stat().st_mtime_ns if file.is_file() else 0)


@functools.lru_cache(64)
def _maker(reference: str, version: int) -> Any:
    return catalog.find_domain(reference)


@functools.cache
def machine() -> Machine:
    """Where this runs."""
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
                break
    return {
        "host": socket.gethostname(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numba": metadata.version("numba"),
        "numpy": metadata.version("numpy"),
    }
