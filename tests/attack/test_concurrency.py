"""Many threads, forks and decisions at once: the same answers, and nothing that grows."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from airoas import Particles, stream, update
from airoas.domains import Tiger
from airoas.planners import AIROAS, ARDESPOT, POMCP, POMCPOW, AdaOPS

TIGER = Tiger()
BELIEF = Particles([[0.0], [1.0]], [0.3, 0.7])
PLANNERS = [kind(iterations=40) for kind in (AIROAS, AdaOPS, ARDESPOT, POMCP, POMCPOW)]


def answer(planner: Any, seed: int) -> tuple[Any, float, int]:
    decision = planner.plan(TIGER, BELIEF, stream(seed))
    return decision.action, decision.value, decision.stats.trials


def test_a_hundred_and_twenty_five_plans_in_eight_threads() -> None:
    asked = [(planner, seed) for planner in PLANNERS for seed in range(25)]
    expected = [answer(*one) for one in asked]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda one: answer(*one), asked)) == expected


FORK = """
import os
import airoas
from airoas.domains import Tiger
from airoas.planners import AIROAS, POMCP
model = Tiger()
belief = airoas.Particles.sample(model, 100, airoas.stream(0))
planners = [AIROAS(iterations=50), POMCP(iterations=500)]
def answers():
    return [(d.action, d.value) for p in planners for d in [p.plan(model, belief, airoas.stream(k)) for k in range(5)]]
expected = answers()
children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        os._exit(0 if answers() == expected else 1)
    children.append(child)
assert answers() == expected
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
"""


def test_forks_answer_as_their_parent() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], check=True, timeout=300)


def resident() -> int:
    """Bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.law
@pytest.mark.parametrize("planner", [POMCP(iterations=20), AIROAS(iterations=5)], ids=str)
def test_twenty_thousand_decisions_without_growth(planner: Any) -> None:
    belief, before = Particles.sample(TIGER, 100, stream(0)), 0
    for step in range(20_000):
        planner.plan(TIGER, belief, stream(step))
        belief = update(TIGER, belief, step % 3, (step % 2,), stream(step))
        if step == 2000:
            gc.collect()
            before = resident()
    gc.collect()
    assert resident() - before < 8_000_000
