"""What a model is: the methods that it has or may have, and `@model`, which makes a NamedTuple into one.

A model is a `NamedTuple` of parameters with scalar methods. `HOOKS` lists every method that the library calls, `Model`
holds the defaults of those that may be left out.
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numba.core.errors import NumbaError

from airoas import content
from airoas.compile import COERCE, Handle, ModelType, Native, NativeClass, constructor, define, explain, link
from airoas.errors import ModelError, OptionError
from airoas.rng import Rng, rng_type, stream

C = TypeVar("C", bound=type)


class Hook(NamedTuple):
    """A method that the library calls on a model."""

    name: str
    parameters: tuple[str, ...]
    """After self. s, s2 and parent are states, a an action, o an observation, i and k integers, beta a float."""
    returns: str
    meaning: str
    compiled: bool = True


HOOKS = {
    hook.name: hook
    for hook in (
        # required (`actions` or, for continuous actions, `sample_action`)
        Hook("actions", (), "names", "the names of the actions; an action is an index into them", compiled=False),
        Hook("initial", ("rng",), "state", "a draw from the initial belief"),
        Hook("step", ("s", "a", "rng"), "state, real", "the state arrived in and the reward"),
        Hook("observe", ("s", "a", "rng"), "observation", "what is seen in the state arrived in, after action a"),
        Hook("obs_logpdf", ("o", "s", "a"), "real", "log density (or mass) of o in the state arrived in"),
        # search
        Hook("is_terminal", ("s",), "flag", "whether nothing more happens (default: never)"),
        Hook("legal", ("s", "a"), "flag", "whether a may be chosen in s (default: always)"),
        Hook("rollout_action", ("s", "rng"), "action", "a default policy (default: uniform over the legal actions)"),
        Hook("sample_action", ("s", "rng"), "action", "a random continuous action, a tuple of floats (default: none)"),
        Hook("value_bounds", ("s",), "real, real", "lower and upper bound of the value of being in s (default: none)"),
        Hook("cell", ("s",), "integer", "the bin of s for KLD-sampling (default: none)"),
        # annealing
        Hook("step_logpdf", ("s2", "s", "a"), "real", "log density (or mass) of the transition (default: none)"),
        Hook("mutate", ("s", "o", "a", "rng"), "state", "a proposal for a Metropolis-Hastings move (default: none)"),
        Hook("mutate_logratio", ("s2", "s", "o", "a"), "real", "log q(s | s2) - log q(s2 | s) of `mutate` (default: 0)"),
        Hook("mutate_literal", ("s", "o", "a", "rng"), "state", "the paper's proposal, literal mode only (default: none)"),
        Hook("move", ("s", "parent", "o", "a", "beta", "rng"), "state", "a whole move that keeps pi_beta (default: none)"),
        # structure: finite models
        Hook("n_states", (), "integer", "the number of states (default: not finite)"),
        Hook("index", ("s",), "integer", "the number of s, 0 .. n_states - 1"),
        Hook("state", ("i",), "state", "the state of that number"),
        Hook("successor", ("s", "a", "k"), "state, real", "successor k and its probability; k counts up until they sum to 1"),
        Hook("reward", ("s", "a"), "real", "the expected reward (default: averaged over simulated steps)"),
        # plain Python, never compiled
        Hook("prepare", (), "arrays", "check the parameters, return derived arrays by name", compiled=False),
        Hook("exact_initial", (), "states, weights", "the initial belief as weighted states (default: none)", compiled=False),
        Hook("exact_update", ("states", "log_weights", "a", "o"), "states, log_weights", "the exact posterior (default: none)", compiled=False),
        Hook("describe", (), "sizes", "the sizes of S, A and O, a number or 'continuous' each", compiled=False),
        Hook("draw", ("axis", "s", "belief"), "nothing", "draw a state and a belief (default: a plain one)", compiled=False),
        Hook("text", ("s", "belief"), "text", "the same for a terminal (default: the numbers)", compiled=False),
    )
}

REQUIRED = ("initial", "step", "observe", "obs_logpdf")
FINITE = ("n_states", "index", "state", "successor")
_STATES, _INTEGERS = ("s", "s2", "parent"), ("i", "k")


class Shape(NamedTuple):
    """Of what kinds a state, observation or action tuple consists: `record` is its NamedTuple class or None."""

    record: Any
    kinds: tuple[str, ...]

    @staticmethod
    def of(value: object, where: str) -> Shape:
        remedy = "return a flat tuple of numbers, (x,) for a single one."
        if not isinstance(value, tuple):
            raise ModelError(f"returns {type(value).__name__} {value!r}, not a tuple", remedy, where=where)
        record = type(value) if content.is_namedtuple(type(value)) else None
        kinds = []
        for position, item in enumerate(value):
            kind = content.annotations(record).get(record._fields[position]) if record else None
            if not isinstance(item, (int, float, np.integer, np.floating, np.bool_)):
                raise ModelError(f"returns a tuple with {type(item).__name__} {item!r} in place {position}", remedy, where=where)
            if kind not in COERCE:
                kind = "bool" if isinstance(item, (bool, np.bool_)) else "int" if isinstance(item, (int, np.integer)) else "float"
            kinds.append(kind)
        if not kinds:
            raise ModelError("returns an empty tuple", remedy, where=where)
        return Shape(record, tuple(kinds))

    def example(self) -> tuple[Any, ...]:
        values = [{"float": 0.0, "int": 0, "bool": False}[kind] for kind in self.kinds]
        return self.record(*values) if self.record else tuple(values)

    def rebuild(self) -> Callable[..., Any]:
        """A function that makes any tuple of this length into one of this shape, coercing each component."""
        parts = ", ".join(f"as_{kind}(x[{position}])" for position, kind in enumerate(self.kinds))
        scope: dict[str, Any] = {f"as_{kind}": coerce for kind, coerce in COERCE.items()}
        if self.record:
            scope["build"] = constructor(self.record)
        return define(f"def rebuild(x):\n    return {'build' if self.record else ''}({parts},)\n", "rebuild", **scope)

    def read(self) -> Callable[..., Any]:
        """A method that makes row i of an array into a tuple of this shape."""
        casts = {"float": "rows[i, {}]", "int": "int(rows[i, {}])", "bool": "rows[i, {}] != 0.0"}
        parts = ", ".join(casts[kind].format(position) for position, kind in enumerate(self.kinds))
        return define(f"def read(self, rows, i):\n    return rebuild(({parts},))\n", "read", rebuild=self.rebuild())

    def write(self) -> Callable[..., Any]:
        """A method that stores a tuple of this shape in row i of an array."""
        lines = "".join(f"    rows[i, {position}] = x[{position}]\n" for position in range(len(self.kinds)))
        return define(f"def write(self, rows, i, x):\n{lines}", "write")

    def __str__(self) -> str:
        return f"({', '.join(self.kinds)})"


class Shapes(NamedTuple):
    state: Shape
    observation: Shape
    action: Shape | None
    """None where an action is an index."""


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
    def shapes(self) -> Shapes:
        """What states, observations and actions consist of, found by simulating one step."""
        return _once(self, "_shapes", lambda: _find_shapes(self))

    @property
    def content(self) -> str:
        """A digest of the class and the parameters: equal models have equal content."""
        return _once(self, "_content", lambda: content.digest((self.native().made.digest, _known(self))))

    def has(self, name: str) -> bool:
        """Whether the user wrote this optional method."""
        return name in _written(type(self))

    @property
    def is_finite(self) -> bool:
        """Whether the enumeration group is there."""
        return all(self.has(name) for name in FINITE)

    def native(self) -> Handle:
        return _once(self, "_native", lambda: Handle(_native_fields(self), _native_class(self)))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.content == other.content  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.content)


def _once(model: Any, name: str, make: Callable[[], Any]) -> Any:
    held = model.__dict__
    if name not in held:
        held[name] = make()
    return held[name]


def model(cls: C) -> C:
    """Make a NamedTuple class with the methods of `HOOKS` into a model."""
    if not content.is_namedtuple(cls):
        raise ModelError("is not a NamedTuple", "write `class Name(NamedTuple):` under @airoas.model.", where=f"class {getattr(cls, '__name__', cls)}")
    if issubclass(cls, Model):
        return cls  # type: ignore[return-value]

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
        "__ne__": lambda self, other: not self == other,
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


def _short(value: Any) -> str:
    return f"array{value.shape}" if isinstance(value, np.ndarray) else repr(value)


def _refuse_change(self: Any, name: str, value: Any) -> None:
    raise OptionError(f"{type(self).__name__}.{name} cannot be set", f"make a new one: model._replace({name}=...).")


def _bad_fields(cls: Any, fields: dict[str, Any], error: TypeError) -> OptionError:
    for name in fields:
        if name not in cls._fields:
            return OptionError(f"{cls.__name__} has no parameter {name!r}", f"{suggest(name, cls._fields)}its parameters are {', '.join(cls._fields)}.")
    return OptionError(f"{cls.__name__}: {error}", f"its parameters are {', '.join(cls._fields)}.")


def suggest(name: str, known: Any) -> str:
    """"did you mean `x`? " where a known name is close, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`? " if close else ""


def _instance(kind: Any, values: tuple[Any, ...]) -> Any:
    hints = content.annotations(kind._user_class)
    if len(values) != len(kind._fields):
        raise OptionError(f"{kind.__name__} takes {len(kind._fields)} parameters, not {len(values)}", f"they are {', '.join(kind._fields)}.")
    self = tuple.__new__(kind, [_coerce_field(kind, f, hints.get(f, ""), v) for f, v in zip(kind._fields, values, strict=True)])
    derived = self.prepare()
    if not isinstance(derived, dict):
        raise ModelError(f"returns {type(derived).__name__}, not a dict", "return {'name': array, ...}, or {} when there is none.", where=place(self, "prepare"))
    for name, value in derived.items():
        if name in kind._fields or hasattr(kind, name):
            raise ModelError(f"returns {name!r}, which the model has already", "choose another name.", where=place(self, "prepare"))
        self.__dict__[name] = _frozen(np.asarray(value)) if isinstance(value, (np.ndarray, list)) else value
    self.__dict__["_derived"] = tuple(derived)
    return self


def _frozen(array: np.ndarray) -> np.ndarray:
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def _coerce_field(kind: Any, name: str, hint: str, value: Any) -> Any:
    if hint in COERCE:
        try:
            return COERCE[hint](value)
        except ModelError:
            raise OptionError(f"{kind.__name__}({name}={value!r}): {name} is declared {hint}", f"give it a value of type {hint}.") from None
    if isinstance(value, np.ndarray) or "ndarray" in hint or "NDArray" in hint:
        array = np.asarray(value)
        if array.dtype.hasobject or array.dtype.kind not in "biuf":
            raise OptionError(f"{kind.__name__}({name}=...) is not an array of numbers", "give it numbers in equal rows.")
        return _frozen(array)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_))


def _native_fields(self: Any) -> dict[str, Any]:
    """Numbers, flat tuples of numbers, and arrays; text and nested tuples stay in Python."""
    named = [(name, getattr(self, name)) for name in (*self._fields, *self.__dict__["_derived"])]
    named += [] if self.has("sample_action") and not self.has("actions") else [("n_actions", self.n_actions)]
    fields = {}
    for name, value in named:
        if _is_number(value) or isinstance(value, np.ndarray) or (isinstance(value, tuple) and value and all(map(_is_number, value))):
            fields[name] = value
    return fields


def _known(self: Any) -> tuple[Any, ...]:
    held = [(name, getattr(self, name)) for name in (*self._fields, *self.__dict__["_derived"])]
    return tuple((name, value if isinstance(value, (np.ndarray, str)) or _is_number(value) else repr(value)) for name, value in held)


_NAMEDTUPLE_OWN = {"_make", "_replace", "_asdict", "_fields", "_field_defaults", "_fields_defaults", "_user_class"}


def _written(kind: type) -> dict[str, Any]:
    """What the user wrote in the class: methods, properties, constants."""
    user = getattr(kind, "_user_class", kind)
    return {
        name: value
        for name, value in vars(user).items()
        if name not in _NAMEDTUPLE_OWN and not name.startswith("__") and name not in user._fields  # type: ignore[attr-defined]
    }


def _names(self: Any) -> tuple[str, ...]:
    if not self.has("actions"):
        return ()
    names = self.actions()
    if not isinstance(names, (tuple, list)) or not names or not all(isinstance(name, str) for name in names):
        raise ModelError(f"returns {names!r}", "return the names of the actions, ('left', 'right') say.", where=place(self, "actions"))
    return tuple(names)


def place(model_or_class: Any, name: str) -> str:
    """`Class.method (file, line n)` of a user's method, for messages."""
    kind = model_or_class if isinstance(model_or_class, type) else type(model_or_class)
    function = _written(kind).get(name)
    function = getattr(function, "fget", function)
    code = getattr(function, "__code__", None)
    label = f"{kind.__name__}.{name}"
    return f"{label} ({code.co_filename}, line {code.co_firstlineno})" if code else label


def structure_problems(kind: type) -> list[ModelError]:
    """What can be said of a model class without running it: missing, misspelled and misshapen methods."""
    written = _written(kind)
    problems = []
    unknown = [name for name, value in written.items() if name not in HOOKS and not name.startswith("_") and isinstance(value, types.FunctionType)]
    wanted = [*REQUIRED, *([] if "sample_action" in written else ["actions"])]
    finite = [name for name in FINITE if name in written]
    if finite:
        wanted += FINITE
    for name in wanted:
        if name not in written:
            close = difflib.get_close_matches(name, unknown, n=1, cutoff=0.6)
            if close:
                unknown.remove(close[0])
                where, remedy = place(kind, close[0]), f"did you mean `{name}`? Rename it."
                problems.append(ModelError(f"is not a method of the protocol, and `{name}` is missing", remedy, where=where))
            else:
                hook = HOOKS[name]
                because = f" (needed with {', '.join(finite)})" if name in FINITE else ""
                remedy = f"write `def {name}({', '.join(('self', *hook.parameters))})`: {hook.meaning}."
                problems.append(ModelError(f"has no method `{name}`{because}", remedy, where=_class_place(kind)))
    for name in unknown:
        close = difflib.get_close_matches(name, [hook for hook in HOOKS if hook not in written], n=1, cutoff=0.8)
        if close:
            remedy = f"did you mean `{close[0]}`? Rename it, or give your helper another name."
            problems.append(ModelError("is not a method of the protocol and would never be called", remedy, where=place(kind, name)))
    for name, hook in HOOKS.items():
        function = written.get(name)
        if function is None:
            continue
        if not isinstance(function, types.FunctionType):
            remedy = f"write `def {name}({', '.join(('self', *hook.parameters))})`."
            problems.append(ModelError(f"`{name}` is a {type(function).__name__}, not a method", remedy, where=_class_place(kind)))
            continue
        count, optional = function.__code__.co_argcount, len(function.__defaults__ or ())
        expected = 1 + len(hook.parameters)
        if not count - optional <= expected <= count:
            remedy = f"write `def {name}({', '.join(('self', *hook.parameters))})`."
            problems.append(ModelError(f"takes {count} parameters, the protocol passes {expected}", remedy, where=place(kind, name)))
    if "discount" not in kind._fields and "discount" not in written:  # type: ignore[attr-defined]
        problems.append(ModelError("has no `discount`", "add the field `discount: float = 0.95`, say.", where=_class_place(kind)))
    return problems


def _class_place(kind: type) -> str:
    first = next((value.__code__ for value in _written(kind).values() if isinstance(value, types.FunctionType)), None)
    return f"{kind.__name__} ({first.co_filename}, line {first.co_firstlineno})" if first else kind.__name__


def _find_shapes(self: Any) -> Shapes:
    problems = structure_problems(type(self))
    if problems:
        raise problems[0]
    rng = stream(0, "shapes")
    s = self.initial(rng)
    state = Shape.of(s, place(self, "initial"))
    action = None
    if self.has("actions"):
        a: Any = next((a for a in range(self.n_actions) if self.legal(s, a)), None)
        if a is None:
            raise ModelError("allows no action in an initial state", "leave at least one legal.", where=place(self, "legal"))
    else:
        a = self.sample_action(s, rng)
        action = Shape.of(a, place(self, "sample_action"))
    pair = self.step(s, a, rng)
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ModelError(f"returns {pair!r}", "return (next_state, reward).", where=place(self, "step"))
    arrived = Shape.of(pair[0], place(self, "step"))
    if arrived.record is not state.record or len(arrived.kinds) != len(state.kinds):
        raise ModelError(f"returns the state {pair[0]!r}, where `initial` returns {s!r}", "return the same kind of tuple.", where=place(self, "step"))
    return Shapes(state, Shape.of(self.observe(pair[0], a, rng), place(self, "observe")), action)


# --- the class as compiled code sees it ---


def _native_class(self: Any) -> NativeClass:
    kind, shapes = type(self), self.shapes
    written = _written(kind)
    functions: dict[str, types.FunctionType] = {
        "read_state": shapes.state.read(),  # type: ignore[dict-item]
        "write_state": shapes.state.write(),
        "read_observation": shapes.observation.read(),
        "write_observation": shapes.observation.write(),
    }
    for name in ("is_terminal", "legal", "mutate_logratio", "rollout_action"):
        functions[name] = getattr(Model, name)
    if shapes.action is not None:
        functions["rollout_action"] = written["sample_action"]
        functions["read_action"], functions["write_action"] = shapes.action.read(), shapes.action.write()  # type: ignore[assignment]
    properties: dict[str, types.FunctionType] = {}
    constants: dict[str, Any] = {"state_size": len(shapes.state.kinds), "observation_size": len(shapes.observation.kinds)}
    queue = [name for name, hook in HOOKS.items() if hook.compiled and name in written]
    seen = set(queue)
    while queue:  # hooks, then whatever methods, properties and constants of the class they mention
        name = queue.pop()
        value = written[name]
        function = value.fget if isinstance(value, property) else value
        if isinstance(function, types.FunctionType):
            hook = HOOKS.get(name)
            if isinstance(value, property):
                properties[name] = function
            else:
                functions[name] = _wrapped(function, hook, shapes) if hook and hook.compiled else function
            mentioned = {m for part in content.reachable(function) for m in content.attributes(part)}
            new = [m for m in mentioned if m in written and m not in seen and not (m in HOOKS and not HOOKS[m].compiled)]
            seen.update(new)
            queue += new
        elif _is_number(value) or isinstance(value, (tuple, np.ndarray)):
            constants[name] = value
    if "discount" in written:
        constants["discount"] = written["discount"]
    return NativeClass(kind.__name__, functions, properties, constants, lambda made, names: _check_methods(self, made, names))


def _wrapped(function: types.FunctionType, hook: Hook, shapes: Shapes) -> types.FunctionType:
    """The user's method with what it returns coerced to the shapes of the model."""
    parts = hook.returns.split(", ")
    coerced = ", ".join(_COERCED[part].format(f"x[{position}]" if len(parts) > 1 else "x") for position, part in enumerate(parts))
    if hook.returns == "action" and shapes.action is None:
        coerced = "as_int(x)"
    scope: dict[str, Any] = {f"as_{kind}": coerce for kind, coerce in COERCE.items()}
    scope |= {"rebuild_state": shapes.state.rebuild(), "rebuild_observation": shapes.observation.rebuild()}
    if shapes.action is not None:
        scope["rebuild_action"] = shapes.action.rebuild()
    given = ", ".join(("self", *hook.parameters))
    source = f"def {hook.name}({given}):\n    x = user_{hook.name}({given})\n    return {coerced}\n"
    made = define(source, hook.name, **scope, **{f"user_{hook.name}": function})
    return made


_COERCED = {
    "state": "rebuild_state({})",
    "observation": "rebuild_observation({})",
    "action": "rebuild_action({})",
    "real": "as_float({})",
    "integer": "as_int({})",
    "flag": "as_bool({})",
}


def _check_methods(self: Any, made: ModelType, names: set[str]) -> None:
    """Compile each of the user's methods alone, so that a mistake is reported where it stands."""
    for name in names:
        hook = HOOKS.get(name)
        if hook is not None and hook.compiled and self.has(name):
            problem = method_problem(self, made, hook)
            if problem is not None:
                raise problem


def method_problem(self: Any, made: ModelType, hook: Hook) -> ModelError | None:
    """What is wrong with one method once it is compiled against the declared types, or None."""
    shapes = self.shapes
    user = _written(type(self))[hook.name]
    kinds = {name: numba.typeof(shapes.state.example()) for name in _STATES} | {name: numba.int64 for name in _INTEGERS}
    kinds["o"] = numba.typeof(shapes.observation.example())
    kinds["a"] = numba.int64 if shapes.action is None else numba.typeof(shapes.action.example())
    kinds |= {"rng": rng_type, "beta": numba.float64}
    dispatcher = link(user, made.how)
    where = place(self, hook.name)
    try:
        dispatcher.compile((made, *[kinds[parameter] for parameter in hook.parameters]))
    except NumbaError as error:
        return explain(error, where, type(self))
    returned = dispatcher.nopython_signatures[-1].return_type
    return _return_problem(self, hook, returned, where)


def _return_problem(self: Any, hook: Hook, returned: Any, where: str) -> ModelError | None:
    shapes = self.shapes
    parts = hook.returns.split(", ")
    given = list(returned) if len(parts) > 1 and isinstance(returned, numba.types.BaseTuple) else [returned]
    if len(given) != len(parts):
        return ModelError(f"returns {returned}, not a pair", f"return ({hook.returns}): {hook.meaning}.", where=where)
    for part, kind in zip(parts, given, strict=True):
        if part in ("state", "observation") or (part == "action" and shapes.action is not None):
            shape = getattr(shapes, part)
            source = {"state": "initial", "observation": "observe", "action": "sample_action"}[part]
            if not isinstance(kind, numba.types.BaseTuple) or len(kind) != len(shape.kinds):
                return ModelError(f"returns {kind} for the {part}, where `{source}` gives {shape}", f"return a tuple of {len(shape.kinds)} numbers.", where=where)
            for position, (want, have) in enumerate(zip(shape.kinds, kind, strict=True)):
                if want == "int" and isinstance(have, numba.types.Float):
                    field = shape.record._fields[position] if shape.record else f"number {position}"
                    remedy = f"write a float in `{source}` (0.0 for 0), or int(...) here." if shape.record is None else f"annotate `{field}: float`, or write int(...) here."
                    return ModelError(f"gives a float for {field} of the {part}, which is an int in `{source}`", remedy, where=where)
        elif part == "integer" or part == "action":
            if not isinstance(kind, (numba.types.Integer, numba.types.Boolean)):
                return ModelError(f"returns {kind}, not an integer", f"return an integer: {hook.meaning}.", where=where)
        elif part == "flag" and not isinstance(kind, (numba.types.Boolean, numba.types.Integer)):
            return ModelError(f"returns {kind}, not True or False", "return a comparison.", where=where)
        elif part == "real" and not isinstance(kind, (numba.types.Number, numba.types.Boolean)):
            return ModelError(f"returns {kind}, not a number", f"return a number: {hook.meaning}.", where=where)
    return None
