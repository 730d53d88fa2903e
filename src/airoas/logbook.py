"""A robot's log: what an agent did, saw and believed, a line of JSON for each step, to be looked at and tried again."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from os import PathLike
from typing import Any

from airoas.belief.particles import Particles
from airoas.errors import AiroasError, OptionError, StoredDataError
from airoas.planners.base import Decision
from airoas.tables import plain

FORMAT = "airoas-log-1"
MOST = 200
"""Particles that are kept of a belief."""


class Logbook:
    """Writes a log. Every line is out before the robot goes on, so that what happened last is known after a crash."""

    def __init__(self, path: str | PathLike[str], about: dict[str, Any], belief: Particles) -> None:
        """about: what decides the run, besides what happens in it. belief: before the first step."""
        if not isinstance(path, (str, PathLike)):
            raise OptionError(f"{path!r} is no file to write a log to", "give a path, or None for no log.")
        self._path = path
        started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        self._write({"log": FORMAT, "started": started, **about, "belief": _compact(belief)}, "w")

    def record(self, decision: Decision | None, belief: Particles, **told: Any) -> None:
        """A step: the decision before it, if there was one, and the belief after it."""
        decided = None
        if decision is not None:
            stats = decision.stats
            decided = {"action": decision.action, "value": decision.value, "lower": decision.lower, "upper": decision.upper}
            decided |= {"stop": stats.stop, "trials": stats.trials, "seconds": round(stats.seconds, 6)}
        self._write({"time": round(time.time(), 3), **told, "decision": decided, "belief": _compact(belief)})

    def _write(self, line: dict[str, Any], mode: str = "a") -> None:
        text = json.dumps(plain(line), allow_nan=False, separators=(",", ":")) + "\n"
        try:
            with open(self._path, mode, encoding="utf-8") as file:
                file.write(text)
        except (OSError, ValueError) as error:  # the latter of a name that can be none
            why = getattr(error, "strerror", None) or error
            raise OptionError(f"{self._path!r} cannot be written ({why})", "give the log another file.") from None


def _compact(belief: Particles) -> dict[str, Any]:
    """A belief in a few thousand characters."""
    few = belief.thinned(MOST)
    states = [[float(f"{x:.5g}") for x in row] for row in few.states]
    return {"n": len(belief), "ess": round(belief.ess, 1), "states": states, "weights": [float(f"{w:.3g}") for w in few.weights]}


@dataclass(frozen=True)
class Log:
    """A log that was read."""

    about: dict[str, Any]
    steps: list[dict[str, Any]]
    """As they were written."""
    beliefs: list[Particles]
    """[steps + 1] what was kept of the belief before each step, and the last one."""


def read_log(path: str | PathLike[str]) -> Log:
    """What a `Logbook` wrote. A last line that is not whole, as a crash leaves it, is left out."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise StoredDataError(
            f"cannot be read ({getattr(error, 'strerror', None) or 'not text'})", "give a log.", where=str(path)
        ) from None
    values: list[dict[str, Any]] = []
    beliefs = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            value = json.loads(line)
            beliefs.append(Particles(value["belief"]["states"], value["belief"]["weights"]))
            if value.get("log") != FORMAT if number == 1 else "observation" not in value or "action" not in value:
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError, AiroasError):
            problem = "is no log of an agent" if number == 1 else f"line {number} is damaged"
            raise StoredDataError(problem, "give a file that Agent(log=...) wrote.", where=str(path)) from None
        values.append(value)
    if not values:
        raise StoredDataError("is no log of an agent", "give a file that Agent(log=...) wrote.", where=str(path))
    return Log(values[0], values[1:], beliefs)
