"""`airoas.load`: the episodes of a folder, to work on in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airoas.errors import OptionError
from airoas.experiments.reading import of_folder
from airoas.experiments.store import latest


def load(folder: str | Path, frame: bool = False) -> Any:
    """The episodes of a folder, each once: a list of dicts, or with `frame` a pandas DataFrame (extra `data`).

    `label` and `part` say which line of the experiment's tables an episode belongs to.
    """
    spec = of_folder(Path(folder))
    places = {key: {"part": part.name, "label": cell.label} for part in spec.parts for cell in part.cells for key in cell.ids}
    rows = [places.get(key, {"part": "", "label": ""}) | row for key, row in latest(Path(folder)).items()]
    if not frame:
        return rows
    try:
        import pandas
    except ImportError:
        raise OptionError("pandas is not installed", "pip install 'airoas[data]', or leave `frame` out.") from None
    return pandas.DataFrame(rows)
