"""How much of a decision's tree is left after what was done and seen: the data of docs/robot.md, While the robot moves.

`python -m tools.tree_left` (about two CPU minutes, and compiling) writes docs/robot/tree.csv, a row for each decision.
"""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

import airoas
from airoas.catalog import DOMAINS
from airoas.compiler.clock import deadlines_in
from airoas.planners import AIROAS, POMCP
from tools.lost_study import FOLDER, Record

CASES = [("AIROAS", name) for name in ("light-dark-1.0", "tag", "laser-tag", "rock-sample-11-11")] + [("POMCP", "tag")]
PLANNERS = {"AIROAS": AIROAS, "POMCP": POMCP}
SECONDS, EPISODES, STEPS = 0.1, 10, 6
SEEDS = 780_000


def left(model: Any, tree: Any, action: Any, observation: Any) -> tuple[float, float]:
    """Of the work in a tree (beliefs branched, or simulations), what is below an action and an observation, and the most that is below
    the action and any observation."""
    if hasattr(tree.root, "branches"):
        columns = tree.columns
        branched = np.flatnonzero(columns.first_action[: columns.n_nodes] >= 0)
        top = np.full(columns.n_nodes, -1)  # the node of depth 1 above each
        for b in branched[branched > 0]:
            above = columns.node[columns.parent[b]]
            top[b] = b if above == 0 else top[above]
        work = np.bincount(top[branched[branched > 0]], minlength=columns.n_nodes) / len(branched)
        children = [child for branch in tree.root.branches if branch.action == action for child in branch.children]
        fractions = {child.observation: float(work[child.index]) for child in children}
    else:
        children = [child for branch in tree.root.children if branch.action == action for child in branch.children]
        fractions = {child.observation: child.visits / tree.root.visits for child in children}
    return fractions.get(observation, 0.0), max(fractions.values(), default=0.0)


def decisions(name: str, planner: Any, seed: int) -> list[tuple[float, float]]:
    """Of the first decisions of an episode."""
    model, world, fractions = DOMAINS[name](0), airoas.stream(seed, "world"), []
    agent, s = airoas.Agent(model, planner, seed=seed), model.initial(world)
    for _ in range(STEPS):
        decision = agent.act()
        s = model.step(s, decision.action, world)[0]
        if model.is_terminal(s):
            break
        observation = model.observe(s, decision.action, world)
        fractions.append(left(model, decision.tree, decision.action, tuple(observation)))
        agent.observe(observation)
    return fractions


def main() -> None:
    with open(FOLDER / "tree.csv", "w", newline="") as file, deadlines_in("cpu"):
        writer = csv.DictWriter(file, ["domain", "planner", "seed", "step", "left", "most"])
        writer.writeheader()
        for label, name in CASES:
            for seed in range(SEEDS, SEEDS + EPISODES):
                for step, (fraction, most) in enumerate(decisions(name, PLANNERS[label](seconds=SECONDS), seed)):
                    record: Record = {"domain": name, "planner": label, "seed": seed, "step": step}
                    writer.writerow(record | {"left": round(fraction, 5), "most": round(most, 5)})
                file.flush()


if __name__ == "__main__":
    main()
