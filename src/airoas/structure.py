"""What can be said of a model class without running it, and where its methods stand."""

from __future__ import annotations

import difflib
import types
from typing import Any

from airoas.errors import ModelError
from airoas.hooks import FINITE, HOOKS, REQUIRED


def suggest(name: str, known: Any) -> str:
    """ "did you mean `x`? " where a known name is close, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`? " if close else ""


_NAMEDTUPLE_OWN = {"_make", "_replace", "_asdict", "_fields", "_field_defaults", "_fields_defaults", "_user_class"}


def written_in(kind: type) -> dict[str, Any]:
    """What the user wrote in the class: methods, properties, constants."""
    user: Any = getattr(kind, "_user_class", kind)
    return {
        name: value
        for name, value in vars(user).items()
        if name not in _NAMEDTUPLE_OWN and not name.startswith("__") and name not in user._fields
    }


def place(model_or_class: Any, name: str) -> str:
    """`Class.method (file, line n)` of a user's method, for messages."""
    kind = model_or_class if isinstance(model_or_class, type) else type(model_or_class)
    function = written_in(kind).get(name)
    function = getattr(function, "fget", function)
    code = getattr(function, "__code__", None)
    label = f"{kind.__name__}.{name}"
    return f"{label} ({code.co_filename}, line {code.co_firstlineno})" if code else label


def structure_problems(kind: type) -> list[ModelError]:
    """What can be said of a model class without running it: missing, misspelled and misshapen methods."""
    written = written_in(kind)
    problems = []
    unknown = [
        name for name, value in written.items() if name not in HOOKS and not name.startswith("_") and isinstance(value, types.FunctionType)
    ]
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
    first = next((value.__code__ for value in written_in(kind).values() if isinstance(value, types.FunctionType)), None)
    return f"{kind.__name__} ({first.co_filename}, line {first.co_firstlineno})" if first else kind.__name__
