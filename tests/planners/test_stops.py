"""Searches that end when they should, refuse rewards that are none, and give their memory back."""

from __future__ import annotations

import gc
import math
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import airoas
from airoas import ModelError, Particles, stream
from airoas.domains import Tiger
from airoas.planners import AIROAS, ARDESPOT, POMCP, POMCPOW, AdaOPS, FittedQ

TIGER = Tiger()
BELIEF = Particles([[0.0], [1.0]])


# --- deadlines ---


@pytest.mark.parametrize("kind", [POMCP, POMCPOW])
def test_the_deadline_is_looked_at_inside_a_simulation(kind: Any) -> None:
    options = {"epsilon": 0.0} if kind is POMCPOW else {}
    planner = kind(seconds=0.05, max_depth=10**9, **options)
    planner.prepare(TIGER)
    decision = planner.plan(TIGER, BELIEF, stream(0))
    assert decision.stats.stop == "deadline" and decision.stats.overshoot < 0.05
    assert decision.stats.trials == 0 and decision.action in range(3)  # the first was cut off, and answers all the same
    again = kind(iterations=50, max_depth=200, **options)
    assert again.plan(TIGER, BELIEF, stream(0)).stats.trials == 50


@pytest.mark.parametrize("kind", [AIROAS, AdaOPS, ARDESPOT])
def test_any_depth_may_be_asked_for(kind: Any) -> None:
    planner = kind(iterations=50, max_depth=10**9, gap=0.0)
    assert planner.plan(TIGER, BELIEF, stream(0)).stats.trials == 50


# --- rewards ---


class Cell(NamedTuple):
    x: int


@airoas.model
class Trap(NamedTuple):
    """A walk to the right; what is paid at 4, three steps away, is a parameter."""

    pays: float = math.nan
    discount: float = 0.9
    max_steps: int = 20

    def actions(self):
        return ("stay", "go")

    def initial(self, rng):
        return Cell(0)

    def step(self, s, a, rng):
        return Cell(min(s.x + a, 9)), self.pays if s.x == 4 else float(a)

    def observe(self, s, a, rng):
        return s

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.x == s.x else -math.inf


PLANNERS = {
    "airoas": AIROAS(iterations=400, particles=5, bounds=(-100.0, 100.0), policy="none"),
    "adaops": AdaOPS(iterations=400, min_particles=5, bounds=(-100.0, 100.0)),
    "ardespot": ARDESPOT(iterations=400, scenarios=5, bounds=(-100.0, 100.0)),
    "pomcp": POMCP(iterations=2000),
    "pomcpow": POMCPOW(iterations=2000),
    "pomcp by its tree": POMCP(iterations=4000, max_depth=6),
    "airoas by default": AIROAS(iterations=400, learn_seconds=0.0),
    "fitted-q": FittedQ(learn_seconds=0.0),
}


@pytest.mark.parametrize("pays", [math.nan, math.inf, -math.inf, 1e308])
@pytest.mark.parametrize("name", PLANNERS)
def test_a_reward_that_is_none_is_named_with_state_and_action(name: str, pays: float) -> None:
    told = re.escape(f"{pays:g}")
    with pytest.raises(ModelError, match=rf"Trap\.step .*reward {told} for the action (go|stay) in state Cell\(x=4\)"):
        PLANNERS[name].plan(Trap(pays), Particles([[0.0]]), stream(0))


def test_large_rewards_are_no_fault() -> None:
    for planner in (
        POMCP(iterations=2000),
        POMCPOW(iterations=2000),
        AIROAS(iterations=200, particles=5, bounds=(-1e21, 1e21), policy="none"),
    ):
        assert math.isfinite(planner.plan(Trap(1e19), Particles([[0.0]]), stream(0)).value)


def test_an_episode_refuses_a_return_that_overflows() -> None:
    class Going:
        def plan(self, model: Any, belief: Any, rng: Any) -> Any:
            return airoas.planners.Decision(1, 0.0)

    with pytest.raises(ModelError, match=r"Trap\.step .*reward 1e\+308 at step 4"):
        airoas.simulate(Trap(1e308), Going(), 0, filter="bootstrap", particles=10)


# --- memory ---


def resident() -> int:
    """Bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize(
    "planner", [POMCP(iterations=60_000, c=100.0), AIROAS(iterations=1500, gap=0.0, gap_ratio=0.0, particles=50)], ids=str
)
def test_what_is_dropped_is_given_back(planner: Any) -> None:
    planner.plan(TIGER, BELIEF, stream(0))
    gc.collect()
    before = resident()
    held = [planner.plan(TIGER, BELIEF, stream(k)) for k in range(8)]
    tree = held[0].stats.bytes
    assert resident() - before > 5 * tree
    del held
    gc.collect()
    assert resident() - before < 1.5 * tree + 4_000_000


@pytest.mark.parametrize("memory", [1_000_000, 3_000_000, 10_000_000])
@pytest.mark.parametrize("kind", [POMCP, POMCPOW])
def test_no_tree_is_larger_than_its_memory(kind: Any, memory: int) -> None:
    for seed in range(3):
        stats = kind(iterations=10**7, memory=memory, c=100.0).plan(TIGER, BELIEF, stream(seed)).stats
        assert stats.stop == "memory" and 0.5 * memory < stats.bytes <= memory


def test_a_limit_on_address_space_is_told_of() -> None:
    script = """
import resource
import airoas
from airoas.domains import Tiger
from airoas.planners import POMCPOW
belief = airoas.Particles.sample(Tiger(), 10, airoas.stream(0))
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    POMCPOW(iterations=10, memory=4_000_000_000).plan(Tiger(), belief, airoas.stream(0))
except airoas.OptionError as error:
    print(error)
POMCPOW(iterations=10, memory=10_000_000).plan(Tiger(), belief, airoas.stream(0))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "GB of address space for a search tree" in done.stdout and "smaller `memory`" in done.stdout
