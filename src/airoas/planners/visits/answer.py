"""The answer of a search: what the root's action nodes say, over one tree or several."""

from __future__ import annotations

import numpy as np

from airoas.compiler.kernels import kernel
from airoas.modelling.rows import Indices
from airoas.planners.visits.tree import NONE, ROOT, VisitTree

FINAL_ACTIONS = ("value", "visits")


@kernel
def list_action_nodes(tree: VisitTree, history: int, result: Indices) -> int:
    """Fill `result` with the action nodes of a history, the newest first; how many there are."""
    count = 0
    action = tree.histories[history].newest
    while action != NONE:
        result[count] = action
        count += 1
        action = tree.action_nodes[action].older
    return count


def merge_roots(trees: list[VisitTree]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The actions of the root over all trees in the order in which they were added: rows [k, .], visits [k] and values [k]."""
    actions, visits, values = [], [], []
    for tree in trees:
        result = np.empty(tree.histories[ROOT].n_actions, np.int64)
        list_action_nodes(tree, ROOT, result)
        nodes = tree.action_nodes[result[::-1]]
        actions.append(tree.actions[result[::-1]])
        visits.append(nodes.visits)
        values.append(nodes.value)
    if len(trees) == 1:
        return actions[0], visits[0], values[0]
    rows, n = np.concatenate(actions), np.concatenate(visits)
    _, first, same = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    total = np.bincount(same.ravel(), n)
    mean = np.bincount(same.ravel(), n * np.concatenate(values)) / np.maximum(total, 1)
    return rows[first[order]], total[order].astype(np.int64), mean[order]


def choose_final(visits: np.ndarray, values: np.ndarray, by: str) -> int:
    """Which action has the largest value, or the most visits; ties go to the later one.

    Differs: an action that was never tried is not chosen; its V of 0 is no estimate.
    """
    scores = np.where(visits > 0, values if by == "value" else visits, -np.inf)
    tried = np.flatnonzero((visits > 0) & (scores == scores.max()))
    return int(tried[-1])
