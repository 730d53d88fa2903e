"""Rows as one small file: a table of columns as JSON, compressed. `zcat episodes.json.gz` shows it."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from airoas.errors import StoredDataError
from airoas.experiments.rows.columns import KINDS, check_columns, check_group, parts_of, refuse, row_of, whole
from airoas.experiments.rows.types import Row

FORMAT = "airoas episodes 2"
MOST = 1 << 28
"""Bytes that a file may unpack to."""


def pack(rows: Iterable[Row]) -> bytes:
    """The file of some rows, the same whatever order they come in."""
    parts = sorted((parts_of(row) for row in rows), key=lambda part: (part[0], part[1].get("seed", 0), part[1]["id"]))
    groups: dict[str, int] = {}
    of = [[groups.setdefault(group, len(groups)) for group in shared] for shared, _ in parts]
    present = {name for _, values in parts for name in values}
    if strange := present - KINDS.keys():
        raise StoredDataError(f"there are episodes with {min(strange)!r}", "leave out what airoas has not written.")
    columns = {name: [values.get(name) for _, values in parts] for name in KINDS if name in present}
    table = {"format": FORMAT, "shared": [json.loads(group) for group in groups], "columns": {"of": of, **columns}}
    return gzip.compress(json.dumps(table, allow_nan=False, separators=(",", ":")).encode(), mtime=0)


def unpack(path: Path) -> list[Row]:
    """The rows of a file. What is damaged or not ours is refused."""
    try:
        return _rows(json.loads(_inflated(path), parse_constant=refuse))
    except (OSError, ValueError, RecursionError, zlib.error) as error:
        problem = f"is no file of episodes ({getattr(error, 'strerror', None) or error})"
        raise StoredDataError(problem, "get it anew; where it is deleted, its episodes run again.", where=str(path)) from None


def _rows(table: Any) -> list[Row]:
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise ValueError(f"it does not say {FORMAT!r}")
    columns, shared = table.get("columns"), table.get("shared")
    if not isinstance(columns, dict) or not isinstance(shared, list) or not all(isinstance(column, list) for column in columns.values()):
        raise ValueError("it has no columns")
    names, groups = check_columns(list(columns)), [check_group(group) for group in shared]
    rows = []
    for values in zip(*columns.values(), strict=True):
        own = dict(zip(names, values, strict=True))
        of = own.pop("of", None)
        if not isinstance(of, list) or not all(whole(number) and number < len(groups) for number in of):
            raise ValueError(f"`of` is {of!r}, and there are {len(groups)}"[:200])
        rows.append(row_of(own, [groups[number] for number in of]))
    return rows


def _inflated(path: Path) -> bytes:
    if path.stat().st_size > MOST:
        raise ValueError("it is too large")
    machine = zlib.decompressobj(wbits=31)
    text = machine.decompress(path.read_bytes(), MOST)
    if not machine.eof:
        raise ValueError("it is cut off, or too large")
    return text
