"""A model with a list of actions made of one whose actions are continuous: what learns values of states can then go through them."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from airoas.compiler import fingerprint
from airoas.compiler.specialise import define
from airoas.errors import OptionError
from airoas.modelling.decorator import model as make_model
from airoas.modelling.interface import HOOKS
from airoas.modelling.introspection import written_in
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.macros import own_macros
from airoas.modelling.rows import Rows
from airoas.modelling.spread import spread_actions

ACTIONS = 24
"""Actions, about."""
_DROPPED = ("action_space", "sample_action", "rollout_action", "legal", "macros")
_kinds: dict[type, type] = {}


def action_rows(model: KernelModel) -> Rows:
    """[A, k] every action of a list; or some all over a space, and those that the model's macro-actions begin with."""
    if model.n_actions:
        return np.arange(model.n_actions, dtype=np.float64)[:, None].copy()
    if model.space is None:
        problem = f"{type(model).__name__} has continuous actions and does not say which there are"
        raise OptionError(problem, "write `action_space`, with a Box or a Choice for each number of an action, or use POMCPOW.")
    rows: np.ndarray = np.concatenate([spread_actions(model, ACTIONS), *(macro[:1] for macro in own_macros(model))])
    return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def discretised(model: KernelModel, rows: Rows | None = None) -> KernelModel:
    """The same problem, in the same states, where only these actions [A, k] may be chosen; by default some all over its space."""
    if model.n_actions:
        raise OptionError(f"{type(model).__name__} has a list of actions", "use it as it is.")
    rows = action_rows(model) if rows is None else rows
    kind = type(model)
    if kind not in _kinds:
        _kinds[kind] = _discretised_class(model)
    return cast(KernelModel, cast(Any, _kinds[kind])(*cast(tuple[Any, ...], model), np.ascontiguousarray(rows, np.float64)))


def _discretised_class(model: KernelModel) -> type:
    kind, actions = cast(Any, type(model))._user_class, model.shapes.action
    assert actions is not None  # an index has no shape
    hints = fingerprint.field_hints(kind)
    fields = [(name, hints.get(name, Any)) for name in kind._fields]
    result: Any = NamedTuple(f"Discretised{kind.__name__}", [*fields, ("discrete_actions", np.ndarray)])  # type: ignore[misc]
    result.__module__ = kind.__module__
    methods: dict[str, Any] = {name: value for name, value in written_in(kind).items() if name not in _DROPPED}
    for name, value in (methods | {"actions": _names}).items():
        taken = HOOKS[name].parameters if name in HOOKS else ()
        setattr(result, name, _by_number(name, taken, value, actions.read()) if "a" in taken else value)
    return make_model(result)


def _by_number(name: str, parameters: tuple[str, ...], function: Any, read: Any) -> Any:
    """A method of the model that takes the number of an action."""
    given = ", ".join(parameters)
    passed = ", ".join("read(self, self.discrete_actions, a)" if parameter == "a" else parameter for parameter in parameters)
    source = f"def {name}(self, {given}):\n    return own(self, {passed})\n"
    return define(source, name, own=function, read=read)


def _names(self: Any) -> tuple[str, ...]:
    return tuple(f"({', '.join(f'{x:.3g}' for x in row)})" for row in self.discrete_actions)
