"""Tables as TOML, which the standard library only reads."""

from __future__ import annotations

import json
import re
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_toml(table: dict[str, Any], path: tuple[str, ...] = ()) -> str:
    """The text that `tomllib.loads` reads as the same table; plain values come before the tables within."""
    plain = {key: value for key, value in table.items() if not isinstance(value, dict)}
    lines = [f"{_key(key)} = {_value(value)}\n" for key, value in plain.items()]
    for key, value in table.items():
        if isinstance(value, dict):
            inner = (*path, key)
            lines.append(f"[{'.'.join(map(_key, inner))}]\n{write_toml(value, inner)}")
    return "".join(lines)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {_value(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _text(text: str) -> str:
    """As JSON writes it, but for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
