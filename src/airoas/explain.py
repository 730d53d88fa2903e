"""Numba's errors as one sentence, with the place in the user's own source and what to do."""

from __future__ import annotations

import re
from pathlib import Path

from numba.core.errors import NumbaError

from airoas.errors import CompileError

_PLAIN = {
    "unicode_type": "text",
    "float64": "float",
    "int64": "int",
    "boolean": "bool",
    "Literal[int]": "int ",
    "NoneType": "None",
    "none": "None",
}


def explain(error: NumbaError, where: str, kind: type | None = None) -> CompileError:
    """A numba error as one sentence with the place in the user's own source."""
    text = re.sub(r"(\w+)_[0-9a-f]{16}\b", r"\1", str(error.args[0] if error.args else error))
    label = kind.__name__ if kind else "the model"
    text = re.sub(r"\w+<[0-9a-f]+>\[\w+\]\([^\n]*\)", label, text)
    places = re.findall(r'File "([^"]+)", line (\d+):\n((?:.*\n)*?)\s*\^', text + "\n")
    theirs = [p for p in places if p[0] != "<airoas>" and Path(__file__).parent not in Path(p[0]).resolve().parents]
    if theirs:
        file, line, excerpt = theirs[-1]
        last = [row.strip() for row in excerpt.splitlines() if row.strip()]
        where = f"{where.partition(' (')[0]} ({file}, line {line}{f': `{last[-1]}`' if last else ''})"
    for old, new in _PLAIN.items():
        text = text.replace(old, new)
    return CompileError(*_translate(text, label), where=where)


def _translate(text: str, label: str) -> tuple[str, str]:
    """What a numba error says and what to do about it."""
    found = re.search(r"Can't unify return type from the following types: (.*)", text)
    if found:
        return (
            f"its branches return different types: {found[1]}",
            "return the same types from every branch: 0.0, not 0, where the other is a float.",
        )
    found = re.search(r"Cannot unify (.*) and (.*) for '(\w+)(?:\.\d+)?'", text)
    if found:
        return (
            f"`{found[3]}` is {found[1]} in one branch and {found[2]} in another",
            "give it one type: 0.0, not 0, where the other is a float.",
        )
    found = re.search(r"Unknown attribute '(\w+)' of type (.*)", text)
    if found and label in found[2]:
        return (
            f"compiled code cannot use self.{found[1]}",
            "make it a number, a flat tuple of numbers or an array; text and nested tuples are turned into arrays in `prepare`.",
        )
    if found:
        return f"{found[2]} has no attribute {found[1]!r}", "use only the fields of NamedTuples and what math and numpy offer."
    found = re.search(r"(?:NameError: name|Untyped global name|global name) '(\w+)'(.*)", text)
    if found:
        return (
            f"uses `{found[1]}`, which is not defined or cannot be compiled{found[2].rstrip('.')}",
            "define it above, or use numbers, tuples, arrays and plain functions.",
        )
    found = re.search(r"Variable '(\w+)' referenced before assignment", text)
    if found:
        return f"`{found[1]}` may be used before it has a value", "give it a value on every path."
    found = re.search(r">>> ([^\n]*)", text)
    if found:
        return f"cannot be compiled: no {found[1].strip()}", "use operations on numbers, tuples and arrays that compiled code has."
    skip = ("Failed in nopython", "During:", "File ", "^", "<source elided>", "- Resolution", "There are", ">>>")
    telling = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(skip)]
    return (
        f"cannot be compiled: {telling[0] if telling else 'numba refused it'}",
        "write it with numbers, tuples, loops, math and plain functions.",
    )
