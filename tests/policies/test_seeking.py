"""Where much is told, and the way there: a sign that no straight line from the start passes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

import airoas
from airoas import Particles, stream
from airoas.bounds.learned.forest import TREES, Forest, find_leaves
from airoas.domains import Tiger
from airoas.planners import FittedQ
from airoas.policies import learned
from airoas.policies.belief_mdp import choose_one, information_on, roll_out
from airoas.policies.experience import collect, make_experience, make_told, make_walkers
from airoas.policies.qmdp import make_policy
from airoas.policies.runs import FOLLOW, SEEK, Policy, Routes, make_runs
from airoas.policies.seeking import find_routes, joined

SIGN = (3.0, 6.0)
HARBOURS = ((9.0, -3.0), (-9.0, -3.0))


@airoas.model
class Lagoon(NamedTuple):
    """A boat knows where it is, and not which of two harbours is open; a sign tells, and lies off all straight ways."""

    discount: float = 0.97
    max_steps: int = 40

    def actions(self):
        return ("east", "north", "west", "south", "moor")

    def initial(self, rng):
        return 0.3 * rng.normal(), 0.3 * rng.normal(), rng.integer(2), 0

    def step(self, s, a, rng):
        if a == 4:
            for k in range(2):
                if near(s, HARBOURS[k]):
                    return (s[0], s[1], s[2], 1), 100.0 if k == s[2] else -100.0
            return s, -5.0
        x = s[0] + (1.0 if a == 0 else -1.0 if a == 2 else 0.0) + 0.1 * rng.normal()
        y = s[1] + (1.0 if a == 1 else -1.0 if a == 3 else 0.0) + 0.1 * rng.normal()
        return (x, y, s[2], 0), -1.0

    def observe(self, s, a, rng):
        return s[0] + 0.2 * rng.normal(), s[1] + 0.2 * rng.normal(), s[2] if near(s, SIGN) else -1

    def obs_logpdf(self, o, s, a):
        if o[2] != (s[2] if near(s, SIGN) else -1):
            return -math.inf
        x, y = (o[0] - s[0]) / 0.2, (o[1] - s[1]) / 0.2
        return -0.5 * (x * x + y * y)

    def is_terminal(self, s):
        return s[3] == 1


def near(s, position):
    return (s[0] - position[0]) ** 2 + (s[1] - position[1]) ** 2 < 1.5


@pytest.fixture(scope="module")
def routed() -> tuple[Lagoon, Policy]:
    """The model, and QMDP with the routes that 6,000 beliefs on walks tell."""
    model = Lagoon()
    policy = make_policy(model)
    belief = Particles.sample(model, 1000, stream(0))
    told, some = make_told(model, policy, 20_000), make_experience(policy, 6000)
    walking, walkers, trying = make_walkers(model, policy, 64, 100, 100)
    collect(policy, walking, walkers, trying, some, told, np.array(belief.states), belief.weights, 40, 0.3, 1)
    return model, make_policy(model, routes=find_routes(policy, told))


def steps_left(policy: Policy, route: int, states: np.ndarray) -> np.ndarray:
    forest, leaves = policy.routes, np.zeros((len(states), len(policy.routes.roots)), np.int64)
    find_leaves(forest, states, leaves)
    return forest.values[leaves, 0][:, route * TREES : (route + 1) * TREES].sum(axis=1)


def test_the_sign_is_where_much_is_told(routed: tuple[Lagoon, Policy]) -> None:
    """Of which harbour is open, and nowhere else; of where the boat is, every reading tells alike."""
    _, policy = routed
    positions = np.array([[*SIGN, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [*HARBOURS[0], 0.0, 0.0]])
    routes = [steps_left(policy, route, positions) for route in range(policy.n_routes)]
    assert any(left[0] < 0.5 and left[1:].min() > 4.0 for left in routes)


def test_a_run_that_seeks_gets_there(routed: tuple[Lagoon, Policy]) -> None:
    model, policy = routed
    belief = Particles.sample(model, 500, stream(1))
    states, weights, labels = np.array(belief.states), belief.weights, np.zeros(500, np.int64)
    distances = []
    for route in range(policy.n_routes):
        runs = make_runs(model, policy, 8, 100)
        runs.kind[:], runs.believed[:], runs.sought[:] = SEEK, -1, route
        roll_out(policy, runs, states, weights, labels, 8, 7)
        at = runs.states[::100]
        distances.append(np.median(np.hypot(at[:, 0] - SIGN[0], at[:, 1] - SIGN[1])))
    assert min(distances) < 2.0  # eight steps to the sign itself, seven to where it can be read


@airoas.model
class Archive(NamedTuple):
    """Which of two doors at the far end is right stands in a file at the near end, for whoever reads there; walking tells nothing."""

    discount: float = 0.97
    max_steps: int = 60

    def actions(self):
        return ("back", "ahead", "read", "left", "right")

    def initial(self, rng):
        return 6, rng.integer(2), 0

    def step(self, s, a, rng):
        if a >= 3:
            return (s[0], s[1], 1), (100.0 if a - 3 == s[1] else -100.0) if s[0] == 10 else -5.0
        return (min(10, max(0, s[0] + (2 * a - 1 if a < 2 else 0))), s[1], 0), -1.0

    def observe(self, s, a, rng):
        return s[0], (s[1] if rng.uniform() < 0.9 else 1 - s[1]) if a == 2 and s[0] == 0 else -1

    def obs_logpdf(self, o, s, a):
        if o[0] != s[0] or (o[1] < 0) == (a == 2 and s[0] == 0):
            return -math.inf
        return 0.0 if o[1] < 0 else math.log(0.9 if o[1] == s[1] else 0.1)

    def is_terminal(self, s):
        return s[2] == 1


def test_a_route_ends_with_the_action_that_tells() -> None:
    model, read = Archive(), 2
    policy = make_policy(model)
    belief = Particles.sample(model, 1000, stream(0))
    states, weights = np.array(belief.states), belief.weights
    told, some = make_told(model, policy, 20_000), make_experience(policy, 6000)
    collect(policy, *(parts := make_walkers(model, policy, 64, 100, 100))[:2], parts[2], some, told, states, weights, 60, 0.3, 1)
    assert set(told.actions[: told.count]) <= set(range(5))
    routes = find_routes(policy, told)
    assert routes is not None and read in routes.tells
    policy, labels = make_policy(model, routes=routes), np.zeros(1000, np.int64)
    taken = []
    for at in (0, 4):  # there, and on the way
        one = make_runs(model, policy, 1, 200)
        one.kind[0], one.sought[0] = SEEK, routes.tells.index(read)
        states[:, 0] = at
        taken.append((choose_one(policy, one, states, weights, labels, 3), one.kind[0]))
    assert taken == [(read, FOLLOW), (0, SEEK)]


def test_a_decision_that_seeks_leaves_no_trace(routed: tuple[Lagoon, Policy]) -> None:
    model, policy = routed
    belief = Particles.sample(model, 500, stream(1))
    one, labels = make_runs(model, policy, 1, 200), np.zeros(500, np.int64)
    own = choose_one(policy, one, np.array(belief.states), belief.weights, labels, 3)
    one.kind[0] = SEEK
    assert choose_one(policy, one, np.array(belief.states), belief.weights, labels, 3) in (0, 1)  # east or north
    one.kind[0] = 0
    assert choose_one(policy, one, np.array(belief.states), belief.weights, labels, 3) == own


def test_what_is_told_of_a_number_is_half_the_log_of_the_variances(routed: tuple[Lagoon, Policy]) -> None:
    model, policy = routed
    runs = make_runs(model, policy, 1, 20_001)
    x = np.random.default_rng(0).normal(size=20_001)
    runs.after[:, 0], runs.arrived[:] = x, True
    runs.logs[:] = -0.5 * (x - 1.0) ** 2 / 3.0  # a reading of variance 3: the variance is left to 3/4
    assert information_on(runs, 0, 0) == (
        pytest.approx(0.5 * math.log(4.0 / 3.0), abs=0.02),
        pytest.approx(1.0, abs=0.04),
    )  # some four errors
    assert information_on(runs, 0, 1) == (0.0, 0.0)  # it does not vary
    runs.logs[1:] = -math.inf
    assert information_on(runs, 0, 0) == (0.0, 0.0)  # no particle allows it


def test_joined_forests_are_looked_up_as_they_were() -> None:
    rows = np.array([[0.0], [1.0], [2.0]])
    ends = np.array([-1, -1])
    forests = [
        Forest(
            roots=np.zeros(TREES, np.int64),
            first=np.zeros(3, np.int64),
            second=np.ones(3, np.int64),
            cut=np.array([cut, 0.0, 0.0]),
            child=np.array([1, *ends]),
            values=np.array([[0.0], [low / TREES], [9.0 / TREES]]),
        )
        for cut, low in ((0.5, 1.0), (1.5, 2.0))
    ]
    both, leaves = joined(forests), np.zeros((3, 2 * TREES), np.int64)
    find_leaves(both, rows, leaves)
    values = both.values[leaves, 0]
    assert np.allclose(values[:, :TREES].sum(axis=1), [1.0, 9.0, 9.0])
    assert np.allclose(values[:, TREES:].sum(axis=1), [2.0, 2.0, 9.0])


def test_nothing_is_sought_where_all_places_tell_alike() -> None:
    model = Tiger()
    policy = make_policy(model)
    told = make_told(model, policy, 2000)
    told.states[:, 0] = np.arange(2000) % 2
    told.nats[:] = np.random.default_rng(0).normal(0.1, 0.05, (2000, len(policy.components)))
    told.spreads[:], told.count = 0.25, 2000
    assert find_routes(policy, told) is None


@pytest.mark.law
def test_what_is_learned_goes_by_the_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some 22 steps by the sign and 100 for the open harbour: 31 or so. A harbour by chance earns nothing but the way, -10 at best."""
    monkeypatch.setattr(learned, "ROUNDS", (1000, 2000, 4000, 6000, 6000))
    known = learned.learn(Lagoon(), 1e6)  # rounds end it, not time
    assert known.policy == "learned"
    assert known.returns["learned"][0] > 15.0
    assert known.routes is not None


def test_a_policy_in_a_file_keeps_its_routes(tmp_path, routed: tuple[Lagoon, Policy], monkeypatch: pytest.MonkeyPatch) -> None:
    model, policy = routed
    known = learned.Learned(
        None, 1, "", "qmdp", returns={"qmdp": (0.0, 1.0)}, routes=Routes(policy.routes, tuple(policy.tells.tolist())), seeks=True
    )
    monkeypatch.setattr(learned, "_known", {(model.fingerprint, "auto"): known})
    FittedQ().save(model, tmp_path / "policy.npz")
    again = learned.load(model, tmp_path / "policy.npz")
    assert again.seeks and np.array_equal(again.routes.steps.cut, policy.routes.cut)
    with np.load(tmp_path / "policy.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "bad.npz", **arrays | {"routes_first": arrays["routes_first"] + 10**6})
    with pytest.raises(airoas.OptionError, match="is damaged"):
        FittedQ().load(model, tmp_path / "bad.npz")
