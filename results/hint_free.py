"""The domains as a newcomer would write them: the methods that every model needs, `is_terminal` and `legal`; no plans, no bounds, no
default policy, no moves, no list of states and no exact filter. For results/referee.toml."""

from __future__ import annotations

from typing import Any

import airoas
from airoas.domains import LightDark, LightDark2D, laser_tag, rock_sample
from airoas.modelling.interface import HOOKS, REQUIRED

KEPT = {"actions", *REQUIRED, "is_terminal", "legal", "prepare"}


def without_hints(model: Any) -> Any:
    """The same model, parameters and worlds, without the methods that help a planner or a filter."""
    written = vars(type(model)._user_class)
    kept = {name: value for name, value in written.items() if name not in HOOKS.keys() - KEPT and name != "__dict__"}
    return airoas.model(type(f"Bare{type(model).__name__}", (tuple,), kept))(*model)


light_dark_1 = without_hints(LightDark(step_size=1.0))
light_dark_05 = without_hints(LightDark(step_size=0.5))
light_dark_2d = without_hints(LightDark2D())
laser_tag_1 = without_hints(laser_tag.standard(1))
rock_sample_11_11 = without_hints(rock_sample.standard(11, 11))
