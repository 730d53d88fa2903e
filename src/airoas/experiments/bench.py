"""Run an experiment into a folder, from wherever an earlier run left it."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airoas import __version__
from airoas.errors import OptionError
from airoas.experiments.play import Row, Task, find_domain
from airoas.experiments.pool import Runner, run
from airoas.experiments.reading import parse
from airoas.experiments.spec import Spec
from airoas.experiments.store import Store


def bench(
    spec: Spec,
    folder: Path,
    runner: Callable[[], Runner],
    watch: Callable[[Row | None, dict[str, Row]], None] = lambda row, rows: None,
    retry: bool = False,
    extra: dict[str, Any] | None = None,
) -> dict[str, Row]:
    """Run what is missing of an experiment and return all its rows by id.

    `watch` is called with every new row and all rows so far, and once with None before the first. `retry` runs failed
    episodes again. `extra` goes into every task (`mode`, say).
    """
    with Store(folder) as store:
        _agree(spec, store)
        store.describe(spec.text)
        tasks = missing(spec, store.rows, retry)
        watch(None, store.rows)
        if tasks:
            with contextlib.closing(runner()) as running:
                for row in run([task | (extra or {}) for task in tasks], running):
                    store.append({key: value for key, value in row.items() if key != "shown"})
                    watch(row, store.rows)
        return store.rows


def missing(spec: Spec, rows: dict[str, Row], retry: bool = False) -> list[Task]:
    """The episodes that are still to run."""
    return [task for task in spec.tasks() if task["id"] not in rows or (retry and "error" in rows[task["id"]])]


def _agree(spec: Spec, store: Store) -> None:
    """Refuse a folder that holds another experiment, or episodes of a model that has changed since."""
    other = "give --out another folder, or delete this one."
    if store.text is not None and store.text != spec.text:
        earlier = parse(store.text, str(store.folder / "spec.toml"), check=False)
        if _nature(earlier) != _nature(spec):
            raise OptionError(f"{store.folder} holds another experiment", f"{other} Only the number of episodes may grow.")
    first = {cell.domain: (key, seed) for cell in spec.cells for key, seed in cell.ids.items() if "model" in store.rows.get(key, {})}
    for domain, (key, seed) in first.items():
        if find_domain(spec.locate(domain))(seed).content != store.rows[key]["model"]:
            raise OptionError(f"{domain} has changed since {store.folder} was begun", other)
    versions = {row["version"] for row in store.rows.values()} | {__version__}
    if len(versions) > 1:
        warnings.warn(f"{store.folder} has episodes of airoas {', '.join(sorted(versions))}", stacklevel=2)


def _nature(spec: Spec) -> list[Any]:
    """What makes an experiment the one it is, whatever the number of its episodes."""
    cells = [(part.name, dataclasses.asdict(dataclasses.replace(cell, seeds=cell.seeds[:1]))) for part in spec.parts for cell in part.cells]
    return [spec.scale, cells]
