"""Where experiments come from: a shipped name, a file in TOML, a folder of results.

docs/experiments.md describes the file. Whatever cannot run is refused here, before anything runs.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from airoas.errors import OptionError, suggest
from airoas.experiments.rows.store import SPEC, read_spec
from airoas.experiments.spec.building import build
from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.toml import write_toml

SHIPPED = {
    "paper": "airoas.paper",
    "sweep": "airoas.paper",
    "ablation": "airoas.paper",
    "literature": "airoas.experiments",
    "strangers": "airoas.experiments",
    "continuous": "airoas.experiments",
}
"""Experiments by name, and the package that holds the file."""
_ONLY = re.compile(r"\A((?:scale = .*\n)?)only = .*\n")
"""Where `parse` puts it."""


def read(name: str, scale: str = "", only: str = "", planners: Sequence[str] = ()) -> Spec:
    """The experiment behind a shipped name or a file, made smaller where `scale` says so, or `only` some of its parts, or of its
    planners."""
    if name in SHIPPED:
        return parse(shipped(name), f"{name}.toml", scale=scale, only=only, planners=planners)
    path = Path(name)
    if path.suffix != ".toml":
        remedy = f"{suggest(name, SHIPPED)}Name one of {', '.join(SHIPPED)}, or a file of yours that ends in .toml."
        raise OptionError(f"there is no experiment {name!r}", remedy)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not text'})", "check the path.") from None
    return parse(text, name, scale=scale, only=only, planners=planners, folder=path.resolve().parent)


def shipped(name: str) -> str:
    """The text of a shipped experiment."""
    return (resources.files(SHIPPED[name]) / f"{name}.toml").read_text(encoding="utf-8")


def parse(
    text: str,
    source: str = "",
    scale: str = "",
    folder: Path | None = None,
    check: bool = True,
    only: str | list[str] = "",
    planners: Sequence[str] = (),
) -> Spec:
    """The experiment that a text describes; `source` is its name in messages. Without `check` it need not be able to run."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{source} is no TOML: {error}", "mend that line.") from None
    except RecursionError:
        raise OptionError(f"{source} is nested too deep", "an experiment has a few levels.") from None
    asked = {key: value for key, value in (("scale", scale), ("only", only), ("only_planners", list(planners))) if value}
    for key in asked:
        if key in table:
            raise OptionError(f"{source} has its own `{key}`", f"leave --{key.removeprefix('only_')} out.")
    spec = build(table | asked, source, folder, check)
    added = {key: value for key, value in spec.table.items() if key not in table}
    return replace(spec, source_text="".join(f"{key} = {json.dumps(value)}\n" for key, value in added.items()) + text)


def with_parts(spec: Spec, names: list[str] | None = None) -> Spec:
    """The same experiment with the parts of these names; with all that its file has where none are given. It need not be able to run."""
    table = {key: value for key, value in spec.table.items() if key != "only"}
    text = _ONLY.sub(r"\1", spec.text)
    text = text if tomllib.loads(text) == table else write_toml(table)  # where `only` stands elsewhere in a file
    return parse(text, folder=spec.folder, check=False, only=names or "")


def of_folder(folder: Path) -> Spec:
    """The experiment of a folder of results; its models need not be there any more."""
    return parse(read_spec(folder), str(folder / SPEC), check=False)
