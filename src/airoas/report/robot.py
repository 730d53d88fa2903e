"""A page about a robot's log: step by step what was done, seen and believed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from airoas.belief.filters.update import make_filter
from airoas.belief.particles import Particles
from airoas.episode import Episode, Step
from airoas.errors import StoredDataError
from airoas.logbook import Log, read_log
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision, Stats
from airoas.report.episode import DecisionSnapshot, Progress, write

_REMEDY = "give the model of the log, --domain file.py:Model."


class Logged(Episode):
    """An episode of which a log is known: neither the true states nor the rewards, and of beliefs what was kept."""

    kept: list[Particles]

    @property
    def ending(self) -> str:
        return "the log ends"

    @property
    def filter_name(self) -> str:
        return "that of the log"

    def beliefs(self, record: list[Any] | None = None) -> Iterator[Particles]:
        yield from self.kept


def report(path: Path, model: KernelModel, progress: Progress) -> str:
    """The page of a log; model: that of the agent."""
    log = read_log(path)
    episode = logged(log, model, str(path))
    about = {key: log.about.get(key, "") for key in ("model", "planner", "filter", "particles", "seed", "started", "version")}
    note = "" if str(model) == log.about.get("model") else f"The log is of {log.about.get('model')}, and this page is made with {model}."
    snapshots = [DecisionSnapshot(None, None, "A log keeps no trees.") for _ in episode.trace]
    return write(episode, snapshots, f"{path.name}: {type(model).__name__}", about, note, progress)


def logged(log: Log, model: KernelModel, where: str) -> Episode:
    """The log as an episode without states and rewards."""
    trace = [_step(model, line, belief, where) for line, belief in zip(log.steps, log.beliefs[1:], strict=True)]
    filter = make_filter("bootstrap", model)  # it has nothing to do
    nothing: Any = None
    particles = int(log.about.get("particles") or len(log.beliefs[0]))
    episode = Logged(model, int(log.about.get("seed") or 0), filter, particles, nothing, tuple(trace), math.nan, math.nan, False)
    object.__setattr__(episode, "kept", log.beliefs)
    if log.beliefs[0].states.shape[1] != model.shapes.state.size:
        problem = f"its states have {log.beliefs[0].states.shape[1]} numbers, those of {model} {model.shapes.state.size}"
        raise StoredDataError(problem, _REMEDY, where=where)
    return episode


def _step(model: KernelModel, line: dict[str, Any], belief: Particles, where: str) -> Step:
    decided: dict[str, Any] = line.get("decision") or {}

    def number(value: Any) -> float:
        return math.nan if value is None else float(value)

    unknown: Any = None
    try:
        action = model.from_row("action", np.ravel(line["action"]))
        return Step(
            action=action,
            observation=model.from_row("observation", np.ravel(line["observation"])),
            reward=math.nan,
            state=unknown,
            decision=Decision(
                action,
                number(decided.get("value")),
                number(decided.get("lower")),
                number(decided.get("upper")),
                Stats(decided.get("stop", "done"), trials=int(decided.get("trials", 0)), seconds=float(decided.get("seconds", 0.0))),
            ),
            update_seconds=0.0,
            mean=belief.mean(),
            std=belief.std(),
            ess=float(line["belief"]["ess"]),
            particles=int(line["belief"].get("n", 0)),
            recovery=str(line.get("recovery", "")),
            surprise=float(line.get("surprise", 0.0)),
            lost=bool(line.get("lost")),
        )
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise StoredDataError(f"does not fit {model} ({error})", _REMEDY, where=where) from None
