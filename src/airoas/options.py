"""Values that a caller chose: refused where they are not of the type that is declared."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from airoas.errors import OptionError

MOST = 1 << 53
"""The largest whole number: beyond it floats skip some."""


def whole(name: str, value: Any, least: int, most: int = MOST) -> int:
    """A whole number that is none of True, 1.0 and "1", from `least` to `most`."""
    if not _is_whole(value) or not least <= value <= most:
        remedy = f"use at least {least}, a whole number." if most == MOST else f"use {least} to {most}, a whole number."
        raise OptionError(f"{name} is {value!r}", remedy)
    return int(value)


def typed(name: str, value: Any, *kinds: type, where: str = "") -> Any:
    """A value of one of these types, numpy's numbers made Python's. A whole number may stand for a float; True is no number."""
    kind = type(value)
    if kind in kinds and (kind is not int or -MOST <= value <= MOST):  # as most are; updates of few particles feel what more takes
        return value
    value = value.item() if isinstance(value, np.generic) else value
    if not any(_is_a(value, kind) for kind in kinds):
        raise OptionError(f"{name} is {value!r}", f"give {' or '.join(_CALLED[kind] for kind in kinds)}.", where=where)
    if isinstance(value, int) and abs(value) > MOST:
        raise OptionError(f"{name} is {value}", "give a number below 2**53.", where=where)
    return value


def check_types(options: Any) -> None:
    """Refuse options of a frozen dataclass that are not of their declared types, with numpy's numbers made Python's."""
    kind: Any = type(options)
    for name, kinds in _declared(kind).items():
        if kinds:
            object.__setattr__(options, name, typed(name, getattr(options, name), *kinds, where=kind.__name__))


_CALLED = {bool: "True or False", int: "a whole number", float: "a number", str: "text", type(None): "None"}


@functools.cache
def _declared(kind: Any) -> dict[str, tuple[type, ...]]:
    """The types of each field; none where it may be anything."""
    hints = get_type_hints(kind)
    result = {}
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        result[field.name] = tuple(kinds) if all(one in _CALLED for one in kinds) else ()
    return result


def _is_a(value: Any, kind: type) -> bool:
    if kind is float:
        return _is_whole(value) or isinstance(value, float)
    return _is_whole(value) if kind is int else isinstance(value, kind)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
