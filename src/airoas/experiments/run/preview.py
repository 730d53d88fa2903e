"""A few episodes of a model that is new, AIROAS beside random actions: what they earn, and what speaks against the former."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from airoas.experiments.analysis.summary import Summary, summarise
from airoas.experiments.analysis.weakness import no_better, unended, weaknesses
from airoas.experiments.rows.types import Row
from airoas.experiments.run.bench import in_memory
from airoas.experiments.run.play import find_domain
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.building import build
from airoas.experiments.spec.cells import Spec

EPISODES = 20
"""Of each planner."""
_PLANNERS: dict[str, dict[str, Any]] = {"airoas": {"seconds": 0.1, "learn_seconds": 10.0}, "random": {}}


class Preview(NamedTuple):
    """How the episodes went."""

    airoas: Summary
    random: Summary
    remarks: list[str]
    """Signs that AIROAS is weak here, in sentences with a remedy."""


def preview_spec(domain: str, folder: Path) -> Spec:
    """The experiment, for one domain; a relative name of a file begins at the folder."""
    return build({"title": f"check {domain}", "episodes": EPISODES, "domains": [domain], "planners": _PLANNERS}, folder=folder)


def preview(spec: Spec, watch: Callable[[Row | None, dict[str, Row]], None] = lambda row, rows: None) -> Preview:
    """Play the episodes of a `preview_spec`, in this process."""
    rows = in_memory(spec, Inline, watch)
    played, others = ([rows[key] for key in cell.ids] for cell in spec.cells)
    ours, random = (summarise(cell.domain, cell.planner, own) for cell, own in zip(spec.cells, (played, others), strict=True))
    without_end = unended(ours.planner, ours.domain, played, [*played, *others], may_end(spec))
    return Preview(ours, random, [*weaknesses(ours), *without_end, *no_better(ours, random)])


def may_end(spec: Spec) -> bool:
    """Whether the model of an experiment's first cell has terminal states."""
    cell = spec.cells[0]
    return bool(find_domain(spec.locate(cell.domain))(cell.seeds[0]).has("is_terminal"))
