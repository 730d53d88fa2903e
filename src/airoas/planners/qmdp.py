"""QMDP: act as if the state were seen from the next step on. Cheap, and blind to what an observation is worth."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles, _checked
from airoas.bounds import Bounds, find_bounds
from airoas.compiler.kernels import Kernel, kernel
from airoas.errors import OptionError
from airoas.planners.base import Decision, Stats, legal_actions, prepare
from airoas.rng import Rng, stream


@dataclass(frozen=True)
class QMDP:
    """The action of the largest mean Q(s, a) of the fully observable problem. For finite models, and those that give Q."""

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        try:
            self._bounds(model)
        except OptionError as error:
            return f"QMDP needs Q-values: {error}"
        return None

    def prepare(self, model: Any) -> None:
        """Compile and find Q now."""
        if model in _prepared:
            return
        belief = Particles(np.zeros((1, len(_checked(model).shapes.state.kinds))))
        bounds = self._bounds(model)
        prepare(model, belief)
        values = np.zeros(_width(model, bounds))
        _sums_by(bounds.evaluate).prepare(model, bounds.data, belief.states, belief.weights, values, np.zeros_like(values), stream(0))
        _prepared.add(model)

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        begun = time.perf_counter()
        is_new = model not in _prepared
        self.prepare(model)
        bounds = self._bounds(model)
        preparation = time.perf_counter() - begun if is_new else 0.0
        actions, alive = legal_actions(model, belief)
        if not alive:
            action = int(actions[rng.integer(len(actions))])
            return Decision(action, 0.0, stats=Stats("terminal", time.perf_counter() - begun - preparation))
        sums = np.zeros(_width(model, bounds))
        _sums_by(bounds.evaluate)(model, bounds.data, belief.states, belief.weights, np.zeros_like(sums), sums, rng)
        q = sums[len(bounds.first_actions) :][actions]
        best = np.flatnonzero(q == q.max())
        action = int(actions[best[rng.integer(len(best))]])
        notes = {"bounds": bounds.upper, "sound": bounds.sound}
        stats = Stats("done", time.perf_counter() - begun - preparation, preparation=preparation, notes=notes)
        return Decision(action, float(q.max()), upper=float(q.max()) if bounds.sound else float("nan"), stats=stats)

    def _bounds(self, model: Any) -> Bounds:
        return find_bounds(_checked(model), (0.0, "qmdp"))


_prepared: set[Any] = set()


def _width(model: Any, bounds: Bounds) -> int:
    return len(bounds.first_actions) + int(model.n_actions)


@functools.cache
def _sums_by(evaluate: Any) -> Kernel:
    def sum_values(model: Any, data: Any, states: Any, weights: Any, values: Any, sums: Any, rng: Any) -> None:
        """Weighted sums of the bounds' numbers over the live states."""
        for i in range(len(states)):
            s = model.read_state(states, i)
            if weights[i] > 0.0 and not model.is_terminal(s):
                evaluate(model, data, s, rng, values, 0)
                for j in range(len(sums)):
                    sums[j] += weights[i] * values[j]

    return kernel(sum_values)
