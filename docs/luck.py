"""What the reported episodes earned, less their luck: `python docs/luck.py` adds it to the rows under results/, and packs them.
`python docs/luck.py DIR` does so in other folders.

Let V be any guess of what beliefs are worth, and Q(b, a) = E[r + discount V(b')]. Then the return of a policy is on average

    V(b_0) + sum over t of discount^t (Q(b_t, a_t) - V(b_t)),

less discount^T V(b_T) where the step limit T cuts the episode: in the sum of rewards, each r + discount V(b') has given way to its
mean. What is left of the luck is what V does not foresee; where V is the optimal value nothing is left but what the choice of actions
lost. The beliefs b_t are exact, whatever filter the planner had: what it did depends on the world through the observations alone.
The worlds need no planner to be seen again: a seed and the recorded actions determine them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from airoas.bounds.part import over_states

from airoas.belief.particles import Particles
from airoas.bounds.find import find_bounds, find_plans
from airoas.bounds.finite.point_based import write_out
from airoas.compiler.kernels import kernel
from airoas.episode import simulate
from airoas.experiments.rows.slim import MOVES, TIMED, slim
from airoas.experiments.rows.store import Lock, latest, write_packed
from airoas.experiments.run.play import Row, find_domain
from airoas.planners.base import Decision
from airoas.rng import Rng, stream

ROOT = Path(__file__).parents[1]
FOLDERS = ("literature", "budgets", "paper", "factorial")
FIGURE = "return_without_luck"
"""Its name in a row: an id says what was to be run and not by which version, so that the figure stays with the actions it is of."""


class Guess(Protocol):
    """V and Q, at beliefs in a form of its own."""

    model: Any

    def view(self, belief: Particles) -> Any: ...

    def value(self, view: Any) -> float: ...

    def after(self, view: Any, a: int) -> float: ...


class Nothing:
    """V = 0, so that Q is the expected reward: on the light-darks, whether a stop was right is left to the belief."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def view(self, belief: Particles) -> Particles:
        return belief

    def value(self, belief: Particles) -> float:
        return 0.0

    def after(self, belief: Particles, a: int) -> float:
        rewards = np.zeros(len(belief.states))
        _reward(self.model, belief.states, self.model.row("action", a), rewards, stream(0))
        return float(belief.weights @ rewards)


class Observable:
    """The mean value of the states, were they seen; it is linear in the belief, so that Q is the mean of theirs."""

    def __init__(self, model: Any) -> None:
        self.model, self.bounds = model, find_bounds(model, (0.0, "qmdp"))

    def view(self, belief: Particles) -> tuple[np.ndarray, np.ndarray]:
        """Weights [N] and Q of the states [N, A]."""
        numbers = np.zeros((len(belief.states), 1 + self.model.n_actions))
        over_states(self.bounds.evaluate)(self.model, self.bounds.data, belief.states, numbers.reshape(-1), stream(0))
        return belief.weights, numbers[:, 1:]

    def value(self, view: tuple[np.ndarray, np.ndarray]) -> float:
        return float(view[0] @ view[1].max(axis=1))

    def after(self, view: tuple[np.ndarray, np.ndarray], a: int) -> float:
        return float(view[0] @ view[1][:, a])


class Solved:
    """The best plan of point-based value iteration, which on Tag is the optimal value but for some hundredths."""

    def __init__(self, model: Any) -> None:
        self.model, self.problem, self.plans = model, write_out(model), find_plans(model)["values"]

    def view(self, belief: Particles) -> np.ndarray:
        """[S] the belief, without what has ended."""
        numbers = [self.model.index(self.model.from_row("state", row)) for row in belief.states]
        mass = np.bincount(numbers, belief.weights, len(self.problem.terminal))
        mass[self.problem.terminal] = 0.0
        return np.asarray(mass / mass.sum())

    def value(self, mass: np.ndarray) -> float:
        return float((mass @ self.plans).max())

    def after(self, mass: np.ndarray, a: int) -> float:
        """The reward, and the best plan after each observation."""
        problem, there = self.problem, np.flatnonzero(mass)
        arriving = (mass[there, None] * problem.probabilities[there, a]).ravel()
        arrived = np.bincount(problem.successors[there, a].ravel(), arriving, len(mass))
        arrived[problem.terminal] = 0.0
        live = np.flatnonzero(arrived)
        best = ((arrived[live, None] * problem.chances[live, a]).T @ self.plans[live]).max(axis=1)
        return float(mass[there] @ problem.rewards[there, a] + self.model.discount * best.sum())


GUESSES: dict[str, Any] = {"light-dark": Nothing, "tag": Solved, "laser-tag": Observable, "rock-sample": Observable}
"""By how a domain's name begins."""
INEXACT = ("light-dark-2d",)
"""Domains without an exact filter."""


class Recorded:
    """A planner that does again what was done."""

    def __init__(self, actions: Iterable[Any]) -> None:
        self.actions = iter(actions)

    def plan(self, model: Any, belief: Particles, rng: Rng) -> Decision:
        return Decision(next(self.actions), float("nan"))


def without_luck(guess: Guess, row: Row) -> float:
    """The return of an episode, less its luck."""
    model = guess.model
    episode = simulate(model, Recorded(row["actions"]), row["seed"], "exact", max_steps=row["steps"])
    assert episode.discounted_return == row["discounted_return"], f"the world of seed {row['seed']} was another one"
    views = [guess.view(belief) for belief in episode.beliefs()]
    total = guess.value(views[0])
    for t, (view, step) in enumerate(zip(views, episode.trace, strict=False)):
        total += model.discount**t * (guess.after(view, step.action) - guess.value(view))
    return total if episode.terminated else total - model.discount**episode.steps * guess.value(views[-1])


@kernel
def _reward(model: Any, states: Any, actions: Any, rewards: Any, rng: Any) -> None:
    a = model.read_action(actions, 0)
    for i in range(len(states)):
        _, rewards[i] = model.step(model.read_state(states, i), a, rng)


def reported(row: Row) -> bool:
    """Whether an episode gets a figure."""
    return "error" not in row and row["planner"] != "random" and row["domain"] not in INEXACT


def complete(folder: Path) -> None:
    """Work out what the rows of a folder do not have yet, map by map; stopped, it goes on from what it had a minute before."""
    lock = Lock(folder)
    try:
        rows = [slim(row, (*MOVES, *TIMED)) for row in latest(folder).values()]
        wanted = [row for row in rows if reported(row) and FIGURE not in row]
        wanted.sort(key=lambda row: (row["domain"], row["map"] or 0, row["id"]))
        place, written = None, time.monotonic()
        for i, row in enumerate(wanted):
            if place != (row["domain"], row["map"]):
                place = row["domain"], row["map"]
                kind = next(kind for start, kind in GUESSES.items() if row["domain"].startswith(start))
                guess = kind(find_domain(row["domain"])(row["seed"]))
            row[FIGURE] = round(without_luck(guess, row), 6)
            if time.monotonic() > written + 60.0:
                write_packed(folder, rows)
                written = time.monotonic()
            if sys.stderr.isatty():
                print(f"\r{folder.name}: {i + 1} of {len(wanted)} episodes", end="", file=sys.stderr)
        if wanted:
            write_packed(folder, rows)
    finally:
        lock.release()


if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:] or (ROOT / "results" / name for name in FOLDERS)):
        if folder.exists():
            complete(folder)
