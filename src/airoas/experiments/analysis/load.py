"""`airoas.load`: the episodes of a folder, to work on in Python; and several folders as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from airoas.errors import OptionError
from airoas.experiments.rows.store import latest
from airoas.experiments.rows.types import Row, models_of
from airoas.experiments.spec.cells import Part, Spec
from airoas.experiments.spec.reading import of_folder


def load(folder: str | Path, frame: bool = False) -> Any:
    """The episodes of a folder, each once: a list of dicts, or with `frame` a pandas DataFrame (extra `data`).

    `label` and `part` say which line of the experiment's tables an episode belongs to. `domain`, `planner` and `filter` are as the
    experiment names them, files without the whole path that the folder has of them.
    """
    spec = of_folder(Path(folder))
    told = {
        key: {"part": part.name, "label": cell.label, "domain": cell.domain, "planner": cell.kind, "filter": cell.filter}
        for part in spec.parts
        for cell in part.cells
        for key in cell.ids
    }
    rows = [{"part": "", "label": "", **row, **told.get(key, {})} for key, row in latest(Path(folder)).items()]
    if not frame:
        return rows
    try:
        import pandas
    except ImportError:
        raise OptionError("pandas is not installed", "pip install 'airoas[data]', or leave `frame` out.") from None
    return pandas.DataFrame(rows)


def join(folders: Sequence[Path], read: Callable[[Path], dict[str, Row]] = latest) -> tuple[Spec, dict[str, Row]]:
    """The experiments of some folders as one, and all its rows: parts of one name are one part, equal cells one cell. `read` gives
    the rows of a folder."""
    spec, rows = of_folder(folders[0]), dict(read(folders[0]))
    for folder in folders[1:]:
        other, more = of_folder(folder), read(folder)
        _check_models(spec, rows, other, more, folder)
        parts = {part.name: part for part in spec.parts}
        for part in other.parts:
            parts[part.name] = _merged(parts[part.name], part, folder) if part.name in parts else part
        spec = replace(
            spec,
            title="",
            scale="; ".join(dict.fromkeys(filter(None, (spec.scale, other.scale)))),
            parts=tuple(parts.values()),
            domains=other.domains | spec.domains,
            reference=other.reference | spec.reference,
        )
        rows |= {key: row for key, row in more.items() if key not in rows or "error" in rows[key]}
    return spec, rows


def _merged(part: Part, other: Part, folder: Path) -> Part:
    """Both parts' cells; one whose name is taken by another gets its folder's beside it."""
    cells = list(part.cells)
    for cell in other.cells:
        same = next((i for i, known in enumerate(cells) if replace(known, seeds=()) == replace(cell, seeds=())), None)
        if same is not None:
            cells[same] = replace(cell, seeds=tuple(sorted({*cells[same].seeds, *cell.seeds})))
            continue
        taken = any((known.domain, known.label) == (cell.domain, cell.label) for known in cells)
        cells.append(replace(cell, planner=f"{cell.planner} ({folder})") if taken else cell)
    return Part(part.name, tuple(cells), tuple(dict.fromkeys((*part.compare, *other.compare))), part.choose or other.choose)


def _check_models(spec: Spec, rows: dict[str, Row], other: Spec, more: dict[str, Row], folder: Path) -> None:
    """Refuse to put episodes of different models side by side under one name."""

    def models(spec: Spec, rows: dict[str, Row]) -> dict[tuple[str, int | None], set[str]]:
        return models_of((cell.domain, rows[key]) for cell in spec.cells for key in cell.ids if key in rows)

    ours, theirs = models(spec, rows), models(other, more)
    for domain, number in ours.keys() & theirs.keys():
        if ours[domain, number] != theirs[domain, number]:
            problem = f"{domain} is another model in {folder} than in the folders before it"
            raise OptionError(problem, "compare runs of one and the same model.")
