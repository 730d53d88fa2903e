"""A model needs no line for terminal states: but for `is_terminal`, none of its methods is ever called in one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Particles, stream
from airoas.bounds import find_bounds
from airoas.compiler.kernels import interpreted, running
from airoas.interop.gymnasium import Environment
from airoas.planners import AIROAS, ARDESPOT, PBVI, POMCP, POMCPOW, QMDP, AdaOPS, Random

CELLS = 5


class Spot(NamedTuple):
    x: float
    over: int


class Cell(NamedTuple):
    x: int
    over: int


class Seen(NamedTuple):
    x: float


class Told(NamedTuple):
    x: int


class Push(NamedTuple):
    by: float


class TerminalCallError(Exception):
    pass


def alive(s):
    if s.over:
        raise TerminalCallError
    return s


@airoas.model
class Corridor(NamedTuple):
    """Cells in a row; either end ends it, and so does a third of the waits."""

    errs: float = 0.2
    discount: float = 0.9
    max_steps: int = 6

    def actions(self):
        return ("left", "wait", "right")

    def initial(self, rng):
        return Cell(1 + rng.integer(3), rng.uniform() < 0.1)

    def arrive(self, s, a):
        x = alive(s).x + a - 1
        return Cell(x, x in (0, CELLS - 1)), 5.0 if x == CELLS - 1 else -1.0

    def step(self, s, a, rng):
        if a == 1 and alive(s) == s and rng.uniform() < 1 / 3:
            return Cell(s.x, 1), -1.0
        return self.arrive(s, a)

    def observe(self, s, a, rng):
        return Told(alive(s).x if rng.uniform() >= self.errs else rng.integer(CELLS))

    def obs_logpdf(self, o, s, a):
        return math.log(self.errs / CELLS + (1.0 - self.errs if o.x == alive(s).x else 0.0))

    def is_terminal(self, s):
        return s.over

    def legal(self, s, a):
        return a != 0 or alive(s).x > 0

    def rollout_action(self, s, rng):
        return 2 if alive(s).x > 2 else 1 + rng.integer(2)

    def value_bounds(self, s):
        return -10.0, 5.0 - 0.1 * alive(s).x

    def action_bounds(self, s, out, at):
        for a in range(3):
            out[at + a] = 5.0 + 0.1 * alive(s).x

    def n_plans(self):
        return 1

    def plan_action(self, k, t):
        return 2

    def plan_values(self, s, out, at):
        out[at] = -10.0 + 0.1 * alive(s).x

    def cell(self, s):
        return alive(s).x

    def n_states(self):
        return 2 * CELLS

    def index(self, s):
        return 2 * s.x + s.over

    def state(self, i):
        return Cell(i // 2, i % 2 or i // 2 in (0, CELLS - 1))

    def successor(self, s, a, k):
        if a != 1:
            return self.arrive(s, a)[0], 1.0
        return (Cell(s.x, 1), 1 / 3) if k == 0 else (alive(s), 2 / 3)

    def reward(self, s, a):
        return self.arrive(s, a)[1]

    def exact_initial(self):
        return np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [1.0, 1.0]]), np.array([0.3, 0.3, 0.3, 0.1])


@airoas.model
class Slope(NamedTuple):
    """A place on a line; beyond 3 it is over."""

    noise: float = 0.05
    discount: float = 0.9
    max_steps: int = 6

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return Spot(rng.normal(), rng.uniform() < 0.1)

    def step(self, s, a, rng):
        x = alive(s).x + 2.0 * a - 1.0 + rng.normal()
        return Spot(x, abs(x) > 3.0), x

    def observe(self, s, a, rng):
        return Seen(alive(s).x + self.noise * rng.normal())

    def obs_logpdf(self, o, s, a):
        z = (o.x - alive(s).x) / self.noise
        return -0.5 * z * z - math.log(self.noise)

    def is_terminal(self, s):
        return s.over

    def legal(self, s, a):
        return alive(s) == s


@airoas.model
class Moved(NamedTuple):
    """The same with moves of its own for annealing."""

    noise: float = 0.05
    discount: float = 0.9
    max_steps: int = 6

    actions, initial, step, observe = Slope.actions, Slope.initial, Slope.step, Slope.observe
    obs_logpdf, is_terminal = Slope.obs_logpdf, Slope.is_terminal

    def value_bounds(self, s):
        return -40.0, 40.0 + 0.0 * alive(s).x

    def step_logpdf(self, s2, s, a):
        z = s2.x - (alive(s).x + 2.0 * a - 1.0)
        return -0.5 * z * z

    def mutate(self, s, o, a, rng):
        x = alive(s).x + 3.0 * rng.normal()
        return Spot(x, abs(x) > 3.0)

    def mutate_logratio(self, s2, s, o, a):
        return 0.0 * alive(s2).x * alive(s).x

    def mutate_literal(self, s, o, a, rng):
        return self.mutate(s, o, a, rng)

    def move(self, s, parent, o, a, beta, rng):
        return self.mutate(s, o, a, rng) if alive(parent) == parent and rng.uniform() < 0.1 else s


@airoas.model
class Pushed(NamedTuple):
    """Continuous actions."""

    noise: float = 0.05
    discount: float = 0.9
    max_steps: int = 6

    initial, observe, obs_logpdf, is_terminal = Slope.initial, Slope.observe, Slope.obs_logpdf, Slope.is_terminal

    def sample_action(self, s, rng):
        return Push(rng.normal() + 0.0 * alive(s).x)

    def step(self, s, a, rng):
        x = alive(s).x + a.by + rng.normal()
        return Spot(x, abs(x) > 3.0), x


PLANNERS: dict[str, tuple[Any, list[Any]]] = {
    "airoas": (AIROAS(iterations=8, particles=20, max_depth=6), [Corridor(), Moved()]),
    "airoas by steps": (AIROAS(iterations=8, particles=20, bounds=("blind", "mdp"), anneal="none"), [Corridor()]),
    "airoas as printed": (AIROAS.as_printed(iterations=2, particles=10, max_depth=2, bounds=(-40, 40)), [Moved()]),
    "airoas without bounds": (AIROAS(iterations=4, particles=20, bounds=(-40, 40)), [Slope()]),
    "adaops": (AdaOPS(iterations=4, min_particles=10, max_particles=20, bounds=("value_bounds", "value_bounds")), [Corridor(), Moved()]),
    "ardespot": (ARDESPOT(iterations=8, scenarios=20), [Corridor(), Moved()]),
    "pomcp": (POMCP(iterations=100, c=5.0, max_depth=8), [Corridor(), Slope()]),
    "pomcp, random": (POMCP(iterations=100, c=5.0, max_depth=8, estimate="random"), [Corridor()]),
    "pomcp, value": (POMCP(iterations=100, c=5.0, max_depth=8, estimate="value"), [Corridor(), Moved()]),
    "pomcpow": (POMCPOW(iterations=100, c=5.0, max_depth=8), [Corridor(), Slope(), Pushed()]),
    "qmdp": (QMDP(), [Corridor()]),
    "pbvi": (PBVI(), [Corridor()]),
    "random": (Random(), [Corridor(), Slope(), Pushed()]),
}


@pytest.mark.parametrize("name", PLANNERS)
def test_planners(name: str) -> None:
    planner, models = PLANNERS[name]
    with running("compiled" if name == "pbvi" else "interpreted"):  # its tables would take long
        for model in models:
            episodes = [airoas.simulate(model, planner, seed, particles=60) for seed in range(3)]
            assert any(episode.terminated for episode in episodes)  # else nothing was put to the test
            ended = Particles.sample(model, 5, stream(0)).states.copy()
            ended[:, -1] = 1.0
            planner.plan(model, Particles(ended), stream(0))


@pytest.mark.parametrize(
    "options", [{"mode": "none"}, {"mode": "literal"}, *({"move": name} for name in ("ancestors", "move", "mutate", "walk"))]
)
def test_annealing(options: dict[str, Any]) -> None:
    model = Moved()
    with running("interpreted"):
        belief = Particles(np.column_stack([np.linspace(-2.9, 2.9, 60), np.arange(60) % 7 == 0]))
        for seen in (2.5, 2.99):
            posterior = airoas.anneal(model, belief, 1, (seen,), stream(1), **options).belief
            assert posterior.ess > 1.0


def test_gibbs_moves() -> None:
    with running("interpreted"):
        belief = Particles.sample(Corridor(errs=1e-3), 60, stream(0))
        for o in range(1, 4):
            airoas.anneal(Corridor(errs=1e-3), belief, 1, (o,), stream(1), move="gibbs")


@pytest.mark.parametrize("name", ["exact", "annealed", "bootstrap"])
def test_filters(name: str) -> None:
    with running("interpreted"):
        for seed in range(4):
            airoas.simulate(Corridor(), Random(), seed, filter=name, particles=40)


@pytest.mark.parametrize(
    "spec",
    [
        ("blind", "mdp"),
        ("pbvi", "fib"),
        ("fixed:right", "qmdp"),
        ("plans", "reached"),
        ("value_bounds", "value_bounds"),
        ("rollout", "qmdp"),
        ("grid", "grid"),
        ("simulated", "simulated"),
    ],
)
def test_bounds(spec: tuple[str, str]) -> None:
    """Compiled: a million simulated steps are many for Python. What a method raises arrives all the same, as the last test shows."""
    model = Slope() if spec[0] in ("grid", "simulated") else Corridor()
    bounds = find_bounds(model, spec)
    assert AIROAS(iterations=5, particles=20, anneal="none", bounds=spec).plan(model, Particles.sample(model, 60, stream(0)), stream(0))
    assert bounds.lower and bounds.upper


@pytest.mark.parametrize("model", [Corridor(), Slope(), Moved(), Pushed()], ids=lambda model: type(model).__name__)
def test_checker(model: Any) -> None:
    errors = [str(told) for told in airoas.check(model).diagnostics if told.level == "error"]
    assert not [error for error in errors if "TerminalCallError" in error], errors


def test_gymnasium() -> None:
    with running("interpreted"):
        environment = Environment(Corridor())
        for seed in range(5):
            _, info = environment.reset(seed=seed)
            over = bool(info["state"].over)
            while not over:
                *_, over, _, info = environment.step(2)
            assert not info["action_mask"].any()


@pytest.mark.parametrize("mode", ["interpreted", "compiled"])
def test_such_a_call_would_be_seen(mode: str) -> None:
    from airoas.modelling.batch import batch

    with running(mode):
        model, flag = Corridor(), np.ones(1, np.bool_)
        with pytest.raises(TerminalCallError):
            batch(model).step(
                np.array([[4.0, 1.0]]), flag, np.zeros((1, 1)), 0, np.zeros(1, np.int64), np.zeros((1, 2)), np.zeros(1), flag.copy()
            )
        with pytest.raises(TerminalCallError):
            interpreted(model).legal(Cell(0, 1), 0)
