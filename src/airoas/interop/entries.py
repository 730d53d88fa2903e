"""What a `.pomdp` file writes, in the file's order with its wildcards, and the tables that come of it.

An entry is kept as it stands, ALL for a wildcard; only the finished table writes it out, later entries over earlier ones.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from airoas.interop.lexer import TOLERANCE, Tokens

ALL = -1
CELLS = 5_000_000
"""The most cells of one table, wildcards written out."""
WORK = 50 * CELLS
"""The most cells of rewards that are written in all, those written over counted again."""


class Entries:
    """Entries in the file's order: the numbers that they refer to, their position in the file, their value."""

    def __init__(self, tokens: Tokens, sizes: tuple[int, ...]) -> None:
        self.tokens, self.sizes = tokens, sizes
        """How many actions, states, ... there are to refer to."""
        self._numbers, self._values = array("q"), array("d")

    def __len__(self) -> int:
        return len(self._values)

    def put(self, numbers: Sequence[int], value: float, at: int) -> None:
        self._numbers.extend((*numbers, at))
        self._values.append(value)

    @property
    def numbers(self) -> np.ndarray:
        """[N, sizes + 1], the last of them the position; from now on nothing can be put."""
        return np.frombuffer(self._numbers or b"", dtype=np.int64).reshape(-1, len(self.sizes) + 1)

    @property
    def values(self) -> np.ndarray:
        """[N]"""
        return np.frombuffer(self._values or b"", dtype=np.float64)


class Probabilities(Entries):
    """T or O: `sizes` are those of actions, states, and next states or observations."""

    def __init__(self, tokens: Tokens, letter: str, sizes: tuple[int, int, int]) -> None:
        super().__init__(tokens, sizes)
        self.letter = letter
        self.cleared: list[tuple[int, int, int, int]] = []
        """(action, state, number of entries before, position) of whole rows that are written anew."""
        self._cells = 0

    def clear(self, action: int, state: int, at: int) -> None:
        """Begin whole rows anew: what stood there counts no more."""
        self._count((action, state), at)
        self.cleared.append((action, state, len(self), at))

    def put(self, numbers: Sequence[int], value: float, at: int) -> None:
        self._count(numbers, at)
        super().put(numbers, value, at)

    def _count(self, numbers: Sequence[int], at: int) -> None:
        cells = 1
        if ALL in numbers:
            for number, size in zip(numbers, self.sizes, strict=False):
                cells *= size if number == ALL else 1
        self._cells += cells
        if self._cells > CELLS:
            problem = f"{self.letter} has more than {CELLS:,} entries up to here, wildcards written out"
            raise self.tokens.error(problem, "such a problem is too large for tables: write it as a model in Python.", at)

    def rows(self, names: tuple[tuple[str, ...], ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positive probabilities by row s * A + a: the first index of each row [S * A + 1], their columns and values [M]."""
        actions, states, columns = self.sizes
        entry, (action, state, column) = self._written_out()
        row = state.astype(np.int64) * actions + action
        since = np.zeros((states, actions), dtype=np.int32)
        for a, s, before, _ in self.cleared:
            since[slice(None) if s == ALL else s, slice(None) if a == ALL else a] = before
        kept = entry >= since.ravel()[row]
        entry, row, column = entry[kept], row[kept], column[kept]
        cell = row * columns + column
        order = np.argsort(cell, kind="stable")
        last = order[np.append(np.diff(cell[order]) > 0, np.ones(min(1, len(order)), dtype=bool))]  # the file's last word on each
        entry, row, column = entry[last], row[last], column[last]
        value = self.values[entry]
        total = np.bincount(row, weights=value, minlength=states * actions)
        self._refuse_sums(total, row, entry, names)
        positive = value > 0.0
        row, column, value = row[positive], column[positive].astype(np.int64), value[positive]
        first = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=states * actions))))
        return first, column, value / total[row]

    def _written_out(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Cells with the wildcards replaced by all that they stand for: the entry of each, and its action, state, column."""
        written = [self.numbers[:, axis].astype(np.int32) for axis in range(3)]
        spans = [np.where(part == ALL, size, 1).astype(np.int32) for part, size in zip(written, self.sizes, strict=True)]
        times = spans[0] * spans[1] * spans[2]
        entry = np.repeat(np.arange(len(times), dtype=np.int32), times)
        copy = np.arange(len(entry), dtype=np.int32) - np.repeat(np.cumsum(times, dtype=np.int32) - times, times)
        cells = []
        for part, span in zip(written, spans, strict=True):
            number = part[entry]
            cells.append(np.where(number == ALL, copy % span[entry], number))
            copy //= span[entry]
        return entry, cells

    def _refuse_sums(self, total: np.ndarray, row: np.ndarray, entry: np.ndarray, names: tuple[tuple[str, ...], ...]) -> None:
        wrong = np.flatnonzero(np.abs(total - 1.0) > TOLERANCE)
        if not len(wrong):
            return
        state, action = divmod(int(wrong[0]), self.sizes[0])
        labels = [known[number] if known else str(number) for known, number in zip(names, (action, state), strict=True)]
        header = f"{self.letter}: {' : '.join(labels)}"
        others = f" ({len(wrong) - 1} other rows likewise)" if len(wrong) > 1 else ""
        positions = self.numbers[entry[row == wrong[0]], 3].tolist()
        positions += [at for a, s, _, at in self.cleared if a in (ALL, action) and s in (ALL, state)]
        if not positions:
            remedy = f"write `{header}` and the probabilities, or a wildcard * that covers it."
            raise self.tokens.error(f"`{header}` is given nowhere{others}", remedy, len(self.tokens.text))
        problem = f"the probabilities of `{header}` sum to {total[wrong[0]]:.9g}{others}"
        raise self.tokens.error(problem, f"make them sum to 1 (to within {TOLERANCE:g}).", max(positions))


class Rewards(Entries):
    """R: `sizes` are those of actions, states, next states and observations."""

    def of_transitions(self, first: np.ndarray, successors: np.ndarray, observations: np.ndarray) -> tuple[np.ndarray, bool]:
        """The reward of each transition [M], and whether it had to be averaged over what is observed then."""
        numbers, values = self.numbers, self.values
        by_observation = np.flatnonzero(numbers[:, 3] != ALL)
        width = self.sizes[3] if len(by_observation) else 1
        if len(successors) * width > CELLS:
            problem = f"rewards by observation would fill {len(successors) * width:,} cells, above {CELLS:,}"
            raise self.tokens.error(problem, "write * for the observation, and the mean reward.", int(numbers[by_observation[0], 4]))
        transitions = _Transitions(first, successors, self.sizes[0])
        table = np.zeros((len(successors), width))
        for (action, state, arrived, seen, at), value in zip(numbers.tolist(), values.tolist(), strict=True):
            table[transitions.matching(action, state, arrived), slice(None) if seen == ALL else seen] = value
            if transitions.visited * width > WORK:
                problem = f"rewards have been written {WORK:,} times up to here, wildcards written out"
                raise self.tokens.error(problem, "leave out the entries that later ones replace.", at)
        if width == 1:
            return table[:, 0], False
        likelihood = observations[successors, transitions.action]
        low = np.where(likelihood > 0.0, table, np.inf).min(axis=1)
        high = np.where(likelihood > 0.0, table, -np.inf).max(axis=1)
        return np.where(low == high, low, (likelihood * table).sum(axis=1)), bool((low != high).any())


class _Transitions:
    """Finds the transitions that an entry of R speaks of, without going through all of them."""

    def __init__(self, first: np.ndarray, successors: np.ndarray, actions: int) -> None:
        self.first, self.successors, self.actions = first, successors, actions
        self.visited = 0
        """How many transitions have been looked at."""

    @functools.cached_property
    def action(self) -> np.ndarray:
        """Of each transition [M]."""
        return np.repeat(np.arange(len(self.first) - 1) % self.actions, np.diff(self.first))

    @functools.cached_property
    def by_action(self) -> list[np.ndarray]:
        return _grouped(self.action, self.actions)

    @functools.cached_property
    def by_successor(self) -> list[np.ndarray]:
        return _grouped(self.successors, (len(self.first) - 1) // self.actions)

    def matching(self, action: int, state: int, arrived: int) -> Any:
        """Which they are, as an index into the list of transitions."""
        result: Any
        if state != ALL:
            low, high = (0, self.actions) if action == ALL else (action, action + 1)
            begin, end = int(self.first[state * self.actions + low]), int(self.first[state * self.actions + high])
            self.visited += end - begin
            if arrived == ALL:
                return slice(begin, end)
            return np.flatnonzero(self.successors[begin:end] == arrived) + begin
        if arrived == ALL:
            result = slice(None) if action == ALL else self.by_action[action]
            self.visited += len(self.successors[result])
            return result
        result = self.by_successor[arrived]
        self.visited += len(result)
        return result if action == ALL else result[self.action[result] == action]


def _grouped(numbers: np.ndarray, size: int) -> list[np.ndarray]:
    """The indices of each number 0 .. size - 1."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.searchsorted(numbers[order], np.arange(1, size)))
