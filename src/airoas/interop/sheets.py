"""What a `.pomdp` file writes, in the file's order with its wildcards, and the tables that come of it.

An entry is kept as it stands, ALL for a wildcard; only the finished table writes it out, later entries over earlier ones.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from airoas.interop.lexer import TOLERANCE, Tokens

ALL = -1
CELLS = 10_000_000
"""The most cells of one table, wildcards written out."""
WORK = 100 * CELLS
"""The most cells of rewards that are written in all, those written over counted again."""


class Sheet:
    """The entries of T (columns: next states) or O (columns: observations) for `sizes` = actions, states, columns."""

    def __init__(self, tokens: Tokens, letter: str, sizes: tuple[int, int, int]) -> None:
        self.tokens, self.letter, self.sizes = tokens, letter, sizes
        self.entries = (array("q"), array("q"), array("q"))
        self.values, self.places = array("d"), array("q")
        self.cleared: list[tuple[int, int, int, int]] = []
        """(action, state, number of entries before, place) of whole rows that are written anew."""
        self.size = 0

    def clear(self, action: int, state: int, at: int) -> None:
        """Begin whole rows anew: what stood there counts no more."""
        self._count(action, state, 0, at)
        self.cleared.append((action, state, len(self.values), at))

    def put(self, action: int, state: int, column: int, value: float, at: int) -> None:
        self._count(action, state, column, at)
        for kept, number in zip(self.entries, (action, state, column), strict=True):
            kept.append(number)
        self.values.append(value)
        self.places.append(at)

    def _count(self, action: int, state: int, column: int, at: int) -> None:
        cells = 1
        for number, size in zip((action, state, column), self.sizes, strict=True):
            cells *= size if number == ALL else 1
        self.size += cells
        if self.size > CELLS:
            problem = f"{self.letter} has more than {CELLS:,} entries up to here, wildcards written out"
            raise self.tokens.error(problem, "such a problem is too large for tables: write it as a model in Python.", at)

    def rows(self, names: tuple[tuple[str, ...], ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positive probabilities by row s * A + a: the first place of each row [S * A + 1], their columns and values [M]."""
        actions, states, columns = self.sizes
        written = [np.frombuffer(kept, dtype=np.int64) if kept else np.zeros(0, np.int64) for kept in self.entries]
        spans = [np.where(part == ALL, size, 1) for part, size in zip(written, self.sizes, strict=True)]
        times = spans[0] * spans[1] * spans[2]
        entry = np.repeat(np.arange(len(times)), times)
        copy = np.arange(len(entry)) - np.repeat(np.cumsum(times) - times, times)
        cell = []
        for part, span in zip(written, spans, strict=True):
            cell.append(np.where(part[entry] == ALL, copy % span[entry], part[entry]))
            copy //= span[entry]
        row = cell[1] * actions + cell[0]
        since = np.zeros((states, actions), dtype=np.int64)
        for action, state, before, _ in self.cleared:
            since[slice(None) if state == ALL else state, slice(None) if action == ALL else action] = before
        kept = np.flatnonzero(entry >= since.ravel()[row])
        key = row[kept] * columns + cell[2][kept]
        order = np.argsort(key, kind="stable")
        last = order[np.append(np.diff(key[order]) > 0, True)] if len(order) else order  # the file's last word on each cell
        row, column, entry = (part[kept[last]] for part in (row, cell[2], entry))
        value = np.frombuffer(self.values, dtype=np.float64)[entry] if len(entry) else np.zeros(0)
        total = np.bincount(row, weights=value, minlength=states * actions)
        self._refuse_sums(total, row, entry, names)
        positive = value > 0.0
        row, column, value = row[positive], column[positive], value[positive]
        first = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=states * actions))))
        return first, column, value / total[row]

    def _refuse_sums(self, total: np.ndarray, row: np.ndarray, entry: np.ndarray, names: tuple[tuple[str, ...], ...]) -> None:
        wrong = np.flatnonzero(np.abs(total - 1.0) > TOLERANCE)
        if not len(wrong):
            return
        state, action = divmod(int(wrong[0]), self.sizes[0])
        labels = [known[number] if known else str(number) for known, number in zip(names, (action, state), strict=True)]
        header = f"{self.letter}: {' : '.join(labels)}"
        others = f" ({len(wrong) - 1} other rows likewise)" if len(wrong) > 1 else ""
        places = [self.places[number] for number in entry[row == wrong[0]].tolist()]
        places += [at for a, s, _, at in self.cleared if a in (ALL, action) and s in (ALL, state)]
        if not places:
            remedy = f"write `{header}` and the probabilities, or a wildcard * that covers it."
            raise self.tokens.error(f"`{header}` is given nowhere{others}", remedy, len(self.tokens.text))
        problem = f"the probabilities of `{header}` sum to {total[wrong[0]]:.9g}{others}"
        raise self.tokens.error(problem, f"make them sum to 1 (to within {TOLERANCE:g}).", max(places))


class Rewards:
    """The entries of R: action, state, next state, observation, value."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.entries = (array("q"), array("q"), array("q"), array("q"))
        self.values, self.places = array("d"), array("q")

    def put(self, action: int, state: int, arrived: int, seen: int, value: float, at: int) -> None:
        for kept, number in zip(self.entries, (action, state, arrived, seen), strict=True):
            kept.append(number)
        self.values.append(value)
        self.places.append(at)

    def of_transitions(self, first: np.ndarray, successors: np.ndarray, observations: np.ndarray) -> tuple[np.ndarray, bool]:
        """The reward of each transition [M], and whether it had to be averaged over what is observed then."""
        width = observations.shape[2] if any(seen != ALL for seen in self.entries[3]) else 1
        if len(successors) * width > CELLS:
            at = next(at for at, seen in zip(self.places, self.entries[3], strict=True) if seen != ALL)
            problem = f"rewards by observation would fill {len(successors) * width:,} cells, above {CELLS:,}"
            raise self.tokens.error(problem, "write * for the observation, and the mean reward.", at)
        transitions = _Transitions(first, successors, observations.shape[1])
        table = np.zeros((len(successors), width))
        for action, state, arrived, seen, value, at in zip(*self.entries, self.values, self.places, strict=True):
            table[transitions.matching(action, state, arrived), slice(None) if seen == ALL else seen] = value
            if transitions.visited * width > WORK:
                problem = f"rewards have been written {WORK:,} times up to here, wildcards written out"
                raise self.tokens.error(problem, "leave out the entries that later ones replace.", at)
        if width == 1:
            return table[:, 0], False
        chance = observations[successors, transitions.action]
        low = np.where(chance > 0.0, table, np.inf).min(axis=1)
        high = np.where(chance > 0.0, table, -np.inf).max(axis=1)
        return np.where(low == high, low, (chance * table).sum(axis=1)), bool((low != high).any())


class _Transitions:
    """Finds the transitions that an entry of R speaks of, without going through all of them."""

    def __init__(self, first: np.ndarray, successors: np.ndarray, actions: int) -> None:
        self.first, self.successors, self.actions = first, successors, actions
        self.state, self.action = np.divmod(np.repeat(np.arange(len(first) - 1), np.diff(first)), actions)
        self.by_successor = np.argsort(successors, kind="stable")
        self.by_action = np.argsort(self.action, kind="stable")
        self.arrivals = np.searchsorted(successors[self.by_successor], np.arange((len(first) - 1) // actions + 1))
        self.acting = np.searchsorted(self.action[self.by_action], np.arange(actions + 1))
        self.visited = 0
        """How many transitions have been looked at."""

    def matching(self, action: int, state: int, arrived: int) -> Any:
        """Their places, as an index into the list of transitions."""
        found: Any
        if state != ALL:
            low, high = (0, self.actions) if action == ALL else (action, action + 1)
            begin, end = self.first[state * self.actions + low], self.first[state * self.actions + high]
            self.visited += int(end - begin)
            if arrived == ALL:
                return slice(begin, end)
            if action != ALL:  # one row, sorted
                place = begin + np.searchsorted(self.successors[begin:end], arrived)
                return slice(place, place + int(place < end and self.successors[place] == arrived))
            return np.flatnonzero(self.successors[begin:end] == arrived) + begin
        if arrived == ALL:
            found = slice(None) if action == ALL else self.by_action[self.acting[action] : self.acting[action + 1]]
            self.visited += len(self.successors[found])
            return found
        found = self.by_successor[self.arrivals[arrived] : self.arrivals[arrived + 1]]
        self.visited += len(found)
        return found if action == ALL else found[self.action[found] == action]
