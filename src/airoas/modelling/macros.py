"""Macro-actions that a model offers: `macros` returns sequences of its actions."""

from __future__ import annotations

import numpy as np

from airoas.errors import ModelError, OptionError
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel

LONGEST = 16
"""Actions of a macro-action."""


def own_macros(model: KernelModel) -> list[np.ndarray]:
    """[L, k] each, the actions of the model's macro-actions; none where it has no `macros`."""
    if not model.has("macros"):
        return []
    where, given = location(model, "macros"), model.macros()
    if not isinstance(given, (tuple, list)) or not given or not all(isinstance(macro, (tuple, list)) and macro for macro in given):
        raise ModelError(f"returns {given!r}", "return sequences of actions, ((0, 0, 0), (1, 1)) say.", where=where)
    longest = max(map(len, given))
    if longest > LONGEST:
        raise ModelError(f"returns a sequence of {longest} actions", f"return no more than {LONGEST}: more can follow.", where=where)
    try:
        return [np.concatenate([model.row("action", action) for action in macro]) for macro in given]
    except OptionError as error:
        raise ModelError(f"returns a sequence with what is no action: {error.problem}", error.remedy, where=where) from None
