"""Reads Cassandra's `.pomdp` files into a `Tabular` model.

First the preamble, then the tables T, O and R in any order, where a later entry replaces an earlier one. States, actions
and observations go by name or by number from 0, * stands for all. Every error names line and column.
"""

from __future__ import annotations

import math
import os
import warnings
from copy import copy
from pathlib import Path
from typing import cast

import numpy as np

from airoas.errors import OptionError
from airoas.interop.entries import ANEW, CELLS, SAME, TOO_LARGE, Entries, probabilities, rewards
from airoas.interop.lexer import ALL, ENTRY, LONGEST_NAME, PREAMBLE, TOLERANCE, Names, Tokens
from airoas.interop.tabular import Tabular

MAX_BYTES = 32 << 20
"""The largest file that is read."""
MOST = {"states": 1_000_000, "actions": 10_000, "observations": 1_000_000}
"""The most of each; their product has a limit too (`entries.CELLS`)."""


class AveragedRewardWarning(UserWarning):
    """Rewards that depend on the observation were averaged over it."""


def read_pomdp(path: str | os.PathLike[str]) -> Tabular:
    """The model in a `.pomdp` file."""
    file, data = Path(path), b""
    try:
        is_file, exists = file.is_file(), file.exists()
        if is_file:
            with file.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise OptionError(f"{file} cannot be read ({getattr(error, 'strerror', None) or error})", "give a readable file.") from None
    if not is_file:
        problem = f"{file} is no file" if exists else f"there is no file {file}"
        raise OptionError(problem, "check the path; a problem is given as file.pomdp.")
    if len(data) > MAX_BYTES:
        raise OptionError(f"{file} is larger than {MAX_BYTES >> 20} MiB", TOO_LARGE)
    return parse_pomdp(data.decode("utf-8-sig", errors="replace"), file.name)


def parse_pomdp(text: str, title: str = "text") -> Tabular:
    """The model that a text in the format of `.pomdp` files describes; `title` names it in messages and printouts."""
    tokens = Tokens(text, title)
    discount, is_cost, start, states, actions, observations = _preamble(tokens)
    tables = {
        "T": Entries(tokens, "T", actions, states, states),
        "O": Entries(tokens, "O", actions, states, observations),
        "R": Entries(tokens, "R", actions, states, states, observations),
    }
    possible = {state: float(start[state]) for state in np.flatnonzero(start).tolist()}
    while tokens.kind != "end":
        _read(tokens, tables, possible)
    first, successors, moves = probabilities(tables["T"])
    row, column, probability = probabilities(tables["O"])
    seen = np.zeros((states.size, actions.size, observations.size))
    seen.reshape(-1, observations.size)[np.repeat(np.arange(len(row) - 1), np.diff(row)), column] = probability
    paid, averaged = rewards(tables["R"], first, successors, seen)
    if averaged:
        told = f"{title}: rewards that depend on the observation are averaged over it, which leaves expected returns as they are"
        warnings.warn(told, AveragedRewardWarning, stacklevel=2)
    paid = 0.0 - paid if is_cost else paid
    labels = (actions.labels or tuple(map(str, range(actions.size))), states.labels, observations.labels)
    return Tabular(discount, start, first, successors, moves, paid, seen, *labels, title)


def _preamble(tokens: Tokens) -> tuple[float, bool, np.ndarray, Names, Names, Names]:
    """Discount, whether values are costs, start [S], states, actions, observations."""
    given: set[str] = set()
    names: dict[str, Names] = {}
    discount, is_cost, start = 0.0, False, np.zeros(0)
    while (word := tokens.word) in PREAMBLE:
        at = tokens.at
        tokens.require(word not in given, f"{word} is given twice", "leave one of them out.")
        given.add(tokens.take(word))
        if word == "start":
            tokens.require("states" in names, "start stands before states", "move `states:` above it.")
            start = _start(tokens, names["states"])
            continue
        tokens.colon()
        if word == "discount":
            at, discount = tokens.at, tokens.number("the discount")
            remedy = "write a discount below 1; 0.999 hardly changes a problem that ends within 100 steps."
            tokens.require(discount != 1.0, "discount is 1, with which values need not be finite", remedy, at)
            remedy = "choose it between 0 and 1, both excluded; 0.95 is usual."
            tokens.require(0.0 < discount < 1.0, f"discount is {discount:g}", remedy, at)
        elif word == "values":
            is_cost = tokens.word == "cost"
            tokens.require(tokens.take("reward", "cost"), f"{tokens.shown} where `reward` or `cost` is expected", "write one of them.")
        else:
            names[word] = _names(tokens, word)
            cells = math.prod(part.size for part in names.values())
            problem = f"states times actions times observations is at least {cells:,}, above {CELLS:,}"
            tokens.require(cells <= CELLS, problem, TOO_LARGE, at)
    for word, example in {"discount": "0.95", **dict.fromkeys(MOST, "2")}.items():
        remedy = f"write `{word}: {example}`, say, among the first lines."
        tokens.require(word in given, f"there is no `{word}` above this", remedy)
    states = names["states"]
    start = start if len(start) else np.full(states.size, 1.0 / states.size)
    return discount, is_cost, start, states, names["actions"], names["observations"]


def _names(tokens: Tokens, what: str) -> Names:
    """A count, or a list of names."""
    at, most = tokens.at, MOST[what]
    if tokens.kind == "number":
        size = tokens.whole(f"the number of {what}")
        tokens.require(1 <= size <= most, f"{size} {what}", f"give 1 to {most:,}.", at)
        return Names(what, size)
    labels: dict[str, None] = {}
    while tokens.kind == "name" and tokens.word not in labels and len(tokens.word) <= LONGEST_NAME and len(labels) < most:
        labels[tokens.take(tokens.word)] = None
    if tokens.kind == "name":
        tokens.require(tokens.word not in labels, f"{tokens.shown} twice among the {what}", "give each a name of its own.")
        tokens.require(len(tokens.word) <= LONGEST_NAME, f"{tokens.shown} for a name", f"use at most {LONGEST_NAME} letters.")
        raise tokens.error(f"there are more than {most:,} {what}", "such a problem is too large for tables.")
    remedy = "give how many there are, or names of letters, digits, _ and - that begin with a letter; T, O, R, start are taken."
    tokens.require(labels and tokens.kind in ("keyword", "end"), f"{tokens.shown} where the {what} are expected", remedy)
    return Names(what, len(labels), tuple(labels))


def _start(tokens: Tokens, states: Names) -> np.ndarray:
    """[S]: `uniform`, a state, states to include or exclude, or a vector; 1 is the vector where there is but one state."""
    at, start, rule = tokens.at, np.zeros(states.size), tokens.take("include", "exclude")
    tokens.colon()
    position, ahead, is_vector = tokens.at, copy(tokens), False
    if not rule and tokens.kind != "name" and tokens.word != "uniform":
        ahead.number("a state, or the probabilities of all,")
        is_vector = ahead.kind == "number" or not tokens.is_whole() or (states.size, tokens.word) == (1, "1")
    if is_vector:
        start[:] = tokens.row(states.size, "a probability", "number {} of the {} of start")
        problem, remedy = f"the probabilities of start sum to {start.sum():.9g}", f"make them sum to 1 (to within {TOLERANCE:g})."
        tokens.require(abs(start.sum() - 1.0) <= TOLERANCE, problem, remedy, position)
    elif not rule and tokens.take("uniform"):
        start[:] = 1.0
    else:
        start[states.refer(tokens, wildcard=False)] = 1.0
        while rule and tokens.kind in ("name", "number"):
            start[states.refer(tokens, wildcard=False)] = 1.0
        start = 1.0 - start if rule == "exclude" else start
        tokens.require(start.any(), "start excludes every state", "leave at least one.", at)
    start /= start.sum()
    return start


def _read(tokens: Tokens, tables: dict[str, Entries], start: dict[int, float]) -> None:
    """Read an entry; or a row, where the last reference is left out; or a matrix with a row for every state, where the last two are."""
    at, quick = tokens.at, ENTRY.match(tokens.text, tokens.at)
    if quick:
        letter, references, number = quick.groups()
        table, words, value = tables[letter], references.split(":")[1:], float(number)
        known = [axis.known.get(word.strip()) for axis, word in zip(table.axes, words, strict=False)]
        if len(words) == len(table.axes) and None not in known and table.lowest <= value <= table.highest:
            table.put(cast("list[int]", known), value, at)
            tokens.go_to(quick.end())
            return
    letter = tokens.take(*tables)
    if not letter:
        tokens.require(tokens.word not in PREAMBLE, f"{tokens.shown} below T, O or R", "move it above the first of them.")
        raise tokens.error(f"{tokens.shown} where T, O or R is expected", "begin an entry with one of them, or mark a comment with #.")
    table = tables[letter]
    *first, states, columns = table.axes
    numbers: list[int] = []
    for axis in table.axes:
        if len(numbers) < len(first):
            tokens.colon()
        elif not tokens.take(":"):
            break
        numbers.append(axis.refer(tokens))
    if len(numbers) == len(table.axes):
        table.put(numbers, tokens.number(table.kind, table.kind), at)
        return
    is_matrix = len(numbers) == len(first)
    if letter != "R":
        rows = [*numbers, ALL] if is_matrix else numbers
        table.put([*rows, ANEW], 0.0, at)
        keywords = {"uniform": {ALL: 1.0 / columns.size}, "identity": {SAME: 1.0}, "reset": start}
        has_meaning = {"identity": is_matrix and columns.size == states.size, "reset": letter == "T"}.get(tokens.word, True)
        remedy = "`uniform` may stand for any row or matrix, `identity` for a square matrix, `reset` for T only."
        tokens.require(has_meaning, f"{tokens.shown} where it has no meaning", remedy)
        if tokens.word in keywords:
            for column, value in keywords[tokens.take(*keywords)].items():
                table.put([*rows, column], value, at)
            return
    for row in ([*numbers, state] for state in range(states.size)) if is_matrix else [numbers]:
        at = at if letter == "R" else tokens.at
        values = tokens.row(columns.size, table.kind)
        if letter == "R" and min(values) == max(values):
            table.put([*row, ALL], values[0], at)
            continue
        for column, value in enumerate(values):
            if value > 0.0 or letter == "R":
                table.put([*row, column], value, at)
