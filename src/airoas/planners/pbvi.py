"""PBVI (Pineau, Gordon and Thrun, 2003): point-based value iteration beforehand, no search. At a
belief, the first action of the plan that is worth most there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import _checked
from airoas.bounds.find import find_plans
from airoas.bounds.finite.point_based import write_out
from airoas.compiler.kernels import kernel
from airoas.errors import OptionError
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Matrix, Reals, Rows, Weights
from airoas.planners.base import Decision, PreparedPlanner, Start
from airoas.rng import Rng


@dataclass(frozen=True)
class PBVI(PreparedPlanner):
    """The best of many plans that were worked out beforehand. For finite models with few observations."""

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        try:
            write_out(_checked(model))
        except OptionError as error:
            return f"PBVI needs a small finite model: {error}"
        return None

    def prepare(self, model: Any) -> None:
        """Compile and find the plans now."""
        if model in _plans:
            return
        result = find_plans(_checked(model))
        rows, reals = np.zeros((1, model.shapes.state.size)), np.zeros(1)
        batch(model).inspect(rows, np.zeros(1, np.bool_), np.zeros(1, np.bool_))
        _sum_values.prepare(model, result["values"], rows, reals, np.zeros(len(result["first"])))
        while len(_plans) >= _KEPT:
            _plans.pop(next(iter(_plans)))
        _plans[model] = result

    def find(self, model: KernelModel) -> tuple[dict[str, np.ndarray], bool]:
        is_new = model not in _plans
        self.prepare(model)
        return _plans[model], is_new

    def decide(self, model: KernelModel, prepared: dict[str, np.ndarray], start: Start, rng: Rng) -> Decision:
        actions, values = np.flatnonzero(start.allowed), np.zeros(len(prepared["first"]))
        _sum_values(model, prepared["values"], start.states, start.weights, values)
        values[~np.isin(prepared["first"], (*actions, -1))] = -np.inf
        value = float(values.max())
        first = int(prepared["first"][values.argmax()])
        action = first if first >= 0 else int(actions[rng.integer(len(actions))])
        sound = bool(prepared["exact"])
        return Decision(action, value, lower=value if sound else float("nan"), stats=start.done(plans=len(values), sound=sound))


_plans: dict[Any, dict[str, np.ndarray]] = {}
_KEPT = 8  # models


@kernel
def _sum_values(model: KernelModel, values: Matrix, states: Rows, weights: Weights, sums: Reals) -> None:
    """The value of each plan at a belief: weighted sums over its live states."""
    for i in range(len(states)):
        if weights[i] > 0.0:
            row = values[model.index(model.read_state(states, i))]
            for k in range(len(sums)):
                sums[k] += weights[i] * row[k]
