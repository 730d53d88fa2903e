"""Tiger (Cassandra, Kaelbling and Littman, 1994): two doors, a tiger behind one of them; listen until it is worth opening the other."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from airoas.errors import OptionError
from airoas.modelling.decorator import model
from airoas.rng import Rng

LISTEN, OPEN_LEFT, OPEN_RIGHT = 0, 1, 2
LEFT, RIGHT = 0, 1
SIDES = ("left", "right")


class State(NamedTuple):
    tiger: int


class Heard(NamedTuple):
    side: int


@model
class Tiger(NamedTuple):
    """Listening costs 1 and names the tiger's side with probability `accuracy`. The free door pays 10, the tiger's
    -100; after either the tiger is placed anew and what is heard says nothing. There is no terminal state."""

    accuracy: float = 0.85
    discount: float = 0.95

    @property
    def max_steps(self) -> int:
        return 30

    def prepare(self) -> dict[str, Any]:
        if not 0.5 <= self.accuracy <= 1.0:
            raise OptionError(f"Tiger(accuracy={self.accuracy})", "accuracy is a probability between 0.5 (deaf) and 1 (perfect).")
        if not 0.0 < self.discount < 1.0:
            raise OptionError(f"Tiger(discount={self.discount})", "discount must be above 0 and below 1, for there is no end.")
        return {"log_right": math.log(self.accuracy), "log_wrong": math.log(1.0 - self.accuracy) if self.accuracy < 1.0 else -math.inf}

    def actions(self) -> tuple[str, ...]:
        return ("listen", "open-left", "open-right")

    def initial(self, rng: Rng) -> State:
        return State(rng.integer(2))

    def step(self, s: State, a: int, rng: Rng) -> tuple[State, float]:
        if a == LISTEN:
            return s, self.reward(s, a)
        return State(rng.integer(2)), self.reward(s, a)

    def observe(self, s: State, a: int, rng: Rng) -> Heard:
        if a == LISTEN:
            return Heard(s.tiger if rng.uniform() < self.accuracy else 1 - s.tiger)
        return Heard(rng.integer(2))

    def obs_logpdf(self: Any, o: Heard, s: State, a: int) -> float:
        if a != LISTEN:
            return math.log(0.5)
        return self.log_right if o.side == s.tiger else self.log_wrong  # type: ignore[no-any-return]

    def n_states(self) -> int:
        return 2

    def index(self, s: State) -> int:  # type: ignore[override]
        return s.tiger

    def state(self, i: int) -> State:
        return State(i)

    def successor(self, s: State, a: int, k: int) -> tuple[State, float]:
        if a == LISTEN:
            return s, 1.0
        return State(k), 0.5

    def reward(self, s: State, a: int) -> float:
        if a == LISTEN:
            return -1.0
        return -100.0 if a - OPEN_LEFT == s.tiger else 10.0

    def exact_initial(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([[float(LEFT)], [float(RIGHT)]]), np.array([0.5, 0.5])

    def limits(self) -> dict[str, tuple[int, int]]:
        return {"observation": (LEFT, RIGHT)}

    def describe(self) -> tuple[int, int, int]:
        return 2, 3, 2

    def draw(self, axis: Any, s: State | None, belief: Any) -> None:
        axis.set(
            xlim=(-0.6, 1.6), ylim=(0.0, 1.25), xticks=(0, 1), xticklabels=("left door", "right door"), ylabel="probability of the tiger"
        )
        if belief is not None:
            heights = _sides(belief)
            axis.bar((0, 1), heights, width=0.6, color="#56B4E9", label="belief")
            for x, height in enumerate(heights):
                axis.text(x, height + 0.02, f"{height:.3f}", ha="center", va="bottom")
        if s is not None:
            axis.plot([s[0]], [1.15], marker="*", markersize=16, linestyle="none", color="#D55E00", label="tiger")
        if belief is not None or s is not None:
            axis.legend(loc="upper center", frameon=False)

    def text(self, s: State | None, belief: Any) -> str:
        lines = []
        if belief is not None:
            lines = [f"{side:>5} |{'#' * round(40 * p):<40}| {p:.3f}" for side, p in zip(SIDES, _sides(belief), strict=True)]
        if s is not None:
            lines.append(f"the tiger is behind the {SIDES[int(s[0])]} door")
        return "\n".join(lines)


def _sides(belief: Any) -> np.ndarray:
    """The belief's probability of the tiger on the left and on the right, [2]."""
    return np.bincount(belief.states[:, 0].astype(np.int64), weights=belief.weights, minlength=2)
