"""An experiment as data: cells of planner and domain, each with its episodes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airoas.catalog import EPISODES_PER_MAP, FAMILIES
from airoas.experiments.run.play import Task


@dataclass(frozen=True)
class Cell:
    """One planner with its options on one domain: the episodes that share a mean."""

    domain: str
    planner: str
    """The name in the file."""
    kind: str
    """The name in the catalog, or file.py:Planner."""
    options: dict[str, Any]
    axes: dict[str, Any]
    """What varies between the cells of this planner, with this cell's values."""
    filter: str
    particles: int
    max_steps: int | None
    seeds: tuple[int, ...] = field(repr=False)

    @property
    def label(self) -> str:
        return " ".join((self.planner, *(f"{name}={shown(value)}" for name, value in self.axes.items())))

    @property
    def ids(self) -> dict[str, int]:
        """Episode id -> seed. Equal ids are equal episodes, in whatever cell they stand; an exact filter has no particles."""
        particles = None if self.filter == "exact" else self.particles
        settings = [self.domain, self.kind, self.options, self.filter, particles, self.max_steps]
        found = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        ids = {}
        for seed in self.seeds:
            one = found.copy()
            one.update(f" {seed}".encode())
            ids[one.hexdigest()[:16]] = seed
        return ids


@dataclass(frozen=True)
class Part:
    """Cells that belong together in tables and figures."""

    name: str
    cells: tuple[Cell, ...]
    compare: tuple[str, ...]
    """Planners that the others are compared with, axes whose values are compared with the first, or "all": every pair."""
    choose: bool
    """Whether the cells are for choosing the best one on these seeds."""


@dataclass(frozen=True)
class Domain:
    label: str
    note: str
    upper_bound: float | None
    """Proved: no policy earns more."""


def is_file(reference: str) -> bool:
    """Whether a domain or planner is given as file.py:Name or file.pomdp, not by its name in the catalog."""
    return reference.rpartition(":")[0].endswith(".py") or reference.lower().endswith(".pomdp")


@dataclass(frozen=True)
class Spec:
    """An experiment. `text` says it all again."""

    title: str
    note: str
    scale: str
    folder: Path
    """Where relative paths of models and planners start."""
    parts: tuple[Part, ...]
    domains: dict[str, Domain]
    reference: dict[str, dict[str, tuple[float, float | None]]]
    """Domain -> planner (or another name) -> mean and standard error that somebody published."""
    reference_title: str
    text: str = field(repr=False)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cell for part in self.parts for cell in part.cells)

    def locate(self, reference: str) -> str:
        """A name of the catalog as it is, a file (file.py:Name, file.pomdp) with its whole path."""
        if not is_file(reference):
            return reference
        path, separator, name = (reference, "", "") if reference.lower().endswith(".pomdp") else reference.rpartition(":")
        return f"{(self.folder / path).resolve()}{separator}{name}"

    def tasks(self) -> list[Task]:
        """Every episode once: part by part, the cells of each advancing together, episodes on one map one after another. The first
        of every cell comes first: what cannot run shows early, and workers do not all begin by compiling the same."""
        found: dict[str, tuple[tuple[int, int], Task]] = {}
        for part, cell in ((number, cell) for number, each in enumerate(self.parts) for cell in each.cells):
            settings = {"filter": cell.filter, "particles": cell.particles, "max_steps": cell.max_steps}
            names = {"domain": self.locate(cell.domain), "planner": self.locate(cell.kind), "options": cell.options}
            for place, (key, seed) in enumerate(cell.ids.items()):
                drawn = seed // EPISODES_PER_MAP if cell.domain in FAMILIES else None
                turn = (1 + part, place // EPISODES_PER_MAP) if place else (0, 0)
                found.setdefault(key, (turn, {"id": key, **names, **settings, "seed": seed, "map": drawn}))
        return [task for _, task in sorted(found.values(), key=lambda pair: pair[0])]


def shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
