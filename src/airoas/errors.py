"""The exceptions of airoas. Every message ends with what to do."""

from __future__ import annotations


class AiroasError(Exception):
    """Base of every error raised on purpose; catch this one to catch them all.

    `str(error)` reads "what is wrong: what to do", with the place in front where there is one.
    """

    def __init__(self, problem: str, remedy: str, *, where: str = "") -> None:
        self.problem = problem.rstrip(". ")
        self.remedy = remedy
        self.where = where
        super().__init__(problem, remedy)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.problem}. {self.remedy[:1].upper()}{self.remedy[1:]}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.problem, self.remedy, self.where)


def _rebuild(kind: type[AiroasError], problem: str, remedy: str, where: str) -> AiroasError:
    return kind(problem, remedy, where=where)


class OptionError(AiroasError, ValueError):
    """A value that the caller chose is not possible (an option, a parameter, a file name)."""


class ModelError(AiroasError):
    """A model does not keep the protocol; `where` names the method and, where known, file and line."""


class CompileError(ModelError):
    """A model's method cannot be compiled to native code."""


class BeliefError(AiroasError):
    """A belief update has no answer (every particle contradicts the observation, for instance)."""


class BeliefDepleted(BeliefError):  # noqa: N818 - a state of affairs that callers handle, named as such
    """No particle explains the observation. Carries `belief` (before the action), `action` and `observation`."""

    def __init__(self, belief: object, action: object, observation: object) -> None:
        self.belief, self.action, self.observation = belief, action, observation
        super().__init__(
            f"no particle explains observation {observation!r} after action {action!r}",
            "use more particles, filter='exact' where the model allows it, or check that observe and obs_logpdf agree.",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return BeliefDepleted, (self.belief, self.action, self.observation)


class StoredDataError(AiroasError):
    """A file written earlier is damaged or not ours."""
