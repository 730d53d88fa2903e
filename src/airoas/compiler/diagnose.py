"""The compiler's errors as one sentence, with the line of the user's own source and what to do."""

from __future__ import annotations

import ast
import linecache
import re
import types
from collections.abc import Mapping
from pathlib import Path

from numba.core.errors import NumbaError, UnsupportedBytecodeError

from airoas.compiler import fingerprint
from airoas.errors import CompileError

COMPILER_ERRORS = (NumbaError, UnsupportedBytecodeError)
"""What compilation raises; the second is no NumbaError."""

_PLAIN = {
    "unicode_type": "text",
    "unicode": "text",
    "boolean": "bool",
    "NoneType": "None",
    "none": "None",
    "airoas.Rng": "Rng",
}
_PACKAGE = Path(__file__).resolve().parents[1]


def plain_types(text: str) -> str:
    """The compiler's names of types as a user would write them: `UniTuple(float64 x 2)` is `(float, float)`."""
    text = re.sub(r"Literal\[(int|bool|str)\]\([^()]*\)", r"\1", text)
    text = re.sub(r"reflected list\((\w+)\)<\w+>", r"a list of \1", text)
    text = re.sub(r"\b(float|int)(?:16|32|64)\b", r"\1", text)
    text = re.sub(rf"(?<![\w.])({'|'.join(map(re.escape, _PLAIN))})(?![\w.])", lambda match: _PLAIN[match[0]], text)
    text = re.sub(r"(?:Array|array)\((\w+), \d(?:d)?, [^()]*\)", r"an array of \1", text)

    def items(kind: str, count: str) -> str:
        return ", ".join([kind] * int(count))

    text = re.sub(r"NamedUniTuple\((\w+) x (\d+), (\w+)\)", lambda match: f"{match[3]}({items(match[1], match[2])})", text)
    text = re.sub(r"NamedTuple\(([^()]*), (\w+)\)", r"\2(\1)", text)
    text = re.sub(r"UniTuple\((\w+) x (\d+)\)", lambda match: f"({items(match[1], match[2])}{',' * (match[2] == '1')})", text)
    return re.sub(r"\bTuple\(", "(", text)


Methods = Mapping[str, types.FunctionType]
"""The methods that users wrote in a class, by name."""


def explain(error: Exception, where: str, kind: type | None = None, methods: Methods | None = None) -> CompileError:
    """A compiler's error as one sentence with the line of the user's own source. Of a class's methods the innermost one is named."""
    whole = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # numba colours its text where it finds colorama
    text = re.sub(r"(\w+)_[0-9a-f]{16}\b", r"\1", re.sub(r"\x1b\[[0-9;]*m", "", str(error.args[0])) if error.args else whole)
    label = kind.__name__ if kind else "the model"
    text = re.sub(r"\w+<[0-9a-f]+>\[\w+\]\([^\n]*\)", label, text)
    innermost = _innermost(text, methods or {})
    method = f"{label}.{innermost}" if innermost else where.partition(" (")[0]
    where = _location(text, whole, method) or where
    return _different_returns(text, method) or CompileError(*_translate(plain_types(text), label), where=where)


def _innermost(text: str, methods: Methods) -> str:
    """The first of the methods that a line named by the compiler stands in: it names them from within."""
    ranges = {name: _lines_of(method) for name, method in methods.items()}
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', text):
        for name, (path, first, last) in ranges.items():
            if first <= int(line) <= last and Path(file).resolve() == path:
                return name
    return ""


def _lines_of(function: types.FunctionType) -> tuple[Path, int, int]:
    """The file of a function, its first line and its last."""
    code = function.__code__
    lines = [line for part in fingerprint.codes(code) for _, _, line in part.co_lines() if line]
    return Path(code.co_filename).resolve(), code.co_firstlineno, max(lines)


def _different_returns(text: str, method: str) -> CompileError | None:
    """Branches that return different types: each with its line, which the compiler lists in no certain order."""
    matches = re.findall(r"Return of: IR name '[^']*', type '([^\n]*)', location: \nFile \"([^\"]+)\", line (\d+):", text)
    returns = sorted((int(line), plain_types(kind), file) for kind, file, line in matches if is_theirs(file))
    if not returns:
        return None
    told = " and ".join(f"{kind} in line {line}" for line, kind, _ in returns)
    remedy = "return the same types from every branch: 0.0, not 0, where the other is a float."
    line, _, file = returns[-1]
    return CompileError(f"returns {told}", remedy, where=f"{method} ({Path(file).resolve()}, line {line})")


def _location(text: str, whole: str, method: str) -> str:
    """`method (file, line n: code)` of the innermost line of the user's that the compiler names; nothing where it names none."""
    for file, line, excerpt in re.findall(r'File "([^"]+)", line (\d+):\n((?:(?! *File ").*\n)*?)\s*\^', text + "\n"):
        if is_theirs(file):
            rows = [row.strip() for row in excerpt.splitlines() if row.strip()]
            return f"{method} ({Path(file).resolve()}, line {line}{f': `{rows[-1]}`' if rows else ''})"
    match = re.search(r"Raised from (\S.*) \((\d+)\)", whole) or re.search(r"at (\S.*) \((\d+)\)", text)
    return f"{method} ({Path(match[1]).resolve()}, line {match[2]})" if match and is_theirs(match[1]) else ""


def is_theirs(file: str) -> bool:
    """Whether this is a user's file (or a domain's), and none of the library's own."""
    path = Path(file).resolve()
    ours = _PACKAGE in path.parents and _PACKAGE / "domains" not in path.parents
    return file != "<airoas>" and not ours and "numba" not in path.parts


_WITHOUT = "write it with numbers, tuples, loops, `math` and plain functions."
_INSTEAD = "give it as a number, a flat tuple or an array: a field, or what `prepare` returns."

_OPCODES = {
    "DICT_MERGE": "`**` in a call",
    "IMPORT_NAME": "an `import` inside a method",
    "BEFORE_WITH": "a `with` statement",
    "SETUP_WITH": "a `with` statement",
    "LOAD_BUILD_CLASS": "a class inside a method",
    "STORE_GLOBAL": "an assignment to a global",
    "STORE_ATTR": "an assignment to an attribute",
    "YIELD_VALUE": "`yield`",
}


def _translate(text: str, label: str) -> tuple[str, str]:
    """What a compiler's error says and what to do about it."""
    if "yield in a closure" in text:
        return "a generator expression cannot be compiled", f"write a loop{_as_list(text)}."
    for pattern, problem, remedy in _SENTENCES:
        match = re.search(pattern, text)
        if match:
            parts = [part or "" for part in match.groups()]
            return problem.format(*parts, label=label), remedy.format(*parts, label=label)
    match = re.search(r"Unknown attribute '(\w+)' of type (.*)", text)
    if match:
        return _attribute(match[1], match[2].strip(), label)
    match = re.search(r"unsupported opcode \((\w+)\)", text)
    if match:
        return f"{_OPCODES.get(match[1], f'a construct ({match[1]})')} cannot be compiled", _WITHOUT
    match = re.search(r">>> ([^\n]*)", text)
    if match:
        return f"`{match[1].strip()}` cannot be compiled", _WITHOUT
    skip = ("Failed in nopython", "During:", "File ", "^", "<source elided>", "- Resolution", "There are", ">>>", "[1]", "Internal error")
    telling = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(skip)]
    return f"cannot be compiled: {telling[0].rstrip('.') if telling else 'the compiler refused it'}", _WITHOUT


_OF_LISTS = ("all", "any", "len", "max", "min", "sum")
"""Functions of Python's whose argument may be a list in compiled code."""


def _as_list(text: str) -> str:
    """How to write with a list the first generator expression from the line on that the compiler names; nothing where that cannot be."""
    match = re.search(r'File "([^"]+)", line (\d+)', text)
    try:
        nodes = list(ast.walk(ast.parse("".join(linecache.getlines(str(Path(match[1]).resolve()))) if match else "")))
    except SyntaxError:
        nodes = []
    generators = [node for node in nodes if isinstance(node, ast.GeneratorExp) and match and (node.end_lineno or 0) >= int(match[2])]
    first = min(generators, key=lambda node: (node.lineno, node.col_offset), default=None)
    call = next((node for node in nodes if isinstance(node, ast.Call) and first in node.args[:1]), None)
    if first is None or call is None or not isinstance(call.func, ast.Name) or call.func.id not in _OF_LISTS:
        return ""
    written = ast.unparse(ast.Call(call.func, [ast.ListComp(first.elt, first.generators), *call.args[1:]], call.keywords))
    return f", or a list: `{written if len(written) <= _SHORT else f'{call.func.id}([... for ...])'}`"


_SHORT = 60
"""Characters of code in a remedy."""


def _attribute(name: str, owner: str, label: str) -> tuple[str, str]:
    module = re.match(r"Module\(<module '([\w.]+)'", owner)
    if module:
        return f"`{module[1]}.{name}` cannot be compiled", "use other functions of `math`, or write a plain function."
    if owner == label:
        remedy = "compiled methods see numbers, flat tuples of numbers and arrays: turn it into one in `prepare`."
        return f"`self.{name}` is neither a number, a flat tuple of numbers nor an array", remedy
    return f"`.{name}` of {owner} cannot be compiled", "use the fields of NamedTuples, and functions of `math`."


_SENTENCES = (
    (
        r"'(view)' can only be called on NumPy dtypes",
        "a field named `{0}` cannot be compiled, for the compiler has an attribute of that name",
        "give the field another name.",
    ),
    (
        r"setitem\(((?:Vector|Flags)\[[\d, ]+\])",
        "changes a {0}, which is a value",
        "write `x = x.with_(i, value)`, or `x = x.copy()` first.",
    ),
    (
        r"a value of type ([^\n]*) stands where ((?:Vector|Flags)\[[\d, ]+\]) belongs",
        "a value of type {0} stands where {1} belongs",
        "give it one number for all, or as many as it has elements.",
    ),
    (
        r"a value of type ([^\n]*) stands where (a float|an int|True or False) belongs",
        "a value of type {0} stands where {1} belongs",
        "convert it, with int(...) say, or annotate the field otherwise.",
    ),
    (r"((?:Vector|Flags)\[[\d, ]+\]) takes other indices; write (\[[ij, ]+\])", "{0} takes other indices", "write {1}."),
    (
        r"(?:add|sub|mul|truediv|sum)\([^\n]*((?:Vector|Flags)\[[\d, ]+\])",
        "computes with a whole {0}",
        "go through its elements in a loop, or take `x.copy()`, which is numpy's.",
    ),
    (
        r"Can't unify return type from the following types: (.*)",
        "its branches return different types: {0}",
        "return the same types from every branch: 0.0, not 0, where the other is a float.",
    ),
    (
        r"Cannot unify (.*) and (.*) for '([A-Za-z]\w*)(?:\.\d+)*'",
        "`{2}` is {0} in one branch and {1} in another",
        "give it one type: 0.0, not 0, where the other is a float, and tuples of one length.",
    ),
    (
        r"Cannot unify (.*) and (.*) for '\$",
        "a value is {0} in one branch and {1} in another",
        "give it one type: 0.0, not 0, where the other is a float, and tuples of one length.",
    ),
    (
        r"exception_match\(\w+, (?:type\(CLASS\()?(\w+)",
        "compiled code cannot catch {0} alone",
        "test for the cause beforehand, or write `except Exception:`.",
    ),
    (
        r">>> getitem\((\w+)\(.*\), int\)",
        "indexes {0}, a NamedTuple of unlike parts, by a variable",
        "index a NamedTuple of unlike parts by name, or keep them in a Vector.",
    ),
    (
        r">>> getitem\(\(.*\), int\)",
        "indexes a tuple of unlike parts by a variable",
        "index a tuple of unlike parts by a number that stands there, or make them alike: 0.0, not 0, where the others are floats.",
    ),
    (
        r"Invalid use of BoundFunction\((\w+\.\w+) for .*\) with parameters \((.*)\)",
        "`{0}` cannot take a value of type {1} here",
        "keep values of one type in a list; a flat tuple is faster.",
    ),
    (r"(\w+ has no field `\w+`|`_replace` takes fields by name); ([^\n]*)", "{0}", "{1}"),
    (r"format spec in f-strings", "an f-string with a format cannot be compiled", "keep text out of the methods; states are numbers."),
    (
        r"Untyped global name '(\w+)':.*Cannot determine Numba type of <class '(?:[\w.]*\.)?(\w+)'>",
        "uses `{0}`, a {1}, which compiled code cannot hold",
        _INSTEAD,
    ),
    (
        r"assigned to variable '(\w+)' in globals",
        "uses `{0}`, a list, which compiled code cannot hold",
        "make it a tuple of numbers, or an array of numpy's; or give it as a field, or from `prepare`.",
    ),
    (r"(?:NameError: name|[Gg]lobal name) '(\w+)'", "uses `{0}`, which is not defined or cannot be compiled", _INSTEAD),
    (r"Variable '(\w+)' referenced before assignment", "`{0}` may be used before it has a value", "give it a value on every path."),
    (r"Cannot modify readonly array", "writes to an array of the model, which is read-only", "return what changes as part of the state."),
    (
        r"can't assign to attribute|Cannot resolve setattr",
        "assigns to an attribute",
        "a model does not change: return what changes as part of the state.",
    ),
    (r"[Uu]nsupported.*?(?:recursion|recursive)|cannot type infer runaway recursion", "its recursion cannot be compiled", "write a loop."),
)
