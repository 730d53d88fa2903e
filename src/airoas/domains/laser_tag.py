"""LaserTag (Somani et al., 2013): catch an opponent among obstacles by eight noisy laser ranges; no position is seen."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.domains.grid import Cell, State, classic_flight, cumulative, flight, pursuit, tables
from airoas.errors import OptionError
from airoas.modelling.decorator import model
from airoas.rng import Rng, stream

WIDTH, HEIGHT = 11, 7
NOISE = 2.5  # standard deviation of a range, in cells
GUIDE = 64  # equal parts of the unit interval for each of which a table holds the least reading: no search from 0
MAP_1 = ((3, 1), (6, 4), (10, 4), (10, 5), (2, 6), (6, 6), (1, 7), (5, 7))
MAP_2 = ((5, 7), (2, 6), (4, 3), (3, 2), (4, 2), (8, 2), (10, 2), (4, 1))
BEAMS = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1))
RANGES = (*(float(c) for c in range(1, WIDTH + 1)), *(math.sqrt(2.0) * c for c in range(1, HEIGHT + 1)))
"""Every true range that a beam can have: along an axis, then along a diagonal."""
_FLOOR = tuple((x, y) for y in range(1, HEIGHT + 1) for x in range(1, WIDTH + 1))


class Readings(NamedTuple):
    north: int
    east: int
    south: int
    west: int
    north_east: int
    south_east: int
    south_west: int
    north_west: int


def random_obstacles(seed: int) -> tuple[Cell, ...]:
    """Eight different cells of the floor, uniformly; the free ones need not all be connected."""
    rng, cells = stream(seed, "laser-tag map"), list(_FLOOR)
    return tuple(cells.pop(rng.integer(len(cells))) for _ in range(8))


def beam_ranges(cells: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """[robot, opponent, beam]: which of RANGES lies between the robot and the first thing in the beam's way.

    Diagonal beams pass between touching corners.
    """
    n = len(cells)
    result = np.empty((n, n, len(BEAMS)), np.int64)
    free = {(x, y) for x, y in zip(*np.nonzero(floor >= 0), strict=True)}
    for r, (x, y) in enumerate(cells):
        for b, (dx, dy) in enumerate(BEAMS):
            first = WIDTH if dx and dy else 0
            count = 1
            while (x + count * dx, y + count * dy) in free:
                count += 1
            result[r, :, b] = first + count - 1
            for nearer in range(1, count):
                result[r, floor[x + nearer * dx, y + nearer * dy], b] = first + nearer - 1
    return result


def reading_mass() -> np.ndarray:
    """[range, reading]: the probability of max(0, floor(d - |e|)), e normal: noise only shortens."""

    def beyond(x: float) -> float:
        return math.erfc(x / (NOISE * math.sqrt(2.0)))

    mass = np.zeros((len(RANGES), WIDTH))
    for i, d in enumerate(RANGES):
        for z in range(math.ceil(d)):
            mass[i, z] = beyond(d - min(d, z + 1.0)) - (beyond(d - z) if z else 0.0)
    return mass


@model
@pursuit
class LaserTag(NamedTuple):
    """+10 for tagging the opponent in its cell, -10 for tagging elsewhere, -1 for a move.

    Actions, steps, enumeration and pictures are those of every pursuit: `airoas.domains.grid`.
    """

    obstacles: np.ndarray | tuple[Cell, ...] = MAP_1
    """Cells (x, y), x = 1..11 eastwards, y = 1..7 northwards."""
    julia_prior: bool = False
    """Start anywhere on the floor, even inside an obstacle, as LaserTag.jl does; else on free cells only."""
    swapped_bins: bool = False
    """The bins of the AdaOPS scripts, whose cut points for x and y are exchanged: x of 7 and more share one."""
    discount: float = 0.95

    def prepare(self) -> dict[str, Any]:
        obstacles = _checked(self.obstacles)
        free = [cell for cell in _FLOOR if cell not in obstacles]
        floor_tables = tables(free, obstacles if self.julia_prior else (), (1, 1), (WIDTH, HEIGHT))
        cells, mass = floor_tables["cells"], reading_mass()
        with np.errstate(divide="ignore"):
            log_mass = np.log(mass)
        total = cumulative(mass)
        shared = np.minimum(cells[:, 0], HEIGHT) * WIDTH + np.minimum(cells[:, 1], WIDTH)
        return {
            **floor_tables,
            **flight(classic_flight(cells, floor_tables["neighbour"])),
            "beams": beam_ranges(cells, floor_tables["floor"]),
            "reading_log_mass": log_mass,
            "reading_cumulative": total,
            "reading_guide": (total[:, None, :] <= np.arange(GUIDE)[None, :, None] / GUIDE).sum(2),
            "bins": shared if self.swapped_bins else np.arange(len(cells)),
        }

    def reading(self: Any, s: State, beam: int, rng: Rng) -> int:
        """A draw of what one beam shows."""
        i = self.beams[s.robot, s.opponent, beam]
        u = rng.uniform()
        z = int(self.reading_guide[i, int(u * GUIDE)])
        while u >= self.reading_cumulative[i, z]:
            z += 1
        return z

    def reading_logpdf(self: Any, z: int, s: State, beam: int) -> float:
        """Log mass of what one beam shows."""
        if z < 0 or z >= WIDTH:
            return -math.inf
        return float(self.reading_log_mass[self.beams[s.robot, s.opponent, beam], z])

    def observe(self: Any, s: State, a: int, rng: Rng) -> Readings:
        if s.robot == s.opponent:
            return Readings(-1, -1, -1, -1, -1, -1, -1, -1)
        return Readings(
            self.reading(s, 0, rng),
            self.reading(s, 1, rng),
            self.reading(s, 2, rng),
            self.reading(s, 3, rng),
            self.reading(s, 4, rng),
            self.reading(s, 5, rng),
            self.reading(s, 6, rng),
            self.reading(s, 7, rng),
        )

    def obs_logpdf(self: Any, o: Readings, s: State, a: int) -> float:
        if s.robot == s.opponent:
            for z in o:
                if z != -1:
                    return -math.inf
            return 0.0
        total = 0.0
        for beam in range(8):
            total += self.reading_logpdf(o[beam], s, beam)
        return total

    def cell(self: Any, s: State) -> int:
        return int(self.bins[s.opponent])

    def limits(self) -> dict[str, tuple[int, int]]:
        return {"observation": (-1, WIDTH - 1)}

    def describe(self: Any) -> tuple[int, int, str]:
        """Differs: the paper prints 4830 states, 69 robot cells by 69 opponent cells and "tagged"."""
        return self.n_cells * self.n_cells + 1, 5, "~1.5e6"


def _checked(obstacles: Any) -> list[Cell]:
    rows = np.asarray(obstacles)
    rows = rows.reshape(-1, 2) if rows.size == 0 else rows
    allowed = f"give (x, y) pairs of integers with x = 1..{WIDTH} and y = 1..{HEIGHT}, each once."
    if rows.ndim != 2 or rows.shape[1] != 2 or (rows.size and not np.all(rows == np.floor(rows))):
        raise OptionError(f"LaserTag(obstacles=...) is an array of shape {rows.shape}, not pairs of integers", allowed)
    cells = [(int(x), int(y)) for x, y in rows]
    for index, cell in enumerate(cells):
        if cell not in _FLOOR:
            raise OptionError(f"LaserTag: the obstacle {cell} is outside the floor", allowed)
        if cell in cells[:index]:
            raise OptionError(f"LaserTag: the obstacle {cell} is there twice", allowed)
    if len(cells) == len(_FLOOR):
        raise OptionError("LaserTag: obstacles cover the whole floor", f"leave one of its {len(_FLOOR)} cells free.")
    return cells


def standard(number: int) -> LaserTag:
    """The first or second fixed map."""
    maps = {1: MAP_1, 2: MAP_2}
    if number not in maps:
        raise OptionError(f"there is no standard LaserTag {number}", "use 1 or 2, or random_map(seed).")
    return LaserTag(maps[number])


def random_map(seed: int) -> LaserTag:
    """A LaserTag with eight random obstacles."""
    return LaserTag(random_obstacles(seed))
