"""Values with arrays and tuples in them as flat tuples of numbers, whose distribution can be tested."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from airoas.compiler.arrays import FixedArray
from airoas.modelling.layout import Shape


def names(shape: Shape) -> tuple[str, ...]:
    """Of each number; empty where a plain tuple gives none."""
    return tuple(_names(shape, "")) if shape.record else ()


def _names(shape: Shape, before: str) -> Iterator[str]:
    for k, part in enumerate(shape.parts):
        name = shape.field(k, before)
        if isinstance(part, Shape):
            yield from _names(part, f"{name}.")
        elif issubclass(part, FixedArray):
            yield from (f"{name}[{', '.join(map(str, index))}]" for index in np.ndindex(part.shape))
        else:
            yield name


def is_flat(shape: Shape) -> bool:
    return not any(isinstance(part, Shape) or issubclass(part, FixedArray) for part in shape.parts)


def flatten(shape: Shape, value: Any) -> Any:
    """A value as a flat tuple; one that is flat already, as it is."""
    return value if is_flat(shape) else tuple(_items(shape, value))


def _items(shape: Shape, value: Any) -> Iterator[Any]:
    for part, item in zip(shape.parts, value, strict=True):
        if isinstance(part, Shape):
            yield from _items(part, item)
        elif issubclass(part, FixedArray):
            yield from part(item)
        else:
            yield item


def unflatten(shape: Shape, numbers: Any) -> Any:
    """What `flatten` made flat."""
    return numbers if is_flat(shape) else _rebuilt(shape, iter(numbers))


def _rebuilt(shape: Shape, numbers: Iterator[Any]) -> Any:
    values = []
    for part in shape.parts:
        if isinstance(part, Shape):
            values.append(_rebuilt(part, numbers))
        elif issubclass(part, FixedArray):
            values.append(part(np.array([next(numbers) for _ in range(part.size)]).reshape(part.shape)))
        else:
            values.append(part(next(numbers)))
    return shape.record(*values) if shape.record else tuple(values)
