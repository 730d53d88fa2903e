"""Tag (Pineau, Gordon and Thrun, 2003): catch an opponent that flees in a T-shaped room and is seen only from the same cell."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from airoas.domains.grid import State, classic_flight, flight, modified_flight, pursuit, tables
from airoas.errors import OptionError
from airoas.modelling.decorator import model
from airoas.rng import Rng

CELLS = tuple((x, 4 - row) for row in range(5) for x in (range(5, 8) if row < 3 else range(10)))
"""The 29 free cells as (x, y), numbered row by row from the north."""
SAME = len(CELLS)
"""The observation in the opponent's cell; any other is the number of the robot's cell."""
OPPONENTS = ("classic", "modified")


class Seen(NamedTuple):
    cell: int


@model
@pursuit
class Tag(NamedTuple):
    """+10 for tagging the opponent in its cell, -10 for tagging elsewhere, -1 for a move.

    Actions, steps, enumeration and pictures are those of every pursuit: `airoas.domains.grid`.
    """

    opponent: str = "classic"
    """"classic" (Pineau et al., DESPOT): a blocked flight stays. "modified" (TagPOMDPProblem.jl): it flees along paths."""
    flee: float = 0.8
    """How likely the modified opponent flees when it can."""
    discount: float = 0.95

    def prepare(self) -> dict[str, Any]:
        if self.opponent not in OPPONENTS:
            raise OptionError(f"Tag(opponent={self.opponent!r})", f"opponent is one of {', '.join(OPPONENTS)}.")
        if not 0.0 <= self.flee <= 1.0:
            raise OptionError(f"Tag(flee={self.flee})", "flee is a probability, from 0 to 1.")
        floor_tables = tables(CELLS, (), (0, 0), (10, 5))
        near = floor_tables["neighbour"]
        probability = classic_flight(floor_tables["cells"], near) if self.opponent == "classic" else modified_flight(near, self.flee)
        return floor_tables | flight(probability)

    def observe(self, s: State, a: int, rng: Rng) -> Seen:
        return Seen(SAME if s.robot == s.opponent else s.robot)

    def obs_logpdf(self, o: Seen, s: State, a: int) -> float:
        return 0.0 if o.cell == (SAME if s.robot == s.opponent else s.robot) else -math.inf

    def cell(self, s: State) -> int:
        return s.opponent

    def limits(self) -> dict[str, tuple[int, int]]:
        return {"observation": (0, SAME)}

    def describe(self) -> tuple[int, int, int]:
        """Differs: the paper prints 870 states, 29 robot cells by 29 opponent cells and "tagged"."""
        return len(CELLS) * len(CELLS) + 1, 5, len(CELLS) + 1
