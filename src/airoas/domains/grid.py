"""Pursuit on a grid: what Tag and LaserTag share.

A robot and an opponent stand on numbered cells. The robot moves exactly, the opponent flees at random, and tagging it in
the same cell ends the episode. `tables` and `flight` turn a map and the opponent's habits into arrays; `pursuit` gives a
model class the methods that run on them. What is seen is the model's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from airoas.rng import Rng

C = TypeVar("C", bound=type)
Cell = tuple[int, int]

ACTIONS = ("north", "east", "south", "west", "tag")
NORTH, EAST, SOUTH, WEST, TAG = range(5)
STAY = 4  # the fifth column of a table of moves: where the opponent stays, and where the robot is when it tags
OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))


class State(NamedTuple):
    robot: int
    opponent: int
    tagged: int


# --- tables of a map ---


def tables(free: Sequence[Cell], blocked: Sequence[Cell], corner: Cell, size: Cell) -> dict[str, Any]:
    """The derived arrays of a map of free (x, y) cells, y growing northwards, inside a box of this corner and size.

    `blocked` cells are numbered after the free ones: one can stand there at the start and leave, but not enter.
    cells [n, 2]: coordinates; neighbour [n, 5]: the cell after a move north, east, south, west and none, itself where
    something is in the way; floor [x, y]: the number of a free cell, else -1; nearby [n, 12]: the cells within two steps,
    itself where not free; chase [n, n]: the action of `rollout_action`.
    """
    cells = [*free, *blocked]
    number = {cell: i for i, cell in enumerate(free)}
    floor = np.full((corner[0] + size[0], corner[1] + size[1]), -1)
    for (x, y), i in number.items():
        floor[x, y] = i
    steps = [(x, y) for x in range(-2, 3) for y in range(-2, 3) if 0 < abs(x) + abs(y) <= 2]

    def shifted(offsets: Sequence[Cell], movable: int) -> np.ndarray:
        shift = [[number.get((x + dx, y + dy), i) if i < movable else i for dx, dy in offsets] for i, (x, y) in enumerate(cells)]
        return np.array(shift, np.int64)

    neighbour = shifted((*OFFSETS, (0, 0)), len(cells))
    neighbour[:, STAY] = np.arange(len(cells))
    return {
        "cells": np.array(cells),
        "n_cells": len(cells),
        "corner": corner,
        "size": size,
        "floor": floor,
        "neighbour": neighbour,
        "nearby": shifted(steps, len(free)),  # blocked cells stay: a way out without a way in would not be symmetric
        "chase": chase(np.array(cells), neighbour),
    }


def chase(cells: np.ndarray, neighbour: np.ndarray) -> np.ndarray:
    """[robot, opponent]: tag in the same cell, else a step toward the opponent along the axis of the larger difference.

    Equal differences go north or south. Where that step is blocked and the other axis differs too, the other axis.
    """
    action = np.empty((len(cells), len(cells)), np.int64)
    for r, t in np.ndindex(action.shape):
        dx, dy = cells[t] - cells[r]
        wanted = [(abs(dy), 1, NORTH if dy > 0 else SOUTH), (abs(dx), 0, EAST if dx > 0 else WEST)]
        ways = [way for difference, _, way in sorted(wanted, reverse=True) if difference]
        action[r, t] = next((way for way in ways if neighbour[r, way] != r), ways[0] if ways else TAG)
    return action


def distances(neighbour: np.ndarray) -> np.ndarray:
    """[n, n]: the fewest moves from one cell to another, n where there is no way."""
    n = len(neighbour)
    far = np.full((n, n), n)
    for start in range(n):
        far[start, start], frontier = 0, [start]
        while frontier:
            frontier_next = []
            for cell in frontier:
                for other in neighbour[cell, :STAY]:
                    if far[start, other] == n and other != start:
                        far[start, other] = far[start, cell] + 1
                        frontier_next.append(other)
            frontier = frontier_next
    return far


# --- how the opponent flees: [robot, opponent, 5] probabilities of north, east, south, west, stay ---


def classic_flight(cells: np.ndarray, neighbour: np.ndarray) -> np.ndarray:
    """0.4 away on each axis (0.2 to each side where the robot is level), 0.2 to stay; what is blocked stays too."""
    n = len(cells)
    away = np.sign(cells[None, :, :] - cells[:, None, :])
    probability = np.zeros((n, n, 5))
    for k, (dx, dy) in enumerate(OFFSETS):
        side = away[:, :, 0] * dx + away[:, :, 1] * dy
        level = away[:, :, 0 if dx else 1] == 0
        open_way = neighbour[:, k] != np.arange(n)
        probability[:, :, k] = np.where(level, 0.2, np.where(side > 0, 0.4, 0.0)) * open_way
    probability[:, :, STAY] = 1.0 - probability[:, :, :STAY].sum(2)
    return probability


def modified_flight(neighbour: np.ndarray, flee: float) -> np.ndarray:
    """`flee` shared by the neighbours farthest from the robot by paths, if farther than here; else it stays."""
    n = len(neighbour)
    far = distances(neighbour)
    probability = np.zeros((n, n, 5))
    for r, t in np.ndindex(n, n):
        ways = [k for k in range(STAY) if neighbour[t, k] != t]
        best = max([far[r, neighbour[t, k]] for k in ways], default=-1)
        chosen = [k for k in ways if far[r, neighbour[t, k]] >= max(best, far[r, t])]
        probability[r, t, chosen] = flee / max(len(chosen), 1)
        probability[r, t, STAY] = 1.0 - flee if chosen else 1.0
    return probability


def flight(probability: np.ndarray) -> dict[str, np.ndarray]:
    """Probabilities [robot, opponent, 5] as derived arrays: rule [robot, opponent], and mass and cumulative [rules, 5].

    Few distributions differ, so a simulated step reads tables that stay in the cache.
    """
    n = len(probability)
    mass, rule = np.unique(probability.reshape(n * n, 5), axis=0, return_inverse=True)
    return {"rule": rule.reshape(n, n), "mass": mass, "cumulative": cumulative(mass)}


def cumulative(mass: np.ndarray) -> np.ndarray:
    """Row-wise sums of `mass` [rows, k], 1 from the last positive entry on: a uniform draw can never run past it."""
    total = np.cumsum(mass, axis=1)
    positive = np.arange(mass.shape[1])[None, :] * (mass > 0.0)
    total[np.arange(mass.shape[1])[None, :] >= positive.max(1)[:, None]] = 1.0
    return total


# --- the methods of a pursuit; `self` is the model ---


def initial(self: Any, rng: Rng) -> State:
    pair = rng.integer(self.n_cells * self.n_cells)
    return State(pair // self.n_cells, pair % self.n_cells, 0)


def step(self: Any, s: State, a: int, rng: Rng) -> tuple[State, float]:
    if a == TAG and s.robot == s.opponent:
        return State(s.robot, s.opponent, 1), 10.0
    robot, opponent = np.uint64(s.robot), np.uint64(s.opponent)  # no index is negative: compiled code need not ask
    rule = np.uint64(self.rule[robot, opponent])
    u = rng.uniform()
    k = 0
    while u >= self.cumulative[rule, np.uint64(k)]:
        k += 1
    return State(int(self.neighbour[robot, np.uint64(a)]), int(self.neighbour[opponent, np.uint64(k)]), 0), -10.0 if a == TAG else -1.0


def is_terminal(self: Any, s: State) -> bool:
    return s.tagged > 0


def rollout_action(self: Any, s: State, rng: Rng) -> int:
    return int(self.chase[s.robot, s.opponent])


def step_logpdf(self: Any, s2: State, s: State, a: int) -> float:
    if a == TAG and s.robot == s.opponent:
        return 0.0 if s2.robot == s.robot and s2.opponent == s.opponent and s2.tagged else -math.inf
    if s2.tagged or s2.robot != self.neighbour[s.robot, a]:
        return -math.inf
    rule = self.rule[s.robot, s.opponent]
    mass = 0.0
    for k in range(5):  # a blocked way leads to the cell itself, with no mass of its own
        if self.neighbour[s.opponent, k] == s2.opponent:
            mass += self.mass[rule, k]
    return math.log(mass) if mass > 0.0 else -math.inf


def mutate(self: Any, s: State, o: Any, a: int, rng: Rng) -> State:
    """The opponent to a cell within two steps, as far as two successors of one state are apart. Symmetric."""
    return State(s.robot, int(self.nearby[s.opponent, rng.integer(12)]), 0)


def mutate_literal(self: Any, s: State, o: Any, a: int, rng: Rng) -> State:
    """The opponent by a Gaussian of one cell, rounded; unchanged where that is not free."""
    x = math.floor(self.cells[s.opponent, 0] + rng.normal() + 0.5)
    y = math.floor(self.cells[s.opponent, 1] + rng.normal() + 0.5)
    if x < 0 or y < 0 or x >= self.floor.shape[0] or y >= self.floor.shape[1] or self.floor[x, y] < 0:
        return s
    return State(s.robot, int(self.floor[x, y]), 0)


def move(self: Any, s: State, parent: State, o: Any, a: int, beta: float, rng: Rng) -> State:
    """A successor of `parent` drawn from p(s2 | parent, a) p(o | s2)^beta; s where that is zero for all."""
    if a == TAG and parent.robot == parent.opponent:
        return s
    rule = self.rule[parent.robot, parent.opponent]
    robot = int(self.neighbour[parent.robot, a])
    chosen, total = s, 0.0
    for k in range(5):
        weight = self.mass[rule, k]
        if weight > 0.0:
            s2 = State(robot, int(self.neighbour[parent.opponent, k]), 0)
            if beta > 0.0:  # at 0 even an impossible observation counts as 1
                weight *= math.exp(beta * self.obs_logpdf(o, s2, a))
            total += weight
            if rng.uniform() * total < weight:  # each new one replaces the chosen with its share: one pass, no storage
                chosen = s2
    return chosen


def n_states(self: Any) -> int:
    return int(self.n_cells * self.n_cells + 1)


def index(self: Any, s: State) -> int:
    return int(self.n_cells * self.n_cells if s.tagged else s.robot * self.n_cells + s.opponent)


def state(self: Any, i: int) -> State:
    if i == self.n_cells * self.n_cells:
        return State(0, 0, 1)
    return State(i // self.n_cells, i % self.n_cells, 0)


def successor(self: Any, s: State, a: int, k: int) -> tuple[State, float]:
    if a == TAG and s.robot == s.opponent:
        return State(s.robot, s.opponent, 1), 1.0 if k == 0 else 0.0
    if k > STAY:
        return s, 0.0
    mass = self.mass[self.rule[s.robot, s.opponent], k]
    return State(int(self.neighbour[s.robot, a]), int(self.neighbour[s.opponent, k]), 0), mass


def reward(self: Any, s: State, a: int) -> float:
    if a == TAG:
        return 10.0 if s.robot == s.opponent else -10.0
    return -1.0


def actions(self: Any) -> tuple[str, ...]:
    return ACTIONS


def exact_initial(self: Any) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of cells, equally likely: states [n * n, 3], weights [n * n]."""
    n = self.n_cells
    robot, opponent = np.divmod(np.arange(n * n), n)
    return np.stack([robot, opponent, np.zeros(n * n)], 1).astype(float), np.full(n * n, 1.0 / (n * n))


# --- pictures ---


def marginals(self: Any, belief: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probability per cell of the robot [n] and of the opponent [n]."""
    rows = np.asarray(belief.states)[:, :2].astype(int)
    robot, opponent = (np.bincount(rows[:, k], belief.weights, self.n_cells) for k in range(2))
    return robot, opponent


def text(self: Any, s: State | None, belief: Any) -> str:
    """The map, a line per row from north to south: robot R, opponent O, both X, the opponent's probability in percent."""
    robot, opponent = (None, None) if belief is None else marginals(self, belief)
    number = {(int(x), int(y)): i for i, (x, y) in enumerate(self.cells)}
    lines = []
    for y in reversed(range(self.corner[1], self.corner[1] + self.size[1])):
        line = ""
        for x in range(self.corner[0], self.corner[0] + self.size[0]):
            i = number.get((x, y), -1)
            mark = "" if s is None or i < 0 else ("", "R", "O", "X")[(i == s.robot) + 2 * (i == s.opponent)]
            percent = 0.0 if opponent is None or i < 0 else 100.0 * opponent[i]
            probability = f"{percent:.0f}" if percent >= 0.5 else "<1" if percent > 0.0 else "" if mark else "."
            line += f"{mark:>2}{'##' if self.floor[x, y] < 0 and percent == 0.0 else probability:>3}"
        lines.append(line)
    if s is not None:
        lines.append("R robot, O opponent, X both in one cell" + (", tagged" if s.tagged else ""))
    if robot is not None:
        best = int(robot.argmax())
        lines.append(f"numbers: probability of the opponent in %; robot most likely at {_name(self, best)} ({100.0 * robot[best]:.0f} %)")
    return "\n".join(lines)


def _name(self: Any, i: int) -> str:
    return f"({self.cells[i, 0]}, {self.cells[i, 1]})"


_BLUE, _ORANGE, _WALL = "#0072B2", "#D55E00", "#8A8F98"


def draw(self: Any, axis: Any, s: State | None, belief: Any) -> None:
    """The map with the robot in blue and the opponent in orange: true cells as outlined marks, beliefs filled by weight."""
    (x0, y0), (width, height) = self.corner, self.size
    walls = [(x, y) for x in range(x0, x0 + width) for y in range(y0, y0 + height) if self.floor[x, y] < 0]
    axis.set_facecolor("white")
    for x, y in walls:
        axis.fill([x - 0.5, x + 0.5, x + 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5], color=_WALL, linewidth=0, zorder=1)
    axis.set_xticks(np.arange(x0 - 0.5, x0 + width), minor=True)
    axis.set_yticks(np.arange(y0 - 0.5, y0 + height), minor=True)
    axis.grid(which="minor", color="#D9DCE1", linewidth=0.8, zorder=0)
    axis.tick_params(which="minor", length=0)
    if belief is not None:
        robot, opponent = marginals(self, belief)
        for probability, colour, size, label in ((opponent, _ORANGE, 0.46, "belief: opponent"), (robot, _BLUE, 0.3, "belief: robot")):
            for at in np.flatnonzero(probability > 0.0):
                x, y = self.cells[at]
                # opacity falls to 0.08, not to 0: a cell that is possible at all stays visible
                alpha = 0.08 + 0.82 * float(probability[at] / probability.max())
                corners = [x - size, x + size, x + size, x - size], [y - size, y - size, y + size, y + size]
                axis.fill(*corners, color=colour, alpha=alpha, linewidth=0, zorder=2)
            axis.scatter([], [], marker="s", s=70, color=colour, alpha=0.6, linewidths=0, label=label)
    if s is not None:
        marks = ((s.opponent, _ORANGE, "*", 300, 0.16, "opponent"), (s.robot, _BLUE, "o", 130, -0.16, "robot"))
        for i, colour, marker, area, aside, label in marks:
            x, y = self.cells[i] + (aside if s.robot == s.opponent else 0.0)
            axis.scatter([x], [y], marker=marker, s=area, color=colour, edgecolors="white", linewidths=1.4, label=label, zorder=3)
        if s.tagged:
            axis.set_title("tagged", fontsize=10)
    axis.set_xlim(x0 - 0.5, x0 + width - 0.5)
    axis.set_ylim(y0 - 0.5, y0 + height - 0.5)
    axis.set_xticks(range(x0, x0 + width))
    axis.set_yticks(range(y0, y0 + height))
    axis.set_aspect("equal")
    axis.set_xlabel("x (east)")
    axis.set_ylabel("y (north)")
    if s is not None or belief is not None:
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, frameon=False, fontsize=9)


_METHODS: tuple[Callable[..., Any], ...] = (
    *(actions, initial, step, is_terminal, rollout_action, step_logpdf, mutate, mutate_literal, move),
    *(n_states, index, state, successor, reward, exact_initial, text, draw),
)


def pursuit(cls: C) -> C:
    """Give a class the methods above. A NamedTuple cannot inherit them."""
    for method in _METHODS:
        setattr(cls, method.__name__, method)
    return cls
