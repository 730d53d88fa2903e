"""The part of a search tree that a page shows: the root and the nodes below it in which most of the search went."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from airoas.planners.bounded.view import BeliefTree, Branch, Node
from airoas.tables import numbers


@dataclass
class Entry:
    """A node as a page shows it; an even level is a belief (a history), an odd one an action."""

    label: str
    parent: int
    """Its index in the outline, -1 at the root."""
    size: int
    """How much of the search went there."""
    value: float
    """Lower bound, or mean return."""
    facts: dict[str, str]


@dataclass
class Outline:
    entries: list[Entry] = field(default_factory=list)
    total: int = 0
    """Nodes of the whole tree, actions included; 0 where that is not known."""
    measure: str = ""
    """What a size counts."""

    @property
    def beliefs(self) -> int:
        """How many of the entries are beliefs (histories); the others are actions."""
        even: list[bool] = []
        for entry in self.entries:  # a parent stands before its children
            even.append(entry.parent < 0 or not even[entry.parent])
        return sum(even)


def outline(tree: Any, most: int) -> Outline:
    """The `most` nodes of the largest size, each with everything above it."""
    if isinstance(tree, BeliefTree):
        sizes = _sizes(tree)
        total = int(sizes[0][0])
        scaled = "" if tree.weighted else "; bounds below the root are those of its share, as seen from the root"
        return _grow(_Bounded(tree.root, sizes), most, total, f"beliefs and actions in and below{scaled}")
    return _grow(_Visited(tree.root), most, 0, "visits")


def _grow(root: Any, most: int, total: int, measure: str) -> Outline:
    shown = Outline([], total, measure)
    order = itertools.count()
    waiting = [(-root.size, next(order), -1, root)]
    while waiting and len(shown.entries) < most:
        _, _, parent, node = heapq.heappop(waiting)
        index = len(shown.entries)
        shown.entries.append(Entry(node.label, parent, node.size, node.value, node.facts))
        for child in heapq.nlargest(most, node.children(), key=lambda child: child.size):
            heapq.heappush(waiting, (-child.size, next(order), index, child))
    return shown


class _Bounded:
    """A node of a bounded tree."""

    def __init__(self, node: Node | Branch, sizes: tuple[np.ndarray, np.ndarray]) -> None:
        self.node, self.sizes = node, sizes
        self.size = int(sizes[isinstance(node, Branch)][node.index])
        self.value = node.lower
        if isinstance(node, Branch):
            self.label = node.name
        else:
            self.label = _observation_label(node.observation)

    @property
    def facts(self) -> dict[str, str]:
        node = self.node
        facts = {"bounds": f"[{node.lower:.4g}, {node.upper:.4g}]"}
        if isinstance(node, Branch):
            children = node.children
            if children:
                facts |= {"reward": f"{node.reward:.4g}", "observations": str(len(children))}
            if node.cell_text:
                facts["cell ±"] = node.cell_text
            return {"action": self.label} | facts
        particles = node.particles
        facts |= {"probability": f"{node.probability:.4g}", "depth": str(node.depth)}
        if particles is not None:
            facts |= {"particles": str(len(particles)), "ESS": f"{particles.ess:.1f}"}
        return ({} if node.observation is None else {"observation": numbers(node.observation)}) | facts

    def children(self) -> Iterator[_Bounded]:
        below: list[Any] = self.node.children if isinstance(self.node, Branch) else self.node.branches
        return (_Bounded(node, self.sizes) for node in below)


class _Visited:
    """A node of a visit-count tree."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.label = node.name if hasattr(node, "action") else _observation_label(node.observation)
        self.size = int(node.visits)

    @property
    def value(self) -> float:
        return float(self.node.value)

    @property
    def facts(self) -> dict[str, str]:
        facts = {"visits": str(self.size), "value": f"{self.value:.4g}"}
        if hasattr(self.node, "action"):
            return {"action": self.label} | facts
        return ({} if self.node.observation is None else {"observation": numbers(self.node.observation)}) | facts

    def children(self) -> Iterator[_Visited]:
        return map(_Visited, self.node.children)


def _observation_label(observation: Any) -> str:
    return "root" if observation is None else f"observed {numbers(observation)}"


def _sizes(tree: BeliefTree) -> tuple[np.ndarray, np.ndarray]:
    """The nodes in and below each belief node [B] and each action node [A]; rows that are kept for actions to come count as none."""
    columns = tree.columns
    beliefs, actions = columns.n_nodes, columns.n_action_nodes
    depth, parent, first = columns.depth[:beliefs], columns.parent[:beliefs], columns.first_action[:beliefs]
    counts = np.where(first >= 0, columns.n_actions[:beliefs], 0)
    above = np.repeat(np.arange(beliefs), counts)
    used = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(len(above))
    of_beliefs, of_actions = np.ones(beliefs, np.int64), np.ones(actions, np.int64)
    levels = depth[above]
    for level in range(int(depth.max()), -1, -1):  # children before parents
        at = np.flatnonzero(levels == level)
        np.add.at(of_beliefs, above[at], of_actions[used[at]])
        at = np.flatnonzero(depth == level)
        if level:
            np.add.at(of_actions, parent[at], of_beliefs[at])
    return of_beliefs, of_actions


def fitted(shown: Outline) -> list[int]:
    """Sizes, raised where the children of a node have more than it: a picture of parts of a whole needs that."""
    sizes = [max(1, entry.size) for entry in shown.entries]
    below = [0] * len(sizes)
    for i in range(len(sizes) - 1, 0, -1):  # a parent stands before its children
        sizes[i] = max(sizes[i], below[i])
        below[shown.entries[i].parent] += sizes[i]
    if sizes:
        sizes[0] = max(sizes[0], below[0])
    return sizes
