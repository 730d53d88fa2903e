"""What every planner is: frozen options and `plan(model, belief, rng) -> Decision`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from airoas.belief.particles import Particles, _checked, admit
from airoas.compiler.clock import read_clock
from airoas.compiler.interrupt import listen
from airoas.errors import ModelError, OptionError
from airoas.modelling.batch import batch
from airoas.modelling.decorator import live_initial
from airoas.modelling.gate import check_discount, check_stream
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Mask, Rows, Weights
from airoas.options import check_types
from airoas.rng import Rng
from airoas.tables import TextTable, numbers

MEMORY = 1_000_000_000
"""Bytes that a search tree may take by default."""


@dataclass(frozen=True)
class Stats:
    """How a decision came about."""

    stop: str
    """Why the search ended: "gap" (the bounds met), "deadline", "iterations", "memory", "terminal" (nothing left to decide),
    "done" (no search)."""
    seconds: float = 0.0
    """Wall-clock time of the decision; where a planner says nothing of it, `Agent` and `simulate` measure it."""
    overshoot: float = 0.0
    """Seconds past the deadline; 0 where there is none."""
    trials: int = 0
    """Trials (simulations) finished: give them as `iterations` to repeat a timed decision."""
    nodes: int = 0
    """Belief (observation) nodes in the tree."""
    depth: int = 0
    """Of the deepest node."""
    bytes: int = 0
    """Memory that the tree takes."""
    preparation: float = 0.0
    """Seconds of compiling and precomputing before the clock was started; 0 once that is done."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What is particular to the planner: the bounds picked, stages of annealing, acceptance, and so on."""


@dataclass(frozen=True)
class Decision:
    """What a planner answers."""

    action: Any
    value: float
    """Estimated value of the belief under the plan; nan where the planner has no estimate."""
    lower: float = float("nan")
    upper: float = float("nan")
    stats: Stats = field(default_factory=lambda: Stats("done"))
    tree: Any = field(default=None, repr=False)

    def __str__(self) -> str:
        return "\n".join(table.text(120) for table in self._tables())

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self._tables())

    def _tables(self) -> list[TextTable]:
        """What was decided and how; with a tree, every action and its value as well."""
        stats = self.stats
        rows: list[tuple[str, ...]] = [("action", self._action_name()), ("value", self._value_text())]
        rows += [("stopped by", stats.stop), ("plan time", f"{1e3 * stats.seconds:.2f} ms")]
        if stats.overshoot:
            rows.append(("past the deadline", f"{1e3 * stats.overshoot:.2f} ms"))
        if stats.nodes:
            rows.append(("search", f"{stats.trials} trials, {stats.nodes} nodes, depth {stats.depth}, {stats.bytes / 1e6:.1f} MB"))
        rows += [(name, _as_text(value)) for name, value in stats.notes.items()]
        return [TextTable("", ("decision", ""), rows), *([self.tree.choices(self)] if hasattr(self.tree, "choices") else [])]

    def _value_text(self) -> str:
        """The value, and where it is from where that is not the tree whose bounds stand beside it."""
        notes, value, bounds = self.stats.notes, f"{self.value:.4g}", f"{self.lower:.4g} and {self.upper:.4g}"
        bounded = self.lower == self.lower and self.upper == self.upper
        if "policy" not in notes or not math.isfinite(self.value):
            return f"{value}, between {bounds}" if bounded else value
        told = f"{value} by {'rollouts' if notes.get('rollouts') else 'the policy'}"
        return f"{told}; the tree's bounds are {bounds}" if bounded else told

    def _action_name(self) -> str:
        """Its name where the tree knows the model."""
        model = getattr(self.tree, "model", None)
        if model is not None:
            return str(model.action_text(self.action))
        return numbers(self.action) if isinstance(self.action, tuple) else str(self.action)


def _as_text(value: Any) -> str:
    """A number short, text without the separator of what is not there."""
    return f"{value:.4g}" if isinstance(value, float) else str(value).rstrip(", ")


class Planner(Protocol):
    """The interface that `simulate` needs."""

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision: ...


class Start(NamedTuple):
    """What every decision begins with."""

    belief: Particles
    states: Rows
    """[N, .]"""
    weights: Weights
    """[N], 0 where the episode has ended."""
    allowed: Mask
    """[A] which actions all live states allow."""
    begun: float
    """When the clock of the decision was started."""
    preparation: float

    def done(self, **notes: Any) -> Stats:
        """Of an answer that took no search."""
        return Stats("done", read_clock() - self.begun, preparation=self.preparation, notes=notes)


class PreparedPlanner(ABC):
    """A planner that has found and compiled beforehand what it decides by; how each of its decisions begins."""

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        """The action for a belief; any where the episode has ended. The clock starts once everything is found and compiled."""
        listen()
        begun = read_clock()
        prepared, is_new = self.find(_checked(model))
        preparation = read_clock() - begun if is_new else 0.0
        begun += preparation
        states, weights, allowed = live_particles(model, belief, rng)
        if not weights.any():
            return decide_terminal(model, allowed, rng, begun, preparation)
        return self.decide(model, prepared, Start(belief, states, weights, allowed, begun, preparation), rng)

    @abstractmethod
    def find(self, model: KernelModel) -> tuple[Any, bool]:
        """What it decides by, and whether that was not there before."""

    @abstractmethod
    def decide(self, model: KernelModel, prepared: Any, start: Start, rng: Rng) -> Decision:
        """The answer where the episode goes on."""


def check_options(planner: Any) -> None:
    """Refuse options of another type, and a budget that says nothing, or two things."""
    check_types(planner)
    seconds, iterations, memory = planner.seconds, planner.iterations, planner.memory
    if (seconds is None) == (iterations is None):
        problem = "no budget is given" if seconds is None else "both seconds and iterations are given"
        raise OptionError(problem, "give one of them: seconds=0.1 or iterations=1000.")
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise OptionError(f"seconds is {seconds}", "give the time for one decision, 0.1 say.")
    if iterations is not None and iterations < 1:
        raise OptionError(f"iterations is {iterations}", "allow at least 1.")
    if memory < 1_000_000:
        raise OptionError(f"memory is {memory} bytes", "allow the tree at least 1_000_000; the default is 1_000_000_000.")


def live_particles(model: KernelModel, belief: Particles, rng: Rng) -> tuple[Rows, Weights, Mask]:
    """The states [N, .] of a belief, their weights [N], 0 where the episode has ended, and which actions [A] all live ones allow.
    What is no belief over the model's states, or no stream, is refused here."""
    admit(model, belief)
    check_stream(rng)
    check_discount(model)
    states, weights, allowed = np.array(belief.states), belief.weights, np.ones(model.n_actions, np.bool_)
    alive = weights > 0.0
    batch(model).inspect(states, alive, allowed)
    weights[~alive] = 0.0
    if model.n_actions and not allowed.any():
        raise ModelError(
            "no action is legal in every state that the belief holds possible",
            "make one action legal everywhere.",
            where=type(model).__name__,
        )
    return states, weights, allowed


def decide_terminal(model: KernelModel, allowed: Mask, rng: Rng, begun: float, preparation: float) -> Decision:
    """The answer where the episode has ended in every particle: any action."""
    if model.n_actions:
        actions = np.flatnonzero(allowed)
        action = int(actions[rng.integer(len(actions))])
    else:
        action = model.sample_action(live_initial(model, rng), rng)
    return Decision(action, 0.0, 0.0, 0.0, Stats("terminal", read_clock() - begun, preparation=preparation))
