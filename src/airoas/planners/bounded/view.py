"""The bounded tree for people: nodes to walk and to print."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from airoas.belief.particles import Particles
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision
from airoas.planners.bounded.cells import half_widths
from airoas.planners.bounded.tree import Tree
from airoas.tables import TextTable, numbers

MOST_CHOICES = 20
"""Actions of a space that are shown of the root."""
CELL_REMARK = "cell: the part of its box by which every number may change, all at once, before another action is nearer"
ALONE_REMARK = "; all: no other action has its choices"
RECHECKED_REMARK = "the chosen one is the best when the best are weighed again, in more particles"


class BeliefTree:
    """A search tree as it stood when the search ended. `print(tree)` shows its first levels."""

    def __init__(self, model: KernelModel, columns: Tree, weighted: bool = True) -> None:
        self.model = model
        self.columns = columns
        self.weighted = weighted
        """Whether particles have weights; scenarios (AR-DESPOT) count the same, and bounds below the root are as seen from it."""

    @property
    def root(self) -> Node:
        return Node(self, 0)

    def __len__(self) -> int:
        """The number of belief nodes."""
        return self.columns.n_nodes

    def __iter__(self) -> Iterator[Node]:
        return (Node(self, b) for b in range(len(self)))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.table().html()

    def text(self, levels: int = 2, widest: int = 4) -> str:
        """A table of the first levels, the likeliest observations first; of a space only the best actions."""
        return self.table(levels, widest).text(120)

    def table(self, levels: int = 2, widest: int = 4) -> TextTable:
        table = TextTable(f"{len(self)} belief nodes", ("action, observation", "probability", "lower", "upper", "reward", "particles"))
        self._add_rows(table, self.root, 0, levels, widest)
        return table

    def choices(self, decision: Decision | None = None) -> TextTable:
        """The actions at the root, the best first, and of a space only these; marked as far as `decision` tells which one was chosen,
        and that bounds are estimates."""
        notes = {} if decision is None else decision.stats.notes
        estimated = "" if notes.get("sound", True) else "estimated "
        table = TextTable("", ("action", f"{estimated}lower", f"{estimated}upper", "reward", "observations", "cell ±", "mark"))
        branches = self.root.best_branches
        chosen = [i for i, branch in enumerate(branches) if decision is not None and branch.action == decision.action][:1]
        shown = len(branches) if self.model.n_actions else MOST_CHOICES
        if decision is not None and not chosen:
            table.rows.append(
                (self.model.action_text(decision.action), *[""] * 5, "chosen by rollouts" if "rollouts" in notes else "chosen")
            )
        for i, branch in enumerate(branches):
            if i < shown or i in chosen:
                mark = "chosen" if i in chosen else "" if branch.is_open else "not opened"
                values = (f"{branch.lower:.3f}", f"{branch.upper:.3f}", f"{branch.reward:.3f}" if branch.children else "")
                table.rows.append((branch.name, *values, str(len(branch.children)), branch.cell_text, mark))
        left = len(branches) - shown - sum(i >= shown for i in chosen)
        if left > 0:
            table.notes.append(f"and {left} more")
        cells = [row[5] for row in table.rows]
        if any(cells):
            table.notes.append(CELL_REMARK + (ALONE_REMARK if "all" in cells else ""))
        if chosen and chosen[0] > 0 and self.columns.max_root_actions > 0 and "rollouts" not in notes:
            table.notes.append(RECHECKED_REMARK)
        return table.trimmed()

    def _add_rows(self, table: TextTable, node: Node, level: int, levels: int, widest: int) -> None:
        indent = "  " * (2 * level)
        seen = "root" if node.observation is None else numbers(node.observation)
        particles = "" if node.particles is None else str(len(node.particles))
        table.rows.append((f"{indent}{seen}", f"{node.probability:.3f}", f"{node.lower:.3f}", f"{node.upper:.3f}", "", particles))
        if level == levels:
            return
        branches = node.branches if self.model.n_actions else node.best_branches
        shown = len(branches) if self.model.n_actions else widest
        for branch in branches[:shown]:
            reward = f"{branch.reward:.3f}" if branch.children else ""
            table.rows.append((f"{indent}  {branch.name}", "", f"{branch.lower:.3f}", f"{branch.upper:.3f}", reward, ""))
            ordered = sorted(branch.children, key=lambda child: -child.probability)
            for child in ordered[:widest]:
                self._add_rows(table, child, level + 1, levels, widest)
            if len(ordered) > widest:
                rest = ordered[widest:]
                table.rows.append((f"{indent}    and {len(rest)} more", f"{sum(child.probability for child in rest):.3f}", "", "", "", ""))
        if len(branches) > shown:
            table.rows.append((f"{indent}  and {len(branches) - shown} more actions", "", "", "", "", ""))


class Node:
    """A belief node: what is believed after the actions and observations above it."""

    def __init__(self, tree: BeliefTree, index: int) -> None:
        self.tree = tree
        self.index = index
        columns = tree.columns
        self.depth = int(columns.depth[index])
        self.probability = float(columns.probability[index])
        """Probability of its observation, given the action above."""
        self.lower, self.upper = float(columns.lower[index]), float(columns.upper[index])

    @property
    def is_leaf(self) -> bool:
        return bool(self.tree.columns.first_action[self.index] < 0)

    @property
    def observation(self) -> Any:
        """What was seen last; None at the root."""
        return None if self.index == 0 else self.tree.model.from_row("observation", self.tree.columns.observations[self.index])

    @property
    def particles(self) -> Particles | None:
        """The node's own particles; None for a leaf."""
        columns = self.tree.columns
        if self.is_leaf:
            return None
        first = columns.first_particle[self.index]
        rows = slice(first, first + columns.n_particles[self.index])
        return Particles(columns.states[rows].copy(), columns.weights[rows].copy() if self.tree.weighted else None)

    @property
    def branches(self) -> list[Branch]:
        """The action nodes below."""
        first, count = self.tree.columns.first_action[self.index], self.tree.columns.n_actions[self.index]
        if self.is_leaf:
            return []
        rows, space = self.tree.columns.actions[first : first + count], self.tree.model.space
        cells = half_widths(space, rows) if space is not None and space.boxes.any() else [math.nan] * count
        return [Branch(self.tree, int(first + i), float(cells[i])) for i in range(count)]

    @property
    def best_branches(self) -> list[Branch]:
        """Those of the largest lower bounds first."""
        return sorted(self.branches, key=lambda branch: (-branch.lower, -branch.upper))

    def __repr__(self) -> str:
        return f"Node(depth={self.depth}, probability={self.probability:.3f}, lower={self.lower:.4g}, upper={self.upper:.4g})"


class Branch:
    """An action node."""

    def __init__(self, tree: BeliefTree, index: int, cell: float = math.nan) -> None:
        self.tree = tree
        self.index = index
        self.cell = cell
        """Half the width of its cell, a part of the box (`half_widths`); nan where actions are a list."""
        columns = tree.columns
        self.action = tree.model.from_row("action", columns.actions[index])
        self.name: str = tree.model.action_text(self.action)
        self.lower, self.upper = float(columns.action_lower[index]), float(columns.action_upper[index])
        self.reward = float(columns.reward[index])
        """Expected, of this one step; nan while the action has not been simulated."""

    @property
    def is_open(self) -> bool:
        """Whether what may be observed after it was looked into; else its bounds are those of one step, or of a table."""
        return bool(self.tree.columns.first_child[self.index] >= 0)

    @property
    def cell_text(self) -> str:
        """For people; empty where actions are a list."""
        return "" if math.isnan(self.cell) else "all" if math.isinf(self.cell) else f"{100.0 * self.cell:.2g} %"

    @property
    def children(self) -> list[Node]:
        """A node for each observation; none while the action has not been simulated, or where it ends the episode."""
        first, count = self.tree.columns.first_child[self.index], self.tree.columns.n_children[self.index]
        return [] if first < 0 else [Node(self.tree, int(c)) for c in range(first, first + count)]

    def __repr__(self) -> str:
        return f"Branch({self.name}, lower={self.lower:.4g}, upper={self.upper:.4g}, children={len(self.children)})"
