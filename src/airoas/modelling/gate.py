"""The gate to compiled code, which looks at nothing itself: states, observations and actions from outside pass here first.

A row of numbers may pass if it has the model's width, if each number is finite, whole where an integer belongs, and within the
model's `limits`. The limits of a finite model's states need not be written: enumeration finds them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.compiler.arrays import BITS, FixedArray
from airoas.compiler.coercion import LARGEST
from airoas.compiler.kernels import interpreted, kernel
from airoas.compiler.specialise import define, specialise
from airoas.errors import ModelError, OptionError
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.layout import Shape, is_number
from airoas.modelling.rows import Matrix, Rows
from airoas.rng import Rng

_FARTHEST = float(np.finfo(np.float64).max)
_WIDEST = {"float": (-_FARTHEST, _FARTHEST), "int": (-LARGEST, LARGEST), "bool": (0, 1), "flags": (0, (1 << BITS) - 1)}
"""What a number of each kind can be at most."""
_FEW = 500  # states that are looked at without compiling anything for it


class Gate:
    """What states, observations or actions of a model may pass."""

    def __init__(self, model: KernelModel, what: str) -> None:
        self._model, self._what = model, what
        self._shape: Shape | None = getattr(model.shapes, what)
        kinds = self._shape.kinds if self._shape else ("int",)
        self._names = self._shape.names if self._shape else ("the index",)
        self._whole = np.array([kind != "float" for kind in kinds])
        widest = np.array([_WIDEST[kind] for kind in kinds], np.float64)
        known = _limits(model, what, len(kinds))
        self.low, self.high = np.maximum(widest[:, 0], known[0]), np.minimum(widest[:, 1], known[1])
        self._types = (int,) if self._shape is None else self._shape.parts
        """Of the parts."""
        self._ranges = list(zip(self.low.tolist(), self.high.tolist(), strict=True))
        self._space = model.space if what == "action" else None
        self._may_pass = _passes(self._types, self._ranges)

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return len(self._ranges)

    def row(self, value: Any) -> np.ndarray:
        """A state, observation or action as the one row of an array [1, size]."""
        items = value if isinstance(value, tuple) else (value,)
        is_fine = self._may_pass(items)
        if is_fine and self._space is None:
            return np.array([items], np.float64)
        numbers = list(map(float, items)) if is_fine else self._numbers(value)
        if self._space is not None and (wrong := self._space.problem(numbers)):
            raise OptionError(f"{_told(value)} is no action of {type(self._model).__name__}: {wrong[0]}", wrong[1])
        for k, (x, (low, high)) in enumerate(zip(numbers, self._ranges, strict=True)):
            if not low <= x <= high:
                if self._shape is None:
                    names = ", ".join(self._model.action_names)
                    raise OptionError(f"there is no action {_told(value)}", f"use an index 0 .. {self._model.n_actions - 1} of {names}.")
                raise self._refusal(value, f"{self._names[k]} is {_number(x)}", k)
        return np.array([numbers])

    def value(self, numbers: Any) -> Any:
        """The state, observation or action that a row of numbers stands for."""
        try:
            given = np.asarray(numbers)
            if given.dtype.kind not in "biuf":  # numpy would take "1" for one
                raise TypeError(f"its type is {given.dtype}")
            row = given.astype(np.float64).reshape(1, -1)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._refusal(numbers, str(error)) from None
        problem = self.problem(row) if row.shape[1] == self.width else f"it has {row.shape[1]} numbers, not {self.width}"
        if problem:
            raise self._refusal(numbers, problem)
        return self._model.from_row(self._what, row[0])

    def _numbers(self, value: Any) -> list[float]:
        if self._shape is None:
            items = value if isinstance(value, tuple) else (value,)
            if len(items) != 1 or isinstance(items[0], (bool, np.bool_)) or not isinstance(items[0], (int, np.integer)):
                problem = f"{_told(value)} is no action of {type(self._model).__name__}"
                raise OptionError(problem, f"give an action index 0 .. {self._model.n_actions - 1}, an integer.")
            return [float(max(-LARGEST - 1, min(LARGEST + 1, int(items[0]))))]
        try:
            _refuse_flags(self._shape, value)
            return self._shape.to_row(value)
        except ModelError as error:
            raise self._refusal(value, error.problem) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise self._refusal(value, f"{type(error).__name__}: {error}") from None

    def _refusal(self, value: Any, problem: str, k: int | None = None) -> OptionError:
        remedy = f"give {self._shape}." if k is None else f"give {self._range(k)} there."
        return OptionError(f"{_told(value)} is no {self._what} of {type(self._model).__name__}: {problem[:200]}", remedy)

    def _range(self, k: int) -> str:
        low, high = self._ranges[k]
        kind = "a whole number" if self._whole[k] else "a finite number"
        if abs(low) >= LARGEST and abs(high) >= LARGEST:
            return kind
        return f"{kind} from {_number(low)} to {_number(high)}"

    def problem(self, rows: Rows) -> str:
        """What is wrong with the first row that may not pass; nothing where all may."""
        fine = (rows >= self.low) & (rows <= self.high)
        if self._whole.any():
            fine[:, self._whole] &= np.floor(rows[:, self._whole]) == rows[:, self._whole]
        if fine.all():
            return ""
        i, k = np.argwhere(~fine)[0]
        return f"{self._names[k]} is {_number(rows[i, k])}, and not {self._range(k)}, in row {i}"


def _passes(types: tuple[Any, ...], ranges: list[tuple[float, float]]) -> Callable[[tuple[Any, ...]], bool]:
    """Whether parts are of the very types declared, as most are, and within the limits; others take a closer look. Updates of few particles
    are little else than tests like this one, so it is written out for each model, without a loop."""
    if any(part not in (int, float) for part in types):
        return lambda items: False
    tests = [f"type(x[{k}]) is {part.__name__} and low{k} <= x[{k}] <= high{k}" for k, part in enumerate(types)]
    limits = {f"{side}{k}": ends[i] for k, ends in enumerate(ranges) for i, side in enumerate(("low", "high"))}
    return define(f"def passes(x):\n    return {' and '.join([f'len(x) == {len(types)}', *tests])}\n", "passes", **limits)


def gate_of(model: KernelModel, what: str) -> Gate:
    """The gate for a model's states ("state"), observations or actions."""
    held: dict[str, Gate] | None = model.__dict__.get("_gates")
    if held is None:
        held = model.__dict__.setdefault("_gates", {})
    if what not in held:
        held[what] = Gate(model, what)
    return held[what]


def as_numbers(values: Any, what: str) -> np.ndarray:
    """A copy in floats, of numbers only: numpy would take "1" for one."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"their type is {given.dtype}")
        return np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(f"{what} are no numbers ({error})", "give an array of numbers.") from None


def check_states(model: KernelModel, rows: Rows) -> None:
    """Refuse rows [n, .] that are no states of the model."""
    gate, name = gate_of(model, "state"), type(model).__name__
    remedy = "make it with Particles.sample(model, n, rng)."
    if rows.shape[1] != gate.width:
        raise OptionError(f"the belief's states have {rows.shape[1]} numbers, those of {name} {gate.width}", remedy)
    problem = gate.problem(rows)
    if not problem and model.is_finite:
        stray = _stray(model, rows)
        problem = f"the index of row {stray} is none of its {int(model.n_states())} states" if stray >= 0 else ""
    if problem:
        raise OptionError(f"the belief's states are none of {name}: {problem}", remedy)


def check_discount(model: KernelModel) -> None:
    """Refuse a discount with which rewards to come would grow, or count for nothing."""
    discount = model.discount
    if not is_number(discount) or not 0.0 < discount <= 1.0:
        problem, remedy = f"the discount is {discount!r}", "choose it above 0 and below 1; 0.95 is usual."
        raise OptionError(problem, remedy, where=type(model).__name__)


def check_stream(rng: Any) -> Rng:
    """Refuse what is no random stream of ours."""
    if not isinstance(rng, Rng):
        raise OptionError(f"{_told(rng)} is no random stream", "make one with airoas.stream(seed).")
    return rng


def _stray(model: KernelModel, rows: Rows) -> int:
    """The first row of a finite model whose index is out of range; -1 where there is none."""
    states = np.array(rows, order="C")
    if len(states) > _FEW:
        return int(_first_stray(model, states))
    return int(specialise(_first_stray.function, "interpreted")(interpreted(model), states))


@kernel
def _first_stray(model: KernelModel, states: Rows) -> int:
    for i in range(len(states)):
        number = model.index(model.read_state(states, i))
        if number < 0 or number >= model.n_states():
            return i
    return -1


def _limits(model: KernelModel, what: str, width: int) -> np.ndarray:
    """[2, width] the least and the largest value of each number of a row, infinite where the model does not know."""
    if what == "action":
        return np.array([[0.0] * width, [model.n_actions - 1.0] * width]) if model.n_actions else _unlimited(width)
    written = model.limits() if model.has("limits") and callable(model.limits) else {}
    if what in written:
        try:
            low, high = (np.broadcast_to(np.asarray(side, np.float64), (width,)) for side in written[what])
            if not (low <= high).all():
                raise ValueError
        except (TypeError, ValueError):
            remedy = f"give the least and the largest, a number or {width} each: {{'{what}': (low, high)}}."
            raise ModelError(f"returns {written[what]!r} for the {what}", remedy, where=location(model, "limits")) from None
        return np.stack((low, high))
    return _enumerated(model, width) if what == "state" and model.is_finite else _unlimited(width)


def _unlimited(width: int) -> np.ndarray:
    return np.array([[-np.inf] * width, [np.inf] * width])


def _enumerated(model: KernelModel, width: int) -> np.ndarray:
    """The limits of a finite model's states."""
    limits, workspace = np.array([[np.inf] * width, [-np.inf] * width]), np.zeros((1, width))
    if int(model.n_states()) > _FEW:
        _find_limits(model, limits, workspace)
    else:
        specialise(_find_limits.function, "interpreted")(interpreted(model), limits, workspace)
    return limits


@kernel
def _find_limits(model: KernelModel, limits: Matrix, workspace: Rows) -> None:
    for i in range(model.n_states()):
        model.write_state(workspace, 0, model.state(i))
        for k in range(workspace.shape[1]):
            limits[0, k] = min(limits[0, k], workspace[0, k])
            limits[1, k] = max(limits[1, k], workspace[0, k])


def _refuse_flags(shape: Shape, value: Any) -> None:
    """Refuse True and False where a number belongs."""
    items = value if isinstance(value, tuple) else (value,)
    for part, item in zip(shape.parts, items, strict=False):
        if isinstance(part, Shape):
            _refuse_flags(part, item)
        elif isinstance(item, (bool, np.bool_)) and part is not bool and not issubclass(part, FixedArray):
            raise ModelError(f"{item} stands where a number belongs", "")


def _number(x: float) -> str:
    return f"{int(x)}" if abs(x) <= LARGEST and x == int(x) else f"{x:g}"


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxtuple = self.maxlist = self.maxother = self.maxstring = 60
        self.maxlong = 40


def _told(value: Any) -> str:
    """A value in a message, which is not to be longer than a line."""
    text = _Short().repr(value) if not hasattr(value, "_fields") else repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."
