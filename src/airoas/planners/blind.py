"""One action for ever: what is to be had without looking, and a yardstick beside random actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import _checked
from airoas.errors import OptionError, suggest
from airoas.modelling.batch import batch
from airoas.modelling.gate import gate_of
from airoas.modelling.kernel_model import KernelModel
from airoas.options import check_types
from airoas.planners.base import Decision, PreparedPlanner, Start
from airoas.rng import Rng


@dataclass(frozen=True)
class Blind(PreparedPlanner):
    """One action, whatever is seen: a blind policy (Hauskrecht, 2000). Where it is not legal, a legal one by chance."""

    action: int | str = 0
    """Its name or its index; of a space of actions its numbers as text, "0.5, 1"."""

    def __post_init__(self) -> None:
        check_types(self)

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        try:
            self._chosen(_checked(model))
        except OptionError as error:
            return str(error)
        return None

    def prepare(self, model: Any) -> None:
        """Compile for this model ahead of the first decision."""
        self.find(_checked(model))

    def find(self, model: KernelModel) -> tuple[Any, bool]:
        is_new = "inspect" not in vars(batch(model))
        _ = batch(model).inspect
        return self._chosen(model), is_new

    def decide(self, model: KernelModel, prepared: Any, start: Start, rng: Rng) -> Decision:
        if model.n_actions == 0 or start.allowed[prepared]:
            return Decision(prepared, float("nan"), stats=start.done())
        actions = np.flatnonzero(start.allowed)
        return Decision(int(actions[rng.integer(len(actions))]), float("nan"), stats=start.done(illegal=True))

    def _chosen(self, model: KernelModel) -> Any:
        """The action of the model that `action` names."""
        name, text = type(model).__name__, str(self.action)
        if model.n_actions == 0:
            gate = gate_of(model, "action")
            try:
                numbers = [float(part) for part in text.split(",")]
            except ValueError:
                raise OptionError(f"action {text!r} is none of {name}'s", "give its numbers, separated by commas.") from None
            chosen = gate.value(numbers)
            gate.row(chosen)  # refuses what is not in the space
            return chosen
        names = model.action_names
        if text in names:
            return names.index(text)
        if text.isdecimal() and int(text) < model.n_actions:
            return int(text)
        remedy = f"{suggest(text, names)}Give its name or its index: 0 .. {model.n_actions - 1} of {', '.join(names[:MOST_NAMES])}"
        raise OptionError(f"action {text!r} is none of {name}'s", f"{remedy}{' and so on' * (len(names) > MOST_NAMES)}.")


MOST_NAMES = 20
"""Actions that a message names."""
