"""Run an experiment into a folder, from wherever an earlier run left it."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airoas import __version__
from airoas.errors import OptionError
from airoas.experiments.rows.slim import slim
from airoas.experiments.rows.store import Store
from airoas.experiments.rows.types import EpisodeSpec, Extra, Row, Task, models_of
from airoas.experiments.run.play import find_domain
from airoas.experiments.run.pool import Runner, run
from airoas.experiments.spec.cells import Cell, Spec
from airoas.experiments.spec.reading import parse, with_parts

log = logging.getLogger(__name__)


def bench(
    spec: Spec,
    folder: Path,
    runner: Callable[[], Runner],
    watch: Callable[[Row | None, dict[str, Row]], None] = lambda row, rows: None,
    retry: bool = False,
    extra: Extra | None = None,
    full: bool = False,
) -> dict[str, Row]:
    """Run what is missing of an experiment and return all rows of the folder by id. It may hold other parts of the same file.

    `watch` is called with every new row and all rows so far, and once with None before the first. Failed episodes of a model
    that has changed since are run again, and with `retry` all that failed; the last row of an episode is the one that counts.
    `extra` goes into every task (`mode`, say). With `full`, rows keep all that is known of every move.
    """
    with Store(folder) as store:
        store.describe(_agree(spec, store).text)
        tasks = missing(spec, store.rows, retry)
        watch(None, store.rows)
        if again := sum(task["id"] in store.rows for task in tasks):
            log.warning("failed episodes that are run again: %d", again)
        if tasks:
            with contextlib.closing(runner()) as running:
                known = models_of((row["domain"], row) for row in store.rows.values())
                for row in run([{**task, **(extra or {})} for task in tasks], running):
                    _refuse_another(row, known, folder)
                    kept = row.copy()
                    kept.pop("shown", None)
                    if "error" in row:
                        kept["model"] = model_digest(row)
                    store.append(kept if full else slim(kept))
                    watch(row, store.rows)
        return store.rows


def in_memory(
    spec: Spec,
    runner: Callable[[], Runner],
    watch: Callable[[Row | None, dict[str, Row]], None] = lambda row, rows: None,
    extra: Extra | None = None,
) -> dict[str, Row]:
    """As `bench`, into no folder: all rows by id."""
    rows: dict[str, Row] = {}
    watch(None, rows)
    with contextlib.closing(runner()) as running:
        for row in run([{**task, **(extra or {})} for task in spec.tasks()], running):
            rows[row["id"]] = row
            watch(row, rows)
    return rows


def _refuse_another(row: Row, known: dict[tuple[str, int | None], set[str]], folder: Path) -> None:
    """Stop where a finished episode was of another model than those before it: their returns have no common mean."""
    for key, models in models_of([(row["domain"], row)]).items():
        if known.setdefault(key, models) != models:
            problem = f"{row['domain']} has changed while {folder} was being filled"
            raise OptionError(problem, "put it back as it was and give the same command, or begin anew with another --out.")


def missing(spec: Spec, rows: dict[str, Row], retry: bool = False) -> list[Task]:
    """The episodes that are still to run."""

    def wanted(task: Task) -> bool:
        row = rows.get(task["id"])
        return row is None or ("error" in row and (retry or row.get("model") is None or row["model"] != model_digest(task)))

    return [task for task in spec.tasks() if wanted(task)]


def model_digest(episode: EpisodeSpec) -> str | None:
    """A digest of an episode's model; None where it fails before it has one."""
    try:
        return str(find_domain(episode["domain"])(episode["seed"]).fingerprint)
    except Exception:  # the episode says what is wrong
        return None


def _agree(spec: Spec, store: Store) -> Spec:
    """The experiment of a folder with what is asked for now: its parts and those. Refused are another experiment, and episodes of a
    model that has changed since."""
    other = "give --out another folder, or delete this one."
    whole = spec
    if store.text is not None and store.text != spec.text:
        earlier = parse(store.text, str(store.folder / "spec.toml"), check=False)
        every = with_parts(spec)
        names, wanted = ({part.name for part in each.parts} for each in (earlier, spec))
        same = dataclasses.replace(every, parts=tuple(part for part in every.parts if part.name in names))
        if _nature(earlier) != _nature(same):
            what = f"{store.folder} holds another experiment: {_departure(earlier, same if same.parts else spec)}"
            more = "Only episodes and parts of the same file may be added; `airoas table` takes several folders."
            raise OptionError(what, f"{other} {more}")
        fewer = [now.label for before, now in zip(earlier.cells, same.cells, strict=True) if not set(before.seeds) <= set(now.seeds)]
        if fewer:
            raise OptionError(f"{store.folder} was begun for more episodes of {fewer[0]}", f"{other} The number of episodes may only grow.")
        if not names <= wanted:
            union = [part.name for part in every.parts if part.name in names | wanted]
            whole = every if len(union) == len(every.parts) else with_parts(every, union)
    finished = {key for key, row in store.rows.items() if "model" in row and "error" not in row}
    asked = {cell.domain for cell in spec.cells}
    first = {cell.domain: (key, seed) for cell in whole.cells for key, seed in cell.ids.items() if key in finished and cell.domain in asked}
    for domain, (key, seed) in first.items():
        if find_domain(spec.locate(domain))(seed).fingerprint != store.rows[key]["model"]:
            raise OptionError(f"{domain} has changed since {store.folder} was begun", other)
    versions = {row["version"] for row in store.rows.values()} | {__version__}
    if len(versions) > 1:
        log.warning("%s has episodes of airoas %s", store.folder, ", ".join(sorted(versions)))
    return whole


def _nature(spec: Spec) -> list[Any]:
    """What makes an experiment the one it is, whatever the number of its episodes."""
    cells = [(part.name, dataclasses.asdict(dataclasses.replace(cell, seeds=cell.seeds[:1]))) for part in spec.parts for cell in part.cells]
    return [spec.scale, cells]


def _departure(earlier: Spec, spec: Spec) -> str:
    """The first thing in which two experiments differ, in words."""
    if earlier.scale != spec.scale:
        return f"its scale is {earlier.scale or 1}, not {spec.scale or 1}"
    for name in ("domain", "planner"):
        kept, wanted = (", ".join(dict.fromkeys(getattr(cell, name) for cell in each.cells)) for each in (earlier, spec))
        if kept != wanted:
            return f"{name} {kept}, not {wanted}"
    for before, now in zip(earlier.cells, spec.cells, strict=False):
        stored, asked = _settings(before), _settings(now)
        for name in [*stored, *asked]:
            if stored.get(name) != asked.get(name):
                return f"{name} of {now.label} is {stored.get(name, 'not given')}, not {asked.get(name, 'given')}"
    return "its parts are others"


def _settings(cell: Cell) -> dict[str, Any]:
    """Everything about a cell that makes its episodes what they are."""
    settings = {name: getattr(cell, name) for name in ("filter", "particles", "max_steps", "clock")}
    return {"planner": cell.kind, **cell.options, "seed": cell.seeds[0], **settings}
