"""A row as files hold it: what it shares with others, which stands there once, and its own values by column."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, cast

from airoas.experiments.rows.slim import MOVES, TIMED, TIMINGS
from airoas.experiments.rows.types import Row

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Actions by number, a character for each."""
Values = dict[str, Any]
"""What JSON holds, not yet known to be a row."""
Kinds = dict[str, Callable[[Any], bool]]
"""Names, each with what tells its values from others."""


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _table(value: Any) -> bool:
    return isinstance(value, dict)


def _or_none(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or kind(value)


_CELL: Kinds = {"domain": _text, "planner": _text, "options": _table, "filter": _text, "particles": whole, "max_steps": _or_none(whole)}
SHARED: tuple[Kinds, ...] = (
    _CELL | {"clock": _text, "used_filter": _text, "notes": _table, "warnings": _list},
    {"version": _text, "machine": _table},
    {"map": _or_none(whole), "model": _or_none(_text)},
)
"""What episodes of one cell have in common, those of one machine, and those of one model."""
ADJUSTED = "adjusted"
"""Its name in a row: an id says what was to be run and not by which version, so that it stays with the actions it is of."""
OWN: Kinds = {"id": _text, "seed": whole, "discounted_return": _number, "return": _number, "steps": whole}
OWN |= {"terminated": _flag, "success": _flag, "wrong_stop": _flag, "recoveries": whole}
OWN |= {"actions": lambda value: _text(value) or _list(value)}
OWN |= dict.fromkeys(("search.decisions", "search.trials", "search.unsearched"), whole)
OWN |= dict.fromkeys((f"times.{name}" for name in (*TIMINGS, "preparation", "seconds")), _number) | {"times.started": _text}
"""The columns of every episode without its moves."""
OPTIONAL: Kinds = {"lost": whole, "promised": _number, "search.tied": whole, "search.unopened": whole, "search.contradicted": whole}
"""Those that some of them have."""
KINDS: Kinds = OWN | OPTIONAL | {ADJUSTED: _number, "error": _text}
KINDS |= dict.fromkeys((*MOVES, *(f"times.{name}" for name in TIMED)), _list)
"""All the columns that there are; a row that has no such thing has None there."""
_SHARED: Kinds = {name: kind for kinds in SHARED for name, kind in kinds.items()}
_ROW: Kinds = {**_SHARED, **KINDS, "search": _table, "times": _table}


def parts_of(row: Row) -> tuple[list[str], Values]:
    """What a row shares with others, as JSON, and its own values by column."""
    whole_row = cast(Values, row)
    groups = [json.dumps({name: whole_row[name] for name in kinds if name in row}, sort_keys=True, allow_nan=False) for kinds in SHARED]
    values: Values = {}
    for name, value in whole_row.items():
        if name in _SHARED:
            continue
        if name in ("search", "times"):
            values |= {f"{name}.{inner}": one for inner, one in value.items()}
        else:
            values[name] = _as_text(value) if name == "actions" else value
    return groups, values


def row_of(values: Values, groups: list[Values]) -> Row:
    """The row that such parts are of. ValueError says what is wrong with them."""
    given = {name: value for name, value in values.items() if value is not None}
    row: Values = {}
    for group in groups:
        row |= group
    for name in (*_CELL, "map", *(("id", "seed") if "error" in given else OWN)):
        if name not in row and name not in given:
            raise ValueError(f"{name} is missing")
    row["times"] = {}
    for name, value in given.items():
        _check(KINDS, name, value)
        outer, _, inner = name.rpartition(".")
        (row.setdefault(outer, {}) if outer else row)[inner] = _as_list(value) if name == "actions" else value
    for name, moves in (*row.items(), *row["times"].items()):
        if name in ("actions", *MOVES, *TIMED) and len(moves) != row.get("steps"):
            raise ValueError(f"{name} are {len(moves)}, steps {row.get('steps')}")
    return cast(Row, row)


def check_row(values: Values) -> Row:
    """The row that a table is; ValueError where a value that has a name of ours is not of its kind."""
    for name, value in values.items():
        if name in _ROW:
            _check(_ROW, name, value)
    if "rescues" in values:
        raise ValueError("it has `rescues` where `recoveries` belongs: a row of airoas 0.1, see docs/from-0.1.md")
    return cast(Row, values)


def check_group(group: Any) -> Values:
    """What rows share, if it is that; else ValueError."""
    if not isinstance(group, dict):
        raise ValueError("what rows share is no table")
    for name, value in group.items():
        _check(_SHARED, name, value)
    return group


def check_columns(names: Any) -> list[str]:
    """The names of columns, if they are that; else ValueError."""
    if not isinstance(names, list) or not all(map(_text, names)):
        raise ValueError("it names no columns")
    for name in names:
        if name not in ("of", *KINDS) or names.count(name) > 1:
            raise ValueError(f"there is a column {name[:50]!r} too many, perhaps of another version of airoas")
    return names


def refuse(name: str) -> Any:
    """For JSON's NaN and the like."""
    raise ValueError(f"{name} is no number")


def _check(kinds: Kinds, name: str, value: Any) -> None:
    if name not in kinds or not kinds[name](value):
        raise ValueError(f"{name} is {value!r}"[:200])


def _as_text(actions: Any) -> Any:
    """Actions by number as one word, others as they are."""
    numbers = isinstance(actions, list) and all(type(action) is int and 0 <= action < len(DIGITS) for action in actions)
    return "".join(DIGITS[action] for action in actions) if numbers else actions


def _as_list(actions: Any) -> Any:
    if isinstance(actions, list):
        return actions
    numbers = [DIGITS.find(digit) for digit in actions]
    if -1 in numbers:
        raise ValueError(f"actions is {actions!r}"[:200])
    return numbers
