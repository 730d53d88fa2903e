"""`simulate`: the one loop of acting, observing and updating."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from airoas.agent import Agent
from airoas.belief.filters.interface import Filter, as_particles, filter_name
from airoas.belief.particles import Particles
from airoas.belief.tempering.result import Annealed
from airoas.compiler.clock import read_clock
from airoas.compiler.kernels import kernel
from airoas.errors import ModelError
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rewards import MOST_REWARD
from airoas.options import whole
from airoas.planners.base import Decision, Planner
from airoas.rng import Rng, stream
from airoas.tables import TextTable, named, numbers
from airoas.viz import pictures

_SHOWN = 8
"""Components of the state whose means and deviations a table of steps has room for."""


@dataclass(frozen=True)
class Step:
    """One turn: what was decided, what happened, what was believed afterwards."""

    action: Any
    observation: tuple[Any, ...] | None
    """None where the step ended the episode: nothing is observed then."""
    reward: float
    state: tuple[Any, ...]
    """The true state arrived in."""
    decision: Decision
    update_seconds: float
    mean: np.ndarray
    """Mean of the belief after the update [size]."""
    std: np.ndarray
    ess: float
    particles: int = 0
    """How many the belief has; those that it is planned with, where it is of another kind."""
    recovery: str = ""
    """How the filter recovered where the belief before could not explain the observation; "" where all was well."""
    log_evidence: float = float("nan")
    """log p(observation | belief before, action) by the filter; nan where it has none, or made no update."""
    surprise: float = 0.0
    """The evidence that has mounted up against the belief: 0 where what is seen is as predicted, 1 where it is lost. See `Agent`."""
    lost: bool = False
    """Whether the belief contradicts what was seen lately. See `Agent`."""


@dataclass(frozen=True)
class Episode:
    """A finished episode. `print(episode)` is a table of its steps; `trace` has them one by one, each a `Step`, and `steps` is how many
    they are."""

    model: Any
    seed: int
    filter: Filter
    particles: int
    """Of the belief, or drawn from it to plan with; the exact filter has none."""
    start: tuple[Any, ...]
    trace: tuple[Step, ...] = field(repr=False)
    """The moves: `trace[0].action`, `.observation`, `.reward`, `.decision` and so on."""
    discounted_return: float
    return_: float
    terminated: bool
    """Whether a terminal state was reached (otherwise the step limit ended it)."""

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        return "terminal state reached" if self.terminated else "step limit reached"

    @property
    def filter_name(self) -> str:
        """ "exact", "annealed", "bootstrap", or what another filter is called."""
        return filter_name(self.filter)

    @property
    def recoveries(self) -> int:
        """How often the filter had to recover: no particle explained the observation."""
        return sum(bool(step.recovery) for step in self.trace)

    @property
    def lost_at(self) -> list[int]:
        """The steps at which the belief was found to be lost."""
        return [t for t, step in enumerate(self.trace) if step.lost and not (t and self.trace[t - 1].lost)]

    @property
    def steps(self) -> int:
        """How many moves it has; `trace` is the list of them."""
        return len(self.trace)

    def action_name(self, action: Any) -> str:
        """The name of an action, or its numbers where actions are continuous."""
        return str(self.model.action_text(action))

    @property
    def states(self) -> list[tuple[Any, ...]]:
        """[steps + 1] the true states, the start first."""
        return [self.start, *(step.state for step in self.trace)]

    def beliefs(self, record: list[list[Annealed]] | None = None) -> Iterator[Particles]:
        """The belief before each step, and the last one unless a terminal state ended the episode.

        They are found anew, which takes the filter's time and no planning: the seed and what was done and seen determine them.
        record: gets a list for each step with what annealing did in it.
        """
        belief = self.filter.start(self.model, stream(self.seed, "filter"))
        yield self._particles(belief, 0)
        for t, step in enumerate(self.trace[: self.steps - self.terminated]):
            updated = self.filter.update(self.model, belief, step.action, step.observation, stream(self.seed, "filter", t))
            belief = updated.belief
            if record is not None:
                record.append([] if updated.annealed is None else [updated.annealed])
            yield self._particles(belief, t + 1)

    def _particles(self, belief: Any, t: int) -> Particles:
        """As the agent made them to plan with."""
        return as_particles(belief, self.particles, stream(self.seed, "particles", t))

    def plot(self, steps: Sequence[int] | None = None) -> Any:
        """A matplotlib figure: the domain at some steps (six spread over the episode by default), rewards and values below."""
        return pictures.plot(self, steps)

    def animate(self, path: str | PathLike[str], seconds: float = 0.6) -> None:
        """Write a GIF with a frame for each step. seconds: for each frame."""
        pictures.animate(self, path, seconds)

    def __str__(self) -> str:
        return self.table().text(152)

    def _repr_html_(self) -> str:
        return self.table().html()

    def table(self) -> TextTable:
        """A row for each step."""
        title = f"{self.model}, seed {self.seed}, {self.filter_name} filter, start {named(self.start)}"
        shape = self.model.shapes.state
        told = [k for k, kind in enumerate(shape.kinds) if kind != "flags"]  # the mean of packed flags says nothing
        shown = told[:_SHOWN]
        more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
        of = f" of {', '.join(shape.names[k] for k in shown)}{more}" if shape.record else ""
        table = TextTable(
            title, ("step", "action", "observation", "reward", f"belief mean{of}", f"belief sd{of}", "ESS of N", "surprise", "plan ms")
        )
        for t, step in enumerate(self.trace):
            observation = "" if step.observation is None else numbers(step.observation)
            seen = (observation, "" if math.isnan(step.reward) else f"{step.reward:g}", numbers(step.mean[shown]), numbers(step.std[shown]))
            last = (f"{step.ess:.0f} of {step.particles}", f"{step.surprise:.2f}", f"{1e3 * step.decision.stats.seconds:.1f}")
            table.rows.append((str(t), self.action_name(step.action), *seen, *last))
        earned = "" if math.isnan(self.return_) else f"discounted return {self.discounted_return:.3f}, return {self.return_:g}, "
        table.notes.append(f"{earned}{self.steps} steps, {self.ending}")
        table.notes += [f"step {t}: {step.recovery}" for t, step in enumerate(self.trace) if step.recovery]
        table.notes += [f"step {t}: the belief is lost: what is seen is not what it predicts" for t in self.lost_at]
        return table


def simulate(
    model: Any,
    planner: Planner,
    seed: int,
    filter: str | Filter = "auto",
    particles: int = 10_000,
    max_steps: int | None = None,
    keep_trees: bool = False,
) -> Episode:
    """Run one episode: plan, act, observe, update, until a terminal state or `max_steps` (default: the model's own).

    The moves are in `trace` of the `Episode` that is returned: `[(move.action, move.observation, move.reward) for move in episode.trace]`.
    World, planner and filter draw from streams of their own, so that the world is the same for every planner.
    filter, particles: see `Agent`.
    keep_trees: leave each step's search tree in its decision; they take memory.
    """
    agent = Agent(model, planner, seed, filter, particles)
    agent._warns = False  # the episode has it in `lost_at`
    limit = whole("max_steps", model.max_steps if max_steps is None else max_steps, 1)
    shapes = model.shapes
    states, observations = np.empty((2, len(shapes.state.kinds))), np.empty((1, len(shapes.observation.kinds)))
    _begin(model, states, stream(seed, "world"))
    agent.prepare_filter()  # what compiling takes is in no time of an update, as it is in none of a decision
    start = model.from_row("state", states[0])
    trace: list[Step] = []
    discounted = plain = 0.0
    weight = 1.0
    terminated = bool(model.is_terminal(start))
    while not terminated and len(trace) < limit:
        t = len(trace)
        decision = agent.act()
        reward, terminated = _advance(model, states, observations, model.row("action", decision.action), stream(seed, "world", t))
        if not abs(reward) <= MOST_REWARD:
            remedy = f"return finite rewards of at most {MOST_REWARD:g} in size."
            raise ModelError(f"gave the reward {reward} at step {t} of an episode", remedy, where=location(model, "step"))
        discounted += weight * reward
        plain += reward
        weight *= model.discount
        observation = None if terminated else model.from_row("observation", observations[0])
        begun = read_clock()
        if not terminated:
            agent.observe(observation)
        seconds = read_clock() - begun
        trace.append(
            Step(
                action=decision.action,
                observation=observation,
                reward=reward,
                state=model.from_row("state", states[0]),
                decision=decision if keep_trees else replace(decision, tree=None),
                update_seconds=seconds,
                mean=agent.particles.mean(),
                std=agent.particles.std(),
                ess=agent.particles.ess,
                particles=len(agent.particles),
                recovery="" if terminated else agent.recovery,
                log_evidence=float("nan") if terminated else agent.updated.log_evidence,
                surprise=agent.surprise,
                lost=agent.lost,
            )
        )
    return Episode(model, seed, agent.filter, particles, start, tuple(trace), discounted, plain, bool(terminated))


@kernel
def _begin(model: KernelModel, states: Any, rng: Any) -> None:
    model.write_state(states, 0, model.initial(rng))


@kernel
def _advance(model: KernelModel, states: Any, observations: Any, actions: Any, rng: Rng) -> tuple[float, bool]:
    """Move the true state in row 0 one step on, and observe unless that ended it; the reward, and whether it did."""
    a = model.read_action(actions, 0)
    s, reward = model.step(model.read_state(states, 0), a, rng)
    model.write_state(states, 0, s)
    if model.is_terminal(s):
        return reward, True
    model.write_observation(observations, 0, model.observe(s, a, rng))
    return reward, False
