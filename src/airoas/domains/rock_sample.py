"""RockSample (Smith and Simmons, 2004): a rover on a grid collects good rocks, whose quality it can only sense from afar, and leaves
eastwards.

Cells are 0-based (x, y) with x eastwards and y northwards; the quality of rock i is bit i of one integer.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.errors import BeliefError, OptionError
from airoas.modelling.decorator import model
from airoas.rng import Rng, stream

NORTH, EAST, SOUTH, WEST, SAMPLE, CHECK = 0, 1, 2, 3, 4, 5
BAD, GOOD, NONE = 0, 1, 2
MOST_ROCKS = 20
Cell = tuple[int, int]

MAPS: dict[tuple[int, int], tuple[Cell, tuple[Cell, ...]]] = {
    (4, 4): ((0, 2), ((3, 1), (2, 1), (1, 3), (1, 0))),
    (5, 5): ((0, 2), ((2, 4), (0, 4), (3, 3), (2, 2), (4, 1))),
    (5, 7): ((0, 2), ((1, 0), (2, 1), (1, 2), (2, 2), (4, 2), (0, 3), (3, 4))),
    (7, 8): ((0, 3), ((2, 0), (0, 1), (3, 1), (6, 3), (2, 4), (3, 4), (5, 5), (1, 6))),
    (11, 11): ((0, 5), ((0, 3), (0, 7), (1, 8), (2, 4), (3, 3), (3, 8), (4, 3), (5, 8), (6, 1), (9, 3), (9, 9))),
    (15, 15): (
        (0, 7),
        ((0, 4), (0, 8), (1, 10), (3, 5), (4, 4), (4, 10), (5, 3), (7, 10), (7, 1), (14, 5), (11, 12), (12, 2), (2, 6), (6, 14), (9, 11)),
    ),
}
"""(size, number of rocks): (start, cells of the rocks) of the instances in the literature."""


class State(NamedTuple):
    x: int
    y: int
    rocks: int
    """Bit i: rock i is good."""
    exited: int


class Seen(NamedTuple):
    code: int
    """BAD or GOOD after a check, NONE after anything else."""


@model
class RockSample(NamedTuple):
    """A good rock pays 10 and turns bad, a bad one costs 10, leaving the grid eastwards pays 10 and ends it. Checking a
    rock is free and right with probability (1 + 2^(-distance / half_distance)) / 2. Rocks start good with probability 1/2."""

    size: int
    rocks: tuple[Cell, ...]
    start: Cell = (0, 0)
    penalty: float = 0.0
    """Reward of a move against an edge and of sampling where there is no rock."""
    everything_legal: bool = False
    """Whether sampling may be chosen where there is no rock."""
    discount: float = 0.95
    half_distance: float = 20.0

    def prepare(self) -> dict[str, Any]:
        _validate(self)
        n, k = self.size, len(self.rocks)
        rock_x, rock_y = np.array(self.rocks, dtype=np.int64).T
        rock_at = np.full((n, n), -1, dtype=np.int64)
        rock_at[rock_x, rock_y] = np.arange(k)
        x, y = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
        distance = np.sqrt((x[:, :, None] - rock_x) ** 2 + (y[:, :, None] - rock_y) ** 2)
        accuracy = 0.5 * (1.0 + np.exp2(-distance / self.half_distance))
        with np.errstate(divide="ignore"):
            log_wrong = np.log(1.0 - accuracy)
        powers = self.discount ** np.arange(2 * n)
        return {
            "start_x": int(self.start[0]),
            "start_y": int(self.start[1]),
            "n_rocks": k,
            "rock_x": rock_x,
            "rock_y": rock_y,
            "rock_at": rock_at,
            "accuracy": accuracy,
            "log_right": np.log(accuracy),
            "log_wrong": log_wrong,
            "powers": powers,
            "value_at_rock": _values_at_rocks(n, rock_x, rock_y, powers),
        }

    def actions(self) -> tuple[str, ...]:
        return ("north", "east", "south", "west", "sample", *(f"check-{i}" for i in range(len(self.rocks))))

    def initial(self: Any, rng: Rng) -> State:
        return State(self.start_x, self.start_y, rng.integer(1 << self.n_rocks), 0)

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        return _arrive(self, s, a)

    def observe(self: Any, s: State, a: int, rng: Rng) -> Seen:
        if a < CHECK:
            return Seen(NONE)
        quality = s.rocks >> (a - CHECK) & 1
        return Seen(quality if rng.uniform() < self.accuracy[s.x, s.y, a - CHECK] else 1 - quality)

    def obs_logpdf(self: Any, o: Seen, s: State, a: int) -> float:
        if a < CHECK:
            return 0.0 if o.code == NONE else -math.inf
        if o.code == NONE:
            return -math.inf
        if o.code == s.rocks >> (a - CHECK) & 1:
            return self.log_right[s.x, s.y, a - CHECK]  # type: ignore[no-any-return]
        return self.log_wrong[s.x, s.y, a - CHECK]  # type: ignore[no-any-return]

    def is_terminal(self, s: State) -> bool:
        return s.exited > 0

    def legal(self: Any, s: State, a: int) -> bool:
        return a != SAMPLE or self.everything_legal or self.rock_at[s.x, s.y] >= 0

    def rollout_action(self: Any, s: State, rng: Rng) -> int:
        """Sample a good rock where the rover stands on one, else east. It knows the rocks, so its return is no lower
        bound for a belief; that of `value_bounds` is."""
        rock = self.rock_at[s.x, s.y]
        return SAMPLE if rock >= 0 and s.rocks >> rock & 1 else EAST

    def value_bounds(self: Any, s: State) -> tuple[float, float]:
        """The value of going straight east, and that of the best tour through the good rocks once all are known."""
        lower = 10.0 * self.powers[self.size - 1 - s.x]
        upper = lower
        for i in range(self.n_rocks):
            if s.rocks >> i & 1:
                away = abs(s.x - self.rock_x[i]) + abs(s.y - self.rock_y[i])
                upper = max(upper, self.powers[away] * (10.0 + self.discount * self.value_at_rock[s.rocks ^ (1 << i), i]))
        return lower, upper

    def n_plans(self) -> int:
        return 1

    def plan_action(self, k: int, t: int) -> int:
        """Straight east: every other plan that looks at nothing is a gamble on the rocks."""
        return EAST

    def plan_values(self: Any, s: State, out: Any, at: int) -> None:
        out[at] = 10.0 * self.powers[self.size - 1 - s.x]

    def action_bounds(self: Any, s: State, out: Any, at: int) -> None:
        """The values of the actions once all rocks are known: the reward, then the best tour (`value_bounds`) from there.

        One pass over the good rocks serves the four cells around and this one, where every check leaves the rover.
        """
        north, east, south, west = min(s.y + 1, self.size - 1), min(s.x + 1, self.size - 1), max(s.y - 1, 0), max(s.x - 1, 0)
        stay = up = down = 10.0 * self.powers[self.size - 1 - s.x]  # leave at once
        right, left = 10.0 * self.powers[self.size - 1 - east], 10.0 * self.powers[self.size - 1 - west]
        for i in range(self.n_rocks):
            if s.rocks >> i & 1:
                pays = 10.0 + self.discount * self.value_at_rock[s.rocks ^ (1 << i), i]
                dx, dy = abs(s.x - self.rock_x[i]), abs(s.y - self.rock_y[i])
                stay = max(stay, self.powers[dx + dy] * pays)
                up = max(up, self.powers[dx + abs(north - self.rock_y[i])] * pays)
                down = max(down, self.powers[dx + abs(south - self.rock_y[i])] * pays)
                right = max(right, self.powers[abs(east - self.rock_x[i]) + dy] * pays)
                left = max(left, self.powers[abs(west - self.rock_x[i]) + dy] * pays)
        gamma = self.discount
        out[at + NORTH] = gamma * up + (self.penalty if north == s.y else 0.0)
        out[at + EAST] = 10.0 if east == s.x else gamma * right
        out[at + SOUTH] = gamma * down + (self.penalty if south == s.y else 0.0)
        out[at + WEST] = gamma * left + (self.penalty if west == s.x else 0.0)
        rock = self.rock_at[s.x, s.y]
        if rock < 0:
            out[at + SAMPLE] = gamma * stay + self.penalty
        elif s.rocks >> rock & 1:
            out[at + SAMPLE] = 10.0 + gamma * self.value_at_rock[s.rocks ^ (1 << rock), rock]
        else:
            out[at + SAMPLE] = gamma * stay - 10.0
        for a in range(CHECK, CHECK + self.n_rocks):
            out[at + a] = gamma * stay

    def step_logpdf(self, s2: State, s: State, a: int) -> float:
        """Log mass of the transition, which is certain: 0 or -inf."""
        sure, _ = _arrive(self, s, a)
        same = s2.x == sure.x and s2.y == sure.y and s2.rocks == sure.rocks and s2.exited == sure.exited
        return 0.0 if same else -math.inf

    def mutate(self, s: State, o: Seen, a: int, rng: Rng) -> State:
        """The checked rock turned over: its own inverse, hence symmetric."""
        return s if a < CHECK else State(s.x, s.y, s.rocks ^ (1 << (a - CHECK)), s.exited)

    def mutate_literal(self, s: State, o: Seen, a: int, rng: Rng) -> State:
        """The checked rock turned over with probability 1/2: an observation is no state here."""
        return s if a < CHECK or rng.integer(2) == 0 else State(s.x, s.y, s.rocks ^ (1 << (a - CHECK)), s.exited)

    # No `move`: given its parent a particle can be in one state only, so pi_beta is a point and nothing else keeps it.

    def exact_initial(self: Any) -> tuple[np.ndarray, np.ndarray]:
        """Every combination of rocks at the start, [2^k, 4], equally likely."""
        count = 1 << self.n_rocks
        states = np.zeros((count, 4))
        states[:, 0], states[:, 1], states[:, 2] = self.start_x, self.start_y, np.arange(count)
        return states, np.full(count, 1.0 / count)

    def exact_update(self: Any, states: np.ndarray, log_weights: np.ndarray, a: int, o: Seen) -> tuple[np.ndarray, np.ndarray]:
        """The posterior over what is still possible: transitions are certain, so each state moves as it does in `step`
        and gains its log likelihood. States that a sample made equal are joined, impossible ones dropped."""
        going_on = (states[:, 3] == 0.0) & (log_weights > -np.inf)
        if not going_on.any():
            raise BeliefError("every state of the belief has left the grid", "start a new episode: nothing happens after the exit.")
        x, y, rocks, exited = states[going_on].astype(np.int64).T
        logs = log_weights[going_on]
        if a == SAMPLE:
            rock = self.rock_at[x, y]
            rocks = np.where(rock >= 0, rocks & ~(1 << np.maximum(rock, 0)), rocks)
        elif a < CHECK:
            exited = ((a == EAST) & (x == self.size - 1)).astype(np.int64)
            x = np.clip(x + (a == EAST) - (a == WEST), 0, self.size - 1)
            y = np.clip(y + (a == NORTH) - (a == SOUTH), 0, self.size - 1)
        if a >= CHECK and o[0] != NONE:
            right = (rocks >> (a - CHECK) & 1) == o[0]
            logs = logs + np.where(right, self.log_right[x, y, a - CHECK], self.log_wrong[x, y, a - CHECK])
        possible = (logs > -np.inf) & ((a >= CHECK) == (o[0] != NONE))
        if not possible.any():
            seen = ("bad", "good", "none")[o[0]] if o[0] in (BAD, GOOD, NONE) else o[0]
            remedy = "a check gives bad or good, anything else none, and at no distance a check is never wrong."
            raise BeliefError(f"no state of the belief allows the observation {seen} after {self.action_names[a]}", remedy)
        states, logs = np.column_stack((x, y, rocks, exited)).astype(np.float64)[possible], logs[possible]
        if a == SAMPLE:
            # One number for each state: unique rows would take ten times as long.
            keys = (states[:, 0] * self.size + states[:, 1]).astype(np.int64) << self.n_rocks | states[:, 2].astype(np.int64)
            _, first, group = np.unique(keys, return_index=True, return_inverse=True)
            joined = np.full(len(first), -np.inf)
            np.logaddexp.at(joined, group, logs)
            states, logs = states[first], joined
        return states, logs - logs.max() - math.log(np.exp(logs - logs.max()).sum())

    def limits(self: Any) -> dict[str, Any]:
        last = self.size - 1
        return {"state": ((0, 0, 0, 0), (last, last, (1 << self.n_rocks) - 1, 1)), "observation": (BAD, NONE)}

    def describe(self) -> tuple[int, int, int]:
        return self.size * self.size << len(self.rocks), 5 + len(self.rocks), 3

    def draw(self: Any, axis: Any, s: State | None, belief: Any) -> None:
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.patches import Rectangle

        n = self.size
        axis.set(xlim=(-0.5, n + 0.25), ylim=(-0.5, n - 0.5), aspect="equal", xlabel="x (east)", ylabel="y (north)")
        axis.set_xticks(range(0, n, 1 + n // 12))
        axis.set_yticks(range(0, n, 1 + n // 12))
        for edge in range(n + 1):
            axis.plot((edge - 0.5, edge - 0.5), (-0.5, n - 0.5), color="#D8D8D8", linewidth=0.8, zorder=0)
            axis.plot((-0.5, n - 0.5), (edge - 0.5, edge - 0.5), color="#D8D8D8", linewidth=0.8, zorder=0)
        axis.add_patch(Rectangle((n - 0.5, -0.5), 0.75, n, facecolor="#BFE5D6", edgecolor="#009E73", hatch="//", label="exit"))
        area = (150.0 / n) ** 2
        unit = 0.5 * area
        if belief is not None:
            colours = LinearSegmentedColormap.from_list("quality", ["#E69F00", "#F7F7F7", "#56B4E9"])
            dots = axis.scatter(
                self.rock_x, self.rock_y, s=area, c=_good(self, belief), cmap=colours, vmin=0.0, vmax=1.0, edgecolors="#404040", zorder=1
            )
            axis.figure.colorbar(dots, cax=axis.inset_axes((1.03, 0.0, 0.04, 1.0)), label="probability that a rock is good")
        else:
            axis.scatter(self.rock_x, self.rock_y, s=area, c="#F7F7F7", edgecolors="#404040", zorder=1)
        for i in range(self.n_rocks):
            axis.annotate(str(i), (self.rock_x[i] - 0.47, self.rock_y[i] + 0.45), ha="left", va="top", fontsize=7, color="#404040")
        if s is not None:
            good = np.array([int(s[2]) >> i & 1 for i in range(self.n_rocks)], dtype=bool)
            for marker, chosen, name in (("+", good, "truly good"), ("_", ~good, "truly bad")):
                axis.scatter(
                    self.rock_x[chosen], self.rock_y[chosen], s=0.6 * unit, c="black", marker=marker, linewidths=1.5, zorder=2, label=name
                )
        where = s if s is not None else belief.states[np.argmax(belief.weights)] if belief is not None else None
        if where is not None:
            axis.scatter(
                [where[0] + bool(where[3])],
                [where[1]],
                s=max(unit, 110.0),
                c="#D55E00",
                marker=">",
                edgecolors="white",
                zorder=3,
                label="rover",
            )
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4, frameon=False, markerscale=min(1.0, n / 12))

    def text(self: Any, s: State | None, belief: Any) -> str:
        """The map with a rock as its number (+ good, - bad where the truth is known), and a table of the rocks."""
        where = s if s is not None else belief.states[np.argmax(belief.weights)] if belief is not None else None
        good = _good(self, belief) if belief is not None else None
        lines = []
        for y in range(self.size - 1, -1, -1):
            row = ""
            for x in range(self.size):
                rock = int(self.rock_at[x, y])
                quality = "" if s is None or rock < 0 else "+" if int(s[2]) >> rock & 1 else "-"
                rover = "@" if where is not None and not where[3] and (x, y) == (where[0], where[1]) else ""
                row += f"{rover + (f'{rock}{quality}' if rock >= 0 else '' if rover else '.'):>5}"
            lines.append(f"{row}  |")
        lines.append("@ rover, a number is a rock" + (" (+ good, - bad)" if s is not None else "") + ", | exit")
        for i in range(self.n_rocks):
            bar = "" if good is None else f"  P(good) {good[i]:.3f} |{'#' * round(20 * good[i]):<20}|"
            truth = "" if s is None else f"  {'good' if int(s[2]) >> i & 1 else 'bad'}"
            lines.append(f"rock {i:2d} at ({self.rock_x[i]}, {self.rock_y[i]}){bar}{truth}")
        if where is not None and where[3]:
            lines.append("the rover has left")
        return "\n".join(lines)


def standard(size: int, k: int, despot: bool = False) -> RockSample:
    """The fixed instance of the literature with the start in the middle of the west side. `despot`: its rules of
    penalties, -100 for a move against an edge and for sampling no rock, which is then never illegal."""
    if (size, k) not in MAPS:
        known = ", ".join(f"({n}, {rocks})" for n, rocks in MAPS)
        raise OptionError(f"there is no standard RockSample({size}, {k})", f"use one of {known}, or random_map({size}, {k}, seed).")
    start, rocks = MAPS[size, k]
    return RockSample(size, rocks, start, penalty=-100.0 if despot else 0.0, everything_legal=despot)


def random_map(size: int, k: int, seed: int) -> RockSample:
    """k rocks in distinct cells, uniformly over the whole grid, and a start in the south-west corner."""
    if size < 1 or not 1 <= k <= min(MOST_ROCKS, size * size):
        raise OptionError(
            f"no random map of size {size} with {k} rocks",
            f"give a size of 1 or more and 1 to {min(MOST_ROCKS, max(1, size * size))} rocks.",
        )
    rng = stream(seed, "rock-sample", size, k)
    cells = list(range(size * size))
    for i in range(k):
        j = i + rng.integer(len(cells) - i)
        cells[i], cells[j] = cells[j], cells[i]
    return RockSample(size, tuple((cell % size, cell // size) for cell in cells[:k]))


def _arrive(model: Any, s: State, a: int) -> tuple[State, float]:
    """The certain successor and its reward."""
    if a >= CHECK:
        return s, 0.0
    if a == SAMPLE:
        rock = model.rock_at[s.x, s.y]
        if rock < 0:
            return s, model.penalty
        if s.rocks >> rock & 1:
            return State(s.x, s.y, s.rocks ^ (1 << rock), 0), 10.0
        return s, -10.0
    x = s.x + int(a == EAST) - int(a == WEST)
    y = s.y + int(a == NORTH) - int(a == SOUTH)
    if x == model.size:
        return State(s.x, s.y, s.rocks, 1), 10.0
    if x < 0 or y < 0 or y == model.size:
        return s, model.penalty
    return State(x, y, s.rocks, 0), 0.0


def _values_at_rocks(n: int, rock_x: np.ndarray, rock_y: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """The fully observable value of standing on rock r while the rocks in the set G are good, [2^k, k].

    V(p, G) is the best of leaving, 10 gamma^(moves east - 1), and of going to a good rock q next,
    gamma^|p - q| (10 + gamma V(q, G without q)); sets are filled by increasing number of good rocks.
    """
    k = len(rock_x)
    gamma = powers[1]
    leave = 10.0 * powers[n - 1 - rock_x]
    travel = powers[abs(rock_x[:, None] - rock_x) + abs(rock_y[:, None] - rock_y)]
    values = np.tile(leave, (1 << k, 1))
    sets = np.arange(1 << k)
    count = sum(sets >> i & 1 for i in range(k))
    for g in range(1, k + 1):
        level = sets[count == g]
        for q in range(k):
            having = level[level >> q & 1 == 1]
            then = 10.0 + gamma * values[having ^ (1 << q), q]
            values[having] = np.maximum(values[having], then[:, None] * travel[q])
    return values


def _good(model: Any, belief: Any) -> np.ndarray:
    """The belief's probability that each rock is good, [k]."""
    rocks = belief.states[:, 2].astype(np.int64)
    return np.array([float(belief.weights[rocks >> i & 1 == 1].sum()) for i in range(model.n_rocks)])


def _is_cell(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, (int, np.integer)) for part in value)


def _validate(self: RockSample) -> None:
    n, cells = self.size, self.rocks
    k = len(cells) if isinstance(cells, tuple) else 1
    problem, remedy = "", ""
    if n < 1:
        problem, remedy = f"size={n}", "the grid needs a size of 1 or more."
    elif k == 0:
        problem, remedy = "no rocks", "give at least one rock: without any, going east is all there is."
    elif k > MOST_ROCKS:
        problem = f"{k} rocks: the table of its values would need 2^{k} x {k} numbers, {8 * k << k >> 20} MiB of memory"
        remedy = f"use at most {MOST_ROCKS} rocks."
    elif not (isinstance(cells, tuple) and all(map(_is_cell, (*cells, self.start)))):
        problem, remedy = f"rocks={cells}, start={self.start}", "rocks is a tuple of cells, and a cell a pair of integers (x, y)."
    elif k > n * n:
        problem, remedy = f"{k} rocks on {n * n} cells", "use fewer rocks or a larger grid."
    elif not 0.0 < self.discount <= 1.0:
        problem, remedy = f"discount={self.discount}", "discount must be above 0 and at most 1."
    elif not -math.inf < self.penalty <= 0.0:
        problem, remedy = f"penalty={self.penalty}", "the penalty is a reward of 0 or below, -100 say."
    elif not 0.0 < self.half_distance < math.inf:
        problem, remedy = f"half_distance={self.half_distance}", "half_distance must be above 0 and finite."
    else:
        for what, cell in (*((f"rock {i}", cell) for i, cell in enumerate(cells)), ("start", self.start)):
            if not (0 <= cell[0] < n and 0 <= cell[1] < n):
                problem, remedy = f"{what} {tuple(cell)} lies outside the grid", f"x and y go from 0 to {n - 1}."
        if len(set(cells)) < k:
            twice = next(cell for cell in cells if cells.count(cell) > 1)
            problem, remedy = f"two rocks in the cell {twice}", "give every rock a cell of its own."
    if problem:
        raise OptionError(f"RockSample: {problem}", remedy)
