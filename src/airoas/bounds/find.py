"""`find_bounds`: which bounds a model gets, by name or the best that it allows."""

from __future__ import annotations

import functools
import logging
import math
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.belief.distinct import is_whole
from airoas.bounds import sides
from airoas.bounds.finite import point_based
from airoas.bounds.finite.enumeration import Enumeration, can_enumerate, enumerate_model, observation_probabilities
from airoas.bounds.finite.values import blind_values, checked_discount, fib_q_values, mdp_q_values
from airoas.bounds.learned import fitted, reached, simulated
from airoas.bounds.learned.grid import Grid, interpolation, shape_of
from airoas.bounds.sides import ILLEGAL, Bounds, Side, join
from airoas.bounds.store import kept, learned
from airoas.compiler.kernels import current_mode
from airoas.errors import OptionError, suggest
from airoas.modelling.discretised import discretised
from airoas.modelling.kernel_model import KernelModel

log = logging.getLogger(__name__)
NAMED: dict[str, tuple[Any, Any]] = {
    "paper-light-dark": (-11.0, 11.0),
    "paper-tag": (-20.0, 0.0),
    "paper-rock-sample": ("value_bounds", "value_bounds"),
}
"""The paper's settings. Tag and LaserTag have values up to 10: an upper bound of 0 is none. RockSample's `value_bounds` are the
fixed action east and the value of the fully observable problem."""
LOWER = {
    "auto": "the best that the model allows",
    "plans": "its own plans (`plan_values`)",
    "pbvi": "plans that look (point-based value iteration), finite models with few observations",
    "blind": "each action for ever, finite models",
    "fixed:ACTION": "one action for ever, finite models",
    "value_bounds": "its own bound",
    "heuristic": "its own `heuristic`, an estimate",
    "rollout": "mean return of `rollout_action`, an estimate",
    "grid": "plans on a grid, an estimate",
    "simulated": "returns of plans, learned from simulation, an estimate",
}
UPPER = {
    "auto": "the best that the model allows",
    "fib": "fast informed bound, finite models with few observations",
    "qmdp": "Q of the fully observable problem: its own (`action_bounds`), or finite models",
    "mdp": "value of the fully observable problem, finite models",
    "value_bounds": "its own bound",
    "heuristic": "its own `heuristic` and a little more, an estimate",
    "rollout": "mean return of `rollout_action` and a little more, an estimate",
    "reached": "Q on the states that simulation reaches, where these are whole numbers, an estimate",
    "grid": "Q on a grid, an estimate",
    "simulated": "value of the fully observable problem, learned from simulation, an estimate",
    "fitted": "the same from random walks alone, not raised to what following it earns, an estimate",
}
_QUIET = 2.0  # seconds
_MOST_CACHED = 32  # kept in memory
_LOOKED_AT = 2000  # states
OPTIMISM = 3.0
"""Standard deviations of an estimate, over states, by which values may be better than it says."""

Spec = str | tuple[float | str, float | str]
_cached: dict[tuple[str, str, str], Bounds] = {}


def find_bounds(model: Any, spec: Spec = "auto", progress: Callable[[str], None] | None = None) -> Bounds:
    """The bounds that `spec` names: "auto", one of `NAMED`, or a pair of a number or name of `LOWER` and one of `UPPER`.

    "auto" takes, on each side, what is proved before what is estimated: a model's own plans and action bounds; for finite
    models point-based value iteration and the fast informed bound (where there are many observations, repeated actions and
    QMDP); `value_bounds`; then a grid for up to three continuous components; then simulation. `progress` is called with what is
    being done.
    """
    model = model if model.n_actions else discretised(model)
    pair = bounds_named(spec)
    key = (model.fingerprint, repr(pair), current_mode())
    if key not in _cached:
        finder = _Finder(model, progress or (lambda doing: None))
        timer = threading.Timer(_QUIET, log.warning, ("working out the bounds of %s, once for this model", type(model).__name__))
        if progress is None and sys.stderr.isatty():  # for whoever waits
            timer.start()
        try:
            while len(_cached) >= _MOST_CACHED:
                _cached.pop(next(iter(_cached)))
            _cached[key] = join(finder.lower(pair[0]), finder.upper(pair[1]), model.n_actions)
        finally:
            timer.cancel()
    return _cached[key]


def find_plans(model: KernelModel, progress: Callable[[str], None] | None = None) -> dict[str, np.ndarray]:
    """What `airoas.bounds.finite.point_based.solve` finds for the model, from disk where it was found before."""
    return _Finder(model, progress or (lambda doing: None)).plans


def bounds_named(spec: Any) -> tuple[Any, Any]:
    """The lower and the upper one, each a number or a name."""
    if isinstance(spec, str):
        known: dict[str, tuple[Any, Any]] = {"auto": ("auto", "auto"), **NAMED}
        if spec not in known:
            raise OptionError(f"there are no bounds {spec!r}", f"{suggest(spec, known)}Use {', '.join(known)}, or a pair (lower, upper).")
        return known[spec]
    if not isinstance(spec, (tuple, list)) or len(spec) != 2:
        raise OptionError(f"bounds={spec!r} is no pair", 'give (lower, upper), ("blind", "qmdp") or (-20, 10) say, or "auto".')
    lower, upper = _side(spec[0], LOWER, "lower"), _side(spec[1], UPPER, "upper")
    if not isinstance(lower, str) and not isinstance(upper, str) and lower > upper:
        raise OptionError(f"the lower bound {lower:g} is above the upper one, {upper:g}", "give (lower, upper).")
    return lower, upper


def _side(side: Any, known: dict[str, str], which: str) -> Any:
    if isinstance(side, (int, float, np.integer, np.floating)) and not isinstance(side, bool) and math.isfinite(side):
        return float(side)
    if isinstance(side, str) and (side in known or (which == "lower" and side.startswith("fixed:"))):
        return side
    remedy = f"{suggest(side, known) if isinstance(side, str) else ''}Use a finite number or one of {', '.join(known)}."
    raise OptionError(f"there is no {which} bound {side!r}", remedy)


class _Finder:
    """Makes the two sides; what both need is made once."""

    def __init__(self, model: KernelModel, progress: Callable[[str], None]) -> None:
        self.model, self.progress = model, progress

    def lower(self, side: Any) -> Side:
        model = self.model
        if not isinstance(side, str):
            return Side(f"{side:g}", sides.number(side), 1, (-1,))
        if side == "auto":
            side = "plans" if model.has("plan_values") else side if can_enumerate(model) else self._own_or_estimated()
        if side == "plans":
            self._wants("plan_values", side)
            first = tuple(int(model.plan_action(k, 0)) for k in range(int(model.n_plans())))
            return Side(side, sides.bind(sides.plan_values, model), len(first), first)
        if side == "value_bounds":
            self._wants(side, side)
            return Side(side, sides.bind(sides.value_bounds_lower, model), 1, (-1,))
        if side == "heuristic":
            self._wants(side, side)
            return Side(side, sides.bind(sides.heuristic, model), 1, (-1,), sound=False)
        if side == "rollout":
            checked_discount(model)
            return simulated.rollouts(model, learned(model, side, lambda: simulated.estimate_rollouts(model)))
        if side in ("grid", "simulated"):
            return self._plans_estimated(side)
        arrays = kept(model, f"{side} below", lambda: self._followed(side))
        first = tuple(int(a) for a in arrays["first"])
        return Side(str(arrays["name"]), sides.table(model, arrays["values"]), len(first), first, bool(arrays["exact"]))

    def upper(self, side: Any) -> Side:
        model = self.model
        if not isinstance(side, str):
            return Side(f"{side:g}", sides.number(side), 1)
        if side == "auto" and not model.has("action_bounds") and not can_enumerate(model):
            side = self._own_or_estimated()
            side = "reached" if side not in ("value_bounds", "heuristic") and self._reached else side
        if side == "value_bounds":
            self._wants(side, side)
            return Side(side, sides.bind(sides.value_bounds_upper, model), 1)
        if side in ("heuristic", "rollout"):
            return self._raised(self.lower(side))
        if side in ("grid", "reached", "simulated", "fitted"):
            return self._values_estimated(side)
        if side in ("auto", "qmdp") and model.has("action_bounds"):
            return Side("qmdp", sides.bind(sides.action_bounds, model), model.n_actions)
        arrays = kept(model, f"{side} above", lambda: self._observable(side))
        values = arrays["values"]
        return Side(str(arrays["name"]), sides.table(model, values), values.shape[1], (), bool(arrays["exact"]))

    def _wants(self, hook: str, side: str) -> None:
        if not self.model.has(hook):
            problem = f'{type(self.model).__name__} has no `{hook}`, which the bound "{side}" takes'
            raise OptionError(problem, f'write `{hook}`, or choose "auto".')

    @functools.cached_property
    def _table(self) -> Enumeration:
        self.progress("enumerating states")
        return enumerate_model(self.model)

    @functools.cached_property
    def plans(self) -> dict[str, np.ndarray]:
        """Of point-based value iteration."""

        def solve() -> dict[str, np.ndarray]:
            repeated = self._repeated(None)
            return point_based.solve(self.model, self._table, repeated["values"], repeated["first"], self.progress)

        return kept(self.model, "pbvi", solve)

    def _followed(self, side: str) -> dict[str, np.ndarray]:
        """Plans of a finite model: a few of point-based value iteration, or repeated actions."""
        if side == "auto":
            side = "pbvi" if point_based.is_quick(self.model, self._table) else "blind"
        if side == "pbvi":
            result = self.plans
            return {"values": result["few"], "first": result["few_first"], "exact": result["exact"], "name": np.array(side)}
        action = None if side == "blind" else _action(self.model, side.removeprefix("fixed:"))
        return {**self._repeated(action), "name": np.array(side)}

    def _repeated(self, action: int | None) -> dict[str, np.ndarray]:
        """Each action for ever that is legal everywhere, or one; without any, the worst that can happen."""
        table = self._table
        actions = [a for a in range(self.model.n_actions) if table.legal[:, a].all()] if action is None else [action]
        if not actions:
            worst = min(0.0, float(table.rewards.min())) / (1.0 - self.model.discount)
            return {"values": np.full((len(table.terminal), 1), worst), "first": np.array([-1]), "exact": np.array(table.exact)}
        self.progress("values of repeated actions")
        values = blind_values(self.model, actions, table=table)
        best = _undominated(values)
        first = np.array([actions[k] for k in best])
        return {"values": np.ascontiguousarray(values[:, best]), "first": first, "exact": np.array(table.exact)}

    def _observable(self, side: str) -> dict[str, np.ndarray]:
        model, table = self.model, self._table
        if side == "auto":  # with certain successors an observation shows nothing new: both bounds are the same
            informed = table.successors.shape[2] > 1 and observation_probabilities(model, table) is not None
            side = "fib" if informed else "qmdp"
        self.progress("fast informed bound" if side == "fib" else "values of the fully observable problem")
        q = fib_q_values(model, table=table) if side == "fib" else mdp_q_values(model, table=table)
        q = q.max(axis=1, keepdims=True) if side == "mdp" else np.maximum(q, ILLEGAL)
        return {"values": q, "exact": np.array(table.exact), "name": np.array(side)}

    def _own_or_estimated(self) -> str:
        if self.model.has("value_bounds"):
            return "value_bounds"
        if self.model.has("heuristic"):
            return "heuristic"
        return "grid" if self._grid is not None else "simulated"

    def _raised(self, estimate: Side) -> Side:
        """An estimate of values as an upper bound: so much higher as it differs where random actions lead."""
        states = simulated.sample(self.model, _LOOKED_AT)
        values = np.zeros((len(states), 1))
        estimate.evaluate(states, np.ones(len(states), np.bool_), values, 0)
        by = (OPTIMISM * float(np.std(values)) if len(states) else 0.0) or 1.0
        return Side(f"{estimate.name} + {by:.3g}", estimate.evaluate, 1, sound=False, raised_by=by)

    @functools.cached_property
    def _grid(self) -> tuple[Grid, np.ndarray] | None:
        self.progress("looking where random actions lead")
        checked_discount(self.model)
        return shape_of(self.model)

    def _plans_estimated(self, side: str) -> Side:
        if side == "simulated":
            return self._simulated[0]
        grid, arrays = self._on_grid("plans", fitted.estimate_plans)
        first = tuple(int(a) for a in arrays["first"])
        return Side("grid plans", interpolation(grid, arrays["plans"]), len(first), first, sound=False)

    def _values_estimated(self, side: str) -> Side:
        if side == "simulated":
            return self._simulated[1]
        if side == "fitted":
            checked_discount(self.model)
            return simulated.values(learned(self.model, side, lambda: simulated.estimate_values(self.model)))
        if side == "reached":
            if not self._reached:
                problem = f"the states of {type(self.model).__name__} are not whole numbers, or too many"
                raise OptionError(problem, 'choose "grid", "simulated", or write `value_bounds`.')
            return Side("reached qmdp", reached.lookup(self._reached), self.model.n_actions, sound=False)
        grid, arrays = self._on_grid("values", fitted.estimate_values)
        return Side("grid qmdp", interpolation(grid, arrays["q"]), self.model.n_actions, sound=False)

    @functools.cached_property
    def _simulated(self) -> tuple[Side, Side]:
        checked_discount(self.model)
        return simulated.parts(self.model, learned(self.model, "simulated", lambda: simulated.estimate(self.model, self.progress)))

    def _on_grid(self, what: str, estimate: Callable[..., dict[str, np.ndarray]]) -> tuple[Grid, dict[str, np.ndarray]]:
        model = self.model
        if self._grid is None:
            problem = f"the states of {type(model).__name__} are too many, or of too many components, for a grid"
            raise OptionError(problem, 'choose "simulated", or write `value_bounds`.')
        grid, visited = self._grid
        return grid, learned(model, f"grid {what}", lambda: estimate(model, grid, visited, self.progress))

    @functools.cached_property
    def _reached(self) -> dict[str, np.ndarray]:
        """Values on the states that simulation reaches; nothing where they are not whole numbers, or too many."""
        if not is_whole(self.model):
            return {}
        checked_discount(self.model)
        return learned(self.model, "reached", lambda: reached.estimate(self.model, self.progress))


def _undominated(values: np.ndarray) -> list[int]:
    """The columns of [S, k] that no other one is above somewhere and below nowhere: the rest never decide a maximum.

    Equal ones stay, each for its own first action.
    """

    def is_above(j: int, k: int) -> bool:
        gap = values[:, j] - values[:, k]
        return bool(gap.min() >= -1e-9 and gap.max() > 1e-9)

    plans = range(values.shape[1])
    return [k for k in plans if not any(is_above(j, k) for j in plans)]


def _action(model: KernelModel, name: str) -> int:
    """The index of an action by its name or its number."""
    if name in model.action_names:
        return int(model.action_names.index(name))
    if name.isdecimal() and int(name) < model.n_actions:
        return int(name)
    remedy = f"{suggest(name, model.action_names)}Its actions are {', '.join(model.action_names)}."
    raise OptionError(f"{type(model).__name__} has no action {name!r}", remedy)
