"""AIROAS, AdaOPS and AR-DESPOT as their listings read: over dictionaries, on the same random numbers as the planners, every
bound computed anew from those below it.

Written apart from the planners, so that a tree of theirs that equals one of these was grown by the rules. A belief is
{"depth", "probability", "seen", "lower", "upper", "actions"}, an action {"a", "reward", "lower", "upper", "children"}.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pytest import approx

from airoas import Particles, stream
from airoas.belief.resampling import indices
from airoas.bounds import find_bounds
from airoas.planners import AIROAS, ARDESPOT
from airoas.planners.adaops import kld_size
from airoas.rng import Rng, hash_key

Node = dict[str, Any]


class SearchListing(abc.ABC):
    """What the three have in common. Bounds are those of finite models: a row of numbers for each state."""

    def __init__(self, model: Any, belief: Particles, rng: Rng, count: int, bounds: Any, max_depth: int, xi: float, gap: float) -> None:
        self.model, self.max_depth, self.xi, self.gap = model, max_depth, xi, gap
        result = find_bounds(model, bounds)
        self.first_actions, self.by_action = list(result.first_actions), result.by_action
        every = np.array([model.row("state", model.state(i))[0] for i in range(model.n_states())])
        self.rows = np.zeros((len(every), result.width))
        result.evaluate(every, np.array([not model.is_terminal(model.state(i)) for i in range(len(every))]), self.rows, 0)
        self.seed = rng.bits(62)
        live = np.where([model.is_terminal(self.state(row)) for row in belief.states], 0.0, belief.weights)
        self.start = [self.state(belief.states[i]) for i in indices(live, count, rng)]
        self.root: Node = {"depth": 0, "probability": 1.0, "seen": None, "key": 0, "above": None, "actions": None}
        self.legal = [a for a in range(model.n_actions) if all(model.legal(s, a) for s in self.start)]

    def state(self, row: Any) -> Any:
        return self.model.from_row("state", row)

    def means(self, states: list, weights: Any) -> np.ndarray:
        """Weighted sums of the numbers of the states that have not ended."""
        total = np.zeros(self.rows.shape[1])
        for s, w in zip(states, weights, strict=True):
            if w > 0.0 and not self.model.is_terminal(s):
                total += w * self.rows[self.model.index(s)]
        return total

    def split(self, means: np.ndarray) -> tuple[float, float]:
        plans = len(self.first_actions)
        return means[:plans].max(), means[plans:].max()

    def legal_at(self, node: Node) -> list[int]:
        if node is self.root:
            return self.legal
        return [a for a in range(self.model.n_actions) if all(self.model.legal(s, a) for s in node["states"])]

    def run(self, iterations: int) -> Node:
        for _ in range(iterations):
            if self.root["upper"] - self.root["lower"] <= self.gap:
                break
            self.trial()
        return self.root

    @abc.abstractmethod
    def trial(self) -> None:
        """Go down once and improve what is found there."""


def nodes(node: Node) -> list[Node]:
    """This belief and all below it."""
    below = [child for action in node["actions"] or () for child in action["children"] or ()]
    return [node, *(n for child in below for n in nodes(child))]


class ParticleSearchListing(SearchListing):
    """Nodes of weighted particles: AIROAS (lazy, without annealing) and AdaOPS."""

    def __init__(self, *start: Any, delta: float, target: float, count: Callable[[list], int], mixes: bool = False) -> None:
        super().__init__(*start)
        self.delta, self.target, self.count, self.mixes = delta, target, count, mixes
        n = len(self.start)
        self.root |= {"lower": -math.inf, "upper": math.inf, "states": self.start, "weights": [1.0 / n] * n}

    def weigh(self, action: Node, seen: Any) -> np.ndarray:
        logs = np.array([self.model.obs_logpdf(seen, s, action["a"]) for s in action["successors"]])
        weights = np.array(action["weights"]) * np.exp(logs - logs[np.array(action["weights"]) > 0.0].max())
        return weights / weights.sum()

    def update_leaf(self, node: Node) -> None:
        action = node["above"]
        weights = node["posterior"]
        if len(weights) * (weights**2).sum() <= self.target:
            kept = np.flatnonzero(weights > 0.0)
            node |= {"states": [action["successors"][i] for i in kept], "weights": weights[kept]}
        else:
            n = self.count(action["successors"])
            kept = indices(weights, n, stream(hash_key(self.seed, node["key"], -1), 1, 0))
            node |= {"states": [action["successors"][i] for i in kept], "weights": np.full(n, 1.0 / n)}

    def step(self, node: Node, a: int) -> tuple[list, float]:
        seed = hash_key(self.seed, node["key"], a)
        pairs = [self.model.step(s, a, stream(seed, 0, i)) for i, s in enumerate(node["states"])]
        return [s for s, _ in pairs], sum(w * r for w, (_, r) in zip(node["weights"], pairs, strict=True))

    def open(self, node: Node) -> None:
        node["actions"] = []
        means = self.means(node["states"], node["weights"])
        plans = len(self.first_actions)
        if self.by_action:
            node["lower"] = max(node["lower"], means[:plans].max())
        for a in self.legal_at(node):
            if self.by_action:
                lower = max((means[k] for k in range(plans) if self.first_actions[k] == a), default=-math.inf)
                upper = means[plans + a]
            else:
                states, reward = self.step(node, a)
                after = self.split(self.means(states, node["weights"]))
                lower, upper = (reward + self.model.discount * x for x in after)
            node["actions"].append({"a": a, "reward": math.nan, "lower": lower, "upper": upper, "children": None})

    def branch(self, node: Node, action: Node) -> None:
        model, a = self.model, action["a"]
        states, reward = self.step(node, a)
        weights = [0.0 if model.is_terminal(s) else w for s, w in zip(states, node["weights"], strict=True)]
        action |= {"successors": states, "weights": weights, "reward": reward, "children": []}
        seed = hash_key(self.seed, node["key"], a)
        groups: dict[Any, float] = {}
        alive = [(s, w) for s, w in zip(states, weights, strict=True) if w > 0.0]
        for j, (s, w) in enumerate(alive):
            seen = model.observe(s, a, stream(seed, 1, j))
            groups[seen] = groups.get(seen, 0.0) + w
        kept: list[tuple[np.ndarray, Node]] = []
        members: list[list[tuple[float, np.ndarray]]] = []
        for seen, mass in groups.items():
            after = self.weigh(action, seen)
            near = next((k for k, (other, _) in enumerate(kept) if abs(other - after).sum() <= self.delta), None)
            if near is not None:
                kept[near][1]["probability"] += mass
                members[near].append((mass, after))
                continue
            key = hash_key(node["key"], a, len(kept))
            child: Node = {"depth": node["depth"] + 1, "probability": mass, "seen": seen, "key": key, "above": action, "actions": None}
            action["children"].append(child)
            kept.append((after, child))
            members.append([(mass, after)])
        for (after, child), several in zip(kept, members, strict=True):
            mixture = sum(mass * each for mass, each in several) / sum(mass for mass, _ in several)
            child["posterior"] = mixture if self.mixes else after
            lower, upper = self.split(self.means(states, child["posterior"]))
            child |= {"lower": lower, "upper": max(lower, upper)}
        action["above"] = node

    def compute(self, node: Node) -> None:
        """Bounds of a node from those below: they only close, and the upper one yields where they would cross."""
        for action in node["actions"]:
            if action["children"] is not None:
                for side in ("lower", "upper"):
                    later = sum(child["probability"] * child[side] for child in action["children"])
                    action[side] = action["reward"] + self.model.discount * later
        node["lower"] = max(node["lower"], max(action["lower"] for action in node["actions"]))
        node["upper"] = max(node["lower"], min(node["upper"], max(action["upper"] for action in node["actions"])))

    def backup(self, node: Node) -> bool:
        """Up to the root; whether the preferred action changed on the way."""
        changed = False
        while node["above"] is not None:
            action = node["above"]
            node = action["above"]
            self.compute(node)
            changed |= self.preferred(node) is not action
        return changed

    def preferred(self, node: Node) -> Node:
        return max(node["actions"], key=lambda action: action["upper"])

    def allowed(self, depth: int) -> float:
        return self.xi * max(0.0, self.root["upper"] - self.root["lower"]) / self.model.discount**depth

    def next_child(self, action: Node) -> Any:
        """(weighted excess uncertainty, child) of the largest; None where there is no child."""
        excess = [(c["probability"] * (c["upper"] - c["lower"] - self.allowed(c["depth"])), c) for c in action["children"]]
        return max(excess, key=lambda pair: pair[0], default=None)

    def tolerance(self, node: Node) -> None:
        node["upper"] = node["lower"]
        self.backup(node)


class Airoas(ParticleSearchListing):
    """AIROAS(anneal="none", trial="excess")."""

    def __init__(self, *start: Any, **options: Any) -> None:
        super().__init__(*start, **options)
        self.open(self.root)
        self.compute(self.root)

    def trial(self) -> None:
        node = self.root
        while True:
            if node["depth"] >= self.max_depth:
                return self.tolerance(node)
            fresh = node["actions"] is None
            if fresh:
                self.update_leaf(node)
                self.open(node)
            while (action := self.preferred(node))["children"] is None:
                self.branch(node, action)
                self.compute(node)
            changed = self.backup(node)
            if fresh and (changed or node["upper"] - node["lower"] <= self.allowed(node["depth"])):
                return None
            best = self.next_child(self.preferred(node))
            if best is None or best[0] <= 0.0:
                return None
            node = best[1]


class Adaops(ParticleSearchListing):
    def __init__(self, *start: Any, **options: Any) -> None:
        super().__init__(*start, **options)
        self.open(self.root)
        self.compute(self.root)
        self.branch_all(self.root)

    def expand(self, node: Node) -> None:
        self.update_leaf(node)
        node["actions"] = [{"a": a, "children": None} for a in self.legal_at(node)]
        self.branch_all(node)

    def branch_all(self, node: Node) -> None:
        for action in node["actions"]:
            self.branch(node, action)
        self.compute(node)

    def trial(self) -> None:
        node = self.root
        while node["depth"] < self.max_depth:
            if node["actions"] is None:
                self.expand(node)
                changed = self.backup(node)
                if changed or node["upper"] - node["lower"] <= self.allowed(node["depth"]):
                    return None
            best = self.next_child(self.preferred(node))
            if best is None:
                return None
            node = best[1]
        return self.tolerance(node)


class Ardespot(SearchListing):
    """Scenarios are (number, state); "share" is |Phi| / K, "default" l0 and "plain" U. mu is "upper"."""

    def __init__(self, *start: Any, regularisation: float) -> None:
        super().__init__(*start)
        self.price = regularisation
        self.pruned: list[Node] = []
        self.root["scenarios"] = list(enumerate(self.start))
        self.bound(self.root)
        self.expand(self.root)
        self.compute(self.root)

    def scale(self, node: Node) -> float:
        return len(node["scenarios"]) / len(self.start) * self.model.discount ** node["depth"]

    def bound(self, node: Node) -> None:
        n = len(node["scenarios"])
        lower, upper = self.split(self.means([s for _, s in node["scenarios"]], [1.0 / n] * n))
        node |= {"plain": upper, "default": self.scale(node) * lower, "lower": self.scale(node) * lower, "closed": False}
        node["upper"] = max(node["default"], self.scale(node) * upper - self.price)

    def expand(self, node: Node) -> None:
        node["actions"] = []
        node["states"] = [s for _, s in node["scenarios"]]
        node["weights"] = [1.0 / len(node["scenarios"])] * len(node["scenarios"])
        for a in self.legal_at(node):
            total, groups = 0.0, {}
            for i, s in node["scenarios"]:
                seed = hash_key(self.seed, node["depth"], 0)
                s2, r = self.model.step(s, a, stream(seed, 0, i))
                total += r
                if not self.model.is_terminal(s2):
                    groups.setdefault(self.model.observe(s2, a, stream(seed, 1, i)), []).append((i, s2))
            action: Node = {"a": a, "above": node, "total": total, "reward": total / len(node["scenarios"]), "children": []}
            for seen, scenarios in groups.items():
                probability = len(scenarios) / len(node["scenarios"])
                child: Node = {"depth": node["depth"] + 1, "probability": probability, "seen": seen, "above": action, "actions": None}
                child["scenarios"] = scenarios
                self.bound(child)
                action["children"].append(child)
            node["actions"].append(action)

    def compute(self, node: Node) -> None:
        for action in node["actions"]:
            rho = self.model.discount ** node["depth"] * action["total"] / len(self.start) - self.price
            action["lower"] = rho + sum(child["lower"] for child in action["children"])
            action["upper"] = rho + sum(child["upper"] for child in action["children"])
            later = sum(len(child["scenarios"]) * child["plain"] for child in action["children"])
            action["plain"] = (action["total"] + self.model.discount * later) / len(node["scenarios"])
        node["lower"] = max(node["default"], max(action["lower"] for action in node["actions"]))
        node["upper"] = max(node["default"], max(action["upper"] for action in node["actions"]))
        node["plain"] = max(action["plain"] for action in node["actions"])

    def backup(self, node: Node) -> None:
        while node["above"] is not None:
            node = node["above"]["above"]
            self.compute(node)

    def excess(self, node: Node) -> float:
        fraction = len(node["scenarios"]) / len(self.start)
        return node["upper"] - node["lower"] - fraction * self.xi * max(0.0, self.root["upper"] - self.root["lower"])

    def blocked(self, node: Node) -> bool:
        edges = 1
        above = node["above"]["above"]
        while above is not self.root:
            if self.scale(above) * above["plain"] - above["default"] <= self.price * edges:
                return True
            above = above["above"]["above"]
            edges += 1
        return False

    def prune(self, node: Node) -> bool:
        any_pruned = False
        while node is not self.root and self.blocked(node):
            self.pruned.append(node)
            self.give_up(node)
            node, any_pruned = node["above"]["above"], True
        return any_pruned

    def give_up(self, node: Node) -> None:
        node["lower"] = node["upper"] = node["default"]
        self.backup(node)

    def trial(self) -> None:
        node = self.root
        while node["depth"] <= self.max_depth and self.excess(node) > 0.0 and not self.prune(node):
            if node["actions"] is None:
                self.expand(node)
                self.compute(node)
                self.backup(node)
            action = max(node["actions"], key=lambda each: each["upper"])
            if not action["children"]:
                return
            node = max(action["children"], key=self.excess)
        if node["depth"] > self.max_depth:
            self.give_up(node)


def listing(planner: Any, model: Any, belief: Particles, rng: Rng) -> Any:
    """The search that a planner makes, as listed."""
    common = planner.bounds, planner.max_depth, planner.gap_ratio, planner.gap
    if isinstance(planner, ARDESPOT):
        return Ardespot(model, belief, rng, planner.scenarios or 500, *common, regularisation=planner.regularisation)
    options = {"delta": planner.delta, "target": planner.target_inefficiency}
    if isinstance(planner, AIROAS):
        options["mixes"] = planner.packing == "mixture"
        return Airoas(model, belief, rng, planner.particles, *common, **options, count=lambda states: planner.particles)

    def count(states: list) -> int:
        return kld_size(len({model.cell(s) for s in states}), planner.min_particles, planner.max_particles or 1000)

    live = [s for row in belief.states if not model.is_terminal(s := model.from_row("state", row))]
    return Adaops(model, belief, rng, count(live), *common, **options, count=count)


def assert_same(node: Any, expected: Node) -> None:
    """A planner's tree, from this belief on, is the listing's."""
    tolerance = {"rel": 1e-9, "abs": 1e-9}
    assert node.observation == expected["seen"]
    assert (node.depth, node.is_leaf) == (expected["depth"], expected["actions"] is None)
    assert [node.probability, node.lower, node.upper] == approx(
        [expected["probability"], expected["lower"], expected["upper"]], **tolerance
    )
    if expected["actions"] is None:
        return
    assert [node.tree.model.from_row("state", row) for row in node.particles.states] == expected["states"]
    assert node.particles.weights == approx(np.array(expected["weights"]), **tolerance)
    assert [branch.action for branch in node.branches] == [action["a"] for action in expected["actions"]]
    for branch, action in zip(node.branches, expected["actions"], strict=True):
        assert [branch.lower, branch.upper] == approx([action["lower"], action["upper"]], **tolerance)
        assert branch.reward == approx(action["reward"], nan_ok=True, **tolerance)
        assert len(branch.children) == len(action["children"] or ())
        for child, below in zip(branch.children, action["children"] or (), strict=True):
            assert_same(child, below)


def fully_expanded(search: Any, node: Node, steps: int, end: float) -> float:
    """The value of a belief when everything is tried for so many steps, after which every belief is worth `end`."""
    if steps == 0:
        return end
    if isinstance(search, Ardespot):
        if node["actions"] is None:
            search.expand(node)
    elif node["actions"] is None:
        search.update_leaf(node)
        node["actions"] = [{"a": a, "children": None} for a in search.legal_at(node)]
    values = []
    for action in node["actions"]:
        if action["children"] is None:
            search.branch(node, action)
        later = sum(child["probability"] * fully_expanded(search, child, steps - 1, end) for child in action["children"])
        values.append(action["reward"] + search.model.discount * later)
    return max(values)
