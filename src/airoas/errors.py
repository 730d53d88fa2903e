"""The exceptions of airoas. Every message ends with what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class AiroasError(Exception):
    """Base of every error raised on purpose; catch this one to catch them all.

    `str(error)` reads "what is wrong: what to do", with where it stands in front, if that is known.
    """

    def __init__(self, problem: str, remedy: str, *, where: str = "") -> None:
        self.problem = problem.rstrip(". ")
        self.remedy = remedy
        self.where = where
        super().__init__(problem, remedy)

    def __str__(self) -> str:
        prefix = f"{self.where}: " if self.where else ""
        return f"{prefix}{self.problem}. {self.remedy[:1].upper()}{self.remedy[1:]}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.problem, self.remedy, self.where)


def _rebuild(kind: type[AiroasError], problem: str, remedy: str, where: str) -> AiroasError:
    return kind(problem, remedy, where=where)


class OptionError(AiroasError, ValueError):
    """A value that the caller chose is not possible (an option, a parameter, a file name)."""


class ModelError(AiroasError):
    """A model does not keep the protocol; `where` names the method and, where known, file and line."""

    def __init__(self, problem: str, remedy: str, *, where: str = "") -> None:
        super().__init__(rounded(problem), remedy, where=where)


class CompileError(ModelError):
    """A model's method cannot be compiled to native code."""


class BeliefError(AiroasError):
    """A belief update has no answer (every particle contradicts the observation, for instance)."""


class ParticleDeprivationError(BeliefError):
    """No particle allows what was observed. Carries `belief` (before the action), `action`, `observation` and `reason`.

    reason: "observation" (no particle explains it), "ended" (the episode ended at this step in every particle, and yet it goes on)
    or "over" (it had ended before).
    """

    def __init__(self, belief: object, action: object, observation: object, reason: str = "observation") -> None:
        self.belief, self.action, self.observation, self.reason = belief, action, observation, reason
        problem, remedy = {
            "observation": (
                rounded(f"no particle explains observation {observation!r} after action {action!r}"),
                "use more particles, filter='exact' where the model allows it, or check that observe and obs_logpdf agree.",
            ),
            "ended": (
                f"the episode ended at this step (action {action!r}) in every particle, and yet it goes on",
                "let the model say that such an action may fail to end it, or use more particles.",
            ),
            "over": (
                "the episode had ended before this step in every particle",
                "begin again, from Particles.sample(model, n, rng) say.",
            ),
        }[reason]
        super().__init__(problem, remedy)

    def __reduce__(self) -> tuple[object, ...]:
        return ParticleDeprivationError, (self.belief, self.action, self.observation, self.reason)


class StoredDataError(AiroasError):
    """A file written earlier is damaged or not ours."""


_LONG_NUMBER = re.compile(r"\d+\.\d{7,}(?:e[+-]?\d+)?")


def rounded(text: str) -> str:
    """The text with at most six digits in its numbers."""
    return _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.6g}", text)


def suggest(name: str, known: Iterable[str]) -> str:
    """ "did you mean `x`? " where known names begin like that, or one is close, or a part of one; else nothing."""
    known = list(known)
    meant = [other for other in known if len(name) > 2 and other.startswith(name)]
    if not meant:
        alike = {other: max(_likeness(name, part) for part in (other, *re.split("[-_]", other))) for other in known}
        meant = sorted((other for other in known if alike[other] >= 0.6), key=lambda other: -alike[other])[:1]
    words = [f"`{other}`" for other in meant]
    return f"did you mean {' or '.join(filter(None, (', '.join(words[:-1]), words[-1])))}? " if meant else ""


def _likeness(name: str, other: str) -> float:
    return difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()
