"""The digest changes with everything that a function is made of, and with nothing else."""

from __future__ import annotations

import enum
import functools
import math
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from airoas.compiler import fingerprint
from airoas.compiler.fingerprint import NoFingerprintError, digest
from airoas.compiler.kernels import kernel
from airoas.errors import ModelError, OptionError

BASE = '''
import math
from typing import NamedTuple
import numpy as np
import helper
from helper import halved, Kind

GOAL = 1.0
TABLE = np.array([1.0, 2.0])
START = helper.Place(0.0, 1.0)

class State(NamedTuple):
    y: float
    n: int = 3

def inner(x, k=2, *, shift=0.5):
    return x * k + shift

def outer(x):
    """Text."""
    # a comment
    def local(v):
        return v + GOAL
    s = State(local(x), 1)
    return inner(s.y) + halved(x) + helper.nested.third(x) + helper.SCALE + TABLE[0] + math.sqrt(2.0) + START.x + Kind.RED
'''
HELPER = """
from enum import IntEnum
from typing import NamedTuple
import nested
SCALE = 2.0
UNREAD = 1.0
class Place(NamedTuple):
    x: float
    y: float
class Kind(IntEnum):
    RED = 1
    BLUE = 2
def halved(x):
    return quarter(x) * 2.0
def quarter(x):
    return x / 4.0
"""
NESTED = """
THIRD = 3.0
def third(x):
    return x / THIRD
"""


@pytest.fixture(autouse=True)
def forget_modules() -> Iterator[None]:
    yield
    for name in ("helper", "nested"):
        sys.modules.pop(name, None)


def function(name: str = "outer", file: str = "base.py", above: str = "", **replaced: tuple[str, str]) -> Any:
    """`name` of BASE with its two helper modules, after replacements by module: nested=("THIRD = 3.0", "THIRD = 4.0")."""
    scope: dict[str, Any] = {}
    for module, source in (("nested", NESTED), ("helper", HELPER), ("base", BASE)):
        old, new = replaced.get(module, ("", ""))
        assert old in source
        fresh = types.ModuleType(module)
        text = (above if module == "base" else "") + source.replace(old, new, 1)
        exec(compile(text, file.replace("base", module), "exec"), fresh.__dict__)
        sys.modules[module] = fresh
        scope = fresh.__dict__
    sys.modules.pop("base")
    return scope[name]


CHANGES = {
    "a constant": {"base": ("GOAL = 1.0", "GOAL = 2.0")},
    "a constant's type": {"base": ("GOAL = 1.0", "GOAL = 1")},
    "a constant's sign of zero": {"base": ("State(local(x), 1)", "State(local(x) + -0.0, 1)")},
    "an element of an array": {"base": ("[1.0, 2.0]", "[1.0, 2.5]")},
    "the type of an array": {"base": ("[1.0, 2.0]", "[1, 2]")},
    "the shape of an array": {"base": ("[1.0, 2.0]", "[[1.0, 2.0]]")},
    "code": {"base": ("x * k", "x + k")},
    "a literal": {"base": ("math.sqrt(2.0)", "math.sqrt(3.0)")},
    "a function of math": {"base": ("math.sqrt(2.0)", "math.exp(2.0)")},
    "a default": {"base": ("k=2", "k=3")},
    "a keyword's default": {"base": ("shift=0.5", "shift=0.25")},
    "code of a nested function": {"base": ("v + GOAL", "v - GOAL")},
    "an annotation of a NamedTuple": {"base": ("y: float", "y: int")},
    "the order of a NamedTuple": {"base": ("    y: float\n    n: int = 3", "    n: int\n    y: float = 3")},
    "a default of a NamedTuple": {"base": ("n: int = 3", "n: int = 4")},
    "an element of a NamedTuple": {"base": ("Place(0.0, 1.0)", "Place(2.0, 1.0)")},
    "the fields of a constant's NamedTuple": {"helper": ("    x: float\n    y: float", "    y: float\n    x: float")},
    "a function by name": {"helper": ("quarter(x) * 2.0", "quarter(x) * 2.5")},
    "a function below it": {"helper": ("x / 4.0", "x / 5.0")},
    "a constant by module": {"helper": ("SCALE = 2.0", "SCALE = 3.0")},
    "a member of an enum": {"helper": ("RED = 1", "RED = 3")},
    "a constant two modules away": {"nested": ("THIRD = 3.0", "THIRD = 4.0")},
    "a function two modules away": {"nested": ("x / THIRD", "x * THIRD")},
}


@pytest.mark.parametrize("what", CHANGES)
def test_changes_with(what: str) -> None:
    assert digest(function(**CHANGES[what])) != digest(function())


def test_all_changes_differ_from_each_other() -> None:
    assert len({digest(function(**change)) for change in CHANGES.values()}) == len(CHANGES)


@pytest.mark.parametrize(
    "same",
    [
        {},
        {"base": ("    # a comment\n", "    # other words\n    # and lines\n")},
        {"above": "\n\n\n# licence\n"},
        {"file": "/elsewhere/base.py"},
        {"file": "<ipython-input-3-abc>"},
        {"helper": ("UNREAD = 1.0", "UNREAD = 2.0")},
        {"base": ("def inner(x, k=2", "def inner(x: float, k: int = 2")},
    ],
    ids=["nothing", "comment", "line", "file", "notebook", "unread", "annotation"],
)
def test_does_not_change_with(same: dict[str, Any]) -> None:
    assert digest(function(**same)) == digest(function())


def test_closures() -> None:
    def make(value: Any) -> Callable[[float], float]:
        def used(x: float) -> float:
            return x * value  # type: ignore[no-any-return]

        return used

    assert digest(make(1.0)) == digest(make(1.0))
    assert digest(make(1.0)) != digest(make(2.0))
    assert digest(make(1.0)) != digest(make(1))
    assert digest(make((1.0, 2.0))) != digest(make((1.0, 3.0)))
    assert digest(make(make(3.0))) != digest(make(make(4.0)))


def test_far_names_are_followed() -> None:
    """With more than 256 names an instruction has a prefix, which must not cut a chain of attributes."""
    many = "".join(f"    x += v{k}\n" for k in range(300))

    def make(value: float) -> Any:
        scope: dict[str, Any] = {f"v{k}": 0.0 for k in range(300)} | {"helper": types.SimpleNamespace()}
        scope["helper"] = types.ModuleType("helper")
        scope["helper"].CONSTANT = value
        exec(f"def f(x):\n{many}    return x + helper.CONSTANT\n", scope)
        return scope["f"]

    assert fingerprint.reads(make(1.0))["helper"] == {"CONSTANT": {}}
    assert digest(make(1.0)) != digest(make(2.0))


def test_attribute_chains() -> None:
    read = fingerprint.reads(function())
    assert read["helper"] == {"nested": {"third": {}}, "SCALE": {}}
    assert read["math"] == {"sqrt": {}}
    assert "GOAL" in read and "range" not in read
    assert {f.__name__ for f in fingerprint.reachable(function())} == {"outer", "inner", "halved", "quarter", "third"}


# --- recursion ---


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


@numba.njit
def jitted_factorial(n: int) -> int:
    return 1 if n <= 1 else n * jitted_factorial(n - 1)


@kernel
def counting_kernel(model: Any, n: int) -> int:
    return 0 if n == 0 else counting_kernel(model, n - 1)  # type: ignore[no-any-return]


def test_recursion() -> None:
    assert digest(even) != digest(odd)
    assert digest(jitted_factorial) == digest(jitted_factorial.py_func)
    assert digest(counting_kernel) == digest(counting_kernel.function)


def test_who_calls_whom_matters() -> None:
    """f -> g -> f and f -> g -> g look alike but for the last reference."""
    source = "def f(n):\n    return g(n)\ndef g(n):\n    return target(n)\n"

    def make(target: str) -> Any:
        scope: dict[str, Any] = {}
        exec(source, scope)
        scope["target"] = scope[target]
        return scope["f"]

    assert digest(make("f")) != digest(make("g"))
    assert digest(make("f")) == digest(make("f"))


# --- values ---


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    a: float
    b: float


class Swapped(NamedTuple):
    b: float
    a: float


DISTINCT = [
    None,
    0,
    False,
    0.0,
    -0.0,
    "0",
    b"0",
    0j,
    math.nan,
    math.inf,
    np.float64(0.0),
    np.float32(0.0),
    np.int64(0),
    (),
    (0,),
    (0, 0),
    ((0,), 0),
    ((0, 0),),
    (1.0, 2.0),
    Pair(1.0, 2.0),
    Swapped(1.0, 2.0),
    frozenset({0}),
    frozenset({0, 1}),
    np.zeros(2),
    np.zeros((2, 1)),
    np.zeros(2, np.int64),
    np.zeros(0),
    Colour.RED,
    "Colour.RED",
    range(3),
    slice(3),
    ...,
    math.sqrt,
    math.log,
    np.sqrt,
    np.log,
    float,
    int,
    Pair,
    Swapped,
    ValueError,
    numba.float64,
    numba.int64,
    abs,
]


def test_values_are_told_apart() -> None:
    assert len({digest(value) for value in DISTINCT}) == len(DISTINCT)


class Opaque:
    pass


@numba.vectorize
def vectorised(x: float) -> float:
    return x + 1.0


@functools.cache
def cached(x: float) -> float:
    return x


@pytest.mark.parametrize(
    "value",
    [
        Opaque(),
        Opaque,
        [1.0],
        {"a": 1},
        {1},
        np.array([None]),
        object(),
        vectorised,
        cached,
        functools.partial(even, 1),
        Opaque().__init__,  # type: ignore[misc]
        np.frompyfunc(abs, 1, 1),
        (1, [2]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_unknown_objects_are_refused(value: object) -> None:
    with pytest.raises(NoFingerprintError):
        digest(value)
    scope = {"value": value}
    exec("def f():\n    return value\n", scope)
    with pytest.raises(NoFingerprintError):
        digest(scope["f"])


def test_exceptions() -> None:
    """One that cannot be imported would come back from a stored kernel as another class."""

    class LocalError(Exception):
        pass

    assert digest(OptionError) != digest(ModelError)
    with pytest.raises(NoFingerprintError):
        digest(LocalError)


def test_the_order_of_a_set_does_not_matter() -> None:
    assert digest(frozenset({"a", "b", "c"})) == digest(frozenset({"c", "b", "a"}))


def test_modules_that_the_compiler_knows_are_their_names(tmp_path: Path) -> None:
    def make(name: str) -> Any:
        scope: dict[str, Any] = {"np": np}
        exec(f"def f(x):\n    return np.{name}(x)\n", scope)
        return scope["f"]

    assert digest(make("sqrt")) != digest(make("exp"))
    assert digest(make("sqrt")) == digest(make("sqrt"))
