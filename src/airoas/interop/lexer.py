"""The words of a `.pomdp` file, one at a time, in time linear in its length; errors with line and column."""

from __future__ import annotations

import re

from airoas.errors import OptionError, suggest

PREAMBLE = ("discount", "values", "states", "actions", "observations", "start")
_RESERVED = {*PREAMBLE, "T", "O", "R", "uniform", "identity", "reset", "reward", "cost", "include", "exclude"}
TOLERANCE = 1e-5
"""How far probabilities may be from summing to 1; within it they are divided by their sum."""
RANGES = {"a probability": (0.0, 1.0 + TOLERANCE), "a reward": (-1e100, 1e100)}
ALL = -1
LONGEST_NAME = 100

_NUMBER = r"[+-]?+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
_ENDS = r"(?![A-Za-z0-9_.])"
_TOKEN = re.compile(
    rf"""(?:\s++|\#[^\n]*+)*+                     # blanks and comments
    (?:(?P<number>(?:[+-][ ]++(?![+-]))?+{_NUMBER}){_ENDS}
    |(?P<name>[A-Za-z][A-Za-z0-9_-]*+)
    |(?P<mark>[:*])
    |(?P<wrong>[^\s:*\#]++))?+""",
    re.VERBOSE,
)
ENTRY = re.compile(rf"([TOR])((?:\s*+:\s*+[A-Za-z0-9_*-]++){{3,4}}+)\s++({_NUMBER}){_ENDS}")
"""A whole `T: a : s : s2 0.5`, as most lines are: letter, references, number."""


class Tokens:
    """A text with the word in hand: its `kind` (number, name, keyword, mark, wrong or end), the word, where it begins and ends."""

    def __init__(self, text: str, title: str) -> None:
        self.text, self.title = text, title
        self.go_to(0)

    def go_to(self, position: int) -> None:
        """Take up the first word from there on."""
        match = _TOKEN.match(self.text, position)
        assert match is not None, "every part of it is optional"
        self.end = match.end()
        self.at = match.start(match.lastgroup) if match.lastgroup else self.end
        self.word = self.text[self.at : self.end]
        self.kind = "keyword" if self.word in _RESERVED else match.lastgroup or "end"

    def take(self, *words: str) -> str:
        """The word in hand, which is then passed, if it is one of these; else nothing."""
        word = self.word if self.word in words else ""
        if word:
            self.go_to(self.end)
        return word

    def colon(self) -> None:
        if not self.take(":"):
            raise self.error(f"{self.shown} where a colon is expected", "write `:` here.")

    def is_whole(self) -> bool:
        """Whether the word is a whole number without a sign, of a length that can count something."""
        return re.fullmatch("[0-9]{1,18}", self.word) is not None

    def whole(self, what: str) -> int:
        self.require(self.is_whole(), f"{self.shown} for {what}", "write a whole number from 0 on.")
        return int(self.take(self.word))

    def number(self, what: str, kind: str = "") -> float:
        """A number, in the range of its kind."""
        if self.kind != "number":
            raise self.error(f"{self.shown} where {what} is expected", "write a number.")
        value = float(self.word.replace(" ", ""))
        if kind and not RANGES[kind][0] <= value <= RANGES[kind][1]:
            if kind == "a reward":
                raise self.error(f"the reward {value:g} is too large", f"keep it within {RANGES[kind][1]:g}.")
            raise self.error(f"{value:g} is no probability", "write a number from 0 to 1.")
        self.go_to(self.end)
        return value

    def row(self, count: int, kind: str, what: str = "number {} of {} in the row") -> list[float]:
        """So many numbers: together where all is well, else one by one, past comments or up to the wrong one."""
        match = re.compile(rf"{_NUMBER}(?:\s++{_NUMBER}){{{count - 1}}}+{_ENDS}").match(self.text, self.at)
        row = list(map(float, match.group().split())) if match else []
        if match and RANGES[kind][0] <= min(row) and max(row) <= RANGES[kind][1]:
            self.go_to(match.end())
            return row
        return [self.number(what.format(i + 1, count), kind) for i in range(count)]

    @property
    def shown(self) -> str:
        """The word in hand, for messages."""
        return f"{self.word if len(self.word) <= 40 else self.word[:37] + '...'!r} stands" if self.word else "the file ends"

    def error(self, problem: str, remedy: str, at: int | None = None) -> OptionError:
        """An error at the word in hand, or at a position."""
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        return OptionError(problem, remedy, where=f"{self.title}, line {line}, column {at - self.text.rfind(chr(10), 0, at)}")

    def require(self, fulfilled: object, problem: str, remedy: str, at: int | None = None) -> None:
        if not fulfilled:
            raise self.error(problem, remedy, at)


class Names:
    """The states, the actions or the observations: how many, and their labels if the file gives any."""

    def __init__(self, what: str, size: int, labels: tuple[str, ...] = ()) -> None:
        self.what, self.size, self.labels = what, size, labels
        self.known = {label: number for number, label in enumerate(labels)} | {"*": ALL}
        """By name, and by the numbers that have been used."""

    def refer(self, tokens: Tokens, wildcard: bool = True) -> int:
        """The number of one of them, by its number or name; ALL for *."""
        at, word, one, numbers = tokens.at, tokens.word, self.what[:-1], f"0 .. {self.size - 1}"
        if word in self.known and (wildcard or word != "*"):
            return self.known[tokens.take(word)]
        if tokens.kind == "name":
            near = suggest(word[:LONGEST_NAME], self.labels) if self.size <= 1000 else ""
            raise tokens.error(f"there is no {one} {word[:40]!r}", f"{near}Use a name from `{self.what}:`, or {numbers}.")
        if tokens.kind != "number":
            remedy = f"write its name or its number {numbers}{', or * for all' if wildcard else ''}."
            raise tokens.error(f"{tokens.shown} where one of the {self.what} is expected", remedy)
        number = tokens.whole(f"the number of {'a' if one == 'state' else 'an'} {one}")
        tokens.require(number < self.size, f"there is no {one} {number}", f"use {numbers}.", at)
        self.known[word] = number
        return number
