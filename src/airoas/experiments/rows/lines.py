"""Rows as lines of JSON, one for each episode as it ends: short ones, for what rows share is on lines of its own above them."""

from __future__ import annotations

import json
from typing import Any

from airoas.experiments.rows.columns import (
    ADJUSTED,
    OPTIONAL,
    OWN,
    Values,
    check_columns,
    check_group,
    check_row,
    parts_of,
    refuse,
    row_of,
    whole,
)
from airoas.experiments.rows.types import Row


class Lines:
    """What earlier lines of a file say of later ones.

    `{"columns": [...]}` names the values of the lists below it; `{"as": 3, ...}` is what the rows share whose `of` has a 3 in it.
    A line with an `id` is a row by itself.
    """

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._groups: dict[int, Values] = {}
        self._numbers: dict[str, int] = {}

    def read(self, line: bytes) -> Row | None:
        """The row of a line; None where it only speaks of others. ValueError says what is wrong with it."""
        value = json.loads(line, parse_constant=refuse)
        if isinstance(value, list):
            missing = len(self._columns) - len(value)  # what none of the last columns has is not written
            if missing > len(OPTIONAL):
                raise ValueError("it is shorter than what its columns are")
            values = dict(zip(self._columns, [*value, *[None] * missing], strict=True))
            of = values.pop("of", None)
            if not isinstance(of, list) or not all(whole(number) and number in self._groups for number in of):
                raise ValueError(f"`of` is {of!r}, which no line above explains"[:200])
            return row_of(values, [self._groups[number] for number in of])
        if not isinstance(value, dict):
            raise ValueError("it is no table and no list")
        if "id" in value:
            return check_row(value)
        if "as" in value:
            number, group = value.pop("as"), check_group(value)
            if not whole(number):
                raise ValueError(f"`as` is {number!r}"[:200])
            self._groups[number] = group
            self._numbers[json.dumps(group, sort_keys=True)] = number
        else:
            self._columns = check_columns(value.get("columns"))
        return None

    def write(self, row: Row) -> list[Any]:
        """The lines to write for a row. One with more or less than the usual, its moves or an error, is a row by itself."""
        groups, values = parts_of(row)
        names = [*OWN, *OPTIONAL, *([ADJUSTED] if ADJUSTED in values else [])]
        if not OWN.keys() <= values.keys() <= set(names):
            return [row]
        columns = ["of", *names]
        lines: list[Any] = [] if self._columns == columns else [{"columns": columns}]
        self._columns = columns
        for group in groups:
            if group not in self._numbers:
                number = 1 + max(self._groups, default=-1)
                self._numbers[group], self._groups[number] = number, json.loads(group)
                lines.append({"as": number, **self._groups[number]})
        line = [[self._numbers[group] for group in groups], *(values.get(name) for name in names)]
        while line[-1] is None:
            line.pop()
        return [*lines, line]
