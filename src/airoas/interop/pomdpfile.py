"""Reads Cassandra's `.pomdp` files into a `Tabular` model.

First the preamble, then the tables T, O and R in any order, where a later entry replaces an earlier one. States, actions
and observations go by name or by number from 0, * stands for all. Every error names line and column.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import cast

import numpy as np

from airoas.errors import OptionError
from airoas.interop.entries import ALL, Entries, Probabilities, Rewards
from airoas.interop.lexer import LARGEST_REWARD, PREAMBLE, TOLERANCE, Tokens
from airoas.interop.preamble import Names, Preamble
from airoas.interop.tabular import Tabular

MAX_BYTES = 32 << 20
"""The largest file that is read."""


class AveragedRewardWarning(UserWarning):
    """Rewards that depend on the observation were averaged over it."""


def read_pomdp(path: str | os.PathLike[str]) -> Tabular:
    """The model in a `.pomdp` file."""
    file = Path(path)
    try:
        if not file.is_file():
            problem = f"{file} is no file" if file.exists() else f"there is no file {file}"
            raise OptionError(problem, "check the path; a problem is given as file.pomdp.")
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(f"{file} cannot be read ({getattr(error, 'strerror', None) or error})", "give a readable file.") from None
    if len(data) > MAX_BYTES:
        remedy = "such a problem is too large for tables: write it as a model in Python."
        raise OptionError(f"{file} is larger than {MAX_BYTES >> 20} MiB", remedy)
    return parse_pomdp(data.decode("utf-8-sig", errors="replace"), file.name)


def parse_pomdp(text: str, title: str = "text") -> Tabular:
    """The model that a text in the format of `.pomdp` files describes; `title` names it in messages and printouts."""
    tokens = Tokens(text, title)
    preamble = Preamble(tokens)
    states, actions, observations = preamble.states.size, preamble.actions.size, preamble.observations.size
    tables = _Tables(preamble)
    names = (preamble.actions.labels, preamble.states.labels)
    first, successors, probabilities = tables.transitions.rows(names)
    row, column, probability = tables.observations.rows(names)
    seen = np.zeros((states, actions, observations))
    seen.reshape(-1, observations)[np.repeat(np.arange(states * actions), np.diff(row)), column] = probability
    rewards, averaged = tables.rewards.of_transitions(first, successors, seen)
    if averaged:
        told = f"{title}: rewards that depend on the observation are averaged over it, which leaves expected returns as they are"
        warnings.warn(told, AveragedRewardWarning, stacklevel=2)
    return Tabular(
        discount=preamble.discount,
        start=preamble.start,
        first=first,
        successors=successors,
        probabilities=probabilities,
        rewards=0.0 - rewards if preamble.is_cost else rewards,
        observations=seen,
        action_labels=preamble.actions.labels or tuple(map(str, range(actions))),
        state_labels=preamble.states.labels,
        observation_labels=preamble.observations.labels,
        title=title,
    )


class _Tables:
    """Reads T, O and R up to the end of the file."""

    def __init__(self, preamble: Preamble) -> None:
        self.preamble = preamble
        self.tokens = tokens = preamble.tokens
        states, actions, observations = preamble.states, preamble.actions, preamble.observations
        self.transitions = Probabilities(tokens, "T", (actions.size, states.size, states.size))
        self.observations = Probabilities(tokens, "O", (actions.size, states.size, observations.size))
        self.rewards = Rewards(tokens, (actions.size, states.size, states.size, observations.size))
        self.quick: dict[str, tuple[Entries, tuple[Names, ...], float, float]] = {
            "T": (self.transitions, (actions, states, states), 0.0, 1.0 + TOLERANCE),
            "O": (self.observations, (actions, states, observations), 0.0, 1.0 + TOLERANCE),
            "R": (self.rewards, (actions, states, states, observations), -LARGEST_REWARD, LARGEST_REWARD),
        }
        while tokens.kind != "end":
            at = tokens.at
            if self._read_quickly():
                continue
            if tokens.take("T"):
                self._read_probabilities(self.transitions, states, at)
            elif tokens.take("O"):
                self._read_probabilities(self.observations, observations, at)
            elif tokens.take("R"):
                self._read_rewards(at)
            elif tokens.word in PREAMBLE:
                raise tokens.error(f"{tokens.shown} below T, O or R", "move it above the first of them.")
            else:
                remedy = "begin an entry with one of them, or mark a comment with #."
                raise tokens.error(f"{tokens.shown} where T, O or R is expected", remedy)

    def _read_quickly(self) -> bool:
        """Read a single entry at one go where all in it is known and right; whether it was one. Most of a long file is such."""
        entry = self.tokens.entry()
        if entry is None:
            return False
        letter, words, value, end = entry
        entries, axes, lowest, highest = self.quick[letter]
        numbers = [names.known.get(word) for names, word in zip(axes, words, strict=False)]
        if len(words) != len(axes) or None in numbers or not lowest <= value <= highest:
            return False
        entries.put(cast("list[int]", numbers), value, self.tokens.at)
        self.tokens.go_to(end)
        return True

    def _read_probabilities(self, table: Probabilities, columns: Names, at: int) -> None:
        """T or O: one entry, one row, or a matrix with a row for every state."""
        tokens, states = self.tokens, self.preamble.states
        tokens.colon()
        action = self.preamble.actions.refer(tokens)
        is_matrix = not tokens.take(":")
        state = ALL if is_matrix else states.refer(tokens)
        if not is_matrix and tokens.take(":"):
            table.put((action, state, columns.refer(tokens)), tokens.probability(), at)
            return
        table.clear(action, state, at)
        if tokens.take("uniform"):
            table.put((action, state, ALL), 1.0 / columns.size, at)
        elif tokens.word == "reset" and columns is states:
            tokens.advance()
            for number in np.flatnonzero(self.preamble.start).tolist():
                table.put((action, state, number), float(self.preamble.start[number]), at)
        elif tokens.word == "identity" and is_matrix and columns.size == states.size:
            tokens.advance()
            for number in range(states.size):
                table.put((action, number, number), 1.0, at)
        elif tokens.word in ("reset", "identity"):
            remedy = "`uniform` may stand for any row or matrix, `identity` for a square matrix, `reset` for T only."
            raise tokens.error(f"{tokens.shown} where it has no meaning", remedy)
        else:
            for number in range(states.size) if is_matrix else (state,):
                at = tokens.at
                for column, p in enumerate(tokens.probabilities(columns.size)):
                    if p > 0.0:
                        table.put((action, number, column), p, at)

    def _read_rewards(self, at: int) -> None:
        """R: one entry, a row over observations, or a matrix of next states by observations."""
        tokens, preamble = self.tokens, self.preamble
        tokens.colon()
        action = preamble.actions.refer(tokens)
        tokens.colon()
        state = preamble.states.refer(tokens)
        arrivals: range | tuple[int] = range(preamble.states.size)
        if tokens.take(":"):
            arrivals = (preamble.states.refer(tokens),)
            if tokens.take(":"):
                self.rewards.put((action, state, arrivals[0], preamble.observations.refer(tokens)), tokens.reward(), at)
                return
        for arrived in arrivals:
            row = tokens.rewards(preamble.observations.size)
            if min(row) == max(row):
                self.rewards.put((action, state, arrived, ALL), row[0], at)
            else:
                for seen, value in enumerate(row):
                    self.rewards.put((action, state, arrived, seen), value, at)
