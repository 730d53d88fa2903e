"""An experiment as data: cells of planner and domain, each with its episodes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airoas.catalog import EPISODES_PER_MAP, FAMILIES, without_parameters
from airoas.experiments.rows.types import Task
from airoas.experiments.spec.toml import write_toml

Published = tuple[float, float | None]
"""A mean and, where it is known, its standard error."""


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
    clock: str
    """What deadlines are kept by: "wall", or "cpu" for the CPU time of the process."""
    seeds: tuple[int, ...] = field(repr=False)

    @property
    def label(self) -> str:
        return " ".join((self.planner, *(f"{name}={format_value(value)}" for name, value in self.axes.items())))

    @property
    def ids(self) -> dict[str, int]:
        """Episode id -> seed. Equal ids are equal episodes, in whatever cell they stand; an exact filter has no particles."""
        particles = None if self.filter == "exact" else self.particles
        settings = [self.domain, self.kind, self.options, self.filter, particles, self.max_steps]
        settings += [self.clock] if self.clock != "wall" else []
        shared = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        ids = {}
        for seed in self.seeds:
            digest = shared.copy()
            digest.update(f" {seed}".encode())
            ids[digest.hexdigest()[:16]] = seed
        return ids


@dataclass(frozen=True)
class Part:
    """Cells that belong together in tables and plots."""

    name: str
    cells: tuple[Cell, ...]
    compare: tuple[str, ...]
    """Planners that the others are compared with, axes whose values are compared with the first, or "all": every pair."""
    choose: bool
    """Whether the cells are for choosing the best one on these seeds."""


@dataclass(frozen=True)
class DomainInfo:
    """What an experiment says of a domain."""

    label: str
    note: str
    upper_bound: float | None
    """Proved: no policy earns more."""


def is_file_reference(reference: str) -> bool:
    """Whether a domain, planner or filter is given as file.py:Name or file.pomdp, not by its name in the catalog."""
    bare = without_parameters(reference)
    return bare.rpartition(":")[0].endswith(".py") or bare.lower().endswith(".pomdp")


@dataclass(frozen=True)
class Spec:
    """An experiment."""

    title: str
    note: str
    scale: str
    folder: Path
    """Where relative paths of models, planners and filters start."""
    parts: tuple[Part, ...]
    domains: dict[str, DomainInfo]
    reference: dict[str, dict[str, Published]]
    """Domain -> planner (or another name) -> return that somebody published."""
    reference_title: str
    table: dict[str, Any] = field(repr=False)
    """What the experiment was built from."""
    source_text: str | None = field(default=None, repr=False)
    """The same as it stood in a file."""

    @property
    def text(self) -> str:
        """The experiment as TOML, which says it all again."""
        return write_toml(self.table) if self.source_text is None else self.source_text

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cell for part in self.parts for cell in part.cells)

    def locate(self, reference: str) -> str:
        """A name as it is, a file (file.py:Name, file.pomdp) with its whole path."""
        if not is_file_reference(reference):
            return reference
        bare = without_parameters(reference)
        path, separator, name = (bare, "", "") if bare.lower().endswith(".pomdp") else bare.rpartition(":")
        return f"{(self.folder / path).resolve()}{separator}{name}{reference.removeprefix(bare)}"

    def tasks(self) -> list[Task]:
        """Every episode once: part by part, ten seeds by ten on one domain after another, and of each seed all cells of the domain one
        after another, so that whatever changes on the machine in the meantime meets all planners alike. The first of every cell comes
        first: what cannot run shows early, and workers do not all begin by compiling the same."""
        ordered: dict[str, tuple[tuple[int, ...], Task]] = {}
        for number, part in enumerate(self.parts):
            domains = list(dict.fromkeys(cell.domain for cell in part.cells))
            for cell in part.cells:
                for i, (key, seed) in enumerate(cell.ids.items()):
                    order = (1 + number, i // EPISODES_PER_MAP, domains.index(cell.domain), i) if i else (0,)
                    ordered.setdefault(key, (order, self._task(cell, key, seed)))
        return [task for _, task in sorted(ordered.values(), key=lambda pair: pair[0])]

    def _task(self, cell: Cell, key: str, seed: int) -> Task:
        task: Task = {
            "id": key,
            "domain": self.locate(cell.domain),
            "planner": self.locate(cell.kind),
            "options": cell.options,
            "filter": self.locate(cell.filter),
            "particles": cell.particles,
            "max_steps": cell.max_steps,
            "seed": seed,
            "map": seed // EPISODES_PER_MAP if without_parameters(cell.domain) in FAMILIES else None,
        }
        return {**task, "clock": cell.clock} if cell.clock != "wall" else task


def format_value(value: Any) -> str:
    """An option's value in a label."""
    return f"{value:g}" if isinstance(value, float) else str(value)
