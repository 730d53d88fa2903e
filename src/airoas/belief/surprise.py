"""Whether a belief is lost: how unlikely what is seen is by what the belief itself predicted.

An observation has a rank among some that the belief predicts (`ranking.py`); where all is well every rank is equally likely. A small one
is evidence against the belief, by a factor that is 1 in expectation where all is well; the factors multiply up, and are never let fall
below 1 in all (Page, 1954). Then the mean time to a false alarm is at least 1 / (false-alarm rate) steps, with no assumption on the model
(Shin, Ramdas and Rinaldo, 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

RANKS = 64
"""The observation, and those drawn to compare it with."""
_EVIDENCE = [RANKS / rank / sum(1.0 / r for r in range(1, RANKS + 1)) for rank in range(1, RANKS + 1)]
"""The factor of each rank, the smallest first; their mean is 1."""
_CALM = 0.5
"""The surprise below which a belief that was lost is not so any more."""


class LostWarning(RuntimeWarning):
    """What is seen contradicts what the belief predicts."""


@dataclass(frozen=True)
class Surprise:
    """The evidence against a belief that has mounted up."""

    level: float = 0.0
    """0 where observations are as predicted, 1 where the belief is lost."""
    lost: bool = False
    """From level 1 on, until the level has fallen below a half."""

    def after(self, rank: int, false_alarms: float) -> Surprise:
        """With one more observation, of that rank; false_alarms: for each step, by chance."""
        level = min(1.0, max(0.0, self.level + math.log(_EVIDENCE[rank - 1]) / -math.log(false_alarms)))
        return Surprise(level, level >= 1.0 or (self.lost and level >= _CALM))
