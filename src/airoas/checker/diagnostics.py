"""What `check` finds, in sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from airoas.compiler.diagnose import plain_types
from airoas.errors import AiroasError, rounded
from airoas.modelling.introspection import class_place


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (an error), may be (a warning), or is good to know (a note)."""

    level: str
    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.problem}. {self.remedy[:1].upper()}{self.remedy[1:]}"


@dataclass(frozen=True)
class Report:
    """What `check` found. Printing it gives one line for each finding."""

    model: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """No errors; warnings and notes are allowed."""
        return not any(finding.level == "error" for finding in self.findings)

    def __str__(self) -> str:
        lines = [str(finding) for finding in self.findings]
        count = sum(finding.level == "error" for finding in self.findings)
        lines.append(f"{self.model}: {'no errors' if self.ok else f'{count} error' + 's' * (count > 1)}.")
        return "\n".join(lines)

    def to_json(self) -> str:
        return json.dumps({"model": self.model, "ok": self.ok, "findings": [asdict(finding) for finding in self.findings]})


def finding(error: AiroasError, kind: type | None = None) -> Finding:
    """An error as a finding, in words that do not depend on the compiler."""
    where = error.where or (class_place(kind) if kind else "")
    return Finding("error", where, rounded(plain_types(error.problem)), error.remedy)


Told = Iterator[AiroasError | Finding]
"""What a stage of the check has to say."""
Progress = Callable[[str], None]
"""Called with what is being done."""
