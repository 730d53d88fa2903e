"""POMCP and POMCPOW as their listings read: recursive, over dictionaries and lists, on the same random streams as the planners.

Written apart from the planners, so that a tree of theirs that equals one of these was grown by the rules. A history is
{"n", "actions", "kept"}, an action {"a", "n", "v", "children", "seen"}; `children` are (observation, history) pairs. Simulation
number t draws from the stream (seed of the decision, 0, t).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

from airoas.belief.particles import Particles
from airoas.rng import Rng, stream


def history() -> dict[str, Any]:
    return {"n": 0, "actions": [], "kept": []}


def action(a: Any) -> dict[str, Any]:
    return {"a": a, "n": 0, "v": 0.0, "children": [], "seen": []}


def child_of(node: dict[str, Any], o: Any) -> Any:
    return next((child for seen, child in node["children"] if seen == o), None)


def root_state(belief: Particles, model: Any, rng: Rng) -> Any:
    """By weight; the particles of these tests have equal ones, so that the draw is a floor."""
    return model.from_row("state", belief.states[int(rng.uniform() * len(belief))])


def random_legal(model: Any, s: Any, rng: Rng) -> Any:
    if model.n_actions == 0:
        return model.sample_action(s, rng)
    while True:
        a = rng.integer(model.n_actions)
        if model.legal(s, a):
            return a


def random_rollout(model: Any, s: Any, steps: int, rng: Rng) -> float:
    total, weight = 0.0, 1.0
    for _ in range(steps):
        if model.is_terminal(s):
            break
        s, reward = model.step(s, random_legal(model, s, rng), rng)
        total += weight * reward
        weight *= model.discount
    return total


def ucb(h: dict[str, Any], c: float, untried: float, rng: Rng) -> dict[str, Any]:
    """Scores from the newest action to the oldest; a tie with k - 1 others replaces the chosen with probability 1/k."""
    best, ties, chosen = -math.inf, 0, h["actions"][-1]
    for ha in reversed(h["actions"]):
        score = ha["v"] + c * math.sqrt(math.log(h["n"]) / ha["n"]) if ha["n"] else untried
        if score > best:
            best, ties, chosen = score, 1, ha
        elif score == best:
            ties += 1
            if rng.integer(ties) == 0:
                chosen = ha
    return chosen


def average(h: dict[str, Any], ha: dict[str, Any], value: float) -> float:
    h["n"] += 1
    ha["n"] += 1
    ha["v"] += (value - ha["v"]) / ha["n"]
    return value


def pomcp(model: Any, belief: Particles, rng: Rng, iterations: int, max_depth: int, c: float) -> dict[str, Any]:
    """The tree of POMCP(iterations, max_depth, c, estimate="random")."""
    seed = rng.bits(62)
    root = history()
    root["actions"] = [action(a) for a in range(model.n_actions)]

    def simulate(s: Any, h: dict[str, Any], steps: int, rng: Rng) -> float:
        if steps == 0:
            return 0.0
        if not h["actions"]:
            h["actions"] = [action(a) for a in range(model.n_actions) if model.legal(s, a)]
        ha = ucb(h, c, math.inf if h["n"] > 1 else 0.0, rng)
        s2, reward = model.step(s, ha["a"], rng)
        if model.is_terminal(s2):  # nothing is observed
            return average(h, ha, reward)
        o = model.observe(s2, ha["a"], rng)
        child = child_of(ha, o)
        if child is None:
            ha["children"].append((o, history()))
            value = random_rollout(model, s2, steps - 1, rng)
        else:
            value = simulate(s2, child, steps - 1, rng)
        return average(h, ha, reward + model.discount * value)

    for trial in range(iterations):
        own = stream(seed, 0, trial)
        simulate(root_state(belief, model, own), root, max_depth, own)
    return root


def pomcpow(
    model: Any,
    belief: Particles,
    rng: Rng,
    iterations: int,
    max_depth: int,
    c: float,
    k: tuple[float, float],
    alpha: tuple[float, float],
    widen: bool = True,
    check: bool = True,
) -> dict[str, Any]:
    """The tree of POMCPOW with k and alpha of (observations, actions), estimate="random", epsilon=0."""
    seed = rng.bits(62)
    root = history()

    def simulate(h: dict[str, Any], s: Any, d: int, rng: Rng) -> float:
        if d <= 0:
            return 0.0
        if not widen:
            if not h["actions"]:
                legal = [a for a in range(model.n_actions) if h is root or model.legal(s, a)]
                h["actions"] = [action(a) for a in legal]
        elif len(h["actions"]) <= k[1] * h["n"] ** alpha[1]:
            a = rng.integer(model.n_actions) if h is root and model.n_actions else random_legal(model, s, rng)
            if all(ha["a"] != a for ha in h["actions"]):
                h["actions"].append(action(a))
        ha = ucb(h, c, math.inf, rng)
        a = ha["a"]
        s2, reward = model.step(s, a, rng)
        if model.is_terminal(s2):  # it is in no history
            return average(h, ha, reward)
        new = None
        if len(ha["children"]) <= k[0] * ha["n"] ** alpha[0]:
            o = model.observe(s2, a, rng)
            child = child_of(ha, o) if check else None
            if child is None:
                new = child = history()
                ha["children"].append((o, child))
            ha["seen"].append((o, child))
        if new is not None:
            new["first"] = model.obs_logpdf(o, s2, a)
            keep(new, s2, reward, new["first"])
            return average(h, ha, reward + model.discount * random_rollout(model, s2, d - 1, rng))
        o, child = ha["seen"][rng.integer(len(ha["seen"]))]
        keep(child, s2, reward, model.obs_logpdf(o, s2, a))
        upto = [item[2] for item in child["kept"]]
        at = min(bisect_right(upto, rng.uniform() * upto[-1]), len(upto) - 1)
        s2, reward, _ = child["kept"][at]
        return average(h, ha, reward + model.discount * simulate(child, s2, d - 1, rng))

    def keep(h: dict[str, Any], s: Any, reward: float, log_likelihood: float) -> None:
        total = h["kept"][-1][2] if h["kept"] else 0.0
        h["kept"].append((s, reward, total + math.exp(log_likelihood - h["first"])))

    for trial in range(iterations):
        own = stream(seed, 0, trial)
        simulate(root, root_state(belief, model, own), max_depth, own)
    return root


def assert_same(node: Any, h: dict[str, Any]) -> None:
    """A planner's tree, from this node on, is the listing's, to the last bit."""
    assert node.visits == h["n"]
    assert [child.action for child in node.children] == [ha["a"] for ha in h["actions"]]
    for child, ha in zip(node.children, h["actions"], strict=True):
        assert (child.visits, child.value) == (ha["n"], ha["v"])
        assert [below.observation for below in child.children] == [o for o, _ in ha["children"]]
        for below, (_, history_below) in zip(child.children, ha["children"], strict=True):
            assert_same(below, history_below)
