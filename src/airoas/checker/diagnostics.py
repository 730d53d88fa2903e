"""What `check` finds, in sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from airoas.compiler.diagnose import plain_types
from airoas.errors import AiroasError, rounded
from airoas.modelling.introspection import class_location


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong (an error), may be (a warning), or is good to know (a note)."""

    level: str
    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.problem}. {self.remedy[:1].upper()}{self.remedy[1:]}"


@dataclass(frozen=True)
class Report:
    """What `check` found. Printing it gives one line for each diagnostic."""

    model: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """No errors; warnings and notes are allowed."""
        return not any(diagnostic.level == "error" for diagnostic in self.diagnostics)

    def __str__(self) -> str:
        lines = [str(diagnostic) for diagnostic in self.diagnostics]
        count = sum(diagnostic.level == "error" for diagnostic in self.diagnostics)
        lines.append(f"{self.model}: {'no errors' if self.ok else f'{count} error' + 's' * (count > 1)}.")
        return "\n".join(lines)

    def to_json(self) -> str:
        return json.dumps({"model": self.model, "ok": self.ok, "diagnostics": [asdict(diagnostic) for diagnostic in self.diagnostics]})


def diagnostic(error: AiroasError, kind: type | None = None) -> Diagnostic:
    """An error as a diagnostic, in words that do not depend on the compiler."""
    where = error.where or (class_location(kind) if kind else "")
    return Diagnostic("error", where, rounded(plain_types(error.problem)), error.remedy)


Diagnoses = Iterator[AiroasError | Diagnostic]
"""What a stage of the check finds."""
Progress = Callable[[str], None]
"""Called with what is being done."""
