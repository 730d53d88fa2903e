"""What can be said of a model class without running it, and where its methods stand."""

from __future__ import annotations

import ast
import difflib
import dis
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from airoas.compiler import fingerprint
from airoas.errors import ModelError
from airoas.modelling.interface import FINITE, HOOKS, PLANS, REQUIRED, Hook

_NAMEDTUPLE_OWN = {"_make", "_replace", "_asdict", "_fields", "_field_defaults", "_fields_defaults", "_user_class"}


def written_in(kind: type) -> dict[str, Any]:
    """What the user wrote in the class: methods, properties, constants."""
    return {name: value for name, value in vars(_users(kind)).items() if has_written(kind, name)}


def has_written(kind: type, name: str) -> bool:
    """Whether the user wrote a method, property or constant of this name in the class."""
    user = _users(kind)
    return name in vars(user) and name not in _NAMEDTUPLE_OWN and not name.startswith("__") and name not in user._fields


def _users(kind: type) -> Any:
    return getattr(kind, "_user_class", kind)


def functions_in(kind: type) -> dict[str, types.FunctionType]:
    """The user's methods and property getters, as plain functions."""
    result = {name: getattr(value, "fget", None) or getattr(value, "__func__", value) for name, value in written_in(kind).items()}
    return {name: value for name, value in result.items() if isinstance(value, types.FunctionType)}


def files_of(kind: type) -> set[str]:
    """The source files of the user's methods and of the helpers that they call."""
    return {part.__code__.co_filename for function in functions_in(kind).values() for part in fingerprint.reachable(function)}


def location(model_or_class: Any, name: str) -> str:
    """`Class.method (file, line n)` of a user's method, for messages."""
    kind = model_or_class if isinstance(model_or_class, type) else type(model_or_class)
    function = functions_in(kind).get(name)
    label = f"{kind.__name__}.{name}"
    return f"{label} ({function.__code__.co_filename}, line {_def_line(function)})" if function else label


def _def_line(function: types.FunctionType) -> int:
    """The line of `def`, below the decorators."""
    code = function.__code__
    for line in range(code.co_firstlineno, code.co_firstlineno + 20):
        if not (text := _lines(code.co_filename)[line - 1 : line]):
            break
        if text[0].lstrip().startswith(("def ", "lambda")):
            return line
    return code.co_firstlineno


@functools.lru_cache(16)
def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def class_location(kind: type, field: str = "") -> str:
    """`Class (file, line n)`: the line of `class`, or of one of its fields."""
    functions = functions_in(kind) if hasattr(kind, "_fields") else {}
    first = next(
        (
            function.__code__.co_filename
            for name, function in functions.items()
            if function.__qualname__.endswith(f"{kind.__name__}.{name}")
        ),
        "",
    )
    file = first or getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    label = f"{kind.__name__}.{field}" if field else kind.__name__
    try:
        nodes = ast.walk(ast.parse("\n".join(_lines(file))))
    except SyntaxError:
        nodes = iter(())
    for node in nodes:
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
            inside = [n for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.target.id == field]
            inside_plain = [
                n for n in node.body if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == field for t in n.targets)
            ]
            return f"{label} ({file}, line {[*inside, *inside_plain, node][0].lineno})"
    return f"{label} ({file})" if file else label


def _signature(hook: Hook) -> str:
    return f"def {hook.name}({', '.join(('self', *hook.parameters))})"


def structure_problems(kind: type) -> list[ModelError]:
    """What can be said of a model class without running it: missing, misspelled and misshapen methods."""
    written = written_in(kind)
    functions = functions_in(kind)
    problems = []
    # A method that another one mentions is a helper, however much its name looks like one of the protocol.
    mentioned = {m for name, function in functions.items() for m in fingerprint.attributes(function) if m != name}
    unknown = [name for name in functions if name not in HOOKS and not name.startswith("_") and name not in mentioned]
    begun = [(group, next((name for name in group if name in written), "")) for group in (FINITE, PLANS)]
    beside = {name: first for group, first in begun if first for name in group}  # what belongs together, and the first of it
    wanted = [*REQUIRED, *([] if {"sample_action", "action_space"} & set(written) else ["actions"]), *beside]
    for name in wanted:
        if name not in written:
            matches = difflib.get_close_matches(name, unknown, n=1, cutoff=0.6)
            if matches:
                unknown.remove(matches[0])
                remedy = f"did you mean `{name}`? Rename it."
                problems.append(
                    ModelError(f"is not a method that a model has, and `{name}` is missing", remedy, where=location(kind, matches[0]))
                )
            else:
                because = f", which `{beside[name]}` needs beside it" if name in beside else ""
                remedy = f"write `{_signature(HOOKS[name])}`: {HOOKS[name].meaning}."
                problems.append(ModelError(f"has no method `{name}`{because}", remedy, where=class_location(kind)))
    for name in unknown:
        matches = difflib.get_close_matches(name, [hook for hook in HOOKS if hook not in written], n=1, cutoff=0.8)
        if matches:
            remedy = f"did you mean `{matches[0]}`? Rename it, or give your helper another name."
            problems.append(ModelError("is not a method that a model has: nothing calls it", remedy, where=location(kind, name)))
    problems += [problem for name, hook in HOOKS.items() if name in written and (problem := _shape_problem(kind, written[name], hook))]
    if "discount" not in kind._fields and "discount" not in written:  # type: ignore[attr-defined]
        problems.append(ModelError("has no `discount`", "add the field `discount: float = 0.95`, say.", where=class_location(kind)))
    return problems


def _shape_problem(kind: type, value: Any, hook: Hook) -> ModelError | None:
    remedy = f"write `{_signature(hook)}`: {hook.meaning}."
    if not isinstance(value, types.FunctionType):
        return ModelError(f"is a {type(value).__name__}, not a method", remedy, where=class_location(kind, hook.name))
    signature = inspect.signature(value)
    try:
        signature.bind(*("self", *hook.parameters))
    except TypeError:
        takes, given = ", ".join(map(str, signature.parameters.values())), ", ".join(("self", *hook.parameters))
        return ModelError(f"takes ({takes}), but is called with ({given})", remedy, where=location(kind, hook.name))
    return None


class Construct(NamedTuple):
    """A piece of code that behaves otherwise than it looks."""

    where: str
    problem: str
    remedy: str
    level: str
    """error, warning or note."""


_INEXACT = {"hypot", "gamma", "lgamma", "expm1", "log1p", "cbrt", "dist", "fsum"}
_INEXACT_NUMPY = {"exp", "log", "power", "log2", "log10", "sin", "cos", "tan", "tanh", "arctan2", "sum", "dot", "square"}
_INSTEAD = {
    "`math.hypot`": "write `math.sqrt(x * x + y * y)`",
    "`hypot`": "write `math.sqrt(x * x + y * y)`",
    "`** 2`": "write `x * x` for `x ** 2`",
    "`** 3`": "write `x * x * x` for `x ** 3`",
    "`** 0.5`": "write `math.sqrt(x)` for `x ** 0.5`",
    "`numpy.square`": "write `x * x`",
    "`numpy.power`": "write `x ** y`",
    "`numpy.arctan2`": "write `math.atan2`",
    "`numpy.sum`": "write a loop",
    "`numpy.dot`": "write a loop",
}
_RANDOM = ("random", "numpy.random", "secrets")


def constructs(kind: type, functions: list[types.FunctionType]) -> Iterator[Construct]:
    """Code that may differ between interpreted and compiled, of each kind once, and code that no seed controls or that compares what is
    never equal, wherever it stands."""
    inexact: dict[str, list[tuple[str, int, str]]] = {}
    for what, label, file, line in _telling_lines(kind, functions):
        where = f"{label} ({file}, line {line})"
        if what.startswith("draws"):
            yield Construct(where, what, "use `rng.uniform()`, `rng.normal()` or `rng.integer(n)` of the method's `rng`.", "error")
        elif what.startswith("compares"):
            remedy = "compare with a number: an action is its index in `actions`, and states and observations are made of numbers."
            yield Construct(where, what, remedy, "warning")
        else:
            inexact.setdefault(what, []).append((file, line, label))
    for what, occurrences in inexact.items():
        (file, line, label), *others = sorted(occurrences)
        lines = [str(n) if other == file else f"{n} of {Path(other).name}" for other, n, _ in others]
        also = f", here and in line{'s' * (len(lines) > 1)} {', '.join(lines)}" if lines else ""
        instead = _INSTEAD.get(what) or (f"write `math{what[6:-1]}`" if what.startswith("`numpy.") else "")
        remedy = f"{instead} where that matters; each mode is right on its own." if instead else "each mode is right on its own."
        problem = f"{what} may differ in the last bit between interpreted and compiled runs{also}"
        yield Construct(f"{label} ({file}, line {line})", problem, remedy, "note")


def _telling_lines(kind: type, functions: list[types.FunctionType]) -> Iterator[tuple[str, str, str, int]]:
    """What is telling in the user's code: what it is, the function that it stands in, the file and the line; each once."""
    files = files_of(kind)
    methods = {function.__code__: name for name, function in functions_in(kind).items()}
    said = set()
    for part in {id(part): part for function in functions for part in fingerprint.reachable(function)}.values():
        file = part.__code__.co_filename
        if file not in files:
            continue
        label = f"{kind.__name__}.{methods[part.__code__]}" if part.__code__ in methods else part.__name__
        numbers = part.__code__.co_varnames[1 : part.__code__.co_argcount] if methods.get(part.__code__) in HOOKS else ()
        for what, line in (*_telling(part), *_text_comparisons(part.__code__, numbers)):
            if (what, file, line) not in said:
                said.add((what, file, line))
                yield what, label, file, line


def _telling(function: types.FunctionType) -> Iterator[tuple[str, int]]:
    for code in fingerprint.codes(function.__code__):
        line, constant = code.co_firstlineno, None  # the constant on top of the stack
        root = ""  # the module that the value on top of the stack is, or comes from
        for instruction in dis.get_instructions(code):
            position = instruction.positions
            line = position.lineno if position is not None and position.lineno is not None else line
            if instruction.opname == "BINARY_OP" and instruction.argrepr.startswith("**") and constant is not None:
                yield f"`** {constant}`", line
            name = str(instruction.argval) if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""
            if name and root in _RANDOM:
                yield f"draws from `{root}`, so that a seed does not repeat it", line
            elif (name in _INEXACT and root) or (root == "numpy" and name in _INEXACT_NUMPY):
                yield f"`{root}.{name}`", line
            value = function.__globals__.get(instruction.argval) if instruction.opname == "LOAD_GLOBAL" else None
            if isinstance(value, types.ModuleType):
                root = value.__name__
            elif value is not None and getattr(value, "__module__", None) in ("math", "numpy", *_RANDOM) and not isinstance(value, type):
                module, known = value.__module__, getattr(value, "__name__", "")
                if module in _RANDOM:
                    yield f"draws from `{module}`, so that a seed does not repeat it", line
                elif known in _INEXACT or (module == "numpy" and known in _INEXACT_NUMPY):
                    yield f"`{known}`", line
                root = ""
            else:
                root = f"{root}.{name}" if root and name else ""
            constant = instruction.argval if instruction.opname in ("LOAD_CONST", "LOAD_SMALL_INT") else None


def _text_comparisons(code: types.CodeType, numbers: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Where one of these arguments, or a part of it, is compared with text, which is never equal to it."""
    name, text, line = "", None, code.co_firstlineno  # the variable and the text that were loaded last
    for instruction in dis.get_instructions(code):
        position = instruction.positions
        line = position.lineno if position is not None and position.lineno is not None else line
        if instruction.opname.startswith("LOAD_FAST"):
            name = str(instruction.argval)
        elif instruction.opname == "LOAD_CONST" and name in ("", *numbers):
            values = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            text = next((value for value in values if isinstance(value, str)), text)
        elif instruction.opname in ("COMPARE_OP", "CONTAINS_OP"):
            if name in numbers and text is not None:
                yield f"compares `{name}`, a number or a tuple of numbers, with the text {text!r}", line
            name, text = "", None
        elif not instruction.opname.startswith(("LOAD_ATTR", "BINARY_SUBSCR", "BINARY_OP", "CACHE", "COPY", "SWAP", "LOAD_SMALL_INT")):
            name, text = "", None
