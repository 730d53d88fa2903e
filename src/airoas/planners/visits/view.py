"""The visit-count tree for people: nodes to walk and to print, made on demand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import numpy as np

from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Decision
from airoas.planners.visits.tree import NONE, ROOT, VisitTree
from airoas.tables import TextTable, numbers

TreeNode = tuple["_Indexed", int]
"""A node of one of the trees."""
MOST_CHOICES = 20
"""Actions that are shown of the root."""


class HistoryTree:
    """What a search has built; several trees, of searches side by side, look like one. `print(tree)` shows the top."""

    def __init__(self, model: KernelModel, trees: list[VisitTree]) -> None:
        self.model = model
        self._trees = [_Indexed(tree) for tree in trees]

    @property
    def root(self) -> HistoryNode:
        return HistoryNode(self.model, [(tree, ROOT) for tree in self._trees], None)

    def show(self, depth: int = 2, width: int = 8) -> str:
        """A table of the first `depth` actions of every history, the `width` most visited ones of each."""
        lines = [f"{'':<44}{'visits':>10}{'value':>12}", *_rows(self.root, "root", 0, 2 * depth, width)]
        return "\n".join(lines)

    def choices(self, decision: Decision | None = None) -> TextTable:
        """The actions at the root, the most visited first; the one that `decision` took is marked."""
        tried = sorted(self.root.children, key=lambda action: (-action.visits, -action.value))
        marks = ["chosen" if decision is not None and action.action == decision.action else "" for action in tried]
        table = TextTable("", ("action", "visits", "value", "mark"))
        for i, (action, mark) in enumerate(zip(tried, marks, strict=True)):
            if i < MOST_CHOICES or mark:
                table.rows.append((action.name, str(action.visits), f"{action.value:.4g}", mark))
        if len(tried) > len(table.rows):
            table.notes.append(f"and {len(tried) - len(table.rows)} less visited")
        return table.trimmed()

    def __str__(self) -> str:
        return self.show()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.show())}</pre>"

    def __repr__(self) -> str:
        return f"HistoryTree({sum(tree.columns.n_histories for tree in self._trees)} nodes)"


class _Indexed:
    """A tree with the histories of each action node."""

    def __init__(self, columns: VisitTree) -> None:
        self.columns = columns

    @functools.cached_property
    def _by_parent(self) -> tuple[np.ndarray, np.ndarray]:
        parents = self.columns.histories.parent[: self.columns.n_histories]
        order = np.argsort(parents, kind="stable")
        return order, parents[order]

    def action(self, node: int) -> np.ndarray:
        row: np.ndarray = self.columns.actions[node]
        return row

    def observation(self, history: int) -> np.ndarray:
        row: np.ndarray = self.columns.observations[history]
        return row

    def histories(self, action: int) -> list[int]:
        order, parents = self._by_parent
        lo, hi = np.searchsorted(parents, (action, action + 1))
        return [int(node) for node in order[lo:hi]]

    def action_nodes(self, history: int) -> list[int]:
        """Oldest first."""
        result, action = [], int(self.columns.histories[history].newest)
        while action != NONE:
            result.append(action)
            action = int(self.columns.action_nodes[action].older)
        return result[::-1]


class HistoryNode:
    """What was done and seen so far; `observation` came last, None at the root."""

    def __init__(self, model: KernelModel, members: list[TreeNode], observation: Any) -> None:
        self._model, self._members = model, members
        self.observation = observation

    @property
    def visits(self) -> int:
        return sum(int(tree.columns.histories[history].visits) for tree, history in self._members)

    @property
    def value(self) -> float:
        """That of the best action; nan where none was tried."""
        return max((action.value for action in self.children if action.visits), default=float("nan"))

    @property
    def children(self) -> list[ActionNode]:
        """The actions in the order in which they were added."""
        result = [(tree, action) for tree, history in self._members for action in tree.action_nodes(history)]
        return [ActionNode(self._model, members) for members in _grouped(result, _Indexed.action, len(self._members) > 1)]

    def __repr__(self) -> str:
        return f"HistoryNode(observation={self.observation}, visits={self.visits}, value={self.value:.4g})"


class ActionNode:
    """An action after a history."""

    def __init__(self, model: KernelModel, members: list[TreeNode]) -> None:
        self._model, self._members = model, members
        tree, first = members[0]
        self.action = model.from_row("action", tree.action(first))

    @property
    def visits(self) -> int:
        return sum(int(tree.columns.action_nodes[action].visits) for tree, action in self._members)

    @property
    def value(self) -> float:
        """Mean return of the simulations that passed here; 0 where there was none."""
        nodes = [tree.columns.action_nodes[action] for tree, action in self._members]
        if len(nodes) == 1:
            return float(nodes[0].value)
        return float(sum(node.visits * node.value for node in nodes if node.visits) / max(1, sum(node.visits for node in nodes)))

    @property
    def children(self) -> list[HistoryNode]:
        """The histories that observations lead to, in the order in which they were found."""
        result = [(tree, node) for tree, action in self._members for node in tree.histories(action)]
        groups = _grouped(result, _Indexed.observation, len(self._members) > 1)
        return [HistoryNode(self._model, members, _observation(self._model, *members[0])) for members in groups]

    @property
    def name(self) -> str:
        """The action's name, or its numbers where actions are continuous."""
        return str(self._model.action_text(self.action))

    def __repr__(self) -> str:
        return f"ActionNode({self.name}, visits={self.visits}, value={self.value:.4g})"


def _grouped(result: list[TreeNode], row: Callable[[_Indexed, int], np.ndarray], merge: bool) -> list[list[TreeNode]]:
    """The parts with equal rows together; each alone within one tree, where a row may stand twice on purpose."""
    groups: dict[Any, list[TreeNode]] = {}
    for tree, i in result:
        groups.setdefault(row(tree, i).tobytes() if merge else i, []).append((tree, i))
    return list(groups.values())


def _observation(model: KernelModel, tree: _Indexed, node: int) -> Any:
    return model.from_row("observation", tree.observation(node))


def _rows(node: HistoryNode | ActionNode, label: str, level: int, levels: int, width: int) -> Iterator[str]:
    label = "  " * level + label
    yield f"{label if len(label) < 44 else label[:40] + '...':<44}{node.visits:>10}{node.value:>12.4f}"
    if level == levels:
        return
    children: list[Any] = sorted(node.children, key=lambda child: -child.visits)
    for child in children[:width]:
        label = child.name if isinstance(child, ActionNode) else f"sees {numbers(child.observation)}"
        yield from _rows(child, label, level + 1, levels, width)
    if len(children) > width:
        yield f"{'  ' * (level + 1)}and {len(children) - width} less visited"
