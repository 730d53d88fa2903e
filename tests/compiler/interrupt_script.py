"""Work without end, of the kind that is asked for: says "ready" before it begins, and "stopped" after Ctrl-C."""

import math
import sys
from typing import NamedTuple

import airoas
from airoas.bounds import find_bounds
from airoas.domains import LightDark, Tiger
from airoas.planners import AIROAS, POMCP
from airoas.policies import learned
from airoas.policies.qmdp import make_policy


@airoas.model
class Slow(NamedTuple):
    """The third step takes seconds where it has 10**9 draws; bounds, where others are not asked for, no time at all."""

    draws: int
    discount: float = 0.9
    max_steps: int = 20

    def actions(self):
        return ("go", "wait")

    def initial(self, rng):
        return rng.uniform(), 0

    def step(self, s, a, rng):
        x, t = s
        for _ in range(self.draws if t > 1 else 1):
            x += rng.normal()
        return (math.tanh(x) + 0.5 * a, min(t + 1, 5)), x

    def observe(self, s, a, rng):
        return (s[0] + rng.normal(),)

    def obs_logpdf(self, o, s, a):
        return -0.5 * (o[0] - s[0]) ** 2

    def value_bounds(self, s):
        return -100.0, 100.0


def search(planner, effort):
    belief = airoas.Particles.sample(Tiger(), 100, airoas.stream(0))
    if effort == 1:
        planner.prepare(Tiger())
    else:
        planner.plan(Tiger(), belief, airoas.stream(0))


def anneal(effort):
    belief = airoas.Particles.sample(LightDark(), 20_000, airoas.stream(0))
    airoas.anneal(LightDark(), belief, 0, (1.0,), airoas.stream(0), target_inefficiency=1.0001, moves=effort)


WORK = {
    "airoas": lambda effort: search(AIROAS(iterations=10**9, gap=0.0, gap_ratio=0.0, bounds=(-1000.0, 1000.0)), effort),
    "rollout": lambda effort: search(POMCP(iterations=10**9, max_depth=10**9), effort),
    "threads": lambda effort: search(POMCP(iterations=10**9, threads=2), effort),
    "filter": anneal,
    "bounds": lambda effort: find_bounds(Slow(effort), ("rollout", "grid")),
    "policy": lambda effort: make_policy(Slow(1)) if effort == 1 else learned.prepare(Slow(effort), 1e9),
}

if __name__ == "__main__":
    work = WORK[sys.argv[1]]
    work(1)  # compiled ahead
    print("ready", flush=True)
    try:
        work(10**9)
        print("ended")
    except KeyboardInterrupt:
        print("stopped", flush=True)
