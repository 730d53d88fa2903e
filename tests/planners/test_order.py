"""The same answer for any order of work: every draw has an address, of a node, an action and a particle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import Beacon, walk
from test_planner_conformance import fingerprint

from airoas import Particles, stream
from airoas.bounds import find, find_bounds, store
from airoas.compiler.kernels import Bound, running
from airoas.domains import LightDark2DContinuous, laser_tag
from airoas.modelling.batch import Batch, batch
from airoas.planners import AIROAS, ARDESPOT, AdaOPS
from airoas.planners.airoas import expand
from airoas.planners.bounded import session as bounded
from airoas.planners.bounded.expansion import branch
from airoas.planners.bounded.search import draw_root

MODELS = {"beacon": Beacon(), "walk": walk(states=8), "laser-tag": laser_tag.standard(1), "continuous": LightDark2DContinuous()}


def keep_bounds(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have them worked out compiled, and kept for an interpreted search, to which they are the same."""
    monkeypatch.setattr(store, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(find, "_cached", {})
    find_bounds(model)


# --- particles ---


def rows(model: Any, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    functions = batch(model)
    states, alive, actions = np.zeros((n, model.shapes.state.size)), np.zeros(n, np.bool_), np.zeros((n, functions._actions.shape[1]))
    functions.initial(states, alive, 5)
    functions.default_actions(states, alive, 3, np.arange(n), actions)
    return states, alive, actions


def stepped(model: Any, order: np.ndarray, chunks: int) -> dict[str, np.ndarray]:
    """What the batch functions give for all particles, worked on in this order and in so many parts."""
    n, functions = len(order), batch(model)
    states, alive, actions = rows(model, n)
    out = {
        "actions": np.zeros_like(actions),
        "after": np.zeros_like(states),
        "rewards": np.zeros(n),
        "arrived": np.zeros(n, np.bool_),
        "observations": np.zeros((n, model.shapes.observation.size)),
        "logs": np.zeros(n),
    }
    for part in np.array_split(order, chunks):
        some, going_on, numbers, count = states[part], alive[part], part.astype(np.int64), len(part)
        chosen = np.zeros((count, actions.shape[1]))
        functions.default_actions(some, going_on, 3, numbers, chosen)
        after, rewards, arrived = np.zeros_like(some), np.zeros(count), np.zeros(count, np.bool_)
        functions.step(some, going_on, chosen, 7, numbers, after, rewards, arrived)
        seen, logs = np.zeros((count, model.shapes.observation.size)), np.zeros(count)
        which = np.flatnonzero(arrived)
        seen_of = np.zeros((len(which), seen.shape[1]))
        functions.observe(after, which, chosen, 9, numbers[which], seen_of)
        seen[which] = seen_of
        functions.weigh(after, arrived, seen, np.arange(count), chosen, logs)
        for name, value in zip(out, (chosen, after, rewards, arrived, seen, logs), strict=True):
            out[name][part] = value
    return out


@pytest.mark.parametrize("mode", ["interpreted", "compiled"])
@pytest.mark.parametrize("name", MODELS)
def test_particles_in_any_order_and_in_any_parts(name: str, mode: str) -> None:
    n, random = 60, np.random.default_rng(1)
    with running(mode):
        model = MODELS[name]
        straight = stepped(model, np.arange(n), 1)
        assert straight["arrived"].any() and len(np.unique(straight["observations"])) > 3
        for chunks in (1, 2, 7, n):
            shuffled = stepped(model, random.permutation(n), chunks)
            assert all(straight[key].tobytes() == shuffled[key].tobytes() for key in straight)


# --- whole decisions, with the particles of every call shuffled ---


def shuffling(name: str, call: Any, random: np.random.Generator) -> Any:
    """A batch function that works on its rows in a random order."""

    def step(states, alive, actions, seed, numbers, after, rewards, arrived):
        order = random.permutation(len(states))
        some = actions[order] if len(actions) > 1 else actions
        result = after[order], rewards[order], arrived[order]
        call(states[order], alive[order], some, seed, numbers[order], *result)
        after[order], rewards[order], arrived[order] = result

    def observe(states, which, actions, seed, numbers, observations):
        order, seen = random.permutation(len(which)), np.zeros((len(which), observations.shape[1]))
        call(states, which[order], actions, seed, numbers[order], seen)
        observations[order] = seen

    def log_likelihoods(states, alive, observations, actions, out):
        order, logs = random.permutation(len(states)), np.zeros((len(observations), len(states)))
        call(states[order], alive[order], observations, actions[order] if len(actions) > 1 else actions, logs)
        out[: len(observations), order] = logs

    return {"step": step, "observe": observe, "log_likelihoods": log_likelihoods}.get(name, call)


PLANNERS = {
    "airoas": AIROAS(iterations=6, particles=20, max_depth=5, policy="none"),
    "airoas none": AIROAS(iterations=6, particles=20, anneal="none", policy="none"),
    "adaops": AdaOPS(iterations=4, min_particles=10, max_particles=20),
    "ardespot": ARDESPOT(iterations=6, scenarios=20),
}


@pytest.mark.parametrize("name", PLANNERS)
@pytest.mark.parametrize("model", ["beacon", "walk"])
def test_decisions_do_not_depend_on_the_order_of_particles(name: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    belief = Particles.sample(MODELS[model], 60, stream(0))
    original, calls, random = Batch._bound, [], np.random.default_rng(2)

    def bound(self: Batch, function: Any, *examples: Any) -> Bound:
        result = original(self, function, *examples)
        calls.append(function.__name__)
        result._call = shuffling(function.__name__, result._call, random)
        return result

    keep_bounds(MODELS[model], monkeypatch)
    decisions = []
    with running("interpreted"):
        for shuffles in (False, True):
            bounded._sessions.clear()
            subject = type(MODELS[model])(*MODELS[model])
            if shuffles:
                monkeypatch.setattr(Batch, "_bound", bound)
            decisions.append(fingerprint(PLANNERS[name].plan(subject, belief, stream(3))))
    bounded._sessions.clear()
    assert "step" in calls
    assert decisions[0] == decisions[1]


# --- leaves ---


def opened(planner: AIROAS, model: Any, belief: Particles, random: np.random.Generator | None) -> dict[int, tuple[Any, ...]]:
    """Every node down to the second level by its key, where actions are branched and leaves opened in a random order."""
    session = bounded.session_of(planner, model)
    tree, _, search = held = session._take()
    session._set_limits(tree, np.inf)
    search.allowed[:] = True
    search.seed = 11
    tree.root_enumerated = False
    draw_root(tree, np.array(belief.states), belief.weights, np.empty(planner.particles, np.int64), stream(0))
    assert expand(tree, search, 0) == 0

    def mixed(numbers: Any) -> list[int]:
        order = range(len(numbers)) if random is None else random.permutation(len(numbers))
        return [int(numbers[k]) for k in order]

    level = [0]
    for _ in range(2):
        below = []
        actions = [ba for b in level for ba in range(tree.first_action[b], tree.first_action[b] + tree.n_actions[b])]
        for ba in mixed(actions):
            assert branch(tree, search.search, ba) == 0
            below += range(tree.first_child[ba], tree.first_child[ba] + tree.n_children[ba])
        level = mixed(below)
        for b in level:
            assert expand(tree, search, b) == 0
    result = {}
    for b in range(tree.n_nodes):
        particles = slice(tree.first_particle[b], tree.first_particle[b] + tree.n_particles[b])
        chosen = slice(tree.first_action[b], tree.first_action[b] + tree.n_actions[b])
        columns = (
            tree.states[particles],
            tree.weights[particles],
            tree.action_lower[chosen],
            tree.action_upper[chosen],
            tree.observations[b],
        )
        result[int(tree.key[b])] = float(tree.lower[b]), float(tree.upper[b]), *(column.tobytes() for column in columns)
    assert len(result) == tree.n_nodes
    session._waiting.append(held)
    return result


@pytest.mark.parametrize("name", ["beacon", "laser-tag"])
def test_leaves_in_any_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS[name]
    planner = AIROAS(iterations=1, particles=6, enumerates=False, policy="none")
    belief = Particles.sample(model, 60, stream(0))
    keep_bounds(model, monkeypatch)
    with running("interpreted"):
        straight = opened(planner, model, belief, None)
        assert len(straight) > 20
        for seed in range(2):
            assert opened(planner, model, belief, np.random.default_rng(seed)) == straight
