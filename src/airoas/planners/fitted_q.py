"""Fitted Q iteration (Ernst, Geurts and Wehenkel, 2005) over particle beliefs: a policy that is learned beforehand, and answers at once."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airoas.belief.particles import Particles, _checked
from airoas.compiler.kernels import current_mode
from airoas.errors import OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.options import check_types
from airoas.planners.base import Decision, PreparedPlanner, Start
from airoas.planners.bounded.advice import KEPT, Advisor
from airoas.policies import learned
from airoas.policies.learned import Learned
from airoas.rng import Rng, stream


@dataclass(frozen=True)
class FittedQ(PreparedPlanner):
    """The policy that AIROAS asks where it has no hints, alone, without a search; `prepare` learns it.

    Without `prepare`, and with nothing on disk, it is QMDP.
    """

    learn_seconds: float = 30.0
    """For learning, in `prepare`; rounds of fixed work, which time only ends."""

    def __post_init__(self) -> None:
        check_types(self)
        if not 0.0 <= self.learn_seconds < float("inf"):
            raise OptionError(f"learn_seconds is {self.learn_seconds}", "give seconds, 0 for no learning; 30 is the default.")

    def fits(self, model: Any) -> str | None:
        """Why this planner cannot plan for the model, or None."""
        if model.n_actions or (model.space is not None and not model.has("legal")):
            return None
        return f"FittedQ needs `actions` or an `action_space`{' without `legal`' if model.space is not None else ''}"

    def prepare(self, model: Any) -> None:
        """Learn now what is not on disk. Idempotent."""
        self._refuse(_checked(model))
        if self.learn_seconds > 0.0 and current_mode() == "compiled":
            learned.prepare(model, learned.PART * self.learn_seconds)
        self.plan(model, Particles.sample(model, 2 * KEPT, stream(0)), stream(0))  # compiled ahead

    def find(self, model: KernelModel) -> tuple[Learned | None, bool]:
        self._refuse(model)
        is_new, known = (model, current_mode()) not in _waiting, learned.find_learned(model)
        _put_back(model, _take(model, known))
        return known, is_new

    def decide(self, model: KernelModel, prepared: Learned | None, start: Start, rng: Rng) -> Decision:
        advisor = _take(model, prepared)
        outlook = advisor.assess(start.states, start.weights, start.allowed, rng.bits(62))
        _put_back(model, advisor)
        known = prepared
        notes: dict[str, Any] = {"policy": advisor.name, "rounds": known.rounds if known else 0, "digest": known.digest if known else ""}
        notes |= {"began": known.began} if known and known.began else {}
        return Decision(model.from_row("action", outlook.action), outlook.promised, stats=start.done(**notes))

    def _refuse(self, model: KernelModel) -> None:
        reason = self.fits(model)
        if reason:
            raise OptionError(reason, "use POMCPOW.")

    def save(self, model: Any, path: str | Path) -> None:
        """Write what was learned of a model to a file, for `load` on another machine: arrays, no code."""
        known = learned.find_learned(_checked(model))
        if known is None:
            raise OptionError(f"nothing was learned of {type(model).__name__}", "call prepare(model) first.")
        learned.save(known, model, path)

    def load(self, model: Any, path: str | Path) -> None:
        """Take what `save` wrote as what was learned of the model, in this process."""
        learned.load(_checked(model), path)


_waiting: dict[tuple[Any, str], list[Advisor]] = {}
"""By model and mode: what was made to run interpreted has no compiled functions."""


def _take(model: KernelModel, known: Learned | None) -> Advisor:
    """One with what is known of a model, for one thread at a time."""
    waiting = _waiting.get((model, current_mode()), [])
    while waiting:
        with contextlib.suppress(IndexError):  # another thread was faster
            advisor = waiting.pop()
            if advisor.learned is known:
                return advisor
    return Advisor(model, known)


def _put_back(model: KernelModel, advisor: Advisor) -> None:
    _waiting.setdefault((model, current_mode()), []).append(advisor)
