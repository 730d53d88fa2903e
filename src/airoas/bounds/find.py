"""`find_bounds`: which bounds a model gets, by name or the best that it allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.bounds import part
from airoas.bounds.enumeration import can_enumerate, enumerate_model, observation_chances
from airoas.bounds.part import ILLEGAL, Bounds, Part, join
from airoas.bounds.values import blind_values, fib_q_values, mdp_q_values
from airoas.errors import OptionError
from airoas.structure import suggest

NAMED: dict[str, tuple[Any, Any]] = {
    "paper-light-dark": (-11.0, 11.0),
    "paper-tag": (-20.0, 0.0),
    "paper-rock-sample": ("value_bounds", "value_bounds"),
}
"""The paper's settings. Tag and LaserTag have values up to 10, so their upper bound is none. RockSample's `value_bounds` are
the fixed action east and the value of the fully observable problem."""
LOWER = ("auto", "blind", "fixed:ACTION", "plans", "value_bounds")
UPPER = ("auto", "mdp", "qmdp", "fib", "value_bounds")

Spec = str | tuple[float | str, float | str]
_found: dict[tuple[str, str], Bounds] = {}


def find_bounds(model: Any, spec: Spec = "auto", progress: Callable[[str], None] | None = None) -> Bounds:
    """The bounds that `spec` names: "auto", one of `NAMED`, or a pair (lower, upper) of numbers and names."""
    if not model.n_actions:
        problem = f"{type(model).__name__} has continuous actions, which the planners with bounds do not choose from"
        raise OptionError(problem, "give it `actions`, a finite choice of them, or use a planner for continuous actions: POMCPOW.")
    pair = _pair(spec)
    key = (model.content, repr(pair))
    if key not in _found:
        lower, upper = _lower(model, pair[0]), _upper(model, pair[1])
        _found[key] = join(lower, upper, model.n_actions)
    return _found[key]


def _pair(spec: Any) -> tuple[Any, Any]:
    if spec == "auto":
        return "auto", "auto"
    if isinstance(spec, str):
        if spec not in NAMED:
            known = ("auto", *NAMED)
            raise OptionError(f"there are no bounds {spec!r}", f"{suggest(spec, known)}Use {', '.join(known)}, or a pair (lower, upper).")
        return NAMED[spec]
    if not isinstance(spec, (tuple, list)) or len(spec) != 2:
        raise OptionError(f"bounds={spec!r} is no pair", 'give (lower, upper), ("blind", "qmdp") or (-20, 10) say, or "auto".')
    lower, upper = (_side(side, known, which) for side, known, which in zip(spec, (LOWER, UPPER), ("lower", "upper"), strict=True))
    if not isinstance(lower, str) and not isinstance(upper, str) and lower > upper:
        raise OptionError(f"the lower bound {lower:g} is above the upper one, {upper:g}", "give (lower, upper).")
    return lower, upper


def _side(side: Any, known: tuple[str, ...], which: str) -> Any:
    if isinstance(side, (int, float, np.integer, np.floating)) and not isinstance(side, bool):
        if math.isfinite(side):
            return float(side)
    elif side in known or (isinstance(side, str) and side.startswith("fixed:") and which == "lower"):
        return side
    remedy = f"{suggest(side, known) if isinstance(side, str) else ''}Use a number or one of {', '.join(known)}."
    raise OptionError(f"there is no {which} bound {side!r}", remedy)


def _lower(model: Any, side: Any) -> Part:
    if side == "auto":
        side = "plans" if model.has("plan_values") else "blind" if can_enumerate(model) else "value_bounds"
    if not isinstance(side, str):
        return Part(f"{side:g}", part.number, part.Number(value=side), 1, (-1,))
    if side == "plans":
        _wants(model, side, "plan_values")
        first = tuple(int(model.plan_action(k, 0)) for k in range(int(model.n_plans())))
        return Part(side, part.plan_values, part.Nothing(), len(first), first)
    if side == "value_bounds":
        _wants(model, side, "value_bounds")
        return Part(side, part.value_bounds_lower, part.Nothing(), 1, (-1,))
    return _repeated(model, side)


def _repeated(model: Any, side: str) -> Part:
    """Each action for ever, or one that is named."""
    table = enumerate_model(model)
    if side == "blind":
        always = [a for a in range(model.n_actions) if table.legal[:, a].all()]
        if not always:
            worst = min(0.0, float(table.rewards.min())) / (1.0 - model.discount)
            return Part(f"{worst:g}", part.number, part.Number(value=worst), 1, (-1,), table.exact)
    else:
        always = [_action(model, side.removeprefix("fixed:"))]
    values = blind_values(model, always, table=table)
    kept = _undominated(values)
    data = part.Table(values=np.ascontiguousarray(values[:, kept]))
    return Part(side, part.table_row, data, len(kept), tuple(always[k] for k in kept), table.exact)


def _undominated(values: np.ndarray) -> list[int]:
    """The columns of [S, k] that no other one matches everywhere: the rest never decide a maximum."""
    kept = list(range(values.shape[1]))
    for k in range(values.shape[1]):
        if any((values[:, j] >= values[:, k] - 1e-9).all() for j in kept if j != k):
            kept.remove(k)
    return kept


def _upper(model: Any, side: Any) -> Part:
    if not isinstance(side, str):
        return Part(f"{side:g}", part.number, part.Number(value=side), 1)
    if side == "auto" and not model.has("action_bounds") and not can_enumerate(model):
        side = "value_bounds"
    if side == "value_bounds":
        _wants(model, side, "value_bounds")
        return Part(side, part.value_bounds_upper, part.Nothing(), 1)
    if side in ("auto", "qmdp") and model.has("action_bounds"):
        return Part("qmdp", part.action_bounds, part.Nothing(), model.n_actions)
    table = enumerate_model(model)
    if side == "auto":  # with certain successors an observation tells nothing that was not known: both are the same
        informed = table.successors.shape[2] > 1 and observation_chances(model, table) is not None
        side = "fib" if informed else "qmdp"
    q = fib_q_values(model, table=table) if side == "fib" else mdp_q_values(model, table=table)
    q = q.max(axis=1, keepdims=True) if side == "mdp" else np.maximum(q, ILLEGAL)
    return Part(side, part.table_row, part.Table(values=q), q.shape[1], (), table.exact)


def _wants(model: Any, side: str, hook: str) -> None:
    if not model.has(hook):
        raise OptionError(f'{type(model).__name__} has no `{hook}`, which the bound "{side}" takes', f'write `{hook}`, or choose "auto".')


def _action(model: Any, name: str) -> int:
    """The index of an action by its name or its number."""
    if name in model.action_names:
        return int(model.action_names.index(name))
    if name.isdecimal() and int(name) < model.n_actions:
        return int(name)
    remedy = f"{suggest(name, model.action_names)}Its actions are {', '.join(model.action_names)}."
    raise OptionError(f"{type(model).__name__} has no action {name!r}", remedy)
