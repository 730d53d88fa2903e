"""The words of a `.pomdp` file, one at a time, in time linear in its length; errors with line and column."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from airoas.errors import OptionError

PREAMBLE = ("discount", "values", "states", "actions", "observations", "start")
RESERVED = {*PREAMBLE, "T", "O", "R", "uniform", "identity", "reset", "reward", "cost", "include", "exclude"}
TOLERANCE = 1e-5
"""How far probabilities may be from summing to 1; within it they are divided by their sum."""
LARGEST_REWARD = 1e100

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
_WHOLE = re.compile("[0-9]{1,18}")
_ENTRY = re.compile(rf"([TOR])((?:\s*+:\s*+[A-Za-z0-9_*-]++){{3,4}}+)\s++({_NUMBER}){_ENDS}")


@functools.cache
def _numbers(count: int) -> re.Pattern[str]:
    return re.compile(rf"{_NUMBER}(?:\s++{_NUMBER}){{{count - 1}}}+{_ENDS}")


class Tokens:
    """A text with the word in hand: its `kind` (number, name, keyword, mark, wrong or end), the word, where it begins."""

    __slots__ = ("_next", "at", "kind", "text", "title", "word")

    def __init__(self, text: str, title: str) -> None:
        self.text, self.title, self._next = text, title, 0
        self.advance()

    def advance(self) -> None:
        """Take up the next word."""
        match = _TOKEN.match(self.text, self._next)
        assert match is not None, "every part of it is optional"
        kind = match.lastgroup
        self._next = match.end()
        self.at = self._next if kind is None else match.start(kind)
        self.word = self.text[self.at : self._next]
        self.kind = kind or "end"
        if self.word in RESERVED:
            self.kind = "keyword"

    def take(self, word: str) -> bool:
        """Whether the word in hand is this one, which is then passed."""
        if self.word != word:
            return False
        self.advance()
        return True

    def colon(self) -> None:
        if not self.take(":"):
            raise self.error(f"{self.shown} where a colon is expected", "write `:` here.")

    @property
    def is_whole(self) -> bool:
        """Whether the word is a whole number without a sign, of a length that can count something."""
        return _WHOLE.fullmatch(self.word) is not None

    def whole(self, what: str) -> int:
        if not self.is_whole:
            raise self.error(f"{self.shown} for {what}", "write a whole number from 0 on.")
        number = int(self.word)
        self.advance()
        return number

    def number(self, what: str) -> float:
        if self.kind != "number":
            raise self.error(f"{self.shown} where {what} is expected", "write a number.")
        value = float(self.word.replace(" ", ""))
        self.advance()
        return value

    def probability(self, what: str = "a probability") -> float:
        at = self.at
        p = self.number(what)
        if not 0.0 <= p <= 1.0 + TOLERANCE:
            raise self.error(f"{p:g} is no probability", "write a number from 0 to 1.", at)
        return p

    def reward(self, what: str = "a reward") -> float:
        at = self.at
        value = self.number(what)
        if not abs(value) <= LARGEST_REWARD:
            raise self.error(f"the reward {value:g} is too large", f"keep it within {LARGEST_REWARD:g}.", at)
        return value

    def probabilities(self, count: int) -> list[float]:
        return self._row(count, 0.0, 1.0 + TOLERANCE, self.probability)

    def rewards(self, count: int) -> list[float]:
        return self._row(count, -LARGEST_REWARD, LARGEST_REWARD, self.reward)

    def _row(self, count: int, lowest: float, highest: float, one: Callable[[str], float]) -> list[float]:
        """So many numbers: together where all is well, else one by one, past comments or up to the wrong one."""
        match = _numbers(count).match(self.text, self.at)
        if match is not None:
            row = list(map(float, match.group().split()))
            if lowest <= min(row) and max(row) <= highest:
                self.go_to(match.end())
                return row
        return [one(f"number {i + 1} of {count} in the row") for i in range(count)]

    def entry(self) -> tuple[str, list[str], float, int] | None:
        """A whole `T: a : s : s2 0.5`, as most lines are: letter, references, number, and where it ends. Does not go there."""
        match = _ENTRY.match(self.text, self.at)
        if match is None:
            return None
        letter, references, number = match.groups()
        return letter, [word.strip() for word in references.split(":")[1:]], float(number), match.end()

    def go_to(self, position: int) -> None:
        self._next = position
        self.advance()

    @property
    def shown(self) -> str:
        """The word in hand, for messages."""
        if self.kind == "end":
            return "the file ends"
        return f"{self.word if len(self.word) <= 40 else self.word[:37] + '...'!r} stands"

    def error(self, problem: str, remedy: str, at: int | None = None) -> OptionError:
        """An error at the word in hand, or at a position."""
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        return OptionError(problem, remedy, where=f"{self.title}, line {line}, column {at - self.text.rfind(chr(10), 0, at)}")
