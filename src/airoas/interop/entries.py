"""What a `.pomdp` file writes, in the file's order with its wildcards, and the tables that come of it, later entries over earlier ones."""

from __future__ import annotations

import math
from array import array

import numpy as np

from airoas.interop.lexer import ALL, RANGES, TOLERANCE, Names, Tokens

ANEW, SAME = -2, -3
"""In place of a column: the whole row begins anew, what stood there counts no more; the column with the number of the row's state."""
CELLS = 5_000_000
"""The most cells of one table, wildcards written out."""
WORK = 50 * CELLS
"""The most cells of rewards that are written in all, those written over counted again."""
TOO_LARGE = "such a problem is too large for tables: write it as a model in Python."


class Entries:
    """Entries of T, O or R: the numbers that they give along the axes (actions, states, ...), their position in the file, their value."""

    def __init__(self, tokens: Tokens, letter: str, *axes: Names) -> None:
        self.tokens, self.letter, self.axes, self.sizes = tokens, letter, axes, [axis.size for axis in axes]
        self.kind = "a reward" if letter == "R" else "a probability"
        self.lowest, self.highest = RANGES[self.kind]
        self._cells, self._numbers, self._values = 0, array("q"), array("d")

    def put(self, numbers: list[int], value: float, at: int) -> None:
        if self.letter != "R":
            self._cells += 1 if ALL not in numbers else math.prod(size for n, size in zip(numbers, self.sizes, strict=True) if n == ALL)
            if self._cells > CELLS:
                problem = f"{self.letter} has more than {CELLS:,} entries up to here, wildcards written out"
                raise self.tokens.error(problem, TOO_LARGE, at)
        self._numbers.extend((*numbers, at))
        self._values.append(value)

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers [N, axes + 1], the last of them the position, and values [N]; from now on nothing can be put."""
        numbers = np.frombuffer(self._numbers or b"", dtype=np.int64).reshape(-1, len(self.axes) + 1)
        return numbers, np.frombuffer(self._values or b"")


def probabilities(table: Entries) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Those above 0 by row s * A + a: the first index of each row [S * A + 1], their columns and values [M]."""
    numbers, values = table.finish()
    actions, states, columns = table.sizes
    spans = np.where(numbers[:, :3] == ALL, table.sizes, 1).astype(np.int32)
    times = spans.prod(axis=1)
    entry = np.repeat(np.arange(len(times), dtype=np.int32), times)
    copy = np.arange(len(entry), dtype=np.int32) - np.repeat((np.cumsum(times) - times).astype(np.int32), times)
    cells = []
    for axis in (2, 0, 1):  # those of one entry by rising row and column
        number, span = numbers[:, axis].astype(np.int32)[entry], spans[entry, axis]
        cells.append(np.where(number == ALL, copy % span, number))
        copy //= span
    column, action, state = cells
    column = np.where(column == SAME, state, column)
    row = state * actions + action
    begun = np.full(states * actions, -1)
    begun[row[column == ANEW]] = entry[column == ANEW]
    kept = np.flatnonzero(entry > begun[row])[::-1]
    cell, last = np.unique(row[kept].astype(np.int64) * columns + column[kept], return_index=True)  # the file's last word on each
    value = values[entry[kept[last]]]
    total = np.bincount(cell // columns, weights=value, minlength=states * actions)
    wrong = np.flatnonzero(np.abs(total - 1.0) > TOLERANCE)
    if len(wrong):
        names = [axis.labels or range(axis.size) for axis in table.axes]
        shown = f"`{table.letter}: {names[0][wrong[0] % actions]} : {names[1][wrong[0] // actions]}`"
        others = f" ({len(wrong) - 1} other rows likewise)" if len(wrong) > 1 else ""
        given = entry[row == wrong[0]]
        if not len(given):
            remedy = f"write {shown} and the probabilities, or a wildcard * that covers it."
            raise table.tokens.error(f"{shown} is given nowhere{others}", remedy, len(table.tokens.text))
        problem = f"the probabilities of {shown} sum to {total[wrong[0]]:.9g}{others}"
        raise table.tokens.error(problem, f"make them sum to 1 (to within {TOLERANCE:g}).", int(numbers[given[-1], 3]))
    row, column = np.divmod(cell[value > 0.0], columns)
    first = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=states * actions))))
    return first, column, value[value > 0.0] / total[row]


def rewards(table: Entries, first: np.ndarray, successors: np.ndarray, observations: np.ndarray) -> tuple[np.ndarray, bool]:
    """The reward of each transition [M], and whether it had to be averaged over what is observed then."""
    numbers, values = table.finish()
    by_observation = np.flatnonzero(numbers[:, 3] != ALL)
    width = table.sizes[3] if len(by_observation) else 1
    if len(successors) * width > CELLS:
        problem = f"rewards by observation would fill {len(successors) * width:,} cells, above {CELLS:,}"
        raise table.tokens.error(problem, "write * for the observation, and the mean reward.", int(numbers[by_observation[0], 4]))
    state, action = np.divmod(np.repeat(np.arange(len(first) - 1), np.diff(first)), table.sizes[0])
    given = numbers[:, :3] != ALL
    form, orders = given @ [1, 2, 4], {}
    begin, end = np.zeros((2, len(values)), dtype=np.int64)
    for kind in np.unique(form).tolist():  # transitions sorted by what such an entry gives, so that those it speaks of stand together
        same = np.flatnonzero(form == kind)
        weights = np.cumprod([1, *table.sizes[:2]]) * given[same[0]]
        key = weights[0] * action + weights[1] * state + weights[2] * successors
        orders[kind] = np.argsort(key, kind="stable")
        key, wanted = key[orders[kind]], numbers[same, :3] @ weights
        begin[same], end[same] = np.searchsorted(key, wanted), np.searchsorted(key, wanted, side="right")
    excess = np.flatnonzero(np.cumsum(end - begin) * width > WORK)
    if len(excess):
        problem = f"rewards have been written {WORK:,} times up to here, wildcards written out"
        raise table.tokens.error(problem, "leave out the entries that later ones replace.", int(numbers[excess[0], 4]))
    paid = np.zeros((len(successors), width))
    for kind, low, high, seen, value in zip(*(part.tolist() for part in (form, begin, end, numbers[:, 3], values)), strict=True):
        paid[orders[kind][low:high], slice(None) if seen == ALL else seen] = value
    if width == 1:
        return paid[:, 0], False
    likelihood = observations[successors, action]
    least = np.where(likelihood > 0.0, paid, np.inf).min(axis=1)
    most = np.where(likelihood > 0.0, paid, -np.inf).max(axis=1)
    return np.where(least == most, least, (likelihood * paid).sum(axis=1)), bool((least != most).any())
