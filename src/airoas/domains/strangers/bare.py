"""Shipped domains as a newcomer would write them: the methods that every model needs, `is_terminal` and `legal`; no plans, no bounds,
no default policy, no moves, no list of states and no exact filter."""

from __future__ import annotations

from typing import Any

from airoas.domains import laser_tag, rock_sample
from airoas.domains.light_dark import LightDark
from airoas.domains.light_dark_2d import LightDark2D
from airoas.modelling.decorator import model as decorate
from airoas.modelling.interface import HOOKS, REQUIRED

KEPT = {"actions", *REQUIRED, "is_terminal", "legal", "prepare"}


def without_hints(model: Any) -> Any:
    """The same model, parameters and worlds, without the methods that help a planner or a filter."""
    written = vars(type(model)._user_class)
    kept = {name: value for name, value in written.items() if name not in HOOKS.keys() - KEPT and name != "__dict__"}
    return decorate(type(f"Bare{type(model).__name__}", (tuple,), kept))(*model)


def bare(name: str) -> Any:
    """A domain by its name, without its hints."""
    if name.startswith("light-dark-2d"):
        return without_hints(LightDark2D())
    if name.startswith("light-dark"):
        return without_hints(LightDark(step_size=float(name.rsplit("-", 1)[1])))
    return without_hints(laser_tag.standard(1) if name == "laser-tag" else rock_sample.standard(11, 11))
