"""A factored filter for RockSample: `airoas run rock-sample-11-11 airoas --seconds 0.1 --filter factored.py:Factored`."""

import math
from typing import NamedTuple

import numpy as np

import airoas
from airoas.domains.rock_sample import CHECK, GOOD, SAMPLE, State


class Rocks(NamedTuple):
    x: int
    y: int
    good: np.ndarray  # of each rock, the probability that it is good: they stay independent

    def particles(self, n, rng):
        drawn = np.random.default_rng(rng.bits(62)).random((n, len(self.good))) < self.good
        states = np.zeros((n, 4))
        states[:, 0], states[:, 1], states[:, 2] = self.x, self.y, drawn @ (1 << np.arange(len(self.good)))
        return airoas.Particles(states)


class Factored:
    def start(self, model, rng):
        return Rocks(*model.start, np.full(len(model.rocks), 0.5))

    def update(self, model, belief, action, observation, rng):
        arrived, _ = model.step(State(belief.x, belief.y, 0, 0), action, rng)  # where it goes, it goes for certain
        good, evidence = belief.good.copy(), 0.0 if arrived.exited else 1.0  # an observation says that the episode goes on
        if action == SAMPLE and model.rock_at[belief.x, belief.y] >= 0:
            good[model.rock_at[belief.x, belief.y]] = 0.0
        if action >= CHECK:
            rock = action - CHECK
            right = model.accuracy[belief.x, belief.y, rock]
            likelihood = right if observation[0] == GOOD else 1.0 - right  # of a good rock; of a bad one it is 1 - likelihood
            both = good[rock] * likelihood, (1.0 - good[rock]) * (1.0 - likelihood)
            evidence = sum(both)
            good[rock] = both[0] / evidence if evidence else 0.0
        if not evidence:
            raise airoas.BeliefError(f"{observation} after {model.action_names[action]} cannot be", "see where the two come from.")
        return airoas.Updated(Rocks(arrived.x, arrived.y, good), math.log(evidence))
