"""What a model is: `@model` makes a NamedTuple of parameters with scalar methods into one.

`airoas.modelling.interface.HOOKS` lists every method that the library calls; `Model` holds the defaults of those that may be left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from airoas.compiler import fingerprint
from airoas.compiler.coercion import NUMBERS
from airoas.compiler.native import Handle, Native
from airoas.errors import ModelError, OptionError, suggest
from airoas.modelling.actions import ActionSpace
from airoas.modelling.compiled import ROWS, as_written, native_class
from airoas.modelling.gate import gate_of
from airoas.modelling.interface import FINITE, HOOKS
from airoas.modelling.introspection import has_written, location, structure_problems
from airoas.modelling.layout import Shape, Shapes, is_number
from airoas.modelling.records import adapt_records
from airoas.rng import Rng, stream
from airoas.tables import numbers

C = TypeVar("C", bound=type)
T = TypeVar("T")


class Model(Native):
    """What every model has besides the user's own methods: defaults, and what the library needs to know of it."""

    __slots__ = ()

    max_steps = 100
    """Length of an episode unless told otherwise; a model may set its own as a class constant or field."""

    def is_terminal(self, s: Any) -> bool:
        return False

    def legal(self, s: Any, a: Any) -> bool:
        return True

    def rollout_action(self, s: Any, rng: Rng) -> Any:
        for _ in range(1000):
            a = rng.integer(self.n_actions)
            if self.legal(s, a):
                return a
        for a in range(self.n_actions):
            if self.legal(s, a):
                return a
        return 0

    def sample_action(self, s: Any, rng: Rng) -> Any:
        assert self.space is not None, "a model without `action_space` has its own"
        return self.space.sampler()(self, s, rng)

    def mutate_logratio(self, s2: Any, s: Any, o: Any, a: Any) -> float:
        return 0.0

    def prepare(self) -> dict[str, Any]:
        return {}

    @property
    def n_actions(self) -> int:
        """The number of actions; 0 where they are continuous."""
        return len(self.action_names)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of the actions; empty where they are continuous."""
        return _once(self, "_action_names", lambda: _names(self))

    @property
    def space(self) -> ActionSpace | None:
        """What `action_space` declares; None where the model has none."""
        return _once(
            self,
            "_space",
            lambda: ActionSpace(cast(Any, self).action_space(), location(self, "action_space")) if self.has("action_space") else None,
        )

    @property
    def action_low(self) -> np.ndarray:
        """[k] the least of each number of an action, where `action_space` says it."""
        return _once(self, "_action_low", lambda: np.zeros(0) if self.space is None else self.space.low)

    @property
    def action_width(self) -> np.ndarray:
        """[k] from the least to the largest."""
        return _once(self, "_action_width", lambda: np.zeros(0) if self.space is None else self.space.high - self.space.low)

    def action_text(self, action: Any) -> str:
        """An action for people: its name, or its numbers with theirs."""
        if self.action_names:
            return str(self.action_names[action])
        return numbers(action) if self.space is None else self.space.text(self.space.shape.to_row(action))

    @property
    def shapes(self) -> Shapes:
        """What states, observations and actions consist of, found by simulating one step."""
        return _once(self, "_shapes", lambda: _find_shapes(self))

    def row(self, what: str, value: Any) -> np.ndarray:
        """A state, observation or action as the one row of an array [1, size], as kernels take it; refused where it is none."""
        return gate_of(self, what).row(value)  # type: ignore[arg-type]

    def from_row(self, what: str, row: np.ndarray) -> Any:
        """The tuple (or action index) that a row of numbers stands for."""
        shape: Shape | None = getattr(self.shapes, what)
        return int(row[0]) if shape is None else shape.from_row(row)

    @property
    def fingerprint(self) -> str:
        """A digest of the class and the parameters: equal models have equal fingerprints."""
        return _once(self, "_fingerprint", lambda: fingerprint.digest((self.native().native_class.digest, _known(self))))

    def has(self, name: str) -> bool:
        """Whether the user wrote this optional method."""
        return has_written(type(self), name)

    @property
    def is_finite(self) -> bool:
        """Whether the enumeration group is there."""
        return all(self.has(name) for name in FINITE)

    def native(self) -> Handle:
        return _once(self, "_native", lambda: Handle(_native_fields(self), native_class(self)))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


_OURS = {name for name in vars(Model) if not name.startswith("_")} - HOOKS.keys() - {"max_steps"} | set(ROWS)


def _once(model: Model, name: str, make: Callable[[], T]) -> T:
    held: dict[str, T] = model.__dict__
    if name not in held:
        held[name] = make()
    return held[name]


def model(cls: C) -> C:
    """Make a NamedTuple class with the methods of `HOOKS` into a model."""
    if not fingerprint.is_namedtuple(cls):
        raise ModelError(
            "is not a NamedTuple", "write `class Name(NamedTuple):` under @airoas.model.", where=f"class {getattr(cls, '__name__', cls)}"
        )
    if issubclass(cls, Model):
        return cls
    for name in (*cls._fields, *vars(cls)):  # type: ignore[attr-defined]
        if name in _OURS or (name in cls._fields and name != "max_steps" and name in vars(Model)):  # type: ignore[attr-defined]
            raise ModelError(f"has a `{name}`, which is a name of every model", "choose another name.", where=f"class {cls.__name__}")

    def new(kind: Any, *arguments: Any, **fields: Any) -> Any:
        try:
            plain = cls(*arguments, **fields)
        except TypeError as error:
            raise _bad_fields(cls, fields, error) from None
        return _instance(kind, plain)

    scope = {
        "__new__": new,
        "_make": classmethod(lambda kind, values: _instance(kind, tuple(values))),
        "__eq__": Model.__eq__,
        "__ne__": object.__ne__,
        "__hash__": Model.__hash__,
        "__setattr__": _refuse_change,
        "__reduce__": lambda self: (type(self), tuple(self)),
        "__repr__": lambda self: f"{cls.__name__}({', '.join(f'{n}={_short(v)}' for n, v in zip(self._fields, self, strict=True))})",
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "_user_class": cls,
    }
    return type(cls.__name__, (cls, Model), scope)  # type: ignore[return-value]


_LONGEST = 60


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array{value.shape}"
    return repr(f"{value[: _LONGEST - 1]}…" if isinstance(value, str) and len(value) > _LONGEST else value)


def _refuse_change(self: Any, name: str, value: Any) -> None:
    raise OptionError(f"{type(self).__name__}.{name} cannot be set", f"make a new one: model._replace({name}=...).")


def _bad_fields(cls: Any, fields: dict[str, Any], error: TypeError) -> OptionError:
    for name in fields:
        if name not in cls._fields:
            return OptionError(
                f"{cls.__name__} has no parameter {name!r}", f"{suggest(name, cls._fields)}Its parameters are {', '.join(cls._fields)}."
            )
    return OptionError(f"{cls.__name__}: {error}", f"its parameters are {', '.join(cls._fields)}.")


def _instance(kind: Any, values: tuple[Any, ...]) -> Any:
    hints = fingerprint.field_hints(kind._user_class)
    if len(values) != len(kind._fields):
        raise OptionError(
            f"{kind.__name__} takes {len(kind._fields)} parameters, not {len(values)}", f"they are {', '.join(kind._fields)}."
        )
    adapt_records(kind)
    self = tuple.__new__(kind, [_coerce_field(kind, f, hints.get(f, ""), v) for f, v in zip(kind._fields, values, strict=True)])
    derived = self.prepare()
    if not isinstance(derived, dict):
        raise ModelError(
            f"returns {type(derived).__name__}, not a dict",
            "return {'name': array, ...}, or {} when there is none.",
            where=location(self, "prepare"),
        )
    for name, value in derived.items():
        if name in kind._fields or hasattr(kind, name):
            raise ModelError(f"returns {name!r}, which the model has already", "choose another name.", where=location(self, "prepare"))
        self.__dict__[name] = _frozen(np.asarray(value)) if isinstance(value, (np.ndarray, list)) else value
    self.__dict__["_derived"] = tuple(derived)
    return self


def _frozen(array: np.ndarray) -> np.ndarray:
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def _coerce_field(kind: Any, name: str, hint: Any, value: Any) -> Any:
    if hint in (float, int, bool):
        try:
            return NUMBERS[hint](value)
        except ModelError:
            declared = hint.__name__
            problem = f"{kind.__name__}({name}={value!r}): {name} is declared {declared}"
            raise OptionError(problem, f"give it a value of type {declared}.") from None
    told = hint.__name__ if isinstance(hint, type) else str(hint)
    if isinstance(value, np.ndarray) or "ndarray" in told or "NDArray" in told:
        array = np.asarray(value)
        if array.dtype.hasobject or array.dtype.kind not in "biuf":
            raise OptionError(f"{kind.__name__}({name}=...) is not an array of numbers", "give it numbers in equal rows.")
        return _frozen(array)
    return value


def _native_fields(self: Any) -> dict[str, Any]:
    """Numbers, flat tuples of numbers, and arrays; text and nested tuples stay in Python."""
    named = [(name, getattr(self, name)) for name in (*self._fields, *self.__dict__["_derived"])]
    named += [("n_actions", self.n_actions)] if self.has("actions") else []
    named += [("action_low", self.action_low), ("action_width", self.action_width)] if self.space is not None else []
    return {name: value for name, value in named if _is_native_value(value)}


def _is_native_value(value: Any) -> bool:
    return is_number(value) or isinstance(value, np.ndarray) or (isinstance(value, tuple) and bool(value) and all(map(is_number, value)))


def _known(self: Any) -> tuple[Any, ...]:
    held = [(name, getattr(self, name)) for name in (*self._fields, *self.__dict__["_derived"])]
    return tuple((name, value if isinstance(value, (np.ndarray, str)) or is_number(value) else repr(value)) for name, value in held)


def _names(self: Any) -> tuple[str, ...]:
    if not self.has("actions"):
        return ()
    if self.has("action_space"):
        problem = "stands beside `actions`, and only one of them can say what the actions are"
        raise ModelError(problem, "leave `actions` to a list of names.", where=location(self, "action_space"))
    names = self.actions()
    if not isinstance(names, (tuple, list)) or not names or not all(isinstance(name, str) for name in names):
        raise ModelError(f"returns {names!r}", "return the names of the actions, ('left', 'right') say.", where=location(self, "actions"))
    return tuple(names)


def live_initial(self: Any, rng: Rng) -> Any:
    """A draw from the initial belief that is not terminal."""
    for _ in range(1000):
        s = self.initial(rng)
        if not self.is_terminal(s):
            return s
    raise ModelError("draws terminal states only", "begin where there is something to decide.", where=location(self, "initial"))


def random_observation(self: Any, rng: Rng) -> tuple[Any, Any]:
    """An action and an observation that may follow it, from the start."""
    plain = as_written(self)
    for _ in range(100):
        s = live_initial(plain, rng)
        a = plain.rollout_action(s, rng) if self.n_actions or self.has("rollout_action") else plain.sample_action(s, rng)
        arrived = plain.step(s, a, rng)[0]
        if not plain.is_terminal(arrived):
            return a, plain.observe(arrived, a, rng)
    return a, plain.observe(s, a, rng)


def _refuse_other_actions(self: Any, a: Any, shape: Shape) -> None:
    """Raise where `sample_action` draws what `action_space` does not have."""
    if self.space is None:
        return
    given = Shape.of(a, location(self, "sample_action"))
    wrong = self.space.problem(shape.to_row(a)) if given.size == shape.size and given.record is shape.record else None
    if given.record is not shape.record or given.size != shape.size or wrong:
        problem = f"draws {a!r}, which is not in `action_space`{f': {wrong[0]}' if wrong else ''}"
        raise ModelError(problem, "draw within the space, or leave it out: then draws are uniform.", where=location(self, "sample_action"))


def _find_shapes(self: Any) -> Shapes:
    problems = structure_problems(type(self))
    if problems:
        raise problems[0]
    rng, plain = stream(0, "shapes"), as_written(self)
    state = Shape.of(plain.initial(rng), location(self, "initial"))
    s = live_initial(plain, rng)
    action = None
    if self.has("actions"):
        a: Any = next((a for a in range(self.n_actions) if plain.legal(s, a)), None)
        if a is None:
            raise ModelError("allows no action in an initial state", "leave at least one legal.", where=location(self, "legal"))
    else:
        a = plain.sample_action(s, rng)
        action = Shape.of(a, location(self, "sample_action")) if self.space is None else self.space.shape
        _refuse_other_actions(self, a, action)
    pair = plain.step(s, a, rng)
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ModelError(f"returns {pair!r}", "return (next_state, reward).", where=location(self, "step"))
    if not isinstance(pair[0], tuple):
        raise ModelError(f"returns {pair!r}, whose first part is not a state", "return (next_state, reward).", where=location(self, "step"))
    arrived = Shape.of(pair[0], location(self, "step"))
    if arrived.record is not state.record or len(arrived.parts) != len(state.parts):
        raise ModelError(
            f"returns the state {pair[0]!r}, where `initial` returns {s!r}",
            "return the same kind of tuple.",
            where=location(self, "step"),
        )
    o = plain.observe(s if plain.is_terminal(pair[0]) else pair[0], a, rng)
    return Shapes(state, Shape.of(o, location(self, "observe")), action)
