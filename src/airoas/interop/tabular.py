"""A finite model given by its tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from airoas.errors import OptionError
from airoas.modelling.decorator import model
from airoas.modelling.rewards import MOST_REWARD
from airoas.rng import Rng

_SHOWN = 12  # states of a belief in a picture


class State(NamedTuple):
    number: int


class Observation(NamedTuple):
    number: int


@model
class Tabular(NamedTuple):
    """S states, A actions and O observations by number; M transitions of positive probability.

    The transitions from state s under action a stand at the indices `first[s * A + a]` up to `first[s * A + a + 1]` of the three
    lists, by rising successor. A state that no action leaves and in which nothing is paid is terminal.
    """

    discount: float
    start: np.ndarray
    """[S] probability of beginning in each state."""
    first: np.ndarray
    """[S * A + 1]"""
    successors: np.ndarray
    """[M]"""
    probabilities: np.ndarray
    """[M]"""
    rewards: np.ndarray
    """[M] the reward of each transition."""
    observations: np.ndarray
    """[S, A, O] probability of each observation in the state arrived in, after an action."""
    action_labels: tuple[str, ...]
    state_labels: tuple[str, ...] = ()
    """Empty: the numbers."""
    observation_labels: tuple[str, ...] = ()
    title: str = "tables"

    def prepare(self) -> dict[str, Any]:
        _check(self)
        states, actions, _ = self.observations.shape
        with np.errstate(divide="ignore"):
            log_observations = np.log(self.observations)
        lengths = np.diff(self.first)
        cumulative = np.empty(len(self.probabilities))
        by_length = np.argsort(lengths, kind="stable")
        for rows in np.split(by_length, np.flatnonzero(np.diff(lengths[by_length])) + 1):  # all rows of one length at once
            indices = self.first[rows][:, None] + np.arange(lengths[rows[0]])
            cumulative[indices] = _cumulative(self.probabilities[indices])
        stays = (lengths == 1) & (self.successors[self.first[:-1]] == np.repeat(np.arange(states), actions))
        stays &= self.rewards[self.first[:-1]] == 0.0
        return {
            "start_cumulative": _cumulative(self.start),
            "cumulative": cumulative,
            "observation_cumulative": _cumulative(self.observations).ravel(),
            "log_observations": log_observations,
            "expected": np.add.reduceat(self.probabilities * self.rewards, self.first[:-1]),
            "terminal": stays.reshape(states, actions).all(axis=1),
        }

    def actions(self) -> tuple[str, ...]:
        return self.action_labels

    def initial(self: Any, rng: Rng) -> State:
        return State(_draw(self.start_cumulative, 0, len(self.start), rng.uniform()))

    def step(self: Any, s: State, a: int, rng: Rng) -> tuple[State, float]:
        row = s.number * self.n_actions + a
        index = _draw(self.cumulative, self.first[row], self.first[row + 1], rng.uniform())
        return State(self.successors[index]), self.rewards[index]

    def observe(self: Any, s: State, a: int, rng: Rng) -> Observation:
        size = self.observations.shape[2]
        begin = (s.number * self.n_actions + a) * size
        return Observation(_draw(self.observation_cumulative, begin, begin + size, rng.uniform()) - begin)

    def obs_logpdf(self: Any, o: Observation, s: State, a: int) -> float:
        return self.log_observations[s.number, a, o.number]  # type: ignore[no-any-return]

    def is_terminal(self: Any, s: State) -> bool:
        return self.terminal[s.number]  # type: ignore[no-any-return]

    def n_states(self) -> int:
        return len(self.start)

    def index(self, s: State) -> int:  # type: ignore[override]
        return s.number

    def state(self, i: int) -> State:
        return State(i)

    def successor(self: Any, s: State, a: int, k: int) -> tuple[State, float]:
        row = s.number * self.n_actions + a
        index = self.first[row] + k
        if index >= self.first[row + 1]:
            return s, 0.0
        return State(self.successors[index]), self.probabilities[index]

    def reward(self: Any, s: State, a: int) -> float:
        return self.expected[s.number * self.n_actions + a]  # type: ignore[no-any-return]

    def exact_initial(self) -> tuple[np.ndarray, np.ndarray]:
        possible = np.flatnonzero(self.start)
        return possible[:, None].astype(np.float64), self.start[possible]

    def limits(self) -> dict[str, tuple[int, int]]:
        states, _, observations = self.observations.shape
        return {"state": (0, states - 1), "observation": (0, observations - 1)}

    def describe(self) -> tuple[int, int, int]:
        states, actions, observations = self.observations.shape
        return states, actions, observations

    def draw(self, axis: Any, s: State | None, belief: Any) -> None:
        shown = _likely(self, s, belief)
        axis.set(ylim=(0.0, 1.25), ylabel="probability of the state")
        axis.set_xticks(range(len(shown)), [name for name, _, _ in shown], rotation=45, ha="right")
        axis.bar(range(len(shown)), [p for _, p, _ in shown], width=0.6, color="#56B4E9")
        for x, (_, _, is_state) in enumerate(shown):
            if is_state:
                axis.plot([x], [1.15], marker="*", markersize=16, linestyle="none", color="#D55E00")

    def text(self, s: State | None, belief: Any) -> str:
        shown = _likely(self, s, belief)
        width = max((len(name) for name, _, _ in shown), default=0)
        return "\n".join(
            f"{name:>{width}} |{'#' * round(40 * p):<40}| {p:.3f}{' <- the state' if is_state else ''}" for name, p, is_state in shown
        )

    def __str__(self) -> str:
        states, actions, observations = self.observations.shape
        return f"{self.title}: {states} states, {actions} actions, {observations} observations, discount {self.discount:g}"


def _draw(cumulative: Any, first: int, end: int, u: float) -> int:
    """The first index from `first` on whose cumulative probability exceeds u; that of index end - 1 is 1."""
    end -= 1
    while first < end:
        middle = (first + end) >> 1
        if u < cumulative[middle]:
            end = middle
        else:
            first = middle + 1
    return first


def _cumulative(p: np.ndarray) -> np.ndarray:
    """Running sums along the last axis; exactly 1 from the last positive probability on, whatever the rounding."""
    sums = np.cumsum(p, axis=-1)
    sums[sums >= sums[..., -1:]] = 1.0
    return sums


def _likely(model: Tabular, s: State | None, belief: Any) -> list[tuple[str, float, bool]]:
    """(name, probability, whether it is the true state) of the true state and of the likeliest others, by number."""
    mass: np.ndarray = np.zeros(len(model.start))
    if belief is not None:
        mass = np.bincount(belief.states[:, 0].astype(np.int64), weights=belief.weights, minlength=len(mass))
    true = -1 if s is None else int(s[0])
    most = {int(i) for i in np.argsort(-mass, kind="stable")[:_SHOWN] if mass[i] > 0.0}
    names = model.state_labels
    return [(names[i] if names else str(i), float(mass[i]), i == true) for i in sorted(most | ({true} if s is not None else set()))]


def _check(model: Tabular) -> None:
    """Refuse tables that do not fit each other; compiled code reads them without looking."""
    shape = model.observations.shape
    if len(shape) != 3 or 0 in shape:
        raise OptionError(f"Tabular(observations=...) has shape {shape}", "give [states, actions, observations].")
    states, actions, observations = shape
    lists = (model.successors, model.probabilities, model.rewards)
    fit = {
        "start": model.start.shape == (states,),
        "first": model.first.shape == (states * actions + 1,) and model.first.dtype.kind == "i" and model.first[0] == 0,
        "successors": all(part.shape == (model.first[-1],) for part in lists) and model.successors.dtype.kind == "i",
        "action_labels": len(model.action_labels) == actions,
        "state_labels": len(model.state_labels) in (0, states),
        "observation_labels": len(model.observation_labels) in (0, observations),
    }
    for name, fits in fit.items():
        if not fits:
            problem = f"Tabular({name}=...) does not fit {states} states, {actions} actions and {observations} observations"
            raise OptionError(problem, "see the fields of airoas.interop.Tabular for the sizes and kinds.")
    if not 0.0 < model.discount < 1.0:
        raise OptionError(f"Tabular(discount={model.discount})", "discount must be above 0 and below 1.")
    if (np.diff(model.first) < 1).any():
        raise OptionError("Tabular(first=...) leaves an action without a successor", "give every state and action at least one.")
    if model.successors.min() < 0 or model.successors.max() >= states:
        raise OptionError("Tabular(successors=...) names a state that is not there", f"use 0 .. {states - 1}.")
    if not (np.abs(model.rewards) <= MOST_REWARD).all():
        raise OptionError("Tabular(rewards=...) is not finite, or too large", f"give finite rewards of at most {MOST_REWARD:g} in size.")
    sums = np.add.reduceat(model.probabilities, model.first[:-1])
    tables = (("start", model.start, model.start.sum()), ("probabilities", model.probabilities, sums))
    for name, p, total in (*tables, ("observations", model.observations, model.observations.sum(axis=-1))):
        if not (p >= 0.0).all() or not np.allclose(total, 1.0, rtol=0.0, atol=1e-9):
            raise OptionError(f"Tabular({name}=...) are no probabilities", "give numbers >= 0 that sum to 1 in each row.")
