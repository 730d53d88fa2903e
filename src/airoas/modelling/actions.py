"""What actions a model offers where they are not a list of names: boxes of numbers, choices, and tuples of both.

`action_space` returns an action with a `Box` or a `Choice` in place of each number. To planners an action is a row of numbers, the index of
a choice being one of them.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from airoas.compiler.arrays import COERCIONS, FixedArray, Vector, lengths_of
from airoas.compiler.specialise import define
from airoas.errors import ModelError
from airoas.modelling.layout import Shape, is_number


class Box:
    """Any number from `low` to `high`; for a field annotated Vector[n] so many of them, `low` and `high` being a number for all or n.

    `wraps`: the two ends are the same, as of an angle.
    """

    def __init__(self, low: float | Sequence[float], high: float | Sequence[float], wraps: bool = False) -> None:
        self.low, self.high, self.wraps = low, high, wraps

    def __repr__(self) -> str:
        return f"Box({self.low}, {self.high}{', wraps=True' if self.wraps else ''})"


class Choice:
    """One of some alternatives, which have names; in the action it is the index of one."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.names))})"


class Axis(NamedTuple):
    """One number of an action."""

    name: str
    low: float
    high: float
    wraps: bool
    names: tuple[str, ...]
    """Of a choice; empty for a box."""

    @property
    def width(self) -> float:
        return self.high - self.low

    def text(self, value: float) -> str:
        """For people."""
        return f"{self.name} {self.names[int(value)] if self.names else f'{value:.4g}'}"

    def problem(self, value: float) -> str:
        """Why the number is none of this axis; empty where it is one."""
        if self.names:
            known = value == int(value) and 0 <= value < len(self.names) if math.isfinite(value) else False
            return "" if known else f"{self.name} is {value:g}, which is none of {', '.join(map(str, range(len(self.names))))}"
        return "" if self.low <= value <= self.high else f"{self.name} is {value:g}, outside {self.low:g} .. {self.high:g}"

    def remedy(self) -> str:
        if self.names:
            return f"give the index of one of {', '.join(self.names)} for {self.name}."
        return f"give {self.name} from {self.low:g} to {self.high:g}, by min(max(...)) say, or declare a larger box in `action_space`."


class ActionSpace:
    """The space that `action_space` of a model declares."""

    def __init__(self, declared: Any, where: str) -> None:
        remedy = "return an action with a Box or a Choice in place of each number, (Box(-1.0, 1.0),) say."
        if not isinstance(declared, tuple) or not declared:
            raise ModelError(f"returns {declared!r}, not a tuple", remedy, where=where)
        try:
            example = _example(declared)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"returns {declared!r}", remedy, where=where) from None
        self.shape = Shape.of(example, where)
        self.axes = tuple(_axes(declared, self.shape, where))

    @property
    def low(self) -> np.ndarray:
        """[k] of each number; 0 for a choice."""
        return np.array([axis.low for axis in self.axes])

    @property
    def high(self) -> np.ndarray:
        """[k] of each number; the last index for a choice."""
        return np.array([axis.high for axis in self.axes])

    @property
    def boxes(self) -> np.ndarray:
        """[k] which numbers are of boxes."""
        return np.array([not axis.names for axis in self.axes])

    @property
    def wraps(self) -> np.ndarray:
        return np.array([axis.wraps for axis in self.axes])

    @property
    def n_choices(self) -> int:
        """How many combinations of choices there are."""
        return math.prod(len(axis.names) for axis in self.axes if axis.names)

    def problem(self, row: Sequence[float]) -> tuple[str, str] | None:
        """Why a row is no action, and what to do; None where it is one."""
        for axis, value in zip(self.axes, row, strict=True):
            if problem := axis.problem(value):
                return problem, axis.remedy()
        return None

    def text(self, row: Sequence[float]) -> str:
        """An action for people."""
        return ", ".join(axis.text(value) for axis, value in zip(self.axes, row, strict=True))

    def sampler(self) -> types.FunctionType:
        """A method `sample_action` that draws uniformly; it reads `action_low` and `action_width` of the model."""
        at = itertools.count()
        scope: dict[str, Any] = dict(COERCIONS)
        text = _drawing(self.shape, iter(self.axes), at, scope)
        return define(f"def sample_action(self, s, rng):\n    return {text}\n", "sample_action", **scope)

    def spread(self, n: int, idle: frozenset[tuple[float, ...]] = frozenset()) -> np.ndarray:
        """[m, k] actions all over the space, n in all or a few more: every combination of choices, each with the same points of the
        boxes, a sequence that fills them evenly (Roberts 2018), moved so that each axis is divided evenly too. idle: combinations
        of choices that get one point, the middle."""
        boxes, busy = np.flatnonzero(self.boxes), max(1, self.n_choices - len(idle))
        points = max(1, math.ceil((n - len(idle)) / busy)) if len(boxes) else 1
        root = 2.0
        for _ in range(40):
            root = (1.0 + root) ** (1.0 / (len(boxes) + 1.0))
        steps = np.array([root ** -(k + 1.0) for k in range(len(boxes))])
        unit = (0.5 + np.arange(points)[:, None] * steps) % 1.0
        unit = (unit.argsort(axis=0, kind="stable").argsort(axis=0) + 0.5) / points
        choices = itertools.product(*(range(len(axis.names)) for axis in self.axes if axis.names))
        middle = np.full((1, len(boxes)), 0.5)
        pairs = [(choice, point) for choice in choices for point in (middle if choice in idle else unit)]
        rows = np.zeros((len(pairs), len(self.axes)))
        for i, (choice, point) in enumerate(pairs):
            rows[i, ~self.boxes] = choice
            rows[i, boxes] = self.low[boxes] + point * (self.high - self.low)[boxes]
        return rows

    def near(self, row: np.ndarray, width: float, n: int, rng: np.random.Generator) -> np.ndarray:
        """[n, k] actions about one, normal with this part of each box as standard deviation; choices are kept."""
        boxes, rows = self.boxes, np.repeat(np.atleast_2d(row), n, axis=0)
        low, high = self.low[boxes], self.high[boxes]
        unit = (rows[:, boxes] - low) / (high - low) + width * rng.normal(size=(n, int(boxes.sum())))
        rows[:, boxes] = low + (high - low) * np.where(self.wraps[boxes], unit % 1.0, unit.clip(0.0, 1.0))
        return rows


def _example(declared: Any) -> Any:
    """An action of the space."""
    if isinstance(declared, tuple):
        hints = getattr(type(declared), "__annotations__", {})
        names = getattr(declared, "_fields", [""] * len(declared))
        parts = [_example_part(part, hints.get(name)) for part, name in zip(declared, names, strict=True)]
        return type(declared)(*parts) if hasattr(declared, "_fields") else tuple(parts)
    raise TypeError


def _example_part(part: Any, hint: Any) -> Any:
    if isinstance(part, tuple):
        return _example(part)
    if isinstance(part, Choice):
        return 0
    if not isinstance(part, Box):
        raise TypeError
    if isinstance(hint, type) and issubclass(hint, Vector):
        return hint(part.low)
    if not is_number(part.low):
        return Vector[len(part.low)](part.low)  # type: ignore[misc, arg-type]
    return float(part.low)  # type: ignore[arg-type]


def _axes(declared: Any, shape: Shape, where: str, before: str = "") -> Iterator[Axis]:
    for k, (part, kind) in enumerate(zip(declared, shape.parts, strict=True)):
        name = shape.field(k, before)
        if isinstance(part, tuple):
            yield from _axes(part, kind, where, f"{name}.")
        elif isinstance(part, Choice):
            if len(part.names) < 1 or not all(isinstance(label, str) for label in part.names) or issubclass(kind, FixedArray):
                raise ModelError(f"offers {part!r} for {name}", "name the alternatives of one number: Choice('go', 'look').", where=where)
            yield Axis(name, 0.0, len(part.names) - 1.0, False, part.names)
        else:
            yield from _box_axes(part, kind, name, where)


def _box_axes(box: Box, kind: Any, name: str, where: str) -> Iterator[Axis]:
    many = issubclass(kind, FixedArray)
    if many and (kind.holds_flags or len(kind.shape) != 1):
        raise ModelError(f"offers a box for {name}, which is {kind.__name__}", "annotate it float or Vector[n].", where=where)
    count = kind.size if many else 1
    try:
        ends = np.asarray(box.low), np.asarray(box.high)
        low, high = (np.broadcast_to(end, count) for end in ends)
        if any(end.dtype.kind not in "iuf" for end in ends):
            raise ModelError(f"offers {box!r} for {name}", "give numbers for its ends.", where=where)
    except ValueError:
        raise ModelError(
            f"offers {box!r} for {name}, which has {count} numbers", "give a number for all, or one each.", where=where
        ) from None
    for j in range(count):
        if not -math.inf < low[j] < high[j] < math.inf:
            raise ModelError(f"offers {box!r} for {name}", "choose finite ends, the low one below the high one.", where=where)
        yield Axis(f"{name}[{j}]" if many else name, float(low[j]), float(high[j]), box.wraps, ())


def _drawing(shape: Shape, axes: Iterator[Axis], at: Iterator[int], scope: dict[str, Any]) -> str:
    """The text of an expression that draws an action."""
    texts = []
    for kind in shape.parts:
        if isinstance(kind, Shape):
            texts.append(_drawing(kind, axes, at, scope))
        elif issubclass(kind, FixedArray):
            some = ", ".join(_draw_one(next(axes), next(at)) for _ in range(kind.size))
            texts.append(f"as_vector(({some},), {lengths_of(kind)})")
        else:
            texts.append(f"as_{kind.__name__}({_draw_one(next(axes), next(at))})")
    return shape._built(texts, scope)


def _draw_one(axis: Axis, k: int) -> str:
    if axis.names:
        return f"rng.integer(int(self.action_width[{k}]) + 1)"
    return f"self.action_low[{k}] + self.action_width[{k}] * rng.uniform()"
