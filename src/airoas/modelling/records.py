"""The NamedTuples of a model's file in plain Python: they take what they take in compiled code.

A method called by hand is the user's own function over the user's own classes, and those keep a list where a Vector is declared.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from airoas.compiler import fingerprint
from airoas.compiler.arrays import COERCIONS, FixedArray, coerced
from airoas.compiler.specialise import constructor, define, no_field, specialise
from airoas.errors import ModelError
from airoas.modelling.actions import Box
from airoas.modelling.introspection import functions_in


@functools.cache
def adapt_records(kind: type) -> None:
    """Let the NamedTuples that a model's methods name convert what they are given, also by `_replace`."""
    for function in functions_in(kind).values():
        for part in fingerprint.reachable(function):
            for name, below in fingerprint.reads(part).items():
                for record in _records(fingerprint.lookup(part, name), below):
                    _adapt(record)


def _records(value: Any, below: fingerprint.Reads) -> Iterator[type]:
    if fingerprint.is_namedtuple(value):
        yield value
    elif isinstance(value, types.ModuleType) and not fingerprint.is_native(value):
        for name, deeper in below.items():
            yield from _records(getattr(value, name, None), deeper)


@functools.cache
def _adapt(record: Any) -> None:
    arrays = {name: hint for name, hint in fingerprint.field_hints(record).items() if _is_array(hint)}
    if arrays:
        values = ", ".join(coerced(arrays.get(field), field) for field in record._fields)
        source = f"def __new__(_class, {', '.join(record._fields)}):\n    return _new(_class, {values})\n"
        new = define(source, "__new__", _new=record.__new__, **{name: _unless_box(coerce) for name, coerce in COERCIONS.items()})
        new.__defaults__ = record.__new__.__defaults__
        record.__new__ = staticmethod(new)
    record._replace = _replacing(record)


def _unless_box(coerce: Callable[..., Any]) -> Callable[..., Any]:
    """An action space has boxes where its actions have numbers."""
    return lambda x, *lengths: x if isinstance(x, Box) else coerce(x, *lengths)


def _is_array(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, FixedArray) and bool(hint.shape)


def _replacing(record: Any) -> Callable[..., Any]:
    def _replace(self: Any, /, **given: Any) -> Any:
        for name in given:
            if name not in record._fields:
                raise ModelError(*no_field(record, name))
        build = specialise(constructor(record), "interpreted")
        return build(*(given.get(name, value) for name, value in zip(record._fields, self, strict=True)))

    return _replace
