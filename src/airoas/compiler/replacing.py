"""`s._replace(x=...)` of a NamedTuple in methods: the same tuple with other fields, each converted as its constructor does."""

from __future__ import annotations

import functools
from typing import Any

from numba import types
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr
from numba.extending import overload, register_model

from airoas.compiler import fingerprint
from airoas.compiler.arrays import COERCIONS, coerced
from airoas.compiler.specialise import define, no_field, unique_name


@functools.cache
def _replacer(record: type) -> Any:
    """A function of a tuple and new fields, for compiled code. What is not given keeps its value."""
    hints = fingerprint.field_hints(record)
    fields: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    given = ", ".join(("_s", *(f"{field}=None" for field in fields)))  # no field begins with an underscore

    def chosen(kinds: tuple[Any, ...]) -> Any:
        is_kept = {field: kind is None or isinstance(kind, types.Omitted) for field, kind in zip(fields, kinds, strict=True)}
        values = ", ".join(f"_s.{field}" if kept else coerced(hints.get(field), field) for field, kept in is_kept.items())
        build = define(f"def build({given}):\n    return _record({values})\n", "build", _record=record, **COERCIONS)
        build.__name__ = build.__qualname__ = unique_name(build)
        return build

    stub = define(f"def replace({given}):\n    raise NotImplementedError\n", "replace")
    overload(stub)(define(f"def choose({given}):\n    return chosen(({', '.join(fields)},))\n", "choose", chosen=chosen))
    return stub


_functions: dict[Any, Any] = {}  # by record, numba's type of its replacer


class _Replace(AbstractTemplate):
    key = "airoas.replace"
    this: Any

    def generic(self, arguments: Any, keywords: Any) -> Any:
        record, fields = self.this.instance_class, self.this.fields
        unknown = [name for name in keywords if name not in fields]
        if arguments or unknown:
            problem, remedy = (
                no_field(record, unknown[0]) if unknown else ("`_replace` takes fields by name", "write `s._replace(x=1.0)`, say.")
            )
            raise TypingError(f"{problem}; {remedy}")
        if record not in _functions:
            replacer = _replacer(record)
            self.context.refresh()  # it is new
            _functions[record] = self.context.resolve_value_type(replacer)
        return _functions[record].get_call_type(self.context, (self.this,), keywords).as_method()


class _ReplaceType(types.BoundFunction):
    """A call goes straight to the replacer."""

    def get_impl_key(self, signature: Any) -> Any:
        return _functions[self.this.instance_class].get_impl_key(signature)


register_model(_ReplaceType)(lambda manager, kind: manager[kind.this])  # the tuple, kept while a condition among the values is worked out


@infer_getattr
class _Attributes(AttributeTemplate):
    key = types.BaseNamedTuple

    def resolve__replace(self, record: Any) -> Any:
        return _ReplaceType(_Replace, record)
