"""Whether places injected in proportion to the surprise bring more robots back than thirds at the alarm, as `Agent(recover=True)` has
them: the data of docs/robot.md, My model is wrong.

`python -m tools.lost_injection` adds to docs/robot/injection.csv the runs that it does not have (15 CPU minutes in all).
"""

from __future__ import annotations

import csv
import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import airoas
from airoas import Agent, Particles, Updated, stream
from airoas.belief.relocation import doubtful, explaining
from airoas.belief.surprise import Surprise, rank
from airoas.rng import Rng
from tools import lost_study
from tools.lost_study import FOLDER, TROUBLES, Record, load

SEEDS, RUNS = 310_000, 20
"""For tuning."""
MOST = 2.0 / 3.0
"""Of the weight, where the belief is lost: that of `Agent(recover=True)`."""
LITTLE = 0.1
"""Of the weight, below the alarm."""
SHORT, LONG = 0.3, 0.05
"""How fast the averages of the likelihood follow, in augmented Monte Carlo localisation."""


class Injecting(Agent):
    """Believes in other places too at every step, with a weight that some subclass finds."""

    def _weight(self, before: float) -> float:
        """Of the places to inject now; before: the surprise at the step before."""
        raise NotImplementedError

    def _watch(self, before: Any, since: list[tuple[Any, Any]], rng: Rng) -> None:
        level = self.surprise
        self._surprise = self._surprise.after(rank(self.model, before, *since[-1], rng), self.false_alarms)
        weight = self._weight(level)
        if weight > 0.0:
            self._inject(weight, since)
        if self.surprise:
            self._since = since
        else:
            self._sure, self._since = self.belief, []

    def _inject(self, weight: float, since: Sequence[tuple[Any, Any]]) -> None:
        rng, relocation = stream(self.seed, "relocation", self.steps), self._relocation
        assert relocation is not None
        n = max(100, int(weight / MOST * relocation.particles))
        somewhere = explaining(self.model, relocation.candidates, *since[-1])
        parts = [doubtful(self.model, self._sure, since, n, rng), somewhere and somewhere.draw(n, rng)]
        others = [part for part in parts if part is not None]
        if not others:
            return
        states = [self.belief.states, *(part.states for part in others)]
        weights = [self.belief.weights * (1.0 - weight), *(part.weights * weight / len(others) for part in others)]
        wider, most = Particles(np.concatenate(states), np.concatenate(weights)), max(3 * relocation.particles, len(self.belief))
        self.updated = Updated(wider if len(wider) <= most else wider.draw(most, rng))
        if self.lost:
            self._surprise = Surprise()  # it is another belief
            self._sure, self._since = self.belief, []


class Proportional(Injecting):
    """In proportion to the surprise, wherever that grows."""

    def _weight(self, before: float) -> float:
        return MOST * self.surprise if self.surprise > before or self.lost else 0.0


class Gentle(Injecting):
    """A little in proportion to the surprise, wherever that grows, so that what is injected hides no surprise; thirds at the alarm."""

    def _weight(self, before: float) -> float:
        if self.lost:
            return MOST
        return LITTLE * self.surprise if self.surprise > before else 0.0


class Augmented(Injecting):
    """Augmented Monte Carlo localisation (Thrun, Burgard and Fox, 2005, table 8.3): by how far the average of the likelihood over a short
    time is below that over a long one."""

    _averages: tuple[float, float] | None = None

    def _weight(self, before: float) -> float:
        likelihood = math.exp(self.updated.log_evidence)
        short, long = self._averages or (likelihood, likelihood)
        self._averages = short + SHORT * (likelihood - short), long + LONG * (likelihood - long)
        short, long = self._averages
        return max(0.0, 1.0 - short / long) if long > 0.0 else 0.0


WAYS = {"thirds": Agent, "proportional": Proportional, "gentle": Gentle, "augmented": Augmented}


def main() -> None:
    warnings.simplefilter("ignore", airoas.LostWarning)
    known = {(row["way"], row["trouble"], int(row["seed"])) for row in load("injection")}
    tasks = [(way, trouble, SEEDS + i) for i in range(RUNS) for trouble in TROUBLES for way in WAYS]
    with open(FOLDER / "injection.csv", "a", newline="") as file:
        for way, trouble, seed in (task for task in tasks if task not in known):
            begun = time.process_time()
            ran = lost_study.run(trouble, seed, agent=WAYS[way], recover=True)
            record: Record = {"way": way, "trouble": trouble, "seed": seed, "recovered": ran["recovered"], "near": ran["near"]}
            record["cpu_seconds"] = round(time.process_time() - begun, 2)
            writer = csv.DictWriter(file, list(record))
            if not known:
                writer.writeheader()
                known.add((way, trouble, seed))
            writer.writerow(record)
            file.flush()


if __name__ == "__main__":
    main()
