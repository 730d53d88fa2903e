"""A map of 13 x 13 flags against the same bits packed by hand: `python benchmarks/flags.py`.

Two models that mean the same, one with a field `Flags[13, 13]` and one with four whole numbers of 52 bits, take the same steps: they
look at the four neighbours of a cell, note one cell as seen, and every so often count the whole map. The ratio of the best times of
alternating runs is printed.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

import airoas
from airoas import Flags
from airoas.modelling.batch import batch

SIDE, BITS, COUNTED = 13, 52, 16


class Flagged(NamedTuple):
    x: int
    y: int
    seen: Flags[13, 13]


class Packed(NamedTuple):
    x: int
    y: int
    word0: int
    word1: int
    word2: int
    word3: int


@airoas.model
class WithFlags(NamedTuple):
    discount: float = 0.95

    def actions(self):
        return ("east", "north", "west", "south")

    def initial(self, rng):
        return Flagged(rng.integer(SIDE), rng.integer(SIDE), Flags[13, 13]())

    def step(self, s, a, rng):
        x, y = moved(s.x, a == 0, a == 2), moved(s.y, a == 1, a == 3)
        around = s.seen[moved(x, 1, 0), y] + s.seen[moved(x, 0, 1), y] + s.seen[x, moved(y, 1, 0)] + s.seen[x, moved(y, 0, 1)]
        reward = float(around)
        if rng.integer(COUNTED) == 0:
            for i in range(SIDE):
                for j in range(SIDE):
                    reward += s.seen[i, j]
        return Flagged(x, y, s.seen.with_((x, y), rng.uniform() < 0.9)), reward

    def observe(self, s, a, rng):
        return (s.x,)

    def obs_logpdf(self, o, s, a):
        return 0.0


@airoas.model
class ByHand(NamedTuple):
    discount: float = 0.95

    def actions(self):
        return ("east", "north", "west", "south")

    def initial(self, rng):
        return Packed(rng.integer(SIDE), rng.integer(SIDE), 0, 0, 0, 0)

    def step(self, s, a, rng):
        x, y = moved(s.x, a == 0, a == 2), moved(s.y, a == 1, a == 3)
        around = bit(s, moved(x, 1, 0), y) + bit(s, moved(x, 0, 1), y) + bit(s, x, moved(y, 1, 0)) + bit(s, x, moved(y, 0, 1))
        reward = float(around)
        if rng.integer(COUNTED) == 0:
            for i in range(SIDE):
                for j in range(SIDE):
                    reward += bit(s, i, j)
        index = x * SIDE + y
        at, mask = index // BITS, 1 << index % BITS
        on = mask if rng.uniform() < 0.9 else 0
        word0, word1, word2, word3 = s.word0, s.word1, s.word2, s.word3
        if at == 0:
            word0 = word0 & ~mask | on
        elif at == 1:
            word1 = word1 & ~mask | on
        elif at == 2:
            word2 = word2 & ~mask | on
        else:
            word3 = word3 & ~mask | on
        return Packed(x, y, word0, word1, word2, word3), reward

    def observe(self, s, a, rng):
        return (s.x,)

    def obs_logpdf(self, o, s, a):
        return 0.0


def moved(x, up, down):
    return min(SIDE - 1, max(0, x + up - down))


def bit(s, x, y):
    index = x * SIDE + y
    at = index // BITS
    word = s.word0 if at == 0 else s.word1 if at == 1 else s.word2 if at == 2 else s.word3
    return word >> index % BITS & 1


def stepped(model: Any, particles: int, steps: int) -> tuple[float, np.ndarray]:
    """Seconds for so many steps of so many particles, and the rewards of the last."""
    functions, numbers = batch(model), np.arange(particles)
    states, alive = np.zeros((particles, model.shapes.state.size)), np.zeros(particles, np.bool_)
    functions.initial(states, alive, 0)
    rewards, actions = np.zeros(particles), np.array([[float(k % 4)] for k in range(particles)])
    run = functions.step
    begun = time.perf_counter()
    for t in range(steps):
        run(states, alive, actions, t, numbers, states, rewards, alive)
    return time.perf_counter() - begun, rewards


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--particles", type=int, default=1000)
    options.add_argument("--steps", type=int, default=500)
    options.add_argument("--runs", type=int, default=7)
    given = options.parse_args()
    print(f"flags / packed by hand: {ratio(given.particles, given.steps, given.runs):.2f}")


def ratio(particles: int, steps: int, runs: int) -> float:
    flagged, packed = WithFlags(), ByHand()
    times: dict[Any, list[float]] = {flagged: [], packed: []}
    for _ in range(runs):
        (first, ours), (second, theirs) = stepped(flagged, particles, steps), stepped(packed, particles, steps)
        assert ours.tobytes() == theirs.tobytes(), "the two models differ"
        times[flagged].append(first)
        times[packed].append(second)
    return min(times[flagged]) / min(times[packed])


if __name__ == "__main__":
    main()
