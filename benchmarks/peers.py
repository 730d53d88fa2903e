"""POMCP here beside POMCP of pomdp-py: the same problems, each package with models of its own, the same options.

`pip install 'airoas[peers]'`, then `python benchmarks/peers.py` on an idle machine: about twenty minutes. It plays episodes of Tiger and of
RockSample(11, 11), the packages in turn, with 0.1 s a move, random rollouts, and the depth and exploration constant of pomdp-py's own
examples; and prints simulations per CPU second, how far past the deadline decisions ended by the wall clock, and returns. pomdp-py's
POMCP keeps its belief in the tree and raises an error where that runs out of particles: such an episode has failed. So its POUCT is there
too, the same search with a belief that is updated apart, by its own functions; and RockSample with its model in Python and in Cython.
Where pomdp-py is not installed it says so and ends.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import math
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import run
from airoas import Particles, simulate
from airoas.domains import Tiger
from airoas.domains.rock_sample import MAPS, standard
from airoas.planners import POMCP

DISCOUNT = 0.95
PARTICLES = 1000
"""Of the agents' beliefs, on both sides."""


class Problem(NamedTuple):
    """What both packages solve. `theirs` makes pomdp-py's problem of a model in "Python" or "Cython", for one of its planners."""

    name: str
    depth: int
    c: float
    steps: int
    ours: Callable[[], Any]
    theirs: dict[str, Callable[[str], Any]]


@dataclass
class Played:
    """One side on one problem, over all its episodes."""

    problem: str
    planner: str
    """Ours, or one of pomdp-py's."""
    model: str
    returns: list[float] = field(default_factory=list)
    simulations: int = 0
    seconds: float = 0.0
    """CPU time of the decisions."""
    overshoots: list[float] = field(default_factory=list)
    """Seconds past the deadline by the wall clock."""
    failures: list[str] = field(default_factory=list)

    def decide(self, decide: Callable[[], Any], seconds: float) -> Any:
        """A decision, measured."""
        wall, cpu = time.perf_counter(), time.process_time()
        decided = decide()
        self.seconds += time.process_time() - cpu
        self.overshoots.append(max(0.0, time.perf_counter() - wall - seconds))
        return decided


# --- ours ---


@dataclass(frozen=True)
class Measured:
    """POMCP whose decisions are put down."""

    planner: POMCP
    into: Played
    seconds: float

    def plan(self, model: Any, belief: Particles, rng: Any) -> Any:
        decision = self.into.decide(lambda: self.planner.plan(model, belief, rng), self.seconds)
        self.into.simulations += decision.stats.trials
        return decision


def play_ours(problem: Problem, into: Played, seconds: float, seed: int) -> None:
    model = problem.ours()
    planner = POMCP(seconds=seconds, max_depth=problem.depth, c=problem.c, estimate="random")
    planner.prepare(model)
    episode = simulate(model, Measured(planner, into, seconds), seed, "bootstrap", PARTICLES, problem.steps)
    into.returns.append(episode.discounted_return)


# --- pomdp-py's ---


OURS = "airoas POMCP"
THEIRS = {"pomdp-py POMCP": "POMCP", "pomdp-py POUCT": "POUCT"}


def tiger_of_pomdp_py(planner: str) -> Any:
    import pomdp_py
    from pomdp_py.problems.tiger.tiger_problem import TigerProblem, TigerState

    sides = [TigerState(f"tiger-{side}") for side in ("left", "right")]
    even = pomdp_py.Histogram(dict.fromkeys(sides, 0.5))
    belief = pomdp_py.Particles(random.choices(sides, k=PARTICLES)) if planner == "POMCP" else even
    return TigerProblem(0.15, random.choice(sides), belief)


def rock_sample_of_pomdp_py(planner: str = "POUCT", cython: bool = False) -> Any:
    import pomdp_py

    module = importlib.import_module(f"pomdp_py.problems.rocksample.{'cythonize.' * cython}rocksample_problem")
    make = module.RSState if cython else module.State
    start, rocks = MAPS[11, 11]

    def state() -> Any:
        return make(start, tuple(module.RockType.random() for _ in rocks), False)

    belief = pomdp_py.Particles([state() for _ in range(PARTICLES)])
    return module.RockSampleProblem(11, len(rocks), state(), {cell: i for i, cell in enumerate(rocks)}, belief)


def play_theirs(problem: Problem, into: Played, seconds: float, seed: int) -> None:
    """An episode by pomdp-py's own loop. One in which its belief is lost has failed, and counts in no mean."""
    import pomdp_py

    random.seed(seed)
    kind = THEIRS[into.planner]
    world = problem.theirs[into.model](kind)
    agent, env = world.agent, world.env
    planner = getattr(pomdp_py, kind)(
        max_depth=problem.depth,
        discount_factor=DISCOUNT,
        planning_time=seconds,
        exploration_const=problem.c,
        rollout_policy=agent.policy_model,
        num_visits_init=1,
    )
    total = 0.0
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints warnings
            for t in range(problem.steps):
                action = into.decide(lambda: planner.plan(agent), seconds)
                into.simulations += planner.last_num_sims
                total += DISCOUNT**t * env.state_transition(action, execute=True)
                if getattr(env.state, "terminal", False):
                    break
                observation = env.provide_observation(agent.observation_model, action)
                agent.update_history(action, observation)
                planner.update(agent, action, observation)
                if kind == "POUCT":
                    models = agent.observation_model, agent.transition_model
                    is_table = isinstance(agent.cur_belief, pomdp_py.Histogram)
                    update = pomdp_py.update_histogram_belief if is_table else pomdp_py.update_particles_belief
                    agent.set_belief(update(agent.cur_belief, action, observation, *models))
    except Exception as error:  # a peer that fails is no failure of ours
        into.failures.append(f"{type(error).__name__}: {error}")
        return
    into.returns.append(total)


PROBLEMS = (
    Problem("Tiger", 3, 50.0, 30, Tiger, {"Python": tiger_of_pomdp_py}),
    Problem(
        "RockSample(11, 11)",
        30,
        5.0,
        100,
        lambda: standard(11, 11)._replace(everything_legal=True),  # as pomdp-py has it
        {"Python": rock_sample_of_pomdp_py, "Cython": lambda planner: rock_sample_of_pomdp_py(planner, cython=True)},
    ),
)


def compare(problem: Problem, seconds: float, episodes: int, tick: Callable[[str], None] = lambda doing: None) -> list[Played]:
    """Episodes of both, one after another in turn."""
    others = [Played(problem.name, planner, model) for model in problem.theirs for planner in THEIRS]
    lines = [Played(problem.name, OURS, "Python"), *others]
    for seed in range(episodes):
        for line in lines:
            tick(f"{problem.name}, episode {seed + 1} of {episodes}: {line.planner}, {line.model}")
            (play_ours if line.planner == OURS else play_theirs)(problem, line, seconds, seed)
    return lines


# --- what a person sees ---


def table(lines: list[Played], seconds: float) -> Table:
    caption = f"{seconds:g} s a move, {PARTICLES} particles, random rollouts. Simulations per CPU second; overshoot by the wall clock."
    shown = Table(title="POMCP beside POMCP", caption=caption)
    words = ("problem", "planner", "its model")
    for heading in (*words, "episodes", "failed", "return ± SE", "simulations/s", "overshoot ms: median, 99 %, most"):
        shown.add_column(heading, justify="left" if heading in words else "right")
    for line in lines:
        n = len(line.returns)
        error = float(np.std(line.returns, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        earned = f"{np.mean(line.returns):.2f} ± {error:.2f}" if n else "-"
        speed = f"{line.simulations / line.seconds:,.0f}" if line.seconds else "-"
        late = ", ".join(f"{1e3 * x:.2f}" for x in np.quantile(line.overshoots, (0.5, 0.99, 1.0))) if line.overshoots else "-"
        shown.add_row(line.problem, line.planner, line.model, str(n), str(len(line.failures) or ""), earned, speed, late)
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=50, help="of each line (default 50)")
    parser.add_argument("--seconds", type=float, default=0.1, help="for a decision (default 0.1)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="save all that was measured, and a description of the machine")
    options = parser.parse_args()
    console = Console()
    if not console.is_terminal:
        console.width = 140
    if find_spec("pomdp_py") is None:
        console.print("pomdp-py is not installed: pip install 'airoas\\[peers]'. Nothing is compared.")
        return 0
    lines: list[Played] = []
    with console.status("") as status:
        for problem in PROBLEMS:
            lines += compare(problem, options.seconds, options.episodes, status.update)
    console.print(table(lines, options.seconds))
    for line in lines:
        for failure in sorted(set(line.failures)):
            console.print(f"{line.planner}, {line.problem}, {line.model}: {failure}", markup=False, highlight=False)
    machine = {**run.machine(None), "pomdp-py": version("pomdp-py"), "seconds": options.seconds}
    console.print(", ".join(f"{key} {value}" for key, value in machine.items()), style="dim", markup=False, highlight=False)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "lines": [vars(line) for line in lines]}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
