"""The bounded tree for people: nodes to walk and to print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airoas.belief.particles import Particles
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.bounded.tree import Tree
from airoas.tables import TextTable, numbers


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
        """A table of the first levels, the likeliest observations first."""
        return self.table(levels, widest).text(120)

    def table(self, levels: int = 2, widest: int = 4) -> TextTable:
        table = TextTable(f"{len(self)} belief nodes", ("action, observation", "probability", "lower", "upper", "reward", "particles"))
        self._add_rows(table, self.root, 0, levels, widest)
        return table

    def choices(self) -> TextTable:
        """The actions at the root, the best first."""
        table = TextTable("", ("action", "lower", "upper", "reward", "observations"))
        for branch in sorted(self.root.branches, key=lambda branch: (-branch.lower, -branch.upper)):
            values = (f"{branch.lower:.3f}", f"{branch.upper:.3f}", f"{branch.reward:.3f}" if branch.children else "")
            table.rows.append((branch.name, *values, str(len(branch.children))))
        return table

    def _add_rows(self, table: TextTable, node: Node, level: int, levels: int, widest: int) -> None:
        indent = "  " * (2 * level)
        seen = "root" if node.observation is None else numbers(node.observation)
        particles = "" if node.particles is None else str(len(node.particles))
        table.rows.append((f"{indent}{seen}", f"{node.probability:.3f}", f"{node.lower:.3f}", f"{node.upper:.3f}", "", particles))
        if level == levels:
            return
        for branch in node.branches:
            reward = f"{branch.reward:.3f}" if branch.children else ""
            table.rows.append((f"{indent}  {branch.name}", "", f"{branch.lower:.3f}", f"{branch.upper:.3f}", reward, ""))
            ordered = sorted(branch.children, key=lambda child: -child.probability)
            for child in ordered[:widest]:
                self._add_rows(table, child, level + 1, levels, widest)
            if len(ordered) > widest:
                rest = ordered[widest:]
                table.rows.append((f"{indent}    and {len(rest)} more", f"{sum(child.probability for child in rest):.3f}", "", "", "", ""))


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
        return [] if self.is_leaf else [Branch(self.tree, int(ba)) for ba in range(first, first + count)]

    def __repr__(self) -> str:
        return f"Node(depth={self.depth}, probability={self.probability:.3f}, lower={self.lower:.4g}, upper={self.upper:.4g})"


class Branch:
    """An action node."""

    def __init__(self, tree: BeliefTree, index: int) -> None:
        self.tree = tree
        self.index = index
        columns = tree.columns
        self.action = tree.model.from_row("action", columns.actions[index])
        self.name: str = tree.model.action_text(self.action)
        self.lower, self.upper = float(columns.action_lower[index]), float(columns.action_upper[index])
        self.reward = float(columns.reward[index])
        """Expected, of this one step; nan while the action has not been simulated."""

    @property
    def children(self) -> list[Node]:
        """A node for each observation; none while the action has not been simulated, or where it ends the episode."""
        first, count = self.tree.columns.first_child[self.index], self.tree.columns.n_children[self.index]
        return [] if first < 0 else [Node(self.tree, int(c)) for c in range(first, first + count)]

    def __repr__(self) -> str:
        return f"Branch({self.name}, lower={self.lower:.4g}, upper={self.upper:.4g}, children={len(self.children)})"
