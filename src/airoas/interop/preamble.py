"""What stands first in a `.pomdp` file: discount, values, the names of things, start; in any order, but states before start."""

from __future__ import annotations

import numpy as np

from airoas.errors import suggest
from airoas.interop.entries import ALL, CELLS
from airoas.interop.lexer import PREAMBLE, TOLERANCE, Tokens

MOST = {"states": 1_000_000, "actions": 10_000, "observations": 1_000_000}
"""The most of each; their product has a limit too (`sheets.CELLS`)."""
_LONGEST_NAME = 100


class Names:
    """The states, the actions or the observations."""

    def __init__(self, what: str, size: int, labels: tuple[str, ...]) -> None:
        self.what, self.size, self.labels = what, size, labels
        """The labels are empty where the file gives only how many there are."""
        self.known = {label: number for number, label in enumerate(labels)} | {"*": ALL}
        """By name, and by the numbers that have been used."""

    def refer(self, tokens: Tokens, wildcard: bool = True) -> int:
        """The number of one of them, by its number or name; ALL for *."""
        at, one, word = tokens.at, self.what[:-1], tokens.word
        if word in self.known and (wildcard or word != "*"):
            tokens.advance()
        elif tokens.kind == "name":
            near = suggest(word[:_LONGEST_NAME], self.labels) if self.size <= 1000 else ""
            raise tokens.error(f"there is no {one} {word[:40]!r}", f"{near}Use a name from `{self.what}:`, or 0 .. {self.size - 1}.")
        elif tokens.kind == "number":
            number = tokens.whole(f"the number of {'an' if one[0] in 'ao' else 'a'} {one}")
            if number >= self.size:
                raise tokens.error(f"there is no {one} {number}", f"use 0 .. {self.size - 1}.", at)
            self.known[word] = number
        else:
            remedy = f"write its name or its number 0 .. {self.size - 1}{', or * for all' if wildcard else ''}."
            raise tokens.error(f"{tokens.shown} where one of the {self.what} is expected", remedy)
        return self.known[word]


class Preamble:
    """Reads the preamble, and leaves the tokens at what follows it."""

    states: Names
    actions: Names
    observations: Names

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.discount = 0.0
        self.is_cost = False
        self.start = np.zeros(0)
        """[S]"""
        given: set[str] = set()
        while tokens.word in PREAMBLE:
            word, at = tokens.word, tokens.at
            if word in given:
                raise tokens.error(f"{word} is given twice", "leave one of them out.")
            given.add(word)
            tokens.advance()
            if word in MOST:
                setattr(self, word, self._names(word))
                self._refuse_too_large(at)
            else:
                {"discount": self._read_discount, "values": self._read_values, "start": self._read_start}[word]()
        for word in ("discount", *MOST):
            if word not in given:
                example = "discount: 0.95" if word == "discount" else f"{word}: 2"
                raise tokens.error(f"there is no `{word}` above this", f"write `{example}`, say, among the first lines.")
        if "start" not in given:
            self.start = np.full(self.states.size, 1.0 / self.states.size)

    def _read_discount(self) -> None:
        self.tokens.colon()
        at = self.tokens.at
        self.discount = self.tokens.number("the discount")
        if self.discount == 1.0:
            remedy = "write a discount below 1; 0.999 hardly changes a problem that ends within 100 steps."
            raise self.tokens.error("discount is 1, with which values need not be finite", remedy, at)
        if not 0.0 < self.discount < 1.0:
            raise self.tokens.error(f"discount is {self.discount:g}", "choose it between 0 and 1, both excluded; 0.95 is usual.", at)

    def _read_values(self) -> None:
        self.tokens.colon()
        if self.tokens.word not in ("reward", "cost"):
            raise self.tokens.error(f"{self.tokens.shown} where `reward` or `cost` is expected", "write one of them.")
        self.is_cost = self.tokens.word == "cost"
        self.tokens.advance()

    def _names(self, what: str) -> Names:
        """A count, or a list of names."""
        tokens = self.tokens
        tokens.colon()
        if tokens.kind == "number":
            at = tokens.at
            size = tokens.whole(f"the number of {what}")
            if not 1 <= size <= MOST[what]:
                raise tokens.error(f"{size} {what}", f"give 1 to {MOST[what]:,}.", at)
            return Names(what, size, ())
        labels: dict[str, None] = {}
        while tokens.kind == "name":
            if tokens.word in labels:
                raise tokens.error(f"{tokens.shown} twice among the {what}", "give each a name of its own.")
            if len(tokens.word) > _LONGEST_NAME:
                raise tokens.error(f"{tokens.shown} for a name", f"use at most {_LONGEST_NAME} letters.")
            if len(labels) == MOST[what]:
                raise tokens.error(f"there are more than {MOST[what]:,} {what}", "such a problem is too large for tables.")
            labels[tokens.word] = None
            tokens.advance()
        if not labels or tokens.kind not in ("keyword", "end"):
            remedy = "give how many there are, or names of letters, digits, _ and - that begin with a letter; T, O, R, start are taken."
            raise tokens.error(f"{tokens.shown} where the {what} are expected", remedy)
        return Names(what, len(labels), tuple(labels))

    def _refuse_too_large(self, at: int) -> None:
        cells = 1
        for word in MOST:
            cells *= getattr(self, word).size if hasattr(self, word) else 1
        if cells > CELLS:
            problem = f"states times actions times observations is at least {cells:,}, above {CELLS:,}"
            raise self.tokens.error(problem, "such a problem is too large for tables: write it as a model in Python.", at)

    def _read_start(self) -> None:
        tokens, at = self.tokens, self.tokens.at
        if not hasattr(self, "states"):
            raise tokens.error("start stands before states", "move `states:` above it.")
        self.start = np.zeros(self.states.size)
        if tokens.word in ("include", "exclude"):
            include = tokens.take("include") or not tokens.take("exclude")
            tokens.colon()
            self.start[self.states.refer(tokens, wildcard=False)] = 1.0
            while tokens.kind in ("name", "number"):
                self.start[self.states.refer(tokens, wildcard=False)] = 1.0
            self.start = self.start if include else 1.0 - self.start
            if not self.start.any():
                raise tokens.error("start excludes every state", "leave at least one.", at)
            self.start /= self.start.sum()
            return
        tokens.colon()
        if tokens.take("uniform"):
            self.start[:] = 1.0 / self.states.size
        elif tokens.kind == "name":
            self.start[self.states.refer(tokens, wildcard=False)] = 1.0
        else:
            self._read_start_numbers()

    def _read_start_numbers(self) -> None:
        """A vector; or one whole number, a state (1 is the vector, though, where there is but one state)."""
        tokens, at, size = self.tokens, self.tokens.at, self.states.size
        is_whole, word = tokens.is_whole, tokens.word
        value = tokens.number("a state, or the probabilities of all,")
        if is_whole and tokens.kind != "number" and not (size == 1 and word == "1"):
            if int(word) >= size:
                raise tokens.error(f"there is no state {word}", f"use 0 .. {size - 1}.", at)
            self.start[int(word)] = 1.0
            return
        for i in range(size):
            at_number = at if i == 0 else tokens.at
            p = value if i == 0 else tokens.number(f"number {i + 1} of the {size} of start")
            if not 0.0 <= p <= 1.0 + TOLERANCE:
                raise tokens.error(f"{p:g} is no probability", "write a number from 0 to 1.", at_number)
            self.start[i] = p
        total = self.start.sum()
        if abs(total - 1.0) > TOLERANCE:
            raise tokens.error(f"the probabilities of start sum to {total:.9g}", f"make them sum to 1 (to within {TOLERANCE:g}).", at)
        self.start /= total
